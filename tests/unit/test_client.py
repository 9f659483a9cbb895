"""The client on its own: https, one origin, a token that shows up nowhere, plain words when a server misbehaves."""

from __future__ import annotations

import json
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import pydplib as dp
from pydplib.errors import BudgetError, EngineError, ParameterError, PolicyError, ReceiptError

TOKEN = "pydp_" + "k" * 43
SPENT = {"error": "Spent.", "kind": "BudgetError", "asked": "epsilon 1", "left": "epsilon 0"}


@pytest.fixture
def server() -> Iterator[Callable[..., Any]]:
    """Return a function that starts a server which answers as told, and remembers what it was sent."""
    started = []

    def start(answer: Callable[[Any], tuple[int, dict[str, str], bytes]]) -> Any:
        seen: list[tuple[str, str | None]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                seen.append((self.path, self.headers.get("Authorization")))
                status, headers, body = answer(self)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        made = HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        started.append((made, thread))
        made.seen = seen
        made.url = f"http://127.0.0.1:{made.server_port}"
        return made

    yield start
    for made, thread in started:
        made.shutdown()
        made.server_close()
        thread.join()


def says(status: int, values: Any, **headers: str) -> Callable[[Any], tuple[int, dict[str, str], bytes]]:
    return lambda _: (status, headers, json.dumps(values).encode())


@pytest.mark.parametrize(
    "url",
    ["http://edc.example", "ftp://edc.example", "edc.example", "", "https://", "https://user:pw@edc.example",
     "https://edc.example?x=1", "http://127.0.0.1.evil.example", "http://[::1", "https://edc.example:x", None],
)  # fmt: skip
def test_only_https_or_this_machine(url: Any) -> None:
    with pytest.raises(ParameterError) as refusal:
        dp.Client(url, TOKEN)
    assert TOKEN not in str(refusal.value) and "pw" not in str(refusal.value)


@pytest.mark.parametrize("token", ["", "short", "with blank " * 3, TOKEN + "\r\nX: y", None, 7, b"x" * 40])
def test_what_is_no_token_is_refused_without_being_shown(token: Any) -> None:
    with pytest.raises(ParameterError) as refusal:
        dp.Client("https://edc.example", token)
    assert not token or str(token) not in str(refusal.value)


def test_the_token_shows_up_nowhere(server: Any) -> None:
    made = server(says(500, {}))
    client = dp.Client(made.url, TOKEN)
    texts = [repr(client), str(client), repr(vars(client)), repr(vars(client._transport))]
    for handler in client._transport._opener.handlers:
        texts += [repr(handler), repr(vars(handler))]
    with pytest.raises(EngineError) as fault:
        client.projects()
    texts += traceback.format_exception(fault.value)
    texts += ["".join(traceback.TracebackException.from_exception(fault.value, capture_locals=True).format())]
    assert not [text for text in texts if TOKEN in text]
    assert made.seen == [("/api/v1/projects", f"Bearer {TOKEN}")], "but it was sent"
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pickle.dumps(client)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_refused_and_gets_no_token(server: Any, status: int) -> None:
    thief = server(says(200, []))
    made = server(says(status, {}, Location=f"{thief.url}/api/v1/projects"))
    with pytest.raises(PolicyError, match="another address"):
        dp.Client(made.url, TOKEN).projects()
    assert not thief.seen


def test_a_redirect_within_the_host_is_followed_for_looks_alone(server: Any) -> None:
    def answer(request: Any) -> tuple[int, dict[str, str], bytes]:
        if request.path.startswith("/moved/"):
            return 302, {"Location": request.path.removeprefix("/moved")}, b""
        return 200, {}, b"[]"

    made = server(answer)
    client = dp.Client(f"{made.url}/moved", TOKEN)
    assert client.projects() == [] and len(made.seen) == 2
    with pytest.raises(PolicyError, match="question elsewhere"):
        client._post("projects", "x", "analyses", body={})


def test_a_proxy_is_not_used_for_this_machine(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy, made = server(says(200, ["proxy"])), server(says(200, []))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert dp.Client(made.url, TOKEN).projects() == [] and not proxy.seen


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (says(403, SPENT), BudgetError, "Spent"),
        (says(403, {"error": "No.", "kind": "PolicyError"}), PolicyError, "No."),
        (says(401, {"error": "Who?", "kind": "SystemExit"}), PolicyError, "Who"),
        (says(422, {"error": "Bad.", "kind": "QuestionError"}), dp.errors.QuestionError, "Bad"),
        (says(404, {"error": "Gone.", "kind": ""}), ParameterError, "Gone"),
        (says(429, {"error": "Wait.", "kind": "EngineError"}, **{"Retry-After": "7"}), EngineError, "Wait 7 s"),
        (says(500, {"error": "Fault.", "kind": ""}), EngineError, "Fault"),
        (says(500, ["x"]), EngineError, "no reason"),
        (lambda _: (200, {}, b"<html>"), EngineError, "not JSON"),
        (lambda _: (200, {}, b"[{}]"), EngineError, "not understood"),
        (lambda _: (502, {}, b"\xff"), EngineError, "status 502"),
    ],
)  # fmt: skip
def test_answers_become_errors_of_pydplib(server: Any, answer: Any, kind: type, words: str) -> None:
    made = server(answer)
    with pytest.raises(kind, match=words) as error:
        dp.Client(made.url, TOKEN).projects()
    assert type(error.value) is kind
    assert "urllib" not in "".join(traceback.format_exception(error.value)), "one error, in the platform's words"
    if kind is BudgetError:
        assert (error.value.asked, error.value.left) == ("epsilon 1", "epsilon 0")


def test_a_server_that_is_not_there_or_does_not_answer() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(EngineError, match="timeout"):
            dp.Client(f"http://127.0.0.1:{port}", TOKEN, timeout=0.2).projects()
    with pytest.raises(EngineError, match="does not answer"):
        dp.Client(f"http://127.0.0.1:{port}", TOKEN, timeout=2).projects()


def test_keys_of_objects_stay_one_part_of_the_address(server: Any) -> None:
    made = server(says(404, {"error": "No.", "kind": "ParameterError"}))
    with pytest.raises(ParameterError):
        dp.Client(made.url, TOKEN).project("../token?x=#y")
    assert made.seen[0][0] == "/api/v1/projects/..%2Ftoken%3Fx%3D%23y"


def test_what_is_no_question_is_not_sent(server: Any) -> None:
    made = server(says(200, {"key": "p", "name": "P", "purpose": "", "role": "radiologist", "offer": None}))
    project = dp.Client(made.url, TOKEN).project("p")
    with pytest.raises(ParameterError, match=r"dp\.Mean"):
        project.ask("SELECT 1", epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="nothing to ask"):
        project.schema
    assert len(made.seen) == 1


@pytest.mark.parametrize(
    ("given", "words"), [({}, "PYDPLIB_URL"), ({"PYDPLIB_URL": "https://x.example"}, "PYDPLIB_TOKEN")]
)
def test_the_environment_says_what_is_missing(given: dict[str, str], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        dp.Client.from_environment(given)


def test_the_environment_can_pin_keys(tmp_path: Any) -> None:
    from pydplib.receipt import new_signing_key, public_key_text

    file = tmp_path / "keys.txt"
    file.write_text(public_key_text(new_signing_key().public_key()))
    values = {"PYDPLIB_URL": "https://x.example", "PYDPLIB_TOKEN": TOKEN, "PYDPLIB_KEYS": str(file)}
    assert len(dp.Client.from_environment(values)._keys) == 1


CERTIFICATE = {"title": "T", "columns": ["age"], "k": 3, "holds": True, "guarantee": "", "sha256": {"csv": "0" * 64}}


def test_a_file_that_is_not_the_one_of_the_certificate_is_not_kept(server: Any, tmp_path: Any) -> None:
    made = server(
        lambda request: (200, {}, b"age\r\n" if "download" in request.path else json.dumps(CERTIFICATE).encode())
    )
    with pytest.raises(dp.errors.DataError, match="not the one of the certificate"):
        dp.Client(made.url, TOKEN).download("some-export", tmp_path / "table.csv")
    assert not list(tmp_path.iterdir())


def test_a_report_is_waited_for_until_it_is_done(server: Any) -> None:
    run = {"key": "r", "project": "p", "name": "Acme", "progress": 5, "problem": "", "made": "2026-01-01T00:00:00Z"}
    states = iter(["running", "running", "done"])
    verdict = {"headline": "Nothing.", "reasons": ["a"]}
    made = server(
        lambda _: (200, {}, json.dumps(run | {"state": next(states), "result": {"verdict": verdict}}).encode())
    )
    report = dp.Client(made.url, TOKEN).attack_report("r", wait=30)
    assert (report.state, report.headline, report.reasons, len(made.seen)) == ("done", "Nothing.", ("a",), 3)
    assert "verdict" not in repr(report)


def test_receipt_of_another_release_is_refused_even_with_its_own_values(server: Any) -> None:
    from datetime import UTC, datetime

    from pydplib._client_values import AnalysisEntry
    from pydplib.budget.keys import sha256_hex
    from pydplib.receipt import Receipt, new_signing_key, public_key_text

    key, payload = new_signing_key(), b'{"values": [1]}'
    receipt = Receipt(
        release="ab" * 32,
        payload_hash=sha256_hex(payload),
        question_hash="ef" * 32,
        mechanism="laplace",
        epsilon="0.2",
        delta="0",
        guarantee="Pure",
        data="2018-12",
    ).signed(key)
    text = receipt.to_json().encode()
    here = server(lambda asked: (200, {}, text if asked.path.endswith("receipt") else payload))
    client = dp.Client(here.url, TOKEN, keys=[public_key_text(key.public_key())])
    entry = AnalysisEntry(
        key="k",
        words="count",
        title="",
        question={},
        label="dp_high",
        organisation="Acme",
        made=datetime.now(UTC),
        release_key="ab" * 32,
    )
    assert client.receipt(entry) == receipt
    with pytest.raises(ReceiptError, match="of another release"):
        client.receipt(replace(entry, release_key="cd" * 32))

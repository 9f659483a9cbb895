"""Canaries in identifiers, texts, names, files, links and passwords: no address, error, export or log shows one."""

from __future__ import annotations

import io
import logging
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from canary_world import ROLES, TAG, Planted, canary, plant

TABLE: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "addresses.toml").read_text("utf-8"))
DOWNLOADS = {
    "analyses/<str:key>/download/<str:kind>": ("csv", "parquet", "json", "receipt", "py", "ipynb"),
    "anonymize/<str:key>/download/<str:kind>": ("csv", "parquet", "xlsx"),
    "synthetic/<str:key>/download/<str:kind>": ("csv", "json", "copies", "xlsx"),
    "audit/export/<str:kind>": ("csv", "json", "jsonl"),
}
AT_THE_DESK = ("reports", "labelling", "templates", "data", "counts", "privacy-rights/patients")
"""Addresses that are walked in the project with free texts, too."""


@pytest.fixture(scope="module")
def planted_once(_database: None, sign_in: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    from django.conf import settings
    from django.test import TestCase

    from pydplib.web.exports import runs as exporting

    before, background = settings.CONFIGURATION, exporting.BACKGROUND
    settings.CONFIGURATION = replace(before, home=tmp_path_factory.mktemp("canaries"))
    (settings.CONFIGURATION.home / "uploads").mkdir(mode=0o700)
    exporting.BACKGROUND = False
    atomics = TestCase._enter_atomics()
    yield plant(sign_in)
    TestCase._rollback_atomics(atomics)
    settings.CONFIGURATION, exporting.BACKGROUND = before, background


@pytest.fixture
def planted(planted_once: Planted) -> Iterator[Planted]:
    from django.db import transaction

    block: Any = transaction.atomic()
    block._from_testcase = True
    with block:
        yield planted_once
        transaction.set_rollback(True)


@contextmanager
def server_log() -> Iterator[io.StringIO]:
    """What the server would print, through the handlers and the formatter of its settings."""
    loggers = [logging.getLogger(name) for name in ("", "django.request", "django.server", "axes", "waitress.queue")]
    handlers = {
        handler
        for logger in loggers
        for handler in logger.handlers
        if type(handler) is logging.StreamHandler and type(handler.formatter).__name__ == "QuietFormatter"
    }
    assert handlers, "the settings' own handlers"
    printed = io.StringIO()
    before = [(handler, handler.setStream(printed)) for handler in handlers]
    try:
        yield printed
    finally:
        for handler, stream in before:
            handler.setStream(stream)


def addresses(planted: Planted) -> Iterator[tuple[str, Any, str]]:
    """Yield every address of every world: its pattern, its door, and the address of an object with canaries."""
    from pydplib.web.people.permissions import views

    made_so_far: dict[tuple[str, str], Any] = {}
    study, desk = planted.worlds
    for route, view in views():
        row = TABLE[route]
        for world in (study, desk) if route.startswith(AT_THE_DESK) else (study,):
            values = dict(row.get("with", {}))
            if "of" in row:
                name = (row["of"], world.project.key)
                made = made_so_far[name] = made_so_far.get(name) or planted.object_for(row["of"], world)
                values.setdefault("key", getattr(made, "key", None) or made.pk)
            for kind in DOWNLOADS.get(route, (values.get("kind"),)):
                named = values | {"kind": kind}
                path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda part, named=named: str(named[part[1]]), route)
                chosen = "" if view.permission.kind == "token" else f"?project={world.project.key}"
                yield route, view.permission, path + chosen


def everything_of(response: Any) -> bytes:
    body = b"".join(response.streaming_content) if response.streaming else response.content
    heads = "\n".join(f"{name}: {value}" for name, value in response.items())
    cookies = response.cookies.output()
    return body + heads.encode() + cookies.encode()


def walk(
    planted: Planted, roles: tuple[str, ...] = ROLES, *, under: tuple[str, ...] = ("",)
) -> tuple[list[str], Counter[int]]:
    """Look and press everywhere as every role; return the leaks, and how often each status was seen."""
    leaks: list[str] = []
    seen: Counter[int] = Counter()
    for route, door, path in addresses(planted):
        if not route.startswith(under):
            continue
        callers = planted.programs if door.kind == "token" else planted.clients
        for role in roles:
            if door.kind == "project" and role in ("colleague", "manager"):
                continue  # strangers like the outsider: the matrix says so
            for method in ("get", "post"):
                response = pressed(callers[role], method, path)
                seen[response.status_code] += 1
                found = planted.leaks_in(everything_of(response)) + faulty_headers(response)
                leaks += [f"{role} {method} /{route}: {name} ({response.status_code})" for name in found]
                if response.status_code in (302, 401, 403, 404):
                    break  # who may not look is refused for pressing with the same page; see the matrix
    return leaks, seen


def faulty_headers(response: Any) -> list[str]:
    """Return what is wrong with the headers of a response: every one has them, refusals and downloads too."""
    from pydplib.web.middleware import HEADERS

    wrong = [name for name in HEADERS if not response.headers.get(name)]
    policy = response.headers.get("Content-Security-Policy", "")
    wrong += [] if "default-src 'none'" in policy and "unsafe" not in policy else ["Content-Security-Policy"]
    wrong += [] if "no-store" in response.headers.get("Cache-Control", "") else ["Cache-Control"]
    return wrong + ["Access-Control-Allow-Origin"] * response.has_header("Access-Control-Allow-Origin")


def pressed(client: Any, method: str, path: str) -> Any:
    """Return the answer; whatever was changed is undone, so that nobody is signed out on the way."""
    from django.conf import settings
    from django.db import transaction

    if method == "get":
        return client.get(path)
    cookies, head = client.cookies.copy(), settings.CONFIGURATION.home / "ledger.head.json"
    before = head.read_bytes()
    block: Any = transaction.atomic()
    block._from_testcase = True
    with block:
        response = client.post(path)
        transaction.set_rollback(True)
    head.write_bytes(before)  # outside the database, so that no rollback goes unnoticed: also this one
    client.cookies = cookies
    return response


def test_nobody_but_owners_meets_a_canary_at_any_address_in_the_log_or_in_the_audit_lines(planted: Planted) -> None:
    with server_log() as printed:
        leaks, seen = walk(planted)
    assert leaks == []
    assert seen[200] > 300 and seen[403] > 300 and seen[404] > 300, seen
    assert max(seen) < 500, seen
    assert planted.leaks_in(printed.getvalue()) == []
    assert stored_leaks(planted) == []


def stored_leaks(planted: Planted) -> list[str]:
    """Return canaries in tables that others read or that keep no patients: log, ledger, lockout, counts, results."""
    from axes.models import AccessAttempt
    from django.apps import apps

    readable = [AccessAttempt]
    for app in ("auditlog", "ledger", "analyses", "dashboards", "attacks", "api"):
        readable += list(apps.get_app_config(app).get_models())
    readable.append(apps.get_model("exports", "Export"))
    readable.append(apps.get_model("people", "TryCount"))
    found = []
    for model in readable:
        for row in model._default_manager.all().values_list():
            texts = (bytes(cell).decode("utf-8", "replace") if isinstance(cell, bytes | memoryview) else str(cell)
                     for cell in row)  # fmt: skip
            text = " ".join(texts)
            found += [f"{model._meta.label}: {name}" for name in planted.leaks_in(text)]
    return found


def test_owner_does_see_them_so_the_canaries_are_there(planted: Planted) -> None:
    """The twin of the walk: the same pages show the canaries to whom they belong."""
    study, desk = planted.worlds
    patient = planted.object_for("intake.Patient", study)
    assert canary("PHYSICIAN") in planted.owner.get(f"/privacy-rights/patients/{patient.key}/access").content.decode()
    report = planted.object_for("reporting.Report", desk)
    assert canary("FINDINGS") in planted.owner.get(f"/reports/{report.key}").content.decode()
    batch = planted.object_for("intake.ImportBatch", study)
    assert canary("CELL") in planted.owner.get(f"/import/{batch.key}").content.decode()
    assert canary("FILE") not in planted.owner.get(f"/import/{batch.key}").content.decode(), (
        "names of files are dropped"
    )


def test_a_planted_leak_on_a_page_is_found(planted: Planted) -> None:
    project = planted.worlds[0].project
    type(project).objects.filter(pk=project.pk).update(purpose=canary("LEAK"))
    leaks, _ = walk(planted, ("third_party",), under=("projects", "api/v1/projects"))
    assert any("/projects/<str:key>" in leak for leak in leaks) and any("/api/v1/" in leak for leak in leaks)


def test_a_planted_leak_in_the_log_is_found(planted: Planted) -> None:
    from pydplib.web.auditlog.log import record

    record("system", "report.look", canary("LEAK"))
    assert any("auditlog.Line" in leak for leak in stored_leaks(planted))


# -- errors ------------------------------------------------------------------------------------------------


def fault(request: Any, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(f"{canary('FAULT')} in a message")


@pytest.fixture
def broken_page(monkeypatch: pytest.MonkeyPatch) -> str:
    """A page that fails with a canary in its message and in a local name."""
    from pydplib.web.projects.policy import views as views_policy

    monkeypatch.setattr(views_policy, "render", fault)
    return "/policy"


def test_a_fault_shows_no_canary_on_the_page_or_in_the_log(planted: Planted, broken_page: str) -> None:
    for client in planted.clients.values():
        client.raise_request_exception = False
    try:
        with server_log() as printed:
            statuses = {}
            for role, client in planted.clients.items():
                response = client.get(f"{broken_page}?project={planted.worlds[0].project.key}")
                statuses[role] = response.status_code
                assert planted.leaks_in(everything_of(response)) == [], role
    finally:
        for client in planted.clients.values():
            client.raise_request_exception = True
    assert statuses["third_party"] == 500
    assert "RuntimeError at" in printed.getvalue(), "the operator learns kind and place"
    assert planted.leaks_in(printed.getvalue()) == []


def test_an_ordinary_formatter_would_have_leaked(planted: Planted, broken_page: str) -> None:
    """The twin: the log of a server without our formatter holds the message of the fault."""
    printed = io.StringIO()
    handler = logging.StreamHandler(printed)
    logging.getLogger("django.request").handlers.insert(0, handler)  # before ours, which strikes the message out
    client = planted.clients["third_party"]
    client.raise_request_exception = False
    try:
        client.get(f"{broken_page}?project={planted.worlds[0].project.key}")
    finally:
        client.raise_request_exception = True
        logging.getLogger("django.request").removeHandler(handler)
    assert planted.leaks_in(printed.getvalue())


def test_what_is_typed_or_sent_wrongly_comes_back_nowhere(planted: Planted) -> None:
    """Passwords, codes, links, names of files and identifiers in forms that are refused."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    third, officer = planted.clients["third_party"], planted.clients["officer"]
    file = SimpleUploadedFile(canary("FILE") + ".exe", b"MZ" + canary("CELL").encode())
    with server_log() as printed:
        answers = [
            planted.clients["anonymous"].post("/login", {"username": "owner", "password": canary("TYPED")}),
            planted.clients["anonymous"].get(f"/welcome/{canary('TOKEN')}"),
            third.post("/confirm", {"password": canary("TYPED"), "code": "000000"}),
            third.post("/account/password", {"current": canary("A"), "password": canary("B"), "again": canary("C")}),
            officer.post(
                f"/privacy-rights/find?project={planted.worlds[0].project.key}", {"identifier": canary("NOBODY")}
            ),
            third.get("/no-such-page/" + canary("PATH")),
            third.get("/analyses/new", {"field": canary("FIELD"), "kind": canary("KIND")}),
        ]
        refused = planted.owner.post(f"/import?project={planted.worlds[0].project.key}", {"file": file})
    assert refused.status_code == 422 and TAG not in refused.content.decode()
    shown = [planted.leaks_in(everything_of(answer)) for answer in answers]
    assert shown == [[] for _ in answers], [answer.status_code for answer in answers]
    assert planted.leaks_in(printed.getvalue()) == []
    assert stored_leaks(planted) == []


def test_every_static_file_is_served_with_the_headers(client: Any) -> None:
    from django.contrib.staticfiles.finders import get_finders

    names = [name for finder in get_finders() for name, _ in finder.list([])]
    assert len(names) > 20
    for name in names:
        response = client.get(f"/static/{name}")
        assert response.status_code == 200, name
        assert set(faulty_headers(response)) <= {"Cache-Control"}, name  # no secret: may be kept


def test_a_response_without_headers_is_found() -> None:
    from django.http import HttpResponse

    assert {"Content-Security-Policy", "X-Frame-Options", "Cache-Control"} <= set(faulty_headers(HttpResponse()))


def test_static_files_hold_no_canary_and_nothing_of_the_server_s_home(planted: Planted) -> None:
    from django.conf import settings
    from django.contrib.staticfiles.finders import get_finders

    files = [storage.path(name) for finder in get_finders() for name, storage in finder.list([])]
    assert len(files) > 20
    home = settings.CONFIGURATION.home.resolve()
    for path in map(Path, files):
        assert home not in path.resolve().parents
        assert TAG.encode() not in path.read_bytes()

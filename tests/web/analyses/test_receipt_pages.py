"""Receipts for anybody: genuine or not, paid here or not; and never a released value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from study_world import CANARY

import pydplib as dp
from pydplib.receipt import Receipt, new_signing_key
from pydplib.web.analyses.asking import Noise, ask, release_of, stored_payload
from pydplib.web.auditlog.models import Line
from pydplib.web.ledger import models as rows


@pytest.fixture
def made(study: Any, tara: Any) -> Any:
    return ask(study.project, tara.user, tara.place, dp.Count(by="pirads"), Noise(epsilon=0.2))


def test_anybody_learns_that_a_release_was_paid_and_signed_and_no_number_of_it(made: Any, client: Any) -> None:
    answer = client.get(f"/receipts/{made.digest}")
    page = answer.content.decode()
    receipt = Receipt.from_json(made.receipt)
    assert answer.status_code == 200 and "Paid and signed here" in page
    for fact in (receipt.question_hash, receipt.payload_hash, receipt.mechanism, receipt.data, receipt.epsilon):
        assert fact in page
    for value in release_of(made).values:
        assert f"{value:.6f}" not in page and f">{value}<" not in page
    assert "tara" not in page and "Acme" not in page and CANARY not in page


@pytest.mark.parametrize("key", ["0" * 64, "z" * 64, "short", "0" * 63, "%3Cscript%3E"])
def test_unknown_keys_get_the_same_page_and_no_echo(made: Any, client: Any, key: str) -> None:
    answer = client.get(f"/receipts/{key}")
    assert answer.status_code == 404
    page = answer.content.decode()
    assert "Receipt of a release" in page and "Not found" in page and "<script>" not in page and key not in page


def test_a_release_without_receipt_is_said_to_be_paid(made: Any, client: Any) -> None:
    type(made).objects.update(receipt="")
    page = client.get(f"/receipts/{made.digest}").content.decode()
    assert "Paid here, not signed" in page


def test_a_reserved_release_is_not_there_yet(made: Any, client: Any) -> None:
    rows.Release.objects.create(digest="1" * 64, lineage="x", snapshot="s", question="{}")
    assert client.get(f"/receipts/{'1' * 64}").status_code == 404


def test_a_forged_receipt_in_the_table_is_not_shown(made: Any, client: Any) -> None:
    forged = Receipt.from_json(made.receipt).signed(new_signing_key())
    type(made).objects.update(receipt=forged.to_json())
    assert "not signed" in client.get(f"/receipts/{made.digest}").content.decode()


def test_a_pasted_receipt_is_verified_and_a_changed_one_refused(made: Any, client: Any) -> None:
    good = client.post("/receipts", {"receipt": made.receipt})
    assert good.status_code == 200 and "Genuine" in good.content.decode()
    assert "is in the ledger" in good.content.decode()
    changed = made.receipt.replace('"epsilon": "0.2"', '"epsilon": "0.1"')
    assert changed != made.receipt
    for text in (changed, Receipt.from_json(made.receipt).signed(new_signing_key()).to_json(), "{}", "[" * 9000):
        bad = client.post("/receipts", {"receipt": text})
        assert bad.status_code == 422 and "Genuine" not in bad.content.decode()
    assert client.post("/receipts", {"receipt": "x" * 30_000}).status_code == 422
    assert not Line.objects.filter(action__startswith="receipt").exists()


def test_keys_and_files_verify_offline_before_and_after_a_new_key(
    made: Any, client: Any, tara: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from pydplib.cli import cli, receipt

    monkeypatch.setattr(receipt, "open_platform", lambda home: None)
    run = CliRunner().invoke
    first = client.get("/receipts/keys").json()
    assert [key["current"] for key in first["keys"]] == [True]
    said = run(cli, ["receipt", "rotate"])
    assert said.exit_code == 0 and Line.objects.get(action="receipt.rotate").subject in said.output
    document = client.get("/receipts/keys").json()
    assert [key["current"] for key in document["keys"]] == [True, False]
    assert document["keys"][1]["key_id"] == first["keys"][0]["key_id"]
    assert json.loads(run(cli, ["receipt", "keys"]).output) == document
    files = {"keys.json": json.dumps(document).encode(), "receipt.json": made.receipt.encode()}
    files["release.json"] = tara.get(f"/analyses/{made.key}/download/json").content
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    paths = [str(tmp_path / name) for name in ("receipt.json", "keys.json", "release.json")]
    verified = run(cli, ["receipt", "verify", paths[0], "--keys", paths[1], "--release", paths[2]])
    assert verified.exit_code == 0 and "The values fit" in verified.output
    assert files["release.json"] == stored_payload(made.digest)
    assert client.get(f"/receipts/{made.digest}").status_code == 200


def test_private_keys_are_for_the_server_alone(made: Any, settings_home: Path, client: Any) -> None:
    (file,) = (settings_home / "keys" / "receipts").glob("*.key")
    assert file.stat().st_mode & 0o077 == 0
    secret = file.read_text().strip()
    for address in ("/receipts/keys", f"/receipts/{made.digest}", "/receipts"):
        assert secret not in client.get(address).content.decode()


def test_damaged_key_stops_questions_before_they_are_paid(
    made: Any, study: Any, tara: Any, settings_home: Path
) -> None:
    from pydplib.web.ledger import models as rows

    (file,) = (settings_home / "keys" / "receipts").glob("*.key")
    good, before = file.read_text(), rows.Entry.objects.count()
    file.write_text("not a key")
    sent = {"kind": "count", "accuracy": "epsilon", "epsilon": "0.01", "agreed": "900000000"}
    answer = tara.post("/analyses/new", sent)
    assert answer.status_code == 422 and "nothing was spent" in answer.content.decode()
    assert rows.Entry.objects.count() == before
    file.write_text(good)
    assert tara.post("/analyses/new", sent).status_code == 302


def test_copy_of_a_key_that_somebody_made_signs_nothing(made: Any, settings_home: Path, client: Any) -> None:
    from pydplib.receipt import new_signing_key
    from pydplib.web.analyses.signing import rotate

    folder, before = settings_home / "keys" / "receipts", client.get("/receipts/keys").json()
    for name in ("old-backup.key", "000001 (copy).key", "९.key"):
        (folder / name).write_text(new_signing_key().private_bytes_raw().hex())
    assert client.get("/receipts/keys").json() == before
    assert rotate() == client.get("/receipts/keys").json()["keys"][0]["key_id"]
    assert len(client.get("/receipts/keys").json()["keys"]) == 2

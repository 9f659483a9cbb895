"""Receipts for anybody: genuine or not, paid here or not; and never a released value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from study_world import CANARY

import pydplib as dp
from pydplib.errors import ReceiptError
from pydplib.receipt import Receipt, new_signing_key
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.payments.purchases import ask, release_of, stored_payload
from pydplib.web.auditlog.models import Line
from pydplib.web.ledger import models as rows


@pytest.fixture
def made(study: Any, tara: Any) -> Any:
    return ask(study.project, tara.user, tara.place, dp.Count(by="pirads"), Accuracy(epsilon=0.2))


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

    from pydplib.cli import cli
    from pydplib.cli.platform import receipt

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
    from pydplib.web.analyses.receipts.keys import rotate

    folder, before = settings_home / "keys" / "receipts", client.get("/receipts/keys").json()
    for name in ("old-backup.key", "000001 (copy).key", "९.key", f"{made.project.hospital.key}-1.key", "x-000009.key"):
        (folder / name).write_text(new_signing_key().private_bytes_raw().hex())
    assert client.get("/receipts/keys").json() == before
    assert rotate(made.project.hospital) == client.get("/receipts/keys").json()["keys"][0]["key_id"]
    assert len(client.get("/receipts/keys").json()["keys"]) == 2


# -- whose receipts they are ------------------------------------------------------------------------


def test_every_organisation_signs_with_a_key_of_its_own_that_verifies_no_other_name(
    made: Any, study: Any, settings_home: Path
) -> None:
    from dataclasses import replace

    from pydplib.web.analyses.receipts.keys import issuer_keys, sign
    from pydplib.web.people.models import Hospital

    good = Receipt.from_json(made.receipt)
    assert (good.issuer, good.issuer_id) == (study.project.hospital.name, study.project.hospital.key)
    acme = Hospital.objects.get(name="Acme")
    forged = sign(good, acme)
    assert forged.key_id != good.key_id and forged.issuer == "Acme"
    private = _private_key(settings_home, acme)
    claimed = replace(good, signature="", key_id="").signed(private)  # in the other's name, by their own key
    with pytest.raises(ReceiptError, match="belongs to another issuer"):
        claimed.verify(issuer_keys())


def _private_key(home: Path, hospital: Any) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    text = (home / "keys" / "receipts" / f"{hospital.key}-000001.key").read_text()
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text))


def test_a_partner_cannot_get_a_receipt_in_another_hospitals_name(
    made: Any, study: Any, tara: Any, client: Any, sign_in: Any
) -> None:
    """A tenant takes the victim's name, or one that looks like it: refused, in the same words as any other name."""
    tara.user.is_hospital_owner = True
    tara.user.save()
    victim = study.project.hospital.name
    for name in (
        victim,
        victim.upper(),
        f" {victim} ",
        victim.replace("E", "Е"),
        "Ｓｔ. Example",
        "5t Example",
        "St Exarnple",
    ):
        answer = tara.post("/hospital", {"name": name})
        if name == "5t Example":  # a five is no S
            assert answer.status_code == 302
            continue
        assert answer.status_code == 422, name
        assert b"in use, or looks too much" in answer.content or b"several alphabets" in answer.content
    tara.user.hospital.refresh_from_db()
    assert tara.user.hospital.name == "5t Example"


def test_an_old_receipt_is_signed_by_the_server_with_a_name_that_was_not_checked(
    made: Any, client: Any, settings_home: Path, tmp_path: Path
) -> None:
    from dataclasses import replace

    from click.testing import CliRunner

    from pydplib.cli import cli

    key = new_signing_key()
    (settings_home / "keys" / "receipts" / "000001.key").write_text(key.private_bytes_raw().hex())
    old = replace(Receipt.from_json(made.receipt), issuer_id="", issuer="Hospital 1", signature="").signed(key)
    assert '"format": "pydplib-receipt/1"' in old.to_json() and "issuer_id" not in old.to_json()
    page = client.post("/receipts", {"receipt": old.to_json()}).content.decode()
    assert "the issuer's name was not checked then" in page.replace("&#x27;", "'") and "Genuine" not in page
    (tmp_path / "old.json").write_text(old.to_json())
    (tmp_path / "keys.json").write_text(json.dumps(client.get("/receipts/keys").json()))
    said = CliRunner().invoke(
        cli, ["receipt", "verify", str(tmp_path / "old.json"), "--keys", str(tmp_path / "keys.json")]
    )
    assert said.exit_code == 0 and said.output.startswith("Signed by this server; the issuer's name was not checked")
    assert "Genuine" not in said.output


def test_the_public_receipt_of_a_shared_release_is_the_same_for_whoever_asked(
    made: Any, study: Any, partner: Any, client: Any
) -> None:
    """Another organisation pays for the same release later: nothing public changes, and nothing says who was first."""
    from pydplib.web.analyses.models import Analysis

    before = client.get(f"/receipts/{made.digest}").content
    public = client.get(f"/api/v1/receipts/{made.digest}").json()
    assert public["issued"] == "" and b"Signed on" not in before
    later = partner("tom", organisation="Other").user
    Analysis.objects.create(
        project=made.project,
        asked_by=later,
        recipient=later.hospital.key,
        role="third_party",
        label=made.label,
        snapshot=made.snapshot,
        digest=made.digest,
        question=made.question,
        words=made.words,
        receipt=made.receipt.replace("Acme", "Other"),
    )
    assert client.get(f"/api/v1/receipts/{made.digest}").json() == public
    Analysis.objects.filter(pk=made.pk).delete()  # only the later one is left: still the same
    found = client.get(f"/api/v1/receipts/{made.digest}")
    assert found.status_code == 200 and found.json() == public


def test_keys_are_published_by_issuer_without_names(made: Any, study: Any, client: Any) -> None:
    issuer = study.project.hospital
    document = client.get("/receipts/keys").json()
    assert {key["issuer_id"] for key in document["keys"]} == {issuer.key}
    assert issuer.name not in json.dumps(document)
    assert client.get("/receipts/keys", {"issuer": issuer.key}).json() == document
    assert client.get("/receipts/keys", {"issuer": "0" * 16}).json()["keys"] == []


def test_the_page_says_what_a_renamed_issuer_is_called_today(made: Any, study: Any, client: Any) -> None:
    hospital = study.project.hospital
    hospital.name = "University Hospital Example"
    hospital.save()
    page = client.post("/receipts", {"receipt": made.receipt}).content.decode()
    assert "Signed by St. Example" in page and "It is called University Hospital Example today" in page


def test_receipt_is_verified_from_its_file_and_people_keep_their_navigation(
    client: Any, sign_in: Any, make_user: Any
) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    page = client.post("/receipts", {"file": SimpleUploadedFile("r.json", b"no receipt")})
    assert page.status_code == 422 and "no receipt" not in page.content.decode().split("<textarea")[0]
    huge = client.post("/receipts", {"file": SimpleUploadedFile("r.json", b"x" * 30_000)})
    assert huge.status_code == 422 and "Is this the right file?" in huge.content.decode()
    assert client.post("/receipts", {}).status_code in (200, 422)
    assert 'href="/account"' not in client.get("/receipts").content.decode()
    assert 'href="/account"' in sign_in(make_user("rec-rita")).get("/receipts").content.decode()

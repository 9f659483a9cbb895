"""A server of version 0.1 goes on with today's code: its home as it lay on the disk, and its encrypted backup."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from page_figures import cells_of, figures_of

FOLDER = Path(__file__).parents[1] / "fixtures" / "version-0.1"
FACTS = json.loads((FOLDER / "platform" / "facts.json").read_text(encoding="utf-8"))
RELEASE = json.loads((FOLDER / "receipts" / "release.json").read_text(encoding="utf-8"))
RECEIPT = (FOLDER / "receipts" / "receipt.json").read_text(encoding="utf-8")

# What `pydplib serve` does before its first request, and then what people look at. It has a process of its own:
# Django is set up once for one database.
LOOK = """
import hashlib, json, re, sys
from pydplib.web import startup
from pydplib.web.configuration import Configuration

facts, receipt = json.loads(sys.argv[1]), sys.argv[2]
startup.start_django(Configuration.from_environment())
startup.check_database()
seen = {"changes": startup.migrate(lambda word: None)}
from pydplib.web import jobs, upkeep
jobs.end_claims()
upkeep.tidy()

from django.test import Client
from django.test.utils import setup_test_environment
from django.utils import timezone
from django_otp import DEVICE_ID_SESSION_KEY
from django_otp.plugins.otp_totp.models import TOTPDevice
import pydplib as dp
from pydplib.receipt import Receipt
from pydplib.web.analyses.receipts import keys
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.payments.purchases import ask
from pydplib.web.auditlog import verification
from pydplib.web.projects.models import Member
from pydplib.web.intake import snapshots
from pydplib.web.intake.rights.erasure import look_up
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report

setup_test_environment()
users = {user.username: user for user in User.objects.all()}

def enter(name):
    client, user = Client(), users[name]
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    device, _ = TOTPDevice.objects.get_or_create(user=user, name="phone", confirmed=True)
    session = client.session
    session[DEVICE_ID_SESSION_KEY] = device.persistent_id
    session["confirmed_at"] = timezone.now().timestamp() + 3600
    session.save()
    return client

def page(client, path, **fields):
    query = "?project=" + facts["project"]
    answer = client.post(path + query, fields) if fields else client.get(path + query)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return {"status": answer.status_code, "text": content.decode(), "sha256": hashlib.sha256(content).hexdigest()}

verdict = verification.verify(expected=(facts["audit"]["lines"], facts["audit"]["hash"]))
seen["audit"] = [bool(verdict), verdict.lines, verdict.problem]
head = DatabaseLedger().verify()
seen["ledger"] = {"entries": head.entries, "hash": head.hash, "ledger": head.ledger}

project = Project.objects.get(key=facts["project"])
seen["organisations"] = sorted(Hospital.objects.values_list("name", flat=True))
seen["reports"] = Report.objects.filter(project=project).count()
seen["patient"] = look_up(project, facts["patient"]) is not None
seen["stranger"] = look_up(project, "SYN-nobody") is not None
snapshot = snapshots.published_snapshot(project)
seen["snapshot"] = {"key": snapshot.key, "number": snapshot.number}
with snapshots.load_snapshot(snapshot) as table:
    seen["columns"] = sorted(table.schema.columns)

olivia, carl, tara = enter("olivia"), enter("carl"), enter("tara")
analysis, board = "/analyses/" + facts["analysis"]["key"], "/dashboards/" + facts["dashboard"]["key"]
seen["analysis"] = page(tara, analysis)
seen["download"] = page(tara, analysis + "/download/json")
seen["receipt"] = page(tara, analysis + "/download/receipt")
seen["checked"] = page(Client(), "/receipts", receipt=receipt)
seen["forged"] = page(Client(), "/receipts", receipt=receipt.replace('"0.2"', '"0.1"'))
seen["keys"] = page(Client(), "/receipts/keys")
seen["export"] = page(carl, "/anonymize/" + facts["export"]["key"] + "/download/csv", agreed="1")
seen["board"] = page(olivia, board)
seen["offer"] = page(tara, board)
agreed = re.search('name="agreed" value="([^"]*)"', seen["offer"]["text"])
page(tara, board + "/receive", agreed=agreed[1] if agreed else "")
seen["received"] = page(tara, board)
before = DatabaseLedger().head().entries
again = ask(project, users["tara"], Member.as_role("third_party"), dp.Histogram("age"), Accuracy(epsilon=0.2))
seen["again"] = [again.key, DatabaseLedger().head().entries - before]
new = ask(project, users["carl"], Member.as_role("collaborator"), dp.Count(), Accuracy(epsilon=0.5))
signed = Receipt.from_json(new.receipt).verify(keys.issuer_keys())
seen["new"] = [signed.is_issuer_checked, DatabaseLedger().head().entries > before]
DatabaseLedger().verify()
seen["audit after"] = bool(verification.verify(expected=(verdict.lines, verdict.hash)))
print(json.dumps(seen))
"""


def run(home: Path, *command: str) -> str:
    """Run Python on a home that has its own SQLite file, whatever database the other tests use."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYDPLIB_", "DATABASE_"))}
    done = subprocess.run(
        [sys.executable, *command], env=kept | {"PYDPLIB_HOME": str(home), "PYDPLIB_ANSWER_SECONDS": "0"},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module", params=["home", "backup"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What people see on a server whose home, or whose backup, is of version 0.1."""
    folder = tmp_path_factory.mktemp("version-0.1")
    home = folder / "home"
    if request.param == "home":
        home.mkdir(mode=0o700)
        with tarfile.open(FOLDER / "platform" / "home.tar.gz") as packed:
            packed.extractall(home, filter="data")
    else:
        (folder / "pass").write_text(FACTS["passphrase"] + "\n", encoding="utf-8")
        backup, words = str(FOLDER / "platform" / "home.backup"), str(folder / "pass")
        said = run(home, "-m", "pydplib", "restore", backup, "--passphrase-file", words)
        assert f"{FACTS['audit']['lines']} lines of the audit log fit" in said
        # As the command tells: the tables are still those of version 0.1.
        accepted = run(home, "-m", "pydplib", "ledger", "accept", "--yes")
        assert f"Accepted: {FACTS['ledger']['entries']} entries" in accepted
    found: dict[str, Any] = json.loads(run(home, "-c", LOOK, json.dumps(FACTS), RECEIPT).splitlines()[-1])
    return found


def words(page: dict[str, Any]) -> str:
    assert page["status"] == 200, page["text"][:2000]
    return html.unescape(page["text"])


def test_tables_are_brought_up_to_date_in_place(seen: dict[str, Any]) -> None:
    assert seen["changes"] > 0, "this home is no older than the code"
    assert seen["organisations"] == ["Acme Diagnostics (synthetic)", "St. Synthia Hospital (synthetic)"]
    assert seen["reports"] == FACTS["reports"]
    assert seen["patient"] and not seen["stranger"]


def test_audit_log_and_ledger_verify_and_go_on(seen: dict[str, Any]) -> None:
    whole, lines, problem = seen["audit"]
    assert whole and problem is None and lines >= FACTS["audit"]["lines"], problem
    assert seen["ledger"] == FACTS["ledger"]
    assert seen["again"] == [FACTS["analysis"]["key"], 0], "a question that was paid is free"
    assert seen["new"] == [True, True]
    assert seen["audit after"]


def test_snapshot_opens(seen: dict[str, Any]) -> None:
    assert seen["snapshot"] == FACTS["snapshot"]
    assert {"age", "pirads", "patient_id"} <= set(seen["columns"])


def test_analysis_shows_the_stored_answer(seen: dict[str, Any]) -> None:
    page = words(seen["analysis"])
    assert "Distribution of Age" in page
    assert json.dumps(RELEASE["values"]) in page
    assert words(seen["download"]).encode() == (FOLDER / "receipts" / "release.json").read_bytes()
    assert words(seen["receipt"]) == RECEIPT


def test_receipt_is_verified_by_the_server(seen: dict[str, Any]) -> None:
    assert "Signed by this server; the issuer's name was not checked then." in words(seen["checked"])
    assert seen["forged"]["status"] == 422
    old = json.loads((FOLDER / "receipts" / "keys.json").read_text(encoding="utf-8"))["keys"]
    given = {key["key_id"]: key for key in json.loads(words(seen["keys"]))["keys"]}
    for key in old:
        assert given[key["key_id"]]["public_key"] == key["public_key"]
        assert not given[key["key_id"]]["current"]


def test_dashboard_shows_its_figures(seen: dict[str, Any]) -> None:
    owner, offered, received = words(seen["board"]), words(seen["offer"]), words(seen["received"])
    assert len(FACTS["dashboard"]["drawn"]) == 2
    for title, numbers in FACTS["dashboard"]["drawn"]:
        assert title in owner and title in received
        for page in (owner, received):
            assert numbers in [cells_of(figure) for figure in figures_of(page).values()]
    # Version 0.1 showed them at once; now the audience's organisation pays for itself, and sees nothing before.
    assert figures_of(offered) == {}
    assert "has not received this figure" in offered and "has not received this figure" not in received


def test_export_is_handed_out_unchanged(seen: dict[str, Any]) -> None:
    assert seen["export"]["status"] == 200
    assert seen["export"]["sha256"] == FACTS["export"]["sha256"]["csv"]

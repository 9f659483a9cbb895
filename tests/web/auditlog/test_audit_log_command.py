"""``pydplib audit-log`` on a home of its own, in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from web_home import WebHome, make_web_home

RECORD = """
from pydplib.web.auditlog.log import record
record("ada", "report.look", "r1", count=1)
record("ada", "report.sign", "=r2")
"""
TAMPER = """
from django.db import connection
with connection.cursor() as cursor:
    if connection.vendor == "sqlite":
        cursor.execute("DROP TRIGGER auditlog_line_no_update")
    else:
        cursor.execute("ALTER TABLE auditlog_line DISABLE TRIGGER ALL")
    cursor.execute("UPDATE auditlog_line SET actor = 'eve' WHERE number = 1")
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebHome]:
    with make_web_home(tmp_path_factory.mktemp("audit-home")) as made:
        assert made.python(RECORD).returncode == 0
        yield made


def _run(home: WebHome, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pydplib", "audit-log", *arguments]
    return subprocess.run(command, env=home.environment, capture_output=True, text=True, timeout=60)


def test_show_verify_and_export_a_whole_log(home: WebHome, tmp_path: Path) -> None:
    shown = _run(home, "show")
    assert shown.returncode == 0, shown.stderr
    assert "Signed a report" in shown.stdout and "Looked at a report" in shown.stdout
    rows = json.loads(_run(home, "show", "--action", "report.sign", "--json").stdout)
    assert [row["subject"] for row in rows] == ["=r2"]
    exported = _run(home, "export", "--lines", "--csv", "--head", str(tmp_path / "head.json"))
    assert "'=r2" in exported.stdout, exported.stderr
    verified = _run(home, "verify", "--head", str(tmp_path / "head.json"))
    assert verified.returncode == 0 and "Whole: 2 lines" in verified.stdout and "continues" in verified.stdout


def test_a_changed_line_and_a_rollback_end_with_code_30(home: WebHome, tmp_path: Path) -> None:
    head = tmp_path / "head.json"
    head.write_text(json.dumps({"format": "pydplib audit log head 1", "lines": 9, "hash": "0" * 64}))
    rolled = _run(home, "verify", "--head", str(head))
    assert rolled.returncode == 30 and "rolled back" in rolled.stderr
    assert home.python(TAMPER).returncode == 0
    changed = _run(home, "verify", "--json")
    assert changed.returncode == 30 and json.loads(changed.stdout)["whole"] is False
    assert _run(home, "export").returncode == 30


def test_a_folder_without_platform_is_said_and_stays_empty(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pydplib", "audit-log", "verify", "--home", str(tmp_path / "nowhere")]
    done = subprocess.run(command, env={"PATH": ""}, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "no platform" in done.stderr
    assert not (tmp_path / "nowhere").exists()

"""What was stored stays valid: release keys, seeded answers and prices are what they were, and an old ledger pays."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pinned_releases import LEDGER, PINNED, QUESTIONS, SCHEMA, rows, session_on, tell_all

import pydplib as dp
from pydplib.budget import SqliteLedger

STORED = json.loads(PINNED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return tell_all()


@pytest.mark.parametrize("name", STORED)
def test_key_answer_and_price_of_a_pinned_question_have_not_moved(name, told):
    assert told[name]["release"]["key"] == STORED[name]["release"]["key"]
    assert _rounded(told[name]) == _rounded(STORED[name])


def _rounded(value: Any) -> Any:
    """Return plain values with floats to twelve digits: the last ones are the machine's."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


@pytest.fixture(scope="module")
def old_ledger(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    path.write_bytes(gzip.decompress(LEDGER.read_bytes()))
    path.chmod(0o600)
    return path


def test_every_question_of_a_stored_ledger_is_free_and_verifies(old_ledger):
    with dp.load(rows(3), SCHEMA) as table, SqliteLedger(old_ledger) as ledger:
        ledger.verify()
        session = session_on(table, ledger)
        left = session.remaining.nano_epsilon
        for name, question, options in QUESTIONS:
            release = session.release(question, **options)
            assert any("nothing was charged" in remark for remark in release.remarks), name
        assert session.remaining.nano_epsilon == left


def test_stored_payloads_are_written_again_as_the_same_bytes(old_ledger):
    with sqlite3.connect(old_ledger) as base:
        payloads = [row[0] for row in base.execute("SELECT payload FROM releases WHERE payload IS NOT NULL")]
    assert len(payloads) >= 35
    for payload in payloads:
        text = payload.decode() if isinstance(payload, bytes) else payload
        assert dp.Release.from_json(text).to_json() == text

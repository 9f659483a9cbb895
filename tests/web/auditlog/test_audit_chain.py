from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction

from pydplib.web.auditlog.log import record, recorded
from pydplib.web.auditlog.models import Head, Line
from pydplib.web.auditlog.verification import verify

pytestmark = pytest.mark.usefixtures("db")


def _drop_triggers() -> None:
    """What an intruder with full rights on the database would do first."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER auditlog_line_no_update")
            cursor.execute("DROP TRIGGER auditlog_line_no_delete")
        else:
            cursor.execute("ALTER TABLE auditlog_line DISABLE TRIGGER ALL")


def test_lines_form_a_chain_that_verifies(make_user) -> None:
    ada = make_user("ada")
    for number in range(5):
        record(ada, "report.look", f"r{number}", count=number)
    verdict = verify()
    assert verdict and verdict.lines == 5
    assert [line.facts["count"] for line in Line.objects.all()] == list(range(5))
    assert Line.objects.first().hospital == ada.hospital.key


@pytest.mark.parametrize("statement", ["UPDATE auditlog_line SET actor = 'eve'", "DELETE FROM auditlog_line"])
def test_a_line_can_be_neither_changed_nor_deleted(statement: str) -> None:
    record("system", "server.start")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert verify().lines == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE auditlog_line SET actor = 'eve' WHERE number = 2", "Line 2 does not fit"),
        ("DELETE FROM auditlog_line WHERE number = 2", "Line 2 is missing"),
        ("DELETE FROM auditlog_line WHERE number = 3", "missing at the end"),
    ],
)
def test_verify_finds_a_change_made_behind_the_triggers(change: str, words: str) -> None:
    for name in "abc":
        record("system", "x.do", name)
    _drop_triggers()
    with connection.cursor() as cursor:
        cursor.execute(change)
    verdict = verify()
    assert not verdict
    assert words in (verdict.problem or "")


def test_lines_that_others_write_during_the_walk_are_no_damage(monkeypatch) -> None:
    for name in "abc":
        record("system", "x.do", name)
    seal, met = Line.seal, []

    def meanwhile(line: Line) -> str:
        if not met and line.number == 2:
            met.append(line)
            record("system", "x.do", "meanwhile")
        return seal(line)

    monkeypatch.setattr(Line, "seal", meanwhile)
    assert verify() and met
    assert verify().lines == 4


def test_verify_finds_a_line_beyond_the_head_and_a_head_that_was_set_back() -> None:
    for name in "abc":
        record("system", "x.do", name)
    Head.objects.update(number=2, hash=Line.objects.get(number=2).hash)
    assert "counts 2 lines, but 3" in (verify().problem or "")
    Head.objects.update(number=2, hash="f" * 64)
    assert "does not fit the head" in (verify().problem or "")


def test_a_change_that_fails_leaves_no_line() -> None:
    def change() -> None:
        with recorded("system") as log:
            log.add("x.do")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change()
    assert not Line.objects.exists()


def test_a_noted_head_shows_a_rollback() -> None:
    record("system", "x.do")
    assert verify(expected=(1, Line.objects.get().hash))
    assert "rolled back" in (verify(expected=(2, "0" * 64)).problem or "")
    assert "rewritten" in (verify(expected=(1, "0" * 64)).problem or "")


def test_the_triggers_are_there_after_all_migrations() -> None:
    """SQLite drops them with a table that is altered; see pydplib.web.auditlog.triggers."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'auditlog_line'")
        else:
            cursor.execute(
                "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'auditlog_line'::regclass AND NOT tgisinternal"
            )
        assert cursor.fetchone()[0] == 2

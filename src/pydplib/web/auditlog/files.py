"""The log as a file: CSV for spreadsheets, with formulas defused; JSON with everything that is hashed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydplib._csv_text import csv_pieces
from pydplib.web.auditlog.models import Head, Line
from pydplib.web.auditlog.words import words_of

COLUMNS = ("number", "time", "hospital", "project", "actor", "action", "words", "subject", "details", "hash")
HEAD_FORMAT = "pydplib audit log head 1"


def to_csv(lines: Iterable[Line]) -> Iterator[str]:
    """Yield the lines as CSV, piece by piece."""
    found = ({**_values(line), "words": words_of(line.action)} for line in lines)
    return csv_pieces(COLUMNS, ([values[name] for name in COLUMNS] for values in found))


def to_json(lines: Iterable[Line]) -> Iterator[str]:
    """Yield the lines as a JSON list, one line of text per line of the log."""
    yield "["
    for number, line in enumerate(lines):
        yield ("," if number else "") + "\n" + json.dumps({**_values(line), "previous": line.previous})
    yield "\n]\n"


def _values(line: Line) -> dict[str, object]:
    return {name: getattr(line, name) for name in COLUMNS if name != "words"}


def head_to_json() -> str:
    """Return the end of the chain as a small text to keep elsewhere: it shows a later rollback."""
    head = Head.objects.get(id=1)
    return json.dumps({"format": HEAD_FORMAT, "lines": head.number, "hash": head.hash}, indent=2) + "\n"


def head_from_json(text: str) -> tuple[int, str]:
    """Return number and hash of a head that was kept.

    Raises:
        ValueError: It is not one.
    """
    values = json.loads(text)
    if not isinstance(values, dict) or values.get("format") != HEAD_FORMAT:
        raise ValueError("not the head of an audit log")
    number, seal = values.get("lines"), values.get("hash")
    if type(number) is not int or number < 0 or not isinstance(seal, str) or len(seal) != 64:
        raise ValueError("not the head of an audit log")
    return number, seal

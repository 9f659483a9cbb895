"""Cells that no table should hold, and what each must count as: missing, "other", or clamped; the same everywhere.

Every cell is one example: three clean people and one person whose row holds the cell, all in one table, told apart by a
column. The expected table holds what the cell must count as, so that its integers are those of clean cells.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from neighbours import QUESTIONS, UNKNOWN

import pydplib as dp

COLUMNS = {
    "age": dp.Number(18, 100, step=1),
    "psa": dp.Number(0, 50),
    "shift": dp.Number(-10, 10),
    "cost": dp.Number(0, 1e9),
    "lesions": dp.Integer(0, 9),
    "pirads": dp.Category([1, 2, 3]),
    "kind": dp.Category(["a", "b", "?"]),
    "bph": dp.Flag(),
    "day": dp.Date("2018-01-01", "2018-12-31"),
    "city": dp.Text(),
}
CLEAN = [
    {"patient": "x", "age": 50.0, "psa": 1.5, "shift": -2.0, "cost": 1e6, "lesions": 1, "pirads": 1, "kind": "a",
     "bph": True, "day": dt.date(2018, 2, 3), "city": "Oslo"},
    {"patient": "x", "age": 70.0, "psa": 4.0, "shift": 3.5, "cost": 5e8, "lesions": 2, "pirads": 3, "kind": "b",
     "bph": False, "day": dt.date(2018, 9, 9), "city": "Rome"},
    {"patient": "y", "age": 61.0, "psa": 9.0, "shift": 0.0, "cost": 10.0, "lesions": 0, "pirads": 2, "kind": "?",
     "bph": None, "day": None, "city": None},
    {"patient": "z", "age": None, "psa": 2.0, "shift": 9.0, "cost": 7e8, "lesions": 9, "pirads": 2, "kind": "a",
     "bph": True, "day": dt.date(2018, 12, 31), "city": "Oslo"},
]  # fmt: skip
ODD_ROW = {"patient": "odd", "age": 44.0, "psa": 3.0, "shift": 1.0, "cost": 2e8, "lesions": 3, "pirads": 1, "kind": "b",
           "bph": True, "day": dt.date(2018, 5, 5), "city": "Graz"}  # fmt: skip
TYPES = {"patient": pa.string(), "age": pa.float64(), "psa": pa.float64(), "shift": pa.float64(), "cost": pa.float64(),
         "lesions": pa.int64(), "pirads": pa.int64(), "kind": pa.string(), "bph": pa.bool_(), "day": pa.date32(),
         "city": pa.string()}  # fmt: skip

ASKED = [
    *QUESTIONS,
    *UNKNOWN,
    dp.Variance("shift"),
    dp.Sum("cost", by="kind"),
    dp.Median("shift"),
    dp.Count(by="kind", where=[dp.Where("kind").ne("a")]),
    dp.Mean("shift", where=[dp.Where("day").is_missing()]),
]
"""Every question of the release, and some about columns of wide and of symmetric bounds."""
FEW = [q for q in ASKED if str(q) in {str(few) for few in (
    dp.Count(of="persons", by="pirads", where=[dp.Where("age").at_least(40)]),
    dp.Sum("psa", by="bph"),
    dp.Mean("lesions", by={"day": dp.Bins(["2018-01-01", "2018-07-01", "2018-12-31"])}),
    dp.Median("shift"),
    dp.Sum("cost", by="kind"),
    dp.Count(by={"city": None}),
)}]  # fmt: skip
"""Questions that look at every column, by weights and by a keyed sample."""


def asked(turn: int, *, every: bool = False) -> list[Any]:
    """Return every question, or those that look at every column and two of the others, in turn."""
    others = [question for question in ASKED if question not in FEW]
    return ASKED if every else [*FEW, others[turn % len(others)], others[(7 * turn + 3) % len(others)]]


@dataclass(frozen=True)
class Cell:
    """One cell: where it stands, what is stored, and what it must count as."""

    name: str
    column: str
    stored: Any
    expected: Any
    is_text: bool = True  # valid text; bytes are not


def schema_of(count: int) -> dp.Schema:
    """Return the schema of this many examples."""
    columns = {"example": dp.Integer(0, max(1, count - 1)), "part": dp.Category(["clean", "odd"]), **COLUMNS}
    return dp.Schema(columns, person="patient", max_rows_per_person=2, max_groups_per_person=2, name="hostile")


# -- cells stored as text --------------------------------------------------------------------------

_BYTES = {
    "Latin-1": b"M\xfcller",
    "other Latin-1": b"M\xf6ller",
    "half a character": b"caf\xed\xa0\x80",
    "cut letter": b"K\xc3",
    "not a byte of text": b"\xff\xfe\x00",
    "overlong": b"\xc0\x80",
    "beyond Unicode": b"\xf5\x80\x80\x80",
}
_TEXTS = {
    "null": "a\0b",
    "replacement": "\ufffd",
    "far letters": "😀\u202e\u0301",
    "quotes": "\"; DROP TABLE reports; --'",
    "long": "x" * 70_000,
    "digits": "9" * 5_000,
    "huge": "1e999",
    "not a number": "nan",
    "infinite": "-inf",
    "other digits": "１２",
    "line feed": "7\n",
    "no such day": "2018-02-30",
    "no month": "2018-13-01",
    "zeros": "0000-00-00",
    "signs": "+-5",
    "blank": "\u00a0",
}

_PLACED = [
    Cell("time of odd signs after a day", "day", "2018-05-05 \n\0", "2018-05-05"),
    Cell("letter after a day", "day", "2018-05-05x", None),
    Cell("zero byte after a day", "day", "05.05.2018\0", None),
    Cell("line feed after a day", "day", "2018-05-05\n", None),
    Cell("byte order mark before a number", "age", "\ufeff7", None),
    Cell("byte order mark before an id", "patient", "\ufeffodd", "\ufeffodd"),
    Cell("carriage return after a number", "psa", "7\r", None),
    Cell("carriage return in a key", "city", "a\rb", "a\rb"),
    Cell("line separator after a number", "shift", "7\u2028", None),
    Cell("formula's error", "lesions", "#DIV/0!", None),
    Cell("last letter of Unicode", "kind", "\U0010ffff", "zzz"),
]
"""Texts that are odd in one column only."""


def text_cells() -> list[Cell]:
    """Return every odd text in every column; of ids and keys, text that is valid is as good as any other."""
    found = [*_PLACED]
    for name, raw in {**_BYTES, **_TEXTS}.items():
        for column in ("patient", *COLUMNS):
            is_text = isinstance(raw, str)
            if column in ("patient", "city"):
                expected = raw if is_text else None
            else:
                expected = "zzz" if isinstance(COLUMNS[column], dp.Category) else None
            found.append(Cell(f"{name} in {column}", column, raw, expected, is_text))
    return found


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return repr(value)
    return None if value is None else str(value)


def _rows(cells: Sequence[Cell], *, expected: bool, odd: bool = True) -> list[dict[str, Any]]:
    rows = []
    for i, cell in enumerate(cells):
        shared = {"example": i, "part": "clean"}
        rows += [{**row, **shared, "patient": f"{row['patient']}{i}"} for row in CLEAN]
        if odd:
            row = {**ODD_ROW, "patient": f"odd{i}", "example": i, "part": "odd"}
            value = cell.expected if expected else cell.stored
            if cell.column == "patient" and isinstance(value, str):
                value = f"{value}{i}"  # nobody is in two examples
            elif cell.column == "patient" and isinstance(value, bytes):
                value += str(i).encode()
            rows.append({**row, cell.column: value})
    return rows


NAMES = ["example", "part", "patient", *COLUMNS]


def text_table(cells: Sequence[Cell], *, expected: bool = False, odd: bool = True) -> pa.Table:
    """Return the examples as text, whatever bytes; with ``expected``, what they must count as."""
    rows = _rows(cells, expected=expected, odd=odd)
    return pa.table({name: arrow_text([_as_bytes(row[name]) for row in rows]) for name in NAMES})


def _as_bytes(value: Any) -> bytes | None:
    if isinstance(value, bytes):
        return value
    text = _as_text(value)
    return None if text is None else str(text).encode()


def arrow_text(cells: list[bytes | None]) -> pa.Array:
    """Return text cells of any bytes: Arrow does not look at them."""
    raw = pa.array(cells, pa.large_binary())
    return pa.Array.from_buffers(pa.large_string(), len(raw), raw.buffers())


# -- cells stored as numbers and points in time ----------------------------------------------------

_FLOATS = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -5e-324, 1e-320, 1e-200, -1e-200, 1e-162, 2.0**63,
           -(2.0**64), 1e19, -0.0, 0.1 + 0.2, 9.999999999999999]  # fmt: skip
_WHOLE = [2**63 - 1, -(2**63), 2**53 + 1, -1, 10]


def number_cells() -> list[Cell]:
    """Return odd numbers; all count as the bound that they pass, and NaN as missing."""
    found = []
    for column in ("age", "psa", "shift", "cost"):
        kind = COLUMNS[column]
        for number in _FLOATS:
            clamped = None if math.isnan(number) else min(max(number, kind.low), kind.high)
            found.append(Cell(f"{number!r} in {column}", column, number, clamped))
    found += [Cell(f"{n} in lesions", "lesions", n, min(max(n, 0), 9)) for n in _WHOLE]
    return found + [Cell(f"{n} in pirads", "pirads", n, 77) for n in _WHOLE]


def typed_table(cells: Sequence[Cell], *, expected: bool = False, odd: bool = True) -> pa.Table:
    """Return the examples with a type for every column."""
    rows = _rows(cells, expected=expected, odd=odd)
    types = {"example": pa.int64(), "part": pa.string(), **TYPES}
    return pa.table({name: pa.array([row[name] for row in rows], types[name]) for name in NAMES})


_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LAST = 91 * 10**17  # the last year of 64 bits of microseconds, or nearly


def moment_cells(unit: str) -> list[Cell]:
    """Return points in time, in ticks; beyond the years that 64 bits of microseconds reach they are missing."""
    found = []
    ends = (2**63 - 1, -(2**63 - 1)) if unit in ("us", "ns") else ()  # in microseconds, DuckDB's infinities
    for ticks in (
        _LAST, -_LAST, 2**62, -(2**62), 2**60, -(2**60), 253_402_300_800 * _TICKS[unit], -62_135_596_801, *ends,
    ):  # fmt: skip
        if abs(ticks) > _LAST and ticks not in ends:
            continue
        seconds = ticks // _TICKS[unit]
        is_beyond = abs(seconds) > 2**63 // 10**6 and ticks not in ends
        day = None if is_beyond else dt.date(2018, 12, 31) if seconds > 1.6e9 else dt.date(2018, 1, 1)
        found.append(Cell(f"{ticks} {unit}", "day", ticks, day))
    return found


def moment_table(cells: Sequence[Cell], unit: str, zone: str | None) -> pa.Table:
    """Return the examples with days stored as points in time."""
    plain = typed_table([Cell(c.name, c.column, None, None) for c in cells])
    ticks = [None if row["day"] is None else _ticks(row["day"], unit) for row in plain.to_pylist()]
    odd = [i for i, part in enumerate(plain["part"].to_pylist()) if part == "odd"]
    for place, cell in zip(odd, cells, strict=True):
        ticks[place] = cell.stored
    column = pa.array(ticks, pa.int64()).cast(pa.timestamp(unit, zone))
    return plain.set_column(plain.column_names.index("day"), "day", column)


def _ticks(day: dt.date, unit: str) -> int:
    return (day - dt.date(1970, 1, 1)).days * 86_400 * _TICKS[unit]


# -- cells of pandas and SQLite --------------------------------------------------------------------


class Silent:
    """An object that has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def object_cells() -> list[Cell]:
    """Return objects of pandas columns; none is a value."""
    objects: dict[str, Callable[[], Any]] = {
        "whole number of 5000 digits": lambda: 10**5000,
        "object without a text": Silent,
        "first half": lambda: "a\ud800",
        "other half": lambda: "a\udfff",
        "decimal": lambda: Decimal("sNaN"),
        "list": lambda: [1, 2],
        "complex": lambda: complex(math.nan, 1),
        "half of NumPy's": lambda: np.str_("a\ud800"),
        "array without a text": lambda: np.array([Silent(), None], dtype=object),
    }
    found = []
    for name, make in objects.items():
        for column in ("patient", *COLUMNS):
            if column in ("patient", "city") and name in ("decimal", "list", "complex"):
                continue  # their texts are as good as any other
            expected = "zzz" if isinstance(COLUMNS.get(column), dp.Category) else None
            found.append(Cell(f"{name} in {column}", column, make(), expected))
    return found


def object_frame(cells: Sequence[Cell]) -> Any:
    """Return the examples as a pandas frame of objects."""
    import pandas as pd

    rows = [{n: v if n == c else _as_text(v) for n, v in row.items()} for row, c in _with_columns(cells)]
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in NAMES})


def _with_columns(cells: Sequence[Cell]) -> list[tuple[dict[str, Any], str | None]]:
    found = []
    for row in _rows([Cell(c.name, "city", None, None) for c in cells], expected=False):
        cell = cells[row["example"]]
        if row["part"] == "odd":
            found.append(({**row, "city": ODD_ROW["city"], cell.column: cell.stored}, cell.column))
        else:
            found.append((row, None))
    return found


# -- where they are stored -------------------------------------------------------------------------


def write_csv(path: Path, data: pa.Table) -> Path:
    """Write a table's bytes as they are, every cell in quotes; empty cells without."""
    raw = [column.cast(pa.large_binary()).to_pylist() for column in data.columns]
    lines = [",".join(data.column_names).encode()]
    lines += [
        b",".join(b"" if cell is None else b'"' + cell.replace(b'"', b'""') + b'"' for cell in row)
        for row in zip(*raw, strict=True)
    ]
    path.write_bytes(b"\n".join([*lines, b""]))
    return path


def write_parquet(path: Path, data: pa.Table) -> Path:
    """Write Parquet; its texts are not looked at. It seems old, so that it is known to stay as it is."""
    pq.write_table(data, path)
    os.utime(path, (1e9, 1e9))
    return path


def write_sqlite(path: Path, data: pa.Table, *, blobs: bool = False) -> Path:
    """Write a table of texts of any bytes, or of BLOBs where bytes are no text."""
    raw = [column.cast(pa.large_binary()).to_pylist() for column in data.columns]
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(f"CREATE TABLE t ({', '.join(f'{name} TEXT' for name in data.column_names)})")
    for row in zip(*raw, strict=True):
        as_blob = [blobs and cell is not None and not _is_utf8(cell) for cell in row]
        marks = ", ".join("?" if is_blob else "CAST(? AS TEXT)" for is_blob in as_blob)
        connection.execute(f"INSERT INTO t VALUES ({marks})", row)
    connection.commit()
    connection.close()
    return path


def write_typed_sqlite(path: Path, data: pa.Table) -> Path:
    """Write numbers and flags as SQLite keeps them, and days as text."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(f"CREATE TABLE t ({', '.join(data.column_names)})")
    marks = ", ".join("?" for _ in data.column_names)
    rows = [[v.isoformat() if isinstance(v, dt.date) else v for v in row.values()] for row in data.to_pylist()]
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    connection.commit()
    connection.close()
    return path


def _is_utf8(cell: bytes) -> bool:
    try:
        cell.decode()
    except UnicodeDecodeError:
        return False
    return True

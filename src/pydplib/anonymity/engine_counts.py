"""Distinct combinations with counts, fetched from DuckDB: all of a large table that ever comes into memory."""

# Columns and files enter SQL through quoted() only.
# ruff: noqa: S608
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pydplib.anonymity.frames import Coded, encode_objects, join_missing
from pydplib.anonymity.grouping import combine, group
from pydplib.anonymity.resolved import Ints, cell_key


def is_relation(table: Any) -> bool:
    """Return whether a table is a path or a DuckDB relation."""
    return isinstance(table, str | Path) or type(table).__name__ == "DuckDBPyRelation"


def quoted(name: str) -> str:
    """Return a column's name as SQL writes it.

    Examples:
        >>> quoted("body mass")
        '"body mass"'
    """
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def column_codes(name: str, array: Any) -> Coded:
    """Turn a column that DuckDB handed out into codes."""
    mask = np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else np.zeros(len(array), dtype=bool)
    data = np.ma.getdata(array)
    if data.dtype.kind == "O":
        codes, values = encode_objects(
            [None if lost else cell for cell, lost in zip(data.tolist(), mask.tolist(), strict=True)]
        )
        return join_missing(name, codes, values)
    if data.dtype.kind == "M":
        mask = mask | np.isnat(data)
        days = data.astype("datetime64[D]")
        data = days if bool((days == data)[~mask].all()) else data.astype("datetime64[us]")
    distinct, codes = np.unique(data[~mask], return_inverse=True)
    out = np.full(len(data), -1, dtype=np.int64)
    out[~mask] = codes
    return join_missing(name, out, distinct.tolist())


class Counts:
    """Distinct combinations with counts.

    Args:
        relation: The table.
        names: The columns whose combinations are counted.
        person: A column: its different values are counted, and each row without one; None: rows are counted.
    """

    def __init__(self, relation: Any, names: Sequence[str], *, person: str | None = None) -> None:
        listed = ", ".join(quoted(name) for name in names)
        people = "count(*)"
        if person is not None:
            people = f"count(DISTINCT {quoted(person)}) + count(*) FILTER ({quoted(person)} IS NULL)"
        found = relation.query(
            "pydplib_table", f"SELECT {listed}, {people} AS n FROM pydplib_table GROUP BY {listed}"
        ).fetchnumpy()
        keys = list(found)
        self.weight = np.asarray(found[keys[-1]], dtype=np.int64)
        self.columns = [column_codes(name, found[key]) for name, key in zip(names, keys[:-1], strict=True)]

    def merged(self) -> Counts:
        """Add up combinations of the engine that have the same codes, so that every combination is there once."""
        cards = [max(len(c.values), 1) for c in self.columns]
        groups = group(combine([c.codes for c in self.columns], cards, len(self.weight))[0])
        if len(groups.first) < len(self.weight):
            self.columns = [Coded(c.name, c.codes[groups.first], c.values) for c in self.columns]
            self.weight = groups.sums(self.weight)
        return self

    def __repr__(self) -> str:
        return "Counts(private)"


def renumber(column: Coded, place: dict[Any, int]) -> Ints:
    """Return a column's codes in the numbering of another one."""
    numbers = [place[cell_key(value)] for value in column.values]
    return np.array(numbers or [0], dtype=np.int64)[column.codes]


def places(column: Coded) -> dict[Any, int]:
    """Return the code of every value of a column."""
    return {cell_key(value): i for i, value in enumerate(column.values)}


def one_spelling(relation: Any, names: Sequence[str]) -> Any:
    """Return the relation with one spelling for all cells that count as one value.

    NaN becomes NULL and -0.0 becomes 0.0. Numbers and times that are finer than what is read from the engine
    (64-bit floats, microseconds) are rounded to it, in those columns where two values would else become one.
    """
    shown = []
    for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
        if name not in names:
            continue
        cell = quoted(name)
        if kind in ("FLOAT", "DOUBLE"):
            shown.append(f"CASE WHEN isnan({cell}) THEN NULL ELSE {cell} + 0 END AS {cell}")
            continue
        coarse = "TIMESTAMP" if kind == "TIMESTAMP_NS" else "DOUBLE" if _is_long(kind) else None
        if coarse is None:
            continue
        query = f"SELECT count(DISTINCT {cell}), count(DISTINCT {cell}::{coarse}) FROM pydplib_table"
        [(fine, rough)] = relation.query("pydplib_table", query).fetchall()
        if rough < fine:
            shown.append(f"{cell}::{coarse} AS {cell}")
    return relation.project(f"* REPLACE ({', '.join(shown)})") if shown else relation


def _is_long(kind: str) -> bool:
    """Return whether a type holds numbers of more digits than a 64-bit float tells apart."""
    if kind.startswith("DECIMAL("):
        return int(kind[len("DECIMAL(") :].split(",")[0]) > 15
    return kind in ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT")

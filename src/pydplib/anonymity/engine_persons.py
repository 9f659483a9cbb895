"""Numbers of combinations and persons as files, with which DuckDB finds who has which rows."""

# Columns and files enter SQL through quoted(), text() and parquet_source() only.
# ruff: noqa: S608
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pydplib._duckdb_files import exact_name, parquet_source
from pydplib.anonymity.engine_counts import Counts, column_codes, places, quoted, renumber, text
from pydplib.anonymity.frames import Coded
from pydplib.anonymity.grouping import group
from pydplib.anonymity.problem import Pairs, Persons
from pydplib.anonymity.resolved import Bools, Ints


class Numbering:
    """Numbers of the combinations as files, so that the engine can find the number of every row.

    Values keep the type that the engine gave them; only codes come from here.

    Args:
        own: A connection of our own.
        relation: The table.
        counts: Its combinations.
        folder: A private folder.
    """

    def __init__(self, own: Any, relation: Any, counts: Counts, folder: Path) -> None:
        self._own, self._relation, self._counts, self._folder = own, relation, counts, folder
        for i, column in enumerate(counts.columns):
            file = str(folder / f"values{i}.parquet")
            query = f"SELECT DISTINCT {quoted(column.name)} AS v FROM pydplib_table"
            relation.query("pydplib_table", query).write_parquet(file)
            source = parquet_source(exact_name(file))
            found = own.execute(f"SELECT v FROM {source}").fetchnumpy()["v"]
            numbers = renumber(column_codes(column.name, found), places(column)).astype(np.int64)  # noqa: F841
            own.execute(
                f"CREATE TABLE values{i} AS SELECT v, code, first_value(v) OVER (PARTITION BY code ORDER BY v) AS one "
                f"FROM (FROM {source} POSITIONAL JOIN (SELECT column0 AS code FROM numbers))"
            )

    def __repr__(self) -> str:
        return "Numbering(private)"

    def match(self, keep: Bools, name: str) -> str:
        """Write the kept combinations and return the SQL that joins them, as ``m`` with ``m.t``, to the rows ``t``."""
        columns = self._counts.columns
        numbers = np.flatnonzero(keep)
        arrays = {"t": numbers} | {f"c{i}": c.codes[numbers] for i, c in enumerate(columns)}  # noqa: F841
        file = self._folder / f"{name}.parquet"
        self._own.execute("CREATE OR REPLACE TABLE tuples AS SELECT * FROM arrays")
        joins = " ".join(f"JOIN values{i} v{i} ON t.c{i} = v{i}.code" for i in range(len(columns)))
        shown = ", ".join(f"v{i}.v AS q{i}" for i in range(len(columns)))
        self._own.execute(f"COPY (SELECT t.t, {shown} FROM tuples t {joins}) TO {text(str(file))} (FORMAT parquet)")
        same = " AND ".join(f"t.{quoted(c.name)} IS NOT DISTINCT FROM m.q{i}" for i, c in enumerate(columns))
        return f"JOIN {parquet_source(exact_name(file))} m ON {same}"

    def persons(self, person: str) -> str:
        """Number the persons; return the SQL that joins them, as ``p`` with ``p.n``, to the rows ``t``."""
        file = self._folder / "persons.parquet"
        column = quoted(person)
        self._relation.query(
            "pydplib_table",
            f"SELECT v, row_number() OVER () - 1 AS n FROM (SELECT DISTINCT {column} AS v FROM pydplib_table) "
            "WHERE v IS NOT NULL",
        ).write_parquet(str(file))
        return f"LEFT JOIN {parquet_source(exact_name(file))} p ON t.{column} = p.v"


@dataclass(frozen=True, eq=False)
class People:
    """Who has which rows, where somebody has several.

    Attributes:
        persons: The pairs of combination and person, as the search needs them.
        join: The SQL that joins the persons' numbers to the rows.
        known: How many persons have a name; rows of nobody in particular get fresh numbers behind theirs.
    """

    persons: Persons
    join: str = field(repr=False)
    known: int
    _match: str = field(repr=False)

    def __repr__(self) -> str:
        return "People(private)"

    @property
    def number(self) -> str:
        """The SQL for a row's person."""
        return f"coalesce(p.n, {self.known} + row_number() OVER ())"

    @classmethod
    def find(cls, relation: Any, numbering: Numbering, counts: Counts, person: str) -> People | None:
        """Return who has which rows; None where everybody has one, so that counting rows counts persons."""
        column = quoted(person)
        query = f"SELECT count({column}), count(DISTINCT {column}) FROM pydplib_table"
        [(named, known)] = relation.query("pydplib_table", query).fetchall()
        if named == known:
            return None
        match = numbering.match(np.ones(len(counts.weight), dtype=bool), "all")
        join = numbering.persons(person)
        nothing = np.zeros(0, dtype=np.int64)
        most = int(known) + int(counts.weight.sum()) + 1
        draft = cls(Persons(most, nothing, nothing, nothing, nothing, linked=False), join, int(known), match)
        owner, who, _ = draft._distinct(relation, None)
        return cls(Persons(most, owner, who, nothing, nothing, linked=False), join, int(known), match)

    def _distinct(self, relation: Any, name: str | None) -> tuple[Ints, Ints, Any]:
        """Fetch the different (combination, person), with the values of a column if one is named."""
        cell = "" if name is None else f", t.{quoted(name)} AS v"
        found = relation.query(
            "pydplib_table",
            f"SELECT DISTINCT * FROM (SELECT m.t AS t, {self.number} AS person{cell} "
            f"FROM pydplib_table t {self._match} {self.join})",
        ).fetchnumpy()
        owner, person = (np.asarray(found[key], dtype=np.int64) for key in ("t", "person"))
        return owner, person, found.get("v")

    def values(self, relation: Any, name: str) -> tuple[Coded, Pairs, Ints]:
        """Return a column's values, who has which in which combination, and how many people have each."""
        owner, person, cells = self._distinct(relation, name)
        column = column_codes(name, cells)
        width = max(len(column.values), 1)
        once = group(person * width + column.codes).keys % width
        people = np.bincount(once, minlength=len(column.values)).astype(np.int64)
        return column, Pairs(owner, column.codes, np.ones(len(owner), dtype=np.int64), person), people

"""Tables that stay in DuckDB: it counts distinct combinations, and releases rows without handing them over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pydplib._duckdb_files import connect, exact_name, parquet_source
from pydplib.anonymity.certificate import Certificate, certify_view
from pydplib.anonymity.pseudonyms import Pseudonym
from pydplib.anonymity.search.groups import combine, group
from pydplib.anonymity.search.problem import ModelRule, Pairs, Persons
from pydplib.anonymity.search.recodings import Recoding
from pydplib.anonymity.tables.columns import Bools, Ints, cell_key
from pydplib.anonymity.tables.frames import ColumnCodes, encode_objects, join_missing
from pydplib.anonymity.tables.values import as_text
from pydplib.anonymity.tables.view import Spread, View, number_rows, spread_against
from pydplib.noise import random_bytes

# Columns and files enter SQL through quoted() only.
# ruff: noqa: S608


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


def column_codes(name: str, array: Any) -> ColumnCodes:
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
            self.columns = [ColumnCodes(c.name, c.codes[groups.first], c.values) for c in self.columns]
            self.weight = groups.sums(self.weight)
        return self

    def __repr__(self) -> str:
        return "Counts(private)"


def renumber(column: ColumnCodes, place: dict[Any, int]) -> Ints:
    """Return a column's codes in the numbering of another one."""
    numbers = [place[cell_key(value)] for value in column.values]
    return np.array(numbers or [0], dtype=np.int64)[column.codes]


def places(column: ColumnCodes) -> dict[Any, int]:
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


# Columns and files enter SQL through quoted(), text() and parquet_source() only.
# ruff: noqa: S608


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
        draft = cls(
            Persons(number=most, owner=nothing, person=nothing, rows=nothing, row_person=nothing, linked=False),
            join,
            int(known),
            match,
        )
        owner, who, _ = draft._distinct(relation, None)
        return cls(
            Persons(number=most, owner=owner, person=who, rows=nothing, row_person=nothing, linked=False),
            join,
            int(known),
            match,
        )

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

    def values(self, relation: Any, name: str) -> tuple[ColumnCodes, Pairs, Ints]:
        """Return a column's values, who has which in which combination, and how many people have each."""
        owner, person, cells = self._distinct(relation, name)
        column = column_codes(name, cells)
        width = max(len(column.values), 1)
        once = group(person * width + column.codes).keys % width
        people = np.bincount(once, minlength=len(column.values)).astype(np.int64)
        return column, Pairs(owner, column.codes, np.ones(len(owner), dtype=np.int64), person), people


# Columns and files enter SQL through quoted(), text() and parquet_source() only.
# ruff: noqa: S608


@dataclass(frozen=True, kw_only=True)
class ColumnRoles:
    """Which column is what."""

    quasi: tuple[str, ...]
    watched: tuple[str, ...]
    kept: tuple[str, ...]
    hidden: Mapping[str, Pseudonym | None]
    person: str | None = None

    def shown(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of the output, in the order of the table's."""
        fresh = [name for name, pseudonym in self.hidden.items() if pseudonym is not None]
        return [name for name in columns if name in (*self.quasi, *self.watched, *self.kept, *fresh)]


def own_connection(relation: Any, folder: Path) -> Any:
    """Return a connection of our own that keeps to the limits of the table's, and spills into a private folder."""
    own = connect()
    query = "SELECT current_setting('memory_limit'), current_setting('threads')"
    [(memory, threads)] = relation.query("pydplib_table", query).fetchall()
    own.execute(f"SET memory_limit={text(str(memory))}")
    own.execute(f"SET threads={int(threads)}")
    own.execute(f"SET temp_directory={text(str(folder / 'spill'))}")
    return own


def write_release(
    own: Any,
    relation: Any,
    numbering: Numbering,
    recoding: Recoding,
    roles: ColumnRoles,
    folder: Path,
    people: People | None,
) -> tuple[Path, str | None]:
    """Write the released rows; return the file, and its column with the persons' numbers if there is one.

    Narrow rows are shuffled first, with the number of their combination in the place of its labels: sorting is what
    costs. The labels are put in while the result is written.
    """
    columns = relation.columns
    tuple_, person = free_name("pydplib_tuple", columns), free_name("pydplib_person", columns)
    narrow, full = folder / "shuffled.parquet", folder / "full.parquet"
    joins = numbering.match(~recoding.suppressed, "released")
    who = ""
    if people is not None:
        joins, who = f"{joins} {people.join}", f", {people.number} AS {person}"
    relation.query("pydplib_table", shuffling(columns, roles, tuple_, who, joins)).write_parquet(str(narrow))
    _write_labels(own, recoding)
    shown = ", ".join(
        f"l.o{roles.quasi.index(name)} AS {quoted(name)}" if name in roles.quasi else f"s.{quoted(name)}"
        for name in roles.shown(columns)
    )
    more = f", s.{person}" if who else ""
    own.execute(
        f"COPY (SELECT {shown}{more} FROM {parquet_source(exact_name(narrow))} s JOIN labels l ON s.{tuple_} = l.t) "
        f"TO {text(str(full))} (FORMAT parquet, COMPRESSION zstd)"
    )
    narrow.unlink()
    return full, person if who else None


def free_name(name: str, columns: Sequence[str]) -> str:
    """Return a name that no column has.

    Examples:
        >>> free_name("row", ["age", "Row"])
        'row_'
    """
    taken = {column.lower() for column in columns}
    while name.lower() in taken:
        name += "_"
    return name


def shuffling(columns: Sequence[str], roles: ColumnRoles, tuple_: str, more: str, joins: str) -> str:
    """Return the SQL that lists the released rows in an order that only a key that is thrown away could tell."""
    shown = [f"m.t AS {tuple_}"]
    for name in roles.shown(columns):
        if name in roles.watched or name in roles.kept:
            shown.append(f"t.{quoted(name)}")
        elif (pseudonym := roles.hidden.get(name)) is not None:
            # A fresh pseudonym per row: a hash of the row's number under a key that is thrown away.
            key = random_bytes(32).hex()
            shown.append(
                f"{text(pseudonym.prefix)} || md5(concat({text(key)}, row_number() OVER ())) AS {quoted(name)}"
            )
    number = free_name("pydplib_row", columns)
    order = random_bytes(32).hex()
    return (
        f"SELECT * EXCLUDE ({number}) FROM (SELECT {', '.join(shown)}{more}, row_number() OVER () AS {number} "
        f"FROM pydplib_table t {joins}) ORDER BY md5_number_lower(concat({text(order)}, {number}))"
    )


def _write_labels(own: Any, recoding: Recoding) -> None:
    """Make the table ``labels``: combination -> the cells that are shown, a kept value in its own type."""
    kept = np.flatnonzero(~recoding.suppressed)
    arrays = {"t": kept} | {f"l{i}": c.ids[kept] for i, c in enumerate(recoding.columns)}  # noqa: F841
    own.execute("CREATE OR REPLACE TABLE chosen AS SELECT * FROM arrays")
    joins, shown = "", ""
    for i, column in enumerate(recoding.columns):
        if column.kept:
            joins += f" JOIN (SELECT DISTINCT code, one FROM values{i}) n{i} ON b.c{i} = n{i}.code"
            shown += f", n{i}.one AS o{i}"
            continue
        texts = [as_text(label) for label in column.labels]
        named = {"id": np.arange(len(texts)), "o": np.array(texts, dtype=object)}  # noqa: F841
        own.execute(f"CREATE OR REPLACE TABLE labels{i} AS SELECT id, o::VARCHAR AS o FROM named")
        joins += f" JOIN labels{i} n{i} ON a.l{i} = n{i}.id"
        shown += f", n{i}.o AS o{i}"
    own.execute(f"CREATE OR REPLACE TABLE labels AS SELECT a.t{shown} FROM chosen a JOIN tuples b ON a.t = b.t {joins}")


def certify_file(
    written: Any,
    quasi: Sequence[str],
    rules: Sequence[ModelRule],
    reference: Mapping[str, Mapping[Any, float]],
    population: Mapping[int, Counter[tuple[Any, ...]]],
    *,
    person: str | None = None,
) -> tuple[Certificate, View]:
    """Count the classes of the written file in the engine and measure every rule on them."""
    counts = Counts(written, quasi, person=person)
    size = counts.weight
    rows, people = _totals(written, person)
    view = View(rows, np.arange(len(size)), size, counted=people)
    place = [places(c) for c in counts.columns]

    def spread(name: str, against: Mapping[Any, float] | None) -> Spread:
        more = Counts(written, [*quasi, name], person=person)
        both = [
            ColumnCodes(c.name, np.concatenate((c.codes, renumber(m, numbers))), c.values)
            for c, m, numbers in zip(counts.columns, more.columns[:-1], place, strict=True)
        ]
        numbers = number_rows(both, len(size) + len(more.weight))
        owner = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
        owner[numbers[: len(size)]] = np.arange(len(size))
        column = more.columns[-1]
        whole = more if person is None else Counts(written, [name], person=person)
        place_here = places(column)
        codes = column.codes if person is None else renumber(whole.columns[0], place_here)
        counted = np.bincount(codes, weights=whole.weight, minlength=len(column.values))
        return spread_against(view, column, owner[numbers[len(size) :]], column.codes, more.weight, counted, against)

    def cells() -> list[tuple[str | None, ...]]:
        texts = ([as_text(c.values[i]) for i in c.codes.tolist()] for c in counts.columns)
        return list(zip(*texts, strict=True))

    words = "one row is one person" if person is None else "persons counted once per class"
    return certify_view(view, rules, reference, spread, words, cells, population), view


def _totals(written: Any, person: str | None) -> tuple[int, int]:
    people = "count(*)" if person is None else f"count(DISTINCT {quoted(person)})"
    [(rows, number)] = written.query("pydplib_table", f"SELECT count(*), {people} FROM pydplib_table").fetchall()
    return int(rows), int(number)

"""Rows released inside DuckDB: shuffled, labelled, written as Parquet, and measured again from what was written."""

# Columns and files enter SQL through quoted(), text() and parquet_source() only.
# ruff: noqa: S608
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pydplib._duckdb_files import connect, exact_name, parquet_source
from pydplib.anonymity.certificate import Certificate, certify_view
from pydplib.anonymity.engine_counts import Counts, places, quoted, renumber, text
from pydplib.anonymity.engine_persons import Numbering, People
from pydplib.anonymity.frames import Coded
from pydplib.anonymity.plain import as_text
from pydplib.anonymity.problem import Rule
from pydplib.anonymity.pseudonyms import Pseudonym
from pydplib.anonymity.recoding import Recoding
from pydplib.anonymity.view import Spread, View, number_rows, spread_against


@dataclass(frozen=True)
class Roles:
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
    own: Any, relation: Any, numbering: Numbering, recoding: Recoding, roles: Roles, folder: Path, people: People | None
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


def shuffling(columns: Sequence[str], roles: Roles, tuple_: str, more: str, joins: str) -> str:
    """Return the SQL that lists the released rows in an order that only a key that is thrown away could tell."""
    from pydplib.noise import random_bytes

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
    rules: Sequence[Rule],
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
            Coded(c.name, np.concatenate((c.codes, renumber(m, numbers))), c.values)
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

"""Tables that stay in DuckDB: it counts distinct combinations, the search runs on those, it applies the result."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pydplib._duckdb_files import exact_name, parquet_source
from pydplib.anonymity.certificate import Certificate, certify_view
from pydplib.anonymity.frames import Coded, _encode_objects, _join_missing, open_relation
from pydplib.anonymity.grouping import combine, group
from pydplib.anonymity.leaves import released_hierarchies
from pydplib.anonymity.models import Model
from pydplib.anonymity.prepare import (
    read_hierarchy,
    read_identifiers,
    read_rules,
    row_limit,
)
from pydplib.anonymity.problem import Pairs, Problem, Rule, describe_sensitive
from pydplib.anonymity.pseudonyms import Pseudonym
from pydplib.anonymity.recipe import Recipe
from pydplib.anonymity.recoding import Recoding, measure_loss
from pydplib.anonymity.resolved import Ints
from pydplib.anonymity.result import AnonymizationResult, RiskChange, Suppression
from pydplib.anonymity.risks import risk_of_sizes
from pydplib.anonymity.search import SearchInfo
from pydplib.anonymity.verification import names_of
from pydplib.anonymity.view import Spread, View, number_rows, spread_against
from pydplib.errors import DataError, ParameterError, column_hint
from pydplib.schema import Schema


def is_relation(table: Any) -> bool:
    """Return whether a table is a path or a DuckDB relation."""
    if isinstance(table, str | Path):
        return True
    return type(table).__name__ == "DuckDBPyRelation"


def quoted(name: str) -> str:
    """Return a column's name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def column_codes(name: str, array: Any) -> Coded:
    """Turn a column that DuckDB handed out into codes."""
    mask = np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else np.zeros(len(array), dtype=bool)
    data = np.ma.getdata(array)
    if data.dtype.kind == "O":
        codes, values = _encode_objects(
            [None if lost else cell for cell, lost in zip(data.tolist(), mask.tolist(), strict=True)]
        )
        return _join_missing(name, codes, values)
    if data.dtype.kind == "M":
        mask = mask | np.isnat(data)
        days = data.astype("datetime64[D]")
        data = days if bool((days == data)[~mask].all()) else data.astype("datetime64[us]")
    distinct, codes = np.unique(data[~mask], return_inverse=True)
    out = np.full(len(data), -1, dtype=np.int64)
    out[~mask] = codes
    return _join_missing(name, out, distinct.tolist())


@dataclass(frozen=True)
class Roles:
    """Which column is what."""

    quasi: tuple[str, ...]
    watched: tuple[str, ...]
    kept: tuple[str, ...]
    hidden: Mapping[str, Pseudonym | None]


class Counts:
    """Distinct combinations with counts, fetched from the engine."""

    def __init__(self, relation: Any, names: Sequence[str]) -> None:
        listed = ", ".join(quoted(name) for name in names)
        query = f"SELECT {listed}, count(*) AS n FROM pydplib_table GROUP BY ALL"  # noqa: S608
        found = relation.query("pydplib_table", query).fetchnumpy()
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


def _renumber(column: Coded, place: dict[Any, int]) -> Ints:
    """Return a column's codes in the numbering of another one."""
    numbers = [place[(isinstance(value, bool), value)] for value in column.values]
    return np.array(numbers or [0], dtype=np.int64)[column.codes]


def _places(column: Coded) -> dict[Any, int]:
    return {(isinstance(value, bool), value): i for i, value in enumerate(column.values)}


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
        query = f"SELECT count(DISTINCT {cell}), count(DISTINCT {cell}::{coarse}) FROM pydplib_table"  # noqa: S608
        [(fine, rough)] = relation.query("pydplib_table", query).fetchall()
        if rough < fine:
            shown.append(f"{cell}::{coarse} AS {cell}")
    return relation.project(f"* REPLACE ({', '.join(shown)})") if shown else relation


def _is_long(kind: str) -> bool:
    """Return whether a type holds numbers of more digits than a 64-bit float tells apart."""
    if kind.startswith("DECIMAL("):
        return int(kind[len("DECIMAL(") :].split(",")[0]) > 15
    return kind in ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT")


def anonymize_relation(
    table: Any,
    quasi_identifiers: Any,
    sensitive: Any,
    *,
    models: Sequence[Model],
    person: str | None,
    identifiers: Any,
    insensitive: Sequence[str],
    suppression: float,
    schema: Schema | None,
    method: str,
    loss: str,
    labels: str,
    time_limit: float | None,
    progress: Callable[[SearchInfo], None] | None,
    previous: Sequence[Any],
    output: str | Path | None,
) -> AnonymizationResult:
    """Anonymize a path or relation; rows never leave the engine, but for their distinct combinations."""
    import duckdb

    from pydplib.anonymity.api import find_recoding

    relation = open_relation(table) if isinstance(table, str | Path) else table
    quasi = names_of(quasi_identifiers, "quasi-identifiers")
    rules, watched = read_rules(sensitive, models)
    hidden = read_identifiers(identifiers)
    kept = names_of(insensitive, "insensitive columns")
    roles = Roles(quasi, watched, kept, hidden)
    _check(relation, roles, rules, person, previous)
    try:
        relation = one_spelling(relation, (*quasi, *watched))
        counts = Counts(relation, quasi).merged()
    except duckdb.Error:
        raise DataError("DuckDB could not count the combinations of the quasi-identifiers.") from None
    given = quasi_identifiers if isinstance(quasi_identifiers, Mapping) else {}
    hierarchies = {c.name: read_hierarchy(c.name, given.get(c.name), c.values, schema) for c in counts.columns}
    resolved = [hierarchies[c.name].resolve(c.name, c.values) for c in counts.columns]
    rows = int(counts.weight.sum())
    problem = Problem(resolved, [c.codes for c in counts.columns], counts.weight, rules, row_limit(suppression, rows))
    reference = _add_sensitive(problem, relation, counts, quasi, watched, rules)
    recoding, info = find_recoding(problem, method, loss, labels, time_limit, progress)
    with tempfile.TemporaryDirectory(prefix="pydplib-") as folder:
        data, certificate, view = _release(relation, counts, recoding, roles, rules, reference, folder, output)
    gone = int(problem.weight[recoding.suppressed].sum())
    if view.rows + gone != rows:
        if output is not None:
            Path(output).unlink(missing_ok=True)
        raise DataError(
            "The output and the suppressed rows do not add up to the table: the engine changed or repeated rows while "
            "they were written. Nothing was released. Load the table into memory, e.g. duckdb.read_parquet(path).pl()."
        )
    trees = released_hierarchies(hierarchies, problem, recoding)
    made = [c.name for c in resolved if c.from_data or hierarchies[c.name].from_data]
    notes = [f"The hierarchies of {', '.join(made)} were made from the data, which can give something away."]
    return AnonymizationResult(
        data=data,
        levels=recoding.levels,
        suppressed=Suppression(gone, gone / rows if rows else 0.0, suppression),
        loss=measure_loss(problem, recoding),
        risk=RiskChange(risk_of_sizes(problem.weight), risk_of_sizes(view.size)),
        certificate=certificate,
        recipe=Recipe(
            method, trees, recoding.levels, rules, watched, tuple(hidden), kept, suppression, loss,
            recoding.stages, recoding.tree,
        ),
        search=info,
        method=method,
        quasi_identifiers=quasi,
        sensitive=watched,
        dropped=tuple(name for name in relation.columns if name not in data.columns),
        notes=tuple(notes if made else ()),
    )  # fmt: skip


def _check(relation: Any, roles: Roles, rules: Sequence[Rule], person: str | None, previous: Sequence[Any]) -> None:
    if not roles.quasi:
        raise ParameterError("Name at least one quasi-identifier: anonymize(..., quasi_identifiers=['age', ...]).")
    named = (*roles.quasi, *roles.watched, *roles.kept, *roles.hidden)
    for name in named:
        if name not in relation.columns:
            raise ParameterError(f"The table has no column '{name}'.{column_hint(name, relation.columns)}")
    if len(set(named)) < len(named):
        raise ParameterError("A column is named in two roles. Choose one.")
    linked = any(pseudonym is not None and pseudonym.consistent for pseudonym in roles.hidden.values())
    population = any(getattr(rule.model, "population", None) is not None for rule in rules)
    if person is not None or linked or previous or population:
        raise ParameterError(
            "Tables that stay in DuckDB take neither person=, consistent pseudonyms, previous= nor population tables. "
            "Load the table into memory for these, e.g. duckdb.read_parquet(path).pl()."
        )


def _add_sensitive(
    problem: Problem, relation: Any, counts: Counts, quasi: Sequence[str], watched: Sequence[str], rules: Sequence[Rule]
) -> dict[str, dict[Any, float]]:
    """Fetch the sensitive values of every combination and tie them to the combinations' numbers."""
    reference: dict[str, dict[Any, float]] = {}
    cards = [max(len(c.values), 1) for c in counts.columns]
    places = [_places(c) for c in counts.columns]
    for name in watched:
        more = Counts(relation, [*quasi, name]).merged()
        codes = [_renumber(c, place) for c, place in zip(more.columns[:-1], places, strict=True)]
        joined = [np.concatenate((a.codes, b)) for a, b in zip(counts.columns, codes, strict=True)]
        into = group(combine(joined, cards, len(counts.weight) + len(more.weight))[0]).into
        number = np.zeros(int(into.max(initial=-1)) + 1, dtype=np.int64)
        number[into[: len(counts.weight)]] = np.arange(len(counts.weight))
        column = more.columns[-1]
        problem.pairs[name] = Pairs(number[into[len(counts.weight) :]], column.codes, more.weight)
        people = np.bincount(column.codes, weights=more.weight, minlength=len(column.values)).astype(np.int64)
        own = [rule.model for rule in rules if rule.sensitive == name]
        problem.sensitive[name] = describe_sensitive(name, column.values, people, own)
        reference[name] = dict(zip(column.values, problem.sensitive[name].share.tolist(), strict=True))
    return reference


def _release(
    relation: Any,
    counts: Counts,
    recoding: Recoding,
    roles: Roles,
    rules: Sequence[Rule],
    reference: Mapping[str, Mapping[Any, float]],
    folder: str,
    output: str | Path | None,
) -> tuple[Any, Certificate, View]:
    """Join rows with their labels, shuffle them by a keyed hash, write them, and certify what was written."""
    import duckdb

    own = duckdb.connect()
    mapping = str(Path(folder) / "mapping.parquet")
    target = str(output) if output is not None else str(Path(folder) / "release.parquet")
    try:
        _write_mapping(own, counts, recoding, relation, mapping, folder)
        relation.query("pydplib_table", _query(relation, recoding, roles, mapping)).write_parquet(
            target, compression="zstd"
        )
    except duckdb.Error:
        # The engine's own text may quote values.
        raise DataError("DuckDB could not write the anonymized table. Is there room on the disk?") from None
    written = own.sql(f"FROM {parquet_source(exact_name(target))}")
    certificate, view = _certify(written, roles.quasi, rules, reference)
    if output is None:
        own.execute(f"CREATE TABLE release AS SELECT * FROM {parquet_source(exact_name(target))}")  # noqa: S608
        written = own.table("release")
    return written, certificate, view


def _query(relation: Any, recoding: Recoding, roles: Roles, mapping: str) -> str:
    """Return the SQL that releases the rows, in an order that only a key that is thrown away could tell."""
    from pydplib.noise import random_bytes

    match = " AND ".join(f"t.{quoted(n)} IS NOT DISTINCT FROM m.q{i}" for i, n in enumerate(roles.quasi))
    shown = []
    for name in relation.columns:
        if name in roles.quasi:
            i = roles.quasi.index(name)
            shown.append(f"m.{'k' if recoding.columns[i].kept else 'o'}{i} AS {quoted(name)}")
        elif name in roles.watched or name in roles.kept:
            shown.append(f"t.{quoted(name)}")
        elif (pseudonym := roles.hidden.get(name)) is not None:
            # A fresh pseudonym per row: a hash of the row's number under a key that is thrown away.
            key, prefix = random_bytes(32).hex(), pseudonym.prefix
            shown.append(f"{_text(prefix)} || md5(concat({_text(key)}, row_number() OVER ())) AS {quoted(name)}")
    number = "pydplib_row"
    while number.lower() in {name.lower() for name in relation.columns}:
        number += "_"
    inner = (
        f"SELECT {', '.join(shown)}, row_number() OVER () AS {number} "  # noqa: S608
        f"FROM pydplib_table t JOIN {parquet_source(exact_name(mapping))} m ON {match}"
    )
    order = random_bytes(32).hex()
    return (
        f"SELECT * EXCLUDE ({number}) FROM ({inner}) "  # noqa: S608
        f"ORDER BY md5_number_lower(concat({_text(order)}, {number}))"
    )


def _write_mapping(own: Any, counts: Counts, recoding: Recoding, relation: Any, mapping: str, folder: str) -> None:
    """Write the released combinations with their labels, in the table's own types, as a Parquet file."""
    # Values keep the type that the engine gave them; only numbers of values and labels come from here.
    for i, column in enumerate(counts.columns):
        values = str(Path(folder) / f"values{i}.parquet")
        query = f"SELECT DISTINCT {quoted(column.name)} AS v FROM pydplib_table"  # noqa: S608
        relation.query("pydplib_table", query).write_parquet(values)
        found = own.execute(f"SELECT v FROM {parquet_source(exact_name(values))}").fetchnumpy()["v"]  # noqa: S608
        numbers = _renumber(column_codes(column.name, found), _places(column)).astype(np.int64)  # noqa: F841
        own.execute(
            f"CREATE TABLE values{i} AS SELECT v, code, first_value(v) OVER (PARTITION BY code ORDER BY v) AS one FROM "  # noqa: S608
            f"(FROM {parquet_source(exact_name(values))} POSITIONAL JOIN (SELECT column0 AS code FROM numbers))"
        )
        texts = [None if label is None else str(label) for label in recoding.columns[i].labels]
        named = {"id": np.arange(len(texts)), "o": np.array(texts, dtype=object)}  # noqa: F841
        own.execute(f"CREATE TABLE labels{i} AS SELECT id, o::VARCHAR AS o FROM named")  # noqa: S608
    keep = ~recoding.suppressed
    arrays = {f"c{i}": c.codes[keep] for i, c in enumerate(counts.columns)}
    arrays |= {f"l{i}": c.ids[keep] for i, c in enumerate(recoding.columns)}  # read by name in the next line
    own.execute("CREATE TABLE tuples AS SELECT * FROM arrays")
    joins = " ".join(
        f"JOIN values{i} v{i} ON t.c{i} = v{i}.code JOIN labels{i} n{i} ON t.l{i} = n{i}.id"
        for i in range(len(counts.columns))
    )
    shown = ", ".join(f"v{i}.v AS q{i}, v{i}.one AS k{i}, n{i}.o AS o{i}" for i in range(len(counts.columns)))
    own.execute(f"COPY (SELECT {shown} FROM tuples t {joins}) TO {_text(mapping)} (FORMAT parquet)")  # noqa: S608


def _certify(
    written: Any, quasi: Sequence[str], rules: Sequence[Rule], reference: Mapping[str, Mapping[Any, float]]
) -> tuple[Certificate, View]:
    """Count the classes of the written file in the engine and measure every rule on them."""
    counts = Counts(written, quasi)
    size = counts.weight
    view = View(int(size.sum()), np.arange(len(size)), size)
    places = [_places(c) for c in counts.columns]

    def spread(name: str, against: Mapping[Any, float] | None) -> Spread:
        more = Counts(written, [*quasi, name])
        both = [
            Coded(c.name, np.concatenate((c.codes, _renumber(m, place))), c.values)
            for c, m, place in zip(counts.columns, more.columns[:-1], places, strict=True)
        ]
        numbers = number_rows(both, len(size) + len(more.weight))
        owner = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
        owner[numbers[: len(size)]] = np.arange(len(size))
        column = more.columns[-1]
        people = np.bincount(column.codes, weights=more.weight, minlength=len(column.values))
        return spread_against(view, column, owner[numbers[len(size) :]], column.codes, more.weight, people, against)

    return certify_view(view, rules, reference, spread, "one row is one person", list, {}), view

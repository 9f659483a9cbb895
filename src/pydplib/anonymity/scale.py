"""Tables that stay in DuckDB: it counts distinct combinations, the search runs on those, it applies the result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pydplib._duckdb_files import connect, exact_name, parquet_source
from pydplib.anonymity.engine_counts import Counts, one_spelling, places, renumber, text
from pydplib.anonymity.engine_persons import Numbering, People
from pydplib.anonymity.engine_release import Roles, certify_file, own_connection, write_release
from pydplib.anonymity.frames import Coded
from pydplib.anonymity.grouping import combine, group
from pydplib.anonymity.leaves import released_hierarchies
from pydplib.anonymity.models import Model
from pydplib.anonymity.prepare import (
    add_populations,
    check_roles,
    data_notes,
    read_hierarchy,
    read_identifiers,
    read_rules,
    row_limit,
)
from pydplib.anonymity.problem import Pairs, Problem, describe_sensitive
from pydplib.anonymity.recipe import Recipe
from pydplib.anonymity.recoding import measure_loss
from pydplib.anonymity.resolved import Ints
from pydplib.anonymity.result import AnonymizationResult, RiskChange, Suppression
from pydplib.anonymity.risks import risk_of_sizes
from pydplib.anonymity.search import SearchInfo
from pydplib.anonymity.verification import names_of
from pydplib.errors import DataError, ParameterError
from pydplib.schema import Schema
from pydplib.tables import open_relation


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
    reference: str,
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

    from pydplib.anonymity.api import find_recoding, population_labels, sizes_before

    target = None if output is None else read_output(output)
    # Beside the output, whose disk has to be large enough anyway: whole files are then moved, not copied.
    with tempfile.TemporaryDirectory(prefix=".pydplib-", dir=None if target is None else target.parent) as made:
        folder = Path(made)
        relation = _open(table, folder) if isinstance(table, str | Path) else table
        quasi = names_of(quasi_identifiers, "quasi-identifiers")
        rules, watched = read_rules(sensitive, models)
        roles = Roles(
            quasi, watched, names_of(insensitive, "insensitive columns"), read_identifiers(identifiers), person
        )
        _check(relation, roles, previous)
        try:
            relation = one_spelling(relation, (*quasi, *watched, *(() if person is None else (person,))))
            counts = Counts(relation, quasi).merged()
        except duckdb.Error:
            raise DataError("DuckDB could not count the combinations of the quasi-identifiers.") from None
        given = quasi_identifiers if isinstance(quasi_identifiers, Mapping) else {}
        hierarchies = {c.name: read_hierarchy(c.name, given.get(c.name), c.values, schema) for c in counts.columns}
        resolved = [hierarchies[c.name].resolve(c.name, c.values) for c in counts.columns]
        rows = int(counts.weight.sum())
        own = own_connection(relation, folder)
        try:
            numbering = Numbering(own, relation, counts, folder)
            people = None if person is None else People.find(relation, numbering, counts, person)
            problem = Problem(
                resolved, [c.codes for c in counts.columns], counts.weight, rules, row_limit(suppression, rows),
                persons=None if people is None else people.persons, reference=reference,
            )  # fmt: skip
            shares = _add_sensitive(problem, relation, counts, roles, people)
            add_populations(problem, quasi, hierarchies, person)
            recoding, info = find_recoding(problem, method, loss, labels, time_limit, progress)
            full, number = write_release(own, relation, numbering, recoding, roles, folder, people)
            certificate, view = certify_file(
                _read(own, full), quasi, rules, shares, population_labels(problem, recoding), person=number
            )
            gone = int(problem.weight[recoding.suppressed].sum())
            if view.rows + gone != rows:
                raise DataError(
                    "The output and the suppressed rows do not add up to the table: the engine changed or repeated "
                    "rows while they were written. Nothing was released. Load the table into memory, e.g. "
                    "duckdb.read_parquet(path).pl()."
                )
            data = _hand_over(own, full, number, target)
        except duckdb.Error:
            # The engine's own text may quote values.
            raise DataError("DuckDB could not write the anonymized table. Is there room on the disk?") from None
        finally:
            own.close()
    trees = released_hierarchies(hierarchies, problem, recoding)
    return AnonymizationResult(
        data=data,
        levels=recoding.levels,
        suppressed=Suppression(gone, gone / rows if rows else 0.0, suppression),
        loss=measure_loss(problem, recoding),
        risk=RiskChange(risk_of_sizes(sizes_before(problem)), risk_of_sizes(view.size)),
        certificate=certificate,
        recipe=Recipe(
            method, trees, recoding.levels, rules, watched, tuple(roles.hidden), roles.kept, suppression, loss,
            recoding.stages, recoding.tree, person,
        ),
        search=info,
        method=method,
        quasi_identifiers=quasi,
        sensitive=watched,
        dropped=tuple(name for name in relation.columns if name not in data.columns),
        notes=tuple(data_notes(hierarchies, resolved)),
    )  # fmt: skip


def read_output(output: str | Path) -> Path:
    """Return where the output goes; a file that is there already is never replaced."""
    target = Path(output)
    if target.exists():
        raise ParameterError(f"'{target}' exists already. Remove it, or choose another output.")
    if not target.parent.is_dir():
        raise ParameterError(f"The folder of the output does not exist: {target.parent}. Make it first.")
    return target.resolve()


def _open(path: str | Path, folder: Path) -> Any:
    """Open a file in an engine that lays its intermediate results aside in a private folder."""
    connection = connect()
    connection.execute(f"SET temp_directory={text(str(folder / 'spill-of-table'))}")
    return open_relation(path, connection)


def _read(own: Any, file: Path) -> Any:
    return own.sql(f"FROM {parquet_source(exact_name(file))}")


def _hand_over(own: Any, full: Path, number: str | None, target: Path | None) -> Any:
    """Move what was certified to its place, without the persons' numbers; return it as a relation of its own."""
    released = full
    if number is not None:
        released = full.with_name("released.parquet")
        _read(own, full).project(f"* EXCLUDE ({number})").write_parquet(str(released), compression="zstd")
    fresh = connect()  # without our tables, and without a folder that is about to vanish
    if target is None:
        fresh.execute(f"CREATE TABLE release AS FROM {parquet_source(exact_name(released))}")
        return fresh.table("release")
    try:
        os.link(released, target)  # fails if somebody has put a file there meanwhile
    except FileExistsError:
        raise ParameterError(f"'{target}' exists already. Remove it, or choose another output.") from None
    except OSError:
        os.replace(released, target)  # a file system without links
    return _read(fresh, target)


def _check(relation: Any, roles: Roles, previous: Sequence[Any]) -> None:
    if not roles.quasi:
        raise ParameterError("Name at least one quasi-identifier: anonymize(..., quasi_identifiers=['age', ...]).")
    named = {
        "quasi-identifier": roles.quasi,
        "sensitive": roles.watched,
        "identifier": tuple(roles.hidden),
        "insensitive": roles.kept,
    }
    check_roles(relation.columns, named, roles.person)
    linked = any(pseudonym is not None and pseudonym.consistent for pseudonym in roles.hidden.values())
    if linked or previous:
        raise ParameterError(
            "Tables that stay in DuckDB take neither consistent pseudonyms nor previous=. Load the table into memory "
            "for these, e.g. duckdb.read_parquet(path).pl()."
        )


def _add_sensitive(
    problem: Problem, relation: Any, counts: Counts, roles: Roles, people: People | None
) -> dict[str, dict[Any, float]]:
    """Fetch the sensitive values of every combination and tie them to the combinations' numbers."""
    reference: dict[str, dict[Any, float]] = {}
    for name in roles.watched:
        if people is None:
            column, problem.pairs[name], number = _counted_values(relation, counts, roles.quasi, name)
        else:
            column, problem.pairs[name], number = people.values(relation, name)
        own = [rule.model for rule in problem.rules if rule.sensitive == name]
        problem.sensitive[name] = describe_sensitive(name, column.values, number, own)
        reference[name] = dict(zip(column.values, problem.sensitive[name].share.tolist(), strict=True))
    return reference


def _counted_values(relation: Any, counts: Counts, quasi: Sequence[str], name: str) -> tuple[Coded, Pairs, Ints]:
    cards = [max(len(c.values), 1) for c in counts.columns]
    more = Counts(relation, [*quasi, name]).merged()
    codes = [renumber(c, places(mine)) for c, mine in zip(more.columns[:-1], counts.columns, strict=True)]
    joined = [np.concatenate((a.codes, b)) for a, b in zip(counts.columns, codes, strict=True)]
    into = group(combine(joined, cards, len(counts.weight) + len(more.weight))[0]).into
    number = np.zeros(int(into.max(initial=-1)) + 1, dtype=np.int64)
    number[into[: len(counts.weight)]] = np.arange(len(counts.weight))
    column = more.columns[-1]
    people = np.bincount(column.codes, weights=more.weight, minlength=len(column.values)).astype(np.int64)
    return column, Pairs(number[into[len(counts.weight) :]], column.codes, more.weight), people

"""From the caller's words to a problem: columns, hierarchies, rules, persons, populations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from pydplib.anonymity.assessment.verification import names_of, person_codes
from pydplib.anonymity.hierarchies.base import Hierarchy, hierarchy_of
from pydplib.anonymity.hierarchies.rules import hierarchy_from_values
from pydplib.anonymity.models import DeltaPresence, KMap, Model
from pydplib.anonymity.pseudonyms import Pseudonym
from pydplib.anonymity.search.groups import combine, group
from pydplib.anonymity.search.problem import (
    ModelRule,
    Persons,
    SearchProblem,
    describe_sensitive,
    distinct_tuples,
    make_pairs,
)
from pydplib.anonymity.tables.columns import Ints, Resolved, cell_key
from pydplib.anonymity.tables.frames import ColumnCodes, Frame, check_names
from pydplib.anonymity.tables.relations import Counts, is_relation, one_spelling, quoted
from pydplib.errors import DataError, ParameterError, shown
from pydplib.schema import Column, Schema
from pydplib.tables import open_relation


@dataclass(eq=False, kw_only=True)
class Task:
    """Everything about one call of ``anonymize``, checked and coded.

    Attributes:
        frame: The table.
        quasi: The quasi-identifiers.
        hierarchies: Per quasi-identifier, its hierarchy.
        rules: The models with their sensitive columns.
        sensitive: The sensitive columns.
        identifiers: Identifier -> its pseudonym, or None where it is dropped.
        insensitive: Columns to keep as they are.
        suppression: The largest share of rows that may be left out.
        person: The column that says whose row it is.
        linked: Whether the output shows which rows belong together.
        problem: The table as the search sees it.
        coded: Quasi-identifiers and sensitive columns as codes.
        reference: Per sensitive column, value -> share in the table.
        person_of_row: Whose row each is, where somebody has several.
        notes: Remarks for the owner.
    """

    frame: Frame
    quasi: tuple[str, ...]
    hierarchies: dict[str, Hierarchy]
    rules: tuple[ModelRule, ...]
    sensitive: tuple[str, ...]
    identifiers: dict[str, Pseudonym | None]
    insensitive: tuple[str, ...]
    suppression: float
    person: str | None
    linked: bool
    problem: SearchProblem
    coded: dict[str, ColumnCodes]
    reference: dict[str, dict[Any, float]]
    person_of_row: Ints | None = None
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Task(quasi={self.quasi})"


def read_rules(sensitive: Any, models: Sequence[Model]) -> tuple[tuple[ModelRule, ...], tuple[str, ...]]:
    """Tie models to sensitive columns: general ones to each column, a mapping's ones to their own."""
    if isinstance(models, Model):
        models = [models]
    if not isinstance(models, Iterable):
        raise ParameterError(f"models is a list, e.g. models=[KAnonymity(5)]. Got {shown(models)}.")
    own: dict[str, Sequence[Model]] = {}
    if isinstance(sensitive, Mapping):
        for name, given in sensitive.items():
            own[name] = [given] if isinstance(given, Model) else list(given or [])
        names = names_of(list(sensitive), "sensitive columns")
    else:
        names = names_of(sensitive, "sensitive columns")
    rules: list[ModelRule] = []
    for model in models:
        _check_model(model)
        if not model.needs_sensitive:
            rules.append(ModelRule(model))
            continue
        if not names:
            raise ParameterError(f"{model} needs a sensitive column: anonymize(..., sensitive='diagnosis').")
        rules.extend(ModelRule(model, name) for name in names)
    for name, given in own.items():
        for model in given:
            _check_model(model)
            rules.append(ModelRule(model, name if model.needs_sensitive else None))
    if not rules:
        raise ParameterError("Name at least one model: anonymize(..., models=[KAnonymity(5)]).")
    return tuple(rules), names


def _check_model(model: Any) -> None:
    if not isinstance(model, Model):
        raise ParameterError(f"models are values such as KAnonymity(5). Got {type(model).__name__}.")


def read_hierarchy(name: str, given: Any, values: Sequence[Any] | None, schema: Schema | None) -> Hierarchy:
    """Return the hierarchy that the caller named for a column, or an automatic one."""
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, get_args(Column)):
        return hierarchy_of(given)
    if isinstance(given, Path) or (isinstance(given, str) and given != "automatic"):
        return Hierarchy.from_csv(given)
    if isinstance(given, Mapping):
        return Hierarchy.grouping(given)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return Hierarchy.from_rows(given)
    if given is None or given == "automatic":
        if schema is not None and name in schema.columns:
            return hierarchy_of(schema.columns[name])
        return hierarchy_from_values(values or ())
    raise ParameterError(
        f"Column '{name}' needs a Hierarchy, a path of a CSV file, groups, or None for an automatic one. "
        f"Got {type(given).__name__}."
    )


def read_suppression(suppression: Any) -> float:
    """Check the limit of suppressed rows."""
    number = isinstance(suppression, int | float) and not isinstance(suppression, bool)
    if not number or not math.isfinite(suppression) or not 0 <= suppression <= 1:
        raise ParameterError(f"suppression is the largest share of suppressed rows, 0 to 1. Got {suppression!r}.")
    return float(suppression)


def read_time_limit(seconds: Any) -> float | None:
    """Check the time after which the best so far is taken."""
    if seconds is None:
        return None
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not seconds >= 0:
        raise ParameterError(f"time_limit is a number of seconds, 0 or more, or None. Got {shown(seconds)}.")
    return float(seconds)


def read_identifiers(identifiers: Any) -> dict[str, Pseudonym | None]:
    """Return identifier -> pseudonym, or None where it is dropped."""
    if isinstance(identifiers, Mapping):
        for value in identifiers.values():
            if value is not None and not isinstance(value, Pseudonym):
                raise ParameterError("identifiers map to None (dropped) or Pseudonym(key=..., consistent=...).")
        return dict(identifiers)
    return dict.fromkeys(names_of(identifiers, "identifiers"))


def row_limit(suppression: float, rows: int) -> int:
    """Return how many rows may be suppressed; one limit for all models together."""
    return math.floor(suppression * rows + 1e-9)


def prepare(
    table: Any,
    quasi_identifiers: Any,
    sensitive: Any,
    *,
    person: str | None,
    identifiers: Any,
    insensitive: Any,
    models: Sequence[Model],
    suppression: float,
    schema: Schema | None,
    history: Any = None,
    reference: str = "output",
) -> Task:
    """Check the caller's words against the table and code everything as integers."""
    frame = Frame(table)
    quasi = names_of(quasi_identifiers, "quasi-identifiers")
    if not quasi:
        raise ParameterError("Name at least one quasi-identifier: anonymize(..., quasi_identifiers=['age', ...]).")
    rules, watched = read_rules(sensitive, models)
    hidden = read_identifiers(identifiers)
    kept = names_of(insensitive, "insensitive columns")
    person, linked = _read_person(person, hidden)
    roles = {"quasi-identifier": quasi, "sensitive": watched, "identifier": tuple(hidden), "insensitive": kept}
    check_roles(frame.columns, roles, person)
    coded = {name: frame.coded(name) for name in (*quasi, *watched)}
    given = quasi_identifiers if isinstance(quasi_identifiers, Mapping) else {}
    hierarchies = {n: read_hierarchy(n, given.get(n), coded[n].values, schema) for n in quasi}
    columns = [hierarchies[name].resolve(name, coded[name].values) for name in quasi]
    owner = None
    if person is not None:
        owner = person_codes(frame.coded(person))
        if not linked and len(owner) and int(np.bincount(owner).max()) == 1:
            owner = None  # one row each: counting rows counts persons
    problem = build_problem(
        len(frame), columns, coded, quasi, watched, rules, row_limit(suppression, len(frame)), owner, linked, history
    )
    add_populations(problem, quasi, hierarchies, person)
    problem.reference = reference
    notes = data_notes(hierarchies, columns)
    shares = {
        name: dict(zip(coded[name].values, problem.sensitive[name].share.tolist(), strict=True)) for name in watched
    }
    return Task(
        frame=frame, quasi=quasi, hierarchies=hierarchies, rules=rules, sensitive=watched, identifiers=hidden,
        insensitive=kept, suppression=suppression, person=person, linked=linked, problem=problem, coded=coded,
        reference=shares, person_of_row=owner, notes=notes,
    )  # fmt: skip


def _read_person(person: str | None, hidden: dict[str, Pseudonym | None]) -> tuple[str | None, bool]:
    linking = [name for name, pseudonym in hidden.items() if pseudonym is not None and pseudonym.consistent]
    if not linking:
        return person, False
    if len(linking) > 1 or (person is not None and linking != [person]):
        raise ParameterError(
            "Consistent pseudonyms link rows, so they can stand for the person column only. Give the other "
            "identifiers fresh ones: Pseudonym(), or drop them."
        )
    return linking[0], True


def check_roles(columns: Sequence[str], roles: Mapping[str, Sequence[str]], person: str | None) -> None:
    """Raise ``ParameterError`` for a name that is no column, or a column that has two roles."""
    seen: dict[str, str] = {}
    for role, names in roles.items():
        check_names(columns, names, role)
        for name in names:
            if name in seen:
                raise ParameterError(f"Column '{name}' is named as {seen[name]} and as {role}. Choose one.")
            seen[name] = role
    if person is not None:
        check_names(columns, [person], "person")
        if seen.get(person, "identifier") != "identifier":
            raise ParameterError(f"The person column '{person}' cannot also be {seen[person]}.")


def data_notes(hierarchies: Mapping[str, Hierarchy], columns: Sequence[Resolved]) -> list[str]:
    """Return a remark for the owner where hierarchies were made from the data."""
    made = [column.name for column in columns if column.from_data or hierarchies[column.name].from_data]
    if not made:
        return []
    return [
        f"The hierarchies of {', '.join(made)} were made from the data: their bounds and values can give something "
        "away. Declare a schema or give hierarchies."
    ]


def build_problem(
    rows: int,
    columns: Sequence[Resolved],
    coded: Mapping[str, ColumnCodes],
    quasi: Sequence[str],
    watched: Sequence[str],
    rules: Sequence[ModelRule],
    limit: int,
    owner: Ints | None,
    linked: bool,
    history: Any,
) -> SearchProblem:
    """Reduce the table to distinct tuples with counts."""
    codes = [coded[name].codes for name in quasi]
    cards = [max(len(coded[name].values), 1) for name in quasi]
    past = None if history is None else history.signatures
    if past is not None:
        codes, cards = [*codes, past], [*cards, int(past.max(initial=0)) + 1]
    tuples, of_row, weight = distinct_tuples(codes, cards, rows)
    fixed = tuples.pop() if past is not None else None
    persons = None
    if owner is not None:
        number = int(owner.max(initial=-1)) + 1
        pairs = group(of_row * max(number, 1) + owner).first
        persons = Persons(
            number=number, owner=of_row[pairs], person=owner[pairs], rows=of_row, row_person=owner, linked=linked
        )
    problem = SearchProblem(
        columns, tuples, weight, rules, limit=limit, of_row=of_row, persons=persons, history=history, fixed=fixed
    )
    for name in watched:
        column = coded[name]
        found = make_pairs(of_row, column.codes, len(column.values), owner, persons.number if persons else 0)
        counts = _people_per_value(column, owner)
        own = [rule.model for rule in rules if rule.sensitive == name]
        problem.sensitive[name] = describe_sensitive(name, column.values, counts, own)
        problem.pairs[name] = found
    return problem


def _people_per_value(column: ColumnCodes, owner: Ints | None) -> Ints:
    if owner is None or not len(owner):
        return np.bincount(column.codes, minlength=len(column.values)).astype(np.int64)
    values = max(len(column.values), 1)
    once = group(owner * values + column.codes).keys % values
    return np.bincount(once, minlength=len(column.values)).astype(np.int64)


def add_populations(
    problem: SearchProblem, quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy], person: str | None = None
) -> None:
    """Code population tables with the same hierarchies; their new values extend the columns' codes.

    Where the population has the person column, every person must have one combination of quasi-identifiers, and is
    counted once; else a row is a person.
    """
    tables = {
        id(rule.model): rule.model.population
        for rule in problem.rules
        if isinstance(rule.model, KMap | DeltaPresence) and rule.model.population is not None
    }
    if not tables:
        return
    read = {key: read_population(table, quasi, person) for key, table in tables.items()}
    columns = list(problem.columns)
    coded: dict[int, list[Ints]] = {key: [] for key in read}
    for a, name in enumerate(quasi):
        place = {cell_key(value): i for i, value in enumerate(columns[a].values)}
        values = list(columns[a].values)
        for key, (theirs, _) in read.items():
            renumber = []
            for value in theirs[a].values:
                if cell_key(value) not in place:
                    place[cell_key(value)] = len(values)
                    values.append(value)
                renumber.append(place[cell_key(value)])
            codes = theirs[a].codes
            coded[key].append(np.array(renumber, dtype=np.int64)[codes] if renumber else codes)
        columns[a] = hierarchies[name].resolve(name, values)
    problem.columns = columns
    for key, (_, weight) in read.items():
        problem.population[key] = (coded[key], weight)
    _check_population(problem)


def read_population(table: Any, quasi: Sequence[str], person: str | None) -> tuple[list[ColumnCodes], Ints]:
    """Return the distinct combinations of a population and how many people have each; files stay in DuckDB."""
    if is_relation(table):
        return _count_population(table, quasi, person)
    frame = Frame(table)
    frame.check_columns(quasi, "quasi-identifier, in the population")
    columns = [frame.coded(name) for name in quasi]
    cards = [max(len(column.values), 1) for column in columns]
    tuples, of_row, weight = distinct_tuples([column.codes for column in columns], cards, len(frame))
    if person is not None and person in frame.columns:
        weight = _people_per_tuple(person_codes(frame.coded(person)), of_row, len(weight))
    return [ColumnCodes(c.name, codes, c.values) for c, codes in zip(columns, tuples, strict=True)], weight


def _count_population(table: Any, quasi: Sequence[str], person: str | None) -> tuple[list[ColumnCodes], Ints]:
    import duckdb

    relation = open_relation(table) if isinstance(table, str | Path) else table
    check_names(relation.columns, quasi, "quasi-identifier, in the population")
    who = person if person in relation.columns else None
    try:
        relation = one_spelling(relation, [*quasi, *([who] if who else [])])
        counts = Counts(relation, quasi, person=who)
        if who is not None:
            query = f"SELECT count(DISTINCT {quoted(who)}) + count(*) FILTER ({quoted(who)} IS NULL) FROM t"  # noqa: S608
            [(people,)] = relation.query("t", query).fetchall()
            if int(counts.weight.sum()) > int(people):
                raise _several_combinations()
    except duckdb.Error:
        raise DataError("DuckDB could not count the combinations of the population.") from None
    counts.merged()
    return counts.columns, counts.weight


def _several_combinations() -> DataError:
    return DataError(
        "Some people of the population have several rows with different quasi-identifiers, so they would count several "
        "times. Give the population one row per person."
    )


def _people_per_tuple(owner: Ints, of_row: Ints, tuples: int) -> Ints:
    pairs = group(of_row * (int(owner.max(initial=0)) + 1) + owner).first
    if len(pairs) and int(np.bincount(owner[pairs]).max()) > 1:
        raise _several_combinations()
    return np.bincount(of_row[pairs], minlength=tuples).astype(np.int64)


def _check_population(problem: SearchProblem) -> None:
    cards = [max(len(c.values), 1) for c in problem.columns]
    people = problem.weight
    if problem.persons is not None:
        people = np.bincount(problem.persons.owner, minlength=len(people)).astype(np.int64)
    for tuples, weight in problem.population.values():
        joined = [np.concatenate((mine, theirs)) for mine, theirs in zip(problem.codes, tuples, strict=True)]
        keys, _ = combine(joined, cards, len(problem.weight) + len(weight))
        into = group(keys).into
        mine = len(problem.weight)
        counts = np.bincount(into[mine:], weights=weight, minlength=int(into.max(initial=-1)) + 1)
        held = np.bincount(into[:mine], weights=people, minlength=len(counts))
        if (counts < held).any():
            raise DataError(
                "The population has fewer people than the table for some values. It must contain the table's "
                "people, with the same columns."
            )

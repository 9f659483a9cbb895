"""Schemas of four tables of the OMOP Common Data Model, from its public definition and never from data.

Fields are those of CDM 5.4. Bounds are the ranges that the community's data quality checks call plausible: years of
birth from 1850, days of events from 1950-01-01, both up to today. Concepts are listed where a short list serves most
hospitals; everything else (which measurements, which conditions, which values) is for the owner to fill in.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydplib._toml import toml_key, toml_value
from pydplib.errors import SchemaError, did_you_mean
from pydplib.schema.cells import Scalar
from pydplib.schema.columns import Category, Column, Date, Integer, Number, Text
from pydplib.schema.table import Schema

OMOP_TABLES = ("person", "visit_occurrence", "measurement", "condition_occurrence")
"""The tables whose schemas are known."""

LINEAGE = "omop"
"""The family that the tables of a database are: budgets count what is released about a person from all of them."""

CONCEPTS: Mapping[int, str] = {
    8507: "male",
    8532: "female",
    8515: "Asian",
    8516: "Black or African American",
    8527: "White",
    8657: "American Indian or Alaska Native",
    38003563: "Hispanic or Latino",
    38003564: "not Hispanic or Latino",
    9201: "inpatient visit",
    9202: "outpatient visit",
    9203: "emergency room visit",
    262: "emergency room and inpatient visit",
    581476: "home visit",
    722455: "telehealth",
    0: "no matching concept",
}
"""Concept ids of the standardized vocabularies that the proposals list -> what they mean."""

_GENDER = (8507, 8532, 0)
_RACE = (8515, 8516, 8527, 8657, 0)
_ETHNICITY = (38003563, 38003564, 0)
_VISIT = (9201, 9202, 9203, 262, 581476, 722455, 0)
_FIRST_BIRTH, _FIRST_EVENT = 1850, dt.date(1950, 1, 1)

_OPEN_CONCEPT, _OPEN_NUMBER = "concept", "number"  # what only the owner can fill in

_Fact = Column | str


def _identifier(title: str) -> Text:
    return Text(label="identifier", title=title)


def _event(title: str, today: dt.date) -> Date:
    return Date(_FIRST_EVENT, today, label="quasi", title=title)


def _facts(table: str, today: dt.date) -> dict[str, _Fact]:
    """Return field -> its column, or what the owner must say of it. Fields that nobody releases are left out."""
    if table == "person":
        return {
            "gender_concept_id": Category(_GENDER, label="quasi", title="Sex at birth"),
            "year_of_birth": Integer(_FIRST_BIRTH, today.year, label="quasi", title="Year of birth"),
            "month_of_birth": Integer(1, 12, label="quasi", title="Month of birth"),
            "day_of_birth": Integer(1, 31, label="quasi", title="Day of birth"),
            "birth_datetime": Date(dt.date(_FIRST_BIRTH, 1, 1), today, label="quasi", title="Date of birth"),
            "race_concept_id": Category(_RACE, label="quasi", title="Race"),
            "ethnicity_concept_id": Category(_ETHNICITY, label="quasi", title="Ethnicity"),
            "person_source_value": _identifier("Person in the source"),
        }
    if table == "visit_occurrence":
        return {
            "visit_occurrence_id": _identifier("Visit"),
            "visit_concept_id": Category(_VISIT, label="quasi", title="Kind of visit"),
            "visit_start_date": _event("Start of the visit", today),
            "visit_end_date": _event("End of the visit", today),
            "visit_type_concept_id": _OPEN_CONCEPT,
            "admitted_from_concept_id": _OPEN_CONCEPT,
            "discharged_to_concept_id": _OPEN_CONCEPT,
        }
    if table == "measurement":
        return {
            "measurement_id": _identifier("Measurement"),
            "measurement_concept_id": _OPEN_CONCEPT,
            "measurement_date": _event("Day of the measurement", today),
            "value_as_number": _OPEN_NUMBER,
            "value_as_concept_id": _OPEN_CONCEPT,
            "unit_concept_id": _OPEN_CONCEPT,
            "visit_occurrence_id": _identifier("Visit"),
        }
    return {
        "condition_occurrence_id": _identifier("Condition"),
        "condition_concept_id": _OPEN_CONCEPT,
        "condition_start_date": _event("First day of the condition", today),
        "condition_end_date": _event("Last day of the condition", today),
        "condition_status_concept_id": _OPEN_CONCEPT,
        "visit_occurrence_id": _identifier("Visit"),
    }


def omop_schema(
    table: str,
    *,
    max_rows_per_person: int | None = None,
    concepts: Mapping[str, Sequence[Scalar]] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    columns: Sequence[str] | None = None,
    size: int | None = None,
    today: dt.date | None = None,
    lineage: str = LINEAGE,
) -> Schema:
    """Return the schema of an OMOP table; what the definition leaves open is what you say.

    All tables of one database have one lineage: they are about the same persons, and share one budget.

    Args:
        table: One of ``OMOP_TABLES``.
        max_rows_per_person: How many rows of one person count in full. The person table has one; for the others it is
            required.
        concepts: Field -> the concept ids that questions may tell apart; others count as "other". A field of open
            concepts that is not named here is left out.
        bounds: Field -> its public range, e.g. ``{"value_as_number": (0, 100)}``; other numbers are left out.
        columns: The fields that the table has; by default all of the definition.
        size: The number of persons, only if it is public.
        today: The last possible day of an event; by default today.
        lineage: The name of the database, where several are entered in one ledger.

    Examples:
        >>> schema = omop_schema("measurement", max_rows_per_person=5, bounds={"value_as_number": (0, 100)})
        >>> schema.person, list(schema.columns)[:3]
        ('person_id', ['person_id', 'measurement_id', 'measurement_date'])
    """
    facts = _known(table, today or dt.date.today(), columns)
    if max_rows_per_person is None:
        if table != "person":
            raise SchemaError(f"{table} has several rows per person. Say how many count: max_rows_per_person=...")
        max_rows_per_person = 1
    given = {**{name: tuple(values) for name, values in (concepts or {}).items()}, **(bounds or {})}
    for name in given:
        if name not in facts:
            raise SchemaError(f"The OMOP table {table} has no field '{name}' to declare.{did_you_mean(name, facts)}")
    declared: dict[str, Column] = {"person_id": Text(label="identifier", title="Person")}
    for name, fact in facts.items():
        values = (concepts or {}).get(name)
        limits = (bounds or {}).get(name)
        if values is not None:
            known = fact if isinstance(fact, Category) else Category(tuple(values), label="sensitive")
            declared[name] = replace(known, values=tuple(values))
        elif limits is not None:
            if isinstance(fact, Column) and not isinstance(fact, Integer):
                raise SchemaError(f"The OMOP field '{name}' is no number: it has no bounds=.")
            low, high = limits
            declared[name] = (
                Number(low, high, label="sensitive") if fact == _OPEN_NUMBER else Integer(int(low), int(high))
            )
        elif isinstance(fact, Column):
            declared[name] = fact
    return Schema(
        declared, person="person_id", max_rows_per_person=max_rows_per_person, size=size, name=table, lineage=lineage
    )


def propose_omop(table: str, names: Sequence[str] | None = None, *, today: dt.date | None = None) -> str:
    """Return a schema file of an OMOP table, with what the definition leaves open left empty for the owner.

    Args:
        table: One of ``OMOP_TABLES``.
        names: The columns that the table has, in any letters; by default all of the definition.
        today: The last possible day of an event; by default today.
    """
    facts = _known(table, today or dt.date.today(), names)
    spelled = {name.lower(): name for name in names or ()}
    person = spelled.get("person_id", "person_id")
    lines = [
        f"# The {table} table of the OMOP Common Data Model 5.4: kinds, bounds and concepts are public facts of it.",
        "# Fill in the empty entries by what is possible in the real world; delete columns that nobody will ask about.",
        f"name = {toml_value(table)}",
        f"lineage = {toml_value(LINEAGE)}  # the same in all tables: they are about the same persons, with one budget",
        f"person = {toml_value(person)}",
    ]
    if table == "person":
        lines.append("max_rows_per_person = 1  # the definition has one row for every person")
    else:
        lines.append('max_rows_per_person = ""  # how many rows of one person count in full: what is usual, e.g. 3')
    lines.append("# size = 0  # the number of persons, only if it is public")
    lines += [
        "",
        f"[columns.{toml_key(person)}]",
        'kind = "text"  # an identifier: never released',
        'label = "identifier"',
    ]
    for name, fact in facts.items():
        lines += ["", f"[columns.{toml_key(spelled.get(name, name))}]", *_entry(fact)]
    return "\n".join(lines) + "\n"


def _entry(fact: _Fact) -> list[str]:
    if fact == _OPEN_CONCEPT:
        return ['kind = "category"', 'values = []  # the concept ids to tell apart; others count as "other"']
    if fact == _OPEN_NUMBER:
        return [*Number.entry_lines(), 'label = "sensitive"']
    assert isinstance(fact, Column)
    lines = [f"{key} = {toml_value(value)}" for key, value in fact.to_dict().items()]
    if isinstance(fact, Category):
        lines += [f"#   {value}: {CONCEPTS[int(value)]}" for value in fact.values]
    return lines


def _known(table: str, today: dt.date, names: Sequence[str] | None) -> dict[str, _Fact]:
    if table not in OMOP_TABLES:
        known = ", ".join(OMOP_TABLES)
        raise SchemaError(f"'{table}' is none of the OMOP tables {known}.{did_you_mean(table, OMOP_TABLES)}")
    facts = _facts(table, today)
    if names is None:
        return facts
    there = {name.lower() for name in names}
    if "person_id" not in there:
        raise SchemaError(f"An OMOP table has a column person_id; this {table} has none.")
    return {name: fact for name, fact in facts.items() if name in there}

"""Schemas of OMOP tables come from the public definition, never from data; what it leaves open is the owner's."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import pydplib as dp
from pydplib.cli import main
from pydplib.errors import SchemaError
from pydplib.schema import OMOP_TABLES, omop_schema, propose_omop

TODAY = dt.date(2026, 1, 31)
PERSON = "person_id,gender_concept_id,year_of_birth,race_concept_id,ethnicity_concept_id,person_source_value\n"
ROWS = "1,8507,1950,8527,38003564,CANARY-1\n2,8532,1700,0,0,CANARY-2\n3,8507,1960,8516,38003564,CANARY-3\n"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


def test_person_schema_is_complete_by_the_definition() -> None:
    schema = omop_schema("person", today=TODAY)
    assert schema.person == "person_id" and schema.max_rows_per_person == 1
    assert schema.column("gender_concept_id").values == (8507, 8532, 0)
    assert (schema.column("year_of_birth").low, schema.column("year_of_birth").high) == (1850, 2026)
    assert schema.column("person_source_value").label == "identifier"
    assert dp.Schema.from_toml(propose_omop("person", today=TODAY)).columns.keys() == schema.columns.keys()


@pytest.mark.parametrize("table", [name for name in OMOP_TABLES if name != "person"])
def test_other_tables_leave_the_limit_and_open_fields_to_the_owner(table: str) -> None:
    with pytest.raises(SchemaError, match="max_rows_per_person"):
        omop_schema(table)
    text = propose_omop(table, today=TODAY)
    assert 'max_rows_per_person = ""' in text and "values = []" in text
    with pytest.raises(SchemaError):
        dp.Schema.from_toml(text)
    schema = omop_schema(table, max_rows_per_person=4, today=TODAY)
    assert schema.max_rows_per_person == 4
    assert all(str(column.high) == "2026-01-31" for column in schema.columns.values() if column.kind == "date")


def test_all_tables_of_a_database_share_one_budget() -> None:
    schemas = [omop_schema(table, max_rows_per_person=1, today=TODAY) for table in OMOP_TABLES]
    assert {schema.lineage for schema in schemas} == {"omop"} and len({schema.name for schema in schemas}) == 4
    assert omop_schema("person", lineage="cdm-2").lineage == "cdm-2"
    assert all('lineage = "omop"' in propose_omop(table) for table in OMOP_TABLES)
    assert dp.Schema.from_toml(propose_omop("person", today=TODAY)).lineage == "omop"


def test_open_fields_are_declared_by_the_caller() -> None:
    schema = omop_schema(
        "measurement", max_rows_per_person=3, concepts={"measurement_concept_id": [3013603]},
        bounds={"value_as_number": (0, 100)}, columns=["PERSON_ID", "measurement_concept_id", "VALUE_AS_NUMBER"],
    )  # fmt: skip
    assert list(schema.columns) == ["person_id", "measurement_concept_id", "value_as_number"]
    with pytest.raises(SchemaError, match="Did you mean 'value_as_number'"):
        omop_schema("measurement", max_rows_per_person=3, bounds={"value_as_numbr": (0, 1)})
    with pytest.raises(SchemaError, match="no number"):
        omop_schema("measurement", max_rows_per_person=3, bounds={"measurement_date": (0, 1)})
    with pytest.raises(SchemaError, match="none of the OMOP tables"):
        omop_schema("persons")
    with pytest.raises(SchemaError, match="person_id"):
        propose_omop("person", ["id"])


def test_folder_of_tables_becomes_schemas_without_a_value_of_the_data(tmp_path: Path, capsys: Any) -> None:
    cdm, out = tmp_path / "cdm", tmp_path / "schemas"
    cdm.mkdir()
    (cdm / "person.csv").write_text(PERSON + ROWS)
    (cdm / "MEASUREMENT.csv").write_text("MEASUREMENT_ID,PERSON_ID,VALUE_AS_NUMBER\n1,1,4.5\n")
    (cdm / "note.csv").write_text("a\nCANARY\n")
    assert run("schema", "init", cdm, "--omop", "-o", out) == 0
    assert sorted(path.name for path in out.iterdir()) == ["measurement.toml", "person.toml"]
    text = (out / "person.toml").read_text()
    assert "CANARY" not in text and "1700" not in text and "month_of_birth" not in text
    assert 'person = "PERSON_ID"' in (out / "measurement.toml").read_text()
    assert run("schema", "check", out / "person.toml", cdm / "person.csv") == 0
    assert run("schema", "init", cdm, "--omop", "-o", out) != 0  # not over files that are there
    assert run("schema", "init", "postgresql://hospital/cdm", "--omop") == 0
    said = capsys.readouterr()
    assert said.out.count("max_rows_per_person") >= 4
    assert run("schema", "init", tmp_path, "--omop") != 0
    assert "none of the OMOP tables" in capsys.readouterr().err


def test_person_table_is_asked_with_its_schema(tmp_path: Path) -> None:
    (tmp_path / "person.csv").write_text(PERSON + ROWS)
    schema = omop_schema("person", columns=PERSON.strip().split(","), today=TODAY)
    with dp.load(tmp_path / "person.csv", schema) as table:
        plan = dp.engine.Plan(schema, by=["gender_concept_id"], measures=[dp.engine.Measure("count")])
        assert [int(n) // 2**16 for n in table.aggregate(plan)[0]] == [2, 1, 0, 0]

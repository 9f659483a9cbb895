"""Files are read by their literal names, every line of them, and no cell is taken for a column's name."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import pydplib as dp
from pydplib._duckdb_files import csv_source, exact_name, file_or_pattern, parquet_source
from pydplib.anonymity.tables.frames import open_relation
from pydplib.cli import cli
from pydplib.cli.answers.schema import propose
from pydplib.engine import Measure, Plan
from pydplib.errors import DataError, PydplibError, SchemaError, column_hint
from pydplib.tables import open_tables

NAMES = ("data[1].csv", "a*b.csv", "a?b.csv", "[!x].csv", "~x.csv", "it's [a-z].csv", "a\\b.csv", "file:[x].csv")
PERSON = "Zaphod Canary"


@pytest.mark.parametrize("name", NAMES)
def test_file_when_its_name_is_a_pattern_is_the_only_one_read(tmp_path: Path, name: str) -> None:
    for other in ("data1.csv", "aXb.csv", "y.csv", "it's q.csv"):
        (tmp_path / other).write_text("v\nwrong\n")
    (tmp_path / name).write_text("v\nright\n")
    assert duckdb.sql(f"FROM {csv_source(exact_name(tmp_path / name))}").fetchall() == [("right",)]
    parquet = (tmp_path / name).with_suffix(".parquet")
    duckdb.sql("SELECT 'right' AS v").write_parquet(str(parquet))
    assert duckdb.sql(f"FROM {parquet_source(exact_name(parquet))}").fetchall() == [("right",)]


def test_name_with_backslash_and_pattern_is_refused_rather_than_guessed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="backslash"):
        exact_name(tmp_path / "a\\[b].csv")


def test_pattern_when_no_file_has_that_name_stays_a_pattern(tmp_path: Path) -> None:
    assert file_or_pattern(str(tmp_path / "*.csv")).endswith("*.csv")


@pytest.fixture
def twins(tmp_path: Path) -> Path:
    (tmp_path / "data1.csv").write_text("age,name\n11,X\n12,Y\n13,Z\n")
    path = tmp_path / "data[1].csv"
    path.write_text("age,name\n61,A\n70,B\n")
    return path


def test_noise_command_when_name_has_brackets_reads_the_named_file(twins: Path) -> None:
    result = CliRunner().invoke(cli, ["noise", str(twins), "--column", "age", "--query", "mean", "--noise-factor", "0"])
    assert [line.partition(",")[2] for line in result.stdout.splitlines()] == ["name", "A", "B"]


def test_engine_when_name_has_brackets_reads_the_named_file(twins: Path) -> None:
    schema = dp.Schema({"age": dp.Number(18, 100)})
    with dp.load(twins, schema) as table:
        assert sum(table.aggregate(Plan(schema, measures=[Measure("count")])).values[0].tolist()) == 2


def test_anonymity_and_tables_when_name_has_brackets_read_the_named_file(twins: Path) -> None:
    assert open_relation(twins).fetchall() == [(61, "A"), (70, "B")]
    with open_tables() as tables:
        assert tables.open(twins).relation.fetchall() == [(61, "A"), (70, "B")]


def readings(path: Path) -> dict[str, list[str]]:
    """Return the columns that each room sees in a file."""
    with open_tables() as tables:
        return {"anonymity": open_relation(path).columns, "tables": tables.open(path).relation.columns}


def test_folder_with_an_equals_sign_is_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "year=2018"
    folder.mkdir()
    path = folder / "x.csv"
    path.write_text("age,name\n61,A\n70,B\n80,C\n")
    assert readings(path) == {"anonymity": ["age", "name"], "tables": ["age", "name"]}
    duckdb.sql("SELECT 61 AS age, 'A' AS name").write_parquet(str(folder / "x.parquet"))
    assert readings(folder / "x.parquet") == {"anonymity": ["age", "name"], "tables": ["age", "name"]}
    result = CliRunner().invoke(cli, ["noise", str(path), "--column", "age", "--query", "mean", "--noise-factor", "0"])
    assert result.stdout.splitlines()[0] == "age,name"
    with pytest.raises(SchemaError, match="year"):
        dp.load(path, dp.Schema({"year": dp.Number(2000, 2030)}))


def test_line_that_begins_with_a_hash_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("name,age\nA,61\n#B,70\nC,80\n#D,55\n")
    assert len(open_relation(path).fetchall()) == 4
    with open_tables() as tables:
        assert tables.open(path).rows() == 4
    result = CliRunner().invoke(cli, ["noise", str(path), "--column", "age", "--query", "mean", "--noise-factor", "0"])
    assert [row[0] for row in csv.reader(result.stdout.splitlines())] == ["name", "A", "#B", "C", "#D"]
    schema = dp.Schema({"age": dp.Number(18, 100)})
    with dp.load(path, schema) as table:
        assert sum(table.aggregate(Plan(schema, measures=[Measure("count")])).values[0].tolist()) == 4


@pytest.fixture
def nameless(tmp_path: Path) -> Path:
    path = tmp_path / "nameless.csv"
    path.write_text(f"61,{PERSON},1950-01-01\n70,{PERSON} 2,1951-02-02\n")
    return path


def test_file_without_names_when_a_column_is_asked_for_shows_no_cell(nameless: Path) -> None:
    asks = [
        lambda: CliRunner().invoke(
            cli, ["noise", str(nameless), "--column", "Zaphod", "--query", "mean", "--noise-factor", "0"],
            catch_exceptions=False,
        ),
        lambda: dp.load(nameless, dp.Schema({"Zaphod": dp.Number(18, 100)})),
        lambda: dp.anonymize(str(nameless), quasi_identifiers=["Zaphod"], models=[dp.KAnonymity(2)]),
        lambda: dp.anonymize(open_relation(nameless), quasi_identifiers=["Zaphod"], models=[dp.KAnonymity(2)]),
        lambda: propose(str(nameless)),
    ]  # fmt: skip
    for ask in asks:
        with pytest.raises(PydplibError) as caught:
            ask()
        assert "first line" in str(caught.value)
        assert not any(cell in str(caught.value) for cell in ("Canary", "61", "1950"))
    with open_tables() as tables, pytest.raises(PydplibError) as caught:
        tables.open(nameless).check(["Zaphod"], "quasi-identifier")
    assert "Canary" not in str(caught.value)


def test_column_hint_suggests_the_nearest_name_only() -> None:
    assert column_hint("Age", ["age", "psa"]) == " Did you mean 'age'?"
    assert "psa" not in column_hint("weight", ["age", "psa"])
    assert column_hint("weight", ["age"]) == " It has 1 column; its name must stand in its first line."
    assert "Doe" not in column_hint("Do", ["61", "Doe"])

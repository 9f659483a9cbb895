"""A column kind that a test defines works everywhere: files, engines, questions, the command line, figures."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from own_kinds import VISITS, Score, TimeOfDay, own_kinds, visit_plans, visits_schema

import pydplib as dp
from pydplib.cli import main
from pydplib.engine import Measure, Plan
from pydplib.errors import QuestionError, SchemaError
from pydplib.release.records import release_records
from pydplib.schema import COLUMN_KINDS, forget_kind, register_kind


@pytest.fixture(autouse=True)
def _own_kinds() -> Any:
    with own_kinds():
        yield


def _csv(folder: Path, rows: list[tuple[Any, ...]]) -> Path:
    lines = ["id;seen;score", *(";".join('"' + (cell or "").replace("\n", " ") + '"' for cell in row) for row in rows)]
    path = folder / "visits.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def _tables(folder: Path) -> dict[str, Any]:
    import pandas as pd
    import polars as pl

    names = ("id", "seen", "score")
    columns = {name: [row[place] for row in VISITS] for place, name in enumerate(names)}
    database = folder / "visits.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE visits (id TEXT, seen TEXT, score TEXT)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", VISITS)
    return {
        "pandas": dp.load(pd.DataFrame(columns), visits_schema()),
        "polars": dp.load(pl.DataFrame(columns), visits_schema()),
        "csv": dp.load(_csv(folder, VISITS), visits_schema()),
        "sqlite": dp.load(database, visits_schema(), table="visits"),
    }


def test_own_kind_goes_through_toml_and_json_and_its_mistakes_get_sentences(tmp_path: Path) -> None:
    schema = visits_schema()
    assert dp.Schema.from_toml(schema.to_toml()) == schema == dp.Schema.from_json(schema.to_json())
    schema.save(tmp_path / "visits.toml")
    assert dp.Schema.load(tmp_path / "visits.toml") == schema
    assert "07:00 to 19:00" in str(schema) and "1/5 to 5/5" in str(schema)
    with pytest.raises(SchemaError, match=r"Column 'seen': TimeOfDay needs low < high"):
        dp.Schema.from_toml('[columns.seen]\nkind = "time of day"\nlow = "19:00"\nhigh = "07:00"\n')
    with pytest.raises(SchemaError, match=r"'score' still needs 'top'"):
        dp.Schema.from_toml('[columns.score]\nkind = "score"\n')


def test_unregistered_kind_is_unknown_and_a_taken_word_is_refused() -> None:
    text = visits_schema().to_toml()
    forget_kind(TimeOfDay)
    with pytest.raises(SchemaError, match="unknown kind 'time of day'"):
        dp.Schema.from_toml(text)

    class Other(Score):
        kind = "number"

    with pytest.raises(SchemaError, match="already: Number"):
        register_kind(Other)
    assert COLUMN_KINDS["number"] is dp.Number


def test_every_engine_counts_the_same_integers_of_an_own_kind(tmp_path: Path) -> None:
    for name, table in _tables(tmp_path).items():
        for plan, expected in visit_plans():
            assert [(part // plan.scale).tolist() for part in table.aggregate(plan).values] == expected, name


def test_own_kind_is_checked_for_its_owner_and_refused_where_it_cannot_be_stored(tmp_path: Path) -> None:
    import pandas as pd

    for name, table in _tables(tmp_path).items():
        check = table.check()
        assert (check.below, check.above) == ({"seen": 1}, {"seen": 1}), name
        assert {str(found).split(". ")[0] for found in check.misfits} == {
            "Column 'seen': some cells cannot be read as a time of day (08:30)",
            "Column 'score': some cells cannot be read as a score (3/5)",
        }, name
    frame = pd.DataFrame({"id": ["a"], "seen": [830], "score": ["3/5"]})
    with pytest.raises(SchemaError, match="declared as time of day, but the table stores it as integer"):
        dp.load(frame, visits_schema())


QUESTIONS = {
    "count by seen": dp.Count(by="seen"),
    "count by score where seen >= 12:00": dp.Count(by="score", where=[dp.Where("seen").at_least("12:00")]),
    "mean seen where score in 3/5, 5/5": dp.Mean("seen", where=[dp.Where("score").is_in(["3/5", "5/5"])]),
    "mean score by seen": dp.Mean("score", by="seen"),
    "median seen": dp.Median("seen"),
    "histogram seen": dp.Histogram("seen"),
    "histogram score": dp.Histogram("score"),
    "crosstab seen, score": dp.Crosstab("seen", "score"),
}


@pytest.mark.parametrize("text", QUESTIONS)
def test_own_kind_in_the_grammar_a_session_a_release_and_a_figure(text: str, tmp_path: Path) -> None:
    from pydplib.release.grammar import parse_question

    question = QUESTIONS[text]
    assert parse_question(text, visits_schema()) == question
    table, policy = dp.load(_csv(tmp_path, VISITS), visits_schema()), dp.Policy(data_set_budget=2000)
    session = dp.Session(table, recipient="acme", budget=dp.PureDP(2000.0), policy=policy)
    release = session.release(question, epsilon=1000.0)
    assert dp.Release.from_json(release.to_json()) == release
    assert release.plot().data and release.to_frame() is not None and str(release)
    if text == "mean seen where score in 3/5, 5/5":
        assert release.unit == "minutes since midnight"
        assert release.value == pytest.approx((495 + 720 + 420) / 3, abs=5)
    if text == "histogram score":
        assert [round(value) for value in release.values[:5]] == [1, 1, 2, 1, 1]


def test_wrong_values_of_an_own_kind_are_said_in_its_own_words() -> None:
    from pydplib.release.grammar import parse_question

    with pytest.raises(QuestionError, match="Column 'seen' holds times, written like 08:30"):
        parse_question("count where seen > noon", visits_schema())
    with pytest.raises(QuestionError, match="'6/5' is no declared value of 'score'"):
        parse_question("count where score = 6/5", visits_schema())
    with pytest.raises(QuestionError, match="needs low <= high"):
        Plan(visits_schema(), measures=[Measure("count")], where=[dp.Where("seen").between("12:00", "11:00")])


def test_own_kind_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*args: str) -> str:
        with pytest.raises(SystemExit) as done:
            main(list(args))
        assert not done.value.code, capsys.readouterr().err
        return capsys.readouterr().out

    good = [(f"p{i}", f"{7 + i % 12:02}:{i % 60:02}", f"{1 + i % 5}/5") for i in range(60)]
    table, schema = _csv(tmp_path, good), tmp_path / "visits.toml"
    proposed = run("schema", "init", str(table))
    assert '[columns."seen"]\nkind = "time of day"\nlow = ""\nhigh = ""' in proposed
    visits_schema().save(schema)
    assert "time of day  07:00 to 19:00" in run("schema", "check", str(schema), str(table))
    asked = run(
        "release", str(table), "--schema", str(schema), "--question", "histogram seen where score in 1/5, 2/5",
        "--recipient", "acme", "--ledger", str(tmp_path / "ledger.db"), "--epsilon", "0.5", "--json",
    )  # fmt: skip
    assert [axis["name"] for axis in json.loads(asked)["axes"]] == ["seen"]


def test_own_kind_generalizes_and_its_records_get_noise() -> None:
    import pandas as pd

    frame = pd.DataFrame({"seen": [f"{7 + i % 3:02}:{i % 60:02}" for i in range(60)], "score": ["3/5", "4/5"] * 30})
    columns: dict[str, Any] = {"seen": TimeOfDay("07:00", "19:00"), "score": Score(5)}
    result = dp.anonymize(
        frame, quasi_identifiers=["seen", "score"], models=[dp.KAnonymity(5)], schema=dp.Schema(columns)
    )
    assert set(result.data["seen"]) <= {"07 h", "08 h", "09 h", "*"}
    noisy = release_records(frame["score"], Score(5), epsilon=1.0)
    assert set(noisy.values) <= set(Score(5).choices)


def test_numbers_of_different_length_in_a_text_are_read_alike_by_sql_and_polars() -> None:
    import pandas as pd
    import polars as pl

    from pydplib.schema.cells import PartsCell

    @register_kind
    @dataclass(frozen=True, slots=True)
    class Slider(dp.Integer):
        kind = "slider"

        @property
        def cell(self) -> Any:
            return PartsCell("^([0-9]|10) of 10$", ((1, 2, 1),), self.low, self.high)

    try:
        columns: Any = {"pain": ["7 of 10", "10 of 10", "11 of 10", "of 10", "x"]}
        schema = dp.Schema({"pain": Slider(0, 10)})
        plan = Plan(schema, measures=[Measure("sum", "pain", low=0, high=10, step=1), Measure("count", "pain")])
        for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
            assert [part.tolist() for part in dp.load(frame, schema).aggregate(plan).values] == [[17], [2]]
    finally:
        forget_kind(Slider)

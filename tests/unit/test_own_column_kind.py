"""A column kind that a test defines works everywhere: files, engines, questions, the command line, figures."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from own_kinds import Score, TimeOfDay, own_kinds

import pydplib as dp
from pydplib.cli import main
from pydplib.engine import Bins, Measure, Plan, number_bounds
from pydplib.errors import QuestionError, SchemaError
from pydplib.release.records import release_records
from pydplib.schema import COLUMN_KINDS, forget_kind, register_kind

ROWS = [
    ("a", "08:15", "3/5"), ("b", "12:00", "5/5"), ("c", "18:59", "1/5"), ("d", "05:00", "3/5"),
    ("e", "23:59", "3/4"), ("f", "8:15", "nonsense"), ("g", None, None), ("h", "24:00", ""),
    ("i", "12:30\n", "2/5"), ("j", "09:45", "4/5"),
]  # fmt: skip
MINUTES = [495, 720, 1139, 420, 1140, 585]  # as clamped to 07:00-19:00; "8:15", "24:00" and "12:30\n" are no times
SCORES = [3, 5, 1, 3, 2, 4]


@pytest.fixture(autouse=True)
def _own_kinds() -> Any:
    with own_kinds():
        yield


def _schema() -> dp.Schema:
    columns: dict[str, Any] = {"id": dp.Text(), "seen": TimeOfDay("07:00", "19:00", title="Seen at"), "score": Score(5)}
    return dp.Schema(columns, person="id", max_rows_per_person=1, name="visits", size=10)


def _csv(folder: Path, rows: list[tuple[Any, ...]]) -> Path:
    lines = ["id;seen;score", *(";".join('"' + (cell or "").replace("\n", " ") + '"' for cell in row) for row in rows)]
    path = folder / "visits.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def _tables(folder: Path) -> dict[str, Any]:
    import pandas as pd
    import polars as pl

    names = ("id", "seen", "score")
    columns = {name: [row[place] for row in ROWS] for place, name in enumerate(names)}
    database = folder / "visits.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE visits (id TEXT, seen TEXT, score TEXT)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", ROWS)
    return {
        "pandas": dp.load(pd.DataFrame(columns), _schema()),
        "polars": dp.load(pl.DataFrame(columns), _schema()),
        "csv": dp.load(_csv(folder, ROWS), _schema()),
        "sqlite": dp.load(database, _schema(), table="visits"),
    }


def test_own_kind_goes_through_toml_and_json_and_its_mistakes_get_sentences(tmp_path: Path) -> None:
    schema = _schema()
    assert dp.Schema.from_toml(schema.to_toml()) == schema == dp.Schema.from_json(schema.to_json())
    schema.save(tmp_path / "visits.toml")
    assert dp.Schema.load(tmp_path / "visits.toml") == schema
    assert "07:00 to 19:00" in str(schema) and "1/5 to 5/5" in str(schema)
    with pytest.raises(SchemaError, match=r"Column 'seen': TimeOfDay needs low < high"):
        dp.Schema.from_toml('[columns.seen]\nkind = "time of day"\nlow = "19:00"\nhigh = "07:00"\n')
    with pytest.raises(SchemaError, match=r"'score' still needs 'top'"):
        dp.Schema.from_toml('[columns.score]\nkind = "score"\n')


def test_unregistered_kind_is_unknown_and_a_taken_word_is_refused() -> None:
    text = _schema().to_toml()
    forget_kind(TimeOfDay)
    with pytest.raises(SchemaError, match="unknown kind 'time of day'"):
        dp.Schema.from_toml(text)

    class Other(Score):
        kind = "number"

    with pytest.raises(SchemaError, match="already: Number"):
        register_kind(Other)
    assert COLUMN_KINDS["number"] is dp.Number


def _sum(name: str) -> Measure:
    low, high = number_bounds(_schema().column(name))
    return Measure("sum", name, low=low, high=high, step=1)


def test_every_engine_counts_the_same_integers_of_an_own_kind(tmp_path: Path) -> None:
    schema = _schema()
    plans = [
        Plan(schema, measures=[_sum("seen"), Measure("count", "seen")]),
        Plan(schema, measures=[_sum("score"), Measure("count", "score")]),
        Plan(schema, measures=[Measure("count")], by={"score": ["5/5", "3/5", None]}),
        Plan(schema, measures=[Measure("count")], by={"seen": Bins(["07:00", "08:30", "12:00", "19:00"])}),
        Plan(schema, measures=[Measure("count")], where=[dp.Where("seen").at_least("12:00")]),
        Plan(schema, measures=[Measure("count")], where=[dp.Where("score").is_in(["5/5", "3/5"])]),
        Plan(schema, measures=[Measure("count")], where=[dp.Where("seen").is_missing()]),
    ]
    expected = [
        [[sum(MINUTES)], [6]], [[sum(SCORES)], [6]], [[1, 2, 4]], [[2, 1, 3]], [[3]], [[3]], [[4]],
    ]  # fmt: skip
    for name, table in _tables(tmp_path).items():
        scale = plans[0].scale
        found = [[(part // scale).tolist() for part in table.aggregate(plan).values] for plan in plans]
        assert found == expected, name


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
    with pytest.raises(SchemaError, match="declared a time of day, but the table stores it as integer"):
        dp.load(frame, _schema())


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
    assert parse_question(text, _schema()) == question
    table, policy = dp.load(_csv(tmp_path, ROWS), _schema()), dp.Policy(data_set_budget=2000)
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
        parse_question("count where seen > noon", _schema())
    with pytest.raises(QuestionError, match="'6/5' is no declared value of 'score'"):
        parse_question("count where score = 6/5", _schema())
    with pytest.raises(QuestionError, match="needs low <= high"):
        Plan(_schema(), measures=[Measure("count")], where=[dp.Where("seen").between("12:00", "11:00")])


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
    _schema().save(schema)
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

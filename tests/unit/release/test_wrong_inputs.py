"""A corpus of wrong inputs: each has its class and a sentence that helps; none ends in an error from inside."""

from __future__ import annotations

import datetime as dt
import io
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pydplib as dp
from pydplib.cli import main
from pydplib.errors import (
    BudgetError,
    CalibrationError,
    DataError,
    EngineError,
    LedgerError,
    ParameterError,
    PydplibError,
    QuestionError,
    SchemaError,
)
from pydplib.release.statistics.question import Question

FRAME = pd.DataFrame(
    {
        "patient_id": [i // 2 for i in range(200)],
        "age": [60.0] * 200,
        "pirads": [1, 2] * 100,
        "bph": [True] * 200,
        "city": ["Oslo"] * 200,
        "seen": [dt.date(2018, 5, 1)] * 200,
    }
)
COLUMNS: dict[str, Any] = {
    "age": dp.Number(18, 100, unit="years"),
    "pirads": dp.Category([1, 2, 3]),
    "bph": dp.Flag(),
    "city": dp.Text(),
    "seen": dp.Date("2018-01-01", "2018-12-31"),
}
SCHEMA = dp.Schema(COLUMNS, person="patient_id", max_rows_per_person=2, name="reports")
AGES = [61.0, 67.0, 70.0] * 30


def table() -> dp.engine.Table:
    return dp.load(FRAME, SCHEMA)


def session(**options: Any) -> dp.Session:
    return dp.Session(table(), recipient="acme", **({"budget": 5.0} | options))


def ask(question: Any, **options: Any) -> Any:
    return session().release(question, **({"epsilon": 0.1} | options))


def closed() -> Any:
    opened = table()
    asked = dp.Session(opened, recipient="acme", budget=1.0)
    opened.close()
    return asked.release(dp.Count(), epsilon=0.1)


def closed_check() -> Any:
    opened = table()
    opened.close()
    return opened.check()


Wrong = tuple[str, Callable[[], Any], type[Exception], str]

LIBRARY: list[Wrong] = [
    # -- one-liners
    ("epsilon missing", lambda: dp.mean(AGES, bounds=(18, 100)), TypeError, "epsilon"),
    ("epsilon text", lambda: dp.mean(AGES, bounds=(18, 100), epsilon="1"), ParameterError, "epsilon"),
    ("epsilon zero", lambda: dp.count(AGES, epsilon=0), ParameterError, "epsilon"),
    ("epsilon negative", lambda: dp.count(AGES, epsilon=-1), ParameterError, "epsilon"),
    ("epsilon nan", lambda: dp.count(AGES, epsilon=float("nan")), ParameterError, "epsilon"),
    ("epsilon infinite", lambda: dp.count(AGES, epsilon=float("inf")), ParameterError, "epsilon"),
    ("epsilon a list", lambda: dp.count(AGES, epsilon=[1]), ParameterError, "epsilon"),
    ("epsilon None", lambda: dp.count(AGES, epsilon=None), ParameterError, "epsilon"),
    ("epsilon bool", lambda: dp.count(AGES, epsilon=True), ParameterError, "epsilon"),
    ("bounds one number", lambda: dp.mean(AGES, bounds=100, epsilon=1), ParameterError, "bounds"),
    ("bounds reversed", lambda: dp.mean(AGES, bounds=(100, 18), epsilon=1), ParameterError, "bounds"),
    ("bounds equal", lambda: dp.mean(AGES, bounds=(18, 18), epsilon=1), ParameterError, "bounds"),
    ("bounds infinite", lambda: dp.sum(AGES, bounds=(0, float("inf")), epsilon=1), ParameterError, "bounds"),
    ("bounds three", lambda: dp.sum(AGES, bounds=(0, 1, 2), epsilon=1), ParameterError, "bounds"),
    ("bounds text", lambda: dp.sum(AGES, bounds="0-1", epsilon=1), ParameterError, "bounds"),
    ("bounds None", lambda: dp.variance(AGES, bounds=None, epsilon=1), ParameterError, "bounds"),
    ("values a number", lambda: dp.mean(61, bounds=(18, 100), epsilon=1), ParameterError, "A column of values"),
    ("values a text", lambda: dp.mean("61,67", bounds=(18, 100), epsilon=1), ParameterError, "A column of values"),
    ("values None", lambda: dp.count(None, epsilon=1), ParameterError, "A column of values"),
    ("values a dict", lambda: dp.count({"a": 1}, epsilon=1), ParameterError, "A column of values"),
    ("values a frame", lambda: dp.mean(FRAME, bounds=(0, 1), epsilon=1), ParameterError, "2 dimensions"),
    ("values 2-d", lambda: dp.mean(np.ones((2, 2)), bounds=(0, 1), epsilon=1), ParameterError, "2 dimensions"),
    ("text column", lambda: dp.mean(FRAME.city.astype("str"), bounds=(18, 100), epsilon=1), ParameterError, "is text"),
    ("string dtype", lambda: dp.median(FRAME.city.astype("string"), bounds=(1, 9), epsilon=1), ParameterError, "text"),
    ("text categories", lambda: dp.sum(FRAME.city.astype("category"), bounds=(1, 9), epsilon=1), ParameterError,
     "type is text"),
    ("numpy text", lambda: dp.mean(np.array(["a", "b"]), bounds=(0, 1), epsilon=1), ParameterError, "type is text"),
    ("polars text", lambda: dp.mean(pl.Series(["a"]), bounds=(0, 1), epsilon=1), ParameterError, "type is text"),
    ("polars enum", lambda: dp.mean(pl.Series(["a"], dtype=pl.Categorical), bounds=(0, 1), epsilon=1), ParameterError,
     "type is text"),
    ("arrow text", lambda: dp.histogram(pa.array(["a"]), edges=[0, 1], epsilon=1), ParameterError, "type is text"),
    ("dates", lambda: dp.mean(np.array(["2018-01-01"], "M8[D]"), bounds=(0, 1), epsilon=1), ParameterError, "Dates"),
    ("edges one", lambda: dp.histogram(AGES, edges=[20], epsilon=1), ParameterError, "at least two numbers"),
    ("edges falling", lambda: dp.histogram(AGES, edges=[30, 20], epsilon=1), ParameterError, "ascending"),
    ("edges a number", lambda: dp.histogram(AGES, edges=10, epsilon=1), ParameterError, "edges is a list of numbers"),
    ("edges text", lambda: dp.histogram(AGES, edges="auto", epsilon=1), ParameterError, "edges"),
    ("step zero", lambda: dp.median(AGES, bounds=(18, 100), epsilon=1, step=0), ParameterError, "step"),
    ("step too fine", lambda: dp.median(AGES, bounds=(18, 100), epsilon=1, step=1e-9), ParameterError, "wider step"),
    ("share above 1", lambda: dp.quantiles(AGES, [1.5], bounds=(18, 100), epsilon=1), ParameterError,
     "between 0 and 1"),
    ("no shares", lambda: dp.quantiles(AGES, [], bounds=(18, 100), epsilon=1), ParameterError, "uantiles"),
    ("size wrong", lambda: dp.mean(AGES, bounds=(18, 100), epsilon=1, size=3), ParameterError, "size declares"),
    ("size text", lambda: dp.mean(AGES, bounds=(18, 100), epsilon=1, size="90"), ParameterError,
     "size is the declared"),
    # -- schemas
    ("no columns", lambda: dp.Schema({}), SchemaError, "at least one column"),
    ("columns a list", lambda: dp.Schema(["age"]), SchemaError, "Schema({'age': Number(18, 100)})"),
    ("column without kind", lambda: dp.Schema({"age": int}), SchemaError, "needs a kind: Number(low, high)"),
    ("person without limit", lambda: dp.Schema(COLUMNS, person="patient_id"), SchemaError, "max_rows_per_person=3"),
    ("limit without person", lambda: dp.Schema(COLUMNS, max_rows_per_person=3), SchemaError, "Name the person column"),
    ("limit zero", lambda: dp.Schema(COLUMNS, person="a", max_rows_per_person=0), SchemaError, "at least 1"),
    ("limit text", lambda: dp.Schema(COLUMNS, person="a", max_rows_per_person="3"), SchemaError, "whole number"),
    ("limit empty", lambda: dp.Schema(COLUMNS, person="a", max_rows_per_person=""), SchemaError, "not filled in"),
    ("number reversed", lambda: dp.Number(100, 18), SchemaError, "low < high"),
    ("number nan", lambda: dp.Number(float("nan"), 1), SchemaError, "Number"),
    ("number text", lambda: dp.Number("18", 100), SchemaError, "Number"),
    ("category text", lambda: dp.Category("abc"), SchemaError, "list"),
    ("category empty", lambda: dp.Category([]), SchemaError, "Category"),
    ("category twice", lambda: dp.Category([1, 1]), SchemaError, "each value once"),
    ("date reversed", lambda: dp.Date("2019-01-01", "2018-01-01"), SchemaError, "low < high"),
    ("size zero", lambda: dp.Schema(COLUMNS, size=0), SchemaError, "size is the declared public number"),
    ("unknown column", lambda: SCHEMA.column("agee"), SchemaError, "Did you mean 'age'?"),
    ("bad toml", lambda: dp.Schema.from_toml("a = "), SchemaError, "not valid TOML"),
    ("bad json", lambda: dp.Schema.from_json("{"), SchemaError, "not valid JSON"),
    ("schema file missing", lambda: dp.Schema.load("nowhere.toml"), SchemaError, "no schema file"),
    ("unknown entry", lambda: dp.Schema.from_dict({"columns": {"a": {"kind": "flag"}}, "persn": "a"}), SchemaError,
     "Did you mean 'person'?"),
    # -- loading
    ("no schema", lambda: dp.load(FRAME, None), SchemaError, "needs the schema"),
    ("schema a dict", lambda: dp.load(FRAME, {"age": 1}), SchemaError, "needs the schema"),
    ("no such file", lambda: dp.load("nowhere.csv", SCHEMA), DataError, "no file 'nowhere.csv'"),
    ("a folder", lambda: dp.load(".", SCHEMA), ParameterError, "This is a folder"),
    ("unknown ending", lambda: dp.load("table.docx", SCHEMA), ParameterError, "load() reads .csv"),
    ("a DuckDB file", lambda: dp.load("table.duckdb", SCHEMA), ParameterError, "hand over the connection"),
    ("unknown address", lambda: dp.load("oracle://a/b", SCHEMA), ParameterError, "Known are postgresql://"),
    ("no table name", lambda: dp.load("postgresql://a/b", SCHEMA), ParameterError, "table='reports'"),
    ("a column", lambda: dp.load(FRAME.age, SCHEMA), DataError, "this is one column"),
    ("a polars column", lambda: dp.load(pl.Series([1]), SCHEMA), DataError, "this is one column"),
    ("schema from nothing", lambda: dp.Schema.load(None), SchemaError, "'schema.toml'"),
    ("a closed table checked", closed_check, EngineError, "closed. Load it again"),
    ("a list", lambda: dp.load([1, 2], SCHEMA), DataError, "cannot read"),
    ("an array", lambda: dp.load(np.ones(3), SCHEMA), DataError, "cannot read"),
    ("nobody listens", lambda: dp.load("postgresql://a@127.0.0.1:1/b", SCHEMA, table="t"), EngineError, "refused"),
    ("unknown host", lambda: dp.load("postgresql://a@no-host.invalid/b", SCHEMA, table="t"), EngineError, "DNS"),
    ("person misnamed", lambda: dp.load(FRAME, dp.Schema(COLUMNS, person="pid", max_rows_per_person=2)), SchemaError,
     "Did you mean 'patient_id'?"),
    ("column misnamed", lambda: dp.load(FRAME, dp.Schema({"agee": dp.Flag()})), SchemaError, "Did you mean 'age'?"),
    # -- sessions
    ("not a table", lambda: dp.Session(FRAME, recipient="a"), ParameterError, "what dp.load returned"),
    ("no budget", lambda: dp.Session(table(), recipient="a"), BudgetError, "budget=1.0"),
    ("budget text", lambda: session(budget="1"), ParameterError, "PureDP(epsilon)"),
    ("budget zero", lambda: session(budget=0), ParameterError, "epsilon"),
    ("budget a list", lambda: session(budget=[1]), ParameterError, "PureDP(epsilon)"),
    ("budget local", lambda: session(budget=dp.guarantee.LocalDP(1.0)), ParameterError, "PureDP(epsilon)"),
    ("ledger a number", lambda: session(ledger=7), ParameterError, "'ledger.db'"),
    ("ledger a frame", lambda: session(ledger=FRAME), ParameterError, "'ledger.db'"),
    ("ledger nowhere", lambda: session(ledger="no/such/folder/ledger.db"), LedgerError, "There is no folder"),
    ("policy a dict", lambda: session(policy={"a": 1}), ParameterError, "dp.Policy(data_set_budget=20)"),
    ("role unknown", lambda: session(role="boss"), ParameterError, "Choose one of"),
    ("conflict unknown", lambda: session(on_conflict="refused"), ParameterError, "Did you mean 'refuse'?"),
    ("recipient empty", lambda: dp.Session(table(), recipient="", budget=1.0), ParameterError, "recipient"),
    ("recipient a number", lambda: dp.Session(table(), recipient=7, budget=1.0), ParameterError, "recipient"),
    ("closed table", closed, EngineError, "closed. Load it again"),
    ("nothing said", lambda: session().release(dp.Count()), ParameterError, "no default"),
    ("two prices", lambda: ask(dp.Count(), margin=3), ParameterError, "Give one of"),
    ("too dear", lambda: ask(dp.Count(), epsilon=6), BudgetError, "left epsilon 5 of 5"),
    ("delta alone", lambda: ask(dp.Count(), delta=1e-6), ParameterError, "unknown keys"),
    ("margin text", lambda: session().release(dp.Count(), margin="3 rows"), ParameterError, "margin is a positive"),
    ("margin of a mean", lambda: session().price(dp.Mean("age"), margin=1), CalibrationError, "--buy-size"),
    ("factor unknown", lambda: session().release(dp.Count(), noise_factor="hihg"), ParameterError,
     "Did you mean 'high'?"),
    ("limit without epsilon", lambda: session().buy_limit(), ParameterError, "buy_limit needs epsilon="),
    ("size without epsilon", lambda: session().buy_size(), ParameterError, "buy_size needs epsilon="),
    # -- questions
    ("question a text", lambda: ask("mean age"), QuestionError, "Mean('age')"),
    ("question a class", lambda: ask(dp.Count), QuestionError, "Count()"),
    ("mean of nothing", lambda: dp.Mean(), QuestionError, "Mean('age')"),
    ("mean of text", lambda: ask(dp.Mean("city")), QuestionError, "free text"),
    ("mean of a category", lambda: ask(dp.Mean("pirads")), QuestionError, "Count(by='pirads')"),
    ("mean of the person", lambda: ask(dp.Mean("patient_id")), SchemaError, "no column 'patient_id'"),
    ("unknown column asked", lambda: ask(dp.Mean("agee")), SchemaError, "Did you mean 'age'?"),
    ("mean by itself", lambda: ask(dp.Mean("age", by="age")), QuestionError, "Histogram('age')"),
    ("by twice", lambda: dp.Count(by=["bph", "bph"]), QuestionError, "each once"),
    ("by a number", lambda: dp.Count(by=3), QuestionError, "by='pirads'"),
    ("by free text", lambda: ask(dp.Count(by="city")), QuestionError, "by={'city': None}"),
    ("unknown key", lambda: ask(dp.Count(by={"pirads": [1, 9]})), QuestionError, "public key"),
    ("where a text", lambda: dp.Count(where="age > 3"), QuestionError, "dp.Where('age')"),
    ("where a dict", lambda: dp.Count(where={"age": 3}), QuestionError, "dp.Where('age')"),
    ("where a number", lambda: dp.Count(where=3), QuestionError, "dp.Where('age')"),
    ("where a sign", lambda: dp.Count(where=dp.Where("age") > 60), QuestionError, "at_least(60)"),
    ("where two signs", lambda: dp.Count(where=18 < dp.Where("age") < 60), QuestionError, "between(60, 70)"),
    ("where an equal sign", lambda: dp.Count(where=dp.Where("age") == 60), QuestionError, "dp.Where('age')"),
    ("count of nonsense", lambda: dp.Count(of="people"), QuestionError, "rows or persons"),
    ("bins zero", lambda: dp.Histogram("age", bins=0), QuestionError, "bins= is a number of bins"),
    ("bins text", lambda: dp.Histogram("age", bins="auto"), QuestionError, "edges=[20, 40, 60]"),
    ("bins and edges", lambda: dp.Histogram("age", bins=3, edges=[1, 2]), QuestionError, "not both"),
    ("bins of a category", lambda: ask(dp.Histogram("pirads", bins=3)), QuestionError, "needs numbers"),
    ("bins of too few days", lambda: ask(dp.Histogram("seen", bins=9999)), QuestionError, "364 days"),
    ("edges falling asked", lambda: dp.Histogram("age", edges=[3, 2]), QuestionError, "ascending"),
    ("crosstab of one", lambda: dp.Crosstab("age"), QuestionError, "at least two different columns"),
    ("crosstab bins misnamed", lambda: dp.Crosstab("age", "bph", bins={"agee": [1, 2]}), QuestionError, "Did you mean"),
    ("quantiles above 1", lambda: dp.Quantiles("age", [2]), ValueError, "between 0 and 1"),
    ("question unknown", lambda: Question.from_dict({"ask": "std", "of": "age"}), QuestionError, "Unknown question"),
    ("release unread", lambda: dp.Release.from_json("[]"), DataError, "JSON object"),
    ("plot another shape", lambda: ask(dp.Count(by="bph")).plot(original=[1, 2, 3, 4, 5]), ParameterError,
     "one number per released value"),
    ("models a number", lambda: dp.anonymize(FRAME, ["age"], models=5), ParameterError, "models=[KAnonymity(5)]"),
    ("plot raw", lambda: dp.plot.draw(FRAME), ParameterError, "takes what may leave"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "kind", "words"), [w[1:] for w in LIBRARY], ids=[w[0] for w in LIBRARY])
def test_wrong_input_gets_its_class_and_a_sentence_that_helps(make, kind, words):
    with pytest.raises(kind) as caught:
        make()
    assert words in str(caught.value)
    if kind is not TypeError:  # a missing argument is Python's own, and names it
        assert isinstance(caught.value, PydplibError)
        assert "object has no attribute" not in str(caught.value)
    assert "60.0, 60.0" not in str(caught.value) and "Oslo" not in str(caught.value)


def test_corpus_is_large_and_names_nothing_twice():
    assert len(LIBRARY) + len(SHELL) >= 100
    assert len({name for name, *_ in LIBRARY}) == len(LIBRARY)


SHELL: list[tuple[list[str], int, str]] = [
    (["relase"], 2, "Did you mean 'release'?"),
    (["experiment", "nope"], 2, "Choose one of: compare, inference, pirads"),
    (["schema", "chek", "s.toml"], 2, "Did you mean 'check'?"),
    (["ledger", "sow", "l.db"], 2, "Did you mean 'show'?"),
    (["schema", "check", "nowhere.toml"], 12, "no schema file"),
    (["schema", "check", "s.toml", "nowhere.csv"], 10, "no file 'nowhere.csv'"),
    (["schema", "init", "nowhere.csv"], 10, "no file 'nowhere.csv'"),
    (["risk", "nowhere.csv", "--quasi", "a"], 10, "no file 'nowhere.csv'"),
    (["verify", "nowhere.csv", "--quasi", "a"], 10, "no file 'nowhere.csv'"),
    (["noise", "nowhere.csv", "--column", "a"], 10, "no file 'nowhere.csv'"),
    (["anonymize", "nowhere.csv", "--config", "a.toml", "-o", "b.csv"], 10, "no file 'nowhere.csv'"),
    (["attack", "nowhere.csv", "r.csv", "--quasi", "age"], 10, "no file 'nowhere.csv'"),
    (["receipt", "verify", "nowhere.json"], 10, "no file 'nowhere.json'"),
    (["ledger", "show", "nowhere.db"], 30, "no ledger 'nowhere.db'"),
    (["release", "nowhere.csv", "--schema", "s.toml", "-q", "count", "--epsilon", "1", "--recipient", "a", "--ledger",
      "l.db"], 10, "no file 'nowhere.csv'"),
    (["release", "r.csv", "--schema", "s.toml", "-q", "meen age", "--epsilon", "1", "--recipient", "a", "--ledger",
      "l.db"], 13, "Did you mean"),
    (["price", "r.csv", "--schema", "s.toml", "-q", "stdev age", "--epsilon", "1", "--recipient", "a", "--ledger",
      "l.db"], 13, "is no statistic"),
    (["release", "r.csv", "--schema", "s.toml", "-q", "crosstab pirads bph", "--epsilon", "1", "--recipient", "a",
      "--ledger", "l.db"], 13, "with a comma: crosstab pirads, bph."),
    (["release", "r.csv", "--schema", "s.toml", "-q", "crosstab pirads", "--epsilon", "1", "--recipient", "a",
      "--ledger", "l.db"], 13, "with a comma: crosstab pirads, age."),
    (["release", "r.csv", "--schema", "s.toml", "-q", "mean age by age", "--epsilon", "1", "--recipient", "a",
      "--ledger", "l.db"], 13, "histogram age"),
    (["release", "r.csv", "--schema", "s.toml", "-q", "count", "--recipient", "a", "--ledger", "l.db"], 11,
     "--epsilon 0.2"),
    (["release", "r.csv", "--schema", "s.toml", "-q", "count", "--epsilon", "1", "--recipient", "a", "--ledger",
      "no/such/l.db"], 30, "There is no folder"),
    (["price", "r.csv", "--schema", "s.toml", "-q", "mean age", "--margin", "1", "--recipient", "a", "--ledger",
      "l.db"], 14, "pydplib release ... --buy-size 0.05"),
]  # fmt: skip


READING: list[list[str]] = [
    ["schema", "init", "FILE"],
    ["schema", "check", "s.toml", "FILE"],
    ["release", "FILE", "--schema", "s.toml", "-q", "count", "--epsilon", "1", "--recipient", "a", "--ledger", "l.db"],
    ["price", "FILE", "--schema", "s.toml", "-q", "count", "--epsilon", "1", "--recipient", "a", "--ledger", "l.db"],
    ["risk", "FILE", "--quasi", "age"],
    ["verify", "FILE", "--quasi", "age"],
    ["attack", "FILE", "r.csv", "--quasi", "age"],
    ["attack", "r.csv", "FILE", "--quasi", "age"],
    ["noise", "FILE", "--column", "age", "--query", "mean", "--noise-factor", "high", "--bounds", "18,100"],
    ["anonymize", "FILE", "--init", "--config", "made.toml"],
    ["hierarchy", "make", "masking", "--table", "FILE", "--column", "age"],
]
"""Every command that reads a table, and where its name stands."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    FRAME.to_csv(folder / "r.csv", index=False)
    (folder / "s.toml").write_text(SCHEMA.to_toml())
    return folder


@pytest.mark.parametrize(("arguments", "code", "words"), SHELL, ids=[" ".join(s[0])[:40] for s in SHELL])
def test_wrong_command_ends_with_its_code_and_a_sentence_that_helps(place, monkeypatch, capsys, arguments, code, words):
    monkeypatch.chdir(place)
    with pytest.raises(SystemExit) as done:
        main(arguments)
    err = " ".join(capsys.readouterr().err.split())
    assert done.value.code == code and words in err, err
    assert "Traceback" not in err and "Error: something unexpected" not in err
    assert sorted(os.listdir(place)) == ["r.csv", "s.toml"]  # nothing half made


@pytest.mark.parametrize("command", READING, ids=[" ".join(c[:2]) for c in READING])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere.csv", "There is no file 'nowhere.csv'"),
        ("folder.csv", "'folder.csv' is a folder. Name a file in it."),
        ("empty.csv", "empty"),
        ("cut.parquet", "cannot be read as Parquet. Check that it is"),
    ],
)
def test_file_that_is_no_table_ends_alike_in_every_command(place, tmp_path, monkeypatch, capsys, command, name, words):
    for file in ("r.csv", "s.toml"):
        (tmp_path / file).write_bytes((place / file).read_bytes())
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "empty.csv").touch()
    (tmp_path / "cut.parquet").write_bytes(b"\x00\x01PAR" * 40)
    monkeypatch.chdir(tmp_path)
    before = sorted(os.listdir())
    with pytest.raises(SystemExit) as done:
        main([name if word == "FILE" else word for word in command])
    err = " ".join(capsys.readouterr().err.split())
    assert done.value.code == DataError.exit_code and words in err, err
    assert sorted(os.listdir()) == before  # no ledger was made, nothing is half written


def test_first_line_that_is_no_text_is_not_proposed_as_names(tmp_path, capsys):
    (tmp_path / "binary.csv").write_bytes(b"ab\x00\x13c,d\x01\n1,2\n")
    with pytest.raises(SystemExit) as done:
        main(["schema", "init", str(tmp_path / "binary.csv")])
    assert done.value.code == DataError.exit_code
    assert "does not look like names of columns" in capsys.readouterr().err


def test_histogram_by_number_of_bins_is_the_question_with_those_edges():
    asked = session()
    by_number = asked.release(dp.Histogram("age", bins=2), epsilon=0.5)
    assert asked.release(dp.Histogram("age", edges=[18, 59, 100]), epsilon=0.5) == by_number
    assert asked.release(dp.Histogram("age", bins=[18, 59, 100]), epsilon=0.5) == by_number
    days = asked.release(dp.Histogram("seen", bins=2), epsilon=0.5)
    assert days.axes[0].keys == (("2018-01-01", "2018-07-02"), ("2018-07-02", "2018-12-31"))
    assert Question.from_dict(dp.Histogram("age", bins=2).to_dict()) == dp.Histogram("age", bins=2)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([61, pd.NA, 70] * 300, dtype="Int64"),
        pd.Series([61, pd.NA, 70] * 300, dtype=object),
        pd.Series([61, pd.NA, 70] * 300, dtype="Float64"),
    ],
    ids=["Int64", "object", "Float64"],
)
def test_missing_of_pandas_is_missing_in_every_one_liner(column):
    assert abs(dp.count(column, epsilon=5.0).value - 600) < 20
    assert abs(dp.mean(column, bounds=(18, 100), epsilon=5.0).value - 65.5) < 3
    assert abs(dp.sum(column, bounds=(0, 100), epsilon=5.0).value - 39_300) < 1_000
    assert abs(dp.histogram(column, edges=[0, 65, 100], epsilon=5.0).value.sum() - 600) < 30
    assert dp.variance(column, bounds=(18, 100), epsilon=5.0).value < 200
    assert 61 <= dp.median(column, bounds=(18, 100), epsilon=5.0, step=1).value <= 70


def test_one_anonymity_is_answered_with_a_word_that_it_protects_nobody():
    found = dp.anonymize(pd.DataFrame({"q": [1, 2, 3]}), ["q"], models=[dp.KAnonymity(1)])
    assert "1-anonymity protects nobody" in " ".join(found.notes)
    assert "1-anonymity protects nobody" in str(found) and "limits re-identification" not in str(found)


@pytest.mark.parametrize("command", READING, ids=[" ".join(c[:2]) for c in READING])
def test_standard_input_is_read_by_every_command_and_its_copy_is_gone(place, tmp_path, monkeypatch, capsys, command):
    class Input:
        buffer = io.BytesIO((place / "r.csv").read_bytes())

    for file in ("r.csv", "s.toml"):
        (tmp_path / file).write_bytes((place / file).read_bytes())
    (tmp_path / "kept").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "stdin", Input())
    with pytest.raises(SystemExit) as done:
        main(["-" if word == "FILE" else word for word in command])
    said = capsys.readouterr()
    assert done.value.code == 0, said.err
    assert said.out or (tmp_path / "made.toml").exists()
    assert "stdin.csv" not in said.out  # it is nowhere any more
    assert not [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]


def test_exit_codes_are_listed_in_the_help(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    for kind in (DataError, ParameterError, SchemaError, BudgetError, EngineError):
        assert f"  {kind.exit_code} " in out.split("Exit codes:")[1]

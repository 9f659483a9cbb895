"""Formulas of the schema: read once, refused with a pointer, checked against the declarations they look at."""

from __future__ import annotations

import datetime as dt

import pytest

import pydplib as dp
from pydplib.errors import QuestionError, SchemaError
from pydplib.release.facts import Facts
from pydplib.release.grammar import parse_question
from pydplib.schema.formulas import compute, parse_formula

COLUMNS = {
    "psa": dp.Number(0, 50, label="sensitive"),
    "volume": dp.Number(1, 300),
    "day": dp.Date("2017-01-01", "2018-12-31"),
    "pirads": dp.Category([1, 2, 3, 4, 5], ordered=True),
    "bph": dp.Flag(),
    "note": dp.Text(),
}


def schema(**more: dp.Number) -> dp.Schema:
    return dp.Schema({**COLUMNS, **more}, person="id", max_rows_per_person=3, name="reports")


WHOLE = schema(
    density=dp.Number(0, 5, label="sensitive", derived="psa/volume"),
    month=dp.Integer(1, 12, derived="month( day )"),
    change=dp.Number(-20, 20, label="sensitive", derived=dp.Person("id").change("psa", order="day")),
    top=dp.Category([1, 2, 3, 4, 5], derived="highest(pirads)"),
)


@pytest.mark.parametrize(
    "text",
    ["psa / volume", "(a + b) * 2", "a - (b - c)", "year(day) * 12", "cut(psa, 4, 10)", "first(pirads by day)",
     "count_of(pirads in 4, 5)", "count_of(psa >= 10)", "count_of(arm not in b)", "count_of()", "count_of(bph)",
     "days_between(a, b)", '"odd name" / 2', "a * 0.1", 'count_of(site = "New York")'],
)  # fmt: skip
def test_formula_is_written_back_as_it_is_read(text) -> None:
    formula = parse_formula(text)
    assert parse_formula(str(formula)) == formula


@pytest.mark.parametrize(
    ("text", "message"),
    [("psa /", "is needed here"), ("log(psa)", "no function 'log'"), ("first(psa)", "'by' is needed"),
     ("3", "at least one column"), ("psa + first(a by b)", "stands alone"), ("psa // 2", "is needed here"),
     ("cut(psa)", "ascending edges"), ("cut(psa, 4, 4)", "ascending edges"), ("psa / 0", "division by 0"),
     ("psa $ 2", "no meaning"), ("first(a by b) + 1", "has ended"), ("psa * 1e200", "too large"),
     (" + ".join("a" * 20), "at most 12 signs"), ("psa; DROP TABLE", "no meaning")],
)  # fmt: skip
def test_wrong_formula_is_refused_with_a_pointer(text, message) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        dp.Number(0, 1, derived=text)
    assert "^" in str(caught.value)


def test_calendar_is_that_of_python() -> None:
    year, month = parse_formula("year(d)"), parse_formula("month(d)")
    for days in range(-719162, 2932896, 1201):
        day = dt.date(1970, 1, 1) + dt.timedelta(days=days)
        assert (compute(year, {"d": float(days)}), compute(month, {"d": float(days)})) == (day.year, day.month)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (dp.Number(0, 1, label="sensitive", derived="psaa / volume"), "Did you mean 'psa'"),
        (dp.Number(0, 1, derived="psa / volume"), "label='sensitive'"),
        (dp.Number(0, 1, derived="pirads / 2"), "holds no numbers"),
        (dp.Number(0, 1, derived="note / 2"), "free text"),
        (dp.Number(0, 1, derived="month(volume)"), "holds no days"),
        (dp.Category(["a", "b"], derived="cut(volume, 10, 20)"), "into 3 parts"),
        (dp.Category(["a", "b"], derived="volume / 2"), "as a number"),
        (dp.Category([1, 2], derived="highest(pirads)"), "same kind and values"),
        (dp.Number(0, 1, derived="change(pirads by day)"), "holds no numbers"),
        (dp.Number(0, 1, derived="days_between(volume)"), "holds none"),
        (dp.Integer(0, 9, derived="count_of(pirads in 9)"), "no declared value"),
        (dp.Integer(0, 9, derived="count_of(day >= soon)"), "holds days"),
    ],
)
def test_formula_that_does_not_fit_is_refused(column, message) -> None:
    with pytest.raises(SchemaError, match=message):
        schema(new=column)


def test_formulas_of_formulas_and_steps_without_persons_are_refused() -> None:
    with pytest.raises(SchemaError, match="computed itself"):
        schema(one=dp.Number(0, 1, derived="volume / 2"), two=dp.Number(0, 1, derived="one / 2"))
    with pytest.raises(SchemaError, match="person column"):
        dp.Schema({"day": dp.Date("2017-01-01", "2018-12-31"), "n": dp.Integer(0, 9, derived="count_of()")})


def test_schema_with_formulas_goes_through_files_and_says_them() -> None:
    assert dp.Schema.from_toml(WHOLE.to_toml()) == dp.Schema.from_json(WHOLE.to_json()) == WHOLE
    assert "0 to 5 = psa / volume" in str(WHOLE) and WHOLE.steps == ("change", "top")
    assert set(WHOLE.stored) == set(COLUMNS)


def test_questions_about_steps_count_each_person_once() -> None:
    facts = Facts.of(parse_question("mean change by top", WHOLE), WHOLE)
    assert (facts.rows, facts.bound.scale, facts.bound.rule) == (1, 1, "any")
    assert facts.question.counted(facts).startswith("each person counts once, by what is told")
    where = Facts.of(dp.Count(where=[dp.Where("change").at_least(2), dp.Where("bph").eq(True)]), WHOLE)
    assert [entry["column"] for entry in where.canonical["after"]] == ["change"]
    assert where.canonical["of"] == "persons" and [entry["column"] for entry in where.canonical["where"]] == ["bph"]
    after = dp.Count(where=[dp.Where("bph").eq(True)], after=[dp.Where("change").at_least(2)])
    assert Facts.of(after, WHOLE).canonical == where.canonical


def test_steps_next_to_columns_of_rows_need_to_know_which_row() -> None:
    with pytest.raises(QuestionError, match="Say which row counts"):
        Facts.of(dp.Mean("change", by="bph"), WHOLE)
    first = dp.Person().first_row(order="day")
    assert Facts.of(dp.Mean("change", by="bph", per_person=first), WHOLE).bound.rule == "first"
    with pytest.raises(QuestionError, match="told of each person"):
        Facts.of(dp.Count(where=[dp.Where("change").at_least(2) | dp.Where("bph").eq(True)]), WHOLE)
    with pytest.raises(QuestionError, match="cannot order"):
        Facts.of(dp.Count(per_person=dp.Person().first_row(order="change")), WHOLE)


def test_key_holds_the_formula_and_what_it_looks_at() -> None:
    wider = dp.Schema(
        {**WHOLE.columns, "volume": dp.Number(1, 400)}, person="id", max_rows_per_person=3, name="reports"
    )
    other = {**WHOLE.columns, "density": dp.Number(0, 5, label="sensitive", derived="psa / volume / 2")}
    halved = dp.Schema(other, person="id", max_rows_per_person=3, name="reports")
    prints = {Facts.of(dp.Mean("density"), each).fingerprint for each in (WHOLE, wider, halved)}
    assert len(prints) == 3

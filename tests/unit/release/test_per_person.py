"""Questions about one row of each person: in Python, in words, as JSON, and in the key of a release."""

from __future__ import annotations

import pytest

import pydplib as dp
from pydplib.errors import QuestionError
from pydplib.release.facts import Facts
from pydplib.release.grammar import parse_question
from pydplib.release.results.words import words_of
from pydplib.release.statistics.question import Question, offered_statistics

SCHEMA = dp.Schema(
    {
        "day": dp.Date("2018-01-01", "2018-12-31"),
        "age": dp.Number(18, 100, unit="years"),
        "pirads": dp.Category([1, 2, 3, 4, 5], ordered=True),
        "bph": dp.Flag(),
        "city": dp.Text(),
    },
    person="id",
    max_rows_per_person=3,
    name="reports",
)
FIRST = dp.Person("id").first_row(order="day")
QUESTIONS = [
    dp.Count(by="pirads", per_person=FIRST),
    dp.Mean("age", where=[dp.Where("bph").eq(True)], per_person=FIRST, after=[dp.Where("pirads").is_in([4, 5])]),
    dp.Crosstab("pirads", "bph", per_person=dp.Person().highest_row("pirads")),
    dp.Histogram("age", edges=[18, 60, 100], by="bph", per_person=dp.Person().last_row(order=["day", "age"])),
    dp.Quantiles("age", [0.5], per_person=FIRST),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=repr)
def test_question_of_one_row_comes_back_from_plain_values_and_from_its_repr(question) -> None:
    assert Question.from_dict(question.to_dict()) == question
    names = {"Where": dp.Where, "Person": dp.Person, **{k.__name__: k for k in offered_statistics().values()}}
    assert eval(repr(question), names) == question
    facts = Facts.of(question, SCHEMA)
    assert Facts.of(Question.from_dict(facts.canonical), SCHEMA).canonical == facts.canonical
    assert facts.rows == 1 and facts.bound.scale == 1


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("count by pirads per person first by day",
         dp.Count(by="pirads", per_person=dp.Person().first_row(order="day"))),
        ("mean age where bph = yes per person last by day, age after pirads >= 4 and age < 70",
         dp.Mean("age", where=[dp.Where("bph").eq(True)], per_person=dp.Person().last_row(order=["day", "age"]),
                 after=[dp.Where("pirads").at_least(4), dp.Where("age").less_than(70)])),
        ("crosstab pirads, bph per person highest pirads",
         dp.Crosstab("pirads", "bph", per_person=dp.Person().highest_row("pirads"))),
        ("median age per patient highest by pirads", dp.Median("age", per_person=dp.Person().highest_row("pirads"))),
    ],
)  # fmt: skip
def test_grammar_reads_which_row_counts(words, question) -> None:
    assert parse_question(words, SCHEMA) == question


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("count per day", "per person first by COLUMN"),
        ("count per person newest by day", "'newest' is no rule"),
        ("count per person first day", "per person first by COLUMN"),
        ("count per person first by", "ends where a column"),
        ("count after age > 60", "follows which row"),
        ("count per person first by day where age > 60", "not expected here"),
    ],
)
def test_grammar_points_at_what_is_wrong(words, message) -> None:
    with pytest.raises(QuestionError, match=message):
        parse_question(words, SCHEMA)


EITHER = dp.Where("pirads").eq(5) | dp.Where("age").at_least(70)


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ("pirads = 5 or age >= 70", [EITHER]),
        ("(pirads = 5 or age >= 70) and bph = yes", [EITHER, dp.Where("bph").eq(True)]),
        ("bph = yes and (pirads = 5 or age >= 70)", [dp.Where("bph").eq(True), EITHER]),
        ("(bph = yes) and pirads not in 1, 2", [dp.Where("bph").eq(True), dp.Where("pirads").not_in([1, 2])]),
        ("pirads in (4, 5) or bph is missing", [dp.Where("pirads").is_in([4, 5]) | dp.Where("bph").is_missing()]),
    ],
)
def test_grammar_reads_or(words, where) -> None:
    question = parse_question(f"count where {words}", SCHEMA)
    assert question == dp.Count(where=where)
    assert Question.from_dict(question.to_dict()) == question
    assert parse_question(words_of(question.to_dict()).replace("of rows", "").replace("True", "yes").replace(
        "at least", ">=").replace("is in", "in"), SCHEMA) == question  # fmt: skip


@pytest.mark.parametrize("words", ["pirads = 5 or age > 70 and bph = yes", "bph = yes and pirads = 5 or age > 70"])
def test_grammar_wants_brackets_where_and_meets_or(words) -> None:
    with pytest.raises(QuestionError, match="needs brackets"):
        parse_question(f"count where {words}", SCHEMA)
    with pytest.raises(QuestionError, match="not closed"):
        parse_question("count where (pirads = 5 or age > 70", SCHEMA)


def test_or_has_one_spelling() -> None:
    age, four, five = dp.Where("age").at_least(70), dp.Where("pirads").eq(4), dp.Where("pirads").eq(5)
    keys = [
        key(dp.Count(where=[where]))
        for where in (five | age | four, age | (four | five), dp.Where("pirads").is_in([5, 4]) | age | age)
    ]
    assert keys[0] == keys[1] == keys[2] != key(dp.Count(where=[age, dp.Where("pirads").is_in([4, 5])]))
    assert key(dp.Count(where=[four | five])) == key(dp.Count(where=[dp.Where("pirads").is_in([4, 5])]))
    assert dp.Count(where=[five | age]).filters == {"age", "pirads"}
    with pytest.raises(QuestionError, match="joins two conditions"):
        five | "age"


def test_or_does_not_narrow_bounds() -> None:
    asked = dp.Mean("age", where=[dp.Where("age").at_least(70) | dp.Where("bph").eq(True)])
    assert Facts.of(asked, SCHEMA).bounds == (18.0, 100.0)


def key(question) -> tuple[object, ...]:
    purchase = Facts.of(question, SCHEMA).at(1.0)
    return purchase.facts.canonical, purchase.parameters


def test_equal_questions_have_one_key_and_others_have_others() -> None:
    mean = [
        dp.Mean("age"),
        dp.Mean("age", per_person=FIRST),
        dp.Mean("age", per_person=dp.Person().last_row(order="day")),
        dp.Mean("age", per_person=dp.Person().first_row(order="pirads")),
        dp.Mean("age", per_person=FIRST, where=[dp.Where("bph").eq(True)]),
        dp.Mean("age", per_person=FIRST, after=[dp.Where("bph").eq(True)]),
    ]
    keys = [key(question) for question in mean]
    assert all(one != other for i, one in enumerate(keys) for other in keys[:i])
    assert key(dp.Mean("age", per_person=dp.Person().highest_row("day"))) == keys[2]
    assert key(dp.Count(per_person=FIRST)) == key(dp.Count(of="persons", per_person=dp.Person().first_row(order="day")))


def test_a_question_of_all_rows_says_nothing_of_persons() -> None:
    canonical = Facts.of(dp.Mean("age", by="pirads"), SCHEMA).canonical
    assert set(canonical) == {"ask", "of", "by"}


def test_declaration_of_any_column_that_settles_ties_is_part_of_the_key() -> None:
    columns = {**SCHEMA.columns, "bph": dp.Category(["yes", "no"])}
    other = dp.Schema(columns, person="id", max_rows_per_person=3, name="reports")
    asked, plain = dp.Mean("age", per_person=FIRST), dp.Mean("age")
    assert Facts.of(asked, SCHEMA).fingerprint != Facts.of(asked, other).fingerprint
    assert Facts.of(plain, SCHEMA).fingerprint == Facts.of(plain, other).fingerprint


def test_release_says_which_row_counts() -> None:
    facts = Facts.of(QUESTIONS[1], SCHEMA)
    assert facts.question.counted(facts).startswith("one row of each person counts: the first by day; ")
    assert words_of(facts.canonical) == "mean of age where bph = True per person first by day after pirads is in 4, 5"
    assert Facts.of(QUESTIONS[0], SCHEMA).unit == "persons"


def test_columns_that_choose_a_row_are_filters_for_the_policy() -> None:
    assert QUESTIONS[1].filters == {"bph", "day", "pirads"}
    with pytest.raises(QuestionError, match="free text"):
        Facts.of(dp.Count(per_person=dp.Person().first_row(order="city")), SCHEMA)


def test_wrong_values_are_refused() -> None:
    with pytest.raises(QuestionError, match="first_row"):
        dp.Count(per_person="first")
    with pytest.raises(QuestionError, match="entries rule"):
        Question.from_dict({"ask": "count", "of": "rows", "per_person": {"rule": "first"}})

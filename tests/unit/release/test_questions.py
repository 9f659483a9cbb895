"""Questions: frozen, canonical, checked against the schema before anything else happens."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pinned_releases import QUESTIONS as PINNED_QUESTIONS

import pydplib as dp
from pydplib.budget.keys import canonical_json
from pydplib.errors import QuestionError, SchemaError
from pydplib.release import Question
from pydplib.release.facts import Facts
from pydplib.release.grids import nice_edges

ALL = [
    dp.Count(),
    dp.Count(of="persons", by="pirads"),
    dp.Sum("psa"),
    dp.Mean("age", by={"pirads": [3, 1]}),
    dp.Variance("age", where=[dp.Where("bph").eq(True)]),
    dp.Median("seen"),
    dp.Quantiles("age", [0.1, 0.9]),
    dp.Histogram("age", edges=[20, 50, 100], by="bph"),
    dp.Histogram("pirads"),
    dp.Crosstab("age", "pirads", bins={"age": [20, 60, 100]}),
    dp.Count(by={"age": dp.Bins([20, 40, 60])}),
]


@pytest.mark.parametrize("question", ALL, ids=repr)
def test_question_through_plain_values_is_the_same_question(question, schema):
    again = Question.from_dict(question.to_dict())
    assert again == question
    assert again.canonical(schema) == question.canonical(schema)
    canonical = Question.from_dict(question.canonical(schema))
    assert canonical.canonical(schema) == question.canonical(schema)


def test_spellings_of_one_question_are_one_question(schema):
    w = dp.Where
    one = dp.Mean("age", by="pirads", where=[w("age").between(60, 70), w("pirads").is_in([3, 2])])
    two = dp.Mean("age", by=["pirads"], where=[w("pirads").is_in([2, 3, 2]), w("age").between(60.0, 70.0)])
    three = dp.Mean("age", by={"pirads": [1, 2, 3, "other"]}, where=[w("age").between(60, 70), w("pirads").at_least(2)])
    assert one.canonical(schema) == two.canonical(schema)
    assert one.canonical(schema) == three.canonical(schema)


def test_another_bound_is_another_question(schema):
    wider = dp.Schema(
        {**schema.columns, "age": dp.Number(0, 120, step=1)}, person="patient", max_rows_per_person=1, name="reports"
    )
    assert Facts.of(dp.Mean("age"), schema).fingerprint != Facts.of(dp.Mean("age"), wider).fingerprint


def test_question_is_frozen():
    with pytest.raises(AttributeError):
        dp.Mean("age").column = "psa"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dp.Mean("agee"), "Did you mean 'age'"),
        (lambda: dp.Mean("pirads"), "needs numbers"),
        (lambda: dp.Mean("name"), "free text"),
        (lambda: dp.Count(by="name"), "unknown keys"),
        (lambda: dp.Count(by="patient"), "no column 'patient'"),
        (lambda: dp.Mean("age", by={"pirads": [1, 9]}), "no public key"),
        (lambda: dp.Histogram("age", edges=[3, 2, 1]), "ascending"),
        (lambda: dp.Histogram("age", by="age"), "leave it out"),
        (lambda: dp.Crosstab("age"), "at least two"),
        (lambda: dp.Crosstab("age", "bph", bins={"psa": [1, 2]}), "no column of this table"),
        (lambda: dp.Count(of="rowz"), "Did you mean 'rows'"),
        (lambda: dp.Quantiles("age", [2]), "between 0 and 1"),
        (lambda: dp.Mean("age", where=["age > 60"]), "Where"),
        (lambda: dp.Mean("age", where=[dp.Where("pirads").eq(7)]), "no declared value"),
        (
            lambda: dp.Median("age", by={"name": None}),
            "Median needs public keys.* only Count, Mean, Sum, StandardDeviation and Variance",
        ),
        (lambda: dp.Quantiles("age", [0.5], by={"name": None}), "First ask Count"),
        (lambda: dp.Histogram("age", by={"name": None}), "Histogram needs public keys"),
        (lambda: dp.Count(by={"name": None, "pirads": [1]}), "one column at a time"),
        (lambda: dp.Mean(""), "needs its column"),
    ],
)
def test_question_that_does_not_fit_is_refused_with_the_next_step(make, message, schema):
    with pytest.raises((QuestionError, SchemaError, dp.errors.ParameterError), match=message):
        Facts.of(make(), schema)


def test_unknown_keys_without_a_person_column_are_refused():
    with pytest.raises(QuestionError, match="person column"):
        Facts.of(dp.Count(by={"city": None}), dp.Schema({"city": dp.Text()}))


def test_conditions_on_the_measured_column_narrow_its_bounds(schema):
    narrow = Facts.of(dp.Mean("age", where=[dp.Where("age").between(60, 70)]), schema)
    assert narrow.bounds == (60, 70)
    assert Facts.of(dp.Mean("age", where=[dp.Where("psa").between(1, 2)]), schema).bounds == (18, 100)
    assert Facts.of(dp.Mean("age", where=[dp.Where("age").eq(60)]), schema).bounds == (18, 100)
    wide = Facts.of(dp.Mean("age"), schema).at(1.0)
    assert narrow.at(1.0).noise.unit_scale == pytest.approx(wide.noise.unit_scale * 10 / 82)


def test_one_person_moves_all_groups_together_by_the_rows_that_count(schema):
    assert Facts.of(dp.Count(by="pirads"), schema).at(1.0).noise.sensitivity == 2 * 65536
    assert Facts.of(dp.Count(of="persons", by="pirads"), schema).at(1.0).noise.sensitivity == 1


def test_nice_edges_lie_at_round_numbers_within_the_bounds():
    assert nice_edges(dp.Number(0, 1)) == (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
    assert nice_edges(dp.Integer(0, 3)) == (0, 1, 2, 3)
    assert nice_edges(dp.Number(18, 91)) == (18, 30, 40, 50, 60, 70, 80, 91), "no narrow rest at the ends"
    days = nice_edges(dp.Date("2017-01-01", "2018-12-31"))
    assert days[0] == "2017-01-01" and days[-1] == "2018-12-31" and 10 <= len(days) <= 14


def test_whole_numbers_are_one_question_however_they_are_written():
    schema = dp.Schema({"age": dp.Number(18, 100), "p": dp.Category([1, 2, 3])}, name="reports")
    alike = [
        (dp.Histogram("age", edges=[20, 40]), dp.Histogram("age", edges=[20.0, 40.0])),
        (dp.Histogram("age", edges=[20, 40]), dp.Histogram("age", edges=np.array([20, 40]))),
        (dp.Count(by={"p": [1, 2]}), dp.Count(by={"p": [1.0, 2.0]})),
        (dp.Count(by={"p": [1, 2]}), dp.Count(by={"p": np.array([1, 2])})),
        (dp.Count(by={"age": dp.Bins([20, 40])}), dp.Count(by={"age": dp.Bins([20.0, 40.0])})),
        (
            dp.Crosstab("age", "p", bins={"age": [20, 40]}),
            dp.Crosstab("age", "p", bins={"age": np.arange(20.0, 41, 20)}),
        ),
    ]
    for one, other in alike:
        assert canonical_json(one.canonical(schema)) == canonical_json(other.canonical(schema))
        assert Facts.of(one, schema).canonical == Facts.of(other, schema).canonical


def test_other_edges_are_another_question():
    schema = dp.Schema({"age": dp.Number(18, 100)}, name="reports")
    one, other = dp.Histogram("age", edges=[20, 40]), dp.Histogram("age", edges=[20, 40.5])
    assert canonical_json(one.canonical(schema)) != canonical_json(other.canonical(schema))


SPELLED = [
    *(question for _, question, _ in PINNED_QUESTIONS),
    dp.Mode("age", bins=4, by="pirads"),
    dp.StandardDeviation("psa", by={"pirads": [5, 4], "day": dp.Bins(["2018-01-01", "2018-07-01"])}),
    dp.Count(by={"pirads": None}, where=[dp.Where("city").is_missing(), dp.Where("age").ne(3.5)]),
    dp.Crosstab(by={"pirads": [1, 2], "age": dp.Bins([40, 60])}, where=dp.Where("day").at_most("2018-07-01")),
    dp.Crosstab("it's", 'a "name"', bins={"it's": [0.5, 1.25]}),
    dp.Sum("lesions", where=[dp.Where("prostatitis").is_in(["a, b", "c'd"]), dp.Where("bph").eq(False)]),
]


@pytest.mark.parametrize("question", SPELLED, ids=repr)
def test_repr_of_a_question_evaluates_to_the_question(question):
    assert eval(repr(question), vars(dp) | {name: getattr(dp, name) for name in dp.__all__}) == question
    assert type(question).from_dict(question.to_dict()) == question


def test_questions_that_differ_never_print_alike():
    assert len({repr(question) for question in SPELLED}) == len({json.dumps(q.to_dict()) for q in SPELLED})

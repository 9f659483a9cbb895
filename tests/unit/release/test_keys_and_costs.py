"""What a release is found by and what it costs: every part of a question makes another key, every mechanism its rho."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pandas as pd
import pytest

import pydplib as dp
from pydplib.noise.testing import record
from pydplib.release.facts import Facts

SCHEMA = dp.Schema(
    {
        "age": dp.Number(18, 100, step=1),
        "psa": dp.Number(0, 50, step=1),
        "bph": dp.Flag(),
        "pirads": dp.Category([1, 2, 3]),
        "city": dp.Text(label="quasi"),
    },
    person="patient",
    max_rows_per_person=3,
    max_groups_per_person=2,
    name="reports",
)
OLD, YOUNG, MALIGN = dp.Where("age").at_least(60), dp.Where("age").less_than(60), dp.Where("pirads").eq(3)

DIFFERENT = {
    "count": dp.Count(),
    "count of persons": dp.Count(of="persons"),
    "count where old": dp.Count(where=[OLD]),
    "count where young": dp.Count(where=[YOUNG]),
    "count where malign": dp.Count(where=[MALIGN]),
    "count where old and malign": dp.Count(where=[OLD, MALIGN]),
    "count where known": dp.Count(where=[dp.Where("age").is_present()]),
    "count by bph": dp.Count(by="bph"),
    "count by pirads": dp.Count(by="pirads"),
    "count by both": dp.Count(by=["bph", "pirads"]),
    "count by some": dp.Count(by={"pirads": [1, 2]}),
    "count by bph where old": dp.Count(by="bph", where=[OLD]),
    "sum": dp.Sum("age"),
    "mean": dp.Mean("age"),
    "mean of another": dp.Mean("psa"),
    "mean where old": dp.Mean("psa", where=[OLD]),
    "mean where young": dp.Mean("psa", where=[YOUNG]),
    "mean by bph": dp.Mean("age", by="bph"),
    "variance": dp.Variance("age"),
    "median": dp.Median("age"),
    "median where malign": dp.Median("age", where=[MALIGN]),
    "quartiles": dp.Quantiles("age", [0.25, 0.75]),
    "deciles": dp.Quantiles("age", [0.1, 0.9]),
    "histogram": dp.Histogram("age", edges=[18, 50, 100]),
    "histogram of other edges": dp.Histogram("age", edges=[18, 60, 100]),
    "histogram where malign": dp.Histogram("age", edges=[18, 50, 100], where=[MALIGN]),
    "crosstab": dp.Crosstab("age", "pirads"),
}


@pytest.fixture(scope="module")
def session():
    frame = pd.DataFrame({"patient": ["a"], "age": [60.0], "psa": [4.0], "bph": [True], "pirads": [1], "city": ["x"]})
    with dp.load(frame, SCHEMA) as table:
        yield dp.Session(table, recipient="acme", budget=dp.PureDP(5.0))


def digest(session, question, epsilon="0.5") -> str:
    return session._key(Facts.of(question, SCHEMA).at(Fraction(epsilon))).digest


def test_every_part_of_a_question_makes_another_key(session):
    keys = {name: digest(session, question) for name, question in DIFFERENT.items()}
    same = [(one, two) for one, two in combinations(keys, 2) if keys[one] == keys[two]]
    assert same == []


def test_epsilon_snapshot_lineage_and_declarations_make_another_key(session):
    key = digest(session, dp.Mean("age"))
    assert key == digest(session, dp.Mean("age", where=[])) == digest(session, dp.Mean("age"), "1/2")
    assert key != digest(session, dp.Mean("age"), "0.51")
    for change in (
        {"lineage": "others"},
        {"max_rows_per_person": 4},
        {"columns": dict(SCHEMA.columns) | {"age": dp.Number(18, 101, step=1)}},
    ):
        facts = {
            "columns": dict(SCHEMA.columns),
            "person": "patient",
            "max_rows_per_person": 3,
            "max_groups_per_person": 2,
            "name": "reports",
        }
        other = dp.Schema(**(facts | change))
        prepared = Facts.of(dp.Mean("age"), other).at(Fraction(1, 2))
        here = Facts.of(dp.Mean("age"), SCHEMA).at(Fraction(1, 2))
        assert prepared.parameters != here.parameters or other.lineage != SCHEMA.lineage
    assert here.parameters["noise"]["rows"] == "3" and here.parameters["noise"]["kind"] == "MeanNoise"
    assert Facts.of(dp.Mean("age"), SCHEMA).at(Fraction(1, 3)).parameters != here.parameters
    frame = pd.DataFrame({"patient": ["a"], "age": [60.0], "psa": [4.0], "bph": [True], "pirads": [1], "city": ["x"]})
    with dp.load(frame, SCHEMA) as table:
        later = dp.Session(table, recipient="acme", budget=dp.PureDP(5.0), snapshot="2019")
        assert digest(later, dp.Mean("age")) != key


def test_answer_to_one_filter_is_never_handed_out_for_another(people, schema):
    with dp.load(people, schema) as table:
        session = dp.Session(table, recipient="acme", budget=dp.PureDP(200.0), policy=dp.Policy(data_set_budget=999.0))
        with record() as trace:
            counts = [
                session.release(dp.Count(where=[dp.Where("pirads").eq(score)]), epsilon=30.0) for score in (1, 2, 3)
            ]
    assert len(trace.passed) == 3 and len({count.key for count in counts}) == 3


LAPLACE = [
    dp.Count(),
    dp.Count(by="bph"),
    dp.Sum("age"),
    dp.Mean("age"),
    dp.Variance("age"),
    dp.Crosstab("age", "bph"),
    dp.Median("age", by="bph"),  # read off a noisy table of counts
]
CHOSEN = [dp.Median("age"), dp.Quantiles("age", [0.25, 0.75])]


@pytest.mark.parametrize("question", LAPLACE + CHOSEN, ids=repr)
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(3, 2)])
def test_cost_of_every_question_is_its_epsilon_and_half_the_square(question, epsilon):
    prepared = Facts.of(question, SCHEMA).at(epsilon)
    nano = int(epsilon * 10**9)
    assert prepared.cost.nano_epsilon == nano and prepared.cost.atto_delta == 0
    # Permute-and-flip is not known to be as narrow as the exponential mechanism: epsilon^2/2, not epsilon^2/8.
    assert prepared.cost.nano_rho == int(epsilon * epsilon / 2 * 10**9)
    assert prepared.cost.mechanism == ("permute_and_flip" if question in CHOSEN else "laplace")
    assert prepared.guarantee == dp.PureDP(float(epsilon))


def test_cost_of_array_one_liners_is_their_epsilon_and_half_the_square():
    ages = [61, 67, 70] * 9
    releases = [
        dp.count(ages, epsilon=0.4),
        dp.mean(ages, bounds=(18, 100), epsilon=0.4),
        dp.median(ages, bounds=(18, 100), epsilon=0.4),
        dp.quantiles(ages, [0.1, 0.9], bounds=(18, 100), epsilon=0.4),
        dp.histogram(ages, edges=[18, 60, 100], epsilon=0.4),
    ]
    assert {(r.cost.nano_epsilon, r.cost.nano_rho) for r in releases} == {(400_000_000, 80_000_000)}


def test_cost_of_unknown_keys_has_its_delta_and_half_the_square():
    prepared = Facts.of(dp.Count(by={"city": None}), SCHEMA).at(Fraction(1, 2), 1e-7)
    assert prepared.cost.nano_epsilon == 500_000_000 and prepared.cost.nano_rho == 125_000_000
    assert prepared.cost.atto_delta == 10**11 and prepared.keys.delta == Fraction(1, 10**7)
    mean = Facts.of(dp.Mean("age", by={"city": None}), SCHEMA).at(Fraction(1, 2), 1e-7)
    assert mean.keys.epsilon + mean.noise.epsilon == Fraction(1, 2)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("column", [dp.Number(0, 10), dp.Flag()], ids=lambda column: column.kind)
def test_cost_of_records_is_that_of_all_rows_of_a_person(rows, column):
    from pydplib.release.records import release_records

    released = release_records([None] * 4, column, epsilon=0.4, rows_per_person=rows)
    assert released.cost.nano_epsilon == rows * 400_000_000 and released.guarantee.epsilon == pytest.approx(rows * 0.4)
    assert released.record_epsilon == 0.4 and released.cost.relation == "local"


def test_session_charges_records_by_the_schemas_rows_per_person(people, schema):
    with dp.load(people, schema) as table:
        session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0))
        released = session.release_records(
            people.age, column="age", epsilon=0.5, persons=people.patient, budget=dp.guarantee.LocalDP(4.0)
        )
        (left,) = [a.state.nano_epsilon for a in session.ledger.accounts(recipient="acme") if a.relation == "local"]
    assert released.cost.nano_epsilon == left == 2 * 500_000_000  # the schema counts two rows of a person

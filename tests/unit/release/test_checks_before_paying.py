"""What public facts tell in advance is said before anything is paid."""

from __future__ import annotations

import pandas as pd
import pytest

import pydplib as dp
from pydplib.errors import BudgetError, ParameterError, PolicyError, PydplibError, QuestionError


@pytest.mark.parametrize("persons", [pd.to_datetime(["2010-01-01", "2010-01-02"]), [True, False]], ids=["day", "flag"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_person_column_of_a_wrong_type_is_refused_and_nothing_is_paid(persons, library):
    import polars as pl

    frame = pd.DataFrame({"id": persons, "x": [1.0, 2.0]})
    schema = dp.Schema({"x": dp.Number(0, 100)}, person="id", max_rows_per_person=1, name="reports")
    ledger = dp.MemoryLedger()

    def ask() -> None:
        with dp.load(frame if library == "pandas" else pl.from_pandas(frame), schema) as table:
            session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0), ledger=ledger)
            session.release(dp.Count(), epsilon=0.5)

    with pytest.raises(PydplibError, match="id"):
        ask()
    assert not any(account.state.nano_epsilon for account in ledger.accounts())


def test_unknown_keys_of_decimals_are_refused_and_nothing_is_paid():
    frame = pd.DataFrame({"id": ["a", "b"], "t": [1.5, 2.5]})
    schema = dp.Schema({"t": dp.Text()}, person="id", max_rows_per_person=1, name="reports")
    with dp.load(frame, schema) as table:
        session = dp.Session(table, recipient="acme", budget=dp.ApproxDP(1.0, 1e-6))
        before = session.remaining
        with pytest.raises(PydplibError, match="unknown keys are texts or integers"):
            session.release(dp.Count(by={"t": None}), epsilon=0.5)
        assert session.remaining == before


def test_records_that_cannot_be_released_are_refused_and_nothing_is_paid(table, people):
    session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0))
    budget, persons = dp.guarantee.LocalDP(9.0), people.patient
    for column in ("seen", "name"):
        with pytest.raises(QuestionError, match="cannot be released"):
            session.release_records(people[column], column=column, epsilon=0.1, persons=persons, budget=budget)
    with pytest.raises(ParameterError, match="same length"):
        session.release_records(people.age, column="age", epsilon=0.1, persons=persons[:-1], budget=budget)
    with pytest.raises(ParameterError, match="Dates"):
        session.release_records(people.seen, column="age", epsilon=0.1, persons=persons, budget=budget)
    assert not any(account.relation == "local" for account in session.ledger.accounts())


def test_records_tell_a_record_from_a_person(table, people):
    session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0))
    made = session.release_records(
        people.age, column="age", epsilon=0.2, persons=people.patient, budget=dp.guarantee.LocalDP(9.0)
    )
    assert "Every record by itself is private with epsilon 0.2" in repr(made)
    assert "one person together with epsilon 0.4" in repr(made)
    assert made.guarantee.sentence.startswith("All records of one person together")


def _narrow(budget: float = 2.0) -> dp.Policy:
    rule = dp.policy.PolicyRule("third_party", "dp_high", fields=("age",), epsilon_per_question=0.5, budget=budget)
    return dp.Policy(rules=(rule,), data_set_budget=10.0)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (dp.Count(by="pirads"), {}),
        (dp.Count(where=dp.Where("pirads").is_in([5])), {}),
        (dp.Mean("age", by="pirads"), {"margin": 5.0}),
        (dp.Mean("age"), {"noise_factor": "low"}),
        (dp.Mean("age", where=dp.Where("age").at_least(50)), {"margin": 5.0}),
        (dp.Mean("age"), {"margin": -5.0}),
        (dp.Mean("age"), {"margin": "narrow"}),
        (dp.Mean("age"), {"noise_factor": "high", "delta": 1e-7}),
    ],
    ids=["field", "filter", "field by margin", "label", "under conditions", "negative", "no number", "delta"],
)
def test_question_that_is_refused_buys_no_number_of_rows(table, question, options):
    session = dp.Session(table, recipient="acme", role="third_party", policy=_narrow())
    with pytest.raises(PydplibError):
        session.release(question, **options)
    assert not any(account.state.nano_epsilon for account in session.ledger.accounts())


def test_refusal_says_that_the_number_of_rows_was_paid(table):
    session = dp.Session(table, recipient="acme", role="third_party", policy=_narrow(budget=0.06))
    with pytest.raises(BudgetError, match="Nothing else was spent") as refusal:
        session.release(dp.Variance("age"), noise_factor="high")
    assert "bought as well, once, for epsilon 0.05" in str(refusal.value) and refusal.value.left
    assert session.remaining.nano_epsilon == 10_000_000
    with pytest.raises(BudgetError, match="Nothing was spent"):  # nothing, this time
        session.release(dp.Variance("age"), noise_factor="high")
    other = dp.Session(table, recipient="bmed", role="third_party", policy=_narrow())
    with pytest.raises(PolicyError, match=r"at most in this role.*bought as well"):
        other.release(dp.Mean("age"), margin=0.001)

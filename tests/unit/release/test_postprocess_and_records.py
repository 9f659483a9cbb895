"""After the noise: tidy tables, boxes and points; and records in the local model."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import pydplib as dp
from pydplib.errors import DataError, ParameterError, PolicyError, QuestionError
from pydplib.noise.testing import record
from pydplib.release.postprocess import box_data, non_negative, points, tidy_table, whole_numbers
from pydplib.release.records import RecordRelease, first_rows, record_epsilon, release_records

CELLS = st.lists(st.floats(-1000, 1000), min_size=1, max_size=30)


@given(CELLS)
def test_non_negative_keeps_the_total_and_the_order(cells):
    found = non_negative(cells)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(max(0.0, sum(cells)), abs=1e-6)
    order = np.argsort(cells, kind="stable")
    assert (np.diff(found[order]) >= -1e-9).all()


@given(CELLS)
def test_whole_numbers_keep_the_rounded_total(cells):
    positive = non_negative(cells)
    found = whole_numbers(positive)
    assert found.dtype == np.int64 and (found >= 0).all()
    assert found.sum() == round(float(positive.sum()))
    assert (np.abs(found - positive) < 1 + 1e-9).all()


def test_tidy_table_has_the_noisy_total_where_setting_negatives_to_zero_would_grow_it(session):
    release = session.release(dp.Crosstab("psa", "age"), epsilon=0.5)
    tidied = tidy_table(release)
    assert sum(tidied.values) == round(max(0.0, sum(release.noisy)))
    assert sum(release.values) > sum(tidied.values) + 10
    assert all(isinstance(value, int) for value in tidied.values)


def test_box_data_come_from_one_table_without_further_cost(session):
    release = session.release(dp.Histogram("age", edges=list(range(18, 101, 2)), by="bph"), epsilon=4.0)
    left = session.remaining
    boxes = box_data(release)
    assert [one.group for one in boxes] == ["no", "yes"]
    assert all(one.low < one.q1 < one.median < one.q3 < one.high for one in boxes)
    assert boxes[0].median == pytest.approx(64.5, abs=3)
    assert session.remaining == left
    with pytest.raises(ParameterError, match="binned"):
        box_data(session.release(dp.Count(by="bph"), epsilon=0.1))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_points_are_made_up_rows_within_the_cells(session, backend):
    release = session.release(dp.Crosstab("age", "pirads"), epsilon=1.0)
    frame = points(release, backend=backend)
    assert len(frame) == sum(tidy_table(release).values)
    ages = np.asarray(frame["age"])
    assert ages.min() >= 18 and ages.max() <= 100


def test_points_of_a_mean_are_refused():
    with pytest.raises(ParameterError, match="table of counts"):
        points(dp.mean([1], bounds=(0, 2), epsilon=1.0))


def test_records_of_numbers_have_the_scale_of_the_range_over_epsilon():
    released = release_records([50.0] * 20_000, dp.Number(18, 100), epsilon=1.0)
    noise = np.array(released.values) - 50
    assert released.scale == pytest.approx(82)
    # E|Z| of a Laplace variable is its scale; its own deviation is the scale, too: 7 standard errors.
    assert np.mean(np.abs(noise)) == pytest.approx(82, abs=7 * 82 / np.sqrt(20_000))


def test_records_of_yes_and_no_flip_as_often_as_they_say():
    released = release_records([True] * 20_000, dp.Flag(), epsilon=1.0)
    flips = sum(value is False for value in released.values)
    assert stats.binomtest(flips, 20_000, released.flip_probability).pvalue > 1e-9
    assert stats.binomtest(flips, 20_000, released.flip_probability * 1.3).pvalue < 1e-6


def test_records_of_unknown_or_missing_categories_count_as_other():
    released = release_records(["a", "zzz", None, float("nan"), 7], dp.Category(["a", "b"]), epsilon=50.0)
    assert released.values == ("a", "other", "other", "other", "other")
    assert release_records([1, 0, 1.0], dp.Flag(), epsilon=60.0).values == (True, False, True)


def test_records_of_text_are_refused():
    with pytest.raises(QuestionError, match="text"):
        release_records(["a"], dp.Text(), epsilon=1.0)


def test_records_through_json_are_the_same():
    released = release_records([1, 2], dp.Integer(0, 9), epsilon=1.0, rows_per_person=3)
    assert RecordRelease.from_json(released.to_json()) == released
    assert released.guarantee.epsilon == 3.0 and released.cost.relation == "local"
    with pytest.raises(DataError):
        RecordRelease.from_json("{}")


def test_session_hands_records_over_once_and_the_same_again(table, people):
    session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0))

    def ask() -> RecordRelease:
        return session.release_records(
            people.bph, column="bph", persons=people.patient, epsilon=1.0, budget=dp.guarantee.LocalDP(3.0)
        )

    first = ask()
    assert ask() == first and len(first.values) == len(people)
    assert session.remaining.epsilon == 1.0  # accounted apart
    left = session.ledger.remaining(lineage="reports", recipient="acme", relation="local")
    assert left.epsilon == 1.0  # two rows per person count


def test_session_replaces_rows_beyond_the_most_per_person(table, people):
    session = dp.Session(
        table, recipient="acme", budget=dp.PureDP(1.0), policy=dp.Policy(rules=(), data_set_budget=500.0)
    )
    released = session.release_records(
        ["yes"] * len(people),
        column="pirads",
        persons=people.patient,
        epsilon=100.0,
        budget=dp.guarantee.LocalDP(300.0),
    )
    assert set(released.values) == {"other"}


def test_session_above_the_cap_offers_a_table_instead(table, people):
    session = dp.Session(table, recipient="acme", role="third_party")
    with pytest.raises(PolicyError, match=r"Histogram\('age'\)"):
        session.release_records(people.age, column="age", persons=people.patient, epsilon=1.0)
    with pytest.raises(ParameterError, match="persons="):
        session.release_records(people.age, column="age", epsilon=0.1)


@pytest.mark.parametrize(
    ("column", "low", "medium", "high"),
    [
        (dp.Number(18, 100), 40, 13.3, 6.7),
        (dp.Flag(), 3.66, 2.51, 1.73),
        (dp.Category([1, 2, 3, 4, "other"]), 5.05, 3.90, 3.12),
    ],
)
def test_record_epsilon_at_each_noise_factor_is_the_closed_form(column, low, medium, high):
    found = [record_epsilon(column, factor) for factor in ("low", "medium", "high")]
    assert found == pytest.approx([low, medium, high], abs=0.05)


@pytest.mark.parametrize("column", [dp.Flag(), dp.Category(["a", "b"]), dp.Number(0, 10), dp.Integer(0, 10)])
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 2.51, 1e-3])
def test_records_spend_the_very_fraction_that_the_ledger_enters(column, epsilon):
    with record() as trace:
        released = release_records([None, None], column, epsilon=epsilon)
    call, entered = trace.passed[0].call, Fraction(released.cost.nano_epsilon, 10**9)
    spent = call.scale if call.kind == "response" else call.sensitivity / call.scale
    assert spent == entered == Fraction(str(epsilon))


def test_first_rows_of_missing_persons_belong_to_nobody_and_never_raise():
    persons = np.array(["a", None, pd.NA, float("nan"), pd.NaT, "", "a", "a"], dtype=object)
    assert first_rows(persons, 2).tolist() == [True, False, False, False, False, False, True, False]


def test_records_count_at_most_the_declared_rows_of_a_person(session, people):
    with record() as trace:
        session.release_records(
            people.age, column="age", epsilon=0.5, persons=people.patient, budget=dp.guarantee.LocalDP(4.0)
        )
    middle = (100 + 18) / 2  # what a record beyond the most counts as
    width = people.age.iloc[0] / trace.passed[0].exact[0]
    values = trace.passed[0].exact * width
    counted = people.groupby("patient").cumcount() < 2
    assert np.allclose(values[counted], people.age[counted], atol=0.1)
    assert np.allclose(values[~counted], middle, atol=0.1) and (~counted).sum() == 100


@pytest.mark.parametrize("column", [dp.Number(0, 10), dp.Integer(0, 10), dp.Number(-1e6, 1e-3)], ids=repr)
def test_records_beyond_the_bounds_count_as_the_bound(column):
    with record() as trace:
        release_records([1e300, -1e300, float("inf"), 10**400, column.high, column.low], column, epsilon=1.0)
    passed = trace.passed[0]
    most, least = int(passed.exact[4]), int(passed.exact[5])
    assert passed.exact.tolist() == [most, least, most, most, most, least]
    assert most - least <= passed.call.sensitivity

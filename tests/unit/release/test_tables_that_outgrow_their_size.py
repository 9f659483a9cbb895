"""A table that outgrew its declared size is answered correctly, never wraps, and says so from noisy numbers alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pydplib as dp
from pydplib.engine import ExactTable
from pydplib.engine.exact import integers
from pydplib.noise.testing import check_neighbours, record, replay, seeded
from pydplib.release.facts import Facts, Purchase
from pydplib.release.statistics.quantiles import QuantileNoise

WEIGHT = 2**16
SIZES = st.integers(1, 100_000)
GROWTH = st.sampled_from([1, 2, 5, 100, 10**4, 10**7])
BOUNDS = st.tuples(st.integers(-(10**6), 10**6), st.integers(1, 10**7)).map(lambda pair: (pair[0], pair[0] + pair[1]))
QUESTIONS = {"mean": dp.Mean("x"), "variance": dp.Variance("x"), "sum": dp.Sum("x"), "count": dp.Count()}


def schema_of(low: float, high: float, size: int) -> dp.Schema:
    return dp.Schema({"x": dp.Number(low, high)}, person="id", max_rows_per_person=1, size=size, name="t")


def exact_of(prepared: Purchase, *persons: tuple[float, int]) -> ExactTable:
    """Return what an engine counts of this many persons per value, in Python's own integers."""
    columns = []
    for measure in prepared.plan.measures:
        total = 0
        for value, number in persons:
            each = 1
            if measure.kind == "sum":
                each = int(np.floor((value - measure.center) * measure.factor + 0.5))
            elif measure.kind == "sumsq":
                each = int(np.floor((value - measure.center) ** 2 * measure.factor + 0.5))
            total += number * WEIGHT * each
        columns.append(integers([total]))
    return ExactTable(prepared.plan, ((),), tuple(columns))


@pytest.mark.parametrize("ask", sorted(QUESTIONS))
@given(bounds=BOUNDS, size=SIZES, growth=GROWTH, at=st.floats(0, 1), other=st.floats(0, 1))
def test_answers_hold_at_any_size_and_bounds(ask, bounds, size, growth, at, other):
    low, high = bounds
    width, persons = high - low, size * growth + 1
    one, two = low + at * width, low + other * width
    prepared = Facts.of(QUESTIONS[ask], schema_of(low, high, size)).at(100)
    with seeded(1):
        released = prepared.answer(exact_of(prepared, (one, persons), (two, persons)))
    middle = (one + two) / 2
    truth = {
        "mean": middle,
        "variance": ((one - middle) ** 2 + (two - middle) ** 2) / 2,
        "sum": persons * (one + two),
        "count": 2 * persons,
    }[ask]
    # Ten margins for the noise, a thousandth of what is possible for the grid of the values.
    possible = {"mean": width, "variance": width**2 / 4, "sum": 2 * persons * max(abs(low), abs(high)), "count": 1}[ask]
    assert abs(float(released.value) - truth) <= 10 * float(released.margin95) + possible / 1000


@pytest.mark.parametrize("ask", sorted(QUESTIONS))
@given(bounds=BOUNDS, size=SIZES, growth=GROWTH, at=st.floats(0, 1), new=st.floats(0, 1))
def test_one_more_person_moves_no_more_than_the_claim_at_any_size(ask, bounds, size, growth, at, new):
    low, high = bounds
    value, added = low + at * (high - low), low + new * (high - low)
    prepared = Facts.of(QUESTIONS[ask], schema_of(low, high, size)).at(Fraction(1, 2))
    persons = (value, size * growth)
    with record() as first:
        prepared.answer(exact_of(prepared, persons))
    with replay(first) as second:
        prepared.answer(exact_of(prepared, persons, (added, 1)))
    check_neighbours(first, second)


@pytest.mark.parametrize("people", [150_000, 250_000])
def test_table_of_people_of_one_age_keeps_its_mean_and_variance(people):
    schema = dp.Schema({"age": dp.Number(18, 100)}, person="id", max_rows_per_person=1, size=60_000, name="t")
    with dp.load(pd.DataFrame({"id": np.arange(people), "age": np.full(people, 30.0)}), schema) as table:
        session = dp.Session(table, recipient="acme", budget=dp.PureDP(5.0))
        with seeded(7):
            mean = session.release(dp.Mean("age"), epsilon=1.0)
            variance = session.release(dp.Variance("age"), epsilon=1.0)
            total = session.release(dp.Sum("age"), epsilon=1.0)
            median = session.release(dp.Median("age"), epsilon=1.0)
    assert abs(mean.value - 30) < 0.01 and abs(mean.sizes[0] - people) < 100
    assert variance.value < 1.0 and variance.interval95[0] <= 0.001
    assert abs(total.value - 30 * people) < 2000 and abs(median.value - 30) < 0.1
    for release in (mean, variance):
        assert any("The schema declares 60000 persons" in note and "outgrew" in note for note in release.notes)


def test_note_on_outgrown_size_follows_from_the_noisy_count_alone():
    prepared = Facts.of(dp.Count(), schema_of(0, 1, 100)).at(1)

    def notes(persons: int) -> tuple[str, ...]:
        with seeded(3):
            return prepared.answer(exact_of(prepared, (0.5, persons))).notes

    assert not notes(100) and "about 20" in notes(200)[0]
    with record() as trace:
        prepared.answer(exact_of(prepared, (0.5, 100)))
    trace.passed[0].output[...] = 500 * WEIGHT  # the noise says 500: what is exact has no say
    with replay(trace):
        assert "about 500 rows" in prepared.answer(exact_of(prepared, (0.5, 100))).notes[0]


def test_note_on_outgrown_size_allows_every_row_of_every_person():
    schema = dp.Schema({"x": dp.Number(0, 1)}, person="id", max_rows_per_person=5, size=100, name="t")
    prepared = Facts.of(dp.Count(), schema).at(1)
    with seeded(3):
        assert not prepared.answer(exact_of(prepared, (0.5, 500))).notes
        assert prepared.answer(exact_of(prepared, (0.5, 900))).notes


def test_quantile_of_more_rows_than_64_bits_have_scores_for_is_right():
    shares = (Fraction(1, 10_000), Fraction(1, 2), Fraction(9_999, 10_000))
    noise = QuantileNoise(rows=1, per_row=WEIGHT, shares=shares, points=5, epsilon=Fraction(10))
    rows = 2**44  # weighed and multiplied by the shares' denominator: 2^74
    cells = np.array([[1, rows, rows, rows, 1]], dtype=np.int64) * WEIGHT
    assert noise.apply(cells).values.tolist() == [[1, 2, 3]]  # next to nothing is left to chance: 2^44 ranks


def test_array_statistics_of_more_elements_than_64_bits_hold_are_right(monkeypatch):
    from pydplib.release import arrays
    from pydplib.release.array_values import Sums

    many = 2**40
    counted: list[int] = []

    def counted_sums(values, grid, *, origin=None, squares=False):  # as if the array were that long, all at the top
        steps = grid.last - (grid.first if origin is None else origin)
        counted.append(many)
        return Sums(many, steps * many, steps * steps * many if squares else 0)

    monkeypatch.setattr(arrays, "grid_sums", counted_sums)
    assert dp.mean([1.0], bounds=(0, 1), epsilon=1.0).value == pytest.approx(1.0, abs=1e-6)
    assert dp.sum([1.0], bounds=(0, 1), epsilon=1.0).value == pytest.approx(many, rel=1e-6)
    assert dp.variance([1.0], bounds=(0, 1), epsilon=1.0).value == pytest.approx(0.0, abs=1e-6)
    assert len(counted) == 3

"""Black-box audits of whole releases: neighbouring tables, the best event, and a bound that stays below the claim."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

import pydplib as dp
from pydplib.noise.tap import add_laplace, add_pair
from pydplib.release.joint.measured import Measurement, Workload
from pydplib.release.statistics.count import CountNoise
from pydplib.release.statistics.deviation import DeviationNoise
from pydplib.release.statistics.mean import MeanNoise
from pydplib.release.statistics.mode import ModeNoise
from pydplib.release.statistics.quantiles import BinnedQuantileNoise, QuantileNoise
from pydplib.release.statistics.variance import VarianceNoise

N = 200_000


def means(rows: list[int], top: int = 1000) -> np.ndarray:
    """N releases of the mean of a few rows: the noise of ``MeanNoise`` and its ratio, without the intervals."""
    noise = MeanNoise(rows=1, per_row=1, top=top, low=0.0, high=1.0, epsilon=Fraction(1))
    above = np.full(N, sum(rows), dtype=np.int64)
    exact = np.stack([above, len(rows) * top - above])
    both = add_laplace(exact, noise.scale, sensitivity=noise.sensitivity).astype(float)
    total = both.sum(axis=0)
    return both[0] / np.where(total == 0, 1, total)


def test_audit_of_a_count_keeps_epsilon_one_and_comes_near_it(auditor):
    noise = CountNoise(1, 1, 1, Fraction(1))
    first, second = (noise.apply(np.full(N, n, dtype=np.int64)).raw.astype(float) for n in (20, 21))
    assert auditor.audit(first, second, confidence=auditor.HOLDS).epsilon <= 1.0
    assert auditor.audit(first, second).epsilon >= 0.9


def test_audit_of_a_count_that_claims_half_of_what_it_loses_is_caught(auditor):
    noise = CountNoise(1, 1, 1, Fraction(2))
    first, second = (noise.apply(np.full(N, n, dtype=np.int64)).raw.astype(float) for n in (20, 21))
    assert auditor.audit(first, second).epsilon > 1.2


def test_audit_of_a_weighed_count_of_three_rows_keeps_epsilon_one(auditor):
    noise = CountNoise(3, 65536, 1, Fraction(1))
    first, second = (noise.apply(np.full(N, n * 65536, dtype=np.int64)).raw for n in (20, 23))
    assert auditor.audit(first, second).epsilon >= 0.85
    assert auditor.audit(first, second, confidence=auditor.HOLDS).epsilon <= 1.0


def test_audit_of_a_ratio_keeps_epsilon_one(auditor):
    few = [500] * 6
    first, second = means(few), means([*few, 1000])
    assert auditor.audit(first, second, confidence=auditor.HOLDS).epsilon <= 1.0
    wrong = means([*few, 1000, 1000, 1000])  # a person with three rows where one is claimed
    assert auditor.audit(first, wrong).epsilon > 1.1


def test_audit_of_a_variance_keeps_epsilon_one(auditor):
    half = 100
    noise = VarianceNoise(
        rows=1, per_row=1, top=half**2, half=half, square_step=1 / half**2, step=1 / half, most=1.0, epsilon=Fraction(1)
    )
    runs = 4000

    def released(values: list[int]) -> np.ndarray:
        ones = np.ones(runs, dtype=np.int64)
        squares = sum(v * v for v in values)
        return noise.apply(squares * ones, (len(values) * half**2 - squares) * ones, sum(values) * ones).values

    assert auditor.audit(released([0] * 3), released([0] * 3 + [100]), confidence=auditor.HOLDS).epsilon <= 1.0


def test_audit_of_a_median_keeps_epsilon_one(auditor):
    claim, runs = 1.0, 6000
    counts = np.array([3, 0, 0, 0, 3], dtype=np.int64)

    def picks(cells: np.ndarray, epsilon: float) -> np.ndarray:
        noise = QuantileNoise(rows=1, per_row=1, shares=(Fraction(1, 2),), points=5, epsilon=Fraction(epsilon))
        return noise.apply(np.tile(cells, (runs, 1))).values[:, 0].astype(float)

    moved = counts + np.array([0, 0, 0, 0, 1])
    honest = auditor.audit(picks(counts, claim), picks(moved, claim), confidence=auditor.HOLDS)
    assert honest.epsilon <= claim
    # Three times the epsilon behind the same claim: the audit sees more than the claim.
    assert auditor.audit(picks(counts, 6.0), picks(moved, 6.0)).epsilon > claim


def test_audit_of_quantiles_of_groups_keeps_epsilon_one(auditor):
    runs = 1000
    empty = np.zeros((2, 4), dtype=np.int64)
    moved = empty.copy()
    moved[1, 3] = 3  # one person with the most rows, all in one cell

    def released(cells: np.ndarray, epsilon: int) -> np.ndarray:
        noise = BinnedQuantileNoise(
            rows=3, per_row=1, shares=(Fraction(1, 2),), points=4, width=2, epsilon=Fraction(epsilon)
        )
        found = [noise.apply(cells) for _ in range(runs)]
        # What leaves of the second group: where its median lies, and how many rows it has.
        return np.array([100 * one.values[1, 0] + min(float(one.sizes[1]), 50) for one in found])

    assert auditor.audit(released(empty, 1), released(moved, 1), confidence=auditor.HOLDS).epsilon <= 1.0
    # Three times the epsilon behind the same claim is caught.
    assert auditor.audit(released(empty, 3), released(moved, 3)).epsilon > 1.1


def test_audit_of_a_mode_keeps_epsilon_one_and_comes_near_it(auditor):
    counts, runs = np.array([6, 0, 0], dtype=np.int64), 8000

    def picks(moved: list[int], epsilon: int = 1) -> np.ndarray:
        noise = ModeNoise(3, 1, 3, Fraction(epsilon))
        return noise.apply(np.tile(counts + moved, (runs, 1))).values.astype(float)

    alone, joined = picks([0, 0, 0]), picks([0, 0, 3])
    assert auditor.audit(alone, joined).epsilon > 0.6
    assert auditor.audit(alone, joined, confidence=auditor.HOLDS).epsilon <= 1.0
    # Planted: twice the epsilon behind the same claim; and one person exchanged for another, which is not covered.
    assert auditor.audit(picks([0, 0, 0], 2), picks([0, 0, 3], 2)).epsilon > 1.1
    assert auditor.audit(alone, picks([-3, 0, 3])).epsilon > 1.1


def test_audit_of_a_deviation_keeps_epsilon_one(auditor):
    half, runs = 100, 4000

    def released(values: list[int], epsilon: int = 1) -> np.ndarray:
        noise = DeviationNoise(
            rows=1,
            per_row=1,
            top=half**2,
            half=half,
            square_step=1 / half**2,
            step=1 / half,
            most=1.0,
            epsilon=Fraction(epsilon),
        )
        squares, ones = sum(v * v for v in values), np.ones(runs, dtype=np.int64)
        found = noise.apply(squares * ones, (len(values) * half**2 - squares) * ones, sum(values) * ones)
        return 100 * np.round(found.values, 2) + np.minimum(found.sizes, 50)

    alone, joined = [0] * 3, [0] * 3 + [100]
    assert auditor.audit(released(alone), released(joined), confidence=auditor.HOLDS).epsilon <= 1.0
    assert auditor.audit(released(alone, 9), released(joined, 9)).epsilon > 1.1  # planted: nine times the epsilon


def measured(person: bool, tables: int = 2, epsilon: float = 1.0) -> np.ndarray:
    """N releases of the same tiny tables, without and with one more person: the sum of what that person moves."""
    schema = dp.Schema({"a": dp.Flag(), "b": dp.Flag()}, name="audited")
    workload = Workload.of([dp.Count(by="a"), dp.Count(by="b")], schema)
    made = replace(workload.at(epsilon), pairs=(), shares=workload.shares)
    moved = np.zeros(N)
    for scale, block in list(zip(made.scales, made.workload.blocks, strict=True))[:tables]:
        exact = np.full(N, 20 + person, dtype=np.int64)
        moved += add_laplace(exact, scale, sensitivity=block.reach)
    return moved


def test_audit_of_tables_measured_together_keeps_epsilon_one(auditor):
    assert auditor.audit(measured(False), measured(True), confidence=auditor.HOLDS).epsilon <= 1.0
    assert auditor.audit(measured(False, 1), measured(True, 1), confidence=auditor.HOLDS).epsilon <= 0.5001
    assert auditor.audit(measured(False, 1), measured(True, 1)).epsilon >= 0.42
    # Every table at the whole epsilon, as if they did not add up: caught.
    assert auditor.audit(measured(False, 1, 4.0), measured(True, 1, 4.0)).epsilon > 1.2


def shaped(person: bool, epsilon: float = 1.0, *, both: bool = True) -> np.ndarray:
    """N releases of two tables with one noise: how much more likely each is with the person than without."""
    schema = dp.Schema({"a": dp.Flag(), "b": dp.Category([1, 2, 3])}, name="audited")
    workload = Workload.of([dp.Count(by="a"), dp.Count(by="b")], schema)
    made = Measurement(workload, Fraction(epsilon), (Fraction(1, 2),) * 2, pairs=((0, 1),))
    (layout,) = made.layouts
    assert made.workload.blocks[0].reach / made.scales[0] == Fraction(epsilon)
    without = [np.full((N, size), 20, dtype=np.int64) for size in layout.sizes]
    joined = [cells.copy() for cells in without]
    joined[0][:, 0] += 1
    joined[1][:, 1] += both  # planted: in one table alone
    first, second = add_pair(
        *(joined if person else without), made.scales[0], sensitivity=made.workload.blocks[0].reach
    )
    if not both:
        return np.asarray(first.sum(axis=1) - second.sum(axis=1), dtype=float)

    def norm(exact: list[np.ndarray]) -> np.ndarray:
        return np.maximum(np.abs(first - exact[0]).sum(axis=1), np.abs(second - exact[1]).sum(axis=1))

    return np.asarray(norm(without) - norm(joined), dtype=float)


def test_audit_of_two_tables_with_one_noise_keeps_epsilon_and_comes_near_it(auditor):
    assert auditor.audit(shaped(False), shaped(True), confidence=auditor.HOLDS).epsilon <= 1.0
    assert auditor.audit(shaped(False), shaped(True)).epsilon >= 0.85
    # Planted: noise for twice the epsilon; and a person who is in one of the two tables alone.
    assert auditor.audit(shaped(False, 0.5), shaped(True, 0.5), confidence=auditor.HOLDS).epsilon <= 0.5
    assert auditor.audit(shaped(False, 2.0), shaped(True, 2.0)).epsilon > 1.2
    assert auditor.audit(shaped(False, both=False), shaped(True, both=False)).epsilon > 5


def measured_with_delta(person: bool, epsilon: float) -> np.ndarray:
    """N releases of two tiny tables with Gaussian noise: the sum of what one more person moves."""
    schema = dp.Schema({"a": dp.Flag(), "b": dp.Flag()}, name="audited")
    workload = Workload.of([dp.Count(by="a"), dp.Count(by="b")], schema)
    made = replace(workload.at(epsilon), pairs=(), shares=workload.gaussian_shares, delta=Fraction(1, 20))
    moved = np.zeros(N)
    for noise, block in zip(made.noises, made.workload.blocks, strict=True):
        moved += noise.add(np.full(N, 20 + person, dtype=np.int64), reach=block.reach)
    return moved


def test_audit_of_gaussian_tables_measured_together_keeps_epsilon_and_delta(auditor):
    once = measured_with_delta(False, 1.0), measured_with_delta(True, 1.0)
    assert auditor.audit(*once, delta=0.05, confidence=auditor.HOLDS).epsilon <= 1.0
    # Planted: noise for three times the epsilon behind the same claim.
    more = measured_with_delta(False, 3.0), measured_with_delta(True, 3.0)
    assert auditor.audit(*more, delta=0.05).epsilon > 1.2

"""At large epsilon every estimate and test statistic is that of statsmodels or SciPy on the binned data."""

from __future__ import annotations

import numpy as np
import pytest

from pydplib.clinic.accuracy import accuracy, area
from pydplib.clinic.association import chi_squared, correlation, trend
from pydplib.clinic.contrasts import compare_means, compare_shares, standard_errors
from pydplib.clinic.intervals import laplace_variance
from pydplib.clinic.regression import design, logistic
from pydplib.clinic.survival_curves import log_rank, median_survival, restricted_mean, survival_curve

stats = pytest.importorskip("statsmodels.stats.api")
sm = pytest.importorskip("statsmodels.api")
VARIANCE = laplace_variance(1 / 60)  # epsilon 60
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture
def seeded() -> np.random.Generator:
    return np.random.default_rng(7)


def test_noise_of_large_epsilon_is_nothing() -> None:
    assert VARIANCE < 1e-20


def test_two_by_two_tables_are_statsmodels() -> None:
    table = np.array([[70.0, 30.0], [85.0, 15.0]])
    oracle = stats.Table2x2(table[:, ::-1])
    assert np.isclose(compare_shares(table, VARIANCE, measure="odds ratio").value, oracle.oddsratio, **CLOSE)
    assert np.isclose(compare_shares(table, VARIANCE, measure="risk ratio").value, oracle.riskratio, **CLOSE)
    assert np.isclose(compare_shares(table, VARIANCE).value, 0.15, **CLOSE)
    low, high = stats.confint_proportions_2indep(30, 100, 15, 100, method="newcomb")
    found = compare_shares(table, VARIANCE)
    assert np.allclose([found.low, found.high], [low, high], **CLOSE)


def test_means_deviations_and_standard_errors_are_those_of_the_binned_values(seeded: np.random.Generator) -> None:
    middles = np.arange(8.0) * 5 + 20
    counts = seeded.integers(5, 40, (2, 8)).astype(float)
    first, second = (np.repeat(middles, row.astype(int)) for row in counts)
    assert np.isclose(compare_means(counts, middles, VARIANCE).value, first.mean() - second.mean(), **CLOSE)
    found, deviation, error = standard_errors(counts, middles, VARIANCE)
    described = stats.DescrStatsW(first)
    assert np.isclose(found.value[0], described.mean, **CLOSE)
    assert np.isclose(deviation[0], first.std(ddof=1), **CLOSE) and np.isclose(error[0], described.std_mean, **CLOSE)


def test_chi_squared_and_trend_are_scipys_and_statsmodels(seeded: np.random.Generator) -> None:
    table = seeded.integers(3, 40, (3, 5)).astype(float)
    assert np.isclose(chi_squared(table, VARIANCE), sm.stats.Table(table).test_nominal_association().statistic, **CLOSE)
    two, scores = seeded.integers(3, 40, (2, 5)).astype(float), np.arange(5.0)
    values = np.repeat(np.tile(scores, 2), two.ravel().astype(int))
    outcome = np.repeat([0, 1], two.sum(axis=1).astype(int))
    whole = len(values) * np.corrcoef(values, outcome)[0, 1] ** 2
    assert np.isclose(trend(two, scores, VARIANCE), whole, **CLOSE)
    oracle = sm.stats.Table(two, shift_zeros=False).test_ordinal_association(row_scores=np.arange(2), col_scores=scores)
    assert np.isclose(whole * (len(values) - 1) / len(values), oracle.zscore**2, **CLOSE)


def test_correlation_is_numpys_on_binned_values(seeded: np.random.Generator) -> None:
    table = seeded.integers(0, 30, (4, 5)).astype(float)
    x, y = np.arange(4.0) * 3, np.arange(5.0) ** 2
    pairs = np.repeat([(a, b) for a in x for b in y], table.ravel().astype(int), axis=0)
    assert np.isclose(correlation(table, x, y, VARIANCE).value, np.corrcoef(pairs.T)[0, 1], **CLOSE)


def _auc(scores: np.ndarray, ill: np.ndarray) -> float:
    from scipy.stats import mannwhitneyu

    higher = mannwhitneyu(scores[ill == 1], scores[ill == 0]).statistic
    return float(higher / ((ill == 1).sum() * (ill == 0).sum()))


def cohort(seeded: np.random.Generator, size: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    group = seeded.integers(0, 3, size)
    times = np.minimum(seeded.geometric(0.16 + 0.03 * group) - 1, 11)
    events = (seeded.random(size) < 0.8) & (times < 11)
    tables = np.zeros((3, 12, 2))
    np.add.at(tables, (group, times, events.astype(int)), 1)
    return group, times, events, tables


def test_survival_is_statsmodels_on_binned_times(seeded: np.random.Generator) -> None:
    group, times, events, tables = cohort(seeded)
    for place in range(3):
        oracle = sm.SurvfuncRight(times[group == place] + 1, events[group == place].astype(int))
        curve = survival_curve(tables[place], VARIANCE)
        shown = np.array([1.0, *oracle.surv_prob])[np.searchsorted(oracle.surv_times, np.arange(1, 13), side="right")]
        assert np.allclose(curve.survival.value, shown, **CLOSE)
        at_risk = [(times[group == place] >= bin_).sum() for bin_ in range(12)]
        assert np.allclose(curve.at_risk, at_risk, **CLOSE)
        edges = np.arange(13.0)
        whole = np.concatenate([[1.0], shown])
        assert np.isclose(restricted_mean(tables[place], edges, VARIANCE).value, np.trapezoid(whole, edges), **CLOSE)
        median = float(median_survival(curve, edges).value)
        assert np.isclose(np.interp(median, edges, whole), 0.5, **CLOSE)


def test_log_rank_is_statsmodels_on_binned_times(seeded: np.random.Generator) -> None:
    group, times, events, tables = cohort(seeded)
    statistic, _ = sm.duration.survdiff(times + 1, events.astype(int), group)
    assert np.isclose(log_rank(tables), statistic, **CLOSE)
    two = group < 2
    statistic, _ = sm.duration.survdiff(times[two] + 1, events[two].astype(int), group[two])
    assert np.isclose(log_rank(tables[:2]), statistic, **CLOSE)


def test_area_under_the_roc_curve_is_that_of_mann_and_whitney(seeded: np.random.Generator) -> None:
    table = seeded.integers(5, 40, (2, 5)).astype(float)
    scores = np.repeat(np.tile(np.arange(5), 2), table.ravel().astype(int))
    ill = np.repeat([0, 1], table.sum(axis=1).astype(int))
    assert np.isclose(area(table, VARIANCE).value, _auc(scores, ill), **CLOSE)
    found = accuracy(table, VARIANCE)
    for cut in range(5):
        called = scores >= cut
        assert np.isclose(found.sensitivity.value[cut], called[ill == 1].mean(), **CLOSE)
        assert np.isclose(found.specificity.value[cut], (~called)[ill == 0].mean(), **CLOSE)
        assert np.isclose(found.positive_value.value[cut], ill[called].mean(), **CLOSE)
        if cut:
            assert np.isclose(found.negative_value.value[cut], 1 - ill[~called].mean(), **CLOSE)


def test_logistic_regression_is_statsmodels(seeded: np.random.Generator) -> None:
    table = seeded.integers(5, 40, (24, 2)).astype(float)
    rows = design([2, 3, 4])
    oracle = sm.GLM(table[:, ::-1], rows, family=sm.families.Binomial()).fit(tol=1e-14)
    fit = logistic(table, rows, VARIANCE)
    assert np.allclose(fit.coefficients.value, oracle.params, **CLOSE)
    assert np.allclose(fit.errors, oracle.bse, rtol=1e-7) and bool(fit.converged)

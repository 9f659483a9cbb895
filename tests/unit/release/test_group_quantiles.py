"""Medians and quartiles of groups off one noisy table: privacy, coverage with power, accuracy, and the choice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from neighbours import arrow, loss_between, schema_of

import pydplib as dp
from pydplib.datasets import pirads, pirads_schema
from pydplib.errors import DataError, ParameterError
from pydplib.noise.tap import add_laplace
from pydplib.noise.testing import seeded
from pydplib.release import group_quantiles as module
from pydplib.release.facts import Facts
from pydplib.release.group_quantiles import group_quantiles, read_quantiles
from pydplib.release.statistics.quantiles import BinnedQuantileNoise, QuantileNoise, choose_quantile_noise

GROUPS = ("chr", "y", "n", "acute", "acute on chronic")
SHARES = (0.25, 0.5, 0.75)
RUNS = 2000


@pytest.fixture(scope="module")
def table():
    with dp.load(pirads(), pirads_schema()) as loaded:
        yield loaded


def true_quartiles() -> np.ndarray:
    cohort = pirads(backend="numpy")
    return np.array(
        [np.quantile(cohort["age"][cohort["prostatitis"] == group], SHARES, method="inverted_cdf") for group in GROUPS]
    )


def worst_cases() -> tuple[np.ndarray, np.ndarray]:
    """Return counts whose quantile lies at the very end of a bin: an interval one step too short misses it."""
    upper = np.array([0, 40, 40, 80, 0, 0])  # half of 160 rows lie below edge 3: the median ends bin 2
    lower = upper[::-1]  # one row more above: the median begins bin 3
    return upper, lower


def misses(reach_factor: float = 1.0, scale_factor: float = 1.0) -> float:
    upper, _ = worst_cases()
    rng = np.random.default_rng(7)
    noisy = upper + rng.laplace(0, 3, (RUNS, 6))
    original = module._SIDE
    try:
        module._SIDE = original * reach_factor
        found = read_quantiles(noisy, np.arange(7), [0.5], 3.0 * scale_factor)
    finally:
        module._SIDE = original
    return float(np.mean(found.low[:, 0] > 2))  # the median lies in bin 2, from 2 to 3


def test_interval_of_a_quantile_at_the_end_of_its_bin_misses_as_often_as_it_says():
    # 2.5 % are meant on this side; seeded, so that no chance of a false alarm is left.
    assert 0.015 <= misses() <= 0.032


@pytest.mark.parametrize("planted", [{"reach_factor": 0.5}, {"scale_factor": 0.5}, {"reach_factor": 0.8}])
def test_interval_with_a_planted_wrong_width_misses_too_often(planted):
    assert misses(**planted) > 0.04


@pytest.mark.parametrize("share", SHARES)
def test_interval_covers_groups_of_any_size_wherever_in_a_bin_the_rows_lie(share):
    rng = np.random.default_rng(5)
    edges = np.arange(0, 61, 5)
    for size in (8, 25, 80, 600):
        rows = np.sort(rng.choice([1.0, 24.9, 25.0, 29.9, 30.0, 44.0], size, p=[0.1, 0.3, 0.1, 0.2, 0.2, 0.1]))
        truth = rows[int(np.ceil(share * size)) - 1]
        counts = np.histogram(rows, edges)[0]
        with seeded(size):
            noise = BinnedQuantileNoise(
                rows=3, per_row=1, shares=(Fraction(1, 2),), points=12, width=1, epsilon=Fraction(1)
            )
            noisy = add_laplace(np.tile(counts, (RUNS, 1)), noise.scale, sensitivity=3)
        found = read_quantiles(noisy, edges, [share], 3.0)
        assert np.mean((found.low <= truth) & (truth <= found.high)) >= 0.94, size
        assert np.all((found.low <= found.values) & (found.values <= found.high))


@pytest.mark.parametrize("weights", [(1, 0), (2, 0), (5, 5), (3, 9)])
def test_reach_of_a_sum_of_noises_leaves_as_much_outside_as_it_says(weights):
    rng = np.random.default_rng(11)
    many, few = weights
    drawn = 0.7 * rng.laplace(size=(200_000, many)).sum(axis=1) - 0.3 * rng.laplace(size=(200_000, few)).sum(axis=1)
    reach = module.noise_reach((np.array(many), np.array(few)), (0.7, 0.3), 1.0, module._SIDE)
    assert 0.0215 <= np.mean(drawn > reach) <= 0.0265


def test_quartiles_by_prostatitis_have_at_most_half_the_error_of_choosing_each(table):
    prepared = Facts.of(dp.Quantiles("age", by="prostatitis"), table.schema).at(1.0)
    assert isinstance(prepared.noise, BinnedQuantileNoise)
    crosstab = Facts.of(dp.Crosstab("age", "prostatitis"), table.schema).at(1.0)
    noise = prepared.noise
    choice = QuantileNoise(
        rows=noise.rows, per_row=noise.per_row, shares=noise.shares, points=noise.points, epsilon=noise.epsilon
    )
    cells, counts = table.aggregate(prepared.plan), table.aggregate(crosstab.plan)
    truth, low = true_quartiles(), prepared.plan.measures[0].first_cell
    errors: dict[str, list[np.ndarray]] = {"choice": [], "question": [], "crosstab": []}
    with seeded(200):
        for _ in range(200):
            errors["choice"].append(choice.apply(cells[0]).values[:5] + low - truth)
            errors["question"].append(prepared.answer(cells).value[:5] - truth)
            read = group_quantiles(crosstab.answer(counts))
            errors["crosstab"].append(np.array([group.values for group in read[:5]]) - truth)
    mean = {name: dict(zip(GROUPS, np.abs(found).mean(axis=(0, 2)), strict=True)) for name, found in errors.items()}
    for name in ("question", "crosstab"):
        for group in GROUPS:
            assert mean[name][group] <= mean["choice"][group] + 1, (name, group)
        assert mean[name]["y"] <= mean["choice"]["y"] / 2
        assert mean[name]["acute"] <= mean["choice"]["acute"] / 2


def test_release_says_why_and_which_groups_noise_could_have_made(table):
    session = dp.Session(table, recipient="partner", budget=dp.PureDP(10.0))
    release = session.release(dp.Median("age", by="prostatitis"), epsilon=1.0)
    assert release.margin_unit == "value" and release.mechanism == "discrete Laplace"
    low, high = release.interval95
    assert np.all((low <= release.value) & (release.value <= high))
    words = str(release)
    assert "public facts (grid, number of groups, declared size)" in words and "6 years wide" in words
    assert "Noise alone could have made these groups" in words and "other" in words  # nobody is in it
    assert "ranks" not in words
    assert dp.Release.from_json(release.to_json()) == release


def test_quantiles_of_the_whole_table_are_chosen_one_by_one():
    for question in (dp.Median("age"), dp.Quantiles("age")):
        assert isinstance(Facts.of(question, pirads_schema()).at(1.0).noise, QuantileNoise)


def test_choice_follows_public_facts_alone():
    def choice(points: int, shares: tuple[Fraction, ...] = (Fraction(1, 2),)) -> QuantileNoise:
        return QuantileNoise(rows=1, per_row=1, shares=shares, points=points, epsilon=Fraction(1))

    quarters = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    small = choose_quantile_noise(choice(83, quarters), groups=5, size=None)
    assert isinstance(small, BinnedQuantileNoise) and 1 < small.width < 12
    # Of many rows on a fine grid, permute-and-flip finds the median nearly exactly; a table would need too many bins.
    assert isinstance(choose_quantile_noise(choice(4001), groups=3, size=300_000), QuantileNoise)
    # More rows pay for finer bins.
    fine = choose_quantile_noise(choice(83, quarters), groups=5, size=50_000)
    assert isinstance(fine, BinnedQuantileNoise) and fine.width < small.width


def test_bins_are_planned_for_small_groups_whatever_size_is_declared():
    quarters = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    choice = QuantileNoise(rows=3, per_row=1, shares=quarters, points=83, epsilon=Fraction(1))
    widths = {}
    for size in (None, 652, 920, 2000, 20_000):
        noise = choose_quantile_noise(choice, groups=6, size=size)
        assert isinstance(noise, BinnedQuantileNoise)
        widths[size] = noise.width
    assert widths == {None: 6, 652: 6, 920: 6, 2000: 6, 20_000: 1}


@pytest.mark.parametrize(("n", "seed", "by"), [(652, 1, "prostatitis"), (652, 7, "pirads"), (2000, 99, "prostatitis")])
def test_quartiles_of_other_cohorts_are_never_clearly_worse_than_choosing_each(n, seed, by):
    cohort = pirads(n=n, seed=seed, backend="numpy")
    group_of, age = np.asarray(cohort[by]).astype(object), np.asarray(cohort["age"], dtype=float)
    with dp.load(pirads(n=n, seed=seed), replace(pirads_schema(), size=n)) as table:
        for epsilon in (0.5, 2.0):
            prepared = Facts.of(dp.Quantiles("age", by=by), table.schema).at(epsilon)
            noise = prepared.noise
            assert isinstance(noise, BinnedQuantileNoise)
            choice = QuantileNoise(
                rows=noise.rows, per_row=noise.per_row, shares=noise.shares, points=noise.points, epsilon=noise.epsilon
            )
            cells, low = table.aggregate(prepared.plan), prepared.plan.measures[0].first_cell
            groups = list(prepared.facts.groups[by])[:5]
            truth = np.array([np.quantile(age[group_of == key], SHARES, method="inverted_cdf") for key in groups])
            with seeded(seed):
                found = [noise.apply(cells[0]).values[:5] + low - truth for _ in range(25)]
                other = [choice.apply(cells[0]).values[:5] + low - truth for _ in range(25)]
            read, chosen = np.abs(found).mean(axis=(0, 2)), np.abs(other).mean(axis=(0, 2))
            assert np.all(read <= chosen + 1) and read.mean() <= chosen.mean(), (epsilon, read, chosen)


def test_price_by_noise_factor_has_the_noise_that_it_says():
    schema = dp.Schema({"age": dp.Number(18, 100, step=1), "kind": dp.Category(["a", "b"])}, size=900, name="reports")
    rows = pa.table({"age": [61.0, 67.0, 70.0] * 300, "kind": ["a", "b", "a"] * 300})
    with dp.load(rows, schema) as table:
        session = dp.Session(table, recipient="acme", role="third_party")
        price = session.price(dp.Median("age", by="kind"), noise_factor="high")
        assert price.noise_percent == pytest.approx(15, rel=0.01) and price.margin_unit == "ranks"
        wanted = session.price(dp.Median("age", by="kind"), margin=40)
        assert wanted.margin95 == pytest.approx(40, rel=0.01)


ROW = {"age": 70.0, "psa": 4.0, "lesions": 1, "pirads": 2, "bph": True, "day": None, "city": "Oslo"}


def replayed() -> float:
    schema = schema_of()
    prepared = Facts.of(dp.Quantiles("age", by="pirads"), schema).at(1.0)
    assert isinstance(prepared.noise, BinnedQuantileNoise)
    with dp.load(arrow([]), schema) as smaller, dp.load(arrow([[ROW, ROW, ROW]]), schema) as larger:
        return loss_between(prepared, smaller.aggregate(prepared.plan), larger.aggregate(prepared.plan))


def test_replay_of_the_worst_person_loses_the_whole_epsilon_and_no_more():
    assert 0.999 < replayed() <= 1.0  # weights of rows are rounded down


def test_replay_with_a_planted_smaller_sensitivity_is_caught(monkeypatch):
    monkeypatch.setattr(Facts, "rows", property(lambda self: 1))
    with pytest.raises(AssertionError, match="claims sensitivity"):
        replayed()


def test_bins_that_noise_alone_fills_do_not_move_a_small_group():
    noisy = np.array([[4.0, -3.0, 5.0, 10.0, 12.0, 4.0], [-4.0, 3.0, -4.0, 300.0, 300.0, -4.0]])
    found = read_quantiles(noisy, np.arange(0, 61, 10), [0.25], 3.0)
    assert found.values[0, 0] >= 30  # not 20, where four groups of noise would have put it
    # Thin tails that add up to more than noise stay.
    flat = read_quantiles(np.full((1, 30), 6.0), np.arange(31), [0.25], 3.0)
    assert flat.values[0, 0] == pytest.approx(7.5)


def test_table_without_bins_or_with_wrong_edges_is_refused():
    with pytest.raises(ParameterError, match="edges"):
        read_quantiles([[1.0, 2.0]], [0, 1], [0.5], 1.0)
    with pytest.raises(ParameterError, match="binned number"):
        group_quantiles(dp.Release.from_json(dp.count([1], epsilon=1.0).to_json()))


def doubted(table, question: dp.Quantiles | dp.Median) -> dp.Release:
    """Return a release in which nobody is in the group "other"."""
    session = dp.Session(table, recipient="partner", budget=dp.PureDP(10.0))
    with seeded(5):
        return session.release(question, epsilon=0.5)


def test_release_names_doubtful_values_and_keeps_them_when_stored(table):
    release = doubted(table, dp.Quantiles("age", by="prostatitis"))
    flags = np.array(release.doubtful).reshape(release.shape)
    assert set(flags.ravel()) <= {0, 1} and flags[-1].tolist() == [1, 1, 1] and flags[2].tolist() == [0, 0, 0]
    assert dp.Release.from_json(release.to_json()) == release
    with pytest.raises(DataError):
        dp.Release.from_dict({**release.to_dict(), "doubtful": [2] * len(release.values)})


def test_figures_fade_groups_that_noise_alone_could_have_made(table):
    medians = doubted(table, dp.Median("age", by="prostatitis"))
    flags = tuple(int(group == "acute") for group in (*GROUPS, "other"))
    medians = replace(medians, doubtful=flags, sizes=(99,) * 6)  # none is left out
    points = medians.plot()
    assert points.data[0].marker.symbol[3] == "circle-open" and points.data[0].marker.symbol[2] == "circle"
    assert points.layout.xaxis.ticktext[3] == "acute<br>(may be noise)"
    assert points.layout.xaxis.ticktext[2] == "n"
    slim = points.layout.meta["narrow"]["xaxis"]
    assert dict(zip(slim["tickvals"], slim["ticktext"], strict=True))["acute"] == "acute<br>(may be<br>noise)"
    beside = medians.plot(original=medians.value)
    assert beside.data[1].marker.symbol[3] == "circle-open" and beside.data[0].marker.symbol == "circle"


def test_boxes_of_the_platform_fade_groups_that_noise_alone_could_have_made(table):
    figures = pytest.importorskip("pydplib.web.analyses.figures")
    release = doubted(table, dp.Quantiles("age", (0.05, 0.25, 0.5, 0.75, 0.95), by="prostatitis"))
    flags = np.repeat([group in ("acute", "other") for group in (*GROUPS, "other")], 5)
    release = replace(release, doubtful=tuple(int(flag) for flag in flags))
    figure = figures.figure_of(release, title="Age by prostatitis")
    pale = [trace for trace in figure.data if trace.opacity]
    assert len(pale) == 1 and pale[0].x == ("acute",)
    assert "Faint: noise alone could have made the group." in figure.words[1]
    assert "acute<br>(may be noise)" in figure.layout.xaxis.ticktext
    # Nobody is in "other": it is no group of the hospital's, so that it is not drawn at all.
    assert not any("other" in trace.x for trace in figure.data)
    assert "Not drawn, because the noise alone can have made it: “other”" in figure.words[1]
    beside = figures.figure_of(release, title="", original=np.arange(30.0).reshape(release.shape))
    assert all(len(trace.x) <= 5 for trace in beside.data)


def test_heat_map_of_the_platform_leaves_out_a_rest_that_noise_alone_could_have_made(table):
    figures = pytest.importorskip("pydplib.web.analyses.figures")
    session = dp.Session(table, recipient="partner", budget=dp.PureDP(10.0))
    with seeded(5):
        release = session.release(dp.Crosstab("prostatitis", "pirads"), epsilon=1.0)
    heat, *_ = figures.figure_of(release, title="Prostatitis by score").data
    assert tuple(heat.y) == GROUPS and tuple(heat.x) == ("1", "2", "3", "4", "5")
    # A rest with people in it stays.
    real = np.asarray(release.value).copy()
    real[:, -1] = 60.0
    filled = replace(release, values=tuple(real.ravel().tolist()), noisy=None)
    heat, *_ = figures.figure_of(filled, title="").data
    assert "other" in heat.x and np.asarray(heat.z).shape == (6, 6)
    table_twin = figures.table_of(release)[1]
    assert any("other" in row for row in table_twin), "the table has every released number"

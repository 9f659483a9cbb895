"""All figures: what they say about themselves, and that no raw value leaves with them; then the further ones."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import plotly.graph_objects as go
import pytest

import pydplib as dp
from pydplib import plot
from pydplib.errors import DataError, ParameterError
from pydplib.plot.catalogue import CATALOGUE
from pydplib.plot.recipes import paper as paper
from pydplib.plot.recipes.further import age_by_score, findings
from pydplib.plot.recipes.labels import mean_margin, noise_variance, variance_margin

NAMES = list(CATALOGUE)
FURTHER = [name for name, spec in CATALOGUE.items() if spec.number is None]
PARTNERS = {"levels": ["high"]}


@pytest.fixture(scope="module")
def cohort():
    made = dp.datasets.pirads(backend="numpy")
    made["age"] = np.floor(made["age"]).astype(np.int64)  # the figures show completed years
    return made | {name: made[name] == "yes" for name in ("follow_up", "turp")}


@pytest.fixture(scope="module")
def owners(cohort):
    return {name: paper.paper_figure(name, cohort, original=True) for name in NAMES}


@pytest.fixture(scope="module")
def partners(cohort):
    return {name: paper.paper_figure(name, cohort, **PARTNERS) for name in NAMES}


def raw_series(cohort):
    """Return every original array or exact aggregate that could betray the cohort, by name."""
    known = ~np.isnan(cohort["pirads"])
    ages, scores = cohort["age"][known], cohort["pirads"][known].astype(int)
    flags = np.array([cohort[name].sum() for name in ("bph", "turp", "follow_up", "pca_no_pirads")])
    return {
        "ages": cohort["age"],
        "scored ages": ages,
        "scores": scores,
        "score counts": np.bincount(scores, minlength=6)[1:],
        "flag counts": flags,
        "variances": np.array([ages[scores == score].var() for score in range(1, 6)]),
        "mean ages": np.array([ages[scores == score].mean() for score in range(1, 6)]),
    }


def leaks(figure, cohort):
    """Return which original arrays stand in the figure's JSON, packed or plain, sorted or not."""
    arrays = [
        array.astype(float) for array in plot.figure_arrays(figure).values() if array.dtype.kind in "iuf" and array.size
    ]

    def stands(secret):
        wanted = np.sort(np.asarray(secret, dtype=float), axis=None)
        return any(
            array.size == wanted.size and np.allclose(np.sort(array, axis=None), wanted, atol=1e-9) for array in arrays
        )

    return [name for name, secret in raw_series(cohort).items() if stands(secret)]


@pytest.mark.parametrize("name", NAMES)
def test_partner_figure_holds_no_original_value_array(name, partners, cohort):
    # By chance four counts at low noise all get noise 0 once in 30 000 figures, so a leak must be in two draws.
    again = paper.paper_figure(name, cohort, **PARTNERS)
    assert not set(leaks(partners[name].figure, cohort)) & set(leaks(again.figure, cohort))
    # Nor anything of the length of the cohort: only aggregates are drawn.
    assert max(array.size for array in plot.figure_arrays(partners[name].figure).values()) < 500


@pytest.mark.parametrize("packed", [True, False])
def test_leak_test_finds_a_planted_histogram_of_rows(packed, partners, cohort):
    rows = cohort["age"] if packed else cohort["age"].tolist()
    assert leaks(go.Figure(go.Histogram(x=rows)), cohort) == ["ages"]
    planted = plot.Figure(partners["findings"].figure)
    planted.layout.meta = {**planted.layout.meta, "debug": np.sort(cohort["age"])[::-1].tolist()}
    assert "ages" in leaks(planted, cohort)
    counts = raw_series(cohort)["flag counts"]
    assert leaks(plot.bar(list("abcd"), {"low": counts}), cohort) == ["flag counts"]


@pytest.mark.parametrize("name", ["findings-from-counts", "findings", "variance", "variance-from-variances"])
def test_owner_figure_holds_the_original_so_that_the_leak_test_has_power(name, owners, cohort):
    assert leaks(owners[name].figure, cohort)


@pytest.mark.parametrize("name", FURTHER)
def test_owner_figure_says_so_and_partner_figure_has_no_original(name, owners, partners):
    owner, partner = owners[name], partners[name]
    assert owner.owner_only and "For the data owner only" in owner.figure.words[1]
    assert not partner.owner_only and "owner" not in partner.figure.words[1]
    assert "riginal" in json.dumps(owner.figure.to_plotly_json(), default=str)
    text = json.dumps(partner.figure.to_plotly_json(), default=str)
    assert "original" not in text and "Original" not in text
    flat = [cell for row in partner.table.rows for cell in row]
    assert "original" not in flat and "original" not in partner.table.columns


@pytest.mark.parametrize("name", FURTHER)
def test_every_further_figure_has_three_levels_and_its_guarantee_as_a_caption(name, owners):
    figure = owners[name]
    assert list(figure.results) == ["low", "medium", "high"]
    caption = figure.figure.words[1]
    for releases in figure.results.values():
        for result in releases:
            kind = type(result.guarantee).__name__
            assert kind in ("LocalDP", "NoGuarantee")
            if kind == "NoGuarantee":
                assert result.guarantee.sentence in caption
            else:
                assert "by itself is private with epsilon" in caption
    assert all(f"({level})" in caption for level in ("low", "medium", "high"))


@pytest.mark.parametrize("name", NAMES)
def test_noise_lies_in_the_bands(name, owners):
    for releases in owners[name].results.values():
        assert all(result.in_band for result in releases)


@pytest.mark.parametrize("name", NAMES)
def test_table_twin_holds_what_is_drawn(name, owners):
    figure = owners[name]
    assert figure.table.rows and figure.table.caption
    assert all(len(row) == len(figure.table.columns) for row in figure.table.rows)
    assert figure.label.startswith(("Figure", "Further figure"))


def test_score_by_age_original_counts_every_scored_report_once(owners, cohort):
    first = owners["score-by-age"].figure.data[0]
    assert first.type == "heatmap" and np.sum(first.z) == np.sum(~np.isnan(cohort["pirads"]))
    assert first.x[int(np.argmax(np.sum(first.z, axis=0)))] == "60–69"
    for panel in owners["score-by-age"].figure.data:
        assert panel.y == ("1", "2", "3", "4", "5") and panel.zmax == first.zmax


def test_score_by_age_for_a_partner_has_noise_on_both_axes(partners):
    (releases,) = partners["score-by-age"].results.values()
    assert [result.data_type for result in releases] == ["numpy integer", "numpy integer"]


def test_prostatitis_by_age_keeps_the_findings_and_the_total(owners, cohort):
    kinds = ("chr", "y", "n", "acute", "acute on chronic")
    for panel in owners["prostatitis-by-age"].figure.data:
        assert panel.y == ("chronic", "yes, not specified", "none", "acute", "acute on chronic")
        assert np.sum(panel.z) == cohort["age"].size
        assert panel.zmax == owners["prostatitis-by-age"].figure.data[0].zmax  # one scale of colours for all panels
    first = np.asarray(owners["prostatitis-by-age"].figure.data[0].z).sum(axis=1)
    assert first.tolist() == [np.sum(cohort["prostatitis"] == kind) for kind in kinds]


def test_age_by_score_original_has_mean_ages_between_60_and_70(owners):
    rows = [row for row in owners["age-by-score"].table.rows if row[0] == "original"]
    assert len(rows) == 5 and all(60 < row[3].value < 70 for row in rows)
    assert all(row[3].margin is None for row in rows)


def test_age_by_score_when_a_score_is_left_out_keeps_its_slot():
    some = {"age": np.array([60, 61] * 40), "pirads": np.array([2, 4] * 40)}
    layout = age_by_score(some, original=True).figure.layout
    for axis in (layout.xaxis, layout.xaxis2, layout.xaxis4):
        assert axis.categoryarray == ("1", "2", "3", "4", "5") and tuple(axis.range) == (-0.5, 4.5)


def test_findings_say_that_its_epsilon_is_a_sum_over_the_findings(owners):
    for name in ("findings", "findings-from-counts"):
        assert "sum over the 4 findings of one report" in owners[name].figure.words[1]


def test_age_by_score_with_noised_ages_has_margins_that_hold(owners):
    rows = owners["age-by-score-noised-ages"].table.rows
    true = {row[1]: row[3].value for row in rows if row[0] == "original"}
    noisy = [row for row in rows if row[0] != "original"]
    assert all(row[3].margin > 0 for row in noisy)
    # Twice the 95 % margin is missed with a chance of 1e-4 per mean: 15 of them, not all.
    hits = [abs(row[3].value - true[row[1]]) <= 2 * row[3].margin for row in noisy]
    assert np.mean(hits) > 0.7


def test_findings_correction_is_unbiased_and_its_margin_has_95_percent():
    rng = np.random.default_rng(5)
    answers = {name: rng.random(4000) < chance for name, chance in (("bph", 0.6), ("turp", 0.1))}
    data = {**answers, "follow_up": answers["bph"], "pca_no_pirads": answers["turp"]}
    hits, bias = [], []
    for _ in range(30):
        drawn = findings(data)
        for row, truth in zip(drawn.table.rows, (c.sum() for c in data.values()), strict=True):
            for cell in (row[2], row[4], row[6]):
                hits.append(abs(cell.value - truth) <= cell.margin)
                bias.append((cell.value - truth) / cell.margin * 1.96)
    # 360 draws: six standard deviations of the share, five of the mean of z.
    assert abs(np.mean(hits) - 0.95) < 0.07
    assert abs(np.mean(bias)) < 5 / math.sqrt(len(bias))


def test_findings_without_the_correction_would_be_far_off(cohort):
    drawn = findings(cohort)
    turp = next(row for row in drawn.table.rows if row[0] == "TURP surgery")
    truth = int(cohort["turp"].sum())
    # About 110 too many are expected; to come this near the truth it would take six standard deviations.
    assert turp[5] - truth > 1.5 * turp[6].margin


def test_findings_from_counts_has_the_laplace_margin(owners):
    (result,) = owners["findings-from-counts"].results["high"]
    row = owners["findings-from-counts"].table.rows[0]
    assert row[-1].margin == pytest.approx(result.scale * math.log(20))
    assert result.sensitivity == 1
    # One report may have a part in all four counts.
    said = re.search(r"([\d.]+) \(high\)", owners["findings-from-counts"].figure.words[1])
    assert said is not None
    assert 4 * result.record_epsilon * (1 - 1e-12) <= float(said[1]) <= 4 * result.record_epsilon * 1.1


def test_variance_correction_takes_the_noise_out():
    rng = np.random.default_rng(8)
    ages = rng.normal(65, 8, 20_000).round().clip(30, 95)
    result = dp.dp_calculate(ages.astype(int), "variance", "high", bounds=(18, 100))
    inflated = float(np.var(result.dp_data))
    corrected = inflated - noise_variance(result)
    margin = variance_margin(result, ages.size, float(ages.var()))
    assert inflated > 2 * ages.var()
    assert abs(corrected - ages.var()) < 3 * margin  # six standard deviations
    assert mean_margin(result, ages.size) == pytest.approx(1.96 * math.sqrt(noise_variance(result) / ages.size))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_figures_accept_every_kind_of_table(backend):
    data = dp.datasets.pirads(n=300, backend=backend)
    expected = dp.datasets.pirads(n=300, backend="numpy")
    for name in NAMES:
        paper.paper_figure(name, data)
    original = paper.paper_figure("2", data, form="original").figure
    assert sum(sum(trace.y) for trace in original.data) == np.sum(~np.isnan(expected["pirads"]))


def test_figures_of_small_cohorts_leave_small_groups_out():
    for seed in range(3):
        data = dp.datasets.pirads(n=100, seed=seed, backend="numpy")
        for name in NAMES:
            drawn = paper.paper_figure(name, data, original=True)
            assert drawn.figure.data


def test_unknown_names_and_columns_are_refused_with_a_suggestion(cohort):
    with pytest.raises(ParameterError, match="Did you mean '4-noised-ages'"):
        paper.paper_figure("4-noised-age", cohort)
    with pytest.raises(DataError, match="needs the column 'age'"):
        paper.paper_figure("2", {"pirads": cohort["pirads"], "alter": cohort["age"]})


def test_repr_of_a_figure_shows_no_numbers(owners):
    text = repr(owners["findings"])
    assert "owner_only=True" in text and len(text) < 120

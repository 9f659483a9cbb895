"""The second paper's experiment: all nine values of Table I within four standard errors of theory, Figs. 1 to 3."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

from pydplib.errors import ParameterError
from pydplib.experiments.inference import (
    METHODS,
    PAPER_MSE,
    Theory,
    crossovers,
    divergences,
    noisy_means,
    run_inference,
)


@pytest.fixture(scope="module")
def result():
    return run_inference(seed=1, js_sizes=[1_000])


def test_table_one_has_nine_rows_within_four_standard_errors_of_theory(result):
    assert [(row["n"], row["method"]) for row in result.rows] == [
        (n, method) for n in (1_000, 10_000, 100_000) for method in METHODS
    ]
    for row in result.rows:
        assert abs(row["mse"] - row["theory"]) <= 4 * row["standard_error"], row
        assert abs(row["average_noisy_mean"] - row["true_mean"]) <= 5 * math.sqrt(row["theory"] / 50)


def test_paper_values_lie_within_two_standard_errors_of_theory(result):
    assert {(row["n"], row["method"]): row["paper"] for row in result.rows} == dict(PAPER_MSE)
    assert max(abs(row["paper_errors_from_theory"]) for row in result.rows) < 2


def test_true_mean_is_that_of_the_sample_and_the_same_for_all_methods(result):
    for n in (1_000, 10_000, 100_000):
        means = {row["true_mean"] for row in result.rows if row["n"] == n}
        assert len(means) == 1
        assert means != {25.0}


def test_theory_is_what_the_formulas_say_and_its_error_what_sampling_shows():
    rng = np.random.default_rng(1)
    theory = Theory.of("laplace", n=1_000, epsilon=1.0, repetitions=50)
    assert theory.mse == pytest.approx(2 * 0.04**2)
    measured = (rng.laplace(0, 0.04, (4_000, 50)) ** 2).mean(axis=1)
    assert measured.std() == pytest.approx(theory.standard_error, rel=0.1)
    assert Theory.of("naive_uniform", n=10, epsilon=1.0, repetitions=2).mse == pytest.approx(1 / 30)
    assert Theory.of("naive_gaussian", n=10, epsilon=9.0, repetitions=2).mse == pytest.approx(0.1)


def test_noise_of_the_wrong_scale_would_be_seen():
    # The twin of the test of Table I: half and double the noise lie beyond four standard errors.
    values = np.random.default_rng(2).uniform(5, 45, 1_000)
    theory = Theory.of("laplace", n=1_000, epsilon=1.0, repetitions=400)
    for epsilon, wrong in ((1.0, False), (0.5, True), (2.0, True)):
        noisy = noisy_means("laplace", values, epsilon=epsilon, repetitions=400, rng=np.random.default_rng(3))
        mse = float(((noisy - values.mean()) ** 2).mean())
        assert (abs(mse - theory.mse) > 4 * theory.standard_error) is wrong


def test_crossovers_are_at_3200_and_9600_and_measured_near(result):
    assert crossovers(1.0) == {"naive_gaussian": 3_200, "naive_uniform": 9_600}
    for row in result.further["crossovers"]:
        assert row["theory"] / 2 < row["measured"] < row["theory"] * 2


def test_divergence_at_a_thousand_records_is_the_papers(result):
    found = {row["method"]: row["js_bits"] for row in result.further["figure_3"]}
    assert found["laplace"] == pytest.approx(0.0251, abs=0.006)
    assert found["naive_uniform"] == pytest.approx(0.1131, abs=0.012)
    assert found["naive_gaussian"] == pytest.approx(0.044, abs=0.008)


def test_divergence_at_ten_thousand_records_prefers_noise_without_a_guarantee():
    found = divergences(10_000, epsilon=1.0, draws=1_500, bins=50, rng=np.random.default_rng(4))
    assert found["naive_uniform"] < found["laplace"]


def test_remarks_say_what_the_divergence_does_not_show(result):
    words = " ".join(result.remarks)
    assert "average" in words
    assert "no finite epsilon" in words
    assert "almost bare" in words


def test_figure_two_falls_with_epsilon_squared(result):
    rows = [row for row in result.further["figure_2"] if row["method"] == "laplace"]
    for row in rows:
        assert row["theory"] == pytest.approx(rows[0]["theory"] * (rows[0]["epsilon"] / row["epsilon"]) ** 2)
        assert abs(row["mse"] - row["theory"]) <= 4.5 * row["standard_error"]


def test_runs_with_one_seed_are_equal_and_with_another_not():
    runs = [run_inference(sizes=[500], repetitions=5, seed=seed, js_sizes=[]).to_json() for seed in (7, 7, 8)]
    assert runs[0] == runs[1] != runs[2]


def test_json_and_csv_hold_the_rows_of_table_one(result):
    plain = json.loads(result.to_json())
    assert {"n", "method", "true_mean", "average_noisy_mean", "mse"} <= set(plain["rows"][0])
    assert plain["settings"]["seed"] == 1
    read = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert len(read) == 9
    assert float(read[0]["mse"]) == result.rows[0]["mse"]


def test_figures_and_page_are_made(result):
    pytest.importorskip("plotly")
    figures = result.figures()
    assert list(figures) == ["figure-1", "figure-2", "figure-3"]
    names = {trace.name for trace in figures["figure-1"].data}
    assert {"Laplace (DP)", "Laplace (DP), theory", "the paper"} <= names
    assert [shape.x0 for shape in figures["figure-1"].layout.shapes] == [3_200, 9_600]
    page = result.to_report().to_html()
    assert "Table I" in page
    assert "no finite epsilon" in page


@pytest.mark.parametrize("wrong", [{"sizes": []}, {"sizes": [1]}, {"repetitions": 1}, {"epsilon": 0.0}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ParameterError, match="The experiment needs"):
        run_inference(**wrong)


def test_table_1_shows_means_with_six_digits_as_the_paper_does() -> None:
    """With four, the true mean and the noisy one look the same."""
    import re

    from pydplib.experiments import inference

    result = inference.run_inference(sizes=(1000,), repetitions=5, js_sizes=(), seed=1)
    sheet = next(sheet for sheet in result.sheets if sheet.title == "Table I")
    for row in sheet.rows:
        assert re.fullmatch(r"\d\d\.\d{4}", row["true_mean"])
        assert row["true_mean"] != row["average_noisy_mean"]

"""One cohort under four kinds of protection: each attack is answered by the next model, the last one by DP."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pandas")

from pydplib.attack import most_success
from pydplib.errors import MissingExtraError, ParameterError
from pydplib.experiments.compare import estimate, run_compare, share_of


@pytest.fixture(scope="module")
def result():
    return run_compare(seed=1, people=3)


def test_compare_lists_the_original_three_models_and_two_private_counts(result):
    names = [row["method"] for row in result.rows]
    assert names == ["original", "5-anonymity", "3-diversity", "0.2-closeness", "epsilon 1", "epsilon 0.1"]


def test_each_model_answers_the_attack_before_it(result):
    original, k, diverse, t, *private = result.rows
    assert original["found"] > 0.2 > k["found"] > diverse["found"] >= t["found"]
    assert original["certain"] > 0.1 > k["certain"]
    assert original["moved"] > k["moved"] >= diverse["moved"] >= t["moved"]
    assert k["loss"] < diverse["loss"] <= t["loss"]
    assert all(row["found"] is None and row["certain"] == row["moved"] == 0 for row in private)


def test_only_differential_privacy_resists_one_who_knows_all_others(result):
    for row in result.rows[:4]:
        assert row["told_apart"] > 0.8
    for row, epsilon in zip(result.rows[4:], (1.0, 0.1), strict=True):
        assert row["allowed"] == most_success(epsilon)
        assert row["told_apart"] == pytest.approx(row["allowed"], abs=3 * row["told_margin"])


def test_private_error_is_that_of_geometric_noise(result):
    import math

    for row, epsilon in zip(result.rows[4:], (1.0, 0.1), strict=True):
        assert row["error"] == pytest.approx(1 / math.sinh(epsilon), rel=0.05)


def test_reader_weighs_cells_by_how_much_of_them_is_asked_for():
    import pandas as pd

    assert (share_of("65-69"), share_of("72-76"), share_of("63")) == (1.0, 0.0, 1.0)
    assert share_of("60-79") == pytest.approx(0.5)
    assert share_of("*") == pytest.approx(10 / 120)
    table = pd.DataFrame({"age": ["60-79", "60-79"], "year": [2018, 2017], "prostatitis": ["chr", "chr"]})
    assert estimate(table) == pytest.approx(0.5)


def test_comparison_is_plain_json_with_figures(result):
    json.loads(result.to_json())
    assert result.to_csv().startswith("method,guarantee,answer,error")
    pytest.importorskip("plotly")
    assert list(result.figures()) == ["attacks", "error"]


def test_unreachable_models_leave_their_column_empty():
    result = run_compare(n=150, seed=2, diversity=5, closeness=0.01, people=1)
    assert len(result.rows) == 6
    json.loads(result.to_json())


def test_comparison_without_a_data_frame_library_says_what_to_install(monkeypatch):
    from pydplib.experiments import compare

    monkeypatch.setattr(compare, "pirads", lambda **options: {"age": []})
    with pytest.raises(ParameterError, match="Install one"):
        run_compare(n=150, seed=1)


def test_experiments_run_without_plotly(monkeypatch):
    import sys

    import pydplib

    for name in [name for name in sys.modules if name.startswith(("pydplib.plot", "pydplib.experiments"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(pydplib, "plot", raising=False)
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    from pydplib.experiments.inference import run_inference

    result = run_inference(sizes=[50], repetitions=2, seed=1, js_sizes=[])
    assert result.to_csv().count("\n") == 4
    with pytest.raises(MissingExtraError, match="plot"):
        result.figures()


def test_impossible_settings_are_refused():
    with pytest.raises(ParameterError, match="positive epsilons"):
        run_compare(epsilons=[0.0])

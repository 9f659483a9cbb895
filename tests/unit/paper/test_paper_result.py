"""``DPResult``: four values to unpack, and words that a physician understands."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import pydplib as dp
from pydplib.guarantee import LocalDP


@pytest.fixture
def result() -> dp.paper.DPResult:
    return dp.dp_calculate([50 + i % 30 for i in range(900)], "mean", "high")


def test_result_unpacks_as_the_four_values_of_the_paper(result) -> None:
    dp_data, epsilon, sensitivity, noise_percent = result
    assert dp_data is result.dp_data
    assert (epsilon, sensitivity, noise_percent) == (result.epsilon, result.sensitivity, result.noise_percent)
    assert len(result) == 4
    assert result[1] == epsilon


def test_result_carries_what_the_numbers_are_worth(result) -> None:
    assert result.noise_band == (10.0, 20.0)
    assert result.in_band
    assert result.selector == "closed_form"
    assert result.record_epsilon == pytest.approx(900 * result.epsilon)


def test_repr_says_noise_recipient_epsilon_and_guarantee(result) -> None:
    text = repr(result)
    for words in ("900 noisy values", "15 %", "10 to 20 %", "third parties", "as the paper counts it"):
        assert words in text
    assert "No privacy guarantee" in text
    assert max(map(len, text.splitlines())) <= 100


def test_html_says_the_same_and_is_escaped(result) -> None:
    page = result._repr_html_()
    assert "No privacy guarantee" in page
    assert "<script" not in page
    assert page.count("<tr>") == page.count("</tr>") >= 6
    sound = dp.dp_calculate([True, False], "count", "low")
    assert "Guarantee holds" in sound._repr_html_()
    assert isinstance(sound.guarantee, LocalDP)


def test_repr_when_fitted_says_that_the_extremes_are_the_true_ones() -> None:
    text = repr(dp.dp_calculate([50 + i % 30 for i in range(900)], "mean", "high", is_range=True))
    assert "The smallest and the largest noisy value are those of the private data" in text


def test_repr_when_a_record_epsilon_was_asked_for_has_no_band() -> None:
    result = dp.dp_calculate([60.0, 61.0], "mean", record_epsilon=2.0, bounds=(18, 100))
    assert "the band" not in repr(result)
    assert result.in_band is None


def test_to_dict_is_json_without_the_data(result) -> None:
    loaded = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert loaded["guarantee"]["kind"] == "NoGuarantee"
    assert "dp_data" not in loaded
    empty = dp.dp_calculate([], "mean", "high").to_dict()
    assert json.loads(json.dumps(empty, allow_nan=False))["epsilon"] is None


def test_result_is_frozen_and_can_be_pickled(result) -> None:
    with pytest.raises(AttributeError):
        result.epsilon = 1.0
    assert pickle.loads(pickle.dumps(result)).dp_data == result.dp_data


def test_result_draws_itself(result) -> None:
    pytest.importorskip("plotly")
    figure = result.plot(title="Ages")
    assert result.guarantee.sentence.split(":")[0] in str(figure.to_json())


def test_closed_form_of_large_columns_needs_little_memory() -> None:
    """Peak of what is allocated, output included: at most three times the input (so four with the input itself)."""
    import tracemalloc

    for data in (np.random.default_rng(0).normal(65, 9, 1_000_000), np.arange(1_000_000) % 83 + 18):
        for options in ({"bounds": (18, 100)}, {"is_range": True}):
            tracemalloc.start()
            dp.dp_calculate(data, "mean", "high", **options)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 3 * data.nbytes, (data.dtype, options)


def test_release_path_uses_no_random_module() -> None:
    import ast
    from pathlib import Path

    import pydplib.paper

    for path in Path(pydplib.paper.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert all(alias.name.split(".")[0] != "random" for alias in node.names), path
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] != "random", path
                assert "testing" not in (node.module or ""), path
            if isinstance(node, ast.Attribute):
                assert node.attr != "random" or not isinstance(node.value, ast.Name), path

"""plot.draw: results are drawn as counts with their label; raw columns are refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pydplib as dp
from pydplib import plot
from pydplib.errors import ParameterError

CANARY = 123457


@pytest.fixture(scope="module")
def ages():
    return dp.datasets.pirads(backend="numpy")["age"]


@pytest.mark.parametrize("raw", [[CANARY], np.array([CANARY]), {"age": [CANARY]}, None, "text"])
def test_raw_columns_are_refused_without_being_quoted(raw):
    with pytest.raises(ParameterError, match="takes what may leave") as caught:
        plot.draw(raw)
    assert str(CANARY) not in str(caught.value)


def test_class_of_a_stranger_with_the_same_name_is_refused():
    class DPResult:
        dp_data = (1, 2)

    with pytest.raises(ParameterError):
        plot.draw(DPResult())


def test_numbers_are_drawn_as_counts_in_at_most_forty_bins(ages):
    result = dp.dp_calculate(ages, "mean", "high")
    figure = result.plot(title="Ages", x_title="age")
    (trace,) = figure.data
    assert len(trace.y) <= 45 and sum(trace.y) == ages.size
    assert trace.name == "high" and trace.marker.color == plot.TONES["high"]
    title, caption = figure.words
    assert title == "Ages" and result.guarantee.sentence in caption and "owner" not in caption


def test_original_is_drawn_only_when_it_is_named_and_says_for_whom(ages):
    result = dp.dp_calculate(ages, "mean", "low")
    figure = plot.draw(result, original=ages)
    assert [trace.name for trace in figure.data] == ["original", "low"]
    assert all(sum(trace.y) == ages.size for trace in figure.data)
    assert "for the data owner only" in figure.words[1]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", "numpy"])
@pytest.mark.parametrize("column", ["age", "bph", "prostatitis", "last_modified"])
def test_every_kind_of_column_and_library_is_drawn(backend, column):
    frame = dp.datasets.pirads(n=300, backend=backend)
    data = frame[column]
    result = dp.dp_calculate(data, "count", "medium", is_range=column == "prostatitis")
    figure = plot.draw(result, original=data)
    assert sum(figure.data[0].y) == sum(figure.data[1].y) == 300
    expected = {"bph": 2, "prostatitis": 5}.get(column)
    if expected:
        assert len(figure.data[0].x) == expected


def test_empty_and_single_results_are_drawn():
    assert plot.draw(dp.dp_calculate([], "mean", "low", data_type="float")).data[0].y == ()
    one = dp.dp_calculate([61.5], "mean", "low", bounds=(18, 100))
    assert sum(plot.draw(one).data[0].y) == 1


@pytest.mark.parametrize("make", [pa.array, lambda v: pa.array(v).dictionary_encode(), lambda v: pa.chunked_array([v])])
def test_draw_result_of_arrow_text_counts_its_categories(make):
    figure = dp.dp_calculate(make(["a", "b", "c"] * 20), "count", "low", is_range=True).plot()
    assert list(figure.data[0].x) == ["a", "b", "c"]


def test_draw_result_of_a_record_epsilon_says_it():
    figure = dp.dp_calculate([50, 60, 70], "mean", bounds=(18, 100), record_epsilon=4).plot()
    assert figure.words[0] == "Noisy values, record epsilon 4"
    assert dp.dp_calculate([50, 60, 70], "mean", "high").plot().words[0] == "Noisy values, noise factor high"


def test_original_of_a_table_is_refused_where_it_would_not_be_drawn():
    release = dp.histogram([61, 67, 70] * 30, edges=[50, 60, 70, 80], epsilon=1.0)
    exact = [0, 60, 30]
    assert [trace.name for trace in release.plot(original=exact).data] == ["original", "released"]
    with pytest.raises(ParameterError, match="next to bars and points, not as kind='box'; use kind='bar'"):
        release.plot(original=exact, kind="box")
    assert "owner" not in release.plot(kind="box").words[1]

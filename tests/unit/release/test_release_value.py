"""Release: a frozen value that can be stored, shown and turned into tables."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import pydplib as dp
from pydplib.errors import DataError, ParameterError

HISTOGRAM = dp.histogram([61, 67, 70] * 300, edges=[50, 60, 70, 80], epsilon=1.0)


def test_release_through_json_is_the_same_and_so_is_its_text():
    for release in (HISTOGRAM, dp.mean([1, 2, 3], bounds=(0, 5), epsilon=0.5), dp.count([1], epsilon=1.0)):
        again = dp.Release.from_json(release.to_json())
        assert again == release
        assert again.to_json() == release.to_json()
        json.loads(release.to_json())


def test_release_from_other_text_is_a_clear_error():
    for text in ("", "[1]", "{}", '{"format": "pydplib-release/99"}', '{"format": "pydplib-release/1"}'):
        with pytest.raises(DataError, match="stored release"):
            dp.Release.from_json(text)


def test_release_value_is_a_number_or_a_read_only_array():
    assert isinstance(dp.count([1], epsilon=1.0).value, int)
    assert isinstance(dp.mean([1], bounds=(0, 2), epsilon=1.0).value, float)
    assert HISTOGRAM.value.shape == (3,)
    with pytest.raises(ValueError, match="read-only"):
        HISTOGRAM.value[0] = 1


def test_release_is_frozen():
    with pytest.raises(AttributeError):
        HISTOGRAM.values = (1, 2, 3)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_release_frame_comes_in_the_library_asked_for(backend):
    frame = HISTOGRAM.to_frame(backend=backend)
    assert type(frame).__module__.split(".")[0] == backend
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert names == ["from", "to", "value", "low95", "high95", "margin95"]
    assert len(frame) == 3


def test_release_frame_in_an_unknown_library_suggests_one():
    with pytest.raises(ParameterError, match="Did you mean 'polars'"):
        HISTOGRAM.to_frame(backend="polar")


def test_release_words_tell_value_margin_guarantee_and_cost_and_sampling_apart():
    text = str(dp.mean([61, 67, 70] * 300, bounds=(18, 100), epsilon=1.0))
    assert "mean" in text and "±" in text
    assert "Differentially private with epsilon 1" in text
    assert "cost       epsilon 1" in text
    assert "the margin covers the noise alone" in text
    assert "one element of the list" in text and "values are clamped to 18-100" in text


def test_release_words_name_small_groups_by_their_noisy_size(session):
    release = session.release(dp.Mean("age", by="pirads", where=[dp.Where("age").at_most(51)]), epsilon=1.0)
    assert release.sizes is not None and all(size < 100 for size in release.sizes)
    assert "in small groups chance alone weighs more" in str(release)


def test_release_shown_margin_is_rounded_up_never_down():
    from pydplib.release.results.words import show_margin

    for margin in (0.12345, 0.1999, 2.01, 12.001, 999.4, 3.0, 1e-7):
        assert float(show_margin(margin)) >= margin - 1e-12 * margin
        assert float(show_margin(margin)) <= margin * 1.11


def test_release_html_escapes_what_the_owner_wrote():
    release = dp.Release(
        question={"ask": "count", "of": "rows", "by": [{"column": "<script>alert(1)</script>"}]},
        values=(1, 2),
        guarantee=dp.PureDP(1.0),
        cost=dp.budget.Cost.pure(1, mechanism="laplace"),
        mechanism="discrete Laplace",
        scale=1.0,
        sensitivity=1.0,
        axes=(dp.release.Axis("<b>", ("<i>", "x")),),
    )
    assert "<script" not in release._repr_html_() and "<i>" not in release._repr_html_()


def test_release_with_a_wrong_number_of_values_is_refused():
    with pytest.raises(ParameterError, match="one entry of values per cell"):
        replace(HISTOGRAM, values=(1, 2))


def test_release_holds_no_nan():
    with pytest.raises(ParameterError, match="numbers only"):
        replace(HISTOGRAM, values=(1, 2, float("nan")))


def test_release_plot_draws_bars_with_margins():
    figure = HISTOGRAM.plot()
    # The first bin holds nobody: where the noise left it below 0 its bar is drawn shorter.
    assert np.allclose(figure.data[0].error_y.array[1:], 3)
    assert "Differentially private" in figure.words[1]


def test_import_of_release_needs_neither_pandas_nor_plotly_nor_duckdb():
    code = (
        "import sys, pydplib as dp; dp.mean([1, 2, 3], bounds=(0, 5), epsilon=1.0); str(dp.count([1], epsilon=1.0));"
        "print([m for m in ('pandas', 'polars', 'plotly', 'duckdb', 'narwhals', 'click') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_release_of_a_table_without_persons_protects_one_row_and_says_so():
    rows = {"id": [1, 1, 2], "age": [61.0, 62.0, 70.0]}
    columns = {"age": dp.Number(18, 100)}
    alone = dp.load(pd.DataFrame(rows), dp.Schema(columns, name="alone"))
    known = dp.load(pd.DataFrame(rows), dp.Schema(columns, person="id", max_rows_per_person=2, name="known"))
    said = [str(dp.Session(t, recipient="a", budget=1.0).release(dp.Mean("age"), epsilon=1.0)) for t in (alone, known)]
    assert "one row, added or removed; a person with several rows has proportionally less protection." in said[0]
    assert "with all of that person's rows" in said[1] and "with all of that person's rows" not in said[0]

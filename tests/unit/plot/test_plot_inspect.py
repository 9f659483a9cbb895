"""The leak detector itself: it must find rows however Plotly packs them."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from pydplib import plot


def test_arrays_packed_as_base64_are_decoded():
    rows = np.arange(40, 60, dtype=np.int16)
    figure = go.Figure(go.Histogram(x=rows))
    assert "bdata" in figure.to_json()
    assert np.array_equal(plot.figure_arrays(figure)["data.0.x"], rows)


def test_tables_packed_as_base64_keep_their_shape():
    cells = np.arange(6.0).reshape(2, 3)
    found = plot.figure_arrays(go.Figure(go.Heatmap(z=cells)))["data.0.z"]
    assert np.array_equal(found, cells)


def test_plain_lists_nested_dicts_and_json_text_are_found_too():
    figure = {
        "data": [{"marker": {"size": [1, 2, 3]}, "customdata": [[1, 2], [3, 4]]}],
        "layout": {"meta": {"a": ["x"]}},
    }
    found = plot.figure_arrays(figure)
    assert found["data.0.marker.size"].tolist() == [1, 2, 3]
    assert found["data.0.customdata"].tolist() == [[1, 2], [3, 4]]
    assert found["layout.meta.a"].tolist() == ["x"]
    assert plot.figure_arrays('{"data": [{"y": [5]}]}')["data.0.y"].tolist() == [5]


def test_uneven_lists_do_not_stop_the_search():
    assert plot.figure_arrays({"data": [{"y": [[1], [2, 3]]}]})["data.0.y"].shape == (2,)

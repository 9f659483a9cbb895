"""The charts: what they draw, what they refuse, and that they carry aggregates alone."""

from __future__ import annotations

import numpy as np
import pytest

from pydplib import plot
from pydplib.errors import ParameterError


def test_bar_with_margins_has_error_bars_where_they_are_known_and_nowhere_else():
    figure = plot.bar(["yes", "no"], {"original": [5, 6], "high": [4, 7]}, margins={"high": [1.0, 2.0]})
    original, high = figure.data
    assert original.error_y.array is None
    assert high.error_y.array == (1.0, 2.0)
    assert (original.marker.color, high.marker.color) == (plot.TONES["original"], plot.TONES["high"])
    assert figure.layout.showlegend is True


def test_bar_of_one_series_has_no_legend_and_keeps_numbers_as_categories():
    figure = plot.bar([1, 2, 3], {"reports": [5, 6, 7]})
    assert figure.layout.showlegend is False
    assert figure.layout.xaxis.type == "category" and figure.data[0].x == ("1", "2", "3")


def test_line_keeps_gaps_and_series_without_a_meaning_get_colours_in_order():
    figure = plot.line([1, 2, 3], {"a": [1, np.nan, 3], "b": [1, 2, 3]})
    assert np.isnan(figure.data[0].y[1])
    assert [trace.line.color for trace in figure.data] == list(plot.COLORWAY[:2])


def test_box_is_drawn_from_five_numbers_and_holds_no_rows():
    figure = plot.box(["4", "5"], {"low": [plot.Box(40, 60, 65, 70, 90), plot.Box(41, 61, 66, 71, 91)]})
    (trace,) = figure.data
    assert trace.y is None and trace.boxpoints is False and trace.mean is None
    assert (trace.lowerfence, trace.q1, trace.median) == ((40, 41), (60, 61), (65, 66))
    with_mean = plot.box(["4"], {"low": [plot.Box(40, 60, 65, 70, 90, mean=64.5)]})
    assert with_mean.data[0].mean == (64.5,)


def test_heatmap_with_margins_says_them_at_every_cell_and_fades_what_they_swallow():
    drawn = plot.heatmap(["a", "b", "c"], ["u"], [[3, np.nan, 1]], margins=[[2, 2, 2]], value_title="reports")
    cells, faint = drawn.data
    assert cells.z[0][0] == 3 and cells.z[0][2] is None, "a number below its margin has no colour"
    assert cells.texttemplate == "%{z:,.4~g}", "no margin is written into a cell"
    assert list(cells.customdata[0]) == [2.0, 2.0, 2.0] and "± %{customdata:,.3~g} (95 %)" in cells.hovertemplate
    assert (faint.mode, faint.x, faint.y, faint.text) == ("text", ("c",), ("u",), ("1",)) and faint.opacity < 1
    assert len(plot.heatmap(["a"], ["u"], [[3]], margins=2).data) == 1
    (whole,) = plot.heatmap(["a", "b"], ["u"], [[1, 2]], margins=9).data
    assert list(whole.z[0]) == [1, 2], "where all are lost, all are drawn"
    assert plot.heatmap(["a"], ["u"], [[3]]).data[0].customdata is None


def test_heatmap_with_a_limit_keeps_colours_comparable():
    figure = plot.heatmap(["a"], ["u", "v"], [[3], [9]], limit=40)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0.0, 40.0)
    assert figure.layout.yaxis.autorange == "reversed"  # the first row on top, as in a table


def test_bubbles_leave_out_empty_cells_and_have_areas_in_proportion():
    figure = plot.bubbles([60, 61, 62], [1, 2, 3], [0, 10, 40], name="low")
    marker = figure.data[0].marker
    assert figure.data[0].x == (61, 62) and marker.sizemode == "area" and marker.size == (10.0, 40.0)
    assert marker.sizeref == pytest.approx(2 * 40 / 24**2)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plot.bar(["a", "b"], {"n": [1]}),
        lambda: plot.line([1, 2], {"n": [1, 2, 3]}),
        lambda: plot.box(["a"], {"n": []}),
        lambda: plot.heatmap(["a"], ["b"], [[1, 2]]),
        lambda: plot.bubbles([1], [1, 2], [1]),
        lambda: plot.panels({}),
    ],
)
def test_shapes_that_do_not_fit_are_refused(draw):
    with pytest.raises(ParameterError):
        draw()


def test_no_builder_packs_arrays_so_that_figures_can_be_read_over():
    figure = plot.bar(np.array(["a", "b"]), {"n": np.array([1, 2])}, margins={"n": np.array([0.5, 0.5])})
    assert "bdata" not in figure.to_json()
    assert "bdata" not in plot.bubbles(np.arange(3), np.arange(3), np.ones(3)).to_json()


def _rectangles(layout, count):
    for number in range(1, count + 1):
        suffix = "" if number == 1 else number
        yield (*layout[f"xaxis{suffix}"]["domain"], *layout[f"yaxis{suffix}"]["domain"])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_panels_do_not_overlap_on_wide_or_narrow_screens(count):
    parts = {str(i): plot.bar(["a"], {"n": [i]}, y_title="reports") for i in range(count)}
    figure = plot.panels(parts, columns=2)
    narrow = figure.layout.meta["narrow"]
    for layout, abreast in ((figure.layout, min(2, count)), (narrow, 1)):
        boxes = list(_rectangles(layout, count))
        assert len({box[:2] for box in boxes}) == abreast
        for i, (left, right, bottom, top) in enumerate(boxes):
            assert 0 <= left < right <= 1 + 1e-9 and 0 <= bottom < top <= 1 + 1e-9
            for other_left, other_right, other_bottom, other_top in boxes[i + 1 :]:
                apart = right <= other_left or other_right <= left or top <= other_bottom or other_top <= bottom
                assert apart
    assert narrow["height"] >= figure.layout.height
    assert len(figure.layout.annotations) == len(narrow["annotations"]) == count


def test_panels_say_the_y_title_once_per_row_and_again_on_narrow_screens():
    parts = {name: plot.bar(["a"], {"n": [1]}, y_title="reports") for name in ("original", "low")}
    figure = plot.panels(parts)
    assert (figure.layout.yaxis.title.text, figure.layout.yaxis2.title.text) == ("reports", "")
    assert figure.layout.meta["narrow"]["yaxis2"]["title"]["text"] == "reports"
    assert figure.layout.yaxis2.matches == "y"


def test_heatmap_breaks_long_labels_of_rows_on_narrow_screens():
    figure = plot.heatmap(["< 50", "50-59", "60-69", "70-79", "80 +"], ["acute on chronic", "none"], [[1] * 5, [2] * 5])
    wide, narrow = figure.drawn(width=960), figure.drawn(width=390)
    assert wide.layout.yaxis.ticktext is None
    assert narrow.layout.yaxis.ticktext == ("acute on<br>chronic", "none")
    assert narrow.layout.xaxis.tickfont.size == 10


@pytest.mark.parametrize(
    ("margin", "shown"),
    [(8.99, 9), (18.1, 19), (18, 18), (0.123, 0.13), (1234.5, 1235), (0, 0)],
)
def test_margins_of_cells_are_short_and_rounded_up(margin, shown):
    figure = plot.heatmap(["a", "b"], ["c"], [[3, 9999]], margins=margin)
    assert figure.data[0].customdata[0][1] == shown


def test_narrow_pictures_stack_their_panels_as_pages_do():
    part = plot.box(["1", "2"], {"low": [plot.Box(1, 2, 3, 4, 5)] * 2})
    figure = plot.panels({"one": part, "two": part}, title="Two", caption="Made up.")
    wide, narrow = figure.drawn(width=960), figure.drawn(width=390)
    assert wide.layout.yaxis.domain == wide.layout.yaxis2.domain
    assert narrow.layout.yaxis.domain[0] > narrow.layout.yaxis2.domain[1]
    assert narrow.layout.xaxis.tickangle == 0 and narrow.layout.height > wide.layout.height


def test_narrow_pictures_keep_the_legend_below_the_title():
    bars = plot.bar(["a"], {"low": [1], "high": [2]}, title="Bars")
    assert bars.drawn(width=390).layout.margin.t == bars.drawn(width=960).layout.margin.t + 26


def test_narrow_axis_of_many_ranges_labels_every_second_one():
    ages = ["< 50", "50–54", "55–59", "60–64", "65–69", "70–74", "75–79", "80 +"]
    narrow = plot.bar(ages, {"n": range(8)}).layout.meta["narrow"]["xaxis"]
    assert list(narrow["tickvals"]) == ages[::2]
    findings = ["chronic", "yes", "none", "acute", "acute on chronic", "other", "missing"]
    assert len(plot.bar(findings, {"n": range(7)}).layout.meta["narrow"]["xaxis"]["tickvals"]) == 7

"""Figures of releases: series next to each other, every colour once, nothing that the noise alone made."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

import pydplib as dp
from pydplib import plot
from pydplib.budget import Cost
from pydplib.plot.releases import axis_labels
from pydplib.release import Release
from pydplib.release.results.axes import Axis

SEX = Axis("sex", ("f", "m", "other"))
SIDE = Axis("side", ("left", "right", "both"))
SCORE = Axis("score", (1, 2, 3, 4, 5))


def counts(axes, values, margin=6.0, **more):
    return Release(
        question={"ask": "crosstab", "by": [{"column": axis.name} for axis in axes]},
        values=tuple(values),
        guarantee=dp.PureDP(1.0),
        cost=Cost.pure(1.0, mechanism="laplace"),
        mechanism="laplace",
        scale=1.0,
        sensitivity=1.0,
        axes=tuple(axes),
        low=tuple(max(0.0, value - margin) for value in values),
        high=tuple(value + margin for value in values),
        margins=(margin,) * len(values),
        unit="rows",
        **more,
    )


def means(axes, values, sizes, low=None, high=None):
    made = counts(axes, values, margin=1.0)
    low = [value - 1 for value in values] if low is None else low
    high = [value + 1 for value in values] if high is None else high
    question = {"ask": "mean", "of": "age", "by": [{"column": axis.name} for axis in axes]}
    return dataclasses.replace(made, question=question, unit="years", low=low, high=high, sizes=sizes)


def test_means_by_two_columns_lie_next_to_each_other_with_error_bars_in_their_colours():
    two = Axis("sex", ("f", "m"))
    figure = means([SCORE, two], np.arange(10) + 60.0, [500] * 10).plot()
    assert figure.layout.scattermode == "group"
    assert len({trace.offsetgroup for trace in figure.data}) == 2
    colours = [trace.marker.color for trace in figure.data]
    assert len(set(colours)) == 2
    assert [trace.error_y.color for trace in figure.data] == colours


@pytest.mark.parametrize("kind", [None, "bar"])
def test_table_of_three_columns_uses_panels_and_no_colour_twice(kind):
    figure = counts([Axis("sex", ("f", "m")), SIDE, SCORE], np.arange(30) + 100.0).plot(kind=kind)
    axes = {}
    for trace in figure.data:
        axes.setdefault(trace.xaxis, []).append(trace)
    assert len(axes) == (2 if kind is None else 5)
    titles = [note.text for note in figure.layout.annotations]
    assert titles[0] == ("sex: f" if kind is None else "score: 1")
    for traces in axes.values():
        colours = [trace.marker.color for trace in traces if trace.type == "bar"]
        assert len(set(colours)) == len(colours)
    drawn = [value for trace in figure.data for value in np.ravel(trace.z if kind is None else trace.y)]
    assert sorted(drawn) == list(np.arange(30) + 100.0)
    if kind is None:
        assert len({trace.zmax for trace in figure.data}) == 1


@pytest.mark.parametrize("shape", [(3, 9), (9, 9), (2, 9, 2)])
def test_more_values_than_colours_are_swapped_or_become_panels(shape):
    axes = [Axis(f"c{place}", tuple(f"{place}{i}" for i in range(size))) for place, size in enumerate(shape)]
    values = np.arange(np.prod(shape)) + 50.0
    figure = means(axes, values, [500] * values.size).plot(original=values.reshape(shape))
    panels: dict = {}
    for trace in figure.data:
        panels.setdefault(trace.xaxis, []).append(trace)
    for traces in panels.values():
        colours = [trace.marker.color for trace in traces]
        assert len(set(colours)) == len(colours)
    released = [float(y) for trace in figure.data if not trace.name.startswith("original") for y in trace.y]
    exact = [float(y) for trace in figure.data if trace.name.startswith("original") for y in trace.y]
    assert sorted(released) == sorted(exact) == values.tolist()
    for trace in figure.data:  # each point is drawn at its own label
        if trace.name.startswith("original"):
            name = trace.name.removeprefix("original").removeprefix(", ") or "released"
            twin = next(other for other in figure.data if other.xaxis == trace.xaxis and other.name == name)
            assert trace.x == twin.x and trace.y == twin.y


def test_other_within_its_margin_is_left_out_and_the_caption_says_so():
    figure = counts([SEX], [300.0, 280.0, 4.0]).plot()
    assert figure.data[0].x == ("f", "m")
    assert "Not drawn, because the noise alone can have made it: “other” of sex." in figure.words[1]
    kept = counts([SEX], [300.0, 280.0, 7.0]).plot()
    assert kept.data[0].x == ("f", "m", "other") and "Not drawn" not in kept.words[1]


def test_other_of_a_mean_that_says_nothing_does_not_stretch_the_axis():
    made = means([SEX], [66.0, 65.0, 71.0], [2500, 2400, 3], [65, 64, 18], [67, 66, 100])
    figure = made.plot()
    low, high = figure.layout.yaxis.range
    assert figure.data[0].x == ("f", "m") and 63 < low < 64 and 67 < high < 68
    # Some rows, and an interval that says something: it is drawn.
    real = means([SEX], [66.0, 65.0, 71.0], [2500, 2400, 25], [65, 64, 69], [67, 66, 73]).plot()
    assert real.data[0].x == ("f", "m", "other")
    # A declared group is drawn, however small.
    declared = dataclasses.replace(made, axes=(Axis("sex", ("f", "m", "d")),)).plot()
    assert declared.data[0].x == ("f", "m", "d")


def test_caption_says_which_share_of_rows_is_beyond_the_limit_where_that_was_bought():
    said = "At least about 77 % of rows are beyond the limit of 2 rows per person (noisy)."
    bought = counts([SEX], [300.0, 280.0, 40.0], notes=(said, "Another note."))
    assert said in bought.plot().words[1] and "Another note" not in bought.plot().words[1]
    assert "beyond" not in counts([SEX], [300.0, 280.0, 40.0]).plot().words[1]


def test_other_alone_is_still_drawn():
    assert counts([Axis("sex", ("other",))], [2.0]).plot().data[0].x == ("other",)


def test_original_follows_what_is_left_out():
    figure = counts([SEX], [300.0, 280.0, 4.0]).plot(original=[301, 279, 0])
    assert [trace.y for trace in figure.data] == [(301.0, 279.0), (300.0, 280.0)]
    assert "for the data owner only" in figure.words[1]


def test_intervals_of_medians_from_a_table_are_error_bars_and_ranks_are_said_in_words():
    made = means([SEX], [66.0, 65.0, 64.0], [900, 900, 900], [61, 61, 60], [67, 67, 66])
    median = dataclasses.replace(made, question={"ask": "median", "of": "age"})
    error = median.plot().data[0].error_y
    assert error.array == (1.0, 2.0, 2.0) and error.arrayminus == (5.0, 4.0, 4.0)
    ranks = dataclasses.replace(median, low=None, high=None, margin_unit="ranks", margins=(21.0,) * 3).plot()
    assert ranks.data[0].error_y.array is None
    assert "No error bars: the margin counts ranks, ± 21 rows (95 %)." in ranks.words[1]


def test_rows_per_person_are_bars_of_persons():
    axis = Axis("rows", ("1", "2", "3 to 4"), title="rows per person")
    made = dataclasses.replace(counts([axis], [120.0, 40.0, 3.0]), question={"ask": "rows_per_person"}, unit="persons")
    figure = made.plot()
    assert figure.data[0].type == "bar" and figure.layout.yaxis.title.text == "persons"
    assert figure.layout.xaxis.title.text == "rows per person"


def test_labels_of_many_date_bins_never_overlap():
    edges = np.arange("2017-01-05", "2019-01-05", 30, dtype="datetime64[D]").astype(str).tolist()
    axis = Axis("day", tuple(pairwise(edges)), kind="bins")
    figure = counts([axis], np.arange(len(axis.keys)) + 100.0).plot()
    for layout, width in ((figure.layout.xaxis, 860), (figure.layout.meta["narrow"]["xaxis"], 270)):
        texts, angle = layout["ticktext"], layout["tickangle"]
        longest = max(len(line) for text in texts for line in text.split("<br>"))
        assert angle == 0 and longest * 7 * len(texts) <= width * 1.15
    # Lines of labels have their room below the plot, before the caption.
    assert figure.layout.margin.b >= 48 + 16


def test_long_names_are_slanted_not_left_out():
    names = tuple(f"department of very long names {i}" for i in range(12))
    figure = counts([Axis("place", names)], np.arange(12) + 100.0).plot()
    assert figure.layout.xaxis.tickangle == -40 and len(figure.layout.xaxis.ticktext) == 12


def test_date_bins_of_whole_years_and_months_are_named_so():
    years = Axis("day", (("2017-01-01", "2018-01-01"), ("2018-01-01", "2019-01-01")), kind="bins")
    assert axis_labels(years) == ["2017", "2018"]
    odd = Axis("day", (("2017-01-01", "2017-04-03"), ("2017-04-03", "2018-01-01")), kind="bins")
    assert axis_labels(odd) == list(odd.labels)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_numbers_in_cells_have_contrast_on_every_colour_of_the_scale(mode):
    cells = plot.template(mode)["data"]["heatmap"][0]
    stops = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for _, colour in cells["colorscale"]]
    text = luminance(cells["textfont"]["color"])
    for first, second in pairwise(stops):
        for part in np.linspace(0, 1, 9):
            mixed = [round(a + (b - a) * part) for a, b in zip(first, second, strict=True)]
            cell = luminance("#" + "".join(f"{c:02x}" for c in mixed))
            bright, dim = max(text, cell), min(text, cell)
            assert (bright + 0.05) / (dim + 0.05) >= 4.5

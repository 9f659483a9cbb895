"""Figures of clinical statistics: what is written must be readable."""

from __future__ import annotations

import pytest

import pydplib as dp
from pydplib.plot._figure import Figure
from pydplib.plot._theme import template


@pytest.fixture(scope="module")
def survival() -> Figure:
    visits = dp.load(dp.datasets.follow_up(backend="pandas"), dp.datasets.follow_up_schema())
    session = dp.Session(visits, recipient="acme", budget=dp.PureDP(1.0))
    figure = session.release(dp.clinic.Survival("months", "recurrence", by="arm", bins=12), epsilon=1.0).plot()
    assert isinstance(figure, Figure)
    return figure


def test_numbers_at_risk_have_a_line_of_text_each(survival: Figure) -> None:
    margin = template("light")["layout"]["margin"]
    inside = survival.layout.height - margin["t"] - margin["b"]
    table, curves = survival.layout.yaxis2, survival.layout.yaxis
    per_row = inside * (table.domain[1] - table.domain[0]) / (table.range[1] - table.range[0])
    assert per_row >= 20  # text of 12 or 13 pixels, with space between the lines
    assert inside * (curves.domain[0] - table.domain[1]) >= 60  # ticks, title of the axis, heading of the table


def test_numbers_at_risk_fit_next_to_each_other_on_a_phone(survival: Figure) -> None:
    rows = [trace for trace in survival.data if trace.yaxis == "y2"]
    assert [len(trace.x) <= 7 for trace in rows] == [True, True]


def test_legend_names_the_groups_in_the_order_of_the_table(survival: Figure) -> None:
    assert survival.layout.legend.traceorder == "normal"
    assert [trace.name for trace in survival.data if trace.name] == list(survival.layout.yaxis2.ticktext)


def test_forest_plot_has_its_words_above_the_lines_on_a_phone() -> None:
    reports = dp.load(dp.datasets.pirads(backend="pandas"), dp.datasets.pirads_schema())
    session = dp.Session(reports, recipient="acme", budget=dp.PureDP(1.0))
    figure = session.release(dp.clinic.OddsRatio("bph", by="prostatitis"), epsilon=1.0).plot()
    wide, slim = figure.drawn(width=960), figure.drawn(width=390)
    assert wide.layout.margin.r == 190 and slim.layout.margin.r <= 20
    above = [note for note in slim.layout.annotations if note.yshift == 16]
    assert [note.text.split(":")[0] for note in above] == list(wide.layout.yaxis.ticktext)


def test_yes_and_no_say_of_what():
    with dp.load(dp.datasets.pirads(backend="pandas"), dp.datasets.pirads_schema()) as table:
        session = dp.Session(table, recipient="acme", budget=10.0, policy=dp.Policy(data_set_budget=20.0))
        ratio = session.release(dp.clinic.OddsRatio("bph", by="pca_no_pirads"), epsilon=1.0).plot()
        curves = session.release(dp.clinic.Survival("age", "bph", by="pca_no_pirads", bins=4), epsilon=1.0).plot()
    assert ratio.layout.yaxis.ticktext == ("Cancer without a PI-RADS score: yes",)
    assert curves.layout.legend.title.text == "Cancer without a PI-RADS score: "

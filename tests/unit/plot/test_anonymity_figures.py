"""Figures of anonymization: right numbers, original only when asked for, and nothing but aggregates inside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pydplib import plot
from pydplib.anonymity import Intervals, KAnonymity, Lattice, LatticeNode, Loss, anonymize, lattice_of, risk
from pydplib.errors import ParameterError
from pydplib.plot import anonymity as figures


def risk_of(*sizes: int):
    ages = [age for age, size in enumerate(sizes) for _ in range(size)]
    return risk(pd.DataFrame({"age": ages}), ["age"])


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.integers(20, 80, 300), "sex": rng.choice(["f", "m"], 300)})
    return anonymize(table, {"age": Intervals(0, 99, [10, 20]), "sex": None}, models=[KAnonymity(5)], suppression=0.02)


def test_chances_are_cut_at_the_usual_thresholds():
    found = risk_of(1, 2, 4, 5, 11, 12, 19, 20)
    shares = np.array(figures.chance_shares(found)) * 74 / 100
    assert shares.tolist() == pytest.approx([1, 2, 4, 16, 31, 20])
    # The bars above a threshold are the people at risk.
    assert found.prosecutor.at_risk[0.2] == pytest.approx(7 / 74)
    assert found.prosecutor.at_risk[0.09] == pytest.approx(23 / 74)
    assert found.prosecutor.at_risk[0.05] == pytest.approx(54 / 74)


def test_histogram_shows_the_original_only_when_it_is_given():
    after, before = risk_of(5, 5), risk_of(1, 1, 8)
    assert [trace.name for trace in figures.risk_histogram(after).data] == ["released"]
    both = figures.risk_histogram(after, before=before)
    assert [trace.name for trace in both.data] == ["original", "released"]
    assert both.data[0].y[0] == pytest.approx(20) and both.data[1].y == (0, 0, 0, 100, 0, 0)
    assert "data owner only" in both.words[1] and figures.risk_histogram(after).words[1] == ""


def test_class_sizes_are_shares_of_all_classes_and_cover_them():
    after, before = risk_of(5, 9, 1500), risk_of(1, 1, 3, 60)
    figure = figures.class_sizes(after, before=before)
    labels = figure.data[0].x
    assert labels[0] == "1" and labels[-1] == "1,000+"
    assert sum(figure.data[0].y) == pytest.approx(100) and sum(figure.data[1].y) == pytest.approx(100)
    assert dict(zip(labels, figure.data[1].y, strict=True))["5–9"] == pytest.approx(200 / 3)
    bins = figures.size_bins(after, before)
    assert sum(figures.count_classes(after, bins)) == 3 and sum(figures.count_classes(before, bins)) == 4


@pytest.mark.parametrize("largest", [1, 2, 4, 5, 99, 100, 999, 1000, 5000])
def test_size_bins_cover_every_size_once(largest):
    bins = figures.size_bins(risk_of(largest))
    for size in {1, 2, 4, 5, 9, 10, 19, 99, 100, largest}:
        if size <= largest:
            assert sum(low <= size <= high for low, high, _ in bins) == 1


def test_loss_is_drawn_per_column_and_long_names_lean_on_phones():
    names = {"department_code": 0.5, "last_modified": 0.25, "marital_status": 0.0}
    figure = figures.loss_per_column(
        Loss(granularity=0.25, precision=0, entropy=0, discernibility=0, class_size=0, ncp=0, columns=names)
    )
    assert figure.data[0].y == (50.0, 25.0, 0.0)
    assert figure.layout.meta["narrow"]["xaxis"]["tickangle"] == -40
    short = figures.loss_per_column(
        Loss(granularity=0.25, precision=0, entropy=0, discernibility=0, class_size=0, ncp=0, columns={"a": 1.0})
    )
    assert short.layout.meta["narrow"]["xaxis"]["tickangle"] == 0


def test_frontier_joins_equal_points_and_marks_the_chosen_k():
    points = [
        figures.RiskLossPoint(k=10, risk=0.1, expected=0.02, loss=0.4, suppressed=0.0),
        figures.RiskLossPoint(k=2, risk=0.2, expected=0.03, loss=0.3, suppressed=0.0),
        figures.RiskLossPoint(k=5, risk=0.2, expected=0.03, loss=0.3, suppressed=0.0),
    ]
    figure = figures.risk_utility(points, chosen=5)
    assert figure.data[0].text == ("k = 2, 5", "k = 10")
    assert figure.data[0].x == (20.0, 10.0) and figure.data[0].y == (30.0, 40.0)
    assert (figure.data[1].name, figure.data[1].x) == ("chosen", (20.0,))
    assert len(figures.risk_utility(points, chosen=7).data) == 1
    with pytest.raises(ParameterError):
        figures.risk_utility([])


def test_lattice_has_a_point_per_node_and_an_edge_per_step(result):
    found = lattice_of(result)
    figure = figures.lattice(found)
    points = sum(len(trace.x) for trace in figure.data[1:])
    assert points == len(found.nodes) == 4 * 2
    edges = sum(x is None for x in figure.data[0].x)
    assert edges == 3 * 2 + 4 * 1
    chosen = next(trace for trace in figure.data if trace.name == "chosen")
    assert len(chosen.x) == 1 and chosen.y[0] == sum(result.levels.values())


def test_lattice_agrees_with_the_search(result):
    found = lattice_of(result)
    fitting = [node for node in found.nodes if node.loss is not None]
    best = min(fitting, key=lambda node: node.loss)
    assert best.loss == pytest.approx(result.loss.granularity) and best.chosen
    assert next(node for node in fitting if node.chosen).suppressed == pytest.approx(result.suppressed.share)
    assert lattice_of(result, most=7) is None


def test_lattice_of_one_node_is_drawn():
    alone = Lattice(("a",), (0,), (LatticeNode((0,), 0.0, 0.0, True),), "granularity")
    assert [trace.name for trace in figures.lattice(alone).data[1:]] == ["chosen"]


def test_draw_shows_a_release_with_its_guarantee_and_the_original_only_for_the_owner(result):
    figure = plot.draw(result)
    assert [trace.name for trace in figure.data] == [
        "released"
    ] and f"{result.certificate.k}-anonymity" in figure.words[1]
    owner = plot.draw(result, original=True, title="Mine")
    assert len(owner.data) == 2 and owner.words[0] == "Mine" and "owner only" in owner.words[1]


def test_figures_hold_aggregates_and_no_column_of_the_table(result):
    drawn = [figures.risk_histogram(result.risk.after, before=result.risk.before), figures.lattice(lattice_of(result))]
    for figure in drawn:
        assert all(len(array) < 100 for array in plot.figure_arrays(figure).values())

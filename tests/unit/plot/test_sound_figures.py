"""The paper's figures as sound releases: their questions, drawings, tables, and the margins read off a table."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import pydplib as dp
from pydplib.datasets import pirads, pirads_schema
from pydplib.errors import ParameterError
from pydplib.noise.testing import seeded
from pydplib.plot import figure_arrays
from pydplib.plot.recipes.sound import (
    AGE_EDGES,
    SOUND_FIGURES,
    ages_of,
    averages_of,
    guarantee_of,
    release_like,
    sound_figure,
)
from pydplib.release.facts import Facts
from pydplib.schema import Number, Schema


@pytest.fixture(scope="module")
def cohort() -> Any:
    return pirads(n=920, backend="numpy")


@pytest.fixture(scope="module")
def asked() -> dict[str, list[Any]]:
    with dp.load(pirads(n=920), pirads_schema()) as table:

        def release(question: Any) -> Any:  # a ledger each: they share no budget
            return dp.Session(table, recipient="partner", budget=dp.PureDP(1.0)).release(question, epsilon=1.0)

        return {
            name: [release(question) for question in figure.ask(table.schema)] for name, figure in SOUND_FIGURES.items()
        }


@pytest.mark.parametrize("name", SOUND_FIGURES)
def test_every_figure_says_guarantee_and_cost_and_has_a_table(asked: Any, name: str) -> None:
    drawn = SOUND_FIGURES[name].draw(asked[name], None)
    title, caption = drawn.figure.words
    assert title == SOUND_FIGURES[name].title
    assert "Differentially private with epsilon" in caption
    assert "Cost: epsilon" in caption
    assert "owner" not in caption
    assert drawn.table.rows
    assert all(array.size <= 64 for array in figure_arrays(drawn.figure).values()), "aggregates, never rows"


@pytest.mark.parametrize("name", SOUND_FIGURES)
def test_originals_enter_only_when_they_are_given_and_are_said(asked: Any, name: str) -> None:
    exact = [np.full(len(release.values), 7654321.0) for release in asked[name]]
    drawn = SOUND_FIGURES[name].draw(asked[name], exact)
    assert "for the data owner only" in drawn.figure.words[1]
    without = SOUND_FIGURES[name].draw(asked[name], None)
    if name not in ("3", "4", "age-by-score"):  # ages of a table of equal counts
        assert "7654321" in str(drawn.table.rows) + str(drawn.figure.to_plotly_json())
    assert "7654321" not in str(without.table.rows) + str(without.figure.to_plotly_json())


def test_a_schema_without_the_fields_has_the_age_histogram_alone() -> None:
    schema = Schema({"age": Number(18, 100)})
    assert [name for name, figure in SOUND_FIGURES.items() if figure.ask(schema)] == ["5"]


def test_unknown_figure_is_refused() -> None:
    with pytest.raises(ParameterError, match="no such figure"):
        sound_figure("6")


def test_several_answers_cost_their_sum(asked: Any) -> None:
    assert "Cost: epsilon 4 for 4 answers together." in guarantee_of(asked["findings"])


def test_mean_ages_read_off_a_table_lie_within_their_margins(cohort: Any) -> None:
    """The margin is about the noise alone: compared with the same means from the exact table, 60 times."""
    ages, scores = np.asarray(cohort["age"], float), np.asarray(cohort["pirads"], float)
    table = np.array(
        [
            [((ages >= low) & (ages < high) & (scores == score)).sum() for score in range(1, 6)]
            for low, high in zip(AGE_EDGES[:-1], (*AGE_EDGES[1:-1], 101), strict=True)
        ],
        dtype=float,
    )
    middles = np.array([(low + high) / 2 for low, high in pairwise(AGE_EDGES)])
    exact = middles @ table / table.sum(axis=0)
    found = []
    with dp.load(pirads(n=920), pirads_schema()) as loaded:
        question = SOUND_FIGURES["score-by-age"].ask(loaded.schema)[0]
        for _ in range(60):  # a ledger of its own each: another draw
            release = dp.Session(loaded, recipient="r", budget=dp.PureDP(5.0)).release(question, epsilon=2.0)
            groups = zip(ages_of(release), exact, strict=True)
            found += [(abs(group.mean - truth), group.margin) for group, truth in groups if group is not None]
    assert len(found) > 200
    # 95 % are meant: below 85 % of 200 has a chance of 1e-9. A third of the margin holds some 60 %, and is noticed.
    assert np.mean([off <= margin for off, margin in found]) > 0.85
    assert np.mean([off <= margin / 3 for off, margin in found]) < 0.85


def test_average_ages_of_figure_3_lie_within_their_margins(cohort: Any) -> None:
    """Compared with the same averages from the exact table, 60 times; 95 % are meant."""
    found = []
    with dp.load(pirads(n=920), pirads_schema()) as loaded:
        prepared = Facts.of(SOUND_FIGURES["3"].ask(loaded.schema)[0], loaded.schema).at(1.0)
        exact = loaded.aggregate(prepared.plan)
        noiseless = release_like(prepared.answer(exact), exact[0] / prepared.noise.per_row)
        truth = [mean for mean, _ in averages_of(noiseless)]
        with seeded(60):
            for _ in range(60):
                seen = zip(averages_of(prepared.answer(exact)), truth, strict=True)
                found += [(abs(mean - true), margin) for (mean, margin), true in seen if np.isfinite(mean)]
    assert len(found) > 250
    assert np.mean([off <= margin for off, margin in found]) > 0.9
    assert np.mean([off <= margin / 3 for off, margin in found]) < 0.8, "a third of the margin would not do"
    ages, scores = np.asarray(cohort["age"], float), np.asarray(cohort["pirads"], float)
    assert truth == pytest.approx([ages[scores == score].mean() for score in range(1, 6)], abs=1.2)

"""Odd tables: no cell in an error, no value in another's place, and no epsilon rounded down."""

from __future__ import annotations

import contextlib
import re
import traceback

import numpy as np
import pandas as pd
import pytest

from pydplib import datasets
from pydplib.errors import DataError, ParameterError
from pydplib.plot.recipes.labels import guarantee_words
from pydplib.plot.recipes.paper import CATALOGUE, paper_figure

CANARY = "CANARY-Zitronenfalter"


@pytest.fixture(scope="module")
def cohort():
    return datasets.pirads(n=300, backend="numpy")


def with_first(cohort, name, value, dtype=None):
    column = np.array(cohort[name], dtype=dtype)
    column[0] = value
    return {**cohort, name: column}


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("column", ["age", "pirads", "prostatitis", "bph"])
@pytest.mark.parametrize("make", [lambda table: table, lambda table: pd.DataFrame({k: table[k] for k in table})])
def test_text_in_a_column_is_refused_without_quoting_it(cohort, name, column, make):
    table = make(with_first(cohort, column, CANARY, dtype=object))
    with contextlib.suppress(DataError):
        assert CANARY not in str(paper_figure(name, table, original=True).figure.to_dict())
        return  # the figure does not use the column
    with pytest.raises(DataError) as caught:
        paper_figure(name, table, original=True)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", ["2", "3", "score-by-age", "age-by-score", "variance"])
@pytest.mark.parametrize("score", [0, 6, -1, 2.5])
def test_score_beyond_1_to_5_is_refused_not_moved(cohort, name, score):
    for original in (True, False):
        with pytest.raises(DataError, match="scores 1 to 5"):
            paper_figure(name, with_first(cohort, "pirads", score, dtype=float), original=original)


@pytest.mark.parametrize("name", ["2", "3", "4", "age-by-score", "variance"])
def test_age_beyond_the_axis_is_drawn_at_its_end_and_said(cohort, name):
    drawn = paper_figure(name, with_first(cohort, "age", 150), original=True)
    assert "Ages beyond 18 to 100 are drawn at these bounds." in drawn.figure.words[1]
    assert "are drawn at these bounds" not in paper_figure(name, cohort, original=True).figure.words[1]
    with pytest.raises(DataError, match="finite numbers"):
        paper_figure(name, with_first(cohort, "age", np.inf, dtype=float), original=True)


def test_figure_2_when_an_age_is_too_large_counts_it_in_the_last_cell(cohort):
    drawn = paper_figure("2", with_first(cohort, "age", 150), form="original")
    assert drawn.table.rows[-1][1] == 100
    assert (
        sum(sum(row[2:7]) for row in drawn.table.rows) == np.isfinite(np.asarray(cohort["pirads"], dtype=float)).sum()
    )


def test_unknown_finding_is_refused(cohort):
    for original in (True, False):
        with pytest.raises(DataError) as caught:
            paper_figure("4", with_first(cohort, "prostatitis", CANARY, dtype=object), original=original)
        assert CANARY not in str(caught.value)


@pytest.mark.parametrize("table", [[1, 2, 3], 5, None, {"age": [[1], [1, 2]]}, {"age": 5}])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(DataError):
        paper_figure("2", table)


def test_columns_of_unequal_length_are_refused(cohort):
    with pytest.raises(DataError, match="equally long"):
        paper_figure("2", {"age": cohort["age"][:-1], "pirads": cohort["pirads"]})


def test_flags_as_words_are_refused_instead_of_counted_as_true(cohort):
    with pytest.raises(DataError, match="true and false"):
        paper_figure("findings", with_first(cohort, "bph", 2, dtype=int))


def test_unknown_figure_is_named_with_a_hint():
    for name in ("6", 2, ["2"]):
        with pytest.raises(ParameterError, match="There is no figure"):
            paper_figure(name, {})


@pytest.mark.parametrize("name", CATALOGUE)
def test_epsilons_of_a_caption_are_never_rounded_down_and_add_up(cohort, name):
    drawn = paper_figure(name, cohort)
    words = guarantee_words(drawn.results, values_per_report=4 if name == "findings-from-counts" else 1)
    assert words in drawn.figure.words[1]
    times = 4 if name == "findings-from-counts" else 1
    truth = {level: times * sum(r.record_epsilon for r in releases) for level, releases in drawn.results.items()}
    for level, loss in truth.items():
        said = float(re.search(rf"([\d.e+]+) \({level}\)", words)[1])
        assert loss * (1 - 1e-12) <= said <= loss * 1.1  # two digits, rounded up
    if name == "findings":  # a draw for each level, and a guarantee for each
        together = float(re.search(r"sees all 3 of them, (\d+(?:\.\d+)?)", words)[1])
        assert sum(truth.values()) * (1 - 1e-12) <= together <= sum(truth.values()) * 1.1

"""Local recoding is never worse than one node for all, and parts of a date column are named by their ends."""

from __future__ import annotations

import datetime as dt
import itertools

import numpy as np
import pandas as pd
import pytest

from pydplib.anonymity import Dates, Hierarchy, KAnonymity, Recipe, anonymize
from pydplib.anonymity.hierarchies.cells import can_meet, read_cover

TREES = {"a": Hierarchy.order(range(4)), "b": Hierarchy.order(range(4))}


@pytest.mark.parametrize("seed", [12, 14, 18, 39, 44, 48, 1, 2])
def test_local_recoding_loses_no_more_than_the_optimal_node(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(4, 12))
    table = pd.DataFrame({"a": rng.integers(0, 4, rows), "b": rng.integers(0, 4, rows)})
    local = anonymize(table, TREES, models=[KAnonymity(2)], method="local")
    one = anonymize(table, TREES, models=[KAnonymity(2)])
    assert local.loss.granularity <= one.loss.granularity + 1e-9
    assert local.search.loss == pytest.approx(local.loss.granularity)
    again = Recipe.from_json(local.recipe.to_json()).apply(table)
    order = ["a", "b"]
    assert sorted(map(tuple, again[order].astype(str).to_numpy())) == sorted(
        map(tuple, local.data[order].astype(str).to_numpy())
    )


@pytest.mark.parametrize("kind", ["date", "timestamp"])
@pytest.mark.parametrize("gap", [False, True], ids=["all days", "some missing"])
def test_mondrian_names_days_by_first_and_last(kind, gap):
    rng = np.random.default_rng(3)
    days = [dt.date(2016, 1, 1) + dt.timedelta(days=int(d)) for d in rng.permutation(900)[:600]]
    cells = [None if gap and i % 50 == 0 else day for i, day in enumerate(days)]
    column = pd.Series(cells, dtype=object) if kind == "date" else pd.to_datetime(pd.Series(cells))
    table = pd.DataFrame({"day": column, "row": [str(d) for d in cells]})
    trees = {"day": Dates("2016-01-01", "2018-12-31")}
    result = anonymize(table, trees, models=[KAnonymity(100)], insensitive=["row"], method="mondrian")
    labels = list(result.data["day"])
    assert max(len(label) for label in labels) <= len("{2016-01-01 to 2016-12-31, missing}")
    assert result.certificate.k >= 100 and 0 < result.loss.granularity < 0.5
    for label, row in zip(labels, result.data["row"], strict=True):
        assert can_meet(read_cover(label), read_cover(None if row == "None" else row))
    # Parts follow the calendar: their ranges do not overlap.
    plain = {label for label in labels if not label.startswith("{")}
    ends = sorted(label.strip("[]").split(", ") for label in plain)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ends))

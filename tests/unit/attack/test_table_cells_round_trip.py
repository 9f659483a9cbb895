"""Every label that anonymize can write covers the values behind it, in a frame and through a CSV file."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from pydplib.anonymity import Dates, Hierarchy, Intervals, KAnonymity, Masking, TopBottom, anonymize
from pydplib.attack.tables.cells import relate

AWKWARD = [
    "a", "b", "a, b", "b, c", "missing", "{x", "x}", 'q"t', " s ", "\\", "1-2", "[1, 2)", "2020-01", "< 5", "5", "5.0",
    "05", "a (2)", "lung", "true", "nan", "x; y",
]  # fmt: skip
DAYS = [dt.date(2020, 1, 31), dt.date(2020, 2, 1), dt.date(2020, 2, 29), dt.date(2021, 12, 31), dt.date(2031, 7, 4)]
KINDS = {
    "texts": (AWKWARD, None),
    "whole": (list(range(0, 120, 7)), Intervals(0, 120, [5, 10, 20, 40])),
    "reals": ([0.0, -0.5, 2.0, 2.25, 17.5, 99.0, 1e-7], Intervals(-1, 100, [1, 10, 50], whole=False)),
    "ends": ([3, 20, 21, 55, 79, 80, 99], TopBottom(bottom=20, top=80, inner=Intervals(0, 120, [10]))),
    "days": (DAYS, Dates("2020-01-01", "2039-12-31")),
    "codes": (["10115", "10117", "20095", "801", "80331"], Masking(5)),
    "codes from the left": (["10115", "17", "20095", "20115"], Masking(5, side="left")),
    "truths": ([True, False], None),
    "groups": (["flu", "asthma", "ulcer"], Hierarchy.grouping({"lung": ["flu", "asthma"], "stomach": ["ulcer"]})),
    "one name twice": (["lung", "flu", "ulcer"], Hierarchy.grouping({"lung": ["flu", "ulcer"], "rest": ["lung"]})),
    "order": (["I", "II", "III", "IV", "V"], Hierarchy.order(["I", "II", "III", "IV", "V"])),
}


def drawn(pool, seed):
    """Return a column of awkward values: few or many different ones, with or without missing ones."""
    rng = np.random.default_rng(seed)
    some = [pool[i] for i in rng.permutation(len(pool))[: 2 + 3 * seed]]
    some += [None] * (seed % 2)
    return [some[i] for i in rng.integers(0, len(some), 12 + 6 * seed)]


def released_by_row(values, tree, how):
    """Return the released cell of every row, in the order of the input."""
    table = pd.DataFrame({"x": pd.Series(values, dtype=object), "row": range(len(values))})
    result = anonymize(
        table, {"x": tree}, insensitive=["row"], models=[KAnonymity(2)], suppression=0.9 if how[0] != "mondrian" else 0,
        method=how[0], **how[1],
    )  # fmt: skip
    out = result.data
    return result, out.assign(row=out["row"].astype(int)).set_index("row")["x"]


def covered(values, cells, tree):
    found = relate(values, cells, tree)
    return [set(found.cells[a:b].tolist()) for a, b in zip(found.start[:-1], found.start[1:], strict=True)]


METHODS = [("optimal", {}), ("local", {}), ("mondrian", {"labels": "sets"}), ("mondrian", {"labels": "hierarchy"})]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", METHODS, ids=lambda how: " ".join([how[0], *how[1].values()]))
@pytest.mark.parametrize("seed", range(4))
def test_cell_covers_its_own_value_in_a_frame_and_in_a_file(kind, how, seed, tmp_path):
    pool, tree = KINDS[kind]
    values = drawn(pool, seed)
    result, cells = released_by_row(values, tree, how)
    labels = result.recipe.hierarchies["x"]
    path = tmp_path / "out.csv"
    pd.DataFrame({"x": cells}).to_csv(path, index=True)
    again = pd.read_csv(path, dtype={"row": int, "x": str}, na_values=[""], keep_default_na=False)
    again = again.set_index("row")["x"]
    for column in (cells, again):
        rows = column.index.tolist()
        cell_list = [None if cell is None or cell != cell else cell for cell in column.tolist()]
        met = covered([values[row] for row in rows], cell_list, labels)
        assert all(at in found for at, found in enumerate(met)), [
            (values[row], cell_list[at]) for at, row in enumerate(rows) if at not in met[at]
        ]


@pytest.mark.parametrize("seed", range(8))
def test_set_covers_exactly_the_values_that_it_lists(seed):
    values = drawn(AWKWARD, seed)
    _, cells = released_by_row(values, None, ("mondrian", {"labels": "sets"}))
    distinct = list(dict.fromkeys(values))
    for cell in {str(c): c for c in cells.tolist()}.values():
        if not (isinstance(cell, str) and cell.startswith("{") and cell.endswith("}")):
            continue
        behind = {values[row] for row in cells.index if cells[row] == cell}
        met = {value for value, found in zip(distinct, covered(distinct, [cell], None), strict=True) if found}
        # "5" and "5.0" are one number, and other programs write the word missing bare; all else is told apart.
        same = {"5", "5.0"} if behind & {"5", "5.0"} else set()
        same |= {"missing"} if None in behind else set()
        assert behind <= met <= behind | same


def test_a_set_that_was_split_at_every_comma_would_be_noticed():
    assert covered(["a, b", "a", "b"], ['{"a, b", c}'], None) == [{0}, set(), set()]
    assert covered([None, "missing"], ["{a, missing}"], None) == [{0}, {0}]
    assert covered([None, "missing"], ['{a, "missing"}'], None) == [set(), {0}]
    days = [dt.date(2020, 1, 1), dt.date(2020, 2, 2), dt.date(2020, 3, 3), None]
    assert covered(days, ["{2020-01-01 to 2020-02-20, missing}"], None) == [{0}, {0}, set(), {0}]

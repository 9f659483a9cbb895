"""What a released cell covers, against an oracle that looks at every value; and the join over it."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydplib.anonymity import Dates, Hierarchy, Intervals, Masking, TopBottom
from pydplib.attack.tables.candidates import join_classes
from pydplib.attack.tables.cells import CellRelation, relate, text_of


def pairs(values, cells, hierarchy=None):
    found = relate(values, cells, hierarchy)
    return {(v, c) for v in range(len(values)) for c in found.cells[found.start[v] : found.start[v + 1]].tolist()}


@pytest.mark.parametrize(
    ("cell", "inside", "outside"),
    [
        ("[50, 60)", [50, 59, 59.999], [49.9, 60]),
        ("(50, 60]", [50.1, 60], [50, 61]),
        ("50-59", [50, 59], [49, 60]),
        ("-5 - 5", [-5, 0, 5], [-6, 6]),
        ("50 to 60", [50, 60], [61]),
        ("<= 20", [20, -3], [21]),
        ("< 20", [19.9], [20]),
        (">= 80", [80, 300], [79]),
        ("> 80", [81], [80]),
        ("90+", [90, 101], [89]),
        ((50, 60), [50, 59.5], [60]),
        ("{5, 7}", [5, 7.0, "5"], [6, 57]),
        (61, [61, 61.0, "61"], [6, 611]),
        ("61", [61], [62]),
        ("*", [0, 10**9, None], []),
        ("*****", [12345, None], []),
        ("816**", [81675, "81699", 8167], [817, 81775, 816755]),  # shorter codes count as padded with spaces
        ("12345-6789", ["12345-6789"], [12345, 9000]),
        (None, [None], [0, 61]),
    ],
)
def test_number_cell_covers_what_it_says_and_nothing_else(cell, inside, outside):
    values = [*inside, *outside]
    covered = {v for v, _ in pairs(values, [cell])}
    assert covered == set(range(len(inside)))


def test_text_cells_cover_sets_masks_labels_and_themselves():
    values = ["a", "b, c", "c", "10-12", None]
    cells = ["{a, b, c}", "a", "10-12", "*", "{b, c}"]
    # "b, c" is a value of the column, so a set may hold it; a set is read with the longest values first.
    assert pairs(values, cells) == {(0, 0), (0, 1), (1, 0), (1, 4), (3, 2), (4, 3), *((v, 3) for v in range(4))}


def test_text_that_merely_contains_a_cell_is_not_covered():
    assert pairs(["flu", "influenza"], ["flu"]) == {(0, 0)}


@pytest.mark.parametrize(
    ("cell", "first", "last"),
    [
        ("2017", dt.date(2017, 1, 1), dt.date(2017, 12, 31)),
        ("2017-02", dt.date(2017, 2, 1), dt.date(2017, 2, 28)),
        ("2017-Q4", dt.date(2017, 10, 1), dt.date(2017, 12, 31)),
        ("2010-2019", dt.date(2010, 1, 1), dt.date(2019, 12, 31)),
        ("2017-03-09", dt.date(2017, 3, 9), dt.date(2017, 3, 9)),
        ("[2017-03-09, 2017-04-01)", dt.date(2017, 3, 9), dt.date(2017, 3, 31)),
    ],
)
@pytest.mark.parametrize("kind", [lambda day: day, dt.date.isoformat, lambda day: dt.datetime(*day.timetuple()[:3])])
def test_date_cell_covers_its_days(cell, first, last, kind):
    day = dt.timedelta(days=1)
    values = [kind(x) for x in (first, last, first - day, last + day)]
    assert {v for v, _ in pairs(values, [cell])} == {0, 1} if first != last else {0}


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [
        (Intervals(0, 100, [5, 10, 20]), [0, 4, 5, 39, 61, 99, 100]),
        (Intervals(0, 1, [0.25, 0.5], whole=False), [0.0, 0.24, 0.25, 0.5, 0.99, 1.0]),
        (Dates("2015-01-01", "2020-12-31"), [dt.date(2015, 1, 1), dt.date(2017, 3, 31), dt.date(2017, 4, 1)]),
        (Masking(5), ["10115", "10117", "20095", "80331"]),
        (Masking(5, side="left", character="x"), ["10115", "20115", "20095"]),
        (TopBottom(bottom=20, top=80, inner=Intervals(0, 120, [10])), [3, 20, 21, 55, 79, 80, 99]),
        (Hierarchy.grouping({"lung": ["asthma", "flu"], "stomach": ["ulcer"]}), ["asthma", "flu", "ulcer"]),
        (Hierarchy.order(["I", "II", "III", "IV", "V"]), ["I", "II", "III", "IV", "V"]),
    ],
)
def test_label_of_every_hierarchy_covers_exactly_the_values_under_it(hierarchy, values):
    resolved = hierarchy.resolve("column", values)
    for level in range(resolved.height + 1):
        cells = list(resolved.labels[level])
        wanted = {(v, int(c)) for v, c in enumerate(resolved.levels[level])}
        assert pairs(values, cells, hierarchy) == wanted
        if not isinstance(hierarchy, TopBottom | type(Hierarchy.flat(["a"]))) and "x" not in str(cells):
            assert pairs(values, cells) == wanted, "the label says by itself what it covers"


def test_generalized_cells_of_two_releases_meet_where_they_share_a_value():
    assert pairs(["20-29", "30-39"], ["25-34", "[40, 50)"]) == {(0, 0), (1, 0)}
    assert pairs(["{a, b}"], ["{b, c}", "{c}"]) == {(0, 0)}
    assert pairs(["81***"], ["816**", "82***", "*"]) == {(0, 0), (0, 2)}
    assert pairs(["{20, 50}"], ["18-25", "30-39"]) == {(0, 0)}
    tree = Hierarchy.grouping({"lung": ["asthma", "flu"], "stomach": ["ulcer"]})
    assert pairs(["lung"], ["flu", "ulcer", "lung", "*"], tree) == {(0, 0), (0, 2), (0, 3)}


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=8),
    st.integers(0, 2**32 - 1),
)
def test_join_equals_all_pairs_tried_one_by_one(people, classes, seed):
    rng = np.random.default_rng(seed)
    tables = [rng.random((6, 5)) < 0.4, rng.random((4, 3)) < 0.5]
    relations = []
    for table in tables:
        start = np.concatenate([[0], np.cumsum(table.sum(axis=1))])
        relations.append(CellRelation(start, np.nonzero(table)[1], table.shape[1]))
    mine, theirs = np.array(people).T, np.array(classes).T
    left, right = join_classes(list(mine), list(theirs), relations, (len(people), len(classes)))
    wanted = {
        (i, j)
        for i, (a, b) in enumerate(people)
        for j, (x, y) in enumerate(classes)
        if tables[0][a, x] and tables[1][b, y]
    }
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == sorted(wanted)


def test_text_of_joins_equal_values_and_keeps_leading_zeros():
    assert text_of(5) == text_of(5.0) == text_of("5") == text_of(np.float64(5))
    assert text_of("01067") == "01067"
    assert pairs(["01067", 1067, 5], ["{01067, 5.0}"]) == {(0, 0), (2, 0)}

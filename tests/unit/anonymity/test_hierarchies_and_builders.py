"""Hierarchies: what they cover, how they nest, what they cost, and how they fail."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from pydplib.anonymity import (
    Dates,
    Hierarchy,
    HierarchyGap,
    Intervals,
    KAnonymity,
    Masking,
    TopBottom,
    anonymize,
)
from pydplib.anonymity.hierarchies.rules import hierarchy_from_values
from pydplib.errors import HierarchyError, ParameterError
from pydplib.schema import Category, Date, Flag, Integer, Number, Schema, Text

MAY = dt.date(2018, 5, 1)


def test_from_csv_in_arx_format_gives_all_levels(tmp_path):
    path = tmp_path / "zip.csv"
    path.write_bytes(b"81667;8166*;816**;*\n81675;8167*;816**;*\n81925;8192*;819**;*")
    found = Hierarchy.from_csv(path)
    assert found.height == 3
    assert found.labels("81675") == ("81675", "8167*", "816**", "*")
    assert found.labels(81675)[1] == "8167*"  # a number meets its digits
    found.to_csv(tmp_path / "again.csv")
    assert Hierarchy.from_csv(tmp_path / "again.csv") == found


def test_from_csv_in_latin_1_and_with_commas_is_read(tmp_path):
    path = tmp_path / "stadt.csv"
    path.write_bytes("München,Süd,*\nKöln,West,*\n".encode("latin-1"))
    assert Hierarchy.from_csv(path).labels("Köln") == ("Köln", "West", "*")


@pytest.mark.parametrize(
    "rows", [[["a", "x", "*"], ["b", "x"]], [["a", "x"], ["a", "y"]], []], ids=["ragged", "contradiction", "empty"]
)
def test_broken_rows_are_refused(rows):
    with pytest.raises(HierarchyError):
        Hierarchy.from_rows(rows)


def test_levels_that_do_not_nest_are_refused():
    rows = [["a", "ab", "1"], ["b", "ab", "2"]]
    with pytest.raises(HierarchyError, match="contradicts"):
        Hierarchy.from_rows(rows).resolve("q", ["a", "b"])


def test_gap_names_the_column_and_the_number_but_no_value():
    table = pd.DataFrame({"ward": ["north", "CANARY-7", "CANARY-8"]})
    with pytest.raises(HierarchyGap) as caught:
        anonymize(table, {"ward": Hierarchy.flat(["north"])}, models=[KAnonymity(1)])
    text = str(caught.value)
    assert "ward" in text and "2 of the column's values" in text and "automatic" in text
    assert "CANARY" not in text and "CANARY" not in repr(caught.value)
    assert caught.value.missing == ("CANARY-7", "CANARY-8")


def test_intervals_cut_at_the_upper_bound_and_cost_their_share():
    tree = Intervals(0, 99, [10, 50])
    assert tree.labels(99) == (99, "90-99", "50-99", "*")
    found = tree.resolve("age", [5, 99])
    assert found.cost[1][0] == pytest.approx((10 / 100 - 1 / 100) / (1 - 1 / 100))
    assert found.cost[3][0] == pytest.approx(1.0)


def test_intervals_of_decimals_close_the_last_one():
    tree = Intervals(0.0, 1.0, [0.25, 0.5])
    assert tree.labels(1.0) == (1.0, "[0.75, 1]", "[0.5, 1]", "*")
    assert tree.labels(0.5) == (0.5, "[0.5, 0.75)", "[0.5, 1]", "*")
    assert tree.resolve("x", [0.5]).cost[1][0] == pytest.approx(0.25)


def test_intervals_outside_the_bounds_are_errors_or_clamped():
    with pytest.raises(HierarchyGap, match="outside"):
        Intervals(0, 10, [5]).resolve("x", [11])
    assert Intervals(0, 10, [5], outside="clamp").labels(11)[0] == 10
    with pytest.raises(HierarchyGap, match="not numbers"):
        Intervals(0, 10, [5]).resolve("x", ["CANARY"])


@pytest.mark.parametrize("make", [lambda word: Intervals(0, 10, [5], outside=word), lambda word: Dates(outside=word)])
def test_what_happens_outside_the_bounds_is_one_of_two_words(make):
    make("clamp")
    with pytest.raises(ParameterError, match="outside is 'error' or 'clamp'"):
        make("clmap")


@pytest.mark.parametrize("widths", [[5, 7], [10, 5], [0], [float("nan")]])
def test_intervals_that_cannot_nest_are_refused(widths):
    with pytest.raises(HierarchyError):
        Intervals(0, 100, widths)


def test_dates_take_days_times_and_texts():
    tree = Dates("2017-01-01", "2018-12-31")
    expected = ("2017-03", "2017-Q1", "2017", "2010-2019", "*")
    assert tree.labels(dt.date(2017, 3, 9))[1:] == expected
    assert tree.labels(dt.datetime(2017, 3, 9, 14))[1:] == expected
    assert tree.labels("2017-03-09")[1:] == expected
    assert tree.labels(pd.Timestamp("2017-03-09"))[1:] == expected
    cost = tree.resolve("d", [dt.date(2017, 3, 9)]).cost
    assert cost[1][0] == pytest.approx((31 / 730 - 1 / 730) / (1 - 1 / 730))
    assert cost[3][0] == pytest.approx((365 / 730 - 1 / 730) / (1 - 1 / 730))


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31", "2000-02-29"])
def test_dates_at_the_ends_of_the_calendar_work(day):
    assert Dates("0001-01-01", "9999-12-31").labels(day)[-1] == "*"


def test_masking_pads_short_codes_and_masks_from_either_side():
    assert Masking(3).labels("7") == ("7", "7 *", "7**", "***")
    assert Masking(3, side="left").labels("123") == ("123", "*23", "**3", "***")
    with pytest.raises(HierarchyGap, match="longer"):
        Masking(3).resolve("x", ["1234"])


def test_top_and_bottom_coding_never_releases_the_extremes():
    table = pd.DataFrame({"age": [17, 18, 40, 40, 40, 40, 95, 99]})
    result = anonymize(table, {"age": TopBottom(bottom=20, top=90)}, models=[KAnonymity(2)])
    assert result.levels == {"age": 0}
    assert sorted(set(result.data["age"])) == ["40", "<= 20", ">= 90"]
    assert result.loss.granularity > 0


def test_order_and_grouping_nest():
    assert Hierarchy.order([1, 2, 3, 4, 5], group=2).labels(5) == (5, "5", "5", "*")
    nested = Hierarchy.grouping({"inner": {"heart": ["I20", "I21"]}, "outer": ["L01"]})
    assert nested.labels("I20") == ("I20", "heart", "inner", "*")
    assert nested.labels("L01") == ("L01", "outer", "outer", "*")
    with pytest.raises(HierarchyError):
        Hierarchy.grouping({"a": "text"})
    with pytest.raises(ParameterError):
        Hierarchy.order([1, 2], group=1)


@pytest.mark.parametrize(
    ("column", "value", "labels"),
    [
        (Integer(18, 100), 20, (20, "18-22", "18-27", "18-37", "18-57", "*")),
        (Flag(), True, (True, "*")),
        (Category(["low", "mid", "high"], ordered=True), "mid", ("mid", "low - mid", "*")),
        (Category(["n", "y"]), "y", ("y", "*")),
        (Category(["C61", "C62", "N40", "N41"]), "C62", ("C62", "C6*", "C*", "*")),
        (Date("2017-01-01", "2018-12-31"), MAY, (MAY, "2018-05", "2018-Q2", "2018", "2010-2019", "*")),
    ],
)  # fmt: skip
def test_automatic_hierarchies_come_from_the_schema(column, value, labels):
    found = Hierarchy.automatic(column)
    assert found.labels(value) == labels
    assert not found.from_data


def test_automatic_from_schema_does_not_look_at_the_data():
    schema = Schema({"age": Number(0, 120)})
    narrow = pd.DataFrame({"age": [50.0, 51.0, 52.0, 53.0]})
    result = anonymize(narrow, ["age"], models=[KAnonymity(4)], schema=schema)
    assert not result.recipe.hierarchies["age"].from_data
    assert result.notes == ()
    assert set(result.data["age"]) == {"[50, 55)"}
    unknown = anonymize(narrow, ["age"], models=[KAnonymity(4)])
    assert unknown.recipe.hierarchies["age"].from_data
    assert "made from the data" in unknown.notes[0]


def test_automatic_for_free_text_is_refused():
    with pytest.raises(HierarchyError, match="Free text"):
        Hierarchy.automatic(Text())


@pytest.mark.parametrize(
    "values",
    [[1, 5, 80], [0.5, 2.25], ["01234", "99999", "12345", "55555"], ["a", "b"], [dt.date(2020, 1, 1)], [3], []],
)
def test_automatic_from_values_covers_them_all(values):
    tree = hierarchy_from_values(values)
    for value in values:
        assert tree.labels(value)[0] == value


@pytest.mark.parametrize(
    "tree",
    [
        Hierarchy.from_rows([["a", "*"], [1, "*"], [None, "*"]]),
        Intervals(0, 10, [5], outside="clamp"),
        Dates("2017-01-01", "2018-12-31", units=("year",)),
        Masking(4, step=2, side="left"),
        TopBottom(top=80, inner=Intervals(0, 120, [10])),
    ],
    ids=lambda tree: type(tree).__name__,
)
def test_hierarchies_survive_json(tree):
    import json

    assert Hierarchy.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree


def test_missing_values_join_the_root_only():
    found = Hierarchy.from_rows([["a", "ab", "*"], ["b", "ab", "*"]]).resolve("q", ["a", "b", None])
    assert found.labels[1][found.levels[1][2]] is None
    assert found.labels[2][found.levels[2][2]] == "*"
    assert float(found.cost[2][0]) == pytest.approx(1.0)
    assert np.isclose(found.cost[1][0], (2 / 3 - 1 / 3) / (1 - 1 / 3))


def test_listed_missing_value_is_a_leaf_like_any_other():
    tree = Hierarchy.from_rows([["a", "known", "*"], ["", "unknown", "*"]])
    found = tree.resolve("q", ["a", None])
    assert found.labels[0][found.levels[0][1]] is None
    assert found.labels[1][found.levels[1][1]] == "unknown"


def test_repr_of_a_hierarchy_made_from_data_shows_no_values():
    assert "CANARY" not in repr(hierarchy_from_values(["CANARY", "x"]))
    assert "8123" not in repr(hierarchy_from_values([8123, 9000]))

"""Engine specs: a small table in, integers out, the same on every engine. Rendered as documentation."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import pydplib as dp
from pydplib.engine import Bins, Bound, Measure, Plan, Where

W = 2**16  # one whole row, where rows are weighed
NAN, INF = math.nan, math.inf

TYPES = {
    "id": pa.string(), "number_id": pa.int64(), "report": pa.int64(), "age": pa.float64(), "score": pa.float64(),
    "lesions": pa.int64(), "pirads": pa.int64(), "prostatitis": pa.string(), "bph": pa.bool_(), "day": pa.date32(),
    "site": pa.string(), "it's 100% \"odd\" \\ `name`": pa.float64(),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One promise: what goes in, what is asked, what must come out."""

    title: str
    why: str
    rows: dict[str, list[Any]]
    columns: dict[str, Any]
    ask: dict[str, Any]
    answer: list[Any]  # per measure: one integer per key, or one list of cells per key
    keys: list[tuple[Any, ...]] = field(default_factory=lambda: [()])
    person: str | None = "id"
    most: int = 1

    @property
    def data(self) -> pa.Table:
        return pa.table({name: pa.array(cells, TYPES[name]) for name, cells in self.rows.items()})

    @property
    def schema(self) -> dp.Schema:
        return dp.Schema(self.columns, person=self.person, max_rows_per_person=self.most, max_groups_per_person=1)

    @property
    def plan(self) -> Plan:
        return Plan(self.schema, **self.ask)


AGE = {"age": dp.Number(0, 100)}
COUNT = [Measure("count")]
COUNT_AGE = [Measure("count", "age")]
SUM_AGE = [Measure("sum", "age", low=0, high=100, step=1)]

DAYS = {"day": dp.Date("2017-01-01", "2018-12-31")}
DAY = [dt.date(2017, 1, 1 + i) for i in range(4)]


def row(rule: str, *order: str) -> Bound:
    """Return the bound of one row of each person."""
    return Bound("id", 1, mode="row", rule=rule, order=order)


CASES = [
    Case("Every row of a person with few rows counts in full", "Up to the most rows, the weight is one whole row.",
         {"id": ["a", "a", "b"], "age": [10.0, 20.0, 30.0]}, AGE, {"measures": COUNT + SUM_AGE},
         [[3 * W], [60 * W]], most=2),
    Case("A person with too many rows weighs no more than the most rows",
         "Four rows at most two: each weighs one half. Nobody's rows are thrown away.",
         {"id": ["a"] * 4 + ["b"], "age": [10.0, 20.0, 30.0, 40.0, 50.0]}, AGE, {"measures": COUNT + SUM_AGE},
         [[2 * W + W], [100 * W // 2 + 50 * W]], most=2),
    Case("A weight that does not divide evenly is rounded down",
         "Three rows share one: 21845/65536 each, 65535/65536 together, never more than one.",
         {"id": ["a"] * 3, "age": [1.0, 1.0, 1.0]}, AGE, {"measures": COUNT}, [[3 * 21845]]),
    Case("Rows are counted after the conditions", "Only rows that the question looks at share a person's weight.",
         {"id": ["a"] * 4, "age": [10.0, 20.0, 80.0, 90.0]}, AGE,
         {"measures": COUNT, "where": [Where("age").at_least(50)]}, [[2 * (W // 2)]]),
    Case("Rows without a value still take their share of a person's weight",
         "The weight is fixed before missing values are dropped; otherwise missing values would move other cells.",
         {"id": ["a"] * 4, "age": [10.0, None, None, None]}, AGE, {"measures": COUNT + COUNT_AGE},
         [[4 * (W // 4)], [W // 4]]),
    Case("Rows without a person do not count", "Null and empty ids would each be a person without a bound.",
         {"id": [None, "", "a", None], "age": [10.0, 20.0, 30.0, 40.0]}, AGE, {"measures": COUNT + SUM_AGE},
         [[W], [30 * W]]),
    Case("Numeric ids are persons too", "Ids need not be text.",
         {"number_id": [7, 7, None, -3], "age": [10.0, 20.0, 30.0, 40.0]}, AGE, {"measures": COUNT}, [[2 * W]],
         person="number_id"),
    Case("Without a person column every row is one person, and counts are plain", "No weights, scale 1.",
         {"age": [10.0, 20.0, 30.0]}, AGE, {"measures": COUNT + SUM_AGE}, [[3], [60]], person=None),
    Case("Values outside the bounds count as the bound", "Even infinite ones; nobody can move a sum further.",
         {"id": list("abcdef"), "age": [-1e300, 1e300, -INF, INF, -0.5, 100.5]}, AGE, {"measures": SUM_AGE},
         [[(0 + 100 + 0 + 100 + 0 + 100) * W]]),
    Case("NaN is missing, and passes no clamp", "NaN compares as larger than everything in some engines.",
         {"id": list("abc"), "age": [50.0, NAN, None]}, AGE, {"measures": COUNT + COUNT_AGE + SUM_AGE},
         [[3 * W], [W], [50 * W]]),
    Case("A column of NaN alone adds nothing", "Parquet statistics of such a column are empty.",
         {"id": list("abc"), "age": [NAN, NAN, NAN]}, AGE, {"measures": COUNT_AGE + SUM_AGE}, [[0], [0]]),
    Case("A missing value is no bound", "LEAST and GREATEST of SQL skip nulls, and would count the bound.",
         {"id": list("ab"), "age": [None, 7.0]}, AGE, {"measures": SUM_AGE}, [[7 * W]]),
    Case("Halves round up, on every engine, for negative numbers too", "floor(x + 1/2).",
         {"id": list("abcdef"), "score": [0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994]},
         {"score": dp.Number(-10, 10)}, {"measures": [Measure("cells", "score", low=-2, high=3, step=1)]},
         [[[0, W, W, 2 * W, W, W]]]),
    Case("A fine grid is the same grid everywhere", "0.3 / 0.1 is below 3 as a double; all engines agree on that.",
         {"id": list("abcd"), "score": [0.3, 0.15, 0.25, 0.1 + 0.2]}, {"score": dp.Number(0, 1)},
         {"measures": [Measure("sum", "score", low=0, high=1, step=0.1)]}, [[(3 + 2 + 3 + 3) * W]]),
    Case("A centred sum counts from the middle", "So one person moves it half as far.",
         {"id": list("ab"), "age": [20.0, 90.0]}, AGE,
         {"measures": [Measure("sum", "age", low=0, high=100, step=0.5, center=50),
                       Measure("sum", "age", low=0, high=100, step=1, offset=50)]},
         [[(-60 + 80) * W], [(-30 + 40) * W]]),
    Case("Squares have a grid of their own", "Sums of squares for the variance.",
         {"id": list("ab"), "age": [20.0, 95.0]}, AGE,
         {"measures": [Measure("sumsq", "age", low=0, high=100, step=10, center=50, offset=100)]},
         [[(90 - 100 + 203 - 100) * W]]),
    Case("Every public key comes back, in public order, with zeros", "Absent groups must not be seen by their absence.",
         {"id": list("abc"), "pirads": [5, 2, 5]}, {"pirads": dp.Category([5, 4, 3, 2])},
         {"measures": COUNT, "by": ["pirads"]}, [[2 * W, 0, 0, W, 0]], keys=[(5,), (4,), (3,), (2,), ("other",)]),
    Case("An unknown category is other; a missing one is missing", "Data never add a key.",
         {"id": list("abcde"), "prostatitis": ["chr", "Chr", "zzz", None, ""]},
         {"prostatitis": dp.Category(["chr", "n"])},
         {"measures": COUNT, "by": {"prostatitis": ("chr", "n", "other", None)}}, [[W, 0, 2 * W, 2 * W]],
         keys=[("chr",), ("n",), ("other",), (None,)]),
    Case("Keys that are not asked for are left out, and keep their weight",
         "A person's rows in other groups still take their share.",
         {"id": ["a"] * 2, "pirads": [1, 2]}, {"pirads": dp.Category([1, 2])},
         {"measures": COUNT, "by": {"pirads": (2,)}}, [[W // 2]], keys=[(2,)]),
    Case("One person in many groups weighs no more than one row in all", "L1 is the bound, however many the groups.",
         {"id": ["a"] * 4, "pirads": [1, 2, 3, 4]}, {"pirads": dp.Category([1, 2, 3])},
         {"measures": COUNT, "by": ["pirads"]}, [[W // 4] * 4], keys=[(1,), (2,), (3,), ("other",)]),
    Case("Two columns make a table of keys", "The first column is the slower one.",
         {"id": list("abc"), "pirads": [1, 2, 2], "bph": [True, False, None]},
         {"pirads": dp.Category([1, 2]), "bph": dp.Flag()},
         {"measures": COUNT, "by": {"pirads": (1, 2), "bph": (False, True, None)}}, [[0, W, 0, W, 0, W]],
         keys=[(1, False), (1, True), (1, None), (2, False), (2, True), (2, None)]),
    Case("Numbers are grouped by public bins", "The last bin is closed; beyond the edges is no key.",
         {"id": list("abcdef"), "age": [50.0, 59.999, 60.0, 70.0, 70.5, None]}, AGE,
         {"measures": COUNT, "by": {"age": Bins([50, 60, 70])}}, [[2 * W, 2 * W]], keys=[((50, 60),), ((60, 70),)]),
    Case("Whole numbers have their values as keys", "Values outside the bounds are the bound.",
         {"id": list("abc"), "lesions": [0, 9, 2]}, {"lesions": dp.Integer(0, 2)},
         {"measures": COUNT, "by": ["lesions"]}, [[W, 0, 2 * W]], keys=[(0,), (1,), (2,)]),
    Case("A histogram's edges are public",
         "Values beyond the outer edges go to the outer cells; the last cell is closed.",
         {"id": list("abcdef"), "age": [3.0, 20.0, 39.999, 40.0, 60.0, 99.0]}, AGE,
         {"measures": [Measure("cells", "age", edges=[20, 40, 60])]}, [[[3 * W, 3 * W]]]),
    Case("With wider bounds, values beyond the edges are in no cell", "As in NumPy's histogram.",
         {"id": list("abcdef"), "age": [3.0, 20.0, 39.999, 40.0, 60.0, 99.0]}, AGE,
         {"measures": [Measure("cells", "age", edges=[20, 40, 60], low=0, high=100)]}, [[[2 * W, 2 * W]]]),
    Case("Cells of a step are the grid of a quantile", "One cell per grid point between the bounds.",
         {"id": list("abcd"), "age": [0.0, 24.9, 25.0, 100.0]}, AGE,
         {"measures": [Measure("cells", "age", low=0, high=100, step=25)]}, [[[W, 2 * W, 0, 0, W]]]),
    Case("Cells and groups together", "A crosstab of bins and categories.",
         {"id": list("abc"), "age": [10.0, 60.0, 60.0], "bph": [True, True, False]}, {**AGE, "bph": dp.Flag()},
         {"measures": [Measure("cells", "age", edges=[0, 50, 100]), Measure("count")], "by": ["bph"]},
         [[[0, W], [W, W]], [W, 2 * W]], keys=[(False,), (True,)]),
    Case("All conditions must hold", "Conditions look at clamped values and at categories; a missing value meets none.",
         {"id": list("abcde"), "age": [60.0, 65.0, 70.0, 200.0, None], "pirads": [4, 5, 9, 4, 4]},
         {**AGE, "pirads": dp.Category([4, 5])},
         {"measures": COUNT, "where": [Where("age").between(60, 100), Where("pirads").is_in([4, 5])]}, [[3 * W]]),
    Case("Not equal means: there is a value, and it is another one", "Missing is no value.",
         {"id": list("abcd"), "prostatitis": ["y", "n", None, "zzz"]}, {"prostatitis": dp.Category(["y", "n"])},
         {"measures": COUNT, "where": [Where("prostatitis").ne("y")]}, [[2 * W]]),
    Case("Missing values can be asked for", "is_missing and is_present.",
         {"id": list("abcd"), "age": [1.0, NAN, None, 2.0]}, AGE,
         {"measures": COUNT, "where": [Where("age").is_missing()]}, [[2 * W]]),
    Case("Open and closed comparisons", "more_than and less_than leave out the value itself.",
         {"id": list("abcd"), "age": [10.0, 20.0, 30.0, 40.0]}, AGE,
         {"measures": SUM_AGE, "where": [Where("age").more_than(10), Where("age").less_than(40)]}, [[50 * W]]),
    Case("A condition that nobody meets gives zeros", "Not an error, not an empty table.",
         {"id": list("ab"), "age": [10.0, 20.0]}, AGE, {"measures": COUNT + SUM_AGE, "where": [Where("age").eq(99)]},
         [[0], [0]]),
    Case("An empty table gives zeros", "Nothing about the size shows in the shape.",
         {"id": [], "age": [], "pirads": []}, {**AGE, "pirads": dp.Category([1])},
         {"measures": COUNT + SUM_AGE, "by": ["pirads"]}, [[0, 0], [0, 0]], keys=[(1,), ("other",)]),
    Case("Days are numbers of days", "Clamped to the bounds like numbers; counted from 1970-01-01.",
         {"id": list("abcd"), "day": [dt.date(1969, 1, 1), dt.date(1970, 1, 3), dt.date(2999, 1, 1), None]},
         {"day": dp.Date("1970-01-01", "1970-01-11")},
         {"measures": [Measure("sum", "day", low=0, high=10, step=1), Measure("count", "day")]}, [[12 * W], [3 * W]]),
    Case("Days can be compared and binned", "Written like 2017-01-31.",
         {"id": list("abc"), "day": [dt.date(2017, 1, 1), dt.date(2017, 6, 1), dt.date(2018, 1, 1)]},
         {"day": dp.Date("2017-01-01", "2018-12-31")},
         {"measures": COUNT, "by": {"day": Bins(["2017-01-01", "2018-01-01", "2019-01-01"])},
          "where": [Where("day").at_least("2017-02-01")]}, [[W, W]],
         keys=[(("2017-01-01", "2018-01-01"),), (("2018-01-01", "2019-01-01"),)]),
    Case("Flags add up as 0 and 1", "A sum of flags is a count of yes.",
         {"id": list("abcd"), "bph": [True, False, None, True]}, {"bph": dp.Flag()},
         {"measures": [Measure("sum", "bph", low=0, high=1, step=1), Measure("count", "bph")]}, [[2 * W], [3 * W]]),
    Case("Numbers written as text are numbers, anything else is missing", "As they come from a spreadsheet.",
         {"id": list("abcdefgh"), "site": ["12", " 7.5 ", "+3", "1e1", "n/a", "", "0x10", "1e999"]},
         {"site": dp.Number(0, 100)},
         {"measures": [Measure("sum", "site", low=0, high=100, step=0.5), Measure("count", "site")]},
         [[(24 + 15 + 6 + 20) * W], [4 * W]]),
    Case("Names and values with odd signs are only names and values", "Quotes, per cent signs, backslashes, accents.",
         {"id": ["o'hara", "100%", "a\\b", 'q"q'], "prostatitis": ["it's", "100%", "a\\b", "ä"],
          "it's 100% \"odd\" \\ `name`": [1.0, 2.0, 3.0, 4.0]},
         {"prostatitis": dp.Category(["it's", "100%", "a\\b", "ä"]), "it's 100% \"odd\" \\ `name`": dp.Number(0, 10)},
         {"measures": [Measure("sum", "it's 100% \"odd\" \\ `name`", low=0, high=10, step=1)], "by": ["prostatitis"]},
         [[W, 2 * W, 3 * W, 4 * W, 0]], keys=[("it's",), ("100%",), ("a\\b",), ("ä",), ("other",)]),
    Case("A sample counts whole rows, at most the most per person",
         "Rows without a row key are bounded like all others.",
         {"id": ["a"] * 5 + ["b"], "report": [None] * 5 + [1], "age": [1.0] * 6}, AGE,
         {"measures": COUNT, "bound": Bound("id", 2, mode="sample", row_key="report", salt="s")}, [[3]]),
    Case("Or: one of several conditions holds", "A missing value meets none of them, and spoils none.",
         {"id": list("abcde"), "age": [70.0, 20.0, None, 70.0, None], "pirads": [1, 3, 3, None, 1]},
         {**AGE, "pirads": dp.Category([1, 2, 3])},
         {"measures": COUNT, "where": [Where("age").at_least(60) | Where("pirads").eq(3)]}, [[4 * W]]),
    Case("Or with is missing and not in", "Not in needs a value; is missing needs none.",
         {"id": list("abcd"), "age": [None, 20.0, 90.0, None], "pirads": [1, 1, 2, None]},
         {**AGE, "pirads": dp.Category([1, 2, 3])},
         {"measures": COUNT, "where": [Where("age").is_missing() | Where("pirads").not_in([1, 3])]}, [[3 * W]]),
    Case("One row of each person counts: the first by a day", "The person's other rows are not looked at.",
         {"id": ["a", "a", "b", "b"], "day": [DAY[2], DAY[1], DAY[1], DAY[3]], "age": [10.0, 20.0, 40.0, 80.0]},
         {**AGE, **DAYS}, {"measures": COUNT + SUM_AGE, "bound": row("first", "day")}, [[2], [60]], most=3),
    Case("The last row by a day", "Rows without a day come after all others, in both directions.",
         {"id": ["a", "a", "b", "b"], "day": [DAY[2], None, DAY[1], DAY[3]], "age": [10.0, 20.0, 40.0, 80.0]},
         {**AGE, **DAYS}, {"measures": SUM_AGE, "bound": row("last", "day")}, [[90]], most=3),
    Case("The highest score of each person", "Other follows all declared scores, and a missing score follows other.",
         {"id": ["a", "a", "a", "b", "b", "c"], "pirads": [2, 9, 3, None, 9, None]}, {"pirads": dp.Category([1, 2, 3])},
         {"measures": COUNT, "by": {"pirads": (1, 2, 3, "other", None)}, "bound": row("highest", "pirads")},
         [[0, 0, 1, 1, 1]], keys=[(1,), (2,), (3,), ("other",), (None,)]),
    Case("Rows of one day are told apart by their values, never by their place",
         "By every declared column that can be asked, in declared order, ascending, missing values last.",
         {"id": ["a"] * 3 + ["b"] * 2, "day": [DAY[1]] * 5, "age": [None, 7.0, 5.0, None, None],
          "pirads": [1, 1, 3, 2, 1]}, {**DAYS, **AGE, "pirads": dp.Category([1, 2, 3])},
         {"measures": SUM_AGE, "by": ["pirads"], "bound": row("last", "day")}, [[0, 0, 5, 0]],
         keys=[(1,), (2,), (3,), ("other",)]),
    Case("Minus zero and zero are one value", "Otherwise engines would tell rows apart that no question can.",
         {"id": ["a", "a"], "score": [-0.0, 0.0], "age": [9.0, 4.0]}, {"score": dp.Number(-1, 1), **AGE},
         {"measures": SUM_AGE, "bound": row("last", "score")}, [[4]]),
    Case("Values beyond the bounds are equal to the bound when rows are ordered", "A clamped value is what counts.",
         {"id": ["a", "a"], "score": [1e300, 5.0], "age": [9.0, 4.0]}, {"score": dp.Number(-1, 1), **AGE},
         {"measures": SUM_AGE, "bound": row("highest", "score")}, [[4]]),
    Case("Conditions come before the row is chosen", "Of the rows that meet them, the first counts.",
         {"id": ["a", "a", "b"], "day": [DAY[1], DAY[2], DAY[1]], "age": [10.0, 60.0, 20.0]}, {**AGE, **DAYS},
         {"measures": COUNT + SUM_AGE, "where": [Where("age").at_least(50)], "bound": row("first", "day")},
         [[1], [60]]),
    Case("Conditions after the row is chosen only leave persons out", "The first row counts, or the person does not.",
         {"id": ["a", "a", "b"], "day": [DAY[1], DAY[2], DAY[1]], "age": [10.0, 60.0, 70.0]}, {**AGE, **DAYS},
         {"measures": COUNT + SUM_AGE, "after": [Where("age").at_least(50)], "bound": row("first", "day")},
         [[1], [70]]),
    Case("Nobody's rows are nobody's row", "Null and empty ids would be one more person.",
         {"id": [None, "", "a"], "day": [DAY[1]] * 3, "age": [10.0, 20.0, 30.0]}, {**AGE, **DAYS},
         {"measures": COUNT + SUM_AGE, "bound": row("first", "day")}, [[1], [30]]),
    Case("Unknown keys of one row of each person", "One row is in one group; a person without a key is in none.",
         {"id": ["a", "a", "b", "c"], "day": [DAY[1], DAY[2], DAY[1], DAY[1]], "site": ["x", "y", "y", None]},
         {**DAYS, "site": dp.Text()}, {"measures": COUNT, "by": {"site": None}, "bound": row("last", "day")},
         [[2]], keys=[("y",)]),
    Case("Unknown keys: persons per group, each in at most this many groups",
         "Only sampling can bound groups that are not public.",
         {"id": ["a", "a", "b", "c"], "site": ["north", "north", "north", None]}, {"site": dp.Text()},
         {"measures": COUNT, "by": {"site": None}, "bound": Bound("id", 1, mode="sample", max_groups=1, salt="s")},
         [[2]], keys=[("north",)]),
]  # fmt: skip


def render() -> str:
    """Return the specs as Markdown: title, table in, question, integers out."""
    parts = ["# What the engines promise\n\nOne whole row is 65536 where rows are weighed by person, 1 elsewhere.\n"]
    for case in CASES:
        names = list(case.rows)
        lines = [f"## {case.title}\n", f"{case.why}\n", "| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
        for row in zip(*case.rows.values(), strict=True):
            shown = ["" if cell is None else str(cell) for cell in row]
            lines += [f"| {' | '.join(shown)} |"]
        lines += ["", *(f"- where {condition}" for condition in case.plan.where)]
        lines += [f"- after {condition}" for condition in case.plan.after]
        lines.append(f"- bound: {case.plan.bound!r}")
        for measure, numbers in zip(case.plan.measures, case.answer, strict=True):
            asked = ", ".join(f"{k}={v}" for k, v in measure.to_dict().items() if k != "kind")
            shown = "; ".join(
                f"{', '.join(map(str, key)) + ': ' if key else ''}{value}"
                for key, value in zip(case.keys, numbers, strict=True)
            )
            lines.append(f"- {measure.kind}{f' ({asked})' if asked else ''} -> {shown}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    page = Path(__file__).parents[2] / "docs" / "reference" / "engine-specs.md"
    page.write_text(render(), encoding="utf-8")

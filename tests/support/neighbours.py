"""Hypothesis-made neighbours, every question about them, and how much a pair of runs really loses."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import pydplib as dp
from pydplib.engine import Bound, ExactTable, Plan
from pydplib.noise.testing import NoiseTrace, check_neighbours, pair_distance, record, replay
from pydplib.release.facts import Purchase

Person: TypeAlias = list[dict[str, Any]]
"""All rows of one person."""

COLUMNS = {
    "age": dp.Number(18, 100, step=1),
    "psa": dp.Number(0, 50),
    "lesions": dp.Integer(0, 9),
    "pirads": dp.Category([1, 2, 3]),
    "bph": dp.Flag(),
    "day": dp.Date("2018-01-01", "2018-12-31"),
    "city": dp.Text(),
}
TYPES = {
    "age": pa.float64(), "psa": pa.float64(), "lesions": pa.int64(), "pirads": pa.int64(), "bph": pa.bool_(),
    "day": pa.date32(), "city": pa.string(),
}  # fmt: skip


def schema_of(**more: Any) -> dp.Schema:
    """Return the schema of the people below: at most two rows, and two groups, of one person count."""
    return dp.Schema(
        {**COLUMNS, **more}, person="patient", max_rows_per_person=2, max_groups_per_person=2, name="replayed"
    )


WILD = st.sampled_from([float("nan"), 1e300, -1e300, float("inf"), -float("inf"), 0.0, -0.0, 17.9999, 59.5])
DAYS = [dt.date(1900, 1, 1), dt.date(2018, 1, 1), dt.date(2018, 7, 31), dt.date(2018, 12, 31), dt.date(2500, 1, 1)]
ROW = st.fixed_dictionaries(
    {
        "age": st.one_of(st.none(), WILD, st.integers(10, 110).map(float)),
        "psa": st.one_of(st.none(), WILD, st.floats(-5, 60)),
        "lesions": st.one_of(st.none(), st.integers(-3, 12)),
        "pirads": st.one_of(st.none(), st.integers(0, 4)),
        "bph": st.one_of(st.none(), st.booleans()),
        "day": st.one_of(st.none(), st.sampled_from(DAYS)),
        "city": st.one_of(st.none(), st.sampled_from(["Oslo", "Rome", "Graz", ""])),
    }
)
PERSON = st.lists(ROW, min_size=1, max_size=7)
OTHERS = st.lists(PERSON, max_size=5)

_TOP = {"age": 100.0, "psa": 50.0, "lesions": 9, "pirads": 1, "bph": True, "day": DAYS[3], "city": "Oslo"}
_BOTTOM = {"age": 18.0, "psa": 0.0, "lesions": 0, "pirads": 3, "bph": False, "day": DAYS[1], "city": "Rome"}
_FAR = {"age": 1e300, "psa": -1e300, "lesions": 99, "pirads": 77, "bph": True, "day": DAYS[4], "city": "Graz"}
_NAN = {"age": float("nan"), "psa": float("nan"), "lesions": None, "pirads": None, "bph": None, "day": None, "city": ""}
CHOSEN: list[tuple[list[Person], Person]] = [
    ([], [_TOP] * 2),  # all that one person may do, alone
    ([[_BOTTOM], [_TOP]], [_TOP] * 7),  # more rows than allowed
    ([[_TOP] * 3, [_BOTTOM]], [_BOTTOM] * 5),
    ([[_TOP]], [{**_TOP, "pirads": i % 5, "city": f"city {i}", "age": 18.0 + 9 * i} for i in range(9)]),  # many groups
    ([[_BOTTOM] * 4], [_FAR, _NAN, _TOP, _FAR, _BOTTOM]),  # beyond all bounds, unknown, missing
    ([], [_NAN] * 3),
]
"""Neighbours that Hypothesis need not find: without a person, and that person."""

QUESTIONS = [
    dp.Count(),
    dp.Count(by=["pirads", "bph"]),
    dp.Count(of="persons"),
    dp.Count(of="persons", by="pirads", where=[dp.Where("age").at_least(40)]),
    dp.Sum("psa", by="bph"),
    dp.Sum("lesions", where=[dp.Where("pirads").is_in([1, 2]), dp.Where("psa").is_present()]),
    dp.Mean("age"),
    dp.Mean("age", by="pirads", where=[dp.Where("age").between(30, 90)]),
    dp.Mean("bph"),
    dp.Mean("lesions", by={"day": dp.Bins(["2018-01-01", "2018-07-01", "2018-12-31"])}),
    dp.Variance("psa"),
    dp.Variance("age", by="bph"),
    dp.Median("age"),
    dp.Median("lesions", by="pirads", where=[dp.Where("bph").eq(True)]),
    dp.Quantiles("age", [0.1, 0.5, 0.9], by="bph"),
    dp.Histogram("age", edges=[18, 40, 60, 80, 100], by="pirads"),
    dp.Crosstab("age", "pirads"),
    dp.StandardDeviation("age", by="bph"),
    dp.Mode("pirads"),
    dp.Mode("age", edges=[18, 40, 60, 100], by="bph", where=[dp.Where("psa").is_present()]),
    dp.clinic.RiskRatio("bph", by="pirads"),
    dp.clinic.Top("pirads", places=2),
    dp.Count(by="pirads", per_person=dp.Person("patient").highest_row("pirads")),
    dp.Mean("psa", by="bph", per_person=dp.Person().first_row(order="day"), after=[dp.Where("pirads").is_in([1, 2])]),
    dp.Sum("lesions", where=[dp.Where("age").at_least(40)], per_person=dp.Person().last_row(order=["day", "psa"])),
    dp.Variance("age", per_person=dp.Person().first_row(order="bph")),
    dp.Median("psa", by="pirads", per_person=dp.Person().last_row(order="day")),
    dp.Mode("pirads", per_person=dp.Person().first_row(order="age")),
    dp.Sum("psa", where=[dp.Where("pirads").eq(3) | dp.Where("age").at_least(60) | dp.Where("bph").is_missing()]),
]
CLINICAL = [
    dp.clinic.Survival("psa", "bph", by="pirads", edges=[0, 10, 20, 30]),
    dp.clinic.Difference("age", by="bph", edges=[18, 40, 60, 100]),
    dp.clinic.RiskRatio("bph", by="pirads"),
    dp.clinic.OddsRatio("bph", by="pirads", where=[dp.Where("age").at_least(40)]),
    dp.clinic.Association("pirads", "bph"),
    dp.clinic.Trend("bph", by="pirads"),
    dp.clinic.Correlation("age", edges=[18, 40, 60, 100], by={"psa": dp.Bins([0, 10, 50])}),
    dp.clinic.Roc("pirads", "bph"),
    dp.clinic.Logistic("bph", by="pirads"),
    dp.clinic.StandardError("age", edges=[18, 40, 60, 100], by="bph"),
    dp.clinic.Top("pirads", places=2),
    dp.clinic.Series("day", every="quarter"),
]
"""Clinical questions: each is one table of counts of one row per person, counted by engines as others are."""
UNKNOWN = [
    dp.Count(by={"city": None}),
    dp.Count(of="persons", by={"city": None}, where=[dp.Where("age").at_least(40)]),
    dp.Sum("psa", by={"city": None}),
    dp.Mean("age", by={"city": None}),
    dp.Variance("age", by={"city": None}),
    dp.Count(by={"city": None}, per_person=dp.Person().last_row(order="day")),
]
"""The questions about keys that nobody declared."""


def arrow(people: list[Person], *, prefix: str = "p", **more: Any) -> pa.Table:
    """Return people as a table; ``more`` are columns of one value."""
    rows = [{"patient": f"{prefix}{i}", **more, **row} for i, person in enumerate(people) for row in person]
    added = {name: pa.int64() for name in more}
    return pa.Table.from_pylist(rows, schema=pa.schema({"patient": pa.string(), **added, **TYPES}))


def gather(count: int) -> list[tuple[list[Person], Person]]:
    """Return the chosen neighbours and ``count`` of Hypothesis's: others, and the person who joins them."""
    found: list[tuple[list[Person], Person]] = []

    @settings(max_examples=count, database=None, phases=[Phase.generate])
    @given(others=OTHERS, person=PERSON)
    def collect(others: list[Person], person: Person) -> None:
        found.append((others, person))

    collect()
    return [*CHOSEN, *found]


def lost(first: NoiseTrace, second: NoiseTrace) -> float:
    """Return the privacy loss of the whole run, over all calls together: what composition has to cover."""
    total = 0.0
    for a, b in zip(first.passed, second.passed, strict=True):
        moved = np.abs(a.exact.astype(object) - b.exact.astype(object)).ravel()
        if a.call.kind == "laplace":
            total += float(sum(moved) / a.call.scale)
        elif a.call.kind == "pair":
            steps = (a.exact.astype(object) - b.exact.astype(object)).ravel().tolist()
            total += float(pair_distance(steps, a.call.first, a.exact.shape) / a.call.scale)
        else:
            total += float((1 if a.call.monotone else 2) * max(moved, default=0) * a.call.scale)
    return total


def loss_between(prepared: Purchase, smaller: ExactTable, larger: ExactTable) -> float:
    """Record one table's answer, replay it on its neighbour and return the loss.

    Raises:
        AssertionError: If noise calls differ, or values moved by more than their claimed sensitivity.
    """
    with record() as one:
        prepared.answer(smaller)
    with replay(one) as two:
        prepared.answer(larger)
    check_neighbours(one, two)
    assert one.fingerprint() == two.fingerprint()
    return lost(one, two)


class Pairs:
    """Many pairs of neighbours in two tables, told apart by a column: one question to an engine asks all of them.

    Nobody is in two examples, and everybody has the same id in both tables.
    """

    def __init__(self, examples: list[tuple[list[Person], Person]]) -> None:
        self.count = len(examples)
        self.schema = schema_of(example=dp.Integer(0, self.count - 1))
        without = [arrow(others, prefix=f"e{i}p", example=i) for i, (others, _) in enumerate(examples)]
        joined = [arrow([*others, him], prefix=f"e{i}p", example=i) for i, (others, him) in enumerate(examples)]
        # In one piece: PySpark loses what comes after an empty chunk.
        self.smaller, self.larger = (pa.concat_tables(parts).combine_chunks() for parts in (without, joined))

    def plan(self, plan: Plan) -> Plan:
        """Return the plan of all examples at once."""
        by = {"example": tuple(range(self.count)), **plan.by}
        return Plan(self.schema, where=plan.where, by=by, bound=plan.bound, measures=plan.measures, after=plan.after)

    def split(self, exact: ExactTable, plan: Plan) -> list[ExactTable]:
        """Return the integers of every example, as if it had been asked alone."""
        examples = np.array([key[0] for key in exact.keys], dtype=np.int64)
        found = []
        for i in range(self.count):
            rows = np.flatnonzero(examples == i)
            keys = tuple(exact.keys[row][1:] for row in rows)
            found.append(ExactTable(plan, keys, tuple(values[rows] for values in exact.values)))
        return found

    def ask(self, plan: Plan, smaller: dp.engine.Table, larger: dp.engine.Table) -> list[tuple[ExactTable, ExactTable]]:
        """Return the integers of every example, without the person and with him: two questions to the engine."""
        asked = self.plan(plan)
        tables = [self.split(table.aggregate(asked), plan) for table in (smaller, larger)]
        return list(zip(*tables, strict=True))


def losses(prepared: Purchase, pairs: list[tuple[ExactTable, ExactTable]]) -> list[float]:
    """Return the loss of every pair of neighbours; a broken claim of sensitivity is infinite."""
    found = []
    for few, many in pairs:
        try:
            found.append(loss_between(prepared, *_same_keys(few, many)))
        except AssertionError:
            found.append(float("inf"))
    return found


def _same_keys(few: ExactTable, many: ExactTable) -> tuple[ExactTable, ExactTable]:
    """Return two answers over the keys of both: a key that nobody has counts nobody."""
    keys = tuple(dict.fromkeys((*few.keys, *many.keys)))
    found = []
    for exact in (few, many):
        places = {key: place for place, key in enumerate(exact.keys)}
        rows = [places.get(key, len(places)) for key in keys]
        values = [np.concatenate([column, np.zeros_like(column, shape=(1, *column.shape[1:]))])[rows]
                  for column in exact.values]  # fmt: skip
        found.append(ExactTable(exact.plan, keys, tuple(values)))
    return found[0], found[1]


def unbounded(plan: Plan) -> Plan:
    """Return the planted fault: the same plan, but a person may do a thousand times as much."""
    if plan.bound.mode == "row":
        bound = Bound(plan.bound.person, 1000, mode="sample", max_groups=1000 if plan.by else None, salt="s")
    else:
        bound = replace(plan.bound, max_rows=1000, max_groups=None if plan.bound.max_groups is None else 1000)
    return Plan(plan.table, where=plan.where, by=plan.by, bound=bound, measures=plan.measures)

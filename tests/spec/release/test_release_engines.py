"""Every question on every engine: the same integers reach the noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pydplib as dp
from pydplib.noise.testing import record
from pydplib.release.facts import Facts

SCHEMA = dp.Schema(
    {
        "age": dp.Number(18, 100, step=1),
        "psa": dp.Number(0, 50),
        "pirads": dp.Category([1, 2, 3]),
        "bph": dp.Flag(),
        "city": dp.Text(),
    },
    person="patient",
    max_rows_per_person=2,
    max_groups_per_person=2,
    name="specified",
)
COLUMNS = pa.schema(
    [
        ("patient", pa.string()), ("age", pa.float64()), ("psa", pa.float64()), ("pirads", pa.int64()),
        ("bph", pa.bool_()), ("city", pa.string()),
    ]
)  # fmt: skip

# patient, age, psa, pirads, bph, city: wild values, unknown categories, more rows than count, nobody's row.
ROWS: list[tuple[Any, ...]] = [
    ("a", 60.0, 4.0, 1, True, "Oslo"),
    ("a", 61.0, 4.5, 2, True, "Rome"),
    ("a", 62.0, float("nan"), 3, None, "Graz"),
    ("b", 1e300, -1e300, 9, False, "Oslo"),
    ("c", None, 50.0, 2, True, None),
    ("c", 17.0, 0.333, 2, False, "Oslo"),
    ("d", 70.5, 12.25, 3, True, "Oslo"),
    (None, 40.0, 1.0, 1, True, "Oslo"),
    ("e", 99.4, 49.99, 1, False, "Oslo"),
]

QUESTIONS = [
    dp.Count(),
    dp.Count(of="persons", by="pirads"),
    dp.Sum("psa", by="bph"),
    dp.Mean("age", by="pirads", where=[dp.Where("age").between(20, 90)]),
    dp.Variance("psa"),
    dp.Median("age", by="bph"),
    dp.Quantiles("psa", [0.25, 0.75]),
    dp.Histogram("age", edges=[18, 40, 60, 80, 100], by="pirads"),
    dp.Crosstab("age", "bph"),
    dp.Mode("pirads", by="bph"),
    dp.StandardDeviation("psa"),
    dp.Count(by={"city": None}),
]


def arrow(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(COLUMNS.names, row, strict=True)) for row in rows], schema=COLUMNS)


def integers(table: dp.engine.Table) -> list[list[int]]:
    """What every question hands to the noise."""
    found = []
    for question in QUESTIONS:
        resolved = Facts.of(question, SCHEMA)
        prepared = resolved.at(1.0, 1e-6 if resolved.has_unknown_keys else None)
        with record() as trace:
            prepared.answer(table.aggregate(prepared.plan))
        found.append([int(n) for n in np.concatenate([passed.exact.ravel() for passed in trace.passed])])
    return found


@pytest.fixture(scope="module")
def expected() -> list[list[int]]:
    with dp.load(arrow(ROWS), SCHEMA) as table:
        return integers(table)


def test_every_question_hands_the_same_integers_to_the_noise(place, expected):
    assert integers(place(arrow(ROWS), SCHEMA)) == expected


def test_known_table_gives_known_integers(place):
    """A row of 'a', who has three where two count, weighs 2/3; nobody's row counts for nothing."""
    table = place(arrow(ROWS), SCHEMA)
    prepared = Facts.of(dp.Count(by="pirads"), SCHEMA).at(1.0)
    third = 2 * 65536 // 3
    one, two, three, other = 65536 + third, third + 2 * 65536, third + 65536, 65536
    assert table.aggregate(prepared.plan)[0].tolist() == [one, two, three, other]

"""A small hostile table of persons: gaps everywhere, NaN, infinities, unknown categories, persons with many rows."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pyarrow as pa

import pydplib as dp

SCHEMA = dp.Schema(
    {
        "age": dp.Number(-20, 100),
        "lesions": dp.Integer(0, 3),
        "pirads": dp.Category([1, 2, 3]),
        "bph": dp.Flag(),
        "day": dp.Date("2017-01-01", "2018-12-31"),
        "site": dp.Text(),
    },
    person="id",
    max_rows_per_person=2,
)
TYPES = {
    "id": pa.string(), "report": pa.int64(), "age": pa.float64(), "lesions": pa.int64(), "pirads": pa.int64(),
    "bph": pa.bool_(), "day": pa.date32(), "site": pa.string(),
}  # fmt: skip


def make_rows(seed: int, size: int) -> dict[str, list[object]]:
    """Return a hostile table: gaps everywhere, NaN, infinities, unknown categories, persons with many rows."""
    random = np.random.default_rng(seed)

    def choose(values: list[object]) -> list[object]:
        return [values[i] for i in random.integers(0, len(values), size)]

    odd = [None, math.nan, math.inf, -math.inf, 1e300, -1e300, 0.5, -0.5, 99.999]
    ages = [*odd, *(float(x) for x in random.normal(50, 30, 40))]
    days = [None, dt.date(1900, 1, 1), dt.date(2017, 1, 1), dt.date(2017, 7, 31), dt.date(2500, 1, 1)]
    return {
        "id": choose([None, "", "é", *[f"p{i % 37}" for i in range(60)]]),
        "report": choose([None, *range(size)]),
        "age": choose(ages),
        "lesions": choose([None, -5, 0, 1, 2, 3, 77]),
        "pirads": choose([None, 1, 2, 3, 9]),
        "bph": choose([None, True, False]),
        "day": choose(list(days)),
        "site": choose([None, "", "north", "south", "east", "ünïcode"]),
    }


def as_table(rows: dict[str, list[object]]) -> pa.Table:
    return pa.table({name: pa.array(cells, TYPES[name]) for name, cells in rows.items()})

"""A small table of people, a session on it, and a table that must not be touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import pydplib as dp

SCHEMA = dp.Schema(
    {
        "age": dp.Number(18, 100, unit="years", step=1, title="Age"),
        "psa": dp.Number(0, 50),
        "pirads": dp.Category([1, 2, 3], ordered=True),
        "bph": dp.Flag(),
        "seen": dp.Date("2017-01-01", "2018-12-31"),
        "name": dp.Text(),
    },
    person="patient",
    max_rows_per_person=2,
    name="reports",
)


def frame() -> pd.DataFrame:
    start = pd.Timestamp("2017-06-01")
    rows = [
        {
            "patient": f"p{i}",
            "age": 50.0 + i % 30,
            "psa": float(i % 40),
            "pirads": 1 + i % 3,
            "bph": i % 2 == 0,
            "seen": start + pd.Timedelta(days=visit),
            "name": f"n{i}",
        }
        for i in range(300)
        for visit in range(1 + i % 3)
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="session")
def schema() -> dp.Schema:
    return SCHEMA


@pytest.fixture(scope="session")
def people() -> pd.DataFrame:
    return frame()


@pytest.fixture
def table(people: pd.DataFrame) -> Iterator[dp.engine.Table]:
    with dp.load(people, SCHEMA) as loaded:
        yield loaded


@pytest.fixture
def session(table: dp.engine.Table) -> dp.Session:
    return dp.Session(table, recipient="acme", budget=dp.PureDP(5.0))


class Untouchable:
    """An engine that fails the test if anybody looks."""

    name = "Untouchable"

    def __init__(self, schema: dp.Schema) -> None:
        self.schema = schema
        self.looks = 0

    def aggregate(self, plan: Any) -> Any:
        self.looks += 1
        raise AssertionError("data were touched")

    bounded = aggregate

    def explain(self, plan: Any) -> str:  # made of types alone, in every engine
        return "nothing"


@pytest.fixture
def untouchable() -> dp.engine.Table:
    from pydplib.engine import Table

    return Table(SCHEMA, Untouchable(SCHEMA))  # type: ignore[arg-type]

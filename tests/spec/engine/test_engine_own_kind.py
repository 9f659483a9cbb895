"""A column kind that nobody built in: every engine finds the same integers, from its neutral expression alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from own_kinds import VISITS, own_kinds, visit_plans, visits_schema

import pydplib as dp
from pydplib.engine import Table


def test_own_kind_is_counted_alike_on_every_engine(place: Callable[[pa.Table, dp.Schema], Table]) -> None:
    names = ("id", "seen", "score")
    columns: dict[str, Any] = {name: [row[i] for row in VISITS] for i, name in enumerate(names)}
    with own_kinds():
        table = place(pa.table(columns), visits_schema())
        for plan, expected in visit_plans():
            assert [(part // plan.scale).tolist() for part in table.aggregate(plan).values] == expected, str(
                plan.to_json()
            )

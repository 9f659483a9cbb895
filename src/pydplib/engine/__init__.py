"""Tables where they live: person-bounded, clamped, integer aggregates on every engine."""

from __future__ import annotations

from pydplib.engine.bounds import WEIGHT_UNIT, Bound
from pydplib.engine.conditions import RowCondition, Where, day_number
from pydplib.engine.exact import ExactTable
from pydplib.engine.load import load
from pydplib.engine.measures import Measure, number_bounds
from pydplib.engine.persons import OneRow, Person
from pydplib.engine.plan import Bins, Key, Plan, public_keys
from pydplib.engine.protocol import Engine
from pydplib.engine.sensitivity import Sensitivity, sensitivity
from pydplib.engine.table import Table

__all__ = [
    "WEIGHT_UNIT",
    "Bins",
    "Bound",
    "Engine",
    "ExactTable",
    "Key",
    "Measure",
    "OneRow",
    "Person",
    "Plan",
    "RowCondition",
    "Sensitivity",
    "Table",
    "Where",
    "day_number",
    "load",
    "number_bounds",
    "public_keys",
    "sensitivity",
]

"""The limits of a column: its public bounds or private extremes, its range for Eq. 4, its n and its metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from pydplib.errors import DataError, ParameterError
from pydplib.paper.coded import LARGEST, Coded
from pydplib.paper.coding import encode
from pydplib.paper.containers import open_column
from pydplib.paper.fitting import Range, parse_range, range_from_records
from pydplib.paper.plan import Plan
from pydplib.paper.records import Records
from pydplib.paper.sensitivity import smallest_group
from pydplib.paper.words import NoiseMetric


def declared_bounds(bounds: tuple[Any, Any] | None, coded: Coded, plan: Plan) -> tuple[float, float] | None:
    """Return public bounds as numbers, or say that they are needed (or out of place)."""
    if coded.kind in ("bool", "category"):
        if bounds is not None:
            raise ParameterError(f"bounds= are for numbers and dates; the data type is {coded.data_type}.")
        if plan.public and coded.kind == "category" and not coded.declared:
            raise ParameterError("selector='public' needs the public list categories=[...] for text.")
        return None
    if bounds is None:
        if plan.public:
            raise ParameterError(
                "selector='public' (and record_epsilon=) need public bounds=(low, high), known without looking at "
                "the data, e.g. bounds=(18, 100) for ages."
            )
        return None
    try:
        low, high = (_counted(edge, coded.origin) for edge in bounds)
        limits = encode(
            open_column([low, high]), data_type="date" if coded.kind == "date" else "float", on_missing="error"
        )[0].codes
    except (TypeError, ValueError):
        limits = np.array([0.0, 0.0])
    if not limits[0] < limits[1]:
        raise ParameterError(
            "bounds=(low, high) must be two finite values of the column's own kind "
            f"({coded.data_type}), low < high, at most {LARGEST:g} in size."
        )
    return float(limits[0]), float(limits[1])


def _counted(edge: Any, origin: int) -> Any:
    """Return a bound counted from the origin of large whole numbers, exactly where it is one itself."""
    if not origin or isinstance(edge, bool) or not isinstance(edge, int | float | np.number):
        return edge
    return int(edge) - origin if isinstance(edge, int | np.integer) else float(edge) - origin


def public_origin(bounds: Any) -> int:
    """Return what whole numbers within public bounds are counted from: a bound that a float does not hold, else 0."""
    low = bounds[0] if isinstance(bounds, tuple | list) and len(bounds) == 2 else 0
    whole = isinstance(low, int | np.integer) and not isinstance(low, bool)
    return int(low) if whole and abs(int(low)) > 2**53 else 0


def range_for(plan: Plan, records: Records, coded: Coded, range_values: Any) -> Range | None:
    """Return the range that noisy values are fitted to, or None where they are not."""
    if coded.kind == "category" and plan.public:
        return None  # randomised response never leaves the categories
    if coded.kind == "category" and not plan.is_range:
        raise DataError(
            "Text needs is_range=True: a noisy category must be fitted to those that exist (the paper's range "
            "values). Or use selector='public' with categories=[...]."
        )
    if not plan.is_range or coded.kind == "bool":
        return None
    return range_from_records(records, coded) if range_values is None else parse_range(range_values, coded)


def span_of(records: Records, coded: Coded, declared: tuple[float, float] | None) -> tuple[float, float]:
    """Return [a, b] of the sensitivity, refusing columns whose width is zero."""
    if declared is not None:
        return declared
    if coded.kind == "bool":
        return 0.0, 1.0  # the type itself is the public range
    span = (0.0, len(coded.members) - 1.0) if coded.kind == "category" else records.extremes
    if span[1] <= span[0]:
        hint = "categories=[...]" if coded.kind == "category" else "bounds=(low, high)"
        raise DataError(
            "All values are equal (or there is only one), so the sensitivity is 0 and the raw value would leave. "
            f"Give public {hint}, known without looking at the data."
        )
    return span


def patients(plan: Plan, values: int, group_sizes: Any) -> int:
    """Return n of the sensitivity: records, or the patients of the smallest aggregate."""
    if not plan.aggregated or plan.query == "count":
        return values
    if group_sizes is None:
        raise ParameterError(
            f"The {plan.query} of aggregates needs group_sizes=: how many patients stand behind each value. "
            "The sensitivity divides by that, not by the number of aggregates."
        )
    return smallest_group(group_sizes, values=values)


def metric_for(plan: Plan, records: Records) -> NoiseMetric:
    """Return what noise is measured against: the range for dates, and where all values are equal.

    A date has no natural zero. The mean |x| of equal values is their value, which epsilon would show.
    """
    if records.kind in ("bool", "category"):
        return plan.metric
    low, high = records.extremes
    return "range" if records.kind == "date" or low == high else plan.metric

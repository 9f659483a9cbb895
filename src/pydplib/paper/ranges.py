"""The range of a column: public bounds or private extremes, Eq. 4 or clipping, and the values that can occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, ParameterError
from pydplib.paper.codes import LARGEST, CodedColumn, encode
from pydplib.paper.containers import open_column
from pydplib.paper.plan import PaperPlan
from pydplib.paper.records import Records
from pydplib.paper.sensitivity import smallest_group
from pydplib.paper.words import Kind, NoiseMetric, kind_of, parse_data_type

MOST_MEMBERS = 1_000_000
"""This many values can be listed as those that may occur."""

_TABLE = 100_000  # a longer range than this is searched, not looked up


@dataclass(frozen=True)
class Range:
    """What values may come out: an interval, every whole number in it, or a list of members.

    Attributes:
        low: The smallest value (or code).
        high: The largest value (or code).
        members: Sorted codes to snap to; None for every whole number (or, for decimals, no snapping).
        stretch: Whether Eq. 4 stretches the noisy values onto the range. It does so onto the range of the data.
            A declared range can hold values that do not occur, and stretching would move all the others there, so
            noisy values are clipped to it instead.
    """

    low: float
    high: float
    members: NDArray[np.float64] | None = None
    stretch: bool = True

    def __repr__(self) -> str:
        return "Range(...)"  # may have been taken from private data

    def fit(
        self, noisy: NDArray[np.float64], kind: Kind, extremes: tuple[Any, Any] | None = None
    ) -> NDArray[np.float64]:
        """Apply Eq. 4 or clip, in place, then snap whole numbers, dates and categories; ties go to the lower member.

        Args:
            noisy: Noisy codes, one column per row of the array; overwritten.
            kind: How they are treated.
            extremes: The smallest and largest noisy value of the whole column, where ``noisy`` is a part of it.
        """
        if not noisy.size:
            return noisy
        if self.stretch:
            self._stretch(noisy, extremes)
        np.clip(noisy, self.low, self.high, out=noisy)
        if kind in ("int", "date", "category"):
            self._snap(noisy)
        return noisy

    def _stretch(self, noisy: NDArray[np.float64], extremes: tuple[Any, Any] | None) -> None:
        least, most = extremes or (noisy.min(axis=-1, keepdims=True), noisy.max(axis=-1, keepdims=True))
        # Halved before the subtraction, so that values near 1e300 do not overflow.
        width = 0.5 * np.asarray(most) - 0.5 * np.asarray(least)
        noisy *= 0.5
        noisy -= 0.5 * least
        noisy /= np.where(width > 0, width, 1.0)  # max = min: what is left is 0, which becomes the lowest value
        noisy *= self.high - self.low
        noisy += self.low

    def _snap(self, values: NDArray[np.float64]) -> None:
        if self.members is None:
            np.ceil(np.subtract(values, 0.5, out=values), out=values)
            np.clip(values, np.ceil(self.low), np.floor(self.high), out=values)
        elif self._nearest is not None:
            # Whole numbers meet in the middle at a half or a whole number: ceil(2 x) decides.
            np.ceil(np.multiply(np.subtract(values, self.low, out=values), 2, out=values), out=values)
            self._nearest.take(values.astype(np.intp), out=values, mode="clip")
        else:
            middle = (self.members[:-1] + self.members[1:]) / 2
            values[:] = self.members[np.searchsorted(middle, values, side="left")]

    @cached_property
    def _nearest(self) -> NDArray[np.float64] | None:
        """The nearest member for low, low + 1/2, low + 1, ... up to high, if that is a short list."""
        whole = self.members is not None and bool((self.members == np.rint(self.members)).all())
        if self.members is None or not whole or self.high - self.low > _TABLE:
            return None
        halves = np.arange(0, int(2 * (self.high - self.low)) + 1) / 2 + self.low
        return self.members[np.searchsorted((self.members[:-1] + self.members[1:]) / 2, halves, side="left")]


def range_from_records(records: Records, coded: CodedColumn) -> Range:
    """Return the range of a column: its declared categories or bounds, else the values that occur in it."""
    if coded.kind == "category":
        return Range(0.0, float(len(coded.members) - 1), stretch=coded.occurring)
    if records.clamp is not None:
        return Range(*records.clamp, stretch=False)
    if coded.kind == "float":
        return Range(*records.extremes)
    members = np.unique(records.codes).astype(np.float64)
    return Range(float(members[0]), float(members[-1]), members)


def parse_range(range_values: Any, coded: CodedColumn, *, stretch: bool = False) -> Range:
    """Return the range for what a caller gave: ``(low, high)``, or a list of the values that may occur."""
    if coded.kind == "category":
        members = _listed(range_values)
        position = {member: i for i, member in enumerate(coded.members)}
        if not members or any(member not in position for member in members):
            raise ParameterError("range_values= of a text column must be some of its categories.")
        codes = np.array(sorted({float(position[member]) for member in members}))
        return Range(float(codes[0]), float(codes[-1]), codes, stretch)
    listed = _listed(range_values)
    values = _range_codes(listed, coded)
    if not len(values) or not bool(np.isfinite(values).all()):
        raise ParameterError("range_values= must be finite numbers: (low, high), or a list of what may occur.")
    low, high = float(values.min()), float(values.max())
    every = isinstance(range_values, range) and abs(range_values.step) == 1
    limits = isinstance(range_values, tuple) and len(range_values) == 2
    if coded.kind == "float" or every or limits:
        return Range(low, high, stretch=stretch)
    return Range(low, high, np.unique(values), stretch)


def _listed(range_values: Any) -> list[Any]:
    if isinstance(range_values, range):
        if not range_values:
            return []
        if abs(range_values.step) == 1:
            return [range_values[0], range_values[-1]]
        if (range_values[-1] - range_values[0]) // range_values.step >= MOST_MEMBERS:
            raise ParameterError(
                f"range_values= lists at most {MOST_MEMBERS:,} values that may occur. For more give (low, high)."
            )
        return list(range_values)
    if isinstance(range_values, str) or not isinstance(range_values, Sequence | np.ndarray | set | frozenset):
        raise ParameterError("range_values= must be (low, high), or a list of the values that may occur.")
    return list(range_values)


def _range_codes(listed: list[Any], coded: CodedColumn) -> NDArray[np.float64]:
    if not listed:
        return np.empty(0)
    try:
        if coded.origin and all(isinstance(value, int | np.integer) for value in listed):
            return np.array([float(int(value) - coded.origin) for value in listed])
        column = open_column(listed)
        kind = "date" if coded.kind == "date" else "float"
        return encode(column, data_type=kind, on_missing="error")[0].codes.astype(np.float64) - coded.origin
    except DataError:
        raise ParameterError(
            f"range_values= must be of the column's own kind ({coded.data_type}): (low, high), or a list."
        ) from None


def data_range(data: Any) -> list[Any]:
    """Return the values that occur in the data, sorted, each of them once (the paper's ``range_values``).

    Values between them are not added: 8 is no valid value of ``[6, 7, 9, 10]``. The list is taken from private
    data and must not be handed on.

    Args:
        data: A list, tuple, NumPy array, pandas or Polars Series, or PyArrow array.

    Examples:
        >>> data_range([71, 52, 66, 52]), data_range([2.5, 0.5]), data_range(["n", "y", "n"])
        ([52, 66, 71], [0.5, 2.5], ['n', 'y'])
    """
    coded, _ = encode(open_column(data), data_type=None, on_missing="error")
    if not len(coded.codes):
        raise DataError("An empty column has no range.")
    if coded.kind == "category":
        return [coded.members[code] for code in np.unique(coded.codes).tolist()]
    return list(coded.decode(np.unique(coded.codes)).tolist())


def fit_data_to_range(data: Any, range_values: Any, data_type: Any) -> Any:
    """Return noisy data stretched or shrunk into a range (Eq. 4 of the paper).

    ``x -> (x - min x) / (max x - min x) * (max r - min r) + min r``; whole numbers,
    dates and categories then snap to the nearest value that can occur, ties to the lower.
    Constant data become the smallest value of the range. True/false are not fitted:
    a value above 0.5 is true.

    Args:
        data: Noisy numbers; for text the noisy positions 0, 1, ... in ``range_values``; for dates days since
            1970-01-01, or dates.
        range_values: ``(low, high)``, or a list of the values that may occur (text: the categories in order).
        data_type: What the values are: ``"int"``, ``"float"``, ``"string"``, ...

    Examples:
        >>> fit_data_to_range([47.2, 60.9, 101.3], (52, 71), "int")
        [52, 57, 71]
        >>> fit_data_to_range([-0.4, 0.9, 2.9], ["n", "y", "chr"], "string")
        ['n', 'y', 'chr']
    """
    name = parse_data_type(data_type)
    kind = kind_of(name)
    column = open_column(data)
    numbers, _ = encode(column, data_type="date" if column.family == "date" else "float", on_missing="error")
    noisy = numbers.codes.astype(np.float64)
    if kind == "bool":
        return column.restore(noisy > 0.5, None)
    if kind == "category":
        members = tuple(_listed(range_values))
        if not members:
            raise ParameterError("Text needs range_values: its categories, in order.")
        coded = CodedColumn(noisy, name, kind, members)
        fitted = Range(0.0, float(len(members) - 1)).fit(noisy, kind)
    else:
        coded = CodedColumn(noisy, name, kind)
        fitted = parse_range(range_values, coded, stretch=True).fit(noisy, kind)
    return column.restore(coded.decode(fitted), None)


def declared_bounds(bounds: tuple[Any, Any] | None, coded: CodedColumn, plan: PaperPlan) -> tuple[float, float] | None:
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


def range_for(plan: PaperPlan, records: Records, coded: CodedColumn, range_values: Any) -> Range | None:
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


def span_of(records: Records, coded: CodedColumn, declared: tuple[float, float] | None) -> tuple[float, float]:
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


def patients(plan: PaperPlan, values: int, group_sizes: Any) -> int:
    """Return n of the sensitivity: records, or the patients of the smallest aggregate."""
    if not plan.aggregated or plan.query == "count":
        return values
    if group_sizes is None:
        raise ParameterError(
            f"The {plan.query} of aggregates needs group_sizes=: how many patients stand behind each value. "
            "The sensitivity divides by that, not by the number of aggregates."
        )
    return smallest_group(group_sizes, values=values)


def metric_for(plan: PaperPlan, records: Records) -> NoiseMetric:
    """Return what noise is measured against: the range for dates, and where all values are equal.

    A date has no natural zero. The mean |x| of equal values is their value, which epsilon would show.
    """
    if records.kind in ("bool", "category"):
        return plan.metric
    low, high = records.extremes
    return "range" if records.kind == "date" or low == high else plan.metric

"""Back into the range: Eq. 4 of the paper, and snapping to the values that can occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, ParameterError
from pydplib.paper.coded import Coded
from pydplib.paper.coding import encode
from pydplib.paper.containers import open_column
from pydplib.paper.records import Records
from pydplib.paper.words import Kind, kind_of, parse_data_type

MOST_MEMBERS = 1_000_000
"""So many values can be listed as those that may occur."""


@dataclass(frozen=True)
class Range:
    """What values may come out: an interval, every whole number in it, or a list of members.

    Attributes:
        low: The smallest value (or code).
        high: The largest value (or code).
        members: Sorted codes to snap to; None for every whole number (or, for decimals, no snapping).
    """

    low: float
    high: float
    members: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return "Range(...)"  # may have been taken from private data

    def fit(
        self, noisy: NDArray[np.float64], kind: Kind, extremes: tuple[Any, Any] | None = None
    ) -> NDArray[np.float64]:
        """Apply Eq. 4 in place, then snap whole numbers, dates and categories; ties go to the lower member.

        Args:
            noisy: Noisy codes, one column per row of the array; overwritten.
            kind: How they are treated.
            extremes: The smallest and largest noisy value of the whole column, where ``noisy`` is a part of it.
        """
        if not noisy.size:
            return noisy
        least, most = extremes or (noisy.min(axis=-1, keepdims=True), noisy.max(axis=-1, keepdims=True))
        # Halved before the subtraction, so that values near 1e300 do not overflow.
        width = 0.5 * np.asarray(most) - 0.5 * np.asarray(least)
        noisy *= 0.5
        noisy -= 0.5 * least
        noisy /= np.where(width > 0, width, 1.0)  # max = min: what is left is 0, which becomes the lowest value
        noisy *= self.high - self.low
        noisy += self.low
        np.clip(noisy, self.low, self.high, out=noisy)
        if kind in ("int", "date", "category"):
            self._snap(noisy)
        return noisy

    def _snap(self, values: NDArray[np.float64]) -> None:
        if self.members is None:
            np.ceil(np.subtract(values, 0.5, out=values), out=values)
            np.clip(values, np.ceil(self.low), np.floor(self.high), out=values)
        else:
            middle = (self.members[:-1] + self.members[1:]) / 2
            values[:] = self.members[np.searchsorted(middle, values, side="left")]


def range_from_records(records: Records, coded: Coded) -> Range:
    """Return the range of a column: its categories, its public bounds, or its own smallest and largest value."""
    if coded.kind == "category":
        return Range(0.0, float(len(coded.members) - 1))
    return Range(*records.span)


def parse_range(range_values: Any, coded: Coded) -> Range:
    """Return the range for what a caller gave: ``(low, high)``, or a list of the values that may occur."""
    if coded.kind == "category":
        members = _listed(range_values)
        position = {member: i for i, member in enumerate(coded.members)}
        if not members or any(member not in position for member in members):
            raise ParameterError("range_values= of a text column must be some of its categories.")
        codes = np.array(sorted({float(position[member]) for member in members}))
        return Range(float(codes[0]), float(codes[-1]), codes)
    listed = _listed(range_values)
    values = _range_codes(listed, coded)
    if not len(values) or not bool(np.isfinite(values).all()):
        raise ParameterError("range_values= must be finite numbers: (low, high), or a list of what may occur.")
    low, high = float(values.min()), float(values.max())
    every = isinstance(range_values, range) and abs(range_values.step) == 1
    limits = isinstance(range_values, tuple) and len(range_values) == 2
    if coded.kind == "float" or every or limits:
        return Range(low, high)
    return Range(low, high, np.unique(values))


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


def _range_codes(listed: list[Any], coded: Coded) -> NDArray[np.float64]:
    if not listed:
        return np.empty(0)
    try:
        column = open_column(listed)
        kind = "date" if coded.kind == "date" else "float"
        return encode(column, data_type=kind, on_missing="error")[0].codes.astype(np.float64)
    except DataError:
        raise ParameterError(
            f"range_values= must be of the column's own kind ({coded.data_type}): (low, high), or a list."
        ) from None


def data_range(data: Any) -> Any:
    """Return the range of the data, as ``fit_data_to_range`` takes it.

    Decimals give ``(min, max)``, whole numbers every number from the smallest to the
    largest, text its sorted categories, true/false both of them, dates the first and the last.
    This is taken from private data and must not be handed on.

    Args:
        data: A list, tuple, NumPy array, pandas or Polars Series, or PyArrow array.

    Examples:
        >>> data_range([52, 71, 66]), data_range([0.5, 2.5]), data_range(["n", "y", "n"])
        (range(52, 72), (0.5, 2.5), ['n', 'y'])
    """
    coded, _ = encode(open_column(data), data_type=None, on_missing="error")
    if not len(coded.codes):
        raise DataError("An empty column has no range.")
    if coded.kind == "category":
        return list(coded.members)
    if coded.kind == "bool":
        return [False, True]
    low, high = Records(coded.codes, coded.kind).extremes
    if coded.kind == "int":
        return range(int(low), int(high) + 1)
    if coded.kind == "date":
        return tuple(np.array([low, high]).astype(np.int64).astype("datetime64[D]").tolist())
    return (low, high)


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
        coded = Coded(noisy, name, kind, members)
        fitted = Range(0.0, float(len(members) - 1)).fit(noisy, kind)
    else:
        coded = Coded(noisy, name, kind)
        fitted = parse_range(range_values, coded).fit(noisy, kind)
    return column.restore(coded.decode(fitted), None)

"""One column as numbers, and the way back to values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError
from pydplib.paper.words import Kind

_CALENDAR = (-719_162, 2_932_896)  # 0001-01-01 and 9999-12-31 in days since 1970

LARGEST = 1e300
"""Numbers beyond this leave no room for noise in a 64-bit float."""


@dataclass(frozen=True, slots=True)
class Coded:
    """One column as numbers.

    Attributes:
        codes: Booleans, whole numbers or decimals, one per record.
        data_type: The paper's name of the data type.
        kind: How the values are treated.
        members: The categories in their order; a code is a position in it.
        declared: Whether the caller gave them, so that they are public.
        occurring: Whether they are those of the data; else some of them may not occur.
        origin: What the codes of large whole numbers are counted from: a float holds 53 bits of them.
    """

    codes: NDArray[Any]
    data_type: str
    kind: Kind
    members: tuple[Any, ...] = ()
    declared: bool = False
    occurring: bool = True
    origin: int = 0

    def __repr__(self) -> str:
        return f"Coded({self.data_type}, {len(self.codes)} values)"  # never the values: they are private

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return values of the column's own kind for codes; exactly the values that were encoded."""
        if self.kind == "category":
            members = np.empty(len(self.members), dtype=object)
            members[:] = self.members
            return members[codes.astype(np.int64)]
        if self.kind == "bool":
            return codes.astype(np.bool_)
        if self.kind == "int":
            return _whole(codes) if not self.origin else _counted_from(self.origin, _whole(codes))
        if self.kind == "date":
            # Noise can pass the calendar's ends, and a date beyond them has no name in Python.
            days: NDArray[Any] = np.clip(codes, *_CALENDAR).astype(np.int64).astype("datetime64[D]")
            return days
        return codes.astype(np.float64, copy=False)


def _counted_from(origin: int, codes: NDArray[Any]) -> NDArray[Any]:
    listed = [origin + int(code) for code in codes.tolist()]
    try:
        return np.array(listed, dtype=np.int64)
    except OverflowError:
        out = np.empty(len(listed), dtype=object)
        out[:] = listed
        return out


def _whole(codes: NDArray[Any]) -> NDArray[Any]:
    if codes.dtype.kind != "f" or not len(codes):
        return codes.astype(np.int64, copy=False)
    if max(abs(float(codes.min())), abs(float(codes.max()))) < 2.0**63:
        return codes.astype(np.int64)
    out = np.empty(len(codes), dtype=object)
    out[:] = [int(code) for code in codes]
    return out


def check_finite(codes: NDArray[Any], *, infinite: bool = False) -> None:
    """Raise if a number is infinite or too large for noise (unless it is going to be clamped), or not a number."""
    if not len(codes):
        return
    lowest, highest = float(codes.min()), float(codes.max())
    if np.isnan(lowest):
        raise DataError("Some values are written as NaN, which is no number. Leave them empty, or correct them.")
    if infinite:
        return
    if not (np.isfinite(lowest) and np.isfinite(highest)):
        raise DataError("Some values are infinite. No noise hides an infinite value: remove or correct them.")
    if max(abs(lowest), abs(highest)) > LARGEST:
        raise DataError(f"Some values are larger than {LARGEST:g}, too large for any noise. Use another unit.")

"""What an engine gives back: exact integers per public key. Private still; noise comes next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.engine.measures import Measure
from pydplib.engine.plan import WHOLE_LIMIT, Key, Plan


def integers(numbers: Iterable[Any]) -> NDArray[Any]:
    """Return whole numbers as an array that does not wrap: 64-bit integers below 2^62, Python's own beyond.

    Plans leave room for the declared size. A table that outgrew it passes 2^62, and is still added up exactly.

    Examples:
        >>> integers([1, 2]).dtype, integers([2**70, 1]).tolist() == [2**70, 1]
        (dtype('int64'), True)
    """
    found = [int(number) for number in numbers]
    fits = all(-WHOLE_LIMIT < number < WHOLE_LIMIT for number in found)
    return np.array(found, dtype=np.int64 if fits else object)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExactTable:
    """Exact integers, one row per key. Its repr shows shapes, never a number: it is not a release.

    Attributes:
        plan: What was asked.
        keys: One tuple per row, in public order (found by the engine where keys are unknown).
        values: One array of integers per measure: shape (keys,), or (keys, cells) for cells. Of 64 bits, or of
            Python's own where a table outgrew its declared size and a sum passes 2^62.

    Examples:
        >>> from pydplib.schema import Number, Schema
        >>> plan = Plan(Schema({"age": Number(18, 100)}), measures=[Measure("count")])
        >>> ExactTable(plan, ((),), (np.array([7]),))
        ExactTable(1 key, 1 measure; exact and private)
    """

    plan: Plan
    keys: tuple[tuple[Key, ...], ...]
    values: tuple[NDArray[Any], ...]

    def __getitem__(self, measure: int | Measure) -> NDArray[Any]:
        """Return the integers of one measure of the plan."""
        position = self.plan.measures.index(measure) if isinstance(measure, Measure) else measure
        return self.values[position]

    @property
    def scale(self) -> int:
        """Integer units per whole row: divide by it (after the noise) to come back to rows."""
        return self.plan.scale

    def __repr__(self) -> str:
        keys, measures = len(self.plan.keys) if not self.plan.has_unknown_keys else None, len(self.values)
        shown = "unknown keys" if keys is None else f"{keys} key{'' if keys == 1 else 's'}"
        return f"ExactTable({shown}, {measures} measure{'' if measures == 1 else 's'}; exact and private)"

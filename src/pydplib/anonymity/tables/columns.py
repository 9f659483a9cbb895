"""A column met by its hierarchy: integer codes of values, labels and costs at every level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import HierarchyError

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

ROOT = "*"
"""What stands for "any value"."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Resolved:
    """The distinct values of one column and what becomes of each at every level.

    Attributes:
        name: The column.
        values: Distinct values, one per code; ``None`` is the missing value.
        levels: Per level, code -> number of its label.
        labels: Per level, the labels. A level of ``0`` that keeps the values has them as labels.
        cost: Per level and label, the granularity loss between 0 and 1.
        share: Per level and label, the part of the domain that the label covers.
        from_data: Whether the hierarchy was made from the data instead of public facts.
    """

    name: str
    values: tuple[Any, ...]
    levels: tuple[Ints, ...]
    labels: tuple[tuple[Any, ...], ...]
    cost: tuple[Floats, ...]
    share: tuple[Floats, ...]
    from_data: bool = False

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return len(self.levels) - 1

    @cached_property
    def keeps_values(self) -> bool:
        """Whether level 0 leaves every value as it is."""
        return len(self.labels[0]) == len(self.values) and all(
            a is b or a == b for a, b in zip(self.labels[0], self.values, strict=True)
        )

    def __repr__(self) -> str:
        return f"Resolved(name={self.name!r}, height={self.height})"


def resolve_labels(
    name: str,
    values: Sequence[Any],
    labels: Sequence[Sequence[Any]],
    points: Sequence[Sequence[float]],
    domain: float,
    *,
    from_data: bool = False,
) -> Resolved:
    """Number the labels of every level, check that levels nest, and price them.

    Args:
        name: The column, for errors.
        values: Distinct values; ``None`` (missing) may be one of them.
        labels: Per level, one label per value that is not missing.
        points: Per level, how many leaves of the domain the label of that value covers
            (a length, where the domain is continuous).
        domain: The number of leaves; ``inf`` shares are given in ``points`` already.
        from_data: Carried along.
    """
    present = [i for i, value in enumerate(values) if value is not None]
    missing = [i for i, value in enumerate(values) if value is None]
    top = len(labels) - 1
    rooted = bool(labels[top]) and len(set(labels[top])) == 1
    extra = 1.0 if missing and domain != float("inf") else 0.0
    total = domain + extra
    out_levels: list[Ints] = []
    out_labels: list[tuple[Any, ...]] = []
    out_cost: list[Floats] = []
    out_share: list[Floats] = []
    for level, (texts, sizes) in enumerate(zip(labels, points, strict=True)):
        number: dict[Any, int] = {}
        size: list[float] = []
        codes = np.empty(len(values), dtype=np.int64)
        for position, text, covered in zip(present, texts, sizes, strict=True):
            at = number.setdefault(cell_key(text), len(number))
            if at == len(size):
                size.append(covered)
            codes[position] = at
        names: list[Any] = _in_order(texts)
        for position in missing:
            # Missing is a value of its own; only the root, which covers everything, covers it too.
            if level == top and rooted and level > 0:
                codes[position] = 0
                size[0] += extra
            else:
                codes[position] = len(names)
                names.append(None)
                size.append(extra)
        share = np.asarray(size, dtype=np.float64)
        if domain == float("inf"):
            cost = share.copy()
        else:
            share = share / total
            # A domain of one value loses nothing, whatever it is called.
            cost = (share - 1 / total) / (1 - 1 / total) if total > 1 else np.zeros_like(share)
        if level == 0 and missing and extra == 0.0:
            cost[-1] = 0.0
        out_levels.append(codes)
        out_labels.append(tuple(names))
        out_cost.append(np.clip(cost, 0.0, 1.0))
        out_share.append(share)
    _check_nested(name, out_levels, () if from_data else out_labels)
    return Resolved(
        name=name,
        values=tuple(values),
        levels=tuple(out_levels),
        labels=tuple(out_labels),
        cost=tuple(out_cost),
        share=tuple(out_share),
        from_data=from_data,
    )


def cell_key(value: Any) -> tuple[bool, Any]:
    """Return what a cell is looked up by: True and 1 are equal in Python, but different cells.

    Examples:
        >>> cell_key(True) == cell_key(1), cell_key(1) == cell_key(1.0)
        (False, True)
    """
    return (isinstance(value, bool), value)


def _in_order(texts: Sequence[Any]) -> list[Any]:
    seen: dict[Any, Any] = {}
    for text in texts:
        seen.setdefault(cell_key(text), text)
    return list(seen.values())


def _check_nested(name: str, levels: Sequence[Ints], labels: Sequence[Sequence[Any]]) -> None:
    """Raise if a group is torn apart one level up; its label is named, unless it could be a value of the table."""
    for level in range(1, len(levels)):
        lower, upper = levels[level - 1], levels[level]
        if not len(lower):
            continue
        parent = np.full(int(lower.max()) + 1, -1, dtype=np.int64)
        parent[lower] = upper
        torn = np.flatnonzero(parent[lower] != upper)
        if len(torn):
            named = level > 1 and bool(labels)
            which = f"the label '{labels[level - 1][lower[torn[0]]]}'" if named else "a label"
            raise HierarchyError(
                f"The hierarchy of column '{name}' contradicts itself: values that share {which} at level "
                f"{level - 1} have different labels at level {level}. Every level must be made of whole groups "
                "of the level below."
            )

"""Top and bottom coding: extreme values are never released as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pydplib.anonymity.builders import as_number, read_values
from pydplib.anonymity.hierarchies import Hierarchy, TableHierarchy
from pydplib.anonymity.resolved import ROOT, Resolved, resolve_labels
from pydplib.errors import HierarchyError


class TopBottom(Hierarchy):
    """Numbers whose extremes become "<= bottom" and ">= top" already at level 0.

    Args:
        bottom: Values of at most this become one group; None: no bottom coding.
        top: Values of at least this become one group; None: no top coding.
        inner: A hierarchy for the values between; by default they are kept or become "*".

    Examples:
        >>> from pydplib.anonymity import Intervals
        >>> ages = TopBottom(bottom=20, top=80, inner=Intervals(0, 120, [10]))
        >>> ages.labels(93), ages.labels(45)
        (('>= 80', '>= 80', '*'), (45, '40-49', '*'))
    """

    def __init__(
        self, *, bottom: float | None = None, top: float | None = None, inner: Hierarchy | None = None
    ) -> None:
        if bottom is None and top is None:
            raise HierarchyError("TopBottom needs bottom=, top= or both.")
        if bottom is not None and top is not None and not bottom < top:
            raise HierarchyError(f"TopBottom needs bottom < top. Got bottom={bottom!r}, top={top!r}.")
        self.bottom, self.top, self.inner = bottom, top, inner
        self.from_data = inner is not None and inner.from_data

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return 1 if self.inner is None else self.inner.height

    def resolve(self, name: str, values: Sequence[Any]) -> Resolved:
        """Return the codes, labels and costs of ``values`` at every level."""
        present, numbers = read_values(name, values, as_number, "are not numbers")
        ends = [self._end(x) for x in numbers]
        middle = [value for value, end in zip(present, ends, strict=True) if end is None]
        inner = self._inner(name, middle)
        labels: list[list[Any]] = []
        points: list[list[float]] = []
        for level in range(self.height + 1):
            root = level == self.height and level > 0
            row: list[Any] = []
            cover: list[float] = []
            position = 0
            for end in ends:
                if end is None:
                    at = inner.levels[level][position]
                    row.append(ROOT if root else inner.labels[level][at])
                    cover.append(1.0 if root else float(inner.cost[level][at]))
                    position += 1
                else:
                    row.append(ROOT if root else end)
                    cover.append(1.0 if root else self._share(end))
            labels.append(row)
            points.append(cover)
        return resolve_labels(name, values, labels, points, math.inf, from_data=self.from_data)

    def _inner(self, name: str, middle: Sequence[Any]) -> Resolved:
        if self.inner is not None:
            return self.inner.resolve(name, middle)
        return TableHierarchy([[value, ROOT] for value in middle] or [[None, ROOT]]).resolve(name, middle)

    def _end(self, x: float) -> str | None:
        if self.bottom is not None and x <= self.bottom:
            return f"<= {self.bottom:g}"
        if self.top is not None and x >= self.top:
            return f">= {self.top:g}"
        return None

    def _share(self, end: str) -> float:
        """Return the part of the domain beyond one end; half of it where the domain's bounds are not known."""
        low, high = getattr(self.inner, "low", None), getattr(self.inner, "high", None)
        if not (isinstance(low, int | float) and isinstance(high, int | float) and low < high):
            return 0.5
        beyond = (self.bottom or 0) - low if end.startswith("<") else high - (self.top or 0)
        return min(max(beyond / (high - low), 0.0), 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the hierarchy as plain values, ready for JSON."""
        inner = None if self.inner is None else self.inner.to_dict()
        return {"kind": "top_bottom", "bottom": self.bottom, "top": self.top, "inner": inner}

    def __repr__(self) -> str:
        return f"TopBottom(bottom={self.bottom!r}, top={self.top!r})"

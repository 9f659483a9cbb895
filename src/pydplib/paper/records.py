"""The records of one column, clamped, read in chunks: large columns are never copied whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.paper.words import Kind

CHUNK = 1 << 18
"""Records per chunk: temporaries stay at a few megabytes whatever the size."""


@dataclass(frozen=True)
class Records:
    """Codes of one column and the public bounds they are clamped to.

    Attributes:
        codes: One number (or boolean) per record.
        kind: How they are treated.
        clamp: Public (low, high), or None to leave the values as they are.
        origin: What the codes are counted from.
    """

    codes: NDArray[Any]
    kind: Kind
    clamp: tuple[float, float] | None = None
    origin: float = 0.0

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"Records({self.kind}, {len(self)} values)"  # never the values: they are private

    def take(self, rows: slice) -> NDArray[np.float64]:
        """Return some records as clamped floats."""
        values = self.codes[rows].astype(np.float64, copy=False)
        return values if self.clamp is None else np.clip(values, *self.clamp)

    def chunks(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Go through all records, chunk by chunk."""
        for start in range(0, len(self), CHUNK):
            rows = slice(start, min(start + CHUNK, len(self)))
            yield rows, self.take(rows)

    def sample(self, most: int) -> NDArray[np.float64]:
        """Return at most this many records, evenly strided: no randomness that would have to be accounted for."""
        stride = -(-len(self) // most)
        return self.take(slice(0, len(self), max(stride, 1)))

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The smallest and largest value: private, unless bounds were given."""
        pairs = [(float(values.min()), float(values.max())) for _, values in self.chunks()]
        return min(low for low, _ in pairs), max(high for _, high in pairs)

    @cached_property
    def mean_abs(self) -> float:
        """The mean of the absolute values, computed so that 1e300 does not overflow."""
        low, high = (edge + self.origin for edge in self.extremes)
        peak = max(abs(low), abs(high))
        if peak == 0:
            return 0.0
        unit = peak if peak > 1e150 else 1.0
        total = sum(float(np.abs((values + self.origin) / unit).sum()) for _, values in self.chunks())
        return total / len(self) * unit

    @property
    def span(self) -> tuple[float, float]:
        """The range [a, b] of the sensitivity: the public bounds if given, else the data's own."""
        return self.extremes if self.clamp is None else self.clamp

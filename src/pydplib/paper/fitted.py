"""How much noise is left after Eq. 4, and which scale leaves as much as was asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pydplib.noise import laplace_records
from pydplib.paper.fitting import Range
from pydplib.paper.measure import difference, scale_for
from pydplib.paper.records import Records
from pydplib.paper.words import NoiseFactor

ROWS = 20_000
"""At most so many noisy values are looked at for each scale that is tried."""

_STEPS = 28  # scales tried first, from the smallest to the largest
_HALVINGS = 14
_WITHIN = 0.98  # a scale whose noise is within a fiftieth of the largest counts as the largest


@dataclass(frozen=True, slots=True)
class Attained:
    """A scale and the noise it leaves after Eq. 4.

    Attributes:
        scale: The Laplace scale.
        percent: The expected noise after fitting and snapping.
        least: The smallest noise of all scales tried, in percent.
        most: The largest.
        reached: Whether the target was met (else the nearest was taken).
    """

    scale: float
    percent: float
    least: float
    most: float
    reached: bool


class FittedNoise:
    """The noise percentage after Eq. 4 as a deterministic function of the scale.

    Unit noise Z is drawn once; x + b Z is fitted for each b. Few records are drawn
    several times and averaged; of many records an evenly strided part is measured. Eq. 4
    depends on the smallest and largest noisy value of the *whole* column, which for any b > 0 lies
    on the Pareto front of (x, Z): those few points are kept for all records.

    Args:
        records: The clamped records.
        fit_to: The range for Eq. 4.
        reference: What 100 % noise means.
    """

    def __init__(self, records: Records, fit_to: Range, reference: float) -> None:
        self._kind = records.kind
        self._fit_to = fit_to
        self._reference = reference
        self._span = fit_to.high - fit_to.low
        self._fronts: list[NDArray[np.float64]] | None = None
        if len(records) <= ROWS:
            self._values = records.take(slice(None))[np.newaxis, :]
            draws = max(1, ROWS // len(records))
            self._noise = _unit(draws * len(records)).reshape(draws, len(records))
        else:
            self._read_large(records)

    def _read_large(self, records: Records) -> None:
        stride = -(-len(records) // ROWS)
        values, noise, top, bottom = [], [], [], []
        for rows, chunk in records.chunks():
            unit = _unit(len(chunk))
            first = -rows.start % stride
            values.append(chunk[first::stride])
            noise.append(unit[first::stride])
            top.append(_front(chunk, unit))
            bottom.append(-_front(-chunk, -unit))
        self._values = np.concatenate(values)[np.newaxis, :]
        self._noise = np.concatenate(noise)[np.newaxis, :]
        self._fronts = [np.concatenate(bottom, axis=1), np.concatenate(top, axis=1)]

    def percent(self, scale: float) -> float:
        """Return the expected noise in percent after Eq. 4 and snapping."""
        noisy = self._values + scale * self._noise
        extremes = None
        if self._fronts is not None:
            bottom, top = self._fronts
            extremes = (float((bottom[0] + scale * bottom[1]).min()), float((top[0] + scale * top[1]).max()))
        fitted = self._fit_to.fit(noisy, self._kind, extremes)
        return 100 * difference(self._values, fitted, self._kind, self._reference) / fitted.size

    def solve(self, factor: NoiseFactor) -> Attained:
        """Return the scale whose noise is the middle of the band, or the nearest that can be attained.

        Fitting to a range wider than the data moves values without any noise. So that such a shift
        is never mistaken for noise, the scale is at least half of what unfitted data would get.
        """
        target = 100 * factor.target
        floor = scale_for(self._kind, factor.target, self._reference) / 2
        scales = np.geomspace(floor, max(8 * self._span, 64 * floor), _STEPS)
        percents = np.array([self.percent(float(scale)) for scale in scales])
        least, most = float(percents.min()), float(percents.max())
        above = np.flatnonzero(percents >= target)
        if not len(above):
            best = int(np.flatnonzero(percents >= _WITHIN * most)[0])
            return Attained(float(scales[best]), float(percents[best]), least, most, reached=False)
        first = int(above[0])
        if first == 0:
            best = int(percents.argmin()) if least > target else 0
            reached = factor.holds(float(percents[best]))
            return Attained(float(scales[best]), float(percents[best]), least, most, reached)
        scale = self._bisect(float(scales[first - 1]), float(scales[first]), target)
        return Attained(scale, self.percent(scale), least, most, reached=True)

    def _bisect(self, low: float, high: float, target: float) -> float:
        for _ in range(_HALVINGS):
            middle = math.sqrt(low * high)
            if self.percent(middle) < target:
                low = middle
            else:
                high = middle
        return math.sqrt(low * high)


def _unit(size: int) -> NDArray[np.float64]:
    return laplace_records(np.zeros(size), 1.0)


def _front(values: NDArray[np.float64], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points (x, z) that no other point exceeds in both: max of x + b z is one of them for all b > 0."""
    order = np.argsort(values)[::-1]
    ranked = noise[order]
    best = np.maximum.accumulate(ranked)
    keep = np.concatenate(([True], ranked[1:] > best[:-1]))
    return np.stack((values[order][keep], ranked[keep]))

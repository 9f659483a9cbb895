"""How much noise is left after Eq. 4, and which scale leaves as much as was asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.noise import laplace_records
from pydplib.paper.fitting import Range
from pydplib.paper.measure import difference, scale_for
from pydplib.paper.records import Records
from pydplib.policy.noise_factors import NoiseFactor

ROWS = 20_000
"""At most so many noisy values are looked at for each scale that is tried."""

_DRAWN = 4_000_000  # noisy values drawn, about, to learn how far the extremes of a large column reach
_FLOOR = 0.25  # of the scale that unfitted data would get: the least noise, whatever Eq. 4 does on top
_STEPS = 28  # scales tried first, from the smallest to the largest
_HALVINGS = 14
_WITHIN = 0.98  # a scale whose noise is within a fiftieth of the largest counts as the largest


Points: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Attained:
    """A scale and the noise it leaves after Eq. 4.

    Attributes:
        scale: The Laplace scale.
        percent: The expected noise after fitting and snapping.
        outcome: Whether the middle of the band was met, or Eq. 4 leaves too little or makes too much of it.
    """

    scale: float
    percent: float
    outcome: Literal["met", "too little", "too much"]


class FittedNoise:
    """The noise percentage after Eq. 4 as a deterministic function of the scale.

    Unit noise Z is drawn once; x + b Z is fitted for each b. Few records are drawn
    several times and averaged; of many records an evenly strided part is measured. Eq. 4
    depends on the smallest and largest noisy value of the *whole* column, which for any b > 0 lie
    on the Pareto fronts of (x, Z): of all records only those few points are kept.

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
        self._fronts: list[tuple[Points, Points]] = []
        if len(records) <= ROWS:
            draws = max(1, ROWS // len(records))
            self._values = records.take(slice(None))[np.newaxis, :]
            self._noise = _unit(draws * len(records)).reshape(draws, len(records))
        else:
            self._values = records.sample(ROWS)[np.newaxis, :]
            self._noise = _unit(self._values.size)[np.newaxis, :]
            draws = min(max(_DRAWN // len(records), 1), 8)
            self._fronts = [_fronts(records) for _ in range(draws)]

    def percent(self, scale: float) -> float:
        """Return the expected noise in percent after Eq. 4 and snapping."""
        noisy = self._values + scale * self._noise
        if not self._fronts:
            return self._percent(noisy, None)
        several = [self._percent(noisy.copy(), _extremes(front, scale)) for front in self._fronts]
        return sum(several) / len(several)

    def _percent(self, noisy: Points, extremes: tuple[float, float] | None) -> float:
        fitted = self._fit_to.fit(noisy, self._kind, extremes)
        return 100 * difference(self._values, fitted, self._kind, self._reference) / fitted.size

    def solve(self, factor: NoiseFactor) -> Attained:
        """Return the scale whose noise is the middle of the band, or the nearest that can be attained.

        Fitting to a range wider than the data moves values without any noise. So that such a shift is never
        mistaken for noise, the scale is at least a quarter of what unfitted data would get; and where even
        that overshoots the middle, as much of it as stays in the band, or all of it.
        """
        target = 100 * factor.target
        unfitted = scale_for(self._kind, factor.target, self._reference)
        # In logarithms, so that values near 1e300 do not overflow.
        lowest, highest = math.log(unfitted * _FLOOR), math.log(min(max(8 * self._span, 16 * unfitted), 1e300))
        scales = np.exp(np.linspace(lowest, highest, _STEPS))
        percents = np.array([self.percent(float(scale)) for scale in scales])
        above = np.flatnonzero(percents >= target)
        if not len(above):
            best = int(np.flatnonzero(percents >= _WITHIN * percents.max())[0])
            return Attained(float(scales[best]), float(percents[best]), "too little")
        if above[0] == 0:
            inside = np.flatnonzero((scales <= unfitted) & (percents <= factor.high))
            scale = float(scales[inside[-1]]) if len(inside) else unfitted
            return Attained(scale, self.percent(scale), "too much")
        scale = self._bisect(float(scales[above[0] - 1]), float(scales[above[0]]), target)
        return Attained(scale, self.percent(scale), "met")

    def _bisect(self, low: float, high: float, target: float) -> float:
        for _ in range(_HALVINGS):
            middle = math.sqrt(low) * math.sqrt(high)
            if self.percent(middle) < target:
                low = middle
            else:
                high = middle
        return math.sqrt(low) * math.sqrt(high)


def _unit(size: int) -> NDArray[np.float64]:
    return laplace_records(np.zeros(size), 1.0)


def _fronts(records: Records) -> tuple[Points, Points]:
    """Return the points (x, z) of all records, with fresh noise z, that can be the smallest or largest x + b z."""
    bottom, top = [], []
    for _, chunk in records.chunks():
        noise = _unit(len(chunk))
        order = np.argsort(chunk)
        values, noise = chunk[order], noise[order]
        bottom.append(-_front(-values, -noise))
        top.append(_front(values[::-1], noise[::-1]))
    return np.concatenate(bottom, axis=1), np.concatenate(top, axis=1)


def _front(values: Points, noise: Points) -> Points:
    """Return the points that no other exceeds in both coordinates; ``values`` must be descending."""
    best = np.maximum.accumulate(noise)
    keep = np.concatenate(([True], noise[1:] > best[:-1]))
    return np.stack((values[keep], noise[keep]))


def _extremes(fronts: tuple[Points, Points], scale: float) -> tuple[float, float]:
    bottom, top = fronts
    return float((bottom[0] + scale * bottom[1]).min()), float((top[0] + scale * top[1]).max())

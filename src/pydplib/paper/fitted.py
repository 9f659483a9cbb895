"""How much noise is left after fitting to a range, and which scale leaves as much as was asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.noise import laplace_records
from pydplib.paper.fitting import Range
from pydplib.paper.measure import difference, scale_for
from pydplib.paper.records import Records
from pydplib.policy.noise_factors import NOISE_FACTORS, NoiseFactor

ROWS = 20_000
"""At most this many records are looked at for each scale that is tried."""

_VALUES = 60_000  # noisy values of a small column, about: enough draws to average over the extremes of each
_DRAWS = 2_000  # of a column of a few values
_DRAWN = 4_000_000  # noisy values drawn, about, to learn how far the extremes of a large column reach
_FLOOR = 1 / 64  # of the scale that unfitted data would get: Eq. 4 moves values by up to b ln(n) more
_STEPS = 24  # scales tried first, from the smallest to the largest
_HALVINGS = 11
_WITHIN = 0.98  # a scale whose noise is within a fiftieth of the largest counts as the largest
_INSIDE = 1.01  # how far inside the band its smallest scale lies: the noise is measured on draws
_LEAST, _MOST = (edge([factor.target for factor in NOISE_FACTORS.values()]) for edge in (min, max))

Points: TypeAlias = NDArray[np.float64]
Outcome: TypeAlias = Literal["middle", "band", "half", "largest"]


@dataclass(frozen=True, slots=True)
class Attained:
    """A scale and the noise it leaves after fitting.

    Attributes:
        scale: The Laplace scale.
        percent: The expected noise after fitting and snapping.
        outcome: Whether the middle of the band was met, only the band (then at its smallest scale, or with half of
            the largest noise where the band begins at 0), or neither (then with the largest that the range allows).
    """

    scale: float
    percent: float
    outcome: Outcome


class FittedNoise:
    """The noise percentage after fitting as a function of the scale.

    Unit noise Z is drawn once; x + b Z is fitted for each b. Few records are drawn
    several times and averaged; of many records an evenly strided part is measured. Eq. 4
    depends on the smallest and largest noisy value of the *whole* column, which for any b > 0 lie
    on the Pareto fronts of (x, Z): of all records only those few points are kept. A declared range
    needs no extremes: each value is clipped by itself.

    Args:
        records: The clamped records.
        fit_to: The range.
        reference: What 100 % noise means.
    """

    def __init__(self, records: Records, fit_to: Range, reference: float) -> None:
        self._kind = records.kind
        self._fit_to = fit_to
        self._reference = reference
        self._span = fit_to.high - fit_to.low
        self._fronts: list[tuple[Points, Points]] = []
        if len(records) <= ROWS:
            draws = min(max(1, _VALUES // len(records)), _DRAWS)
            self._values = records.take(slice(None))[np.newaxis, :]
            self._noise = _unit(draws * len(records)).reshape(draws, len(records))
        else:
            self._values = records.sample(ROWS)[np.newaxis, :]
            self._noise = _unit(self._values.size)[np.newaxis, :]
            draws = min(max(_DRAWN // len(records), 1), 8) if fit_to.stretch else 0
            self._fronts = [_fronts(records) for _ in range(draws)]

    def percent(self, scale: float) -> float:
        """Return the expected noise in percent after fitting and snapping."""
        noisy = self._values + scale * self._noise
        if not self._fronts:
            return self._percent(noisy, None)
        several = [self._percent(noisy.copy(), _extremes(front, scale)) for front in self._fronts]
        return sum(several) / len(several)

    def _percent(self, noisy: Points, extremes: tuple[float, float] | None) -> float:
        fitted = self._fit_to.fit(noisy, self._kind, extremes)
        return 100 * difference(self._values, fitted, self._kind, self._reference) / fitted.size

    def solve(self, factor: NoiseFactor) -> Attained:
        """Return the smallest scale whose noise is the middle of the band, or what comes nearest to it.

        The noise of fitted values has a limit: however large the scale, they stay in the range. Where the limit
        lies below the middle of the band but inside it, more noise would add little to the percentage and destroy
        the values, so it is the smallest scale inside the band. A band that begins at 0 has none: there it is half of
        the limit, so that low noise stays below medium. Where the whole band is out of reach, it is the smallest
        scale that comes close to the limit.
        """
        scales, percents = self._curve
        most = float(percents.max())
        if most >= 100 * factor.target:
            return self._reach(scales, percents, 100 * factor.target, "middle")
        if 0 < factor.low <= most:
            return self._reach(scales, percents, min(_INSIDE * factor.low, most), "band")
        if not factor.low:
            return self._reach(scales, percents, most / 2, "half")
        return self._reach(scales, percents, _WITHIN * most, "largest")

    @cached_property
    def _curve(self) -> tuple[Points, Points]:
        """Scales from far below what the least noise needs to far beyond the range, and the noise of each."""
        least, most = (scale_for(self._kind, target, self._reference) for target in (_LEAST, _MOST))
        # In logarithms, so that values near 1e300 do not overflow.
        lowest, highest = math.log(least * _FLOOR), math.log(min(max(8 * self._span, 16 * most), 1e300))
        scales = np.exp(np.linspace(lowest, highest, _STEPS))
        return scales, np.array([self.percent(float(scale)) for scale in scales])

    def _reach(self, scales: Points, percents: Points, target: float, outcome: Outcome) -> Attained:
        """Return the smallest scale whose noise is at least the target, which one of those tried attains."""
        first = int(np.flatnonzero(percents >= target)[0])
        scale = float(scales[first])
        if first:
            scale = self._bisect(float(scales[first - 1]), scale, target)
        return Attained(scale, self.percent(scale), outcome)

    def _bisect(self, low: float, high: float, target: float) -> float:
        for _ in range(_HALVINGS):
            middle = math.sqrt(low) * math.sqrt(high)
            if self.percent(middle) < target:
                low = middle
            else:
                high = middle
        return high


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

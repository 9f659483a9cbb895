"""What every statistic's noise knows: its scale, cost and margins; what comes out of it, and how far it strays.

A noise is made of public facts alone (so prices are made from it), and its ``apply`` is the only place where exact
integers go in. ``rows`` is the most rows of one person, ``per_row`` the integer units of one whole row (2^16 where
rows are weighed, 1 elsewhere): together, one person's weights are at most rows * per_row, whichever cells and groups
these rows fall into.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.budget.costs import Cost
from pydplib.engine.exact import integers
from pydplib.errors import ParameterError
from pydplib.mechanisms._common import laplace_tail_steps
from pydplib.release.results.findings import Finding

Integers = NDArray[Any]
"""Exact integers, of 64 bits or Python's own (``engine.exact.integers``)."""
Floats = NDArray[np.float64]

MarginUnit: TypeAlias = Literal["value", "ranks", "rows"]
"""What a margin counts: the value's own unit, ranks around a quantile, or rows by which a mode may fall short."""

COVERAGE = 0.95
"""The confidence that a margin has unless another one is asked for: it covers in this share of all releases."""


def check_confidence(confidence: Any) -> float:
    """Return a confidence as the share that it must be.

    Examples:
        >>> check_confidence(0.99)
        0.99
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.5 <= confidence <= 0.9999:
        raise ParameterError("confidence is a share from 0.5 to 0.9999, e.g. 0.95.")
    return float(confidence)


def confidence_words(confidence: float) -> str:
    """Return a confidence in percent.

    Examples:
        >>> confidence_words(0.95), confidence_words(0.999)
        ('95 %', '99.9 %')
    """
    return f"{100 * confidence:g} %"


class Noise:
    """What adds the noise to a statistic; subclasses are frozen and made of public facts alone.

    Attributes:
        mechanism: Its name for readers.
        ledger_word: Its name in the ledger.
        margin_unit: What its margins count.
    """

    __slots__ = ()
    mechanism: ClassVar[str] = "discrete Laplace"
    ledger_word: ClassVar[str] = "laplace"
    margin_unit: ClassVar[MarginUnit] = "value"

    def reach(self) -> tuple[float, float]:
        """Return the scale of the noise and the most that one person moves, both in the value's unit."""
        raise NotImplementedError

    def cost(self, epsilon: Fraction) -> Cost:
        """Return what the ledger is charged."""
        return Cost.pure(epsilon, mechanism=self.ledger_word)

    def found_rows(self, noisy: Noisy) -> tuple[float, float] | None:
        """Return the noisy number of rows in all groups and its standard deviation; none where no row is counted."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the noise as plain values: part of the key of a release."""
        plain: dict[str, Any] = {"kind": type(self).__name__}
        for spec in fields(self):  # type: ignore[arg-type]
            value = getattr(self, spec.name)
            plain[spec.name] = [str(part) for part in value] if isinstance(value, tuple) else str(value)
        return plain


def combine(*terms: tuple[int, Integers]) -> Integers:
    """Return the sum of factor * integers over all terms, exactly: products of 64-bit integers could wrap.

    Examples:
        >>> combine((2**40, np.array([2**40])), (-1, np.array([1]))).tolist() == [2**80 - 1]
        True
    """
    columns = [[factor * int(number) for number in numbers.ravel()] for factor, numbers in terms]
    return integers(sum(row) for row in zip(*columns, strict=True)).reshape(terms[0][1].shape)


def farthest(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return the margins with which value +- margin covers the interval, however far from its middle the value is.

    Examples:
        >>> farthest(np.array([20.0]), np.array([18.0]), np.array([42.0])).tolist()
        [22.0]
    """
    return np.maximum(values - low, high - values)


@dataclass(frozen=True, slots=True)
class Noisy:
    """What comes out: noisy values, their intervals and margins, in the value's unit."""

    values: NDArray[Any]
    _: KW_ONLY
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    margins: NDArray[Any] | None = None
    simultaneous: float | None = None
    sizes: Floats | None = None
    raw: NDArray[Any] | None = None
    doubtful: NDArray[np.bool_] | None = None
    population: tuple[Sequence[float | None], Sequence[float | None]] | None = None
    findings: tuple[Finding, ...] = ()
    counts: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """What to expect of a release: the margin of one value and the expected noise in percent."""

    margin: float | None
    margin_unit: MarginUnit = "value"
    noise_percent: float | None = None


def margin_steps(scale: Fraction, *, cells: int = 1, coverage: float = COVERAGE) -> int:
    """Return the fewest steps m with which all of ``cells`` discrete Laplace variables stay within m.

    Proof: with a = exp(-1/scale), one variable is beyond m with probability 2 a^(m+1)/(1+a). The
    variables are independent, so all stay within with the power of its complement; m is the least for
    which that is at least ``coverage``.

    Examples:
        >>> margin_steps(Fraction(1)), margin_steps(Fraction(1), cells=5)
        (3, 4)
    """
    tail = -math.expm1(math.log(coverage) / cells)
    return laplace_tail_steps(float(1 / scale), tail)


def expected_steps(scale: Fraction) -> float:
    """Return E|Z| of discrete Laplace noise, 1/sinh(1/scale), in steps.

    Examples:
        >>> round(expected_steps(Fraction(1)), 3)
        0.851
    """
    ratio = float(1 / scale)
    return 0.0 if ratio > 700 else 1 / math.sinh(ratio)


def pair_tail(distance: float, one: float, other: float) -> float:
    """Return P(|X + Y| > distance), X and Y independent Laplace variables of scales ``one`` and ``other``.

    Proof: partial fractions of 1/((1 + a^2 w^2)(1 + b^2 w^2)) give the tail
    (a^2 exp(-x/a) - b^2 exp(-x/b)) / (a^2 - b^2), and (1 + x/2a) exp(-x/a) where the scales meet.

    Examples:
        >>> round(pair_tail(3.0, 1.0, 0.0), 4), round(pair_tail(4.11, 1.0, 1.0), 3)
        (0.0498, 0.05)
    """
    large, small = (one, other) if one >= other else (other, one)
    if large <= 0:
        return 1.0 if distance <= 0 else 0.0
    x, ratio = distance / large, small / large
    if ratio > 1 - 1e-5:
        return (1 + x / 2) * math.exp(-x)
    if ratio < 1e-9:
        return math.exp(-x)
    square = ratio * ratio
    return (math.exp(-x) - square * math.exp(-x / ratio)) / (1 - square)


def triple_tail(distance: float, scales: Sequence[float]) -> float:
    """Return P(|X + Y + Z| > distance) for three independent Laplace variables.

    Proof: partial fractions again, with weights s^4 / prod(s^2 - other^2). Scales that coincide are moved apart by
    a hundred-thousandth, which changes nothing visible.

    Examples:
        >>> round(triple_tail(4.97, [1.0, 1.0, 1.0]), 3), round(triple_tail(3.0, [1.0, 0.0, 0.0]), 3)
        (0.05, 0.05)
    """
    small, middle, large = sorted(scales)
    if large <= 0:
        return 1.0 if distance <= 0 else 0.0
    x, small = distance / large, max(small / large, 1e-7)
    middle = max(middle / large, small + 1e-5)
    large = max(1.0, middle + 1e-5)
    a, b, c = small * small, middle * middle, large * large
    return (
        c * c / ((c - a) * (c - b)) * math.exp(-x / large)
        - b * b / ((b - a) * (c - b)) * math.exp(-x / middle)
        + a * a / ((b - a) * (c - a)) * math.exp(-x / small)
    )


def share_interval(above: float, below: float, scale: float, *, coverage: float = COVERAGE) -> tuple[float, float]:
    """Return the interval of a share p = a / (a + b) of which a and b are known with equal Laplace noise.

    Proof: at the true p the number (1-p) a' - p b' is the pure noise (1-p) Z1 - p Z2, because
    (1-p) a = p b. The set of all p at which it lies within the noise's own quantile therefore contains the
    true one with probability ``coverage``, exactly. On each side of a' / (a' + b') the distance is linear
    and the quantile convex in p, so one bisection finds the set's end (its hull where noise hides the size).

    Args:
        above: a', the noisy sum of distances from the lower bound.
        below: b', the noisy sum of distances from the upper bound.
        scale: The scale of both noises, in the same units.
        coverage: What the interval promises.

    Examples:
        >>> low, high = share_interval(5e5, 5e5, 100.0)
        >>> 0.4995 < low < 0.5 < high < 0.5005
        True
    """
    total = above + below
    if total <= 0:
        return 0.0, 1.0
    centre = min(max(above / total, 0.0), 1.0)
    miss = 1 - coverage

    def chance(share: float) -> float:
        return pair_tail(abs((1 - share) * above - share * below), (1 - share) * scale, share * scale)

    reach = 3 * scale / total  # beyond the quantile of any mixture wherever the size is not lost in the noise
    low = find_end(chance, centre, 0.0, near=centre - reach, miss=miss)
    return low, find_end(chance, centre, 1.0, near=centre + reach, miss=miss)


_HAIR = 3e-4  # of the logarithm of what is left outside: 5 % become at least 4.9985 %


def find_end(
    chance: Callable[[float], float], inside: float, border: float, *, near: float, miss: float = 1 - COVERAGE
) -> float:
    """Return where ``chance`` falls below ``miss`` on the way from ``inside`` to ``border``, or the border.

    The logarithm of a tail is nearly a straight line, so a line through the last two points finds the end in a
    handful of steps; a bracket holds them. What is returned lies outside by a hair: an interval made of it is never
    too short.

    Args:
        chance: A tail that falls on the way.
        inside: Where it is at least ``miss``.
        border: The public limit.
        near: A guess at the end.
        miss: What may be left outside.

    Examples:
        >>> round(find_end(lambda x: math.exp(-x), 0.0, 100.0, near=2.0), 3)
        2.996
    """
    level = math.log(miss)

    def excess(point: float) -> float:
        return math.log(max(chance(point), 1e-300)) - level

    if inside == border or excess(border) >= 0:
        return border
    close, far = inside, border
    before, height = inside, excess(inside)
    point = near
    for _ in range(60):
        if not min(close, far) < point < max(close, far):
            point = (close + far) / 2
        found = excess(point)
        if -_HAIR <= found < 0:
            return point
        close, far = (point, far) if found >= 0 else (close, point)
        slope = (found - height) / (point - before) if point != before else 0.0
        before, height = point, found
        point = point - (found + _HAIR / 2) / slope if slope else far
    return far

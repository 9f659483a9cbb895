"""Checks of what a caller declares public: epsilon, bounds, edges and grids. There are no defaults but for a grid."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.budget.units import exact
from pydplib.errors import ParameterError

MOST_POINTS = 1_000_000
"""Most grid points of a quantile."""

MOST_DENOMINATOR = 10_000
"""Quantiles are decimal shares with up to four digits, so that scores stay whole numbers."""


def tidy(number: Fraction) -> float:
    """Return a fraction as a plain number: whole ones as int."""
    return int(number) if number.denominator == 1 else float(number)


def check_epsilon(epsilon: Any) -> Fraction:
    """Return epsilon exactly as it is written: positive and finite; there is no default."""
    value = epsilon if isinstance(epsilon, Fraction) else exact(epsilon, name="epsilon")
    if value <= 0:
        raise ParameterError(f"epsilon must be a positive, finite number; there is no default. Got {float(value):g}.")
    if not Fraction(1, 10**6) <= value <= 10**4:
        raise ParameterError("epsilon must lie between a millionth and ten thousand.")
    return value


def check_bounds(bounds: Any, *, squared: bool = False) -> tuple[float, float]:
    """Return public bounds as finite floats, low < high, whose distance (``squared``: its square) is no rarity."""
    try:
        low, high = bounds
        low, high = (float(exact(end, name="A bound")) for end in (low, high))
    except (TypeError, ValueError):
        raise ParameterError(
            "bounds=(low, high) are two finite numbers, public by declaration: what is possible, never taken from "
            "the data."
        ) from None
    if not low < high:
        raise ParameterError(f"bounds need low < high. Got ({low!r}, {high!r}).")
    power = 100 if squared else 200
    if not float(f"1e-{power}") < high - low < float(f"1e{power}"):
        raise ParameterError(f"bounds must lie a sensible distance apart (between 1e-{power} and 1e{power}).")
    return low, high


def check_edges(edges: Any) -> tuple[float, ...]:
    """Return public edges: at least two, finite and ascending; whole numbers stay whole."""
    if isinstance(edges, str):
        raise ParameterError("edges is a list of numbers, public by declaration, e.g. [20, 30, 40].")
    try:
        limits = tuple(_edge(edge) for edge in edges)
    except TypeError:
        raise ParameterError("edges is a list of numbers, public by declaration, e.g. [20, 30, 40].") from None
    if len(limits) < 2 or any(a >= b for a, b in pairwise(limits)):
        raise ParameterError("edges needs at least two numbers in ascending order.")
    if len(limits) > MOST_POINTS:
        raise ParameterError(f"At most {MOST_POINTS} edges are used.")
    return limits


def _edge(edge: Any) -> float:
    if isinstance(edge, float) and abs(edge) < 2**53:  # NumPy's floats, too; what ``exact`` says, without the detour
        return int(edge) if edge.is_integer() else float(edge)
    return tidy(exact(edge, name="An edge"))


def check_step(step: float | None, low: float, high: float) -> Fraction:
    """Return the public grid of quantiles exactly: what was given, or 1, 2 or 5 times a power of ten."""
    width = exact(high) - exact(low)
    if step is None:
        return default_step(width)
    given = exact(step, name="step")
    if not 0 < given <= width:
        raise ParameterError("step must be positive and no wider than the bounds.")
    if width / given > MOST_POINTS:
        raise ParameterError(f"The grid has more than {MOST_POINTS} points. Use a wider step.")
    return given


def default_step(width: Fraction) -> Fraction:
    """Return the widest of 1, 2, 5 times a power of ten that cuts the range into a thousand steps or more.

    Examples:
        >>> default_step(Fraction(82))
        Fraction(1, 20)
    """
    most = width / 1000
    power = math.floor(math.log10(float(most)))
    steps = [digit * Fraction(10) ** e for e in (power - 1, power, power + 1) for digit in (1, 2, 5)]
    return max(step for step in steps if step <= most)


def grid_points(low: Fraction, step: Fraction, count: int) -> NDArray[np.float64]:
    """Return low, low + step, ... as the floats nearest to the exact numbers: a value written 18.3 equals its point.

    Examples:
        >>> grid_points(Fraction(18), Fraction(1, 10), 4).tolist()
        [18.0, 18.1, 18.2, 18.3]
    """
    whole = math.lcm(low.denominator, step.denominator)
    first, width = int(low * whole), int(step * whole)
    if max(abs(first), abs(first + width * count), whole) < 2**53:
        return (first + width * np.arange(count, dtype=np.int64)) / whole  # one correctly rounded division each
    return np.array([float(low + place * step) for place in range(count)])


def check_quantiles(quantiles: object) -> tuple[Fraction, ...]:
    """Return shares strictly between 0 and 1 as exact fractions, ascending and different.

    Examples:
        >>> check_quantiles([0.25, 0.5])
        (Fraction(1, 4), Fraction(1, 2))
    """
    if isinstance(quantiles, int | float | Fraction):
        quantiles = [quantiles]
    try:
        shares = [exact(q, name="A quantile") for q in quantiles]  # type: ignore[attr-defined]
    except TypeError:
        raise ParameterError("quantiles is a list of shares, e.g. [0.25, 0.5, 0.75].") from None
    if not shares or not all(0 < q < 1 and q.denominator <= MOST_DENOMINATOR for q in shares):
        raise ParameterError("Quantiles are shares strictly between 0 and 1 with up to four decimals, e.g. 0.25.")
    if any(a >= b for a, b in pairwise(shares)):
        raise ParameterError("Quantiles are listed in ascending order, each once.")
    return tuple(shares)

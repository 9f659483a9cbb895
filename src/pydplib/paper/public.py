"""The public way: a scale from public bounds alone, so that every record has a real local guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import ParameterError
from pydplib.noise import grid_exponent, tap
from pydplib.paper.measure import expected_percent, scale_for
from pydplib.paper.mechanism import flip_epsilon
from pydplib.paper.words import Kind
from pydplib.policy.noise_factors import NoiseFactor

LEAST, MOST = 1e-9, 500.0
"""The record epsilons that can be asked for: at either end nobody could tell the result from all or nothing."""


@dataclass(frozen=True, slots=True)
class PublicScale:
    """Noise that was fixed without looking at a single value.

    Attributes:
        scale: The Laplace scale; for categories the one whose record epsilon would be the same.
        record_epsilon: The local guarantee of one record, rounding included.
        percent: The expected noise: percent of the public range, or of values that change.
    """

    scale: float
    record_epsilon: float
    percent: float


def public_scale(
    kind: Kind,
    *,
    span: tuple[float, float],
    factor: NoiseFactor | None,
    record_epsilon: float | None,
    categories: int = 0,
) -> PublicScale:
    """Return the noise for a band or for a record epsilon, from public facts only.

    Numbers, whole numbers and dates: b = R / epsilon, or the b whose expected noise is the band's middle as
    a share of the public range R. True/false: a flip probability. Categories: k-ary randomised response.

    Args:
        kind: How values are treated.
        span: The public bounds.
        factor: The noise factor, if a band is asked for.
        record_epsilon: The guarantee, if that is asked for, between 1e-9 and 500.
        categories: How many categories there are.

    Examples:
        >>> found = public_scale("float", span=(18, 100), factor=None, record_epsilon=4.0)
        >>> found.record_epsilon <= 4.0, round(found.scale, 1)
        (True, 20.5)
    """
    if record_epsilon is not None and not (
        isinstance(record_epsilon, int | float | np.number) and 0 < record_epsilon < math.inf
    ):
        raise ParameterError("record_epsilon must be a positive, finite number; there is no default.")
    if record_epsilon is not None and not LEAST <= record_epsilon <= MOST:
        raise ParameterError(
            f"record_epsilon must lie between {LEAST:g} and {MOST:g}: below, nothing would be left of the data, "
            "beyond, nothing would be hidden."
        )
    if kind == "category":
        return _for_categories(categories, factor, record_epsilon)
    if kind == "bool":
        return _for_flips(factor, record_epsilon)
    low, high = span
    width = high - low
    if factor is not None:
        scale = scale_for(kind, factor.target, width)
    else:
        assert record_epsilon is not None
        scale = _scale_for_epsilon(low, high, float(record_epsilon))
    # Where both bounds round to the same step, all records look alike: what was asked for holds all the more.
    epsilon = grid_epsilon(low, high, scale) or float(record_epsilon or LEAST)
    return PublicScale(scale, epsilon, expected_percent(kind, scale, width))


def grid_epsilon(low: float, high: float, scale: float) -> float:
    """Return the exact record epsilon of ``laplace_records`` for values clamped to [low, high], rounded up.

    Proof: Values become whole steps of the grid 2^k, floor(x/2^k + 1/2), so clamped values are at most D steps
    apart, D the difference of the rounded bounds; noise of scale t = scale / 2^k steps gives D / t.
    """
    step = Fraction(2) ** grid_exponent(scale)
    half = Fraction(1, 2)
    steps = math.floor(Fraction(high) / step + half) - math.floor(Fraction(low) / step + half)
    exact = steps * step / Fraction(scale)
    rounded = float(exact)
    return rounded if Fraction(rounded) >= exact else math.nextafter(rounded, math.inf)


def _scale_for_epsilon(low: float, high: float, record_epsilon: float) -> float:
    """Return the smallest scale (almost) whose exact record epsilon does not exceed what was asked."""
    scale = (high - low) / record_epsilon
    while grid_epsilon(low, high, scale) > record_epsilon:
        # Rounding to the grid costs at most one step, a thousandth of the scale.
        scale *= 1 + 2.0**-12
    return scale


def _for_flips(factor: NoiseFactor | None, record_epsilon: float | None) -> PublicScale:
    if factor is not None:
        scale = scale_for("bool", factor.target, 1.0)
    else:
        assert record_epsilon is not None
        # p = 1/(1 + e^epsilon) = exp(-x)/2 and x = 1/(2b), so x = ln((e^epsilon + 1)/2).
        epsilon = float(record_epsilon)
        grown = math.log1p(math.expm1(epsilon) / 2)  # in these words no digit is lost however small epsilon is
        scale = 1 / (2 * grown)
        while flip_epsilon(scale) > epsilon:
            scale *= 1 + 2.0**-40
    return PublicScale(scale, flip_epsilon(scale), expected_percent("bool", scale, 1.0))


def _for_categories(categories: int, factor: NoiseFactor | None, record_epsilon: float | None) -> PublicScale:
    if factor is not None:
        epsilon = math.log((1 - factor.target) * (categories - 1) / factor.target)
    else:
        assert record_epsilon is not None
        epsilon = float(record_epsilon)
    change = (categories - 1) * math.exp(-epsilon) / (1 + (categories - 1) * math.exp(-epsilon))
    return PublicScale((categories - 1) / epsilon, epsilon, 100 * change)


def randomize_categories(codes: NDArray[Any], categories: int, record_epsilon: float) -> NDArray[np.int64]:
    """Return category codes, each kept with e^epsilon/(e^epsilon + k - 1) and else another one at random.

    Proof: The kept code has probability q = e^epsilon/(e^epsilon + k - 1), every other one
    (1 - q)/(k - 1) = q / e^epsilon: the ratio is e^epsilon (k-ary randomised response, ``tap.respond``).
    """
    return tap.respond(codes.astype(np.int64), Fraction(record_epsilon), categories=categories)

"""Prices: from an accuracy or a noise band to epsilon, and what margin to expect; from public facts alone.

n is the declared size of the table or a noisy one that was bought, never the exact one. Where an answer has
k groups (or cells), the reference is an even group of n / k rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pydplib.errors import CalibrationError, ParameterError
from pydplib.mechanisms._common import check_margin, solve_epsilon
from pydplib.release.choosing import QuantileNoise
from pydplib.release.group_quantiles import BinnedQuantileNoise
from pydplib.release.noisy import SQUARES_SHARE, CountNoise, MeanNoise, SumNoise
from pydplib.release.prepare import Prepared, prepare
from pydplib.release.release import MarginUnit
from pydplib.release.resolved import Resolved

NEEDS_SIZE = (
    "needs the number of rows, and the schema declares none. Declare it (size=920 in the schema) if it is public, "
    "or buy it once: session.buy_size(epsilon=...), on the command line pydplib release ... --buy-size 0.05 (and the "
    "same option with pydplib price). With a role, a release by noise factor buys it by itself."
)


@dataclass(frozen=True, slots=True)
class Expected:
    """What to expect of a release: the 95 % margin of one value and the expected noise in percent."""

    margin95: float | None
    margin_unit: MarginUnit
    noise_percent: float | None


def expect(prepared: Prepared, size: float | None) -> Expected:
    """Return the margin that a release will have, as far as public facts tell.

    Margins of counts, sums and ranks are exact. Those of means and variances are for an even group of
    size / groups rows: at most, for means; for evenly spread values, for variances. Under conditions nobody knows how
    many rows meet them, so nothing that depends on that number is promised.
    """
    noise, resolved = prepared.noise, prepared.resolved
    if resolved.question.conditions:
        size = None
    each = None if size is None else max(size, 1.0) / resolved.cells
    if isinstance(noise, QuantileNoise):
        percent = None if each is None else 100 * noise.scale(noise.worst) / each
        return Expected(noise.margin(noise.worst), "ranks", percent)
    if isinstance(noise, BinnedQuantileNoise):
        percent = None if each is None else 100 * noise.expected(noise.worst) / each
        return Expected(noise.margin(noise.worst), "ranks", percent)
    if isinstance(noise, CountNoise):
        return Expected(noise.margin, "value", None if each is None else 100 * noise.expected / each)
    if isinstance(noise, SumNoise):
        percent = None if each is None else 100 * noise.expected / (each * noise.largest * noise.step)
        return Expected(noise.margin, "value", percent)
    if each is None:
        return Expected(None, "value", None)
    reference = noise.high - noise.low if isinstance(noise, MeanNoise) else noise.most / 3
    return Expected(noise.margin(each), "value", 100 * noise.expected(each) / reference)


def band_epsilon(resolved: Resolved, target: float, size: float | None) -> Fraction:
    """Return the epsilon at which the expected noise is ``target`` times the reference magnitude, in closed form.

    Discrete Laplace noise on a grid g with sensitivity D has E|Z| = g / sinh(g epsilon / D), so
    epsilon = (D/g) asinh(g / (target M)). M is n/k rows for counts, n/k times the largest value for sums, the
    range for means, that of evenly spread values (R^2/12) for variances, and n/k ranks for quantiles.

    Args:
        resolved: The question against the schema.
        target: The middle of the noise band, e.g. 0.15.
        size: The declared or bought number of rows.
    """
    if size is None:
        raise CalibrationError(f"A price by noise factor {NEEDS_SIZE}")
    each = max(float(size), 1.0) / resolved.cells
    rows, grid = resolved.rows, 1 / resolved.bound.scale
    if resolved.is_count:
        found = rows / grid * math.asinh(grid / (target * each))
    elif resolved.question.ask == "sum":
        found = rows / (target * each)
    elif resolved.question.ask == "mean":
        found = 0.75 * rows / (target * each)
    elif resolved.question.ask == "variance":
        found = 7 / 9 * 3 * rows / (float(SQUARES_SHARE) * target * each)
    elif isinstance(table := prepare(resolved, Fraction(1)).noise, BinnedQuantileNoise):
        found = table.expected(table.worst) / (target * each)
    else:
        worst = max(float(max(share, 1 - share)) for share in resolved.shares)
        found = 2 * worst * rows * len(resolved.shares) / (target * each)
    if resolved.has_unknown_keys and not resolved.is_count:
        found *= 2  # the other half finds the keys
    return _rounded(found, down=True)


def parse_margin(margin: Any) -> float:
    """Return a margin as the positive, finite number that it must be."""
    try:
        return check_margin(float(margin))
    except (TypeError, ValueError):
        raise ParameterError("margin is a positive number, in the unit of the answer.") from None


def margin_epsilon(resolved: Resolved, margin: float, size: float | None, delta: Any = None) -> Fraction:
    """Return the smallest epsilon whose expected margin is at most ``margin`` (in ranks for quantiles)."""
    if resolved.question.ask in ("mean", "variance"):
        if resolved.question.conditions:
            raise CalibrationError(
                f"The margin of a {resolved.question.ask} under conditions depends on how many rows meet them, which "
                "is not public: give epsilon instead, or count them first (the margin of a count is known)."
            )
        if size is None:
            raise CalibrationError(f"A price by margin {NEEDS_SIZE}")

    def margin_of(epsilon: float) -> float:
        bounded = min(max(epsilon, 1e-6), 1e4)
        found = expect(prepare(resolved, _rounded(bounded), delta), size).margin95
        assert found is not None
        return found

    return _rounded(solve_epsilon(margin_of, margin))


def _rounded(epsilon: float, *, down: bool = False) -> Fraction:
    """Return epsilon with six significant digits, so that prices are short decimals: up for margins, down for bands."""
    digits = 5 - math.floor(math.log10(epsilon))
    scaled = Fraction(epsilon) * Fraction(10) ** digits
    whole = math.floor(scaled) if down else math.ceil(scaled - Fraction(1, 10**6))
    return Fraction(whole) / Fraction(10) ** digits

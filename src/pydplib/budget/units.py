"""Whole numbers for privacy loss: nano-epsilon, nano-rho and atto-delta, rounded so that nothing is understated.

Sums of floats drift; sums of integers do not. Epsilon and rho are counted in units of
1e-9. Delta is counted in units of 1e-18, because a sensible delta (1/n^2 of a large
table) would vanish in a nano-unit.

What is spent is rounded up, what may be spent is rounded down.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational
from typing import TypeAlias

from pydplib.errors import ParameterError, shown

NANO = 10**9
"""Units of epsilon and rho in 1."""

ATTO = 10**18
"""Units of delta in 1."""

MOST_EPSILON = 10_000
"""The largest epsilon that is entered as differential privacy; beyond it nothing is promised to anyone."""

Amount: TypeAlias = int | float | Fraction | Decimal
"""How epsilon, rho and delta may be written."""


def exact(value: Amount, *, name: str = "The number") -> Fraction:
    """Return the number that was meant: a float is read as the decimal that it prints as.

    ``0.2`` means one fifth, not the binary fraction next to it, so that five questions at
    0.2 fit a budget of 1. Whoever computes a scale of noise from the same epsilon must
    read it by this function too: then what is entered is what was spent.

    Examples:
        >>> exact(0.2)
        Fraction(1, 5)
    """
    try:
        if isinstance(value, bool | str | bytes):
            raise TypeError
        if isinstance(value, Rational | Decimal):
            return Fraction(value)
        return Fraction(Decimal(repr(float(value))))
    except (TypeError, ValueError, OverflowError, InvalidOperation):
        raise ParameterError(f"{name} must be a finite number. Got {shown(value)}.") from None


def ceil_units(value: Fraction, unit: int) -> int:
    """Return ``value`` in units of 1/``unit``, rounded up.

    Examples:
        >>> ceil_units(Fraction(1, 3), NANO)
        333333334
    """
    return -((-value.numerator * unit) // value.denominator)


def floor_units(value: Fraction, unit: int) -> int:
    """Return ``value`` in units of 1/``unit``, rounded down.

    Examples:
        >>> floor_units(Fraction(1, 3), NANO)
        333333333
    """
    return (value.numerator * unit) // value.denominator


def rho_of_epsilon(nano_epsilon: int, *, divisor: int = 2) -> int:
    """Return the nano-rho of a pure epsilon, epsilon^2/``divisor``, rounded up.

    Args:
        nano_epsilon: Epsilon in nano-units.
        divisor: 2 for any pure mechanism (Bun and Steinke 2016); 8 for the exponential mechanism, whose
            privacy loss lies in an interval of length epsilon (Cesar and Rogers 2021).

    Examples:
        >>> rho_of_epsilon(7_200_000)
        25920
    """
    return -((-nano_epsilon * nano_epsilon) // (divisor * NANO))


def show_nano(units: int) -> str:
    """Return nano-units as a decimal, exactly.

    Examples:
        >>> show_nano(200_000_001), show_nano(2 * NANO)
        ('0.200000001', '2')
    """
    sign = "-" if units < 0 else ""
    whole, rest = divmod(abs(units), NANO)
    return f"{sign}{whole}.{rest:09d}".rstrip("0").rstrip(".")


def show_short(units: int) -> str:
    """Return nano-units with at most four digits, rounded up: a cost for readers. Files and the ledger keep all digits.

    Examples:
        >>> show_short(371_958_204), show_short(1_621_800_001), show_short(50_000_000), show_short(0)
        ('0.372', '1.622', '0.05', '0')
    """
    digits = Context(prec=4, rounding=ROUND_CEILING).create_decimal(Decimal(units).scaleb(-9))
    return f"{digits:f}".rstrip("0").rstrip(".") if units % NANO else str(units // NANO)


def show_atto(units: int) -> str:
    """Return atto-units as a short number with an exponent, exactly.

    Examples:
        >>> show_atto(10**12), show_atto(0)
        ('1e-06', '0')
    """
    return "0" if units == 0 else _tidy(Decimal(units).scaleb(-18))


def _tidy(value: Decimal) -> str:
    digits = f"{value.normalize():e}"
    mantissa, _, exponent = digits.partition("e")
    return f"{mantissa}e{int(exponent):+03d}"

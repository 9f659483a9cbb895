"""An independent exp() in fractions alone, and a source of bytes that a test writes down beforehand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest


class Script:
    """A source that hands out exactly the bytes it was given, and complains when they run out."""

    def __init__(self, *parts: bytes) -> None:
        self.left = b"".join(parts)

    def fill(self, out: np.ndarray) -> None:
        assert len(self.left) >= len(out), "the script is too short: more randomness was asked for than expected"
        out[:] = np.frombuffer(self.left[: len(out)], dtype=np.uint8)
        self.left = self.left[len(out) :]


def exp_bounds(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds of exp(-x), x >= 0, less than 2^-bits apart: Taylor's series of x / 2^k in fractions, squared k times."""
    work = bits + 40
    halvings = max(0, (int(x) + 1).bit_length() + 2)
    work += 2 * halvings
    one = 1 << work
    y = x / 2**halvings
    assert 0 <= y < Fraction(1, 2)
    # Alternating series with falling terms: the sum lies between two partial sums. All in units of 2^-work.
    y_low, y_high = (y.numerator * one) // y.denominator, -((-y.numerator * one) // y.denominator)
    low = high = one
    term_low = term_high = one
    n = 0
    while term_high > 1:
        n += 1
        term_low = (term_low * y_low) // (one * n)
        term_high = -((-term_high * y_high) // (one * n))
        if n % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    low, high = low - 2, high + 2  # the rest of the series is below the last term, 1 unit
    for _ in range(halvings):
        low, high = (low * low) // one, -((-high * high) // one)
    result = Fraction(max(low, 0), one), Fraction(high, one)
    assert result[1] - result[0] < Fraction(1, 2**bits)
    return result


def digits_of(low: Fraction, high: Fraction, count: int) -> bytes:
    """The first ``count`` bytes on which both bounds agree (asserted)."""
    first = (low.numerator << (8 * count)) // low.denominator
    last = (high.numerator << (8 * count)) // high.denominator
    assert first == last, "the reference is not precise enough for that many digits"
    return first.to_bytes(count, "big")


def next_up(digits: bytes, step: int = 1) -> bytes:
    """The digits plus ``step`` units of the last place, carries included."""
    return (int.from_bytes(digits, "big") + step).to_bytes(len(digits), "big")


class Exact:
    """The helpers above, as one fixture."""

    Script = Script
    exp_bounds = staticmethod(exp_bounds)
    digits_of = staticmethod(digits_of)
    next_up = staticmethod(next_up)

    @staticmethod
    def exp_digits(x: Fraction, count: int) -> bytes:
        return digits_of(*exp_bounds(x, 8 * count + 64), count)

    @staticmethod
    def logistic_digits(x: Fraction, count: int) -> bytes:
        low, high = exp_bounds(x, 8 * count + 64)
        return digits_of(low / (1 + low), high / (1 + high), count)

    @staticmethod
    def keep_digits(epsilon: Fraction, categories: int, count: int) -> bytes:
        low, high = exp_bounds(epsilon, 8 * count + 64)
        return digits_of(1 / (1 + (categories - 1) * high), 1 / (1 + (categories - 1) * low), count)


@pytest.fixture(scope="session")
def exact() -> type[Exact]:
    return Exact

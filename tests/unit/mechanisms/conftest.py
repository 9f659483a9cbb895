"""Mechanisms as one list, and small helpers on floats."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from pydplib.mechanisms import CoinFlip, Exponential, Gaussian, Geometric, Laplace, PermuteAndFlip, RandomizedResponse


class Helpers:
    """What several test files need."""

    EVERY = (
        Laplace(1, 1.0),
        Geometric(1, 1.0),
        Gaussian(1, rho=0.5),
        Gaussian(1, epsilon=1.0, delta=1e-6),
        Exponential(1, 1.0),
        PermuteAndFlip(1, 1.0),
        RandomizedResponse(["a", "b", "c"], 1.0),
        CoinFlip(),
    )

    @staticmethod
    def float_at_least(value: Fraction) -> float:
        """The smallest float that is not below ``value``."""
        near = float(value)
        return near if Fraction(near) >= value else math.nextafter(near, math.inf)


@pytest.fixture(scope="session")
def helpers() -> type[Helpers]:
    return Helpers

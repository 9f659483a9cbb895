"""Mechanisms: the small set of randomised answers that everything else is made of.

Each takes what one person can change (sensitivity) and a privacy loss (epsilon, rho, or
epsilon and delta), works on a number or an array, and states its guarantee, its scale, its
95 % margin and the inverse: the least privacy loss for a wanted margin.

Examples:
    >>> from pydplib.mechanisms import Laplace
    >>> noisy = Laplace(sensitivity=1, epsilon=1.0).release(42)
"""

from pydplib.mechanisms.choice import Exponential, PermuteAndFlip
from pydplib.mechanisms.gaussian import Gaussian
from pydplib.mechanisms.laplace import Geometric, Laplace
from pydplib.mechanisms.response import CoinFlip, RandomizedResponse

__all__ = [
    "CoinFlip",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Laplace",
    "PermuteAndFlip",
    "RandomizedResponse",
]

"""Random bits and exact integer noise: the only place where randomness is made.

Examples:
    >>> from fractions import Fraction
    >>> from pydplib.noise import discrete_laplace
    >>> len(discrete_laplace(Fraction(5, 2), size=3))
    3
"""

from pydplib.noise.coins import bernoulli_exp, bernoulli_exp_each, bernoulli_keep
from pydplib.noise.grid import from_grid, grid_exponent, laplace_records, to_grid
from pydplib.noise.randomness import Source, permutation, random_bytes, uniform_below
from pydplib.noise.samplers import discrete_gaussian, discrete_laplace, exponential_choice
from pydplib.noise.tap import add_gaussian, add_laplace, add_pair, choose, flip_and_choose, flip_coins, respond

__all__ = [
    "Source",
    "add_gaussian",
    "add_laplace",
    "add_pair",
    "bernoulli_exp",
    "bernoulli_exp_each",
    "bernoulli_keep",
    "choose",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_choice",
    "flip_and_choose",
    "flip_coins",
    "from_grid",
    "grid_exponent",
    "laplace_records",
    "permutation",
    "random_bytes",
    "respond",
    "to_grid",
    "uniform_below",
]

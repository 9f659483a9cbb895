"""Unknown keys: a group is shown only if its noisy count passes a threshold that one person cannot reach."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pydplib.engine import ExactTable, Measure
from pydplib.noise.expansion import decimal_context, exp_interval
from pydplib.noise.tap import add_laplace
from pydplib.release.results.axes import Axis
from pydplib.release.statistics.noise import COVERAGE, Noisy, margin_steps

if TYPE_CHECKING:
    from pydplib.release.facts import Facts

KEYS_SHARE = Fraction(1, 2)
"""The part of epsilon that finding the keys costs, where more than a count is asked of them."""


def is_rare(steps: int, scale: Fraction, chance: Fraction) -> bool:
    """Tell exactly whether discrete Laplace noise reaches ``steps`` with a probability of at most ``chance``.

    Proof: P(Z >= k) = a^k / (1 + a) for k >= 0, a = exp(-1/scale). The bounds of both exponentials close in as
    the precision grows, and the two sides are never equal: a is transcendental.

    Examples:
        >>> is_rare(14, Fraction(1), Fraction(1, 10**6)), is_rare(13, Fraction(1), Fraction(1, 10**6))
        (True, False)
    """
    precision = 40
    while True:
        context = decimal_context(precision)
        low, high = exp_interval(steps / scale, context)
        least, most = exp_interval(1 / scale, context)
        if high <= chance * (1 + least):
            return True
        if low > chance * (1 + most):
            return False
        precision *= 2


@dataclass(frozen=True, slots=True)
class KeyNoise:
    """Which of the keys that the data hold are shown, and their noisy counts.

    Proof: one person counts in at most G groups with at most m whole rows each (a sample by a keyed hash that
    depends on nobody else), so the counts move by at most G m in L1 and noise of scale t = G m / epsilon makes
    the counts of keys that others have, too, epsilon-DP. A key that exists through this person alone has a
    count of at most m, and passes T = m - 1 + k with probability of at most delta / G, where k is the smallest number
    with P(Z >= k) = a^k / (1 + a) <= delta / G, a = exp(-1/t): ceil(t ln(G / (delta (1 + a)))), decided in exact
    arithmetic (``is_rare``). There are at most G such keys: (epsilon, delta)-DP (Korolova et al. 2009).
    Further statistics of the keys that are shown compose sequentially.

    Args:
        groups: G, the most groups of one person.
        rows: m, the most rows of one person in a group.
        epsilon: The privacy loss of the counts.
        delta: The chance that a key of one person alone is shown.

    Examples:
        >>> KeyNoise(1, 1, Fraction(1), Fraction(1, 10**6)).threshold
        14
    """

    groups: int
    rows: int
    epsilon: Fraction
    delta: Fraction

    @property
    def scale(self) -> Fraction:
        """Scale of the noise of the counts."""
        return self.groups * self.rows / self.epsilon

    @property
    def threshold(self) -> int:
        """A key is shown if its noisy count is larger than this: the smallest such number, found exactly."""
        scale, chance = self.scale, self.delta / self.groups
        # Floats lead to the neighbourhood, exact comparisons to the number itself.
        near = float(scale) * (-math.log(float(chance)) - math.log1p(math.exp(-1 / float(scale))))
        steps = max(math.floor(near), 0)
        while steps > 0 and is_rare(steps - 1, scale, chance):
            steps -= 1
        while not is_rare(steps, scale, chance):
            steps += 1
        return self.rows - 1 + steps

    def apply(self, table: ExactTable, facts: Facts) -> tuple[ExactTable, tuple[Axis, ...]]:
        """Return the table of the keys that pass, its number of rows replaced by the noisy one, and their axis."""
        place = table.plan.measures.index(Measure("count"))
        noisy = add_laplace(table.values[place], self.scale, sensitivity=self.groups * self.rows)
        shown = np.flatnonzero(noisy > self.threshold)
        values = [column[shown] for column in table.values]
        values[place] = noisy[shown]
        keys = tuple(table.keys[i] for i in shown)
        name = next(iter(facts.groups))
        axis = Axis(name, tuple(key[0] for key in keys), title=facts.schema.column(name).title or name)
        return ExactTable(table.plan, keys, tuple(values)), (axis,)

    def counted(self, table: ExactTable, *, confidence: float = COVERAGE) -> Noisy:
        """Return the noisy counts of the shown keys as they are: no second noise is needed."""
        noisy = table[table.plan.measures.index(Measure("count"))]
        margin = margin_steps(self.scale, coverage=confidence)
        low = np.maximum(noisy - margin, 0)
        return Noisy(noisy, low=low, high=noisy + margin, margins=np.full(noisy.shape, margin))

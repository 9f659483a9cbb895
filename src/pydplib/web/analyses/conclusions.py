"""Does the conclusion survive? The order and direction of an owner's exact figure, at the noise of each role.

For the owner alone: it is computed with the original, from the exact numbers, shown on that page and stored nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from pydplib.engine.table import Table
from pydplib.errors import PolicyError
from pydplib.policy import PARTNER_ROLES, ROLES, Policy, settle_epsilon
from pydplib.release import Count, Question
from pydplib.release.facts import Facts
from pydplib.release.prices import band_epsilon
from pydplib.schema import Schema

RUNS = 200
"""How often the mechanism is run for each role."""
_MOST_CELLS = 60
_SURE, _LIKELY = 95, 80  # percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What is left of a conclusion at one role's noise.

    Attributes:
        role: The role, in words.
        epsilon: What the question costs such a recipient.
        highest: The group that is highest in the exact figure.
        lowest: The one that is lowest.
        direction: In how many of 100 runs the highest lies above the lowest.
        top: In how many of 100 runs the highest is the highest of all.
        order: In how many of 100 runs all groups have the exact order.
    """

    role: str
    epsilon: float
    highest: str
    lowest: str
    direction: int
    top: int
    order: int

    @property
    def word(self) -> str:
        """What it comes to."""
        if self.order >= _SURE:
            return "Order and direction survive"
        if self.direction >= _SURE:
            return "The direction survives"
        return "Doubtful" if self.direction >= _LIKELY else "Does not survive"

    @property
    def tone(self) -> str:
        """The tone in which it is shown."""
        return "good" if self.direction >= _SURE else "warning" if self.direction >= _LIKELY else "danger"


def conclusions_of(
    question: Question, schema: Schema, table: Table, exact: NDArray[np.float64], policy: Policy, *, project: str
) -> list[Conclusion]:
    """Run the mechanism many times on exact numbers, for every role that gets statistics; for the owner's eyes alone.

    Args:
        question: What the figure shows.
        schema: The public facts of the snapshot.
        table: Its rows.
        exact: The exact values, one of each group.
        policy: What each role gets.
        project: The project's key.
    """
    facts = Facts.of(question, schema)
    flat = np.asarray(exact, dtype=np.float64).ravel()
    known = np.flatnonzero(np.isfinite(flat))
    if facts.has_unknown_keys or facts.cells != flat.size or not 2 <= known.size <= _MOST_CELLS:
        return []  # one number has no order, and of very many nobody reads one
    labels = [", ".join(parts) for parts in product(*(axis.labels for axis in facts.axes))]
    everybody = Facts.of(Count(where=question.conditions), schema)
    rows = everybody.at(Fraction(1)).count(table)[0].sum() / everybody.bound.scale
    size = max(1.0, float(rows))
    found = []
    for role in PARTNER_ROLES:
        epsilon = _epsilon(facts, role, policy, project, size)
        if epsilon is not None:
            found.append(_tried(facts, table, flat, known, labels, ROLES[role].title, epsilon))
    return found


def _epsilon(facts: Facts, role: str, policy: Policy, project: str, size: float) -> Fraction | None:
    """Return what the question costs somebody in a role by its usual noise; none where the role may not ask."""
    try:
        terms = policy.terms(role, project=project, on=timezone.localdate())
    except PolicyError:
        return None
    wanted = band_epsilon(facts, terms.noise_factor.target, size)
    used, lowered = settle_epsilon(float(wanted), terms.epsilon_cap)
    return Fraction(str(used)) if lowered else max(wanted, Fraction(1, 10**6))


def _tried(
    facts: Facts,
    table: Table,
    flat: NDArray[np.float64],
    known: NDArray[np.int64],
    labels: list[str],
    role: str,
    epsilon: Fraction,
) -> Conclusion:
    purchase = facts.at(epsilon)
    counted = purchase.count(table)
    high, low = known[np.argmax(flat[known])], known[np.argmin(flat[known])]
    ranked = known[np.argsort(flat[known], kind="stable")]
    steps = flat[ranked[1:]] > flat[ranked[:-1]]  # groups that are equal have no order
    direction = top = order = 0
    for _ in range(RUNS):
        noisy = purchase.question.answer(facts, purchase.noise, counted)
        values = np.asarray(noisy.values if noisy.raw is None else noisy.raw, dtype=np.float64).ravel()
        direction += bool(values[high] > values[low])
        top += bool(values[high] >= values[known].max())
        order += bool((values[ranked[1:]][steps] > values[ranked[:-1]][steps]).all())
    return Conclusion(
        role=role,
        epsilon=float(epsilon),
        highest=labels[int(high)],
        lowest=labels[int(low)],
        direction=int(100 * direction / RUNS),
        top=int(100 * top / RUNS),
        order=int(100 * order / RUNS),
    )

"""People in the same situation: same candidates, same true value; and what somebody believes about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pydplib.anonymity.tables.columns import Bools, Floats, Ints
from pydplib.attack._lists import find_sorted
from pydplib.attack._released import Entries

RISE = 0.2
"""By how much the belief in somebody's true value must rise for the release to have told it; as in ``skewness``."""


@dataclass(frozen=True, eq=False)
class Cases:
    """People who are in the same situation: same candidates, same true value.

    Attributes:
        pool: Their set of candidates; -1 where no released row fits.
        truth: Their true value, counted into ``domain``.
        people: How many they are; a fraction where the truth is only known as a distribution, or where somebody has
            several rows.
        entries: Sensitive values of every pool's candidates.
        size: Candidates of every pool.
        whose: (person, case) where people have several rows.
    """

    pool: Ints
    truth: Ints
    people: Floats
    entries: Entries
    size: Floats
    whose: tuple[Ints, Ints] | None = None

    @property
    def total(self) -> float:
        """Number of people."""
        return float(self.people.sum())

    @cached_property
    def prior(self) -> Floats:
        """How the true values are spread over all people: what somebody can know without the release."""
        return np.bincount(self.truth, weights=self.people, minlength=len(self.entries.domain)) / max(self.total, 1e-9)

    @property
    def usual(self) -> int:
        """The most common true value: the best blind guess."""
        return int(self.prior.argmax()) if len(self.prior) else 0

    @property
    def blind(self) -> float:
        """How often the best blind guess is right."""
        return float(self.prior.max(initial=0.0))

    def gained(self, right: Bools, before: Floats | None = None) -> float:
        """Return the share of people whose value is certain now, and was not nearly so without the release.

        That most people do not have a rare disease is known to everybody: a group in which nobody has it tells little.
        What counts is certainty that somebody with the same knowledge, but without the release, is far from.

        Args:
            right: Cases in which the true value is certain.
            before: The belief in the true value without the release; by default the prior.
        """
        known = self.prior[self.truth] if before is None else before
        return self.reached(right & (1 - known > RISE + 1e-12))

    def share(self, right: Bools) -> float:
        """Return the share of people in cases where something holds."""
        return float(self.people[right].sum() / max(self.total, 1e-9))

    def reached(self, right: Bools) -> float:
        """Return the share of people of whom something holds in at least one of their cases."""
        if self.whose is None:
            return self.share(right)
        person, case = self.whose
        return len(np.unique(person[right[case]])) / max(self.total, 1e-9)

    @cached_property
    def belief(self) -> Floats:
        """Per case, the share of its candidates that have the true value; the prior where there are none."""
        width = max(len(self.entries.domain), 1)
        keys = self.entries.owner * width + self.entries.value
        place, found = find_sorted(keys, self.pool * width + self.truth)
        count = np.where(found, self.entries.count[place] if len(keys) else 0.0, 0.0)
        inside = self.pool >= 0
        size = np.where(inside, self.size[np.maximum(self.pool, 0)] if len(self.size) else 1.0, 1.0)
        return np.where(inside, count / np.maximum(size, 1e-9), self.prior[self.truth])

    def __repr__(self) -> str:
        return f"Cases({len(self.pool)})"

"""How many persons have how many rows: what the limit of rows per person leaves out, with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pydplib.engine import Bound, Measure
from pydplib.errors import QuestionError
from pydplib.release.results.axes import Axis
from pydplib.release.statistics.count import Counting, CountNoise
from pydplib.release.statistics.question import statistic
from pydplib.schema import Schema

if TYPE_CHECKING:
    from pydplib.release.facts import Facts
    from pydplib.release.results.release import Release

MOST_CLASSES = 50
"""Up to this limit every number of rows is a class of its own; above it, this many classes of even width."""

_ONE_SIDED = 1.645  # 95 % of a normal distribution lie below


@statistic("rows_per_person", noun="persons by number of rows", picture="bars", is_count=True, offered=False)
@dataclass(frozen=True, repr=False)
class RowsPerPerson(Counting):
    """How many persons have how many rows, before any limit: asked by ``Session.buy_limit``.

    Proof: each person is in exactly one class, so one person added or removed moves one count by 1
    (``engine.sensitivity``); ``CountNoise`` with one row per person. What follows from the noisy counts, such as the
    share of rows beyond the limit, is post-processing. No total of unbounded rows is released.

    Examples:
        >>> RowsPerPerson().classes(2)
        (1, 2, 3, 5, 11)
        >>> RowsPerPerson().labels(2)
        ('1', '2', '3 to 4', '5 to 10', 'more than 10')
    """

    def classes(self, limit: int) -> tuple[int, ...]:
        """Return the numbers of rows at which the classes begin: 1 to M, M+1 to 2M, 2M+1 to 5M, more."""
        width = math.ceil(limit / MOST_CLASSES)
        return (*range(1, limit + 1, width), limit + 1, 2 * limit + 1, 5 * limit + 1)

    def labels(self, limit: int) -> tuple[str, ...]:
        """Return the classes in words."""
        edges = self.classes(limit)
        words = [str(a) if b == a + 1 else f"{a} to {b - 1}" for a, b in pairwise(edges)]
        return (*words, f"more than {edges[-1] - 1}")

    def canonical(self, schema: Schema) -> dict[str, Any]:
        """Return the question with the limit that it is about."""
        if schema.person is None:
            raise QuestionError("Without a person column each row is one person, so no limit leaves rows out.")
        return super().canonical(schema) | {"limit": schema.max_rows_per_person}

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the classes."""
        return (Axis("rows", self.labels(schema.max_rows_per_person), title="rows per person"),)

    def bound(self, schema: Schema, groups: Mapping[str, Any]) -> Bound:
        """Return that every person counts once."""
        return Bound(schema.person)

    def unit(self, facts: Facts) -> str:
        """Persons."""
        return "persons"

    def counted(self, facts: Facts) -> str:
        """Nobody is left out."""
        return "every person once, by the number of that person's rows; nothing is left out."

    def measures(self, facts: Facts, epsilon: Fraction) -> tuple[Measure, ...]:
        """Return the number of persons in each class."""
        return (Measure("persons", edges=self.classes(facts.schema.max_rows_per_person)),)

    def noise(self, facts: Facts, epsilon: Fraction) -> CountNoise:
        """Return the noise of all classes together: one person is in one of them."""
        return CountNoise(1, 1, facts.cells, epsilon)


def share_beyond(release: Release) -> tuple[float, float]:
    """Return the least share of rows that lie beyond the limit, by a noisy histogram, and the noise of that share.

    Every person counts with the fewest rows of the class: the true share is larger, as far as the noise lets one tell.

    Args:
        release: What ``Session.buy_limit`` returned.
    """
    limit = int(release.question["limit"])
    edges = RowsPerPerson().classes(limit)
    noisy = release.noisy or release.values
    ends = [min(b - 1, limit) for _, b in pairwise(edges)] + [limit]  # the most rows of each class that count
    kept = sum(most * max(count, 0.0) for most, count in zip(ends, noisy, strict=True))
    weights = [max(0, edge - limit) for edge in edges]
    beyond = sum(weight * count for weight, count in zip(weights, noisy, strict=True))
    spread = math.sqrt(2) * release.scale * math.sqrt(sum(weight**2 for weight in weights))
    total = max(kept + max(beyond, 0.0), 1.0)
    return max(0.0, beyond) / total, _ONE_SIDED * spread / total


def beyond_words(release: Release) -> str:
    """Return what a noisy histogram of rows per person says about the limit, in one sentence."""
    share, noise = share_beyond(release)  # the noise is taken off: "at least" holds in 95 % of all releases
    limit = int(release.question["limit"])
    if share <= noise:
        known = f"By the noisy histogram of rows per person, no rows are known to be beyond the limit of {limit}; "
        if noise >= 1:
            return f"{known}its noise hides any share."
        return f"{known}its noise hides shares below about {_percent(noise)}, and sometimes larger ones."
    rows = "1 row" if limit == 1 else f"{limit} rows"
    return f"At least about {_percent(share - noise)} of rows are beyond the limit of {rows} per person (noisy)."


def beyond_note(release: Release) -> str:
    """Return what a release says about rows beyond its limit, where its recipient has bought that; else nothing."""
    return next((note for note in release.notes if "beyond the limit of" in note), "")


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.2g} %" if percent < 10 else f"{percent:.0f} %"

"""What limits leave out: what a release counts, in words, and the noisy histogram of rows per person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from pydplib.errors import QuestionError
from pydplib.release.axes import Axis
from pydplib.release.questions import Count, Question
from pydplib.schema import Schema, rows_words

if TYPE_CHECKING:
    from pydplib.release.release import Release
    from pydplib.release.resolved import Resolved

MOST_CLASSES = 50
"""Up to this limit every number of rows is a class of its own; above it, this many classes of even width."""

SHIFT = "the margin does not include the shift this causes"
"""What every release with a limit or bounds says about its margin."""

_ONE_SIDED = 1.645  # 95 % of a normal distribution lie below


@dataclass(frozen=True, repr=False)
class RowsPerPerson(Question):
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

    ask: ClassVar[str] = "rows_per_person"

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

    def axis(self, schema: Schema) -> Axis:
        """Return the axis of the answer."""
        return Axis("rows", self.labels(schema.max_rows_per_person), title="rows per person")


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
        return (
            f"By the noisy histogram of rows per person, no rows are known to be beyond the limit of {limit}; its "
            f"noise hides shares below about {_percent(noise)}, and sometimes larger ones."
        )
    rows = "1 row" if limit == 1 else f"{limit} rows"
    return f"At least about {_percent(share - noise)} of rows are beyond the limit of {rows} per person (noisy)."


def _percent(share: float) -> str:
    return f"{100 * min(share, 1.0):.2g} %"


def counted_words(resolved: Resolved) -> str:
    """Return what a release counts, and that its margin leaves out what limits and bounds shift; public facts alone.

    Examples:
        >>> from pydplib.release.questions import Mean
        >>> from pydplib.release.resolved import resolve
        >>> from pydplib.schema import Number
        >>> schema = Schema({"age": Number(0, 100)}, person="id", max_rows_per_person=2)
        >>> for part in counted_words(resolve(Mean("age"), schema)).split("; "):
        ...     print(part)
        at most 2 rows per person count in full
        age is clamped to 0-100
        the margin does not include the shift this causes.
    """
    question, bound = resolved.question, resolved.bound
    if isinstance(question, RowsPerPerson):
        return "every person once, by the number of that person's rows; nothing is left out."
    parts = []
    shifts = bound.person is not None
    if bound.person is None:
        parts.append("each row counts as one person")
    elif isinstance(question, Count) and question.of == "persons":
        alone = " and in one group only, by one of that person's rows" if resolved.groups else ""
        parts.append(f"each person counts once{alone}")
        shifts = bool(resolved.groups)
    elif bound.mode == "sample":
        groups = "1 group" if bound.max_groups == 1 else f"{bound.max_groups} groups"
        parts.append(f"{rows_words(bound.max_rows)} per person in each of at most {groups} count; others are left out")
    else:
        verb = "counts" if bound.max_rows == 1 else "count"
        parts.append(f"{rows_words(bound.max_rows)} per person {verb} in full")
    clamped = [_clamped(name, resolved) for name in sorted(question.fields | question.filters)]
    parts += [words for words in clamped if words]
    if shifts or any(clamped):
        parts.append(SHIFT)
    return "; ".join(parts) + "."


def _clamped(name: str, resolved: Resolved) -> str:
    column = resolved.schema.column(name)
    if column.ends is None:
        return ""
    low, high = column.ends
    if name in resolved.question.measured and column.holds_numbers and not resolved.is_count:
        low, high = (int(end) if float(end).is_integer() else end for end in resolved.bounds)
    dash = "-" if column.holds_numbers and low >= 0 else " to "
    return f"{name} is clamped to {column.write(low)}{dash}{column.write(high)}"

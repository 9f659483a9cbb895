"""What an answer will be worth, group by group, before anybody pays: from public facts and noisy counts that are paid.

``outlook_of`` needs a ``Purchase``, the size that the recipient knows, and, where the recipient has counted the groups
before, those noisy counts. It reads no data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from pydplib.release.facts import Facts, Purchase
from pydplib.release.results.release import Release
from pydplib.release.results.words import show_margin
from pydplib.release.statistics.count import UNITS
from pydplib.release.statistics.noise import MarginUnit
from pydplib.release.statistics.quantiles import BinnedQuantileNoise

Light: TypeAlias = Literal["useful", "rough", "useless", "unknown"]
"""What an answer is worth; unknown where its margin depends on a number that nobody has paid for."""

USELESS = 1 / 4
"""The part of all that is possible beyond which a margin leaves hardly anything to learn."""
ROUGH = 1 / 10
"""The part beyond which a margin shows the direction alone."""
_PERCENT: dict[Light, float] = {"useless": 20.0, "rough": 10.0}  # where no margin is known, by the expected noise
_ORDER: tuple[Light, ...] = ("useful", "rough", "unknown", "useless")


@dataclass(frozen=True, slots=True)
class GroupOutlook:
    """What to expect of one group.

    Attributes:
        label: The group in words; empty where there is one group alone.
        rows: How many rows it is taken to have; none where nobody knows.
        margin: The margin to expect; none where nobody knows.
        light: What the answer is worth.
    """

    label: str
    rows: float | None
    margin: float | None
    light: Light


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What to expect of an answer.

    Attributes:
        groups: Group by group, in the order of the answer.
        unit: The unit of the margins, for readers.
        margin_unit: What a margin counts.
        whole: Whether margins are whole numbers.
        span: The public range, where margins are compared with it; none otherwise.
        counted: Whether the groups were counted before; else they are taken to be even.

    Examples:
        >>> from pydplib import Mean, Number, Schema
        >>> facts = Facts.of(Mean("age"), Schema({"age": Number(18, 100, unit="years")}, size=900))
        >>> found = outlook_of(facts.at(0.5), 900)
        >>> found.light, found.margin_words, found.span
        ('useful', '± 0.55 years', 82.0)
        >>> outlook_of(facts.at(0.01), 900).light
        'useless'
    """

    groups: tuple[GroupOutlook, ...]
    unit: str
    margin_unit: MarginUnit
    whole: bool
    span: float | None
    counted: bool

    @property
    def light(self) -> Light:
        """What the whole answer is worth: what more than half of the groups are worth, or more."""
        found = Counter(group.light for group in self.groups)
        reached = 0
        for light in _ORDER:
            reached += found[light]
            if 2 * reached > len(self.groups):
                return light
        return "unknown"

    @property
    def is_useful(self) -> bool:
        """Whether every group is."""
        return all(group.light == "useful" for group in self.groups)

    @property
    def margin(self) -> float | None:
        """The widest margin of a group, if all are known."""
        found = [group.margin for group in self.groups]
        return None if None in found or not found else max(one for one in found if one is not None)

    @property
    def margin_words(self) -> str:
        """The margins in words, from the narrowest to the widest; empty where they are not known.

        Groups that are lost have no part in it, unless all are.
        """
        kept = [group for group in self.groups if group.light != "useless"] or self.groups
        known = sorted(group.margin for group in kept if group.margin is not None)
        if not known:
            return ""
        ends = list(dict.fromkeys(show_margin(one, whole=self.whole) for one in (known[0], known[-1])))
        return f"± {' to '.join(ends)} {self.unit}".strip()

    def words_of(self, group: GroupOutlook) -> str:
        """Return one group's margin in words."""
        return "" if group.margin is None else f"± {show_margin(group.margin, whole=self.whole)} {self.unit}".strip()


def outlook_of(purchase: Purchase, size: float | None, counts: Sequence[float] | None = None) -> Outlook:
    """Return what to expect of an answer at a price.

    Args:
        purchase: The question at its price.
        size: The declared or bought number of rows; none where nobody knows.
        counts: Noisy rows of every group, in the order of the answer, that the recipient has paid for before.
    """
    facts, question, noise = purchase.facts, purchase.question, purchase.noise
    counted = counts is not None and len(counts) == facts.cells
    even = facts.even_group(size)
    cells = [max(float(one), 1.0) for one in counts] if counts is not None and counted else [even] * facts.cells
    read = isinstance(noise, BinnedQuantileNoise)
    unit, ranks = facts.unit, False
    seen: dict[float | None, GroupOutlook] = {}
    for rows in set(cells):
        expected = question.expect(facts, noise, rows, confidence=purchase.confidence)
        margin, ranks = expected.margin, expected.margin_unit == "ranks"
        span = None if rows is None else question.span(facts, noise, rows)
        if isinstance(noise, BinnedQuantileNoise) and margin is not None and rows is not None:
            margin, span = _in_values(facts, noise, margin, rows)
        if margin is not None and span is not None:
            light = _light(margin / span, {"useless": USELESS, "rough": ROUGH})
        elif expected.noise_percent is not None:
            light = _light(expected.noise_percent, _PERCENT)
        else:
            light = "unknown"
        seen[rows] = GroupOutlook("", rows, margin, light)
    read = read and None not in seen
    labels = [", ".join(parts) for parts in product(*(axis.labels for axis in facts.axes))]
    groups = [
        GroupOutlook(label, rows, seen[rows].margin, seen[rows].light)
        for label, rows in zip(labels, cells, strict=True)
    ]
    expected_unit: MarginUnit = "value" if read or not ranks else "ranks"
    whole = question.is_count or expected_unit == "ranks" or unit in UNITS
    spread = question.span(facts, noise, 1.0) if question.needs_size or read else None
    if read:
        spread = _width(facts)
    return Outlook(
        groups=tuple(groups),
        unit="ranks" if expected_unit == "ranks" else UNITS.get(unit, unit),
        margin_unit=expected_unit,
        whole=whole,
        span=spread,
        counted=counted,
    )


def lost_values(release: Release) -> list[bool]:
    """Return for each released value whether the noise has swallowed it; judged by released numbers alone.

    A count is lost where its margin reaches it; a mean, variance or deviation where its margin is more than a quarter
    of all that is possible; any value where noise alone could have made its group.

    Examples:
        >>> import pydplib as dp
        >>> lost_values(dp.histogram([61] * 500, edges=[20, 60, 80], epsilon=1.0))
        [True, False]
    """
    lost = [False] * len(release.values) if release.doubtful is None else [bool(one) for one in release.doubtful]
    if release.margins is None or release.margin_unit != "value":
        return lost
    if release.is_count:
        found = zip(release.noisy or release.values, release.margins, strict=True)
        return [before or value <= margin for before, (value, margin) in zip(lost, found, strict=True)]
    width = _possible(release)
    if width is None:
        return lost
    return [before or margin > USELESS * width for before, margin in zip(lost, release.margins, strict=True)]


def _possible(release: Release) -> float | None:
    """Return the range of a released statistic of one column, where it does not depend on the number of rows."""
    if release.bounds is None or release.statistic == "sum":
        return None
    width = release.bounds[1] - release.bounds[0]
    return {"variance": width * width / 4, "deviation": width / 2}.get(release.statistic, width)


def _light(share: float, bounds: dict[Light, float]) -> Light:
    return "useless" if share > bounds["useless"] else "rough" if share > bounds["rough"] else "useful"


def _width(facts: Facts) -> float:
    low, high = facts.bounds
    return float(high - low)


def _in_values(facts: Facts, noise: BinnedQuantileNoise, ranks: float, rows: float) -> tuple[float, float]:
    """Return the margin of a quantile that is read off a table, and the range, both in the column's unit.

    As in ``choose_quantile_noise``: rows lie at the density of values spread over half of the range; an interval ends
    at the edge of a bin.
    """
    width = _width(facts)
    step = width / max(noise.points - 1, 1)
    return min(ranks * width / 2 / max(rows, 1.0) + noise.width * step / 2, width), width

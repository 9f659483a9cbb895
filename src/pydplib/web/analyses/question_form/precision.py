"""How precise: the steps from rough to precise, each with its price and what it will be worth, before anybody pays.

Everything here is made from public facts and from noisy numbers that the organisation has paid for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from django.conf import settings

from pydplib.release import Count, Price, Question
from pydplib.release.facts import Facts
from pydplib.release.outlook import Light, Outlook, outlook_of
from pydplib.release.prices import delta_of
from pydplib.release.session import Session
from pydplib.web.analyses.models import Analysis, scope_of
from pydplib.web.analyses.payments.purchases import release_of
from pydplib.web.design.values import points
from pydplib.web.projects.models import Project

STEPS = 9
"""How many steps there are from rough to precise."""
_SPREAD = 50  # the most precise step costs so many times the roughest
_SHARE = 4  # who has no cap per question is offered a quarter of the budget at most
_SHOWN = 12  # groups that are listed one by one

LIGHT_WORDS: dict[Light, str] = {
    "useful": "Useful",
    "rough": "Rough",
    "useless": "Not useful",
    "unknown": "Not known yet",
}
LIGHT_TONES: dict[Light, str] = {"useful": "good", "rough": "warning", "useless": "danger", "unknown": "neutral"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the slider.

    Attributes:
        place: Its place, 0 for the roughest.
        epsilon: What it costs.
        total: The budget that it is paid from.
        outlook: What to expect of the answer.
        affordable: Whether the budget can pay.
    """

    place: int
    epsilon: float
    total: float
    outlook: Outlook
    affordable: bool

    @property
    def points(self) -> str:
        """The price in points of the budget."""
        return points(self.epsilon, self.total)

    @property
    def light(self) -> Light:
        """What the answer is worth."""
        return self.outlook.light

    @property
    def word(self) -> str:
        """What the answer is worth, in words."""
        return LIGHT_WORDS[self.light]

    @property
    def tone(self) -> str:
        """The tone in which it is shown."""
        return LIGHT_TONES[self.light]

    @property
    def margin(self) -> str:
        """The margin to expect, in words."""
        return self.outlook.margin_words or "± not known yet"

    @property
    def groups(self) -> list[dict[str, object]]:
        """The groups for a page: label, margin, light; a few of many."""
        return [
            {
                "label": group.label or "All together",
                "margin": self.outlook.words_of(group),
                "rows": "" if group.rows is None else f"about {round(group.rows)}",
                "light": group.light,
                "word": LIGHT_WORDS[group.light],
                "tone": LIGHT_TONES[group.light],
            }
            for group in self.outlook.groups[:_SHOWN]
        ]

    @property
    def more_groups(self) -> int:
        """How many groups are not listed."""
        return max(0, len(self.outlook.groups) - _SHOWN)

    @property
    def is_wrong(self) -> bool:
        """Whether paying for it would be money for nothing."""
        return self.light == "useless"

    @property
    def why(self) -> str:
        """Why an answer is not useful, in a sentence."""
        span, margin = self.outlook.span, self.outlook.margin
        if self.light == "useless" and span is not None and margin is not None:
            return (
                f"The noise would move a number by up to {self.margin.removeprefix('± ')}, and all that is possible is "
                f"a range of {span:g} {self.outlook.unit}: more than a quarter of it."
            ).replace(" :", ":")
        if self.light == "useless":
            return "The noise would be as large as the groups: they could not be told apart, or from empty ones."
        return ""


@dataclass(frozen=True, slots=True)
class Ladder:
    """The steps of one question, and the one that is chosen."""

    steps: tuple[Step, ...]
    chosen: int

    @property
    def step(self) -> Step:
        """The step that is chosen."""
        return self.steps[self.chosen]

    @property
    def last(self) -> int:
        """The place of the most precise step."""
        return len(self.steps) - 1

    @property
    def best(self) -> Step | None:
        """The cheapest step that is useful for every group and can be paid; or else for most of them; none without."""
        paid = [step for step in self.steps if step.affordable]
        whole = [step for step in paid if step.outlook.is_useful]
        most = [step for step in paid if step.light == "useful"]
        return next(iter(whole or most), None)


def epsilons(cap: float | None, total: float) -> list[float]:
    """Return the prices of the steps: even factors from rough to the most that one question may cost.

    Examples:
        >>> epsilons(1.0, 2.0)
        [0.02, 0.033, 0.053, 0.087, 0.14, 0.23, 0.38, 0.61, 1.0]
    """
    top = min(total / _SHARE if cap is None else cap, total)
    least = max(settings.CONFIGURATION.least_epsilon, top / _SPREAD)
    factor = (top / least) ** (1 / (STEPS - 1)) if top > least else 1.0
    found = [float(f"{least * factor**place:.2g}") for place in range(STEPS - 1)]
    return sorted({*(one for one in found if least * 0.99 < one < top), top})


def size_of(session: Session, question: Question) -> float | None:
    """Return how many rows count, as far as the organisation knows: persons, where one record of each counts."""
    if question.per_person is not None and session.table.schema.size is None:
        histogram = session.limit
        if histogram is not None:
            return max(1.0, float(sum(histogram.values)))
    return session.size


def ladder_of(
    session: Session, question: Question, *, chosen: int | None = None, counts: Sequence[float] | None = None
) -> Ladder:
    """Return the steps of a question; none chosen: the cheapest useful one, or else the most that can be paid.

    Args:
        session: Whose terms and budget hold; its table is not read.
        question: What is asked.
        chosen: The place of the step that was chosen.
        counts: Noisy rows of every group that were paid for before.

    Raises:
        QuestionError: The question does not fit.
    """
    facts = Facts.of(question, session.table.schema)
    delta, size = delta_of(session, facts, None), size_of(session, question)
    total, left = session.quote().bar.total, session.remaining.epsilon
    steps = tuple(
        Step(
            place=place,
            epsilon=epsilon,
            total=total,
            outlook=outlook_of(facts.at(Fraction(str(epsilon)), delta), size, counts),
            affordable=epsilon <= left + 1e-12,
        )
        for place, epsilon in enumerate(epsilons(session.cap, total))
    )
    ladder = Ladder(steps, 0)
    if chosen is not None:
        return Ladder(steps, min(max(chosen, 0), len(steps) - 1))
    best = ladder.best
    if best is not None:
        return Ladder(steps, best.place)
    paid = [step.place for step in steps if step.affordable] or [0]
    middle = len(steps) // 2 if steps[0].light == "unknown" else paid[-1]
    return Ladder(steps, min(middle, paid[-1]))


def step_at(session: Session, question: Question, price: Price, counts: Sequence[float] | None = None) -> Step:
    """Return what to expect at a price that was not set by the slider."""
    facts = Facts.of(question, session.table.schema)
    epsilon = price.cost.epsilon if price.cost.nano_epsilon is not None else price.epsilon
    # While the number of rows is not known, the price is the most that it can be, and so is the accuracy.
    size = None if price.at_most else size_of(session, question)
    purchase = facts.at(Fraction(str(epsilon)), delta_of(session, facts, None))
    return Step(
        place=0,
        epsilon=epsilon,
        total=price.bar.total,
        outlook=outlook_of(purchase, size, counts),
        affordable=price.affordable,
    )


def answered_before(project: Project, recipient: str, snapshot: str, facts: Facts) -> Analysis | None:
    """Return the most precise answer to this very question that the organisation has paid for; none without one."""
    mine = Analysis.objects.filter(
        project=project, recipient=recipient, snapshot=snapshot, scope=scope_of(facts.question), part=""
    ).order_by("-nano_epsilon")
    return next((item for item in mine[:_LOOKED_AT] if release_of(item).question == facts.canonical), None)


_LOOKED_AT = 20  # earlier answers that are read for one price


def counted_groups(project: Project, recipient: str, snapshot: str, question: Question, facts: Facts) -> list[float]:
    """Return the noisy rows of a question's groups, where the organisation has paid for them; empty where not."""
    if not facts.axes or facts.has_unknown_keys:
        wanted = [question]
    else:
        wanted = [question, Count(by=dict(facts.groups), where=question.conditions)]
    mine = Analysis.objects.filter(
        project=project, recipient=recipient, snapshot=snapshot, scope__in={scope_of(one) for one in wanted}
    ).order_by("-nano_epsilon")
    same = ("by", "where", "per_person", "after")
    for item in mine[:_LOOKED_AT]:
        release = release_of(item)
        if any(release.question.get(part) != facts.canonical.get(part) for part in same):
            continue
        numbers = release.noisy or release.values if release.is_count and release.unit == "rows" else release.sizes
        if numbers is None or len(numbers) % facts.cells:
            continue
        each = len(numbers) // facts.cells  # the quantiles of a group share its size
        found = [float(one) for one in numbers[::each]]
        if all(math.isfinite(one) for one in found):
            return found
    return []

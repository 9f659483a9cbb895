"""The rule that every leaf can be reached: some answers show it. A small search with backtracking."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from pydplib.capture.conditions import holds
from pydplib.capture.model import Condition, Item, Question, Template, Value
from pydplib.capture.problems import Problem, shorten
from pydplib.capture.structure import Index, Place

MOST_STEPS = 20_000
"""Beyond this the search gives up and says so; hand-written templates need some dozens."""


class _TooHard(Exception):
    """The search gave up."""


@dataclass
class _Search:
    """What is known about answers so far: conditions that one answer must meet, and questions left open."""

    index: Index
    must: dict[str, list[Condition]] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    steps: int = 0

    def show(self, goals: tuple[tuple[Place, Condition | None], ...]) -> bool:
        """Whether answers exist that meet all goals: an item shown (no condition), or a condition met."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _TooHard
        if not goals:
            return True
        (place, condition), rest = goals[0], goals[1:]
        if condition is not None:
            return self._meet(place, condition, rest)
        parents = tuple((self.index.by_id[parent.id], None) for parent in place.parents[-1:])
        own: tuple[Condition, ...] = place.item.enable_when
        if place.item.enable_behaviour == "any" and own:
            return any(self.show(((place, one), *parents, *rest)) for one in own)
        return self.show((*((place, one) for one in own), *parents, *rest))

    def _meet(self, asker: Place, condition: Condition, rest: tuple[tuple[Place, Condition | None], ...]) -> bool:
        """Try to meet a condition by leaving its question open, then by answering it."""
        target = self.index.by_id[condition.question]
        name = target.item.id
        # Several repetitions of another group can give different answers, so they do not bind each other.
        several = self.index.is_repeated_for(name, asker.loops)
        if holds(condition, ()) and (several or name not in self.must):
            new = name not in self.empty and not several
            if new:
                self.empty.add(name)
            found = self.show(rest)
            if new and not found:
                self.empty.discard(name)
            if found:
                return True
        if (condition.operator == "exists" and not condition.answer) or (name in self.empty and not several):
            return False
        if several:
            return can_meet(target.item, [condition]) and self.show(((target, None), *rest))
        first = name not in self.must
        self.must.setdefault(name, []).append(condition)
        goals = ((target, None), *rest) if first else rest
        if can_meet(target.item, self.must[name]) and self.show(goals):
            return True
        self.must[name].pop()
        if not self.must[name]:
            del self.must[name]
        return False


def lint_reach(template: Template) -> Iterator[Problem]:
    """Find the leaves that no answers can show."""
    for place, question in template.index.questions():
        search = _Search(template.index)
        name = shorten(question.id)
        try:
            if search.show(((place, None),)):
                continue
        except _TooHard:
            yield Problem(
                "reach",
                question.id,
                f"Item '{name}' has conditions too entangled to prove that it can be shown. Simplify them.",
                severity="warning",
            )
            continue
        around: tuple[Item, ...] = (*place.parents, question)
        conditions = [c for item in around for c in item.enable_when]
        words = ", ".join(f"'{shorten(c.question)}' {c.operator} {shorten(c.answer, 20)}" for c in conditions[:4])
        yield Problem(
            "reach",
            question.id,
            f"Item '{name}' can never be shown: no answers meet its conditions ({words}) together. "
            "Loosen or remove one of them.",
        )


def can_meet(item: Item, conditions: list[Condition]) -> bool:
    """Whether one possible answer of a question meets all conditions.

    Examples:
        >>> age = Question(id="age", kind="integer", low=18, high=100)
        >>> can_meet(age, [Condition("age", ">", 60), Condition("age", "<", 62)])
        True
        >>> can_meet(age, [Condition("age", ">", 100)])
        False
    """
    if not isinstance(item, Question):
        return False
    return any(all(holds(condition, (value,)) for condition in conditions) for value in _candidates(item, conditions))


def _candidates(question: Question, conditions: list[Condition]) -> Iterator[Value]:
    """Go through answers, one from each stretch between the values that the conditions mention."""
    if question.kind == "choice":
        yield from (option.value for option in question.options)
        return
    if question.kind == "boolean":
        yield from (True, False)
        return
    known = [c.answer for c in conditions if c.operator != "exists"]
    if question.kind == "text":
        texts = {str(value) for value in known}
        yield from texts
        yield "x" + "".join(texts)  # longer than each of them, so different
        return
    low, high = question.low, question.high
    if question.kind == "date":
        days = [dt.date.fromisoformat(str(value)) for value in [*known, *(b for b in (low, high) if b is not None)]]
        near = {day.toordinal() + step for day in days or [dt.date(2000, 1, 1)] for step in (-1, 0, 1)}
        found: list[Value] = [dt.date.fromordinal(min(max(n, 1), dt.date.max.toordinal())).isoformat() for n in near]
    else:
        points = sorted({float(v) for v in [0, *known, *(b for b in (low, high) if b is not None)]})
        middles = [(a + b) / 2 for a, b in pairwise(points)]
        steps = [point + step for point in points for step in (-1, 0, 1)]
        whole = question.kind == "integer"
        found = [int(x) if whole else x for x in [*steps, *([] if whole else middles)]]
    for value in found:
        inside = (low is None or value >= low) and (high is None or value <= high)  # type: ignore[operator]
        if inside:
            yield value

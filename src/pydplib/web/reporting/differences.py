"""How two sets of answers differ, question by question, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydplib.capture import Group, Question, Template, evaluate, show_value
from pydplib.capture.model import Item

MISSING = "–"
"""What stands where there is no answer."""


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """One answer that differs.

    Args:
        place: Which question, with the number of the repetition: ``"Lesion 2, Size"``.
        old: The one answer in words.
        new: The other answer in words.
    """

    place: str
    old: str
    new: str


def singular(group: Group) -> str:
    """Return what one repetition is called.

    Examples:
        >>> singular(Group(id="lesion", title="Lesions", repeats=True))
        'Lesion'
    """
    title = group.text
    return title[:-1] if title.lower() == f"{group.id.lower()}s" else title


def answers_in_words(template: Template, answers: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield each answer of a report: the place of its question, and the answer as people read it.

    Examples:
        >>> from pydplib.capture import builtin
        >>> list(answers_in_words(builtin("pirads-2.1"), {"age": 64, "lesion": [{"size": 9}]}))
        [('Age', '64 years'), ('Lesion 1, Size', '9 mm')]
    """
    yield from _walk(template.items, answers, "")


def _walk(items: tuple[Item, ...], answers: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for item in items:
        if isinstance(item, Group):
            if item.repeats:
                for number, repetition in enumerate(answers.get(item.id) or [], start=1):
                    yield from _walk(item.items, repetition, f"{prefix}{singular(item)} {number}, ")
            else:
                yield from _walk(item.items, answers, prefix)
        elif answers.get(item.id) is not None:
            yield prefix + item.text, answer_in_words(item, answers[item.id])


def answer_in_words(question: Question, value: Any) -> str:
    """Return one answer with its unit."""
    shown = show_value(question, value)
    return f"{shown} {question.unit}" if question.unit else shown


def differences(template: Template, old: Mapping[str, object], new: Mapping[str, object]) -> list[AnswerDifference]:
    """Return what differs between two sets of answers, computed fields included.

    Examples:
        >>> from pydplib.capture import builtin
        >>> differences(builtin("pirads-2.1"), {"age": 64}, {"age": 65})
        [AnswerDifference(place='Age', old='64 years', new='65 years')]
    """
    before = _table(template, old)
    after = _table(template, new)
    places = list(after) + [place for place in before if place not in after]
    return [
        AnswerDifference(place, before.get(place, MISSING), after.get(place, MISSING))
        for place in places
        if before.get(place) != after.get(place)
    ]


def _table(template: Template, answers: Mapping[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, shown in answers_in_words(template, evaluate(template, answers, purpose="draft").answers):
        name, count = place, 2
        while name in found:  # two questions with the same title
            name, count = f"{place} ({count})", count + 1
        found[name] = shown
    return found

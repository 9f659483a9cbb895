"""The enableWhen of a foreign questionnaire: translated where it fits, noted where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydplib.capture.conditions import OPERATORS_OF_KIND
from pydplib.capture.fhir._read import Notes, text_of, value_of
from pydplib.capture.model import OPERATORS, Behaviour, Condition, Group, Item, Option, Question
from pydplib.capture.problems import shorten
from pydplib.capture.values import Unreadable, read_value


@dataclass(frozen=True, slots=True)
class Pending:
    """The conditions of an item as they came, to be translated once all questions are known."""

    conditions: tuple[Any, ...]
    behaviour: Any


def attach_conditions(
    items: tuple[Item, ...], pending: Mapping[str, Pending], known: Mapping[str, str], notes: Notes
) -> tuple[Item, ...]:
    """Give each item its conditions.

    Args:
        items: The tree without conditions (but those that the import made itself).
        pending: Id -> conditions as they came.
        known: Foreign linkId -> id of the item that it became.
        notes: Where to write what does not fit.
    """
    return _Attach(pending, known, notes).walk(items)


class _Attach:
    """One pass in the order of the form, so that only earlier questions can be referred to."""

    def __init__(self, pending: Mapping[str, Pending], known: Mapping[str, str], notes: Notes) -> None:
        self.pending = pending
        self.known = known
        self.notes = notes
        self.asked: dict[str, Question] = {}

    def walk(self, items: tuple[Item, ...], *, loose: bool = False) -> tuple[Item, ...]:
        """Walk the tree; ``loose`` inside of what is shown more often than it was meant to be."""
        result: list[Item] = []
        for item in items:
            changes: dict[str, Any] = {}
            too_often = loose
            if item.id in self.pending:
                conditions, behaviour = self.translate(item.id)
                changes = {"enable_when": conditions, "enable_behaviour": behaviour}
                too_often |= len(conditions) < len(self.pending[item.id].conditions) and behaviour != "any"
            if isinstance(item, Group):
                if too_often and item.min_repeats:
                    self.notes.adapted(item.id, "required", "not required here, since a condition did not come over")
                    changes["min_repeats"] = 0
                result.append(replace(item, items=self.walk(item.items, loose=too_often), **changes))
                continue
            if too_often and item.required:
                self.notes.adapted(item.id, "required", "not required here, since a condition did not come over")
                changes["required"] = False
            question = replace(item, **changes)
            self.asked[question.id] = question
            result.append(question)
        return tuple(result)

    def translate(self, item: str) -> tuple[tuple[Condition, ...], Behaviour]:
        raw = self.pending[item]
        conditions = []
        for entry in raw.conditions:
            condition = self.condition(item, entry) if isinstance(entry, Mapping) else None
            if condition is not None:
                conditions.append(condition)
        behaviour: Behaviour = raw.behaviour if raw.behaviour in ("all", "any") else ""
        if len(conditions) > 1 and not behaviour:
            self.notes.adapted(item, "enableBehavior", "it does not say all or any; all must hold here")
            behaviour = "all"
        if raw.conditions and not conditions:
            self.notes.left_out(item, "enableWhen", "no condition came over, so the item is always shown")
            behaviour = ""
        return tuple(conditions), behaviour

    def condition(self, item: str, entry: Mapping[str, Any]) -> Condition | None:
        link = text_of(entry.get("question"))
        name = f"enableWhen on '{shorten(link)}'"
        operator = entry.get("operator")
        for key in entry:
            if key not in ("question", "operator", "id") and not key.startswith("answer"):
                self.notes.left_out(item, f"{name}, {key}", "not known here")
        target = self.asked.get(self.known.get(link, ""))
        if target is None:
            where = "comes later or is itself below" if link in self.known else "is not in the template"
            self.notes.left_out(item, name, f"the question {where}; conditions look back only")
            return None
        if operator not in OPERATORS or operator not in OPERATORS_OF_KIND[target.kind]:
            self.notes.left_out(item, name, f"the operator does not fit a {target.kind}")
            return None
        kind, answer = value_of(entry, "answer")
        if operator == "exists":
            if isinstance(answer, bool):
                return Condition(target.id, "exists", answer)
            self.notes.left_out(item, name, "'exists' is compared with true or false")
            return None
        value = self.answer(item, name, target, kind, answer)
        return None if value is None else Condition(target.id, operator, value)

    def answer(self, item: str, name: str, target: Question, kind: str, answer: Any) -> Any:
        """Translate the answer that a condition compares with."""
        if target.kind == "choice":
            option = find_by_coding(target, answer) if isinstance(answer, Mapping) else None
            if option is None and isinstance(answer, str | int) and not isinstance(answer, bool):
                option = next((o for o in target.options if str(o.value) == str(answer)), None)
                if option is not None and kind in ("String", "Integer") and isinstance(option.value, str):
                    self.notes.adapted(item, name, "compared with a plain value; it is the option of that code")
            if option is None:
                self.notes.left_out(item, name, "it is compared with something that is not one of the options")
                return None
            return option.value
        if kind == "Quantity" and isinstance(answer, Mapping):
            unit = answer.get("code") or answer.get("unit")
            if unit and target.unit and unit != target.unit:
                self.notes.left_out(item, name, "it is compared in another unit")
                return None
            answer = answer.get("value")
        if kind == "DateTime" and isinstance(answer, str) and target.kind == "date":
            self.notes.adapted(item, name, "the time of day does not count")
            answer = answer[:10]
        try:
            value = read_value(target, answer) if isinstance(answer, str | int | float) else None
        except Unreadable:
            value = None
        if value is None:
            self.notes.left_out(item, name, f"it is compared with a value that this {target.kind} cannot have")
        return value


def find_by_coding(question: Question, coding: Mapping[str, Any]) -> Option | None:
    """Return the option that a Coding stands for: same system and code, or same code where one has no system."""
    system, code = text_of(coding.get("system")).strip(), text_of(coding.get("code")).strip()
    if not code:
        display = text_of(coding.get("display")).strip()
        return next((option for option in question.options if display and option.text == display), None)
    for option in question.options:
        if (option.code or str(option.value)) == code and option.system == system:
            return option
    loose = [
        option
        for option in question.options
        if (option.code or str(option.value)) == code and (not system or not option.system)
    ]
    return loose[0] if len(loose) == 1 else None

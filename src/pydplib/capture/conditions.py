"""When a condition holds: the one place where ``enableWhen`` is decided, as FHIR defines it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydplib.capture.model import Behaviour, Condition, Operator, Value

OPERATORS_OF_KIND: Mapping[str, tuple[Operator, ...]] = MappingProxyType(
    {
        "choice": ("exists", "=", "!="),
        "boolean": ("exists", "=", "!="),
        "text": ("exists", "=", "!="),
        "integer": ("exists", "=", "!=", ">", "<", ">=", "<="),
        "decimal": ("exists", "=", "!=", ">", "<", ">=", "<="),
        "date": ("exists", "=", "!=", ">", "<", ">=", "<="),
    }
)
"""Which operators fit which kind of question."""

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"=": operator.eq, ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
)


def holds(condition: Condition, answers: Sequence[Value]) -> bool:
    """Whether a condition holds for the answers of its question (none, one, or one per repetition).

    ``exists`` asks whether there is an answer; ``!=`` holds if no answer is equal, so also if there
    is none; every other operator holds if at least one answer fits.

    Examples:
        >>> holds(Condition("size", ">=", 15), [12, 16]), holds(Condition("zone", "!=", "PZ"), [])
        (True, True)
    """
    if condition.operator == "exists":
        return bool(answers) == bool(condition.answer)
    if condition.operator == "!=":
        return condition.answer not in answers
    compare = _COMPARE[condition.operator]
    if len(answers) == 1:
        return compare(answers[0], condition.answer)
    return any(compare(answer, condition.answer) for answer in answers)


def join(behaviour: Behaviour, results: Sequence[bool]) -> bool:
    """Join the conditions of an item: all by default, any where it says so; none at all means shown.

    Examples:
        >>> join("any", [False, True]), join("all", [False, True]), join("", [])
        (True, False, True)
    """
    if not results:
        return True
    return any(results) if behaviour == "any" else all(results)

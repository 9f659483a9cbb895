"""The closed set of checks that look for contradictions in a report and answer with a warning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from pydplib.capture import pirads
from pydplib.capture.functions import EXTENSIONS, NUMBERS, SCORES, Parameter
from pydplib.capture.model import Value

_CHOICE = frozenset({"choice", "integer choice"})
Found: TypeAlias = tuple[int, str]
"""A warning, and at which of the items that the check reads it stands."""


@dataclass(frozen=True, slots=True)
class CheckFunction:
    """A named check: what it reads, and in one line what it warns of."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    call: Callable[..., Sequence[Found]]


def _scores(t2w: str, dwi: str, size: float | None, extension: str | None) -> Sequence[Found]:
    alone = ((t2w, "X"), ("X", dwi))
    return [
        (place, warning)
        for place, (first, second) in enumerate(alone)
        for warning in pirads.contradictions(t2w=first, dwi=second, size=size, extension=extension)
    ]


def _sector(sector: str, zone: str) -> Sequence[Found]:
    warning = pirads.sector_contradiction(sector=sector, zone=zone)
    return () if warning is None else ((0, warning),)


def _days(first: str, second: str) -> Sequence[Found]:
    return () if first <= second else ((0, "The second day is before the first."),)


def _numbers(first: float, second: float) -> Sequence[Found]:
    return () if first <= second else ((0, "The second number is smaller than the first."),)


_ALL = (
    CheckFunction(
        "pirads_scores",
        "A score of 4 or 5 contradicts the lesion's size or extension.",
        (
            Parameter("t2w", _CHOICE, values=frozenset(SCORES)),
            Parameter("dwi", _CHOICE, values=frozenset(SCORES)),
            Parameter("size", NUMBERS, optional=True),
            Parameter("extension", frozenset({"choice"}), optional=True, values=frozenset(EXTENSIONS)),
        ),
        _scores,
    ),
    CheckFunction(
        "pirads_sector",
        "The zone is not the one that the sector lies in.",
        (
            Parameter("sector", frozenset({"choice"}), values=frozenset(pirads.SECTORS)),
            Parameter("zone", frozenset({"choice"}), values=frozenset(pirads.ZONES)),
        ),
        _sector,
    ),
    CheckFunction(
        "days_in_order",
        "The second day is before the first.",
        (Parameter("first", frozenset({"date"})), Parameter("second", frozenset({"date"}))),
        _days,
    ),
    CheckFunction(
        "numbers_in_order",
        "The second number is smaller than the first.",
        (Parameter("first", NUMBERS), Parameter("second", NUMBERS)),
        _numbers,
    ),
)

CHECKS: Mapping[str, CheckFunction] = MappingProxyType({check.name: check for check in _ALL})
"""Every check that a template may name."""


def run_check(check: CheckFunction, inputs: Sequence[Sequence[Value]]) -> Sequence[Found]:
    """Return the warnings of a check and where they stand; none while an answer that it needs is missing.

    Examples:
        >>> run_check(CHECKS["pirads_sector"], [["mid-TZa-L"], ["TZ"]])
        ()
    """
    arguments: list[Value | None] = []
    padded = [*inputs, *([()] * (len(check.parameters) - len(inputs)))]
    for parameter, values in zip(check.parameters, padded, strict=False):
        if not values and not parameter.optional:
            return ()
        arguments.append(values[0] if values else None)
    return tuple(check.call(*arguments))

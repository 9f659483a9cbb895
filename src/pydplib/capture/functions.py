"""The closed set of functions: computed fields are worked out by them, and checks look for contradictions. No eval."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from pydplib.capture import pirads
from pydplib.capture.model import Value

NUMBERS = frozenset({"integer", "decimal", "integer choice"})
"""Kinds that a number can be read from, and written to; a choice counts if its options are whole numbers."""

SCORES = ("1", "2", "3", "4", "5", "X")
EXTENSIONS = ("none", "possible", "definite")
"""What PI-RADS functions and checks understand as a score of a sequence, and as extension beyond the prostate."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One input of a function: which kinds it takes, and whether it may be missing.

    Attributes:
        name: What it stands for, for error messages and the documentation.
        kinds: Kinds of question it can read; ``group`` stands for a repeating group, counted.
        optional: Whether the function is still worked out without it.
        values: The only option values it understands; empty for any.
        many: Whether it takes all answers of all repetitions, and may be given several times.
    """

    name: str
    kinds: frozenset[str]
    _: KW_ONLY
    optional: bool = False
    values: frozenset[str] = frozenset()
    many: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A named function: its inputs, what it gives, and in one line what it does."""

    name: str
    summary: str
    _: KW_ONLY
    parameters: tuple[Parameter, ...]
    result: frozenset[str]
    call: Callable[..., Any]

    @property
    def takes_many(self) -> bool:
        """Whether it reads any number of inputs into one list."""
        return len(self.parameters) == 1 and self.parameters[0].many


def _years_between(first: str, second: str) -> int | None:
    start, end = dt.date.fromisoformat(first), dt.date.fromisoformat(second)
    years = end.year - start.year - ((end.month, end.day) < (start.month, start.day))
    return years if years >= 0 else None


def _category(zone: str, t2w: str, dwi: str, dce: str, origin: str | None) -> int | None:
    scored = zone if zone in pirads.SCORED_ZONES else origin
    return None if scored is None else pirads.category(zone=scored, t2w=t2w, dwi=dwi, dce=dce)


def _significant(gleason: int | None, volumes: Sequence[float], extensions: Sequence[str]) -> bool | None:
    # A possible extension leaves the question open.
    extension = True if "definite" in extensions else None if not extensions or "possible" in extensions else False
    return pirads.clinically_significant(gleason=gleason, volume=max(volumes, default=None), extension=extension)


def _one(name: str, *kinds: str, optional: bool = False, values: Sequence[str] = ()) -> Parameter:
    return Parameter(name, frozenset(kinds), optional=optional, values=frozenset(values))


_ALL_NUMBERS = (Parameter("numbers", NUMBERS, many=True),)
_ALL_FLAGS = (Parameter("answers", frozenset({"boolean"}), many=True),)
_TWO_NUMBERS = (Parameter("first", NUMBERS), Parameter("second", NUMBERS))
_TWO_PATTERNS = (Parameter("primary", NUMBERS), Parameter("secondary", NUMBERS))
_DECIMAL = frozenset({"decimal"})
_FLAG = frozenset({"boolean"})

_ALL = (
    Function("sum", "Adds all answers.", parameters=_ALL_NUMBERS, result=NUMBERS, call=sum),
    Function(
        "mean",
        "Mean of all answers.",
        parameters=_ALL_NUMBERS,
        result=_DECIMAL,
        call=lambda values: math.fsum(values) / len(values),
    ),
    Function("minimum", "Smallest of all answers.", parameters=_ALL_NUMBERS, result=NUMBERS, call=min),
    Function("maximum", "Largest of all answers.", parameters=_ALL_NUMBERS, result=NUMBERS, call=max),
    Function(
        "difference",
        "First minus second.",
        parameters=_TWO_NUMBERS,
        result=NUMBERS,
        call=lambda first, second: first - second,
    ),
    Function(
        "product",
        "First times second.",
        parameters=_TWO_NUMBERS,
        result=NUMBERS,
        call=lambda first, second: first * second,
    ),
    Function(
        "ratio",
        "First divided by second; nothing if the second is 0.",
        parameters=_TWO_NUMBERS,
        result=_DECIMAL,
        call=lambda first, second: first / second if second else None,
    ),
    Function(
        "count",
        "Number of repetitions of a group.",
        parameters=(_one("group", "group"),),
        result=NUMBERS,
        call=lambda group: group,
    ),
    Function("any_yes", "Yes if one of the answers is yes.", parameters=_ALL_FLAGS, result=_FLAG, call=any),
    Function("all_yes", "Yes if all answers are yes.", parameters=_ALL_FLAGS, result=_FLAG, call=all),
    Function(
        "year_of",
        "The year of a day.",
        parameters=(_one("day", "date"),),
        result=NUMBERS,
        call=lambda day: int(day[:4]),
    ),
    Function(
        "years_between",
        "Full years from the first day to the second; nothing if the second is earlier.",
        parameters=(_one("first", "date"), _one("second", "date")),
        result=NUMBERS,
        call=_years_between,
    ),
    Function(
        "pirads_category",
        "PI-RADS 2.1 category of a lesion.",
        parameters=(
            _one("zone", "choice", values=tuple(pirads.ZONES)),
            _one("t2w", "choice", "integer choice", values=SCORES),
            _one("dwi", "choice", "integer choice", values=SCORES),
            _one("dce", "choice", values=pirads.DCE),
            _one("origin", "choice", optional=True, values=pirads.SCORED_ZONES),
        ),
        result=NUMBERS,
        call=_category,
    ),
    Function(
        "pirads_overall",
        "The highest category of all lesions.",
        parameters=(Parameter("categories", frozenset({"integer", "integer choice"}), many=True),),
        result=NUMBERS,
        call=pirads.patient_category,
    ),
    Function(
        "pirads_staging_only",
        "Yes if neither diffusion nor contrast can be judged, so that there is no category.",
        parameters=(
            _one("dwi", "choice", "integer choice", values=SCORES),
            _one("dce", "choice", values=pirads.DCE),
        ),
        result=_FLAG,
        call=lambda dwi, dce: dwi == "X" and dce == "X",
    ),
    Function(
        "psa_density",
        "PSA divided by the prostate's volume.",
        parameters=(Parameter("psa", NUMBERS), Parameter("volume", NUMBERS)),
        result=_DECIMAL,
        call=lambda psa, volume: pirads.psa_density(psa=psa, volume=volume),
    ),
    Function(
        "gleason_score",
        "Sum of the two Gleason patterns; nothing until both are known.",
        parameters=_TWO_PATTERNS,
        result=NUMBERS,
        call=lambda primary, secondary: primary + secondary,
    ),
    Function(
        "isup_grade",
        "ISUP grade group of two Gleason patterns.",
        parameters=_TWO_PATTERNS,
        result=NUMBERS,
        call=pirads.isup_grade,
    ),
    Function(
        "clinically_significant",
        "Gleason score >= 7, or a volume >= 0.5 ml, or definite extension; nothing while it is open.",
        parameters=(
            Parameter("gleason", NUMBERS, optional=True),
            Parameter("volumes", NUMBERS, optional=True, many=True),
            Parameter("extensions", frozenset({"choice"}), optional=True, values=frozenset(EXTENSIONS), many=True),
        ),
        result=_FLAG,
        call=_significant,
    ),
)

FUNCTIONS: Mapping[str, Function] = MappingProxyType({function.name: function for function in _ALL})
"""Every function that a template may name."""


def compute(function: Function, inputs: Sequence[Sequence[Value]]) -> Value | None:
    """Work out a function from the answers of its inputs; None where one that it needs is missing.

    Args:
        function: One of ``FUNCTIONS``.
        inputs: For each input the answers found: none, one, or one per repetition.

    Examples:
        >>> compute(FUNCTIONS["maximum"], [[7, 12]])
        12
        >>> compute(FUNCTIONS["ratio"], [[6.0], []]) is None
        True
    """
    arguments: list[Any] = []
    if function.takes_many:
        pooled = [value for values in inputs for value in values]
        if not pooled:
            return None
        arguments.append(pooled)
    else:
        padded = [*inputs, *([()] * (len(function.parameters) - len(inputs)))]
        for parameter, values in zip(function.parameters, padded, strict=False):
            if parameter.many:
                arguments.append(list(values))
            elif values:
                arguments.append(values[0])
            elif parameter.optional:
                arguments.append(None)
            else:
                return None
    try:
        result = function.call(*arguments)
    except (ArithmeticError, ValueError):  # beyond what numbers hold, or outside the function's domain
        return None
    if isinstance(result, float) and not math.isfinite(result):
        return None
    return result  # type: ignore[no-any-return]


_CHOICE = frozenset({"choice", "integer choice"})
Found: TypeAlias = tuple[int, str]
"""A warning, and at which of the items that the check reads it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFunction:
    """A named check: what it reads, and in one line what it warns of.

    Where the other answers say what the last one most likely is, ``proposes`` works that out: forms fill in gaps by it.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    call: Callable[..., Sequence[Found]]
    proposes: Callable[..., Value | None] | None = None


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


_ALL_CHECKS = (
    CheckFunction(
        name="pirads_scores",
        summary="A score of 4 or 5 contradicts the lesion's size or extension.",
        parameters=(
            Parameter("t2w", _CHOICE, values=frozenset(SCORES)),
            Parameter("dwi", _CHOICE, values=frozenset(SCORES)),
            Parameter("size", NUMBERS, optional=True),
            Parameter("extension", frozenset({"choice"}), optional=True, values=frozenset(EXTENSIONS)),
        ),
        call=_scores,
    ),
    CheckFunction(
        name="pirads_sector",
        summary="The zone is not the one that the sector lies in.",
        parameters=(
            Parameter("sector", frozenset({"choice"}), values=frozenset(pirads.SECTORS)),
            Parameter("zone", frozenset({"choice"}), values=frozenset(pirads.ZONES)),
        ),
        call=_sector,
        proposes=pirads.sector_zone,
    ),
    CheckFunction(
        name="days_in_order",
        summary="The second day is before the first.",
        parameters=(Parameter("first", frozenset({"date"})), Parameter("second", frozenset({"date"}))),
        call=_days,
    ),
    CheckFunction(
        name="numbers_in_order",
        summary="The second number is smaller than the first.",
        parameters=(Parameter("first", NUMBERS), Parameter("second", NUMBERS)),
        call=_numbers,
    ),
)

CHECKS: Mapping[str, CheckFunction] = MappingProxyType({check.name: check for check in _ALL_CHECKS})
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

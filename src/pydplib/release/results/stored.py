"""What a stored release must be: plain, whole, and of one mind about what it cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from pydplib.budget.costs import Cost
from pydplib.guarantee import ApproxDP, Guarantee, zcdp_epsilon
from pydplib.release.results.words import words_of
from pydplib.release.statistics.noise import MarginUnit, check_confidence

if TYPE_CHECKING:
    from pydplib.release.results.release import Release

_NUMBERS = ("scale", "sensitivity", "simultaneous", "expected_noise")
_ROWS = ("values", "low", "high", "margins", "sizes", "doubtful", "noisy")
_TEXTS = ("mechanism", "unit", "margin_unit", "key", "counted")


def check_stored(release: Release) -> None:
    """Raise ``ValueError`` unless every part of a release read from outside is what its readers rely on.

    A release that says one epsilon in its guarantee and another in its cost is nobody's release.

    Examples:
        >>> import pydplib as dp
        >>> check_stored(dp.count([1, 2, 3], epsilon=1.0))
    """
    for name in _NUMBERS:
        number = getattr(release, name)
        _demand(number is None or _is_number(number))
    for name in _TEXTS:
        text = getattr(release, name)
        _demand(text is None or isinstance(text, str))
    _demand(release.margin_unit in get_args(MarginUnit))
    check_confidence(release.confidence)
    _check_choices(release)
    _demand(all(isinstance(note, str) for note in release.notes))
    for name in _ROWS:
        numbers = getattr(release, name)
        _demand(numbers is None or all(_is_number(number) for number in numbers))
    for name in ("population_low", "population_high", "bounds", "counts"):
        ends = getattr(release, name)
        _demand(ends is None or all(end is None or _is_number(end) for end in ends))
    _demand(isinstance(release.persons, bool))
    _demand(release.doubtful is None or set(release.doubtful) <= {0, 1})
    _check_question(release.question)
    for axis in release.axes:
        _demand(all(isinstance(word, str) for word in (axis.name, axis.title, axis.unit)))
        _demand(all(_is_key(key, bins=axis.kind == "bins") for key in axis.keys))
    _check_cost(release)


def _check_choices(release: Release) -> None:
    """Demand that every value of a mode is the place of a key."""
    if release.choices is None:
        return
    keys, kind = release.choices.keys, release.choices.kind
    _demand(all(_is_key(key, bins=kind == "bins") for key in keys))
    _demand(all(isinstance(place, int) and 0 <= place < len(keys) for place in release.values))


def _check_cost(release: Release) -> None:
    _demand(costs_as_said(release.guarantee, release.cost))


def costs_as_said(guarantee: Guarantee, cost: Cost) -> bool:
    """Tell whether a cost is that of a guarantee: the same epsilon and delta, or a rho that gives them.

    The ledger rounds costs up to whole nano-units (delta: atto-units), never further.
    """
    if getattr(guarantee, "relation", None) != cost.relation:
        return False
    if isinstance(guarantee, ApproxDP) and cost.nano_epsilon is None and cost.nano_rho is not None:
        return zcdp_epsilon(cost.rho, guarantee.delta) <= guarantee.epsilon + 1e-6
    epsilon, delta = float(getattr(guarantee, "epsilon", math.nan)), float(getattr(guarantee, "delta", 0.0))
    return abs(epsilon - cost.epsilon) <= 2e-9 and abs(delta - cost.delta) <= 2e-18 + 1e-9 * cost.delta


def _check_question(question: Any) -> None:
    _demand(isinstance(question, Mapping))
    for part in ("by", "where", "after"):
        entries = question.get(part, ())
        _demand(isinstance(entries, list | tuple))
        columns = [one for entry in entries for one in _parts_of(entry, part)]
        _demand(all(isinstance(entry, Mapping) and isinstance(entry.get("column"), str) for entry in columns))
    words_of(question)  # what readers are shown; raises where a condition is none


def _parts_of(entry: Any, part: str) -> Any:
    """Return the conditions that "or" joins; any other entry as it is."""
    if part == "by" or not isinstance(entry, Mapping) or "any_of" not in entry:
        return (entry,)
    _demand(isinstance(entry["any_of"], list | tuple))
    return entry["any_of"]


def _is_key(key: Any, *, bins: bool) -> bool:
    if bins and key is not None:
        return isinstance(key, tuple) and len(key) == 2 and all(_is_key(end, bins=False) for end in key)
    return key is None or isinstance(key, str | bool) or _is_number(key)


def _is_number(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)


def _demand(holds: bool) -> None:
    if not holds:
        raise ValueError

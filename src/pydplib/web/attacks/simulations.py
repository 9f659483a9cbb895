"""Attacks on statistics: what repeats, differences and many shares together tell, at the loss that was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.attack import AttackResult, ExactAnswers, SoundMode, Target, averaging, differencing, membership
from pydplib.plot.attacks import EXACT_ANSWERS
from pydplib.web.attacks.recipients import Given

SEED = 20_260_101
_KEPT = ("calls", "success_by_calls", "different_answers", "most_success", "difference_recovered", "attributes")
"""Details of a result that are stored: numbers about the attack, none about the data."""

Tell = Callable[[int, str], None]


def targets_for(given: Given, per_question: float | None) -> list[Target]:
    """Return who is attacked: answers with what was spent, and exact ones, to see what the noise is good for."""
    found: list[Target] = []
    if given.epsilon > 0:
        each = min(per_question or given.epsilon, given.epsilon)
        found.append(SoundMode(each, budget=given.epsilon))
    return [*found, ExactAnswers()]


def words_of(target: Target) -> str:
    """Return what is attacked, for readers."""
    return EXACT_ANSWERS if target.epsilon is None else f"statistics with noise, ε {target.epsilon:.4g}"


def simulate(
    people: NDArray[np.bool_], given: Given, per_question: float | None, *, late: Callable[[], bool], tell: Tell
) -> tuple[list[AttackResult], list[str]]:
    """Run the attacks on statistics; returns what was found, and what there was no time for.

    Args:
        people: People x yes/no attributes.
        given: What was given, or could be.
        per_question: The most that one question may cost.
        late: Says whether the time is over.
        tell: Called with percent and the name of the attack.
    """
    column = _most_even(people)
    first = int(np.argmax(column))  # somebody for whom it is true: there is something to learn
    plans: list[tuple[str, Target, Callable[[Target], AttackResult]]] = []
    for target in targets_for(given, per_question):
        plans += [
            ("differencing", target, lambda t: differencing(t, column, person=first, draws=2_000, seed=SEED)),
            ("averaging", target, lambda t: averaging(t, column, calls=(1, 10, 100), tolerance=0.0, seed=SEED)),
            ("membership", target, lambda t: membership(t, people, rounds=10, seed=SEED)),
        ]
    found, missed = [], []
    for place, (name, target, attack) in enumerate(plans):
        if late():
            missed.append(f"{name} on {words_of(target)}")
            continue
        tell(round(100 * place / len(plans)), f"{name} on {words_of(target)}")
        found.append(replace(attack(target), target=words_of(target)))
    return found, missed


def _most_even(people: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the attribute that is hardest to guess: the one that about half of the people have."""
    shares = people.mean(axis=0)
    return people[:, int(np.argmin(np.abs(shares - 0.5)))].astype(np.float64)


def to_numbers(result: AttackResult) -> dict[str, object]:
    """Return a result as it is stored: shares, words, and a few details; no cell and no value of a field."""
    values = result.to_dict()
    values["details"] = {name: values["details"][name] for name in _KEPT if name in values["details"]}
    return values


def to_result(values: dict[str, Any]) -> AttackResult:
    """Read a stored result."""
    names = ("name", "target", "success", "baseline", "exposed", "tries", "sentence", "details")
    return AttackResult(**{name: values[name] for name in names}, interval=tuple(values["interval"]))

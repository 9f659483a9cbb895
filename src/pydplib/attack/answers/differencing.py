"""Differencing: the same statistic with and without one person, and what the difference tells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from pydplib.attack._arguments import as_column, at_least, person_index
from pydplib.attack.answers.games import play
from pydplib.attack.answers.targets import Floats, Generator, Target
from pydplib.attack.bounds import js_divergence, most_success
from pydplib.attack.result import AttackResult


def differencing(
    target: Target,
    values: ArrayLike,
    *,
    person: int = 0,
    draws: int = 5_000,
    tolerance: float = 0.5,
    bins: int = 50,
    seed: int | None = None,
) -> AttackResult:
    """Compare a mean with and without one person, and say how much that gives away about this person.

    In plain words: a clinic publishes the mean of a ward today, and again after one patient has left. Whoever
    sees one of the two means tries to tell which it is. Whoever sees both subtracts, and has the patient's
    value. The first is played as a game over ``draws`` releases of each; how often the second comes within
    ``tolerance`` of the person's value is in ``details["difference_recovered"]``.

    ``details`` also has the Jensen-Shannon divergence of the two distributions (the second paper's Fig. 3). It
    is an average and does not see rare outputs that give a person away for certain. Nor does it rank methods by what
    they guarantee: at a thousand records, ``SoundMode(1)`` (which pays for a noisy number of records as well) has a
    larger divergence than naive uniform noise, whose bounded support excludes a data set for certain.

    Args:
        target: Who answers, e.g. ``ExactAnswers()`` or ``SoundMode(1.0, bounds=(5, 45))``.
        values: The private column.
        person: Whose record is removed, by position.
        draws: Releases with the person, and as many without; half of them to learn, half to judge.
        tolerance: How near the difference of two sums must come to the person's value to count as recovered.
        bins: Bins of the divergence.
        seed: For a repeatable run.

    Examples:
        >>> from pydplib.attack import ExactAnswers, SoundMode, differencing
        >>> ages = [61.0, 67.0, 70.0, 52.0] * 25
        >>> differencing(ExactAnswers(), ages, draws=200).success
        1.0
        >>> differencing(SoundMode(0.1, bounds=(18, 100)), ages, draws=2000, seed=1).success < 0.6
        True
    """
    column = as_column(values, least=2)
    place = person_index(person, len(column))
    rng = np.random.default_rng(seed)
    without = np.delete(column, place)
    facing, facing_without = target.facing(column), target.facing(without)
    at_least("draws", draws, 4)
    first = facing.means(column, draws, rng, people=len(column))
    second = facing_without.means(without, draws, rng, people=len(column))
    played = play(first, second)
    bound = None if target.epsilon is None else most_success(target.epsilon)
    recovered = _recovered(facing, column, place, tolerance, rng)
    result = AttackResult.of_tries(
        "differencing",
        target=target.name,
        hits=played.hits,
        tries=played.tries,
        baseline=0.5,
        exposed=recovered,
        sentence="",
        details={
            "js_divergence": js_divergence(first, second, bins=bins),
            "difference_recovered": recovered,
            "moved_mean": abs(float(column.mean() - without.mean())),
            "most_success": bound,
            "printed_numbers_differ": facing != facing_without,
        },
    )
    return replace(result, sentence=_sentence(result, bound))


def _recovered(target: Target, column: Floats, place: int, tolerance: float, rng: Generator) -> float:
    """Return how often the difference of two sums, with and without the person, comes near the person's value."""
    both = np.ones((2, len(column)), dtype=np.bool_)
    both[1, place] = False
    games = 200
    near = 0
    for _ in range(games):
        everybody, others = target.sums(column, both, rng)
        near += bool(abs((everybody - others) - column[place]) <= tolerance)  # NaN: refused, never near
    return near / games


def _sentence(result: AttackResult, bound: float | None) -> str:
    share = f"{result.success:.0%}"
    if result.details["printed_numbers_differ"]:
        return (
            f"One answer tells in {share} of the cases whether the person is in; the epsilon printed next to it, "
            "computed from the data, tells it always."
        )
    if result.exposed >= 0.99:
        return f"Two answers, one subtraction: the person's value is known in {result.exposed:.0%} of the attacks."
    if result.beats_baseline and bound is None:
        return f"One answer tells in {share} of the cases whether the person is in; nothing bounds it."
    if bound is not None:
        return f"One answer tells in {share} of the cases whether the person is in; the guarantee allows {bound:.0%}."
    return "One answer does not tell whether the person is in."

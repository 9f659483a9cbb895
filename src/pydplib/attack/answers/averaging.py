"""Averaging: ask the same question again and again until the noise is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.attack._arguments import as_column, at_least
from pydplib.attack.answers.targets import Floats, Target
from pydplib.attack.result import AttackResult, percent, proven_advantage
from pydplib.errors import ParameterError

_CANDIDATES = 400


def averaging(
    target: Target,
    values: ArrayLike,
    *,
    calls: Sequence[int] = (1, 10, 100),
    tolerance: float | None = None,
    population: ArrayLike | None = None,
    seed: int | None = None,
) -> AttackResult:
    """Ask about every person again and again, and guess the value from all answers together.

    In plain words: noise that is drawn afresh at every call can be averaged away, as a blurred photograph
    becomes sharp when many of the same scene are laid over each other. The attacker here is as good as one
    can be: he knows the law of the noise and how the values are spread in the population, and names the
    value whose surroundings (plus and minus ``tolerance``) are most likely. Against answers that are
    given once and kept, a second call brings nothing.

    Args:
        target: Who answers.
        values: The private column.
        calls: Numbers of calls to try, ascending; success is that of the last.
        tolerance: How near a guess must come to count as right; by default 1, and 0 for columns of nothing but yes
            and no (1 and 0), where every guess comes within 1.
        population: What the attacker knows about values in general; by default the column's own spread.
        seed: For a repeatable run.

    Examples:
        >>> from pydplib.attack import PaperMode, SoundMode, averaging
        >>> ages = np.random.default_rng(2).normal(65, 8, 300)
        >>> averaging(PaperMode("low"), ages, seed=1).success > 0.95
        True
        >>> result = averaging(SoundMode(0.5, bounds=(18, 100)), ages, seed=1)
        >>> result.success < result.baseline + 0.1
        True
    """
    column = as_column(values)
    counts = [at_least("calls", count, 1) for count in calls]
    if tolerance is None:
        tolerance = 0.0 if bool(np.isin(column, (0.0, 1.0)).all()) else 1.0
    if not counts or sorted(set(counts)) != counts or not tolerance >= 0:
        raise ParameterError("calls are ascending whole numbers, and tolerance is at least 0.")
    rng = np.random.default_rng(seed)
    others = column if population is None else as_column(population)
    facing = target.facing(column)
    answers = facing.about_each(column, counts[-1], rng)
    return judge_answers(facing, answers, column, others, counts, tolerance)


def judge_answers(
    facing: Target, answers: Floats, column: Floats, others: Floats, counts: Sequence[int], tolerance: float
) -> AttackResult:
    """Return how many values are known from the first few of the answers (calls x people)."""
    candidates, prior, reach = _knowledge(others, tolerance)
    answers = facing.straighten(answers, float(others.mean()), float(others.std()))
    hits = []
    for count in counts:
        guess = _best_guess(facing.log_likelihood(answers[:count], candidates), candidates, prior, reach)
        hits.append(int(np.count_nonzero(np.abs(guess - column) <= tolerance + 1e-9)))
    baseline = float(np.mean(np.abs(_blind_guess(others, tolerance) - column) <= tolerance + 1e-9))
    result = AttackResult.of_tries(
        "averaging",
        target=facing.name,
        hits=hits[-1],
        tries=len(column),
        baseline=baseline,
        sentence="",
        details={
            "calls": list(counts),
            "success_by_calls": [hit / len(column) for hit in hits],
            "different_answers": int(min(len(answers), counts[-1])),
            "tolerance": tolerance,
        },
    )
    return replace(result, exposed=proven_advantage(result), sentence=_sentence(result, counts[-1], tolerance))


def _knowledge(population: Floats, tolerance: float) -> tuple[Floats, Floats, int]:
    """Return candidate values, their prior weights, and how many candidates lie within the tolerance."""
    values = np.unique(population)
    if len(values) <= 2:
        return values, np.array([np.mean(population == value) for value in values]), 0
    low, high = float(values[0]), float(values[-1])
    # The tolerance is a whole number of steps, so that the window around a guess is the whole tolerance.
    fine = max((high - low) / _CANDIDATES, 1e-12)
    steps = max(1, round(tolerance / fine)) if tolerance > 0 else 1
    step = tolerance / steps if tolerance > 0 else fine
    candidates = np.arange(low - tolerance, high + tolerance + step, step)
    seen = np.histogram(population, np.append(candidates - step / 2, candidates[-1] + step / 2))[0].astype(np.float64)
    # A little smoothing: what is known is the shape, not where single people stand.
    width = max(1, round(len(candidates) / 40))
    kernel = np.convolve(np.ones(width), np.ones(width))
    prior = np.convolve(seen, kernel / kernel.sum(), mode="same") + 1e-6
    return candidates, prior / prior.sum(), steps if tolerance > 0 else 0


def _blind_guess(population: Floats, tolerance: float) -> float:
    """Return the value around which most of the population lies: the best guess without any answer."""
    values = np.sort(population)
    held = np.searchsorted(values, values + 2 * tolerance + 1e-9, side="right") - np.arange(len(values))
    return float(values[int(held.argmax())]) + tolerance


def _best_guess(likelihood: Floats, candidates: Floats, prior: Floats, reach: int) -> NDArray[np.float64]:
    """Return, for each person, the candidate whose surroundings have the largest posterior weight."""
    weight = likelihood + np.log(prior)
    weight -= weight.max(axis=1, keepdims=True)
    np.exp(weight, out=weight)
    if not reach:
        return np.asarray(candidates[weight.argmax(axis=1)])
    upto = np.cumsum(np.pad(weight, ((0, 0), (reach + 1, reach))), axis=1)
    window = upto[:, 2 * reach + 1 :] - upto[:, : -2 * reach - 1]
    window += 1e-6 * weight  # of windows that hold the same, the one around the likeliest value
    return np.asarray(candidates[window.argmax(axis=1)])


def _sentence(result: AttackResult, calls: int, tolerance: float) -> str:
    near = f" within {tolerance:g}" if tolerance else ""
    times = "once" if calls == 1 else f"{calls} times"
    guessing = f"whoever never asks and names the commonest value is right for {percent(result.baseline)}"
    kept = result.details["different_answers"] < calls
    if kept and not result.success > result.baseline + 0.1:
        return (
            f"Asked {times} about each person, it gives the same answer again: no more is known than after the first. "
            f"The value of {percent(result.success)} of the people is named right{near}; {guessing}."
        )
    if result.beats_baseline:
        return (
            f"Asked {times} about each person, it tells the value of {percent(result.success)} of the "
            f"people{near}; {guessing}."
        )
    return (
        f"Asked {times} about each person, it tells no more than guessing does: the value of "
        f"{percent(result.success)} of the people is named right{near}; {guessing}."
    )

"""Reconstruction: many harmless counts, solved for everybody's secret at once (Dinur and Nissim 2003)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.attack._arguments import as_flags, at_least
from pydplib.attack.answers.targets import Floats, Target
from pydplib.attack.result import AttackResult, proven_advantage


def reconstruction(
    target: Target, secrets: ArrayLike, *, questions: int | None = None, seed: int | None = None
) -> AttackResult:
    """Ask for counts over random groups, and solve the equations for each person's yes or no.

    In plain words: each question ("how many of these 500 people have the disease?") is about a large group
    and looks harmless. But every answer is an equation with one unknown per person, and enough equations
    have one solution. Least squares finds it, even through noise, as long as the noise is small compared with
    the square root of the number of people. Only two things help: much noise, or few answers. A
    privacy budget enforces one of them, whatever is asked.

    Args:
        target: Who answers.
        secrets: The private column of yes and no.
        questions: How many random groups are asked about; by default four per person.
        seed: For a repeatable run.

    Examples:
        >>> from pydplib.attack import ExactAnswers, SoundMode, reconstruction
        >>> secrets = np.random.default_rng(3).random(100) < 0.5
        >>> reconstruction(ExactAnswers(), secrets, seed=1).success
        1.0
        >>> reconstruction(SoundMode(0.1, budget=1.0), secrets, seed=1).success < 0.8
        True
    """
    bits = as_flags(secrets)
    asked = at_least("questions", 4 * len(bits) if questions is None else questions, 1)
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, (asked, len(bits)), dtype=np.int8).astype(np.bool_)
    facing = target.facing(bits)
    answers = facing.sums(bits, groups, rng)
    got = np.isfinite(answers)
    share = float(bits.mean())
    guess = _solve(groups[got], answers[got], facing.sum_error(groups[got].sum(axis=1).astype(np.float64)), share)
    hits = int(np.count_nonzero((guess > 0.5) == (bits > 0.5)))
    result = AttackResult.of_tries(
        "reconstruction",
        target=target.name,
        hits=hits,
        tries=len(bits),
        baseline=max(share, 1 - share),
        sentence="",
        details={"questions": asked, "answered": int(got.sum()), "people": len(bits)},
    )
    return replace(result, exposed=proven_advantage(result), sentence=_sentence(result))


def _solve(groups: NDArray[np.bool_], answers: Floats, errors: Floats, share: float) -> Floats:
    """Return the best linear guess of every bit: least squares, held near ``share`` where answers say little.

    Minimises |(G x - y)/error|^2 + |x - share|^2 / spread: exact answers get a weight so large that they
    decide, very noisy ones leave the guess at what is known about everybody.
    """
    if not len(answers):
        return np.full(groups.shape[1], share)
    spread = max(share * (1 - share), 1e-3)
    least = 1e-4 * max(1.0, float(np.abs(answers).max()))
    weight = 1 / np.maximum(errors, least)
    matrix = groups * weight[:, np.newaxis]
    missing = answers * weight - matrix @ np.full(groups.shape[1], share)
    people, equations = groups.shape[1], len(answers)
    if equations < people:  # the smaller of the two equal systems
        inner = matrix @ matrix.T + np.eye(equations) / spread
        return share + matrix.T @ np.linalg.solve(inner, missing)
    inner = matrix.T @ matrix + np.eye(people) / spread
    return share + np.asarray(np.linalg.solve(inner, matrix.T @ missing))


def _sentence(result: AttackResult) -> str:
    answered, asked = result.details["answered"], result.details["questions"]
    refused = f"; {asked - answered:,} of {asked:,} questions were refused" if answered < asked else ""
    if result.success >= 0.999:
        return f"{answered:,} counts over random groups give everybody's secret away{refused}."
    if result.beats_baseline:
        return (
            f"{answered:,} counts over random groups give {result.success:.0%} of the secrets away, "
            f"where guessing gets {result.baseline:.0%}{refused}."
        )
    return f"{answered:,} counts over random groups tell no more than guessing{refused}."

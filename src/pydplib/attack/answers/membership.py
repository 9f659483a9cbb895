"""Membership: is this person among the people behind the release? By the likelihood ratio."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pydplib.attack._arguments import as_column, at_least
from pydplib.attack.answers.games import play
from pydplib.attack.answers.targets import Floats, Generator, RecordTarget, Target
from pydplib.attack.bounds import most_success
from pydplib.attack.kinds import AttackKind
from pydplib.attack.result import AttackResult, proven_advantage
from pydplib.errors import DataError, ParameterError, did_you_mean

Statistic = Literal["mean", "largest"]


def membership(
    target: Target,
    people: ArrayLike,
    *,
    frequencies: ArrayLike | None = None,
    rounds: int = 10,
    seed: int | None = None,
) -> AttackResult:
    """Tell, from published shares of many yes/no attributes, who is among the people they were computed from.

    In plain words: a study publishes how frequent each of a thousand genetic variants is among its patients.
    Each share moves only a trifle towards each participant; but a thousand trifles add up, and somebody
    who has a person's variants can tell whether the person took part (and so has the disease). The
    attacker adds, over all attributes, how much the published share leans towards the person (Homer et al. 2008);
    this is the likelihood ratio test for large tables (Sankararaman et al. 2009). For exact answers it is right in
    Phi(sqrt(attributes / participants) / 2) of the cases.

    In every round another random half of the people is in the study, the others are not, and the attacker
    decides about each of them.

    Args:
        target: Who answers; one sum per attribute.
        people: Candidates x attributes of 0 and 1.
        frequencies: How frequent each attribute is in the population; by default among these people.
        rounds: How often the game is played, at least 5.
        seed: For a repeatable run.

    Examples:
        >>> from pydplib.attack import ExactAnswers, SoundMode, membership
        >>> people = np.random.default_rng(4).random((200, 2000)) < 0.3
        >>> membership(ExactAnswers(), people, frequencies=np.full(2000, 0.3), seed=1).success > 0.95
        True
        >>> membership(SoundMode(1.0), people, frequencies=np.full(2000, 0.3), seed=1).success < 0.6
        True
    """
    table = _as_table(people)
    at_least("rounds", rounds, 5)
    rng = np.random.default_rng(seed)
    known = table.mean(axis=0) if frequencies is None else as_column(frequencies)
    if len(known) != table.shape[1]:
        raise DataError("frequencies needs one number per attribute.")
    known = np.clip(known, 1e-3, 1 - 1e-3)
    pooled = frequencies is None
    right = np.array([_play_round(target, table, known, rng, pooled=pooled) for _ in range(rounds)])
    success = float(right.mean())
    spread = student(0.95, rounds - 1) * float(right.mean(axis=1).std(ddof=1)) / math.sqrt(rounds)
    result = AttackResult(
        name="membership",
        target=target.name,
        success=success,
        baseline=0.5,
        # People of one round share one release, so that rounds are counted, not people.
        interval=(max(0.0, success - spread), min(1.0, success + spread)),
        exposed=0.0,
        tries=right.size * (len(table) // 2),
        sentence="",
        details={
            "attributes": table.shape[1],
            "participants": len(table) // 2,
            "rounds": rounds,
            "true_positives": float(right[:, 0].mean()),
            "false_positives": 1 - float(right[:, 1].mean()),
            "most_success": _allowed(target.exchanged_epsilon(table.shape[1])),
        },
    )
    return replace(result, exposed=proven_advantage(result), sentence=_sentence(result, "took part"))


def _play_round(target: Target, table: Floats, known: Floats, rng: Generator, *, pooled: bool) -> tuple[float, float]:
    """Return how many of the participants and of the others were told right, as shares."""
    order = rng.permutation(len(table))
    size = len(table) // 2
    inside, outside = table[order[:size]], table[order[size : 2 * size]]
    sums = target.facing(inside.reshape(-1)).column_sums(inside, rng)
    lean = np.nan_to_num((sums / size - known) / (known * (1 - known)))
    # In expectation 0 for outsiders and attributes / participants for insiders, by their own share: cut between.
    # Against the share of both together, what insiders are above it outsiders are below.
    cut = 0.0 if pooled else float(np.isfinite(sums).sum()) / size / 2
    score_in, score_out = (inside - known) @ lean, (outside - known) @ lean
    return float(np.mean(score_in > cut)), float(np.mean(score_out <= cut))


def student(confidence: float, freedom: int) -> float:
    """Return the two-sided quantile of Student's distribution, by the first terms of its expansion about the normal.

    Examples:
        >>> round(student(0.95, 9), 2)
        2.26
        >>> round(student(0.95, 4), 2)
        2.78
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160
    return z + first / freedom + second / freedom**2 + third / freedom**3 + fourth / freedom**4


def outlier_membership(
    target: Target,
    values: ArrayLike,
    *,
    person: float,
    statistic: Statistic = "mean",
    games: int = 2_000,
    seed: int | None = None,
) -> AttackResult:
    """Tell whether one conspicuous person (the oldest patient, say) is behind a release.

    In plain words: everybody knows that the oldest man in town is 97. Is he a patient of this clinic? The
    attacker sees one release and compares how likely it is with him and without him (where another,
    ordinary patient stands in his place). He has tried both at home, so he knows the two distributions.

    Args:
        target: Who answers.
        values: The other people's values.
        person: The conspicuous person's value.
        statistic: What the attacker looks at: the ``"mean"``, or, where records are handed out, the ``"largest"``.
        games: Releases with the person, and as many without; half to learn, half to judge.
        seed: For a repeatable run.

    Examples:
        >>> from pydplib.attack import PaperMode, SoundMode, outlier_membership
        >>> ages = np.random.default_rng(5).normal(65, 7, 200).clip(45, 85)
        >>> fitted = PaperMode("high", is_range=True)
        >>> outlier_membership(fitted, ages, person=97, statistic="largest", games=20, seed=1).success
        1.0
        >>> sound = outlier_membership(SoundMode(0.01, bounds=(18, 100)), ages, person=97, seed=1)
        >>> sound.success < 0.55
        True
    """
    others = as_column(values, least=2)
    at_least("games", games, 4)
    if statistic not in ("mean", "largest"):
        raise ParameterError(f"Unknown statistic '{statistic}'.{did_you_mean(statistic, ('mean', 'largest'))}")
    rng = np.random.default_rng(seed)
    ordinary = float(np.median(others))
    with_person, without = np.append(others, float(person)), np.append(others, ordinary)
    played = play(
        _look(target, with_person, statistic, games, rng),
        _look(target, without, statistic, games, rng),
    )
    result = AttackResult.of_tries(
        "membership of an outlier",
        target=target.name,
        hits=played.hits,
        tries=played.tries,
        baseline=0.5,
        sentence="",
        details={
            "statistic": statistic,
            "true_positives": played.first_right,
            "false_positives": 1 - played.second_right,
            "most_success": _allowed(target.exchanged_epsilon()),
        },
    )
    return replace(result, exposed=proven_advantage(result), sentence=_sentence(result, "is in the data"))


def _allowed(epsilon: float | None) -> float | None:
    return None if epsilon is None else most_success(epsilon)


def _look(target: Target, values: Floats, statistic: Statistic, games: int, rng: Generator) -> Floats:
    facing = target.facing(values)
    if statistic == "mean":
        return facing.means(values, games, rng)
    if not isinstance(facing, RecordTarget):
        raise ParameterError(f"'{target.name}' hands out no records, so there is no largest one to look at.")
    return np.array([facing.records(values, 1, rng).max() for _ in range(games)])


def _as_table(values: ArrayLike) -> Floats:
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim != 2 or not table.size or not np.isin(table, (0.0, 1.0)).all():
        raise DataError("Membership needs tables of yes and no (1 and 0), people x attributes.")
    return table


def _sentence(result: AttackResult, what: str) -> str:
    bound = result.details["most_success"]
    allowed = "" if bound is None else f" (the guarantee allows {bound:.0%})"
    if result.success >= 0.99:
        return f"The release tells practically for certain who {what}."
    if result.beats_baseline:
        return f"The release tells in {result.success:.0%} of the cases whether a person {what}{allowed}."
    return f"The release does not tell whether a person {what}{allowed}."


MEMBERSHIP = AttackKind(
    name="membership",
    does="Guesses whether a person is in the data at all. The number is the most that any attack can reach.",
    helps="a smaller epsilon",
)
"""Membership, as a leak report explains it; it is bounded by the guarantee, not run."""

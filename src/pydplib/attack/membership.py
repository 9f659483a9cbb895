"""Membership: is this person among the people behind the release? By the likelihood ratio."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pydplib.attack._checks import as_column, at_least
from pydplib.attack._games import play
from pydplib.attack.bounds import most_success
from pydplib.attack.record_targets import RecordTarget
from pydplib.attack.result import AttackResult
from pydplib.attack.targets import Floats, Generator, Target
from pydplib.errors import DataError, ParameterError, did_you_mean

Statistic = Literal["mean", "largest"]


def membership(
    target: Target,
    insiders: ArrayLike,
    outsiders: ArrayLike,
    *,
    frequencies: ArrayLike | None = None,
    seed: int | None = None,
) -> AttackResult:
    """Tell, from published shares of many yes/no attributes, who is among the people they were computed from.

    In plain words: a study publishes how frequent each of a thousand genetic variants is among its patients.
    Each share moves only a trifle towards each participant; but a thousand trifles add up, and somebody
    who has a person's variants can tell whether the person took part (and so has the disease). The
    attacker adds, over all attributes, how much the published share leans towards the person (Homer et al. 2008);
    this is the likelihood ratio test for large tables (Sankararaman et al. 2009). For exact answers it is right in
    Phi(sqrt(attributes / people) / 2) of the cases.

    Args:
        target: Who answers; one sum per attribute.
        insiders: The private table, people x attributes of 0 and 1.
        outsiders: People of the same population who are not in the table.
        frequencies: How frequent each attribute is in the population; by default taken from the outsiders.
        seed: For a repeatable run.

    Examples:
        >>> from pydplib.attack import ExactAnswers, SoundMode, membership
        >>> rng = np.random.default_rng(4)
        >>> people = rng.random((200, 2000)) < 0.3
        >>> membership(ExactAnswers(), people[:100], people[100:], frequencies=np.full(2000, 0.3)).success > 0.95
        True
        >>> membership(SoundMode(1.0), people[:100], people[100:], frequencies=np.full(2000, 0.3)).beats_baseline
        False
    """
    inside, outside = _as_table(insiders), _as_table(outsiders)
    if inside.shape[1] != outside.shape[1]:
        raise DataError("Insiders and outsiders need the same attributes.")
    rng = np.random.default_rng(seed)
    known = outside.mean(axis=0) if frequencies is None else as_column(frequencies)
    if len(known) != inside.shape[1]:
        raise DataError("frequencies needs one number per attribute.")
    known = np.clip(known, 1e-3, 1 - 1e-3)
    sums = target.facing(inside.reshape(-1)).column_sums(inside, rng)
    lean = np.nan_to_num((sums / len(inside) - known) / (known * (1 - known)))
    score_in, score_out = (inside - known) @ lean, (outside - known) @ lean
    # In expectation 0 for outsiders and attributes / people for insiders, by the insider's own share: cut between.
    cut = inside.shape[1] / len(inside) / 2
    right_in, right_out = int((score_in > cut).sum()), int((score_out <= cut).sum())
    share = (right_in / len(score_in) + right_out / len(score_out)) / 2
    tries = len(score_in) + len(score_out)
    result = AttackResult.of_tries(
        "membership",
        target=target.name,
        hits=round(share * tries),
        tries=tries,
        baseline=0.5,
        sentence="",
        details={
            "attributes": inside.shape[1],
            "people": len(inside),
            "true_positives": right_in / len(score_in),
            "false_positives": 1 - right_out / len(score_out),
            "most_success": _allowed(target.epsilon_of(inside.shape[1])),
        },
    )
    exposed = max(0.0, result.advantage) if result.beats_baseline else 0.0
    return replace(result, exposed=exposed, sentence=_sentence(result, "took part"))


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
            "most_success": _allowed(target.epsilon),
        },
    )
    exposed = max(0.0, result.advantage) if result.beats_baseline else 0.0
    return replace(result, exposed=exposed, sentence=_sentence(result, "is in the data"))


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

"""Who may get it: what each audience is trusted with, and the verdict that the attacks lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias, get_args

from pydplib.attack.bounds import surer
from pydplib.attack.kinds import Reach
from pydplib.attack.leaks.tasks import KINDS
from pydplib.attack.result import AttackResult, percent
from pydplib.policy import DEFAULT_BUDGETS

MOST_DELTA = 1e-5
"""The largest chance with which a guarantee may fail; our default policy allows a tenth of it."""

Answer: TypeAlias = Literal["yes", "no", "open"]
"""May it leave? ``"open"``: an attack that matters was not finished."""


@dataclass(frozen=True, slots=True)
class Audience:
    """What may be expected of those who get a release, and what is too much for them.

    Args:
        name: The word in code.
        title: The word for readers.
        attacks: Kinds of attack that such people may try.
        chance: The highest chance with which anybody's row may be found.
        exposed: The largest share of people about whom the release may tell something for certain that could not
            nearly be guessed without it.
        epsilon: The largest loss of differentially private releases in total, as in ``pydplib.policy.DEFAULT_BUDGETS``.
        why: What these limits rest on.

    Examples:
        >>> AUDIENCES["third_party"].chance
        0.09
    """

    name: str
    title: str
    _: KW_ONLY
    attacks: frozenset[str]
    chance: float
    exposed: float
    epsilon: float
    why: str


def _tried_by(reach: Reach) -> frozenset[str]:
    """Return the kinds of attack that somebody of this reach may try: its own, and those of nearer ones."""
    distance: tuple[Reach, ...] = get_args(Reach)
    near = distance[: distance.index(reach) + 1]
    return frozenset(variant for kind in KINDS for variant, least in kind.tried.items() if least in near)


AUDIENCES: dict[str, Audience] = {
    audience.name: audience
    for audience in (
        Audience(
            "owner",
            "Data owner",
            attacks=frozenset(),
            chance=1.0,
            exposed=1.0,
            epsilon=float("inf"),
            why="holds the original anyway",
        ),
        Audience(
            "collaborator",
            "Collaborator",
            attacks=_tried_by("near"),
            chance=0.2,
            exposed=0.05,
            epsilon=DEFAULT_BUDGETS["collaborator"].total,
            why="bound by an agreement, no list of other people at hand; one in five is the usual limit",
        ),
        Audience(
            "third_party",
            "Third party",
            attacks=_tried_by("far"),
            chance=0.09,
            exposed=0.01,
            epsilon=DEFAULT_BUDGETS["third_party"].total,
            why="may know people, earlier releases and a fact or two; 9 % is what medicines agencies ask for",
        ),
        Audience(
            "public",
            "Public",
            attacks=_tried_by("anybody"),
            chance=0.05,
            exposed=0.0,
            epsilon=DEFAULT_BUDGETS["public"].total,
            why="anybody, for ever: whatever works once works for all",
        ),
    )
}
"""The four audiences with our default limits; pass others to ``leak_report(audiences=...)``."""


@dataclass(frozen=True, slots=True)
class AudienceVerdict:
    """What the attacks mean for one audience.

    Attributes:
        audience: To whom it would go.
        answer: yes, no or open.
        reasons: Why, one sentence each.

    Examples:
        >>> AudienceVerdict(AUDIENCES["owner"], "yes", ("Holds the original anyway.",)).answer
        'yes'
    """

    audience: Audience
    answer: Answer
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {"audience": self.audience.name, "answer": self.answer, "reasons": list(self.reasons)}


def judge_audience(
    audience: Audience,
    results: Sequence[AttackResult],
    unfinished: Sequence[str],
    *,
    failed: Sequence[str] = (),
    epsilon: float | None = None,
    delta: float = 0.0,
    guaranteed: bool = False,
) -> AudienceVerdict:
    """Return whether a release may go to an audience.

    Args:
        audience: To whom.
        results: What was found.
        unfinished: Attacks that were not finished in time.
        failed: Attacks that could not be tried for another reason.
        epsilon: The loss of a differentially private release, which decides then.
        delta: The chance with which that loss may be exceeded.
        guaranteed: Whether the release carries a proof at all.
    """
    if not audience.attacks:
        return AudienceVerdict(audience, "yes", (f"The {audience.title.lower()} {audience.why}.",))
    if guaranteed and epsilon is not None:
        if delta > MOST_DELTA:
            words = f"Delta {delta:.4g} is more than {MOST_DELTA:g}: with that chance the guarantee says nothing."
            return AudienceVerdict(audience, "no", (words,))
        if epsilon <= audience.epsilon + 1e-12:
            words = (
                f"Epsilon {epsilon:.4g} is within {audience.epsilon:g}. Whatever else anybody knows, a guess whether a "
                f"person is in the data gets surer {surer(epsilon, delta)}. Other releases about the same people add "
                "up: the ledger keeps their sum."
            )
            return AudienceVerdict(audience, "yes", (words,))
        words = (
            f"Epsilon {epsilon:.4g} is more than {audience.epsilon:g}: a guess whether a person is in the data can get "
            f"surer {surer(epsilon, delta)}."
        )
        return AudienceVerdict(audience, "no", (words,))
    reasons = [reason for result in results for reason in _too_much(audience, result)]
    if reasons:
        return AudienceVerdict(audience, "no", tuple(reasons))
    waiting = dict.fromkeys(name for name in unfinished if name in audience.attacks)
    stuck = dict.fromkeys(name for name in failed if name in audience.attacks)
    if waiting or stuck:
        late = [f"Not finished: {'; '.join(waiting)}. Run again with more time."] if waiting else []
        lost = [f"Could not be tried: {'; '.join(stuck)}. The reason stands with the attack."] if stuck else []
        return AudienceVerdict(audience, "open", (*late, *lost))
    words = "None of the attacks that such people may try learnt too much. That is no proof: others may know more."
    return AudienceVerdict(audience, "yes", (words,))


def kind_of(result: AttackResult) -> str:
    """Return the kind of an attack, as audiences list them."""
    pieces = result.details.get("pieces", 1)
    return f"{result.name}, {pieces} pieces" if result.name == "background knowledge" and pieces != 1 else result.name


def _too_much(audience: Audience, result: AttackResult) -> list[str]:
    kind = kind_of(result)
    if kind not in audience.attacks:
        return []
    if kind.startswith("linkage"):
        # Of the smallest class, not of all candidates: knowledge of the method can tell which class it is.
        prosecutor = result.details["attacker"] == "prosecutor"
        top = result.details["maximum"]
        if prosecutor and result.tries:
            top = max(top, 1 / max(result.details["smallest_class"], 1))
        if top > audience.chance + 1e-9:
            who = "somebody who knows who is in the table" if prosecutor else f"a {result.details['attacker']}"
            words = f"Some people are found by {who} with a chance of {percent(top)}"
            return [f"{words}; the limit is {percent(audience.chance)}."]
        return []
    # Where an attack says how much of it is due to the release, that counts: with one excluded value everybody knows
    # a yes or no, and that a rare disease is absent is hardly news. Neither is the release's doing.
    learnt = float(result.details.get("gained", result.exposed))
    if learnt > audience.exposed + 1e-12:
        what = f"{kind[:1].upper()}{kind[1:]} ({result.target})"
        return [f"{what} exposes {percent(learnt)} of the people; the limit is {percent(audience.exposed)}."]
    return []

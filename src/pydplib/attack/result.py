"""What an attack found: how often it succeeded, against which baseline, and what that means in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydplib._shown import Shown
from pydplib.attack.bounds import share_interval
from pydplib.errors import ParameterError


def percent(share: float) -> str:
    """Return a share as people read it.

    Examples:
        >>> percent(0.12345), percent(0.0), percent(1.0), percent(0.99996)
        ('12.3 %', '0 %', '100 %', '99.9 %')
    """
    if 0 < share < 0.0005:
        return "less than 0.1 %"
    if 0.9995 <= share < 1:
        return "99.9 %"
    return f"{100 * share:.3g} %"


def listed(names: Sequence[str]) -> str:
    """Return names as a reader expects them.

    Examples:
        >>> listed(["age", "sex", "zip"])
        'age, sex and zip'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"


@dataclass(frozen=True, repr=False, kw_only=True)
class AttackResult(Shown):
    """The outcome of one attack on one target; nothing in it names a person.

    Attributes:
        name: The attack, e.g. ``"differencing"``.
        target: What was attacked, in words, e.g. ``"exact answers"``.
        success: The share of tries in which the attacker was right.
        baseline: The share that somebody gets right who never sees the release.
        interval: The confidence interval of ``success`` (95 %, Clopper-Pearson, unless said otherwise).
        exposed: The share of people about whom the attacker learnt what should have stayed private.
        tries: How often the attack was tried.
        sentence: The outcome in one plain sentence.
        details: Further numbers of this attack, by name: what is drawn and tabulated.

    Examples:
        >>> result = AttackResult.of_tries("guess", hits=70, tries=100, baseline=0.5, sentence="Better than guessing.")
        >>> result.success, round(result.advantage, 3)
        (0.7, 0.4)
        >>> result.beats_baseline
        True
    """

    name: str
    success: float
    baseline: float
    interval: tuple[float, float]
    exposed: float
    tries: int
    sentence: str
    target: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        low, high = self.interval
        shares = (self.success, self.baseline, low, high, self.exposed)
        if not all(0 <= share <= 1 for share in shares) or not low <= self.success <= high:
            raise ParameterError(
                "success, baseline, exposed and the interval are shares from 0 to 1, and success lies in the interval."
            )

    @classmethod
    def of_tries(
        cls,
        name: str,
        *,
        hits: int,
        tries: int,
        baseline: float,
        sentence: str,
        exposed: float | None = None,
        target: str = "",
        details: Mapping[str, Any] | None = None,
        confidence: float = 0.95,
    ) -> AttackResult:
        """Return the result of ``hits`` successes in ``tries``; ``exposed`` is the share of successes if not given.

        Examples:
            >>> AttackResult.of_tries("x", hits=10, tries=10, baseline=0.1, sentence="All.").exposed
            1.0
        """
        success = hits / tries if tries else 0.0
        low, high = share_interval(hits, tries, confidence=confidence) if tries else (0.0, 1.0)
        return cls(
            name=name,
            success=success,
            baseline=float(baseline),
            interval=(min(low, success), max(high, success)),
            exposed=success if exposed is None else float(exposed),
            tries=tries,
            sentence=sentence,
            target=target,
            details=dict(details or {}),
        )

    @property
    def advantage(self) -> float:
        """What the attacker gains of what guessing leaves open: 0 no better than guessing, 1 always right.

        With two equally likely cases (baseline 1/2) this is true positives minus false positives, which
        differential privacy keeps at most at (e^epsilon - 1) / (e^epsilon + 1).
        """
        return advantage_over(self.success, self.baseline)

    @property
    def due(self) -> float:
        """The share of people exposed by the release itself: what tables show and verdicts count as exposed.

        Where an attack says how much somebody learns who knows the same facts but not the release, that is left out.
        """
        return float(self.details.get("gained", self.exposed))

    @property
    def advantage_interval(self) -> tuple[float, float]:
        """The interval of ``advantage``."""
        low, high = self.interval
        return advantage_over(low, self.baseline), advantage_over(high, self.baseline)

    @property
    def beats_baseline(self) -> bool:
        """Whether even the lower end of the interval lies above the baseline."""
        return self.interval[0] > self.baseline

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, ready for JSON."""
        return {
            "name": self.name,
            "target": self.target,
            "success": self.success,
            "baseline": self.baseline,
            "advantage": self.advantage,
            "interval": list(self.interval),
            "exposed": self.exposed,
            "tries": self.tries,
            "sentence": self.sentence,
            "details": _plain(dict(self.details)),
        }

    def __str__(self) -> str:
        low, high = self.interval
        of = f" on {self.target}" if self.target else ""
        if not self.tries:  # computed, not tried out
            return f"{self.name}{of}: right in {self.success:.1%} (guessing: {self.baseline:.1%}). {self.sentence}"
        return (
            f"{self.name}{of}: right in {self.success:.1%} of {self.tries:,} tries "
            f"(95 %: {low:.1%} to {high:.1%}; guessing: {self.baseline:.1%}). {self.sentence}"
        )


def proven_advantage(result: AttackResult) -> float:
    """Return the share of people exposed where every guess is about somebody: the advantage, if it is beyond chance.

    Examples:
        >>> proven_advantage(AttackResult.of_tries("x", hits=3, tries=4, baseline=0.5, sentence="Too few."))
        0.0
    """
    return max(0.0, result.advantage) if result.beats_baseline else 0.0


def advantage_over(success: float, baseline: float) -> float:
    """Return (success - baseline) / (1 - baseline): the part of what guessing leaves open.

    Examples:
        >>> advantage_over(0.75, 0.5), advantage_over(1.0, 1.0)
        (0.5, 0.0)
    """
    return (success - baseline) / (1 - baseline) if baseline < 1 else 0.0


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value

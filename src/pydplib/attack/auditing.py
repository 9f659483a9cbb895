"""``audit``: does a mechanism keep the epsilon it claims? Evidence from outputs, and from the noise tap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from pydplib._shown import Shown
from pydplib.attack._checks import at_least
from pydplib.attack.neighbours import mechanism_neighbours
from pydplib.attack.protocols import Evidence, Pair, PropertyTester, as_mechanism, same_shape
from pydplib.attack.replaying import Replayed, replay_neighbours
from pydplib.attack.testers import EventTester
from pydplib.errors import ParameterError
from pydplib.guarantee import ZCDP, ApproxDP, Guarantee, LocalDP, PureDP, zcdp_epsilon
from pydplib.noise.testing import seeded

DRAWS, DRAWS_ONE_BY_ONE = 120_000, 10_000
"""Outputs of each data set: where one call brings many, and where each needs a call of its own."""
_ZCDP_DELTAS = (1e-2, 1e-4)


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """What an audit found.

    Attributes:
        claim: The guarantee that was claimed.
        refuted: Whether the claim is proven wrong.
        epsilon_at_least: The epsilon that the outputs prove, with ``confidence``, at the claim's delta.
        epsilon_claimed: The epsilon of the claim (for zCDP: at the delta that was tested).
        delta: The delta at which outputs were judged.
        confidence: How sure ``epsilon_at_least`` is.
        evidence: One entry per pair of neighbours, from outputs.
        replayed: One entry per pair of neighbours, from the noise tap.
        seconds: How long it took.
        sentence: The verdict in plain words.

    Examples:
        >>> from pydplib.mechanisms import CoinFlip
        >>> verdict = audit(CoinFlip(), draws=2_000, seed=1)
        >>> verdict.refuted, verdict.tightness < 1
        (False, True)
    """

    claim: Guarantee
    refuted: bool
    epsilon_at_least: float
    epsilon_claimed: float
    delta: float
    confidence: float
    evidence: tuple[Evidence, ...]
    replayed: tuple[Replayed, ...]
    seconds: float
    sentence: str

    @property
    def tightness(self) -> float:
        """What is proven as a share of what is claimed: near 1, the claim wastes nothing; above 1, it is wrong."""
        return self.epsilon_at_least / self.epsilon_claimed

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values, ready for JSON."""
        return {
            "claim": self.claim.sentence,
            "refuted": self.refuted,
            "epsilon_at_least": self.epsilon_at_least,
            "epsilon_claimed": self.epsilon_claimed,
            "delta": self.delta,
            "confidence": self.confidence,
            "tightness": self.tightness,
            "seconds": self.seconds,
            "sentence": self.sentence,
            "evidence": [
                {
                    "pair": one.pair,
                    "event": one.event,
                    "epsilon_at_least": one.epsilon_at_least,
                    "hits": list(one.hits),
                    "draws": one.draws,
                }
                for one in self.evidence
            ],
            "replayed": [{"pair": one.pair, "outcome": one.outcome, "words": one.words} for one in self.replayed],
        }

    def __str__(self) -> str:
        return self.sentence


def audit(
    mechanism: Any,
    claim: Guarantee | None = None,
    *,
    neighbours: Iterable[Pair] | Callable[[], Iterable[Pair]] | tuple[Any, Any] | None = None,
    tester: PropertyTester | None = None,
    draws: int | None = None,
    confidence: float = 0.999,
    seed: int | None = None,
) -> Verdict:
    """Try to prove that a mechanism loses more than it claims, and say what was proven.

    In plain words: differential privacy promises that no output becomes much likelier because of one person. The
    audit runs the mechanism very often on two data sets that differ in one person, looks for outputs that are
    much likelier on one of them, and computes which epsilon this proves. An audit can refute a claim for
    certain (up to the confidence); it cannot prove one: for that there are proofs. Where noise is drawn by this
    library, the audit also replays the noise on both data sets, and sees whether private data chose its amount.

    Args:
        mechanism: A mechanism with ``release()``, an object with ``sample(data, size)``, or a function of a data set
            that returns a number, an array or a release.
        claim: What it claims, e.g. ``PureDP(1.0)``; by default its own ``guarantee``.
        neighbours: A pair of data sets ``(first, second)``, several ``Pair``, or something that makes them, such
            as ``ArrayNeighbours(bounds=(18, 100))``. Mechanisms of the library know their worst ones.
        tester: Who judges the outputs; by default ``EventTester()``.
        draws: Outputs of each data set; by default 120 000, and 10 000 where each needs a call of its own.
        confidence: How sure the proven epsilon is, over all pairs together.
        seed: For a repeatable run, where the noise is drawn by this library.

    Examples:
        >>> import pydplib as dp
        >>> verdict = dp.attack.audit(dp.mechanisms.Laplace(sensitivity=1, epsilon=1.0), claim=dp.PureDP(1.0), seed=1)
        >>> verdict.refuted, verdict.tightness > 0.9
        (False, True)
        >>> half_the_noise = dp.mechanisms.Laplace(sensitivity=0.5, epsilon=1.0)
        >>> print(dp.attack.audit(half_the_noise, claim=dp.PureDP(1.0), neighbours=(0.0, 1.0), seed=1).refuted)
        True
    """
    begun = perf_counter()
    if not (isinstance(confidence, float) and 0 < confidence < 1):
        raise ParameterError("confidence must lie strictly between 0 and 1.")
    claimed: Any = getattr(mechanism, "guarantee", None) if claim is None else claim
    levels = _levels(claimed)
    pairs = _pairs(mechanism, neighbours)
    sampler = as_mechanism(mechanism)
    usual = DRAWS_ONE_BY_ONE if getattr(sampler, "slow", False) else DRAWS
    size = at_least("draws", usual if draws is None else draws, 20)
    judge = tester or EventTester()
    run = getattr(mechanism, "release", mechanism)
    chance = (1 - confidence) / (len(pairs) * len(levels))
    worst: tuple[float, float, float] | None = None
    evidence, replayed = [], []
    with nullcontext() if seed is None else seeded(seed):
        for pair in pairs:
            if callable(run):
                replayed.append(replay_neighbours(run, pair))
            outputs = same_shape(sampler.sample(pair.first, size), sampler.sample(pair.second, size))
            for epsilon, delta in levels:
                found = judge(*outputs, delta=delta, chance=chance, pair=pair.words)
                evidence.append(found)
                if worst is None or found.epsilon_at_least / epsilon > worst[0] / worst[1]:
                    worst = (found.epsilon_at_least, epsilon, delta)
    assert worst is not None
    proven, epsilon, delta = worst
    differs = next((one for one in replayed if one.outcome == "differs"), None)
    return Verdict(
        claim=claimed,
        refuted=proven > epsilon or differs is not None,
        epsilon_at_least=proven,
        epsilon_claimed=epsilon,
        delta=delta,
        confidence=confidence,
        evidence=tuple(evidence),
        replayed=tuple(replayed),
        seconds=perf_counter() - begun,
        sentence=_sentence(proven, epsilon, delta, confidence, differs, evidence),
    )


def _levels(claim: Any) -> list[tuple[float, float]]:
    """Return the (epsilon, delta) at which a claim is judged."""
    if isinstance(claim, PureDP | LocalDP):
        return [(claim.epsilon, 0.0)]
    if isinstance(claim, ApproxDP):
        return [(claim.epsilon, claim.delta)]
    if isinstance(claim, ZCDP):
        return [(zcdp_epsilon(claim.rho, delta), delta) for delta in _ZCDP_DELTAS]
    raise ParameterError(
        "An audit needs a claim of differential privacy: claim=PureDP(1.0), ApproxDP, ZCDP or LocalDP. "
        f"Got {type(claim).__name__}."
    )


def _pairs(mechanism: Any, neighbours: Any) -> Sequence[Pair]:
    if neighbours is None:
        pairs = mechanism_neighbours(mechanism)
    elif callable(neighbours):
        pairs = list(neighbours())
    elif isinstance(neighbours, tuple) and len(neighbours) == 2 and not isinstance(neighbours[0], Pair):
        pairs = [Pair(neighbours[0], neighbours[1], "the two data sets given")]
    else:
        pairs = list(neighbours)
    if not pairs or not all(isinstance(pair, Pair) for pair in pairs):
        raise ParameterError(
            "An audit needs neighbouring data sets: neighbours=(first, second), or for columns "
            "neighbours=ArrayNeighbours(bounds=(low, high))."
        )
    return pairs


def _sentence(
    proven: float, epsilon: float, delta: float, confidence: float, differs: Replayed | None, evidence: list[Evidence]
) -> str:
    sure = f"with {100 * confidence:g} % confidence"
    at = f" at delta {delta:g}" if delta else ""
    if proven > epsilon:
        strongest = max(evidence, key=lambda one: one.epsilon_at_least)
        far = f"{proven:.3g}" if math.isfinite(proven) else "infinite"
        return (
            f"Refuted: epsilon is at least {far}{at}, {sure}, not {epsilon:g}. Seen in {strongest.event} "
            f"({strongest.pair})."
        )
    if differs is not None:
        return f"Refuted: {differs.words} Seen with {differs.pair}."
    return (
        f"Not refuted: epsilon is at least {proven:.3g}{at}, {sure}; claimed is {epsilon:g} "
        f"({proven / epsilon:.0%} of it is proven)."
    )

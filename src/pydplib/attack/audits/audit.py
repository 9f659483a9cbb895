"""``audit``: does a mechanism keep the epsilon it claims? Evidence from outputs, and from the noise tap by replay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pydplib._shown import Shown
from pydplib.attack._arguments import at_least
from pydplib.attack.answers.floating_point import last_digit
from pydplib.attack.answers.games import Coding, cells
from pydplib.attack.audits.neighbours import mechanism_neighbours
from pydplib.attack.audits.protocols import REFUSALS, Evidence, Outputs, Pair, PropertyTester, as_mechanism, same_shape
from pydplib.attack.bounds import epsilon_at_least
from pydplib.errors import DataError, ParameterError
from pydplib.guarantee import ZCDP, ApproxDP, Guarantee, LocalDP, PureDP, zcdp_epsilon
from pydplib.noise.testing import NoiseTrace, check_neighbours, record, replay, seeded

Outcome = Literal["agrees", "differs", "outside"]


@dataclass(frozen=True)
class Replayed:
    """What the tap saw on two neighbours.

    Attributes:
        outcome: ``"agrees"``: the same noise was asked for and the exact values moved by no more than claimed;
            ``"differs"``: they did not; ``"outside"``: no noise passed the tap, so nothing can be said.
        words: What was seen, in one sentence.
        calls: How many times noise was asked for.
        pair: What was special about the neighbours.

    Examples:
        >>> Replayed("outside", "No noise passed the library's tap.").calls
        0
    """

    outcome: Outcome
    words: str
    calls: int = 0
    pair: str = ""


def replay_neighbours(run: Callable[[Any], Any], pair: Pair) -> Replayed:
    """Run on both neighbours, the second time with the noisy outputs of the first, and compare the two traces.

    What must hold: the same number of noise calls with the same public parameters (so data choose neither
    scale, bounds nor control flow), and exact values that move by at most the sensitivity that each call
    claims. This is a check of the code, not of outputs: it sees what no number of samples would show.

    Args:
        run: The release, a function of the data.
        pair: Two data sets that differ in one person.

    Examples:
        >>> from pydplib.mechanisms import Geometric
        >>> count = lambda rows: Geometric(sensitivity=1, epsilon=1.0).release(len(rows))
        >>> replay_neighbours(count, Pair([1, 2, 3], [1, 2])).outcome
        'agrees'
        >>> two_rows = Pair([1, 2, 3], [1])
        >>> replay_neighbours(count, two_rows).words
        'Noise call 0 claims sensitivity 1; the values moved by 2.'
    """
    with record() as first:
        refused = _refusal(run, pair.first)
    if not first.passed and refused is None:
        return Replayed(
            "outside", "No noise passed the library's tap, so that only outputs can be judged.", 0, pair.words
        )
    try:
        with replay(first) as second:
            other = _refusal(run, pair.second)
        if (refused is None) != (other is None):
            # One data set is answered and its neighbour refused: the refusal itself tells them apart.
            words = f"One neighbour is refused ({refused or other})."
            return Replayed("differs", words, len(first.passed), pair.words)
        if not first.passed:
            return Replayed("outside", "Both neighbours are refused before any noise is drawn.", 0, pair.words)
        check_neighbours(first, second)
    except AssertionError as error:
        return Replayed("differs", _in_words(str(error)), len(first.passed), pair.words)
    return Replayed("agrees", _agreed(first), len(first.passed), pair.words)


def _refusal(run: Callable[[Any], Any], data: Any) -> str | None:
    """Run once; return the kind of error with which it was refused, or None."""
    try:
        run(data)
    except REFUSALS as error:
        return type(error).__name__
    return None


def _in_words(text: str) -> str:
    if " differs: " in text:
        call = text.split(" differs: ")[0]
        return f"N{call[1:]} differs between the neighbours: private data decide how much noise is drawn, or of what."
    return f"{text[:1].upper()}{text[1:]}."


def _agreed(trace: NoiseTrace) -> str:
    times = "once" if len(trace.passed) == 1 else f"{len(trace.passed)} times"
    return f"Noise was asked for {times}, the same on both neighbours, and hides what moved."


Look = Callable[[Outputs], NDArray[np.generic]]
_LEARN = 0.4  # the part of the outputs on which the event is chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """An event to be judged: outputs whose cell is one of ``chosen``; more frequent on the first or the second."""

    words: str
    look: Look
    code: Coding
    chosen: NDArray[np.bool_]
    swapped: bool
    promise: float

    def count(self, outputs: Outputs) -> int:
        return int(np.count_nonzero(self.chosen[np.minimum(self.code(self.look(outputs)), len(self.chosen) - 1)]))


class EventTester:
    """Best event by sample split, then Clopper and Pearson.

    On the first part of the outputs every cell (a value, a range of values, a position of the last
    binary digit) is ranked by how much likelier it is on one data set; the event is the best union of
    top cells. On the rest the event is only counted, so that choosing it costs no validity.

    Proof: the event is independent of the outputs on which it is judged. There both counts are binomial, and
    ``epsilon_at_least`` is too large with a probability of at most ``chance``.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> first, second = rng.random(100_000) < 0.731, rng.random(100_000) < 0.269  # epsilon 1
        >>> evidence = EventTester()(first, second, delta=0.0, chance=0.001)
        >>> 0.9 < evidence.epsilon_at_least < 1
        True
    """

    def __call__(self, first: Outputs, second: Outputs, *, delta: float, chance: float, pair: str = "") -> Evidence:
        """Return what the two samples prove about epsilon."""
        size = min(len(first), len(second))
        if size < 20:
            raise DataError("An audit needs at least 20 outputs of each data set.")
        learn = max(10, int(size * _LEARN))
        train, test = (first[:learn], second[:learn]), (first[learn:size], second[learn:size])
        best: _Event | None = None
        for words, look in _looks(*train):
            event = _choose(words, look, *train, delta=delta)
            if best is None or event.promise > best.promise:
                best = event
        assert best is not None
        one, two = (test[1], test[0]) if best.swapped else test
        hits = best.count(one), best.count(two)
        proven = epsilon_at_least(hits[0], len(one), hits[1], len(two), delta=delta, chance=chance)
        side = "the second data set" if best.swapped else "the first data set"
        return Evidence(
            pair=pair, event=f"{best.words}, likelier on {side}", epsilon_at_least=proven, hits=hits, draws=len(one)
        )


def _looks(first: Outputs, second: Outputs) -> list[tuple[str, Look]]:
    """Return ways to look at an output: its value, and for decimals the position of its last binary digit."""
    if first.ndim > 1:
        towards, away = _middle(first), _middle(second)

        def lean(outputs: Outputs) -> NDArray[np.generic]:
            # The log likelihood ratio of Laplace noise around the two medians, up to its scale.
            return np.asarray((np.abs(outputs - away) - np.abs(outputs - towards)).sum(axis=1))

        looks: list[tuple[str, Look]] = [("which of the two data sets the numbers lie nearer to", lean)]
        looks += [(f"the value of number {place + 1}", _pick(place)) for place in range(min(first.shape[1], 8))]
        return looks
    looks = [("the value", lambda outputs: outputs)]
    if first.dtype.kind == "f":
        looks.append(("the last binary digit of the value", last_digit))
    return looks


def _middle(outputs: Outputs) -> NDArray[np.float64]:
    """Return the median of every column; 0 where no number came out."""
    real = np.where(np.isfinite(outputs), outputs, np.nan)
    middle = [np.median(column[~np.isnan(column)]) if (column == column).any() else 0.0 for column in real.T]
    return np.array(middle, dtype=np.float64)


def _pick(place: int) -> Look:
    return lambda outputs: outputs[:, place]


def _choose(words: str, look: Look, first: Outputs, second: Outputs, *, delta: float) -> _Event:
    """Return the event that promises most: cells are ranked on one half of the learnt part, unions on the other."""
    one, two = look(first), look(second)
    code = cells(one, two)
    in_one, in_two = code(one), code(two)
    size = int(max(in_one.max(), in_two.max())) + 2  # one more for what was never seen: not part of any event
    half = len(one) // 2
    ranked = [np.bincount(part[:half], minlength=size) for part in (in_one, in_two)]
    tried = [np.bincount(part[half:], minlength=size) for part in (in_one, in_two)]
    best: tuple[float, NDArray[np.bool_], bool] = (-math.inf, np.zeros(size, dtype=np.bool_), False)
    for swapped in (False, True):
        if swapped:
            ranked, tried = ranked[::-1], tried[::-1]
        by_ratio = np.argsort(-(ranked[0] + 0.5) / (ranked[1] + 0.5), kind="stable")
        upwards = np.arange(size - 1)  # values above or below a limit; cells are numbered in their order
        for order in (by_ratio[by_ratio < size - 1], upwards, upwards[::-1]):
            promise = _promise(np.cumsum(tried[0][order]), np.cumsum(tried[1][order]), len(one) - half, delta)
            top = int(promise.argmax())
            if promise[top] > best[0]:
                chosen = np.zeros(size, dtype=np.bool_)
                chosen[order[: top + 1]] = True
                best = (float(promise[top]), chosen, swapped)
    return _Event(words=words, look=look, code=code, chosen=best[1], swapped=best[2], promise=best[0])


def _promise(mine: NDArray[np.int64], other: NDArray[np.int64], learnt: int, delta: float) -> NDArray[np.float64]:
    """Return roughly which epsilon each event proves on the learnt part already (Wilson's bounds).

    The bounds of so few outputs are wide for rare events, which keeps lucky ones from being chosen.
    """
    low, high = _wilson(mine / learnt, learnt, -1), _wilson(other / learnt, learnt, +1)
    # What came up less than five times may be luck.
    return np.asarray(np.where(mine >= 5, np.log(np.maximum(low - delta, 1e-12) / high), -50.0))


def _wilson(share: NDArray[np.float64], size: int, side: int) -> NDArray[np.float64]:
    z = 3.5
    middle = share + z * z / (2 * size)
    spread = z * np.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return (middle + side * spread) / (1 + z * z / size)


DRAWS, DRAWS_ONE_BY_ONE = 120_000, 10_000
"""Outputs of each data set: where one call brings many, and where each needs a call of its own."""
_ZCDP_DELTAS = (1e-2, 1e-4)


@dataclass(frozen=True, repr=False, kw_only=True)
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

"""Record and replay: run on neighbours with the same noise, and compare what the noise had to hide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydplib.attack.protocols import REFUSALS, Pair
from pydplib.noise.testing import Trace, check_neighbours, record, replay

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


def _agreed(trace: Trace) -> str:
    times = "once" if len(trace.passed) == 1 else f"{len(trace.passed)} times"
    return f"Noise was asked for {times}, the same on both neighbours, and hides what moved."

"""The judge of an audit: finds the event that tells two samples apart best, and proves epsilon on fresh outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pydplib.attack._games import Coding, cells
from pydplib.attack.bounds import epsilon_at_least
from pydplib.attack.floating_point import last_digit
from pydplib.attack.protocols import Evidence, Outputs
from pydplib.errors import DataError

Look = Callable[[Outputs], NDArray[np.generic]]
_LEARN = 0.4  # the part of the outputs on which the event is chosen


@dataclass(frozen=True, slots=True)
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
        return Evidence(pair, f"{best.words}, likelier on {side}", proven, hits, len(one))


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
    return _Event(words, look, code, best[1], best[2], best[0])


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

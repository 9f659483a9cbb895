"""A small black-box auditor: the best event by sample split, and a bound on epsilon that holds by counting alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

Event = Callable[[np.ndarray], np.ndarray]


def clopper_pearson(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """Bounds of a chance, each of which fails with probability at most (1 - confidence) / 2."""
    tail = (1 - confidence) / 2
    low = stats.beta.ppf(tail, hits, trials - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - tail, hits + 1, trials - hits) if hits < trials else 1.0
    return float(low), float(high)


def lower_bound(p_hits: int, q_hits: int, p_trials: int, q_trials: int, delta: float, confidence: float) -> float:
    """The epsilon that these counts prove to be lost, with ``confidence``: ln((p - delta) / q), p low and q high."""
    p_low, _ = clopper_pearson(p_hits, p_trials, confidence)
    _, q_high = clopper_pearson(q_hits, q_trials, confidence)
    return math.log((p_low - delta) / q_high) if p_low > delta else 0.0


@dataclass(frozen=True)
class Finding:
    """What an audit found."""

    epsilon: float
    event: str

    def __str__(self) -> str:
        return f"epsilon of at least {self.epsilon:.3f} by the event: {self.event}"


def _tails_and_points(values: np.ndarray) -> list[tuple[str, Event]]:
    events: list[tuple[str, Event]] = []
    for t in np.unique(np.quantile(values, np.linspace(0.01, 0.99, 50))):
        events.append((f"output >= {t:g}", lambda x, t=t: x >= t))
        events.append((f"output <= {t:g}", lambda x, t=t: x <= t))
    points, counts = np.unique(values, return_counts=True)
    frequent = points[np.argsort(counts)[::-1][:40]]
    return [*events, *((f"output == {v:g}", lambda x, v=v: x == v) for v in frequent)]


def audit(
    first: np.ndarray,
    second: np.ndarray,
    *,
    delta: float = 0.0,
    confidence: float = 0.999,
    events: Sequence[tuple[str, Event]] = (),
) -> Finding:
    """Search the event that tells two neighbours apart best, and bound epsilon by it.

    One half of the outputs chooses the event (tails, single values, and what the caller adds), the other half
    counts it: the bound holds with ``confidence`` whatever was chosen.
    """
    train = [first[: len(first) // 2], second[: len(second) // 2]]
    test = [first[len(first) // 2 :], second[len(second) // 2 :]]
    best: tuple[float, int, str, Event] | None = None
    for name, event in [*events, *_tails_and_points(np.concatenate(train))]:
        hits = [int(np.sum(event(part))) for part in train]
        for p in (0, 1):
            # Cautious here too: of a hundred rare events, one looks good by luck.
            found = lower_bound(hits[p], hits[1 - p], len(train[p]), len(train[1 - p]), delta, 1 - 1e-6)
            if best is None or found > best[0]:
                best = (found, p, name, event)
    assert best is not None
    _, p, name, event = best
    hits = [int(np.sum(event(part))) for part in test]
    return Finding(lower_bound(hits[p], hits[1 - p], len(test[p]), len(test[1 - p]), delta, confidence), name)


class Auditor:
    """The helpers above, as one fixture.

    ``HOLDS`` is the confidence with which an innocent mechanism is never accused by these tests (false alarm below
    one in a million); ``CAUGHT`` the 99.9 % at which guilt is stated and tightness is measured.
    """

    HOLDS = 1 - 1e-6
    CAUGHT = 0.999
    audit = staticmethod(audit)
    clopper_pearson = staticmethod(clopper_pearson)
    lower_bound = staticmethod(lower_bound)


@pytest.fixture(scope="session")
def auditor() -> type[Auditor]:
    return Auditor

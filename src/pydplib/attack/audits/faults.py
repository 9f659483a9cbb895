"""Planted faults: mechanisms that claim more than they keep, as found in published libraries. Never use them.

They are the tests of the audit: whoever changes it runs ``pydplib audit --faults`` and sees each one caught.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.attack.audits.neighbours import ArrayNeighbours
from pydplib.attack.audits.protocols import Pair
from pydplib.guarantee import Guarantee, PureDP
from pydplib.mechanisms import Geometric, Laplace

_BOUNDS = (0.0, 1.0)
_FEW = 2_000  # outputs that are drawn one call at a time; these faults show in few


@dataclass(frozen=True)
class Subject:
    """Something that can be audited: what it is, what it claims, and on which neighbours it is tried.

    Attributes:
        name: One or two words, for the command line.
        words: What it does, in a sentence.
        mechanism: As ``audit`` takes it.
        claim: What it claims.
        neighbours: Pairs of data sets; None where the mechanism knows its worst ones.
        draws: Outputs of each data set; None for the audit's own choice.
        tight: Whether the claim wastes nothing on these neighbours, so that the audit should come near it.

    Examples:
        >>> from pydplib.mechanisms import Geometric
        >>> Subject("count", "A noisy count.", mechanism=Geometric(1, 1.0), claim=PureDP(1.0), tight=True).name
        'count'
    """

    name: str
    words: str
    _: KW_ONLY
    mechanism: Any
    claim: Guarantee
    neighbours: Callable[[], Any] | None = None
    tight: bool = False
    draws: int | None = None


class FloatLaplace:
    """Laplace noise in floating point: the low-order bits tell the value (Mironov 2012).

    Examples:
        >>> FloatLaplace(epsilon=1.0, seed=1).sample(0.0, 3).shape
        (3,)
    """

    def __init__(self, *, epsilon: float, seed: int | None = None) -> None:
        self._scale = 1 / epsilon
        self._rng = np.random.default_rng(seed)

    def sample(self, data: float, size: int) -> NDArray[np.float64]:
        """Return the value plus ordinary noise."""
        return data + self._rng.laplace(0.0, self._scale, size)


def faults(epsilon: float = 1.0, *, seed: int | None = None) -> list[Subject]:
    """Return mechanisms with a planted fault, each claiming ``epsilon``.

    Examples:
        >>> [fault.name for fault in faults()][:2]
        ['half-scale', 'float-noise']
    """
    claim = PureDP(epsilon)
    columns = ArrayNeighbours(bounds=_BOUNDS, size=10)
    scalar = [Pair(0.0, 1.0, "the value moves by the sensitivity")]

    in_floats = FloatLaplace(epsilon=epsilon, seed=seed)

    def bounds_from_data(values: Any) -> float:
        low, high = float(np.min(values)), float(np.max(values))
        width = max(high - low, 1e-6)
        return float(Laplace(width / len(values), epsilon).release(float(np.mean(values))))

    def unclamped(values: Any) -> float:
        return float(Laplace(1.0, epsilon).release(float(np.sum(values))))

    def size_in_the_open(values: Any) -> float:
        # R / n under add/remove: n itself is private there (smartnoise-core 356).
        clamped = np.clip(values, *_BOUNDS)
        return float(Laplace(1.0 / len(values), epsilon).release(float(clamped.mean())))

    def forgets_the_rows(values: Any) -> int:
        return int(Geometric(1, epsilon).release(len(values)))

    return [
        Subject("half-scale", "Noise for half the sensitivity.", mechanism=Laplace(0.5, epsilon), claim=claim,
        neighbours=lambda: scalar),
        Subject("float-noise", "Laplace noise in floating point.", mechanism=in_floats, claim=claim,
        neighbours=lambda: scalar),
        Subject("data-bounds", "A mean whose bounds come from the data.", mechanism=bounds_from_data, claim=claim,
        neighbours=columns, draws=_FEW),
        Subject("unclamped", "A sum whose values are not clamped.", mechanism=unclamped, claim=claim,
        neighbours=columns, draws=_FEW),
        Subject("open-size", "A mean with noise for R / n, n private.", mechanism=size_in_the_open, claim=claim,
        neighbours=columns, draws=_FEW),
        Subject(
            "rows-for-persons",
            "A count of rows with noise for one row, where one person has three.",
            mechanism=forgets_the_rows,
            claim=claim,
            neighbours=lambda: [Pair(np.zeros(9), np.zeros(6), "one person with three rows leaves")],
            draws=_FEW,
        ),
    ]  # fmt: skip

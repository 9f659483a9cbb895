"""For tests, attacks and experiments only: repeatable bits, and the recording of noise calls.

Nothing here can reach a release: mechanisms and sessions take no source, and the
import rules forbid this module in every room that releases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.noise.samplers import exponential_choices, flip_choices
from pydplib.noise.tap import Answer, NoiseCall, Tap, _seeded, _through, current_tap


class SeededSource:
    """A repeatable stream of bytes: same seed, same bytes. Never for data of real people.

    Examples:
        >>> from pydplib.noise import random_bytes
        >>> random_bytes(4, source=SeededSource(1)) == random_bytes(4, source=SeededSource(1))
        True
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Fill a one-dimensional, contiguous array with bytes of the stream."""
        out[:] = np.frombuffer(self._generator.bytes(len(out)), dtype=np.uint8)


@dataclass(frozen=True)
class Passed:
    """One noise call as it passed: the public parameters, the exact input and the noisy output."""

    call: NoiseCall
    exact: NDArray[np.int64]
    output: Any


@dataclass
class NoiseTrace:
    """All noise calls of one run, in order."""

    passed: list[Passed] = field(default_factory=list)

    def fingerprint(self) -> str:
        """Return a short hash of the public parameters, equal for equal control flow."""
        return hashlib.sha256(repr([p.call for p in self.passed]).encode()).hexdigest()[:16]


@contextmanager
def listen(tap: Tap) -> Iterator[None]:
    """Let a tap hear all noise that is drawn inside."""
    token = current_tap.set(tap)
    try:
        yield
    finally:
        current_tap.reset(token)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw the noise of every call in this context from a repeatable stream: for attacks and experiments.

    Examples:
        >>> from pydplib.mechanisms import Geometric
        >>> def draw() -> int:
        ...     with seeded(7):
        ...         return Geometric(sensitivity=1, epsilon=0.1).release(920)
        >>> draw() == draw()
        True
    """
    source = SeededSource(seed)
    token = _seeded.set(True)
    try:
        with listen(lambda call, exact, answer: answer(source)):
            yield
    finally:
        _seeded.reset(token)


@contextmanager
def record() -> Iterator[NoiseTrace]:
    """Record every noise call in this context.

    Examples:
        >>> from fractions import Fraction
        >>> from pydplib.noise.tap import add_laplace
        >>> with record() as trace:
        ...     _ = add_laplace(np.array([3]), Fraction(2), sensitivity=1)
        >>> trace.passed[0].call.epsilon
        0.5
    """
    trace = NoiseTrace()

    def tap(call: NoiseCall, exact: NDArray[np.int64], answer: Answer) -> Any:
        output = answer(None)
        trace.passed.append(Passed(call, np.array(exact), output))
        return output

    with listen(tap):
        yield trace


@contextmanager
def replay(first: NoiseTrace) -> Iterator[NoiseTrace]:
    """Run again with the outputs of ``first``, recording the new exact inputs.

    Raises:
        AssertionError: If a call differs in its public parameters, or there are more of them.
    """
    second = NoiseTrace()

    def tap(call: NoiseCall, exact: NDArray[np.int64], answer: Answer) -> Any:
        position = len(second.passed)
        if position >= len(first.passed):
            raise AssertionError("the second run asks for more noise than the first")
        expected = first.passed[position]
        if call != expected.call:
            raise AssertionError(f"noise call {position} differs: {expected.call} became {call}")
        second.passed.append(Passed(call, np.array(exact), expected.output))
        return expected.output

    with listen(tap):
        yield second


def check_neighbours(first: NoiseTrace, second: NoiseTrace) -> None:
    """Check that two traces of neighbouring runs agree in all but the noise's due.

    Raises:
        AssertionError: If the exact values moved by more than a call's sensitivity, or monotone scores both ways.
    """
    if len(first.passed) != len(second.passed):
        raise AssertionError("the two runs ask for noise a different number of times")
    for position, (a, b) in enumerate(zip(first.passed, second.passed, strict=True)):
        if a.call != b.call:
            raise AssertionError(f"noise call {position} differs: {a.call} against {b.call}")
        if a.exact.shape != b.exact.shape:
            raise AssertionError(f"noise call {position} has another shape in the second run")
        steps = [int(y) - int(x) for x, y in zip(a.exact.ravel(), b.exact.ravel(), strict=True)]
        if a.call.monotone and min(steps, default=0) < 0 < max(steps, default=0):
            raise AssertionError(f"noise call {position} claims monotone scores; they moved in both directions")
        moved = [abs(step) for step in steps]
        if a.call.kind == "laplace":
            distance = sum(moved)
        elif a.call.kind == "pair":
            distance = pair_distance(steps, a.call.first, a.exact.shape)
        elif a.call.kind == "gaussian":
            distance = sum(d * d for d in moved)
        elif a.call.kind in ("response", "coin_flip", "flip"):
            distance = sum(d != 0 for d in moved)
        else:
            distance = max(moved, default=0)
        if distance > a.call.sensitivity:
            raise AssertionError(
                f"noise call {position} claims sensitivity {a.call.sensitivity}; the values moved by {distance}"
            )


def pair_distance(steps: list[int], first: int, shape: tuple[int, ...]) -> int:
    """Return how far two tables that share an axis have moved: by block, the larger of the two sums of magnitudes.

    Args:
        steps: What every cell has moved by, block after block, the cells of the first table first.
        first: How many cells of a block are those of the first table.
        shape: Blocks, and cells of a block.

    Raises:
        AssertionError: If the tables of a block moved by different sums: the noise does not hide that.
    """
    blocks, cells = shape
    total = 0
    for block in range(blocks):
        own = steps[block * cells : (block + 1) * cells]
        if sum(own[:first]) != sum(own[first:]):
            raise AssertionError(f"the two tables moved by different sums in block {block}")
        total += max(sum(map(abs, own[:first])), sum(map(abs, own[first:])))
    return total


def choose_often(call: NoiseCall, scores: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return ``size`` independent choices as a recorded call of ``choose`` or ``flip_and_choose`` makes one.

    For audits; each choice costs its own epsilon.

    Examples:
        >>> from fractions import Fraction
        >>> call = NoiseCall("choice", 2, Fraction(1), 1)
        >>> choose_often(call, np.array([0, 50]), 3).tolist()
        [1, 1, 1]
    """
    draw = flip_choices if call.kind == "flip_choice" else exponential_choices
    return np.asarray(_through(call, scores, lambda source: draw(scores, call.scale, size, source=source)))

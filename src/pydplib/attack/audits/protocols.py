"""The three small parts of an audit: what is run, on which neighbours, and who judges the outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, ParameterError, PydplibError
from pydplib.mechanisms import CoinFlip, Gaussian, Geometric, Laplace, RandomizedResponse
from pydplib.mechanisms.choice import Exponential, PermuteAndFlip
from pydplib.noise.tap import add_gaussian, add_laplace, add_pair, flip_coins, flip_values, respond
from pydplib.noise.testing import Passed, choose_often, record

Outputs = NDArray[Any]
REFUSALS = (PydplibError, ArithmeticError, LookupError, ValueError)
"""Errors that data can cause: an output like any other, and one that can give somebody away."""


@dataclass(frozen=True)
class Pair:
    """Two data sets that differ in one person, and what is special about them.

    Examples:
        >>> Pair(0.0, 1.0, "the value moves by the sensitivity").words
        'the value moves by the sensitivity'
    """

    first: Any
    second: Any
    words: str = ""


@runtime_checkable
class Mechanism(Protocol):
    """What is audited: many independent outputs for one data set, numbers or rows of numbers.

    Examples:
        >>> class Constant:
        ...     def sample(self, data, size):
        ...         return np.zeros(size)
        >>> isinstance(Constant(), Mechanism)
        True
    """

    def sample(self, data: Any, size: int) -> Outputs:
        """Return ``size`` outputs: one per row."""
        ...


class Neighbours(Protocol):
    """Where neighbouring data sets come from.

    Examples:
        >>> neighbours: Neighbours = lambda: [Pair([1, 2, 3], [1, 2], "the last person leaves")]
        >>> [pair.words for pair in neighbours()]
        ['the last person leaves']
    """

    def __call__(self) -> Iterable[Pair]:
        """Return the pairs to try."""
        ...


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What one pair of neighbours showed.

    Attributes:
        pair: What was special about the neighbours.
        event: What the outputs were asked, in words.
        epsilon_at_least: What is proven about epsilon, with the audit's confidence.
        hits: How often the event came up on the one and on the other data set.
        draws: How many outputs were judged, of each.

    Examples:
        >>> Evidence(pair="one person leaves", event="the value", epsilon_at_least=0.9, hits=(500, 190),
        ...     draws=1000).shares
        (0.5, 0.19)
    """

    pair: str
    event: str
    epsilon_at_least: float
    hits: tuple[int, int]
    draws: int

    @property
    def shares(self) -> tuple[float, float]:
        """How often the event came up on either data set, as shares."""
        return self.hits[0] / self.draws, self.hits[1] / self.draws


class PropertyTester(Protocol):
    """Who judges: the largest epsilon that two samples prove, unless an event of probability ``chance`` happened.

    Examples:
        >>> from pydplib.attack import EventTester
        >>> tester: PropertyTester = EventTester()
        >>> tester(np.zeros(50), np.zeros(50), delta=0.0, chance=0.01, pair="equal").epsilon_at_least
        0.0
    """

    def __call__(self, first: Outputs, second: Outputs, *, delta: float, chance: float, pair: str) -> Evidence:
        """Return the evidence."""
        ...


@dataclass(frozen=True)
class _Loop:
    """A function called again and again: the way to audit anything."""

    function: Callable[[Any], Any]
    slow: bool = True

    def sample(self, data: Any, size: int) -> Outputs:
        outputs = [self._one(data) for _ in range(size)]
        if len({np.shape(output) for output in outputs}) == 1:
            return np.array(outputs)
        ragged = np.empty(size, dtype=object)
        ragged[:] = outputs
        return ragged

    def _one(self, data: Any) -> Any:
        try:
            return plain_output(self.function(data))
        except REFUSALS:
            return math.nan  # that nothing came out is seen by whoever asked


@dataclass(frozen=True)
class _Elementwise:
    """A mechanism that treats every entry of an array by itself: one call brings all outputs."""

    release: Callable[[Any], Any]

    def sample(self, data: Any, size: int) -> Outputs:
        return np.asarray(self.release(np.full(size, data)))


@dataclass(frozen=True)
class AtTap:
    """A release of the library, sampled where its noise is drawn: the release runs once, its noise many times.

    What comes after the noise is post-processing and can only hide more, so that an audit of these
    outputs is at least as strict, and a thousand times faster than calling the release for each output. For
    releases whose exact values do not depend on earlier noisy ones, as all of this library.

    Args:
        release: A function of the data whose noise passes ``pydplib.noise.tap``.

    Examples:
        >>> from pydplib.release import count
        >>> AtTap(lambda column: count(column, epsilon=1.0)).sample([1, 2, 3], 5).shape
        (5,)
    """

    release: Callable[[Any], Any]

    def sample(self, data: Any, size: int) -> Outputs:
        """Return the noisy integers of every noise call, ``size`` times."""
        with record() as trace:
            self.release(data)
        if not trace.passed:
            raise ParameterError("No noise passed the library's tap: audit the function itself, without AtTap.")
        columns = np.concatenate([_noisy(passed, size) for passed in trace.passed], axis=1)
        return columns[:, 0] if columns.shape[1] == 1 else columns


def _noisy(passed: Passed, size: int) -> Outputs:
    """Return the outputs of one noise call, drawn again ``size`` times: outputs x numbers."""
    call, exact = passed.call, passed.exact.reshape(-1)
    many = np.tile(exact, size)
    if call.kind == "laplace":
        return add_laplace(many, call.scale, sensitivity=call.sensitivity).reshape(size, -1)
    if call.kind == "pair":
        blocks = np.tile(passed.exact, (size, 1))
        both = add_pair(blocks[:, : call.first], blocks[:, call.first :], call.scale, sensitivity=call.sensitivity)
        return np.concatenate(both, axis=1).reshape(size, -1)
    if call.kind == "gaussian":
        return add_gaussian(many, call.scale, sensitivity_squared=call.sensitivity).reshape(size, -1)
    if call.kind == "response":
        return respond(many, call.scale, categories=call.values).reshape(size, -1)
    if call.kind == "coin_flip":
        return flip_coins(many).reshape(size, -1)
    if call.kind == "flip":
        return flip_values(many, call.scale).reshape(size, -1)
    return choose_often(call, exact, size)[:, np.newaxis]


def as_mechanism(mechanism: Any) -> Any:
    """Return something with ``sample``: of a mechanism of the library, of ``release``, or of a plain function.

    Examples:
        >>> from pydplib.mechanisms import Geometric
        >>> as_mechanism(Geometric(sensitivity=1, epsilon=1.0)).sample(5, 3).shape
        (3,)
        >>> as_mechanism(lambda data: sum(data)).sample([1, 2], 2).tolist()
        [3, 3]
    """
    if isinstance(mechanism, Mechanism):
        return mechanism
    if isinstance(mechanism, Laplace):
        return _Elementwise(replace(mechanism, max_changes=1).release)
    if isinstance(mechanism, Geometric | Gaussian | CoinFlip | RandomizedResponse):
        return _Elementwise(mechanism.release)
    if isinstance(mechanism, Exponential | PermuteAndFlip):
        return AtTap(mechanism.release)
    function = getattr(mechanism, "release", mechanism)
    if not callable(function):
        raise ParameterError(
            "An audit needs a mechanism with release(), an object with sample(data, size), or a function of the data. "
            f"Got {type(mechanism).__name__}."
        )
    return _Loop(function)


def same_shape(first: Outputs, second: Outputs) -> tuple[Outputs, Outputs]:
    """Return two samples that can be compared: where numbers of numbers differ, these are what is compared.

    Raises:
        DataError: Nothing came out on either data set.

    Examples:
        >>> one, two = same_shape(np.zeros((3, 2)), np.array([np.nan] * 3))
        >>> one.tolist(), two.tolist()
        ([2, 2, 2], [-1, -1, -1])
    """
    if not any(_sizes(sample).max(initial=-1) >= 0 for sample in (first, second)):
        raise DataError("The mechanism gave no output on either data set: it refused, failed, or returned nothing.")
    shapes = {np.shape(one) for sample in (first, second) if sample.dtype == object for one in sample}
    if first.shape[1:] == second.shape[1:] and shapes <= {()}:  # whole numbers of any length are objects, too
        return first, second
    return _sizes(first), _sizes(second)


def _sizes(sample: Outputs) -> NDArray[np.int64]:
    """Return how many numbers every output has; -1 where nothing came out."""
    if sample.dtype != object:
        if sample.ndim == 1:
            return np.where(np.isnan(sample) if sample.dtype.kind == "f" else False, -1, 1)
        return np.full(len(sample), sample[0].size if len(sample) else 0)
    return np.array([-1 if np.ndim(one) == 0 and one != one else np.size(one) for one in sample], dtype=np.int64)


def plain_output(output: Any) -> Any:
    """Return a release's values, a paper-mode result's data, or the output as it is: numbers or an array of them."""
    for field in ("values", "dp_data"):
        inner = getattr(output, field, None)
        if inner is not None and not callable(inner):
            output = inner
            break
    if output is None:
        return math.nan
    array = np.asarray(output)
    return array.reshape(()).item() if array.size == 1 else array.reshape(-1)

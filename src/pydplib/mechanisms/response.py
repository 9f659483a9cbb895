"""Randomised answers of single records: categories, yes/no, and the coin flip."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.errors import CalibrationError, DataError, ParameterError
from pydplib.guarantee import LocalDP
from pydplib.mechanisms._common import (
    as_array,
    check_confidence,
    check_margin,
    check_positive,
    like_input,
    solve_epsilon,
)
from pydplib.noise.tap import flip_coins, respond
from pydplib.schema import Scalar


@dataclass(frozen=True)
class RandomizedResponse:
    """Categories of single records: kept with probability e^epsilon / (e^epsilon + k - 1), else another at random.

    Proof: For any output v, the chance is p = e^epsilon / (e^epsilon + k - 1) if the true value
    is v and (1 - p) / (k - 1) = p / e^epsilon otherwise: the ratio is e^epsilon. The coin is exact.

    Args:
        categories: The public values, at least two.
        epsilon: The privacy loss of one record, positive; there is no default.

    Examples:
        >>> mechanism = RandomizedResponse([1, 2, 3, 4, 5], epsilon=2.0)
        >>> mechanism.release(3) in (1, 2, 3, 4, 5)
        True
        >>> round(mechanism.flip_probability, 3)
        0.351
    """

    categories: tuple[Scalar, ...]
    epsilon: float | Fraction

    def __init__(self, categories: Iterable[Scalar] = (False, True), epsilon: float | Fraction | None = None) -> None:
        object.__setattr__(self, "categories", tuple(categories))
        object.__setattr__(self, "epsilon", epsilon)
        if len(self.categories) < 2 or len(set(self.categories)) != len(self.categories):
            raise ParameterError("RandomizedResponse needs at least two different categories.")
        check_positive("epsilon", epsilon)

    @property
    def flip_probability(self) -> float:
        """The chance that a record's value is exchanged for another."""
        others = len(self.categories) - 1
        return others / (math.exp(min(float(self.epsilon), 700.0)) + others)

    @property
    def scale(self) -> float:
        """The chance that a record's value is exchanged for another: what plays the part of a scale here."""
        return self.flip_probability

    @property
    def guarantee(self) -> LocalDP:
        """What a release guarantees."""
        return LocalDP(float(self.epsilon))

    def margin(self, records: int, confidence: float = 0.95) -> float:
        """Return the half-width of a debiased share of one category among that many records, in share.

        Hoeffding's bound divided by the contrast p - q between keeping and being hit by chance.
        """
        if records < 1:
            raise ParameterError("A margin needs at least one record.")
        return math.sqrt(math.log(2 / (1 - check_confidence(confidence))) / (2 * records)) / self._contrast

    def margin95(self, records: int) -> float:
        """Return the 95 % margin of a debiased share among that many records."""
        return self.margin(records, 0.95)

    @classmethod
    def from_flip_probability(cls, flip: float, categories: Sequence[Scalar] = (False, True)) -> RandomizedResponse:
        """Return the mechanism that exchanges a share ``flip`` of the values: epsilon = ln((1 - flip)(k - 1) / flip).

        Examples:
            >>> round(RandomizedResponse.from_flip_probability(0.15).epsilon, 2)
            1.73
        """
        others = len(categories) - 1
        if others < 1:
            raise ParameterError("RandomizedResponse needs at least two different categories.")
        if not 0 < flip < others / (others + 1):
            raise ParameterError("flip must be positive and below (k - 1) / k, where nothing would be left.")
        return cls(categories, math.log((1 - flip) * others / flip))

    @classmethod
    def from_margin(
        cls, margin: float, *, records: int, categories: Sequence[Scalar] = (False, True), confidence: float = 0.95
    ) -> RandomizedResponse:
        """Return the mechanism with the smallest epsilon whose debiased shares have at most that margin."""
        return cls(categories, solve_epsilon(lambda e: cls(categories, e).margin(records, confidence), margin))

    @property
    def _contrast(self) -> float:
        """The chance of keeping a value less that of being exchanged for it; small epsilons keep their digits."""
        growth = math.expm1(min(float(self.epsilon), 700.0))
        return growth / (growth + len(self.categories))

    @cached_property
    def _codes(self) -> dict[Scalar, int]:
        return {value: code for code, value in enumerate(self.categories)}

    def release(self, values: Any) -> Any:
        """Return the value or the list of values, each kept or exchanged by chance.

        A single value comes back as a value, an array as an array, any other sequence as a list.
        """
        single = isinstance(values, str) or as_array(values).ndim == 0
        if isinstance(values, np.ndarray) and single:
            values = values.item()
        items = [values] if single else list(np.asarray(values, dtype=object).ravel())
        try:
            codes = np.array([self._codes[_plain(item)] for item in items], dtype=np.int64)
        except (KeyError, TypeError):
            raise DataError(
                "Some values are not among the declared categories. Declare them, or map them to 'other' first."
            ) from None
        noisy = [self.categories[code] for code in self.release_codes(codes)]
        if single:
            return noisy[0]
        if not isinstance(values, np.ndarray):
            return noisy
        # Mixed categories stay what they are: NumPy would turn numbers next to texts into texts.
        mixed = values.dtype == object or len({isinstance(value, str) for value in self.categories}) > 1
        return np.array(noisy, dtype=object if mixed else None).reshape(values.shape)

    def release_codes(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return category codes 0 .. k-1, each kept or exchanged by chance.

        Raises:
            DataError: If a code is not one of these; it would give itself away when kept.
        """
        codes = np.asarray(codes)
        if codes.dtype.kind not in "iu" or codes.ndim != 1:
            raise DataError("Category codes are a list of whole numbers from 0 to k - 1.")
        if codes.size and not (int(codes.min()) >= 0 and int(codes.max()) < len(self.categories)):
            raise DataError("Some codes are not among the declared categories, 0 to k - 1.")
        return respond(codes.astype(np.int64), check_positive("epsilon", self.epsilon), categories=len(self.categories))

    def debias(self, shares: ArrayLike) -> NDArray[np.float64]:
        """Return unbiased estimates of the true shares from the shares among released values.

        Examples:
            >>> RandomizedResponse([0, 1], epsilon=1.0986122886681098).debias([0.5, 0.5]).round(6).tolist()
            [0.5, 0.5]
        """
        observed = np.asarray(shares, dtype=np.float64)
        hit = self.flip_probability / (len(self.categories) - 1)
        return (observed - hit) / self._contrast


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class CoinFlip:
    """Yes/no by two coins: heads, tell the truth; tails, toss again and answer by that coin.

    The classic of survey research (Warner 1965), with fair coins: the truth is told with
    probability 3/4.

    Proof: P(yes | yes) = 3/4 and P(yes | no) = 1/4, so the ratio is 3: epsilon = ln 3, exactly.

    Examples:
        >>> round(CoinFlip().epsilon, 4)
        1.0986
        >>> CoinFlip().release(True) in (True, False)
        True
    """

    @property
    def epsilon(self) -> float:
        """Ln 3."""
        return math.log(3)

    @property
    def flip_probability(self) -> float:
        """One quarter."""
        return 0.25

    @property
    def scale(self) -> float:
        """One quarter: the chance of a flipped answer plays the part of a scale here."""
        return 0.25

    @property
    def guarantee(self) -> LocalDP:
        """What a release guarantees."""
        return LocalDP(math.log(3))

    def margin(self, records: int, confidence: float = 0.95) -> float:
        """Return the half-width of a debiased share of "yes" among that many records."""
        return RandomizedResponse((False, True), math.log(3)).margin(records, confidence)

    def margin95(self, records: int) -> float:
        """Return the 95 % margin of a debiased share of "yes"."""
        return self.margin(records, 0.95)

    @classmethod
    def from_margin(cls, margin: float, *, records: int, confidence: float = 0.95) -> CoinFlip:
        """Return the coin flip if its fixed epsilon of ln 3 reaches the margin.

        Examples:
            >>> CoinFlip.from_margin(0.1, records=920)
            CoinFlip()

        Raises:
            CalibrationError: If it does not; randomised response can spend more.
        """
        if cls().margin(records, confidence) > check_margin(margin):
            raise CalibrationError(
                "Two fair coins have a fixed epsilon of ln 3, which does not reach a margin that small. "
                "Ask more records, or use RandomizedResponse.from_margin with a larger epsilon."
            )
        return cls()

    def debias(self, share: float) -> float:
        """Return the unbiased estimate of the true share of "yes" from the share among released answers."""
        return 2 * share - 0.5

    def release(self, values: Any) -> Any:
        """Return the answer or the array of answers after two coins each."""
        truth = as_array(values)
        if truth.dtype.kind not in "biu" or not np.isin(truth, (0, 1)).all():
            raise DataError("CoinFlip needs yes/no values: True, False, 1 or 0.")
        answers = flip_coins(truth.reshape(-1).astype(np.int64)).astype(np.bool_)
        return like_input(values, answers.reshape(truth.shape))

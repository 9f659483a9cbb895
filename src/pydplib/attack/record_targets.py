"""Targets that hand out noisy records: home-made noise, the coin flip, and paper mode."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pydplib.attack._clock import check_time
from pydplib.attack.targets import Floats, Generator, Target, draw_seed, laplace_likelihood
from pydplib.errors import ParameterError
from pydplib.mechanisms import CoinFlip
from pydplib.noise.grid import laplace_records
from pydplib.noise.testing import seeded

_AT_ONCE = 1 << 22  # noisy records in memory at a time
_MOST_CALLS = 200  # fresh releases that one attack on many sums asks for


class RecordTarget(Target):
    """A holder who makes every record noisy; whoever gets the records computes what he likes."""

    @abstractmethod
    def records(self, values: Floats, calls: int, rng: Generator) -> Floats:
        """Return the records of ``calls`` releases: releases x people."""

    @abstractmethod
    def record_error(self) -> float:
        """Return the standard deviation of the noise of one record, as the attacker corrects it."""

    def _blocks(self, values: Floats, calls: int, rng: Generator) -> Iterator[tuple[slice, Floats]]:
        step = max(1, _AT_ONCE // max(len(values), 1))
        for start in range(0, calls, step):
            rows = slice(start, min(start + step, calls))
            yield rows, self.records(values, rows.stop - start, rng)

    def sums(self, values: Floats, subsets: NDArray[np.bool_], rng: Generator) -> Floats:
        """Return sums of noisy records; each question looks at a fresh release (of up to 200)."""
        releases = self.records(values, min(len(subsets), _MOST_CALLS), rng)
        out = np.empty(len(subsets))
        for call in range(len(releases)):
            out[call :: len(releases)] = subsets[call :: len(releases)].astype(np.float64) @ releases[call]
        return out

    def sum_error(self, sizes: Floats) -> Floats:
        """Return the standard deviation of a sum of so many noisy records."""
        return self.record_error() * np.sqrt(sizes)

    def means(self, values: Floats, size: int, rng: Generator, *, people: int | None = None) -> Floats:
        """Return the mean of the noisy records, released ``size`` times."""
        out = np.empty(size)
        for rows, block in self._blocks(values, size, rng):
            out[rows] = block.mean(axis=1)
        return out

    def about_each(self, values: Floats, calls: int, rng: Generator) -> Floats:
        """Return every person's record from ``calls`` releases with fresh noise."""
        return self.records(values, calls, rng)

    def column_sums(self, table: Floats, rng: Generator) -> Floats:
        """Return the column sums of one noisy table."""
        return np.asarray(self.records(table.reshape(-1), 1, rng).reshape(table.shape).sum(axis=0))


@dataclass(frozen=True)
class NaiveUniform(RecordTarget):
    """Uniform noise of -width to width on every record, as the second paper's "naive uniform".

    Its support is bounded: an output outside [x - width, x + width] excludes x for certain, so no finite
    epsilon holds.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> bool(np.abs(NaiveUniform().records(np.zeros(5), 3, rng)).max() <= 1)
        True
    """

    width: float = 1.0

    @property
    def name(self) -> str:
        """What is attacked."""
        return "naive uniform noise"

    def records(self, values: Floats, calls: int, rng: Generator) -> Floats:
        """Return records plus uniform noise."""
        noisy = rng.random((calls, len(values)))
        noisy *= 2 * self.width
        noisy += values - self.width
        return noisy

    def record_error(self) -> float:
        """Return width / sqrt(3)."""
        return self.width / math.sqrt(3)

    def log_likelihood(self, observed: Floats, candidates: Floats) -> Floats:
        """Return -infinity for every candidate that one of the answers excludes."""
        low, high = observed.max(axis=0) - self.width, observed.min(axis=0) + self.width
        out = np.full((observed.shape[1], len(candidates)), -np.inf)
        out[(candidates >= low[:, np.newaxis]) & (candidates <= high[:, np.newaxis])] = 0.0
        # No candidate of the list may be left: then the nearest to the middle of what is.
        lost = np.flatnonzero(~np.isfinite(out).any(axis=1))
        middle = (low + high)[lost] / 2
        out[lost, np.abs(middle[:, np.newaxis] - candidates).argmin(axis=1)] = 0.0
        return out


@dataclass(frozen=True)
class NaiveGaussian(RecordTarget):
    """Gaussian noise of a fixed standard deviation on every record, as the second paper's "naive Gaussian".

    Examples:
        >>> NaiveGaussian().records(np.zeros(4), 2, np.random.default_rng(1)).shape
        (2, 4)
    """

    deviation: float = 1.0

    @property
    def name(self) -> str:
        """What is attacked."""
        return "naive Gaussian noise"

    def records(self, values: Floats, calls: int, rng: Generator) -> Floats:
        """Return records plus Gaussian noise."""
        noisy = rng.standard_normal((calls, len(values)))
        noisy *= self.deviation
        noisy += values
        return noisy

    def record_error(self) -> float:
        """Return the standard deviation."""
        return self.deviation

    def log_likelihood(self, observed: Floats, candidates: Floats) -> Floats:
        """Return the log density of Gaussian noise."""
        mean, count = observed.mean(axis=0), len(observed)
        gap = mean[:, np.newaxis] - candidates
        return np.asarray(-count * gap * gap / (2 * self.deviation**2))


@dataclass(frozen=True)
class CoinFlips(RecordTarget):
    """Every yes or no answered by two coins: heads the truth, tails what the second coin says.

    Real randomised response: epsilon is ln 3 per answer, and asking again brings the same answer. Sums are
    corrected for the coins, as every user of such a survey does. The PyDPLib paper names the weakness of coins that
    are tossed again at every call: ``kept=False`` shows it.

    Args:
        kept: Whether an answer is given once and kept. If not, every call adds ln 3, and nothing is guaranteed.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> sorted(set(CoinFlips().records(np.ones(50), 1, rng).ravel().tolist()))
        [-0.5, 1.5]
    """

    kept: bool = True

    @property
    def name(self) -> str:
        """What is attacked."""
        return "coin flip" if self.kept else "coin flip, tossed again at every call"

    @property
    def epsilon(self) -> float:
        """Ln 3 for one answer."""
        return math.log(3)

    def exchanged_epsilon(self, columns: int = 1) -> float:
        """Return ln 3 for every answer that one person gives."""
        return columns * self.epsilon

    def records(self, values: Floats, calls: int, rng: Generator) -> Floats:
        """Return corrected answers, -1/2 or 3/2, the same in every call if they are kept."""
        truth = values.astype(np.int64) != 0
        with seeded(draw_seed(rng)):
            asked = truth if self.kept else np.tile(truth, calls)
            answers = np.asarray(CoinFlip().release(asked), dtype=np.float64)
        return np.broadcast_to(2 * answers.reshape(-1, len(values)) - 0.5, (calls, len(values)))

    def means(self, values: Floats, size: int, rng: Generator, *, people: int | None = None) -> Floats:
        """Return the corrected share of yes in ``size`` surveys of the same people."""
        out = np.empty(size)
        step = max(1, _AT_ONCE // max(len(values), 1))
        for start in range(0, size, step):
            count = min(step, size - start)
            out[start : start + count] = self.records(np.tile(values, count), 1, rng).reshape(count, -1).mean(axis=1)
        return out

    def about_each(self, values: Floats, calls: int, rng: Generator) -> Floats:
        """Return one row if answers are given once, else one per call."""
        return self.records(values, 1 if self.kept else calls, rng)

    def record_error(self) -> float:
        """Return the standard deviation of a corrected answer."""
        return math.sqrt(3) / 2

    def log_likelihood(self, observed: Floats, candidates: Floats) -> Floats:
        """Return, summed over the answers, ln 3/4 for the candidate that agrees and ln 1/4 for the other."""
        answers = observed[:1] if self.kept else observed
        yes = (answers > 0.5).sum(axis=0)[:, np.newaxis]
        agreeing = np.where(candidates > 0.5, yes, len(answers) - yes)
        return np.asarray(agreeing * math.log(0.75) + (len(answers) - agreeing) * math.log(0.25))


@dataclass(frozen=True)
class PaperMode(RecordTarget):
    """``dp_calculate`` as the PyDPLib paper describes it: fresh noise on every record at every call.

    The scale is what ``dp_calculate`` itself chooses for the column. Values of 0 and 1 are treated as yes
    and no, and sums of them are corrected for the flips.

    Args:
        noise_factor: ``"low"``, ``"medium"`` or ``"high"``.
        is_range: Fit the noisy values to the range of the data (Eq. 4).

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> PaperMode("high").records(np.linspace(50.0, 80.0, 31), 2, rng).shape
        (2, 31)
    """

    noise_factor: str
    is_range: bool = False
    scale: float | None = None
    flags: bool = False

    @property
    def name(self) -> str:
        """What is attacked."""
        return f"paper mode, {self.noise_factor}{', fitted' if self.is_range else ''}"

    def facing(self, values: Floats) -> PaperMode:
        """Return the target with the column's scale: paper mode prints epsilon and sensitivity beside the data."""
        if self.scale is not None:
            return self
        from pydplib.paper import dp_calculate

        flags = bool(np.isin(values, (0.0, 1.0)).all())
        result = dp_calculate(values != 0 if flags else values, "mean", self.noise_factor, is_range=self.is_range)
        return replace(self, scale=float(result.scale), flags=flags)

    @property
    def _flip(self) -> float:
        """The chance that a yes or no is flipped."""
        return math.exp(-1 / (2 * self._known_scale)) / 2

    @property
    def _known_scale(self) -> float:
        if self.scale is None:
            raise ParameterError("Paper mode takes its scale from the column: call facing(values) first.")
        return self.scale

    def records(self, values: Floats, calls: int, rng: Generator) -> Floats:
        """Return the records of ``calls`` calls."""
        from pydplib.paper import dp_calculate
        from pydplib.paper.mechanism import flip

        target = self.facing(values)
        with seeded(draw_seed(rng)):
            if target.is_range:
                # Eq. 4 looks at the whole column, so each call is made for itself.
                columns = np.empty((calls, len(values)))
                for call in range(calls):
                    check_time()
                    columns[call] = dp_calculate(values, "mean", self.noise_factor, is_range=True).dp_data
                return columns
            many = np.tile(values, calls)
            if target.flags:
                told = flip(many != 0, target._known_scale).astype(np.float64)
                return ((told - target._flip) / (1 - 2 * target._flip)).reshape(calls, -1)
            return laplace_records(many, target._known_scale).reshape(calls, -1)

    def record_error(self) -> float:
        """Return the standard deviation of one record's noise."""
        if self.flags:
            return math.sqrt(self._flip * (1 - self._flip)) / (1 - 2 * self._flip)
        return math.sqrt(2) * self._known_scale

    def straighten(self, observed: Floats, mean: float, deviation: float) -> Floats:
        """Undo the fit to a range (Eq. 4), which moves and squeezes every column as a whole.

        A column of noisy values has the mean of the population and its variance plus that of the noise; where the
        released column has others, that was the fit.
        """
        if not self.is_range or self.flags:
            return observed
        spread = math.sqrt(deviation**2 + 2 * self._known_scale**2)
        squeezed = np.maximum(observed.std(axis=1, keepdims=True), 1e-12)
        return np.asarray(mean + (observed - observed.mean(axis=1, keepdims=True)) * (spread / squeezed))

    def log_likelihood(self, observed: Floats, candidates: Floats) -> Floats:
        """Return the log density of Laplace noise, or of flips."""
        if not self.flags:
            return laplace_likelihood(observed, candidates, self._known_scale)
        agrees = (observed > 0.5).sum(axis=0)[:, np.newaxis]
        agrees = np.where(candidates > 0.5, agrees, len(observed) - agrees)
        return np.asarray(agrees * math.log((1 - self._flip) / self._flip))

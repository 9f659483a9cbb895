"""What is attacked: answers and noisy records, exact, with home-made noise, suppressed, or with a guarantee."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.attack._arguments import check_time
from pydplib.errors import ParameterError
from pydplib.mechanisms import CoinFlip, Laplace
from pydplib.noise.grid import laplace_records
from pydplib.noise.testing import seeded
from pydplib.paper import dp_calculate
from pydplib.paper.mechanism import flip

Floats = NDArray[np.float64]
Generator = np.random.Generator


def draw_seed(rng: Generator) -> int:
    """Return a seed for the repeatable noise of attacks and experiments."""
    return int(rng.integers(1 << 62))


class Target(ABC):
    """One way to answer questions about a private column, as an attacker meets it.

    Every method plays one attack: its answers share one budget where there is one.

    Examples:
        >>> [target.name for target in (ExactAnswers(), SmallCountsHidden(5))]
        ['exact answers', 'groups below 5 hidden']
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What is attacked, in a few words."""

    @property
    def epsilon(self) -> float | None:
        """The most that one attack may learn about one person; None where nothing bounds it."""
        return None

    def exchanged_epsilon(self, columns: int = 1) -> float | None:
        """Return the most that answers about this many columns may tell of one person exchanged for another.

        Removing one and adding the other costs ``epsilon`` each, where nothing better is known.
        """
        return None if self.epsilon is None else 2 * self.epsilon

    def facing(self, values: Floats) -> Target:
        """Return the target with whatever it prints about this column, which the attacker reads."""
        return self

    @abstractmethod
    def sums(self, values: Floats, subsets: NDArray[np.bool_], rng: Generator) -> Floats:
        """Return the answers to one question per row of ``subsets``: the sum of the values of these people."""

    @abstractmethod
    def sum_error(self, sizes: Floats) -> Floats:
        """Return the standard deviation of such answers, by the size of the subset: public knowledge."""

    @abstractmethod
    def means(self, values: Floats, size: int, rng: Generator, *, people: int | None = None) -> Floats:
        """Return the mean of all values, released ``size`` times by holders who know nothing of each other.

        ``people`` is a declared public number of people, which stays the same when one of them leaves.
        """

    @abstractmethod
    def about_each(self, values: Floats, calls: int, rng: Generator) -> Floats:
        """Return what ``calls`` equal questions about each single person bring: different answers x people.

        Fewer rows than calls: the same question got the same answer, and a second look brings nothing.
        """

    def straighten(self, observed: Floats, mean: float, deviation: float) -> Floats:
        """Return the answers as somebody reads them who knows mean and standard deviation of the population."""
        return observed

    @abstractmethod
    def log_likelihood(self, observed: Floats, candidates: Floats) -> Floats:
        """Return, people x candidates, how well each candidate value explains the answers about a person."""

    @abstractmethod
    def column_sums(self, table: Floats, rng: Generator) -> Floats:
        """Return the sum of every column of a table (people x attributes), asked once each."""

    def __str__(self) -> str:
        return self.name


class AnswerTarget(Target):
    """A holder who keeps the records and hands out answers only."""

    def kept(self, values: Floats) -> Floats:
        """Return the values as the holder uses them."""
        return values

    @abstractmethod
    def answer(self, exact: Floats, sizes: Floats, rng: Generator, *, questions: int) -> Floats:
        """Return one answer per exact sum, in an attack of this many questions."""

    def sums(self, values: Floats, subsets: NDArray[np.bool_], rng: Generator) -> Floats:
        """Return the answers to one question per row of ``subsets``; equal questions get equal answers."""
        rows = np.packbits(subsets, axis=1)
        _, first, where = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # in the order of asking: a budget pays for the first ones
        asked = subsets[first[order]].astype(np.float64)
        answers = self.answer(asked @ self.kept(values), asked.sum(axis=1), rng, questions=len(asked))
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return answers[back[where.reshape(-1)]]

    def means(self, values: Floats, size: int, rng: Generator, *, people: int | None = None) -> Floats:
        """Return released means: the released sum over the number of people."""
        exact, count = np.full(size, self.kept(values).sum()), np.full(size, float(len(values)))
        return self.answer(exact, count, rng, questions=1) / max(len(values), 1)

    def about_each(self, values: Floats, calls: int, rng: Generator) -> Floats:
        """Return one row: the same question gets the same answer."""
        return self.answer(self.kept(values), np.ones(len(values)), rng, questions=1)[np.newaxis]

    def column_sums(self, table: Floats, rng: Generator) -> Floats:
        """Return the sum of every column."""
        exact, columns = self.kept(table).sum(axis=0), table.shape[1]
        return self.answer(exact, np.full(columns, float(len(table))), rng, questions=columns)


@dataclass(frozen=True)
class ExactAnswers(AnswerTarget):
    """True sums and counts, as a plain database gives them.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> ExactAnswers().sums(np.array([1.0, 0, 1]), np.array([[True, True, False]]), rng).tolist()
        [1.0]
    """

    @property
    def name(self) -> str:
        """What is attacked."""
        return "exact answers"

    def answer(self, exact: Floats, sizes: Floats, rng: Generator, *, questions: int) -> Floats:
        """Return the exact sums."""
        return exact.copy()

    def sum_error(self, sizes: Floats) -> Floats:
        """Return zeros."""
        return np.zeros_like(sizes)

    def log_likelihood(self, observed: Floats, candidates: Floats) -> Floats:
        """Return the nearest candidate as the only one."""
        return _nearest_only(observed, candidates)


@dataclass(frozen=True)
class SmallCountsHidden(AnswerTarget):
    """Exact answers, but none about fewer than ``least`` people: the common rule of statistical offices.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> hidden = SmallCountsHidden(least=2)
        >>> hidden.sums(np.array([1.0, 0, 1]), np.array([[True, True, False], [True, False, False]]), rng).tolist()
        [1.0, nan]
    """

    least: int = 5

    @property
    def name(self) -> str:
        """What is attacked."""
        return f"groups below {self.least} hidden"

    def answer(self, exact: Floats, sizes: Floats, rng: Generator, *, questions: int) -> Floats:
        """Return the exact sums, NaN for small groups."""
        return np.where(sizes >= self.least, exact, np.nan)

    def sum_error(self, sizes: Floats) -> Floats:
        """Return zeros."""
        return np.zeros_like(sizes)

    def log_likelihood(self, observed: Floats, candidates: Floats) -> Floats:
        """Return the nearest candidate as the only one; nothing where the answer was hidden."""
        return _nearest_only(observed, candidates)


@dataclass(frozen=True)
class SoundMode(AnswerTarget):
    """Answers with Laplace noise from a budget: each costs ``epsilon``, and what the budget cannot pay is refused.

    The same question gets the same answer and costs nothing. Values are clamped to public bounds, so one
    person moves a sum by at most max(|low|, |high|).

    Args:
        per_question: The epsilon of one question.
        budget: The epsilon of the whole attack; by default one question's.
        bounds: Public (low, high) of the values.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> two = SoundMode(per_question=0.5, budget=1.0).sums(np.ones(9), np.eye(9, dtype=bool), rng)
        >>> int(np.isfinite(two).sum())
        2
    """

    per_question: float
    budget: float | None = None
    bounds: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if not (0 < self.per_question <= (self.budget or self.per_question)):
            raise ParameterError("per_question must be positive and at most the budget.")
        if not (math.isfinite(self.bounds[0]) and self.bounds[0] < self.bounds[1] < math.inf):
            raise ParameterError("bounds are two finite numbers, (low, high) with low < high.")

    @property
    def name(self) -> str:
        """What is attacked."""
        return f"sound mode, budget {self.epsilon:g}"

    @property
    def epsilon(self) -> float:
        """The budget."""
        return self.budget or self.per_question

    @property
    def _sensitivity(self) -> float:
        return max(abs(self.bounds[0]), abs(self.bounds[1]))

    @property
    def scale(self) -> float:
        """The scale of the noise of one sum."""
        return self._sensitivity / self.per_question

    def exchanged_epsilon(self, columns: int = 1) -> float:
        """Return the budget, times how far an exchange moves a sum compared with a removal: at most twice it."""
        return self.epsilon * (self.bounds[1] - self.bounds[0]) / self._sensitivity

    def kept(self, values: Floats) -> Floats:
        """Return the values clamped to the bounds."""
        return np.clip(values, *self.bounds)

    def means(self, values: Floats, size: int, rng: Generator, *, people: int | None = None) -> Floats:
        """Return the noisy sum over a declared number of people: the true one would tell that somebody left."""
        exact = np.full(size, self.kept(values).sum())
        count = people or max(len(values), 1)
        return self.answer(exact, np.full(size, float(count)), rng, questions=1) / count

    def answer(self, exact: Floats, sizes: Floats, rng: Generator, *, questions: int) -> Floats:
        """Return noisy sums as long as the budget lasts, then NaN."""
        paid = min(questions, math.floor(self.epsilon / self.per_question * (1 + 1e-12)))
        answered = len(exact) if questions == 1 else paid  # one question: each entry is an attack of its own
        out = np.full(len(exact), np.nan)
        out[:answered] = _laplace(exact[:answered], self._sensitivity, self.per_question, rng)
        return out

    def sum_error(self, sizes: Floats) -> Floats:
        """Return the standard deviation of the noise, the same for every subset."""
        return np.full_like(sizes, math.sqrt(2) * self.scale)

    def log_likelihood(self, observed: Floats, candidates: Floats) -> Floats:
        """Return the log density of Laplace noise."""
        return laplace_likelihood(observed, candidates, self.scale)

    def column_sums(self, table: Floats, rng: Generator) -> Floats:
        """Return all column sums at once, the whole budget spread evenly over them."""
        columns = table.shape[1]
        return _laplace(self.kept(table).sum(axis=0), self._sensitivity * columns, self.epsilon, rng)


def _laplace(exact: Floats, sensitivity: float, epsilon: float, rng: Generator) -> Floats:
    with seeded(draw_seed(rng)):
        # Each entry is a release of its own, so one person changes one of them.
        return np.asarray(Laplace(sensitivity, epsilon, max_changes=1).release(exact), dtype=np.float64)


def laplace_likelihood(observed: Floats, candidates: Floats, scale: float) -> Floats:
    """Return -sum |answer - candidate| / scale over the answers about each person; NaN tells nothing."""
    out = np.zeros((observed.shape[1], len(candidates)))
    gap = np.empty_like(out)
    for row in observed:
        check_time()
        np.subtract(row[:, np.newaxis], candidates, out=gap)
        np.abs(gap, out=gap)
        gap[np.isnan(row)] = 0.0
        out -= gap
    out /= scale
    return out


def _nearest_only(observed: Floats, candidates: Floats) -> Floats:
    answers = observed[0]
    gap = np.abs(answers[:, np.newaxis] - candidates)
    out = np.where(gap <= gap.min(axis=1, keepdims=True), 0.0, -np.inf)
    out[np.isnan(answers)] = 0.0
    return out


def standard_targets(
    *, bounds: tuple[float, float] = (0.0, 1.0), epsilon: float, questions: int = 1, kind: Any = float
) -> list[Target]:
    """Return the targets that every attack is tried on: exact, home-made noise, suppression, coin, paper, sound.

    Args:
        bounds: Public (low, high) of the values.
        epsilon: The budget of sound mode.
        questions: How many questions that budget is spread over.
        kind: ``bool`` where the values are yes or no (adds the coin flip), else ``float``.

    Examples:
        >>> [target.name for target in standard_targets(epsilon=1.0, kind=bool)][-1]
        'sound mode, budget 1'
    """
    coins: list[Target] = [CoinFlips()] if kind is bool else []
    return [
        ExactAnswers(),
        NaiveUniform(),
        NaiveGaussian(),
        SmallCountsHidden(),
        *coins,
        *(PaperMode(factor) for factor in ("low", "medium", "high")),
        SoundMode(epsilon / questions, budget=epsilon, bounds=bounds),
    ]


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
        """Return the standard deviation of a sum of this many noisy records."""
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
        """Return the target with the column's scale: paper mode prints epsilon and sensitivity next to the data."""
        if self.scale is not None:
            return self
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

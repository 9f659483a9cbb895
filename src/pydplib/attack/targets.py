"""What is attacked: answers that come out exact, with home-made noise, suppressed, or with a guarantee.

A target holds no data. It is handed the private values, plays the data holder for one attack, and gives back
only what an outsider would see: NaN stands for an answer that was refused or suppressed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.attack._clock import check_time
from pydplib.errors import ParameterError
from pydplib.mechanisms import Laplace
from pydplib.noise.testing import seeded

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
        """Return the most that answers about so many columns may tell of one person exchanged for another.

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
        """Return one answer per exact sum, in an attack of so many questions."""

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
        """Return the budget, times how far an exchange moves a sum beside a removal: at most twice it."""
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
    from pydplib.attack.record_targets import CoinFlips, NaiveGaussian, NaiveUniform, PaperMode

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

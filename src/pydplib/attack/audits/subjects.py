"""Everything in the library that claims differential privacy, ready to be audited."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from pydplib import clinic, release
from pydplib.attack.audits.faults import Subject
from pydplib.attack.audits.neighbours import ArrayNeighbours
from pydplib.attack.audits.protocols import AtTap, Pair
from pydplib.budget.units import exact
from pydplib.clinic.frequent import TopNoise
from pydplib.engine import ExactTable
from pydplib.guarantee import ApproxDP, LocalDP, PureDP
from pydplib.mechanisms import CoinFlip, Exponential, Gaussian, Geometric, Laplace, PermuteAndFlip, RandomizedResponse
from pydplib.noise import add_pair
from pydplib.paper import dp_calculate
from pydplib.release.facts import Facts
from pydplib.release.statistics.deviation import DeviationNoise
from pydplib.release.statistics.mode import ModeNoise
from pydplib.release.statistics.quantiles import BinnedQuantileNoise
from pydplib.schema import Date, Flag, Integer, Number, Schema


def subjects(epsilon: float = 1.0) -> list[Subject]:
    """Return every mechanism and every one-line release of the library, each with its claim and its neighbours.

    Examples:
        >>> [subject.name for subject in subjects() if subject.tight][:3]
        ['laplace', 'geometric', 'permute-and-flip']
    """
    return [*_mechanisms(epsilon), *_releases(epsilon), *_clinical(epsilon), *_records(epsilon)]


def _mechanisms(epsilon: float) -> list[Subject]:
    claim = PureDP(epsilon)
    made: list[tuple[str, str, Any, Any, bool]] = [
        ("laplace", "Real numbers plus Laplace noise.", Laplace(1, epsilon), claim, True),
        ("geometric", "Counts plus two-sided geometric noise.", Geometric(1, epsilon), claim, True),
        ("permute-and-flip", "A choice by permute-and-flip.", PermuteAndFlip(1, epsilon), claim, True),
        ("exponential", "A choice by the exponential mechanism.", Exponential(1, epsilon), claim, False),
        (
            "gaussian", "Real numbers plus Gaussian noise.",
            Gaussian(1, epsilon=epsilon, delta=1e-6), ApproxDP(epsilon, 1e-6), False,
        ),
        (
            "randomized-response", "Categories of single records.",
            RandomizedResponse([0, 1], epsilon), LocalDP(epsilon), True,
        ),
        ("coin-flip", "Yes or no by two coins; epsilon is always ln 3.", CoinFlip(), LocalDP(math.log(3)), True),
    ]  # fmt: skip
    return [
        Subject(name, words, mechanism=made_of, claim=promise, neighbours=None, tight=tight)
        for name, words, made_of, promise, tight in made
    ]


def _releases(epsilon: float) -> list[Subject]:
    bounds = (0.0, 1.0)
    claim = PureDP(epsilon)
    columns = ArrayNeighbours(bounds=bounds, size=8)
    few = lambda: list(columns())[:1]  # noqa: E731  (the pair on which these lose most)
    edges = [0.0, 0.5, 1.0]
    made: list[tuple[str, str, Any, bool]] = [
        ("count", "How many.", lambda x: release.count(x, epsilon=epsilon), True),
        ("sum", "A sum of clamped values.", lambda x: release.sum(x, bounds=bounds, epsilon=epsilon), True),
        ("mean", "A mean of clamped values.", lambda x: release.mean(x, bounds=bounds, epsilon=epsilon), False),
        ("variance", "A variance.", lambda x: release.variance(x, bounds=bounds, epsilon=epsilon), False),
        ("median", "A median.", lambda x: release.median(x, bounds=bounds, epsilon=epsilon, step=0.5), False),
        (
            "quantiles", "Several quantiles.",
            lambda x: release.quantiles(x, [0.25, 0.75], bounds=bounds, epsilon=epsilon, step=0.5), False,
        ),
        ("histogram", "A histogram.", lambda x: release.histogram(x, edges=edges, epsilon=epsilon), True),
    ]  # fmt: skip
    return [
        *(
            Subject(name, words, mechanism=AtTap(run), claim=claim, neighbours=few, tight=tight)
            for name, words, run, tight in made
        ),
        _quantiles_of_groups(epsilon),
        _two_tables(epsilon),
        _deviation(epsilon),
        _mode(epsilon),
    ]


def _quantiles_of_groups(epsilon: float) -> Subject:
    """Return medians of two groups off one table of counts, where a person has up to three rows."""
    table = BinnedQuantileNoise(rows=3, per_row=1, shares=(Fraction(1, 2),), points=4, width=2, epsilon=exact(epsilon))
    without = np.array([[2, 1, 0, 0], [0, 1, 2, 1]], dtype=np.int64)
    with_them = without + np.array([[0, 0, 0, 0], [0, 0, 0, 3]])
    pair = [Pair(without, with_them, "one person with three rows joins the last bin of a group")]
    words = "Medians of groups, read off one table of counts."
    return Subject(
        "group-quantiles",
        words,
        mechanism=AtTap(table.apply),
        claim=PureDP(epsilon),
        neighbours=lambda: pair,
        tight=True,
    )


def _two_tables(epsilon: float) -> Subject:
    """Return two tables of one noise over two blocks, where a person has up to three rows."""
    scale = Fraction(3) / exact(epsilon)
    without = np.array([[4, 1, 2, 3], [0, 2, 1, 1]], dtype=np.int64)
    with_them = without + np.array([[0, 3, 3, 0], [0, 0, 0, 0]])
    pair = [Pair(without, with_them, "one person with three rows joins the same cell of each table")]
    run = AtTap(lambda cells: add_pair(cells[:, :2], cells[:, 2:], scale, sensitivity=3))
    words = "Two tables of counts with one noise that is shaped for both."
    return Subject("two-tables", words, mechanism=run, claim=PureDP(epsilon), neighbours=lambda: pair, tight=True)


def _deviation(epsilon: float) -> Subject:
    """Return a standard deviation of values in steps from -10 to 10 about the middle."""
    noise = DeviationNoise(
        rows=1, per_row=1, top=100, half=10, square_step=0.01, step=0.1, most=1.0, epsilon=exact(epsilon)
    )

    def sums(*steps: int) -> Any:
        squares = sum(step * step for step in steps)
        return [np.array([number]) for number in (squares, 100 * len(steps) - squares, sum(steps))]

    pair = [Pair(sums(1, -2, 3), sums(1, -2, 3, 10), "one person at the upper bound joins")]
    run = AtTap(lambda numbers: noise.apply(*numbers))
    return Subject(
        "deviation", "A standard deviation.", mechanism=run, claim=PureDP(epsilon), neighbours=lambda: pair, tight=False
    )


def _mode(epsilon: float) -> Subject:
    """Return the more frequent of two values, where a person has up to three rows."""
    noise = ModeNoise(3, 1, 2, exact(epsilon))
    pair = [Pair(np.array([3, 0]), np.array([3, 3]), "one person with three rows of the rarer value joins")]
    return Subject(
        "mode",
        "The most frequent value.",
        mechanism=AtTap(noise.apply),
        claim=PureDP(epsilon),
        neighbours=lambda: pair,
        tight=True,
    )


def _clinical(epsilon: float) -> list[Subject]:
    """Return every clinical statistic on a table of few people, one of whom comes or goes."""
    schema = Schema(
        {
            "months": Number(0, 4), "score": Integer(1, 2), "ill": Flag(), "arm": Flag(),
            "day": Date("2020-01-01", "2021-12-31"),  # type: ignore[arg-type]
        },
        person="patient", max_rows_per_person=1, name="audited",
    )  # fmt: skip
    asked = {
        "survival": clinic.Survival("months", "ill", bins=2),
        "difference": clinic.Difference("months", by="arm", bins=2),
        "risk-ratio": clinic.RiskRatio("ill", by="arm"),
        "odds-ratio": clinic.OddsRatio("ill", by="arm"),
        "association": clinic.Association("ill", "arm"),
        "trend": clinic.Trend("ill", by="score"),
        "correlation": clinic.Correlation("score", "arm"),
        "roc": clinic.Roc("score", "ill"),
        "logistic": clinic.Logistic("ill", by="arm"),
        "standard-error": clinic.StandardError("months", bins=2),
        "series": clinic.Series("day", every="year"),
        "table-one": clinic.TableOne(["score", "ill"], by="arm"),
    }
    found = []
    for name, question in asked.items():
        purchase = Facts.of(question, schema).at(epsilon)
        sizes = [len(plan.keys) for plan in purchase.plans]
        without = np.arange(sum(sizes), dtype=np.int64) % 3
        joined = without.copy()
        joined[np.cumsum(sizes) - 1] += 1

        def run(counts: Any, purchase: Any = purchase) -> Any:
            return purchase.answer(ExactTable(purchase.plan, purchase.plan.keys, (counts,)))

        pair = [Pair(without, joined, "one person joins the last cell of every table")]
        words = f"{type(question).title}: a table of counts, and what follows from it."
        found.append(
            Subject(name, words, mechanism=AtTap(run), claim=PureDP(epsilon), neighbours=_given(pair), tight=True)
        )
    top = TopNoise(rows=1, per_row=1, values=3, epsilon=exact(epsilon), places=2)
    pair = [Pair(np.array([2, 2, 2]), np.array([2, 2, 3]), "one person with the last value joins")]
    words = "The most frequent values, in order."
    return [
        *found,
        Subject("top", words, mechanism=AtTap(top.apply), claim=PureDP(epsilon), neighbours=lambda: pair, tight=False),
    ]


def _given(pairs: list[Pair]) -> Any:
    return lambda: pairs


class _PaperRecords:
    """Paper mode with public bounds, as many records at once as outputs are wanted."""

    def __init__(self, epsilon: float) -> None:
        self._epsilon = epsilon

    def sample(self, data: float, size: int) -> Any:
        column = np.full(size, data)
        return np.asarray(dp_calculate(column, "mean", bounds=(0.0, 1.0), record_epsilon=self._epsilon).dp_data)


def _records(epsilon: float) -> list[Subject]:
    pair = [Pair(0.0, 1.0, "one record moves from the lower to the upper bound")]
    flags = [Pair([True], [False], "one record changes from yes to no")]
    groups = [Pair(["a"], ["b"], "one record changes its category")]

    def noisy(**public: Any) -> Any:
        return AtTap(lambda column: dp_calculate(column, "count", record_epsilon=epsilon, **public))

    claim = LocalDP(epsilon)
    return [
        Subject(
            "paper-public", "Paper mode with public bounds: noise on every record.", mechanism=_PaperRecords(epsilon),
            claim=claim,
            neighbours=lambda: pair, tight=True,
        ),
        Subject("paper-flags", "Paper mode of yes and no: every record may flip.", mechanism=noisy(), claim=claim,
        neighbours=lambda: flags, tight=True),
        Subject(
            "paper-categories", "Paper mode of public categories: every record may change.",
            mechanism=noisy(is_range=True, categories=["a", "b", "c"]), claim=claim, neighbours=lambda: groups,
            tight=True,
        ),
    ]  # fmt: skip

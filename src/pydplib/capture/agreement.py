"""How well two readers agree: Cohen's kappa, plain or weighted."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydplib.capture.template import Template
from pydplib.errors import DataError, ParameterError

Weights: TypeAlias = Literal["none", "linear", "quadratic"]


@dataclass(frozen=True, slots=True)
class ReaderAgreement:
    """How well two readers agree.

    Attributes:
        n: Number of things that both judged.
        observed: Share on which they agree (weighted: how closely).
        expected: Share by chance, from how often each used each category.
        kappa: (observed - expected) / (1 - expected); None where chance alone would make it 1, or n is 0.

    Examples:
        >>> ReaderAgreement(n=50, observed=0.7, expected=0.5, kappa=0.4).in_words
        'fair'
    """

    n: int
    observed: float
    expected: float
    kappa: float | None

    @property
    def in_words(self) -> str:
        """The usual words for kappa (Landis and Koch, 1977)."""
        if self.kappa is None:
            return "not defined"
        for limit, word in ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial")):
            if self.kappa <= limit:
                return word
        return "almost perfect"


def cohens_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    *,
    categories: Sequence[Hashable] | None = None,
    weights: Weights = "none",
) -> ReaderAgreement:
    """Return the agreement of two readers beyond chance (Cohen, 1960; weighted: Cohen, 1968).

    Args:
        first: The first reader's answers.
        second: The second reader's answers to the same things; a pair with None on either side is left out.
        categories: All possible answers in their order; needed for weights. By default those that occur.
        weights: ``none``; ``linear`` or ``quadratic`` where the order of the categories carries meaning.

    Raises:
        DataError: The two have different lengths, or an answer is not among the categories.
        ParameterError: Weights without categories, or an unknown word.

    Examples:
        >>> result = cohens_kappa(["y", "y", "n", "n"], ["y", "n", "n", "n"])
        >>> result.observed, result.expected, result.kappa, result.in_words
        (0.75, 0.5, 0.5, 'moderate')
    """
    if weights not in ("none", "linear", "quadratic"):
        raise ParameterError("weights must be 'none', 'linear' or 'quadratic'.")
    if len(first) != len(second):
        raise DataError("Two readers need answers to the same things: the two sequences have different lengths.")
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if categories is None:
        if weights != "none":
            raise ParameterError("Weights need the categories in their order: categories=[1, 2, 3, 4, 5].")
        categories = list(dict.fromkeys(answer for pair in pairs for answer in pair))
    place = {category: position for position, category in enumerate(categories)}
    if any(answer not in place for pair in pairs for answer in pair):
        raise DataError("An answer is not among the categories.")
    n, size = len(pairs), len(place)
    if not n:
        return ReaderAgreement(0, 0.0, 0.0, None)

    def weight(i: int, j: int) -> float:
        """Say how well two answers agree, from 0 to 1."""
        if weights == "none" or size == 1:
            return float(i == j)
        distance = abs(i - j) / (size - 1)
        return 1 - (distance if weights == "linear" else distance**2)

    rows, columns = [0] * size, [0] * size
    observed = 0.0
    for a, b in pairs:
        rows[place[a]] += 1
        columns[place[b]] += 1
        observed += weight(place[a], place[b])
    observed /= n
    chance = sum(rows[i] * columns[j] * weight(i, j) for i in range(size) for j in range(size)) / (n * n)
    kappa = None if chance >= 1 - 1e-12 else (observed - chance) / (1 - chance)
    return ReaderAgreement(n, observed, chance, kappa)


def reader_agreement(
    template: Template, first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]
) -> dict[str, ReaderAgreement]:
    """Return the agreement of two readers for each choice and yes/no question outside of repeating groups.

    Ordered choices are weighted linearly. Reports are paired by position.

    Args:
        template: The template that both filled in.
        first: The first reader's evaluated answers, one table per report.
        second: The second reader's, in the same order.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> bph = Question(id="bph", kind="boolean", title="BPH")
        >>> template = Template(id="label", version="1", title="Labels", items=(bph,))
        >>> both = reader_agreement(template, [{"bph": True}, {"bph": False}], [{"bph": True}, {"bph": False}])
        >>> both["bph"].kappa
        1.0
    """
    result = {}
    for place, question in template.index.questions():
        if place.loops or question.kind not in ("choice", "boolean"):
            continue
        values: list[Any] = [option.value for option in question.options] or [False, True]
        result[question.id] = cohens_kappa(
            [report.get(question.id) for report in first],
            [report.get(question.id) for report in second],
            categories=values,
            weights="linear" if question.ordered else "none",
        )
    return result

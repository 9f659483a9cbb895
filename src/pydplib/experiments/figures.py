"""The PyDPLib paper's figures 2 to 5, its alternatives, and one for variance, from any table of reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from pydplib.errors import ParameterError, did_you_mean, shown
from pydplib.experiments._by_age import figure_2, figure_3
from pydplib.experiments._by_score import figure_4, figure_variance
from pydplib.experiments._counts import figure_5
from pydplib.experiments._words import PaperFigure

__all__ = [
    "FIGURES",
    "PaperFigure",
    "figure_2",
    "figure_3",
    "figure_4",
    "figure_5",
    "figure_variance",
    "paper_figure",
]

FIGURES: Mapping[str, Callable[..., PaperFigure]] = MappingProxyType(
    {
        "2": figure_2,
        "3": figure_3,
        "4": figure_4,
        "4-noised-ages": partial(figure_4, noised_ages=True),
        "5": figure_5,
        "5-from-counts": partial(figure_5, from_counts=True),
        "variance": figure_variance,
        "variance-from-variances": partial(figure_variance, from_variances=True),
    }
)
"""Name -> the function that draws it, in the order of the paper."""


def paper_figure(name: str, data: Any, *, original: bool = False) -> PaperFigure:
    """Return one of the paper's figures by its name.

    Args:
        name: A name of ``FIGURES``: ``"2"``, ``"3"``, ``"4"``, ``"4-noised-ages"``, ...
        data: A table with the columns of ``datasets.pirads``.
        original: For the owner only: draw the original beside.

    Examples:
        >>> from pydplib import datasets
        >>> paper_figure("5", datasets.pirads(n=200, backend="numpy")).label
        'Figure 5'
    """
    if not isinstance(name, str) or name not in FIGURES:
        raise ParameterError(f"There is no figure {shown(name)}.{did_you_mean(shown(name), FIGURES)}")
    return FIGURES[name](data, original=original)

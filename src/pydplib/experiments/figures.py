"""Any figure of the list from any table of reports, by its name: the original, or the paper's method."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pydplib.errors import ParameterError, did_you_mean, shown
from pydplib.experiments._words import PaperFigure
from pydplib.experiments.catalogue import CATALOGUE, FigureSpec, Form

__all__ = ["CATALOGUE", "FigureSpec", "PaperFigure", "cohort_noise", "figure_spec", "paper_figure"]


def figure_spec(name: str) -> FigureSpec:
    """Return an entry of the list by its name, or say which name is meant."""
    if not isinstance(name, str) or name not in CATALOGUE:
        raise ParameterError(f"There is no figure {shown(name)}.{did_you_mean(shown(name), CATALOGUE)}")
    return CATALOGUE[name]


def paper_figure(
    name: str, data: Any, *, form: Form = "paper", levels: Sequence[str] | None = None, original: bool = False
) -> PaperFigure:
    """Return a figure of the paper, or a further one.

    Args:
        name: A name of ``CATALOGUE``: ``"2"``, ``"3"``, ``"4"``, ``"4-noised-ages"``, ``"score-by-age"``, ...
        data: A table with the columns of ``datasets.pirads``.
        form: ``"original"`` (for the owner only) or ``"paper"``. Sound figures are made from releases: see
            ``sound_figures``.
        levels: The noise levels; by default those of the paper. Several at once are for the owner only.
        original: Further figures only, and for the owner only: draw the original as well.

    Examples:
        >>> from pydplib import datasets
        >>> paper_figure("5", datasets.pirads(n=200, backend="numpy")).label
        'Figure 5'
    """
    spec = figure_spec(name)
    if form not in spec.forms or form == "sound":
        forms = [known for known in spec.forms if known != "sound"]
        raise ParameterError(f"Figure '{name}' has no form {shown(form)} here; it has {' and '.join(forms)}.")
    options: dict[str, Any] = {"levels": spec.levels if levels is None else tuple(levels)}
    if spec.number is None:
        options["original"] = original
    else:
        options["form"] = form
    drawn: PaperFigure = spec.draw(data, **options)
    return drawn


def cohort_noise(seed: int | None) -> AbstractContextManager[Any]:
    """Return fresh noise, or with a seed the same noise again: for figures of the synthetic cohort alone.

    While a seed is in use, no ledger on disk takes an entry.
    """
    if seed is None:
        return nullcontext()
    from pydplib.noise.testing import seeded

    return seeded(seed)

"""The paper's figures 2 to 5 and trends over years as sound releases: what each asks, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydplib.errors import ParameterError, did_you_mean
from pydplib.experiments._counts import FLAGS
from pydplib.experiments._sound_drawing import (
    Drawn,
    Originals,
    draw_age_by_score,
    draw_findings,
    draw_prostatitis_by_age,
    draw_score_by_age,
    draw_trend,
    guarantee_of,
)
from pydplib.release import Count, Crosstab, Mean, Question, Release
from pydplib.schema import Category, Flag, Integer, Number, Schema

__all__ = [
    "AGE_EDGES",
    "SOUND_FIGURES",
    "Drawn",
    "Originals",
    "SoundFigure",
    "age_by_score",
    "guarantee_of",
    "score_by_age",
    "sound_figure",
]

AGE_EDGES = (18, 50, 60, 70, 80, 100)
"""The age groups of the paper's figures as bins: 18 to 50 without 50 is "< 50"."""


@dataclass(frozen=True, slots=True)
class SoundFigure:
    """A ready-made figure: what it asks, and how the answers are drawn.

    Args:
        name: ``"2"`` to ``"5"``, ``"reports-by-year"`` or ``"age-by-year"``.
        title: What it shows.
        hint: How to read it, in one sentence.
        ask: From the schema to the questions; none where the schema has not the fields.
        draw: From the releases (and, for the owner, the exact values) to figure and table.
    """

    name: str
    title: str
    hint: str
    ask: Callable[[Schema], tuple[Question, ...]]
    draw: Callable[[Sequence[Release], Originals], Drawn]

    @property
    def label(self) -> str:
        """What the paper calls it, or what it is: ``"Figure 2"``, ``"Trend"``."""
        return f"Figure {self.name}" if self.name.isdigit() else "Trend"


def sound_figure(name: str) -> SoundFigure:
    """Return a ready-made figure by its name.

    Examples:
        >>> from pydplib.datasets import pirads_schema
        >>> sound_figure("4").ask(pirads_schema())
        (Crosstab('age', 'pirads'),)
    """
    if name not in SOUND_FIGURES:
        raise ParameterError(f"There is no such figure.{did_you_mean(name, SOUND_FIGURES)}")
    return SOUND_FIGURES[name]


def score_by_age() -> Question:
    """Return the question of Fig. 2: reports per age group and PI-RADS score."""
    return Crosstab("age", "pirads", bins={"age": AGE_EDGES})


def age_by_score() -> Question:
    """Return the mean ages of Fig. 4 as a question of their own."""
    return Mean("age", by="pirads")


def _of(schema: Schema, columns: Mapping[str, tuple[type[Any], ...]], *questions: Question) -> tuple[Question, ...]:
    fits = all(name in schema.columns and isinstance(schema.columns[name], kinds) for name, kinds in columns.items())
    return questions if fits else ()


_AGE: dict[str, tuple[type[Any], ...]] = {"age": (Number, Integer)}
_SCORE: dict[str, tuple[type[Any], ...]] = {**_AGE, "pirads": (Category,)}


def _flags(schema: Schema) -> tuple[Question, ...]:
    return tuple(Count(by=name) for name in FLAGS if isinstance(schema.columns.get(name), Flag))


SOUND_FIGURES: Mapping[str, SoundFigure] = MappingProxyType(
    {
        made.name: made
        for made in (
            SoundFigure(
                "2",
                "PI-RADS score against age",
                "How many reports have which score, per age group.",
                lambda schema: _of(schema, _SCORE, score_by_age()),
                draw_score_by_age,
            ),
            SoundFigure(
                "3",
                "Prostatitis against age",
                "How many reports have which finding, per age group.",
                lambda schema: _of(
                    schema,
                    {**_AGE, "prostatitis": (Category,)},
                    Crosstab("age", "prostatitis", bins={"age": AGE_EDGES}),
                ),
                draw_prostatitis_by_age,
            ),
            SoundFigure(
                "4",
                "Age per PI-RADS score",
                "Boxes and means, read off Figure 2 at no further cost.",
                lambda schema: _of(schema, _SCORE, score_by_age()),
                draw_age_by_score,
            ),
            SoundFigure(
                "5",
                "Reports with a yes",
                "BPH, TURP surgery and other findings that are yes or no.",
                _flags,
                draw_findings,
            ),
            SoundFigure(
                "reports-by-year",
                "Reports per year",
                "How many reports were written in each year.",
                lambda schema: _of(schema, {"year": (Category,)}, Count(by="year")),
                draw_trend("Reports per year", "reports", 0),
            ),
            SoundFigure(
                "age-by-year",
                "Mean age per year",
                "Whether patients got older or younger over the years.",
                lambda schema: _of(schema, {**_AGE, "year": (Category,)}, Mean("age", by="year")),
                draw_trend("Mean age per year", "mean age in years", None),
            ),
        )
    }
)
"""Name -> ready-made figure, in the order of the paper; the trends come last."""

"""The paper's figures 2 to 5, further ones and trends as sound releases: what each asks, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydplib._duckdb_files import connect
from pydplib.budget import MemoryLedger
from pydplib.budget.keys import canonical_json
from pydplib.datasets import pirads_schema
from pydplib.engine import Table as PrivateTable
from pydplib.engine import load
from pydplib.errors import ParameterError, did_you_mean
from pydplib.experiments._counts import FLAGS
from pydplib.experiments._sound_drawing import (
    AGE_BINS,
    Drawn,
    Originals,
    draw_age_and_score,
    draw_age_by_prostatitis,
    draw_age_by_score,
    draw_ages,
    draw_average_age,
    draw_findings,
    draw_prostatitis_by_age,
    draw_score_by_age,
    draw_trend,
    guarantee_of,
)
from pydplib.experiments.catalogue import CATALOGUE
from pydplib.guarantee import PureDP
from pydplib.release import Count, Crosstab, Histogram, Mean, Question, Release, Session
from pydplib.schema import Column, Schema

__all__ = [
    "AGE_BINS",
    "AGE_EDGES",
    "SOUND_FIGURES",
    "Drawn",
    "Originals",
    "SoundFigure",
    "age_and_prostatitis",
    "age_and_score",
    "age_by_score",
    "draw_sound_figures",
    "guarantee_of",
    "load_cohort",
    "score_by_age",
    "sound_figure",
]

AGE_EDGES = (18, 50, 60, 70, 80, 100)
"""Ten years of age as bins: 18 to 50 without 50 is "< 50"."""


PART = ("patient_id", "age", "pirads", "prostatitis", "bph", "turp", "follow_up", "pca_no_pirads", "year")
"""The columns of the cohort that figures ask about."""
_CASTS = {"patient_id": "patient_id::VARCHAR AS patient_id", "pirads": "pirads::BIGINT AS pirads"}


@dataclass(frozen=True, slots=True)
class SoundFigure:
    """A ready-made figure: what it asks, and how the answers are drawn.

    Args:
        name: A name of ``CATALOGUE``, ``"reports-by-year"`` or ``"age-by-year"``.
        title: What it shows.
        hint: How to read it, in one sentence.
        ask: From the schema to the questions; none where the schema lacks the fields.
        draw: From the releases (and, for the owner, the exact values) to figure and table.
    """

    name: str
    title: str
    hint: str
    ask: Callable[[Schema], tuple[Question, ...]]
    draw: Callable[[Sequence[Release], Originals], Drawn]

    @property
    def label(self) -> str:
        """What the paper calls it, or what it is: ``"Figure 2"``, ``"Further figure"``, ``"Trend"``."""
        return CATALOGUE[self.name].label if self.name in CATALOGUE else "Trend"


def sound_figure(name: str) -> SoundFigure:
    """Return a ready-made figure by its name.

    Examples:
        >>> from pydplib.datasets import pirads_schema
        >>> sound_figure("4").ask(pirads_schema())
        (Crosstab('age', 'prostatitis', bins={'age': [18, 50, 55, 60, 65, 70, 75, 80, 100]}),)
    """
    if name not in SOUND_FIGURES:
        raise ParameterError(f"There is no such figure.{did_you_mean(name, SOUND_FIGURES)}")
    return SOUND_FIGURES[name]


def draw_sound_figures(data: Any, names: Sequence[str], *, epsilon: float) -> dict[str, Drawn]:
    """Return sound figures of a synthetic cohort, each table at one price; equal tables are asked once.

    Args:
        data: The columns of ``datasets.pirads``, as arrays.
        names: Which figures.
        epsilon: What each table costs.

    Examples:
        >>> from pydplib.datasets import pirads
        >>> list(draw_sound_figures(pirads(n=200, backend="numpy"), ["5"], epsilon=1.0))
        ['5']
    """
    if not names:
        return {}
    with load_cohort(data) as table:
        answers: dict[str, Release] = {}
        for question in (question for name in names for question in sound_figure(name).ask(table.schema)):
            key = canonical_json(question.canonical(table.schema))
            if key not in answers:
                # A ledger each: the cohort is made up, so that no budget is shared.
                session = Session(table, recipient="partner", budget=PureDP(epsilon), ledger=MemoryLedger())
                answers[key] = session.release(question, epsilon=epsilon)
        return {
            name: sound_figure(name).draw(
                [
                    answers[canonical_json(asked.canonical(table.schema))]
                    for asked in sound_figure(name).ask(table.schema)
                ],
                None,
            )
            for name in names
        }


def load_cohort(data: Any) -> PrivateTable:
    """Return the cohort as a table that is asked by sessions; DuckDB counts it, whatever else is installed."""
    whole = pirads_schema()
    schema = Schema(
        {name: whole.column(name) for name in PART},
        person=whole.person,
        max_rows_per_person=whole.max_rows_per_person,
        name="pirads",
    )
    connection = connect()
    connection.register("cohort", {name: data[name] for name in PART})
    columns = ", ".join(_CASTS.get(name, name) for name in PART)
    return load(connection.sql(f"SELECT {columns} FROM cohort"), schema)  # noqa: S608 - names written above


def age_and_score() -> Question:
    """Return the question of Figs. 2 and 3: reports per age group and PI-RADS score."""
    return Crosstab("age", "pirads", bins={"age": AGE_BINS})


def age_and_prostatitis() -> Question:
    """Return the question of Fig. 4: reports per age group and finding."""
    return Crosstab("age", "prostatitis", bins={"age": AGE_BINS})


def score_by_age() -> Question:
    """Return reports per ten years of age and PI-RADS score as a question."""
    return Crosstab("age", "pirads", bins={"age": AGE_EDGES})


def age_by_score() -> Question:
    """Return the mean ages per score as a question of their own."""
    return Mean("age", by="pirads")


def _of(schema: Schema, columns: Mapping[str, Callable[[Column], bool]], *questions: Question) -> tuple[Question, ...]:
    fits = all(name in schema.columns and test(schema.columns[name]) for name, test in columns.items())
    return questions if fits else ()


def _is_number(column: Column) -> bool:
    return column.holds_numbers


def _is_list(column: Column) -> bool:
    return column.has_other


_AGE: Mapping[str, Callable[[Column], bool]] = {"age": _is_number}
_FINDING: Mapping[str, Callable[[Column], bool]] = {**_AGE, "prostatitis": _is_list}
_SCORE: Mapping[str, Callable[[Column], bool]] = {**_AGE, "pirads": _is_list}


def _flags(schema: Schema) -> tuple[Question, ...]:
    return tuple(Count(by=name) for name in FLAGS if _says_yes(schema.columns.get(name)))


def _says_yes(column: Column | None) -> bool:
    return column is not None and any(value is True or value == "yes" for value in column.choices)


_ASKED: Mapping[str, tuple[Callable[[Schema], tuple[Question, ...]], Callable[..., Drawn]]] = MappingProxyType(
    {
        "2": (lambda schema: _of(schema, _SCORE, age_and_score()), draw_age_and_score),
        "3": (lambda schema: _of(schema, _SCORE, age_and_score()), draw_average_age),
        "4": (lambda schema: _of(schema, _FINDING, age_and_prostatitis()), draw_age_by_prostatitis),
        "5": (lambda schema: _of(schema, _AGE, Histogram("age", edges=AGE_BINS)), draw_ages),
        "score-by-age": (lambda schema: _of(schema, _SCORE, score_by_age()), draw_score_by_age),
        "prostatitis-by-age": (
            lambda schema: _of(schema, _FINDING, Crosstab("age", "prostatitis", bins={"age": AGE_EDGES})),
            draw_prostatitis_by_age,
        ),
        "age-by-score": (lambda schema: _of(schema, _SCORE, score_by_age()), draw_age_by_score),
        "findings": (_flags, draw_findings),
    }
)

SOUND_FIGURES: Mapping[str, SoundFigure] = MappingProxyType(
    {
        made.name: made
        for made in (
            *(
                SoundFigure(spec.name, spec.title, spec.hint, *_ASKED[spec.name])
                for spec in CATALOGUE.values()
                if "sound" in spec.forms
            ),
            SoundFigure(
                "reports-by-year",
                "Reports per year",
                "How many reports were written in each year.",
                lambda schema: _of(schema, {"year": _is_list}, Count(by="year")),
                draw_trend("Reports per year", "reports", 0),
            ),
            SoundFigure(
                "age-by-year",
                "Mean age per year",
                "Whether patients got older or younger over the years.",
                lambda schema: _of(schema, {**_AGE, "year": _is_list}, Mean("age", by="year")),
                draw_trend("Mean age per year", "mean age in years", None),
            ),
        )
    }
)
"""Name -> ready-made figure, in the order of the list; the trends come last."""

"""The list of figures: what each shows, what gets noise and with which parameters. Everything else follows from it.

``pydplib figures``, the demo, the documentation, dashboards and tests read this list. It holds words only, so that
reading it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

Form: TypeAlias = Literal["original", "paper", "sound"]
FORMS: tuple[Form, ...] = ("original", "paper", "sound")
"""The three forms of a figure: as it is (owner only), by the paper's method, and from one private table."""

LEVELS = ("low", "medium", "high")
_DRAWN = "pydplib.plot.recipes."


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """One figure of the list.

    Args:
        name: How it is asked for: ``"2"``, ``"4-noised-ages"``, ``"score-by-age"``.
        number: Its number in the PyDPLib paper; none for further figures.
        title: What it shows.
        hint: How its sound form is read, in one sentence.
        picture: What is drawn.
        x: What lies on the x axis.
        y: What lies on the y axis.
        noised: What gets noise in paper mode.
        query_type: The paper's query type: 1 count, 2 mean, 3 median, 4 variance.
        data_type: The paper's data type of what gets noise.
        is_range: Whether noisy values are fitted to a range.
        levels: The noise levels of paper mode.
        fields: The columns that it reads.
        drawer: The function that draws original and paper mode, as ``module:function``.
        options: What else it is called with.
        forms: The forms that it has.
    """

    name: str
    number: int | None
    title: str
    hint: str
    picture: str
    x: str
    y: str
    noised: str
    query_type: int
    data_type: str
    is_range: bool
    levels: tuple[str, ...]
    fields: tuple[str, ...]
    drawer: str
    options: Mapping[str, Any] = field(default_factory=dict)
    forms: tuple[Form, ...] = FORMS

    @property
    def label(self) -> str:
        """What it is called: ``"Figure 4"``, ``"Figure 4, alternative"``, or ``"Further figure"``."""
        if self.number is None:
            return "Further figure"
        return f"Figure {self.number}" if self.name == str(self.number) else f"Figure {self.number}, alternative"

    def draw(self, data: Any, **options: Any) -> Any:
        """Return the figure of a table; see the function that ``drawer`` names."""
        module, function = self.drawer.split(":")
        return getattr(import_module(_DRAWN + module), function)(data, **self.options, **options)

    def entries(self) -> list[dict[str, Any]]:
        """Return what ``pydplib figures --list --json`` prints: one entry per form."""
        return [self._entry(form) for form in self.forms]

    def _entry(self, form: Form) -> dict[str, Any]:
        noised = {"original": None, "paper": self.noised, "sound": "table of counts"}[form]
        return {
            "name": self.name,
            "number": self.number,
            "form": form,
            "title": self.title,
            "picture": self.picture,
            "x": self.x,
            "y": self.y,
            "noised": noised,
            "query_type": self.query_type,
            "data_type": self.data_type,
            "is_range": self.is_range,
            "levels": list(self.levels) if form == "paper" else [],
            "owner_only": form != "sound" and not (form == "paper" and len(self.levels) == 1),
        }


_SCORED = ("age", "pirads")
_FOUND = ("age", "prostatitis")
_FLAGS = ("bph", "turp", "follow_up", "pca_no_pirads")

CATALOGUE: Mapping[str, FigureSpec] = MappingProxyType(
    {
        spec.name: spec
        for spec in (
            FigureSpec(
                "2", 2, "Patient age and PI-RADS score", "How many reports have which score, per age group.",
                "histograms", "age", "reports", "counts", 1, "int", True, LEVELS, _SCORED,
                "paper:age_and_score",
            ),
            FigureSpec(
                "3", 3, "PI-RADS score and average age", "The average age of every score, read off Figure 2's table.",
                "points", "average age", "PI-RADS score", "ages", 2, "float", True, LEVELS, _SCORED,
                "paper:average_age",
            ),
            FigureSpec(
                "4", 4, "Prostatitis and median age", "Boxes with the median age of every finding.",
                "box plot", "prostatitis", "median age", "prostatitis", 3, "int", True, LEVELS, _FOUND,
                "paper:age_by_prostatitis",
            ),
            FigureSpec(
                "4-noised-ages", 4, "Prostatitis and median age, noise on the ages", "",
                "box plot", "prostatitis", "median age", "ages", 3, "float", True, LEVELS, _FOUND,
                "paper:age_by_prostatitis", {"noised_ages": True}, ("paper",),
            ),
            FigureSpec(
                "5", 5, "Patient age", "How many reports there are per age group.",
                "histogram", "age", "reports", "ages", 1, "float", True, ("high",), ("age",),
                "paper:age_histogram",
            ),
            FigureSpec(
                "5-from-counts", 5, "Patient age, noise on the counts", "",
                "histogram", "age", "reports", "counts", 1, "int", True, ("high",), ("age",),
                "paper:age_histogram", {"from_counts": True}, ("paper",),
            ),
            FigureSpec(
                "score-by-age", None, "PI-RADS score against age group",
                "How many reports have which score, per ten years.",
                "heat map", "age group", "PI-RADS score", "scores", 2, "int", True, LEVELS, _SCORED,
                "further:score_by_age", {}, ("paper", "sound"),
            ),
            FigureSpec(
                "prostatitis-by-age", None, "Prostatitis against age group",
                "How many reports have which finding, per ten years.",
                "heat map", "age group", "prostatitis", "prostatitis", 1, "string", True, LEVELS, _FOUND,
                "further:prostatitis_by_age", {}, ("paper", "sound"),
            ),
            FigureSpec(
                "age-by-score", None, "Age per PI-RADS score",
                "Boxes and means, read off the table of scores by age group.",
                "box plot", "PI-RADS score", "age", "scores", 1, "int", True, LEVELS, _SCORED,
                "further:age_by_score", {}, ("paper", "sound"),
            ),
            FigureSpec(
                "age-by-score-noised-ages", None, "Age per PI-RADS score, noise on the ages", "",
                "box plot", "PI-RADS score", "age", "ages", 2, "int", False, LEVELS, _SCORED,
                "further:age_by_score", {"noised_ages": True}, ("paper",),
            ),
            FigureSpec(
                "findings", None, "Reports with a yes", "BPH, TURP surgery and other findings that are yes or no.",
                "bars", "finding", "reports", "answers", 1, "bool", False, LEVELS, _FLAGS,
                "further:findings", {}, ("paper", "sound"),
            ),
            FigureSpec(
                "findings-from-counts", None, "Reports with a yes, noise on the counts", "",
                "bars", "finding", "reports", "counts", 1, "int", False, LEVELS, _FLAGS,
                "further:findings", {"from_counts": True}, ("paper",),
            ),
            FigureSpec(
                "variance", None, "Variance of age per PI-RADS score", "",
                "bars", "PI-RADS score", "variance of age", "ages", 4, "int", False, LEVELS, _SCORED,
                "further:variance_by_score", {}, ("paper",),
            ),
            FigureSpec(
                "variance-from-variances", None, "Variance of age per PI-RADS score, noise on the variances", "",
                "bars", "PI-RADS score", "variance of age", "variances", 4, "float", False, LEVELS, _SCORED,
                "further:variance_by_score", {"from_variances": True}, ("paper",),
            ),
        )
    }
)  # fmt: skip
"""Name -> figure: those of the paper with their alternatives, then further ones."""


def figure_entries() -> list[dict[str, Any]]:
    """Return the whole list, one entry per figure and form.

    Examples:
        >>> [entry["form"] for entry in figure_entries() if entry["name"] == "5"]
        ['original', 'paper', 'sound']
    """
    return [entry for spec in CATALOGUE.values() for entry in spec.entries()]

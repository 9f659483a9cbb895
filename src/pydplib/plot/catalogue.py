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


@dataclass(frozen=True, slots=True, kw_only=True)
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
                name="2", number=2, title="Patient age and PI-RADS score",
                hint="How many reports have which score, per age group.",
                picture="histograms", x="age", y="reports", noised="counts", query_type=1, data_type="int",
                is_range=True, levels=LEVELS, fields=_SCORED,
                drawer="paper:age_and_score",
            ),
            FigureSpec(
                name="3", number=3, title="PI-RADS score and average age",
                hint="The average age of every score, read off Figure 2's table.",
                picture="points", x="average age", y="PI-RADS score", noised="ages", query_type=2, data_type="float",
                is_range=True, levels=LEVELS, fields=_SCORED,
                drawer="paper:average_age",
            ),
            FigureSpec(
                name="4", number=4, title="Prostatitis and median age",
                hint="Boxes with the median age of every finding.",
                picture="box plot", x="prostatitis", y="median age", noised="prostatitis", query_type=3,
                data_type="int", is_range=True, levels=LEVELS, fields=_FOUND,
                drawer="paper:age_by_prostatitis",
            ),
            FigureSpec(
                name="4-noised-ages", number=4, title="Prostatitis and median age, noise on the ages", hint="",
                picture="box plot", x="prostatitis", y="median age", noised="ages", query_type=3, data_type="float",
                is_range=True, levels=LEVELS, fields=_FOUND,
                drawer="paper:age_by_prostatitis", options={"noised_ages": True}, forms=("paper",),
            ),
            FigureSpec(
                name="5", number=5, title="Patient age", hint="How many reports there are per age group.",
                picture="histogram", x="age", y="reports", noised="ages", query_type=1, data_type="float",
                is_range=True, levels=("high",), fields=("age",),
                drawer="paper:age_histogram",
            ),
            FigureSpec(
                name="5-from-counts", number=5, title="Patient age, noise on the counts", hint="",
                picture="histogram", x="age", y="reports", noised="counts", query_type=1, data_type="int",
                is_range=True, levels=("high",), fields=("age",),
                drawer="paper:age_histogram", options={"from_counts": True}, forms=("paper",),
            ),
            FigureSpec(
                name="score-by-age", number=None, title="PI-RADS score against age group",
                hint="How many reports have which score, per ten years.",
                picture="heat map", x="age group", y="PI-RADS score", noised="scores", query_type=2, data_type="int",
                is_range=True, levels=LEVELS, fields=_SCORED,
                drawer="further:score_by_age", options={}, forms=("paper", "sound"),
            ),
            FigureSpec(
                name="prostatitis-by-age", number=None, title="Prostatitis against age group",
                hint="How many reports have which finding, per ten years.",
                picture="heat map", x="age group", y="prostatitis", noised="prostatitis", query_type=1,
                data_type="string", is_range=True, levels=LEVELS, fields=_FOUND,
                drawer="further:prostatitis_by_age", options={}, forms=("paper", "sound"),
            ),
            FigureSpec(
                name="age-by-score", number=None, title="Age per PI-RADS score",
                hint="Boxes and means, read off the table of scores by age group.",
                picture="box plot", x="PI-RADS score", y="age", noised="scores", query_type=1, data_type="int",
                is_range=True, levels=LEVELS, fields=_SCORED,
                drawer="further:age_by_score", options={}, forms=("paper", "sound"),
            ),
            FigureSpec(
                name="age-by-score-noised-ages", number=None, title="Age per PI-RADS score, noise on the ages", hint="",
                picture="box plot", x="PI-RADS score", y="age", noised="ages", query_type=2, data_type="int",
                is_range=False, levels=LEVELS, fields=_SCORED,
                drawer="further:age_by_score", options={"noised_ages": True}, forms=("paper",),
            ),
            FigureSpec(
                name="findings", number=None, title="Reports with a yes",
                hint="BPH, TURP surgery and other findings that are yes or no.",
                picture="bars", x="finding", y="reports", noised="answers", query_type=1, data_type="bool",
                is_range=False, levels=LEVELS, fields=_FLAGS,
                drawer="further:findings", options={}, forms=("paper", "sound"),
            ),
            FigureSpec(
                name="findings-from-counts", number=None, title="Reports with a yes, noise on the counts", hint="",
                picture="bars", x="finding", y="reports", noised="counts", query_type=1, data_type="int",
                is_range=False, levels=LEVELS, fields=_FLAGS,
                drawer="further:findings", options={"from_counts": True}, forms=("paper",),
            ),
            FigureSpec(
                name="variance", number=None, title="Variance of age per PI-RADS score", hint="",
                picture="bars", x="PI-RADS score", y="variance of age", noised="ages", query_type=4, data_type="int",
                is_range=False, levels=LEVELS, fields=_SCORED,
                drawer="further:variance_by_score", options={}, forms=("paper",),
            ),
            FigureSpec(
                name="variance-from-variances", number=None,
                title="Variance of age per PI-RADS score, noise on the variances", hint="",
                picture="bars", x="PI-RADS score", y="variance of age", noised="variances", query_type=4,
                data_type="float", is_range=False, levels=LEVELS, fields=_SCORED,
                drawer="further:variance_by_score", options={"from_variances": True}, forms=("paper",),
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

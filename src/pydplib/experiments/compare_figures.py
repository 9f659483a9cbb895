"""Figures of the comparison: what each attack brings, and how wrong the answer is."""

from __future__ import annotations

from collections.abc import Sequence

from pydplib.experiments._result import Row, Sheet
from pydplib.experiments.compare_words import HEADS
from pydplib.plot import Figure, bar

_ATTACKS = {
    "told_apart": "told by one who knows the others",
    "moved": "belief moved",
    "certain": "secret certain",
    "found": "row found",
}


def draw_figures(rows: Sequence[Row]) -> dict[str, tuple[Figure, Sheet]]:
    """Return the figures, each with its numbers."""
    there = [row for row in rows if row["error"] is not None]
    methods = [row["method"] for row in there]
    attacks = bar(
        methods,
        {words: [row[key] or 0.0 for row in there] for key, words in _ATTACKS.items()},
        x_title="protection",
        y_title="share of people",
        title="What each attack brings",
        caption=(
            "Half is a coin toss for the first series (with and without); for the others it is 0. Private counts have "
            "no rows that could be found."
        ),
    )
    attacks.update_yaxes(range=[0, 1.05], tickformat=".0%")
    error = bar(
        methods,
        {"error": [row["error"] for row in there]},
        x_title="protection",
        y_title="error in patients",
        title="How wrong the answer is",
        caption="Anonymized tables: the error of this release. Private counts: the mean error over many releases.",
    )
    heads = {key: HEADS[key] for key in ("method", *_ATTACKS)}
    wrong = {key: HEADS[key] for key in ("method", "answer", "error", "loss", "suppressed")}
    return {"attacks": (attacks, Sheet("Attacks", heads, there)), "error": (error, Sheet("Error", wrong, there))}

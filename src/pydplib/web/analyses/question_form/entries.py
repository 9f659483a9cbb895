"""Ways into the question form for what papers print: Table 1, survival, two groups compared; with fitting defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydplib.engine.persons import orderable_columns
from pydplib.web.analyses.question_form.offers import Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A page that opens the question form with a few statistics.

    Args:
        title: Its heading.
        lead: What it is for, in a sentence.
        icon: One of the design's icons.
        kinds: The statistics that it offers, the usual one first.
    """

    title: str
    lead: str
    icon: str
    kinds: tuple[str, ...]


ENTRIES: Mapping[str, Entry] = {
    "table-one": Entry(
        title="Table 1",
        lead="What the patients of each arm look like: n (%), mean (SD), median [quartiles] and tests, for one price.",
        icon="table-2",
        kinds=("table one",),
    ),
    "survival": Entry(
        title="Survival",
        lead="The share without an event over time, with numbers at risk, median survival and the log-rank test.",
        icon="activity",
        kinds=("survival",),
    ),
    "compare": Entry(
        title="Compare two groups",
        lead="How an outcome differs between groups, with an interval that holds sampling and noise.",
        icon="scale",
        kinds=("difference", "risk ratio", "odds ratio", "association", "trend", "logistic"),
    ),
}
"""Name in the address -> page."""


def person_defaults(offer: Offer) -> dict[str, str]:
    """Return which record of each person counts unless somebody chooses: the first by a date, where there is one.

    Papers count patients: a patient with many records must not count more than others.
    """
    schema = offer.schema
    if schema.person is None or schema.max_rows_per_person == 1:
        return {}
    fit = [name for name in orderable_columns(schema) if name in offer.filters]
    dates = [name for name in fit if offer.filters[name].widget == "date"]
    return {"rule": "first", "order": dates[0]} if dates else {}

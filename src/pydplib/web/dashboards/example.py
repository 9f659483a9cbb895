"""The demonstration's dashboards: the paper's figures for each audience, published."""

from __future__ import annotations

from collections.abc import Callable

from pydplib.web.dashboards import plans
from pydplib.web.dashboards.editions import count_records, publish
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project

_FIGURES = ("2", "3", "4", "5", "reports-by-year", "age-by-year")
DASHBOARDS: tuple[tuple[str, str, str, tuple[str, ...], dict[str, float]], ...] = (
    (
        "third_party",
        "Prostate MRI for partners",
        "PI-RADS scores, age and findings of the cohort.",
        _FIGURES,
        {"2": 0.4, "3": 0.4, "4": 0.4, "age-by-year": 0.25},
    ),
    (
        "collaborator",
        "Prostate MRI for collaborators",
        "The same figures with less noise.",
        _FIGURES,
        {"2": 0.9, "3": 0.9, "4": 0.9, "age-by-year": 0.5},
    ),
    # At low noise the big tables would use up the data set: owners look at the originals beside instead.
    ("owner", "Prostate MRI, trends", "How the cohort changes over the years.", _FIGURES[4:], {}),
)
"""Audience, title, introduction, figures, and prices of their own: for the mean ages, which the noise factor alone
would blur away, and for the large tables, whose price would follow a noisy number of records past the budget."""


def publish_examples(owner: User, project: Project, *, step: Callable[[str], None] = lambda _: None) -> None:
    """Make and publish a dashboard for each audience; calls ``step`` with the title of each."""
    for audience, title, intro, names, prices in DASHBOARDS:
        step(title)
        made = plans.make_dashboard(owner, project, title=title, audience=audience, intro=intro)
        plans.add_ready_made(owner, made, names)
        for name, epsilon in prices.items():
            plans.set_price(owner, made.figures.get(name=name), epsilon)
        count_records(owner, made)
        publish(owner, made, agreed=bill_for(made).nano)

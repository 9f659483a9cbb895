"""Plans and editions that version 0.1 stored: its figures 2 to 5 had other pictures, and still show these."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from django.apps import apps

from pydplib.plot.recipes.sound import sound_figure
from pydplib.web.dashboards.models import Figure, Shown
from pydplib.web.dashboards.panels import panels_of
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.projects.models import Member

migration = import_module("pydplib.web.dashboards.migrations.0002_names_of_figures")
OLD = tuple(migration.NAMES.values())


def as_stored_by_0_1(dashboard: Any) -> None:
    migration.backwards(apps, None)
    assert set(dashboard.figures.values_list("name", flat=True)) == {"2", "3", "4", "5"}


def test_an_edition_of_version_0_1_shows_the_same_pictures_after_the_upgrade(published: Any) -> None:
    dashboard = published(names=OLD)
    before = [json.dumps(panel.figure.to_plotly_json(), default=str) for panel in panels(dashboard)]
    as_stored_by_0_1(dashboard)
    migration.forwards(apps, None)
    after = panels(dashboard)
    assert [json.dumps(panel.figure.to_plotly_json(), default=str) for panel in after] == before
    assert [item.name for item in dashboard.edition.shown.all()] == list(OLD)
    kinds = [panel.figure.data[0].type for panel in after]
    assert kinds == ["heatmap", "heatmap", "box", "bar"]  # what they were before Figures 2 to 5 were the paper's
    assert not bill_for(dashboard).nano, "the same questions: already paid"


def panels(dashboard: Any) -> Any:
    return panels_of(dashboard.edition, Member.as_role("third_party"))


def test_questions_of_a_users_own_keep_their_names(published: Any) -> None:
    dashboard = published(names=("reports-by-year",))
    migration.backwards(apps, None)
    migration.forwards(apps, None)
    assert dashboard.figures.get().name == "reports-by-year"
    Figure.objects.create(dashboard=dashboard, position=9, kind="question", name="2", question={"ask": "count"})
    migration.forwards(apps, None)
    assert dashboard.figures.get(kind="question").name == "2"


def test_stored_paper_mode_keeps_its_picture(published: Any) -> None:
    dashboard = published(names=("reports-by-year",))
    kept = {"figure": {"data": [], "layout": {}}, "columns": [], "rows": []}
    Shown.objects.create(edition=dashboard.edition, position=9, kind="paper", name="2", title="Old", paper=kept)
    migration.forwards(apps, None)
    item = Shown.objects.get(kind="paper")
    assert item.name == "score-by-age" and item.paper == kept and item.title == "Old"


def test_old_pictures_ask_what_they_asked() -> None:
    from pydplib.datasets import pirads_schema

    asked = {name: [question.to_dict() for question in sound_figure(name).ask(pirads_schema())] for name in OLD}
    edges = [18, 50, 60, 70, 80, 100]
    assert asked["score-by-age"] == asked["age-by-score"]
    assert asked["score-by-age"][0]["by"][0] == {"column": "age", "edges": edges}
    assert asked["prostatitis-by-age"][0]["by"][0] == {"column": "age", "edges": edges}
    assert [question["by"][0]["column"] for question in asked["findings"]] == [
        *("bph", "turp", "follow_up", "pca_no_pirads"),
    ]

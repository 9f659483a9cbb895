"""Owners make dashboards on the pages: new, pick, ask, set a price, count, publish."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from pydplib.capture import builtin
from pydplib.web.auditlog.models import Line
from pydplib.web.dashboards import plans
from pydplib.web.dashboards.models import Dashboard
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.intake.snapshots import snapshot_schema

NAMES = [
    *("2", "3", "4", "5", "score-by-age", "prostatitis-by-age", "age-by-score", "findings"),
    *("reports-by-year", "age-by-year"),
]


@pytest.mark.parametrize(
    ("template", "names", "findings"),
    [
        ("pirads-paper", NAMES, 4),
        ("pirads-2.1", NAMES, 3),
    ],
)
def test_ready_made_figures_follow_the_template(template: str, names: list[str], findings: int) -> None:
    from pydplib.plot.recipes.sound import sound_figure

    schema = snapshot_schema(builtin(template), lineage="x")
    assert [choice.name for choice in plans.ready_made(schema)] == names
    assert len(sound_figure("findings").ask(schema)) == findings


def test_a_dashboard_from_new_to_published_by_the_pages(study: Any, browser: Any) -> None:
    owner, project = browser("owner"), study.project.key
    assert "Reports per year" in owner.get(f"/dashboards/new?project={project}").content.decode()
    answer = owner.post(
        f"/dashboards/new?project={project}", {"title": "Trends", "audience": "collaborator", "intro": "Two."}
    )
    dashboard = Dashboard.objects.get(title="Trends")
    assert answer.url == f"/dashboards/{dashboard.key}/edit"
    owner.post(f"/dashboards/{dashboard.key}/pick", {"ready": ["reports-by-year"]})
    owner.post(
        f"/dashboards/{dashboard.key}/question", {"kind": "mean", "field": "age", "by1": "bph", "title": "Age by BPH"}
    )
    assert "Count the records" in owner.get(answer.url).content.decode()
    owner.post(f"/dashboards/{dashboard.key}/count")
    bill = bill_for(dashboard)
    page = owner.get(answer.url).content.decode()
    assert f'name="agreed" value="{bill.nano}"' in page and 'name="after" value="0"' in page
    assert bill.total in page
    for price in ("17", "\u00b2", "\u0663", "-1", ""):
        assert owner.post(f"/dashboards/{dashboard.key}/publish", {"agreed": price, "after": 0}).status_code == 422, (
            price
        )
    assert dashboard.editions.count() == 0
    assert owner.post(f"/dashboards/{dashboard.key}/publish", {"agreed": bill.nano}).status_code == 422
    for press in (1, 2):
        sent = {"agreed": bill.nano, "after": 0}
        assert owner.post(f"/dashboards/{dashboard.key}/publish", sent).status_code == 302, press
    assert dashboard.editions.count() == 1
    assert not any("answered" in words for line in bill.lines for words in line.margins)
    after = bill_for(dashboard)
    assert not after.nano and {line.cost for line in after.lines} == {"already paid"}
    assert all("Already answered" in line.margins[0] for line in after.lines), "expected margins are of other noise"
    seen = browser("collaborator").get(f"/dashboards/{dashboard.key}").content.decode()
    assert "Age by BPH" in seen
    actions = set(Line.objects.filter(subject=dashboard.key).values_list("action", flat=True))
    assert {"dashboard.make", "dashboard.edit", "dashboard.count", "dashboard.publish"} <= actions


def test_new_begins_with_the_ready_made_figures_if_wanted(study: Any, browser: Any) -> None:
    values = {"title": "All", "audience": "third_party", "intro": "", "ready": "1"}
    browser("owner").post(f"/dashboards/new?project={study.project.key}", values)
    assert Dashboard.objects.get(title="All").figures.count() == 6


def test_a_price_of_ones_own_stays_within_the_policys_cap(planned: Any, browser: Any) -> None:
    dashboard = planned(names=("age-by-year",))
    owner, figure = browser("owner"), dashboard.figures.get()
    owner.post(f"/dashboards/figures/{figure.key}/price", {"epsilon": "0.25"})
    assert bill_for(dashboard).nano == 250_000_000
    owner.post(f"/dashboards/figures/{figure.key}/price", {"epsilon": "0.7"})
    assert bill_for(dashboard).problems
    owner.post(f"/dashboards/figures/{figure.key}/price", {"epsilon": ""})
    assert dashboard.figures.get().nano_epsilon is None
    assert not bill_for(dashboard).problems


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "mean"},
        {"kind": "mean", "field": "patient_id"},
        {"kind": "mean", "field": "age); DROP TABLE"},
        {"kind": "eval", "field": "age"},
        {"kind": "crosstab", "field": "age"},
        {"kind": "count", "by1": "year", "by2": "year"},
    ],
)
def test_questions_outside_the_closed_form_are_refused(planned: Any, browser: Any, wrong: dict[str, str]) -> None:
    dashboard = planned(names=(), count=False)
    assert browser("owner").post(f"/dashboards/{dashboard.key}/question", wrong).status_code == 422
    assert dashboard.figures.count() == 0


def test_identifiers_and_unknown_names_cannot_be_picked(planned: Any, browser: Any) -> None:
    dashboard = planned(names=(), count=False)
    for values in ({"ready": ["9"]}, {"analysis": "foreign"}):
        assert browser("owner").post(f"/dashboards/{dashboard.key}/pick", values).status_code in (302, 422)
    assert dashboard.figures.count() == 0


def test_a_plan_that_was_never_published_goes_when_withdrawn(planned: Any, browser: Any) -> None:
    dashboard = planned(count=False)
    browser("owner").post(f"/dashboards/{dashboard.key}/withdraw")
    assert not Dashboard.objects.filter(pk=dashboard.pk).exists()


def test_the_edit_page_says_what_is_missing(planned: Any, study: Any, browser: Any) -> None:
    dashboard = planned(count=False)
    study.project.snapshots.update(published=None)
    page = browser("owner").get(f"/dashboards/{dashboard.key}/edit").content.decode()
    assert "No snapshot is published yet" in page


def test_a_question_with_too_many_cells_is_not_put_on_the_plan(
    planned: Any, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dashboard, owner = planned(names=(), count=False), browser("owner")
    sent = {"kind": "count", "by1": "bph", "by2": "pca_no_pirads"}
    monkeypatch.setattr("pydplib.web.analyses.question_form.questions.MOST_CELLS", 3)
    answer = owner.post(f"/dashboards/{dashboard.key}/question", sent)
    assert answer.status_code == 422
    assert "would have 4 cells; at most 3 are given" in answer.content.decode()
    assert dashboard.figures.count() == 0
    monkeypatch.setattr("pydplib.web.analyses.question_form.questions.MOST_CELLS", 4)
    assert owner.post(f"/dashboards/{dashboard.key}/question", sent).status_code == 302
    assert dashboard.figures.count() == 1


def test_what_is_left_is_the_same_number_everywhere_on_the_page(planned: Any, browser: Any) -> None:
    dashboard = planned(names=("age-by-year",))
    browser("owner").post(f"/dashboards/figures/{dashboard.figures.get().key}/price", {"epsilon": "0.123456"})
    left = bill_for(dashboard).own.left.epsilon
    page = browser("owner").get(f"/dashboards/{dashboard.key}/edit").content.decode()
    stat = re.search(r"Left for this audience</dt>\s*<dd[^>]*>([\d.]+)", page)
    bar = re.search(r"ε ([\d.]+) left after", page)
    assert stat and bar
    assert float(stat[1]) == math.floor(left * 1e4 + 1e-6) / 1e4
    assert float(bar[1]) == math.floor((left - 0.123456) * 1e4 + 1e-6) / 1e4

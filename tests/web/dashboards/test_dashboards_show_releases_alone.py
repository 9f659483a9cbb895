"""What viewers get: released values and nothing else; originals for owners alone; paper mode only where switched on."""

from __future__ import annotations

import re
from typing import Any

import pytest
from page_figures import SCRIPT, cells_of, figures_of

from pydplib.web.auditlog.models import Line
from pydplib.web.dashboards import plans
from pydplib.web.dashboards.editions import publish
from pydplib.web.dashboards.models import Dashboard, Shown
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.dashboards.upkeep import tidy
from pydplib.web.intake.snapshots import folder
from pydplib.web.ledger import models as rows

ALL = ("2", "3", "4", "5", "reports-by-year", "age-by-year")


def numbers_in(value: Any) -> list[float]:
    if isinstance(value, dict):
        assert "bdata" not in value
        return [number for part in value.values() for number in numbers_in(part)]
    if isinstance(value, list):
        return [number for part in value for number in numbers_in(part)]
    return [float(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_a_page_of_the_audience_needs_no_row_of_the_data(published: Any, browser: Any) -> None:
    dashboard = published(names=ALL)
    client = browser("third_party")
    before = figures_of(client.get(f"/dashboards/{dashboard.key}").content.decode())
    for path in folder().iterdir():
        path.unlink()
    page = client.get(f"/dashboards/{dashboard.key}").content.decode()
    assert len(before) == len(ALL)
    assert figures_of(page) == before, "drawn from what was released, with the data gone"


def test_figures_hold_the_released_numbers(published: Any, browser: Any, releases_of: Any) -> None:
    dashboard = published(names=("reports-by-year", "score-by-age", "2"))
    found = figures_of(browser("third_party").get(f"/dashboards/{dashboard.key}").content.decode())
    trend, table, fine = (releases_of(item)[0] for item in dashboard.edition.shown.all())
    assert found["figure-1"]["data"][0]["y"] == [float(value) for value in trend.values[:2]]
    cells = [max(0.0, float(round(value))) for row in table.value for value in row[:5]]
    assert sorted(numbers_in(cells_of(found["figure-2"]))) == sorted(cells)
    drawn = [number for trace in found["figure-3"]["data"] for number in numbers_in(trace["y"])]
    assert drawn == [max(0.0, float(row[score])) for score in range(5) for row in fine.value]


def test_canaries_of_identifiers_are_nowhere(published: Any, browser: Any, study: Any) -> None:
    dashboard = published(names=("2", "age-by-year"))
    planning_page = browser("owner").get(f"/dashboards/{dashboard.key}/edit").content
    pages = [
        browser(role).get(address).content
        for role in ("third_party", "owner")
        for address in (f"/dashboards?project={study.project.key}", f"/dashboards/{dashboard.key}")
    ]
    pages.append(browser("owner").post(f"/dashboards/{dashboard.key}/originals").content)
    assert not any(b"CANARY" in page for page in [*pages, planning_page])
    assert not any("CANARY" in line.details + line.subject for line in Line.objects.all())


def test_every_figure_has_guarantee_cost_receipt_and_table_and_the_page_stays_light(
    published: Any, browser: Any
) -> None:
    whole = browser("third_party").get(f"/dashboards/{published(names=ALL).key}").content.decode()
    page = SCRIPT.sub("", whole)
    assert page.count("Differentially private with epsilon") == len(ALL)
    costs = re.findall(r"Cost: epsilon ([0-9.]+?)[., ]", page)
    assert len(costs) == len(ALL) and all(len(cost.strip("0.").replace(".", "")) <= 4 for cost in costs), costs
    assert not re.search(r"[0-9]+ to [0-9]+ %", page), "no percentage without what it is a part of"
    assert page.count('class="twin"') == len(ALL) == page.count("<table")
    assert page.count('href="/receipts/') == len(ALL)
    assert whole.count("error_y") >= 4
    assert whole.count("plotly-cartesian.min.js") == 1
    assert all(len(text) < 12_000 for _, text in SCRIPT.findall(whole))
    assert len(whole) < 80_000
    assert " style=" not in page
    assert "onclick" not in page


def test_receipts_verify_and_hold_no_value(published: Any, browser: Any, client: Any) -> None:
    page = browser("third_party").get(f"/dashboards/{published().key}").content.decode()
    address = re.search(r'href="(/receipts/[0-9a-f]{64})"', page)[1]  # type: ignore[index]
    answer = client.get(address)
    assert answer.status_code == 200
    assert "Signed" in answer.content.decode()


@pytest.mark.parametrize(
    ("role", "listed", "one"),
    [
        ("owner", 200, 200),
        ("second_owner", 200, 200),
        ("third_party", 200, 200),
        ("collaborator", 200, 404),
        ("radiologist", 403, 403),
        ("data_protection_officer", 403, 403),
    ],
)
def test_who_sees_a_dashboard_for_third_parties(
    published: Any, browser: Any, study: Any, role: str, listed: int, one: int
) -> None:
    dashboard = published()
    client = browser(role)
    answer = client.get(f"/dashboards?project={study.project.key}")
    assert answer.status_code == listed
    if listed == 200:
        assert (dashboard.title in answer.content.decode()) == (one == 200)
    assert client.get(f"/dashboards/{dashboard.key}").status_code == one
    if not role.endswith("owner"):
        for way in ("originals", "publish", "count", "withdraw", "pick", "question"):
            assert client.post(f"/dashboards/{dashboard.key}/{way}").status_code in (403, 404), way


def test_drafts_and_withdrawn_ones_are_not_there_for_the_audience(planned: Any, study: Any, browser: Any) -> None:
    dashboard = planned()
    partner = browser("third_party")
    assert partner.get(f"/dashboards/{dashboard.key}").status_code == 404
    publish(study.owner, dashboard, agreed=bill_for(dashboard).nano)
    assert partner.get(f"/dashboards/{dashboard.key}").status_code == 200
    browser("owner").post(f"/dashboards/{dashboard.key}/withdraw")
    assert partner.get(f"/dashboards/{dashboard.key}").status_code == 404
    assert Dashboard.objects.get(pk=dashboard.pk).state == "withdrawn"


def test_editing_the_plan_changes_nothing_for_the_audience(published: Any, browser: Any) -> None:
    dashboard = published(names=("reports-by-year", "age-by-year"))
    owner, partner = browser("owner"), browser("third_party")
    before = figures_of(partner.get(f"/dashboards/{dashboard.key}").content.decode())
    first, second = dashboard.figures.all()
    owner.post(f"/dashboards/figures/{second.key}/move/up")
    assert [figure.name for figure in dashboard.figures.all()] == ["age-by-year", "reports-by-year"]
    owner.post(f"/dashboards/figures/{first.key}/remove")
    owner.post(f"/dashboards/{dashboard.key}/edit", {"title": "Other words", "intro": ""})
    page = partner.get(f"/dashboards/{dashboard.key}").content.decode()
    assert figures_of(page) == before
    assert "Other words" not in page.split("<h1>")[1].split("</h1>")[0]


def test_the_owners_preview_is_what_the_audience_sees(published: Any, browser: Any, study: Any) -> None:
    dashboard = published(names=("2",))
    owner, address = browser("owner"), f"/dashboards/{dashboard.key}"
    seen = figures_of(browser("third_party").get(address).content.decode())
    answer = owner.post("/policy/preview", {"project": study.project.key, "role": "third_party", "next": address})
    assert answer.url == address
    page = owner.get(address).content.decode()
    assert figures_of(page) == seen
    assert "originals" not in page
    assert owner.post(f"{address}/originals").status_code == 403
    foreign = owner.post("/policy/preview/end")
    assert foreign.status_code == 302


def test_a_field_that_the_policy_closes_later_is_shown_no_more(published: Any, browser: Any, study: Any) -> None:
    dashboard = published(names=("reports-by-year", "age-by-year"))
    study.project.rules.filter(audience="third_party").update(fields=["year"])
    page = browser("third_party").get(f"/dashboards/{dashboard.key}").content.decode()
    assert list(figures_of(page)) == ["figure-1"]
    assert "does not open the fields" in page


def test_originals_are_for_owners_logged_and_stored_nowhere(published: Any, browser: Any, study: Any) -> None:
    dashboard = published(names=("reports-by-year",))
    exact = 240.0
    answer = browser("owner").post(f"/dashboards/{dashboard.key}/originals")
    page = answer.content.decode()
    assert answer["Cache-Control"] == "no-store"
    original, released = figures_of(page)["figure-1"]["data"]
    assert (original["name"], sum(original["y"])) == ("original", exact)
    assert released["name"] == "released"
    assert Line.objects.filter(action="dashboard.originals").count() == 1
    assert rows.Entry.objects.filter(body__contains='"look"').count() == 1
    assert Shown.objects.get(edition__dashboard=dashboard).paper is None
    for role, status in (("third_party", 403), ("collaborator", 403)):
        assert browser(role).post(f"/dashboards/{dashboard.key}/originals").status_code == status
    assert browser("owner").get(f"/dashboards/{dashboard.key}/originals").status_code == 405
    again = browser("third_party").get(f"/dashboards/{dashboard.key}").content.decode()
    assert '"original"' not in again


def test_paper_mode_is_off_until_the_owner_switches_it_on(planned: Any, study: Any) -> None:
    from pydplib.errors import ParameterError

    dashboard = planned()
    schema = plans.schema_of(study.project)
    assert plans.paper_mode(study.project, "third_party", schema) == []
    with pytest.raises(ParameterError, match="switched on"):
        plans.add_paper_mode(study.owner, dashboard, ["5"])


def test_paper_mode_figures_carry_their_label_one_level_and_one_draw(planned: Any, study: Any, browser: Any) -> None:
    row = study.project.rules.filter(audience="third_party")
    row.update(paper_mode=True)
    dashboard = planned(names=())
    plans.add_paper_mode(study.owner, dashboard, ["2", "5"])
    publish(study.owner, dashboard, agreed=0)
    assert rows.Entry.objects.filter(body__contains='"no_dp"').count() == 2
    partner = browser("third_party")
    page = partner.get(f"/dashboards/{dashboard.key}").content.decode()
    assert page.count("No privacy guarantee") >= 2
    found = figures_of(page)
    assert found == figures_of(partner.get(f"/dashboards/{dashboard.key}").content.decode()), "never drawn again"
    names = {trace.get("name") for figure in found.values() for trace in figure["data"]}
    assert not names & {"low", "medium", "original"}
    row.update(paper_mode=False)
    page = partner.get(f"/dashboards/{dashboard.key}").content.decode()
    assert figures_of(page) == {}
    assert "has not switched them on" in page
    assert bill_for(dashboard).problems, "nor can it be published again"


def test_paper_mode_goes_with_the_data_behind_it(planned: Any, study: Any, browser: Any) -> None:
    study.project.rules.filter(audience="third_party").update(paper_mode=True)
    dashboard = planned(names=())
    plans.add_paper_mode(study.owner, dashboard, ["5"])
    publish(study.owner, dashboard, agreed=0)
    study.project.snapshots.update(file="", sha256="")  # what an erasure does
    page = browser("third_party").get(f"/dashboards/{dashboard.key}").content.decode()
    assert figures_of(page) == {}
    assert tidy() == 1
    assert Shown.objects.get(edition__dashboard=dashboard).paper is None


def test_the_api_gives_the_same_releases(published: Any, study: Any, releases_of: Any) -> None:
    from django.test import Client

    from pydplib.release import Release
    from pydplib.web.api.tokens import make_token

    dashboard = published(names=("reports-by-year", "5"))

    def call(who: str, path: str) -> Any:
        token = make_token(study.people[who], name="t", scopes=("read",), days=1, second_factor=True)[1]
        return Client(headers={"authorization": f"Bearer {token}"}).get(f"/api/v1/{path}")

    listed = call("third_party", f"projects/{study.project.key}/dashboards").json()["items"]
    assert [(item["key"], item["figures"]) for item in listed] == [(dashboard.key, 2)]
    body = call("third_party", f"dashboards/{dashboard.key}").json()
    told = [Release.from_dict(one) for figure in body["shown"] for one in figure["releases"]]
    assert told == [one for item in dashboard.edition.shown.all() for one in releases_of(item)]
    assert call("collaborator", f"dashboards/{dashboard.key}").status_code == 404
    assert call("collaborator", f"projects/{study.project.key}/dashboards").json()["items"] == []


def test_a_question_of_ones_own_is_shown_in_the_words_of_the_template(
    planned: Any, study: Any, browser: Any, received: Any
) -> None:
    import pydplib as dp
    from pydplib.web.dashboards.panels import panels_of
    from pydplib.web.projects.models import Member

    dashboard = planned(names=())
    plans.add_question(study.owner, dashboard, dp.Count(by="prostatitis"), title="", nano_epsilon=200_000_000)
    publish(study.owner, dashboard, agreed=bill_for(dashboard).nano)
    (panel,) = panels_of(received(dashboard).edition, Member.as_role("third_party"))
    assert "chronic" in [row[0] for row in panel.rows] and "chr" not in [row[0] for row in panel.rows]
    assert "chronic" in browser("third_party").get(f"/dashboards/{dashboard.key}").content.decode()

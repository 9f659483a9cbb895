"""In a real browser: a partner asks the change of PSA by arm, an owner declares a column, a partner asks its mean."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from asking_server import serving, sums
from chromium import needs_chromium, open_browser
from web_home import make_web_home

pytestmark = [pytest.mark.browser, needs_chromium]

SEED = """
import datetime as dt, json, sys
from itertools import islice
sys.path.insert(0, sys.argv[1])
from reporting_world import session_of
from study_world import make_partner
from pydplib.web.demo import add_follow_up, synthetic_rows
from pydplib.web.demo_examples import REPORTS
from pydplib.web.intake.imports.records import accept_rows
from pydplib.web.intake.snapshots import make_snapshot, publish
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.setup import create_project
from pydplib.web.projects.models import Member
hospital = Hospital.objects.create(name="St. Example")
owner = User.objects.create_user("olivia", hospital=hospital, is_hospital_owner=True)
keys, partner = {}, None
for name, template, rows in (("study", "pirads-paper", islice(synthetic_rows(), 80)), ("desk", "pirads-2.1", REPORTS)):
    project = create_project(owner, name=name, purpose="research", legal_basis="Synthetic",
                             retention_until=dt.date(2040, 1, 1), template=template)
    accept_rows(project, project.templates.get(number=1), rows, actor=owner)
    if name == "study":
        add_follow_up(project, owner)
    project.refresh_from_db()
    publish(make_snapshot(project, actor=owner), actor=owner)
    keys[name] = project.key
    if partner is None:
        partner = make_partner(project, "carl", role="collaborator")
    else:
        Member.objects.create(project=project, user=partner, role="collaborator")
print(json.dumps({"keys": keys, "patients": [row["patient_id"] for row in islice(synthetic_rows(), 2)],
                  "sessions": {"olivia": session_of(owner), "carl": session_of(partner)}}))
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, _database: None) -> Iterator[Any]:
    with make_web_home(tmp_path_factory.mktemp("tables") / "home") as home:
        done = home.python(SEED, str(Path(__file__).parents[2] / "support"))
        assert done.returncode == 0, done.stderr[-2000:]
        world = json.loads(done.stdout.splitlines()[-1])
        with serving(home) as (port, _):
            yield home, world, f"http://127.0.0.1:{port}"


@pytest.fixture
def open_page(served: Any) -> Iterator[Any]:
    """Return a function that opens a page as somebody, and notes what the browser says and where it goes."""
    _, world, base = served
    with open_browser() as browser:

        def enter(name: str, **options: Any) -> Any:
            context = browser.new_context(**options)
            context.add_cookies([{"name": "session", "value": world["sessions"][name], "url": base}])
            page = context.new_page()
            page.heard, page.hosts = [], set()
            page.on("console", lambda said: page.heard.append(said.text) if said.type in ("error", "warning") else 0)
            page.on("pageerror", lambda error: page.heard.append(str(error)))
            page.on("request", lambda request: page.hosts.add(urlsplit(request.url).hostname or "127.0.0.1"))
            return page

        yield enter


def ask(page: Any, epsilon: str) -> None:
    page.get_by_text("Set it another way").click()
    page.get_by_label("A privacy loss that I set").check()
    page.locator("#id_epsilon").fill(epsilon)
    page.locator("#price").get_by_role("button", name="Ask and pay").click()
    page.wait_for_url(re.compile(r"/analyses/[0-9a-f]{16}$"))


def test_partner_asks_the_change_of_psa_by_arm_and_both_tables_together(served: Any, open_page: Any) -> None:
    home, world, base = served
    before = sums(home)["analyses"]
    page = open_page("carl")
    page.goto(f"{base}/analyses/new?project={world['keys']['study']}")
    page.get_by_label("Average", exact=True).check()
    page.select_option("#id_table", "follow_up")
    page.locator("#id_field option[value=psa_change]").wait_for(state="attached")
    assert "of each person" in page.locator("#id_field option[value=psa_change]").inner_text()
    page.select_option("#id_field", "psa_change")
    page.locator("#price").get_by_text("Follow-up visits: Average of Change of PSA").wait_for()
    # The arm stands in every visit: which visit counts is asked in words.
    page.select_option("#id_by1", "arm")
    page.locator("#price").get_by_text("Which records of each person").wait_for()
    page.select_option("#id_rule", "first")
    page.locator("#id_order").wait_for()
    page.select_option("#id_order", "visit_date")
    page.locator("#price").get_by_text("Change of PSA by Treatment arm, the first record of each person").wait_for()
    ask(page, "0.5")
    assert "Change of PSA" in page.locator("main").inner_text()
    assert page.locator("details.twin tbody tr").count() >= 2
    page.goto(f"{base}/analyses/new?project={world['keys']['study']}&kind=mean&table=reports_follow_up")
    page.select_option("#id_field", "psa_change")
    page.locator("#price").get_by_text("Average of Change of PSA").wait_for()
    page.select_option("#id_by1", "first_score")
    page.locator("#price").get_by_text("Change of PSA by First PI-RADS score").wait_for()
    ask(page, "0.5")
    assert sums(home)["analyses"] == before + 2
    assert not page.heard and page.hosts == {"127.0.0.1"}


def test_owner_declares_a_column_and_a_partner_asks_its_mean(served: Any, open_page: Any) -> None:
    _, world, base = served
    desk = world["keys"]["desk"]
    page = open_page("olivia")
    page.goto(f"{base}/columns?project={desk}")
    page.locator("#id_formula").fill("psa / volume")
    page.locator("#formula-check").get_by_text("has no column 'volume'").wait_for()
    page.locator("#id_formula").fill("psa / prostate_volume")
    page.locator("#formula-check").get_by_text("would be divided by 0").wait_for()
    page.locator("#id_title").fill("PSA per volume")
    page.locator("#id_facts").fill("0 to 1")
    page.locator("#formula-check").get_by_text("Between 0 to 1").wait_for()
    page.get_by_role("button", name="Declare").click()
    page.get_by_text("'psa_per_volume' is declared").wait_for()
    page.goto(f"{base}/snapshots?project={desk}")
    page.get_by_label("Publish it as well").check()
    page.get_by_role("button", name="Make a snapshot").click()
    page.get_by_text("is published").wait_for()
    assert not page.heard
    partner = open_page("carl")
    partner.goto(f"{base}/analyses/new?project={desk}")
    partner.get_by_label("Average", exact=True).check()
    partner.locator("#id_field option[value=psa_per_volume]").wait_for(state="attached")
    partner.select_option("#id_field", "psa_per_volume")
    partner.locator("#price").get_by_text("Average of PSA per volume").wait_for()
    ask(partner, "0.5")
    assert "PSA per volume" in partner.locator("main").inner_text()
    partner.goto(f"{base}/columns?project={desk}")
    assert partner.locator("text=403").count()


def test_owner_adds_a_table_from_a_file(served: Any, open_page: Any, tmp_path: Path) -> None:
    """With the server's own rule for DuckDB in force: nothing here may need another folder."""
    _, world, base = served
    file = tmp_path / "labs.csv"
    one, other = world["patients"]
    file.write_text(f"patient_id;testosterone\n{one};12,5\n{other};3,25\nsomebody else;4,5\n")
    page = open_page("olivia", viewport={"width": 390, "height": 800})
    page.goto(f"{base}/tables?project={world['keys']['study']}")
    page.get_by_label("Title of a new table").fill("Laboratory")
    page.set_input_files("[name=file]", str(file))
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/tables/uploads/*")
    assert page.get_by_label("Kind of testosterone").input_value() == "number"
    page.get_by_label("Rows of one patient").fill("3")
    page.get_by_label("Bounds or values of testosterone").fill("0 to 30")
    page.get_by_role("button", name="Check").click()
    page.get_by_text("People whom this project does not know").wait_for()
    with page.expect_download() as saved:
        page.get_by_text("Download these rows").click()
    assert "somebody else" in Path(saved.value.path()).read_text()
    page.get_by_role("button", name="Take in").click()
    page.get_by_text("2 rows of 2 patients were imported.").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert not page.heard

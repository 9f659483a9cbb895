"""A dashboard in a real browser: drawn as the reader comes near, on a phone too, nothing complains, no foreign host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from asking_server import seed, serving
from chromium import needs_chromium, open_browser
from web_home import make_web_home

pytestmark = [
    pytest.mark.browser,
    needs_chromium,
]
PUBLISH = """
from pydplib.web.dashboards import plans
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.dashboards.editions import count_records, publish
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project
owner, project = User.objects.get(username="olivia"), Project.objects.get()
project.rules.filter(audience="third_party").update(paper_mode=True, budget=9.0)
made = plans.make_dashboard(owner, project, title="For partners", audience="third_party")
plans.add_ready_made(owner, made, ["2", "3", "4", "5", "reports-by-year", "age-by-year"])
plans.add_paper_mode(owner, made, ["2"])
count_records(owner, made)
publish(owner, made, agreed=bill_for(made).nano)
print(made.key)
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, _database: None) -> Iterator[Any]:
    with make_web_home(tmp_path_factory.mktemp("dashboards") / "home") as home:
        world = seed(home, budget=2.0, data_set=20)
        done = home.python(PUBLISH)
        assert done.returncode == 0, done.stderr[-2000:]
        key = done.stdout.split()[-1]
        with serving(home) as (port, _):
            yield world, f"http://127.0.0.1:{port}", f"/dashboards/{key}"


@pytest.fixture
def open_page(served: Any) -> Iterator[Any]:
    """Return a function that opens a page as somebody, and notes what the browser says and where it goes."""
    world, base, _ = served
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


def receive(page: Any, address: str) -> None:
    """Open a dashboard and pay for it if nobody of the organisation has."""
    page.goto(address)
    if (button := page.get_by_role("button", name="Pay and see them")).count():
        assert page.locator("[data-figure]").count() == 1, "paper mode has no price"
        button.click()
        page.get_by_text("Your organisation sees these figures from now on").wait_for()


def read_through(page: Any) -> None:
    places = page.locator("[data-figure]")
    for place in range(places.count()):
        places.nth(place).scroll_into_view_if_needed()
        places.nth(place).locator(".main-svg").first.wait_for()


@pytest.mark.parametrize(("width", "look"), [(1280, "light"), (390, "dark")])
def test_figures_are_drawn_as_the_reader_comes_near(served: Any, open_page: Any, width: int, look: str) -> None:
    _, base, address = served
    page = open_page("tara", viewport={"width": width, "height": 800}, color_scheme=look)
    receive(page, base + address)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert page.locator(".js-plotly-plot").count() < 7 == page.locator("[data-figure]").count()
    read_through(page)
    assert page.locator(".js-plotly-plot").count() == 7
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    (wide, narrow) = (page.locator(f".figures-grid > {kind}").first.bounding_box() for kind in (".wide", ":not(.wide)"))
    assert wide["width"] > narrow["width"] if width > 1000 else wide["width"] == narrow["width"]
    assert (page.heard, page.hosts) == ([], {"127.0.0.1"})


def test_the_owner_sees_originals_beside_without_a_complaint(served: Any, open_page: Any) -> None:
    _, base, address = served
    page = open_page("olivia", viewport={"width": 1280, "height": 800})
    page.goto(base + address)
    page.get_by_role("button", name="Show the originals too").click()
    page.get_by_text("Originals are shown").wait_for()
    read_through(page)
    # Panels of their own where boxes are drawn, a second series elsewhere.
    assert page.locator(".annotation-text", has_text="Original").count() >= 1
    assert page.locator(".legendtext", has_text="original").count() >= 3
    assert (page.heard, page.hosts) == ([], {"127.0.0.1"})


def test_without_script_the_numbers_stand_in_tables(served: Any, open_page: Any) -> None:
    _, base, address = served
    page = open_page("tara", viewport={"width": 390, "height": 800}, java_script_enabled=False)
    receive(page, base + address)
    page.locator("summary", has_text="The numbers as a table").first.click()
    assert page.locator("table").first.get_by_text("PI-RADS 1").is_visible()
    assert not page.locator(".plot").first.is_visible()

"""Every page of the matrix of addresses under axe-core: no rule is broken, on desktop and phone; all themes: slow."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking_server import serving
from axe_core import axe_script, needs_npm, violations
from chromium import needs_chromium, open_browser
from web_home import make_web_home

pytestmark = [pytest.mark.browser, needs_chromium, needs_npm]
TABLE = Path(__file__).parents[1] / "addresses.toml"
ROLES = ("owner", "officer", "collaborator", "third_party", "radiologist", "manager", "anonymous")
DESK, TABLET, PHONE = {"width": 1280, "height": 900}, {"width": 768, "height": 1024}, {"width": 390, "height": 844}
NO_PAGES = (
    "api/", "healthz", "/progress", "/export/", "/download", "/certificate", "/receipt", "/fhir", "/head", ".json",
    ".csv", ".pdf", "columns/check",
)  # fmt: skip
"""Addresses that answer with files, with a part of a page, or to programs."""

SEED = """
import json, re, sys
sys.path.insert(0, sys.argv[1])
from reporting_world import session_of
from study_world import make_study
from web_objects import MAKERS, MEMBERS, World, make_project
from pydplib.web.analyses.models import Analysis
from pydplib.web.dashboards import plans
from pydplib.web.dashboards.editions import count_records, publish
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.people.models import Hospital, User
from pydplib.web.people.permissions import views
from pydplib.web.projects.models import Member

hospital = Hospital.objects.create(name="St. Example")
owner = User.objects.create_user("olivia", hospital=hospital, is_hospital_owner=True)
study = make_study(owner, reports=60)
world = World(hospital, make_project(hospital))
Member.objects.create(project=world.project, user=owner, role="owner")
world.people["owner"] = owner
for name in (*list(MEMBERS)[1:], "colleague"):
    world.people[name] = User.objects.create_user(name, hospital=hospital)
    if name in MEMBERS:
        for project in (study, world.project):
            Member.objects.create(project=project, user=world.people[name], role=MEMBERS[name], department="radiology")
study.rules.filter(audience="collaborator").update(budget=9.0)
study.data_set_budget = 20
study.save()
board = plans.make_dashboard(owner, study, title="For collaborators", audience="collaborator")
plans.add_ready_made(owner, board, ["2", "3", "reports-by-year"])
count_records(owner, board)
publish(owner, board, agreed=bill_for(board).nano)
table, doors = json.loads(sys.argv[2]), dict(views())
from pydplib.web.synthetic import purchases
from pydplib.web.synthetic.offers import Asked
purchases.BACKGROUND = False
place = Member.objects.get(project=study, user=world.people["collaborator"])
made, found = {
    # Of these the ledger knows: what is bought is real.
    "analyses.Analysis": Analysis.objects.filter(project=study).first(),
    "synthetic.SyntheticPurchase": purchases.buy(
        study, place.user, place, Asked(columns=("age", "bph"), relations=(), find=False, epsilon=1.0, noise="laplace")
    ),
}, []
for route, row in table.items():
    values = dict(row.get("with", {}))
    if "of" in row:
        if row["of"] not in made:
            made[row["of"]] = MAKERS[row["of"]](world)
        values.setdefault("key", getattr(made[row["of"]], "key", None) or made[row["of"]].pk)
    path = "/" + re.sub(r"<(?:\\w+:)?(\\w+)>", lambda part: str(values[part[1]]), route) + row.get("query", "")
    if doors[route].permission.kind == "project" and "of" not in row:
        path += ("&" if "?" in path else "?") + f"project={study.key}"
    found.append([route, path])
found.append(["dashboards/<str:key>", f"/dashboards/{board.key}"])
people = world.people | {"manager": owner}
print(json.dumps({"pages": found, "sessions": {name: session_of(user) for name, user in people.items()}}))
"""


def roles_of(row: dict[str, Any]) -> list[str]:
    """Return who gets a page at an address, of those whose pages differ most the first."""
    words = row.get("ok", "").replace("members", "owner").replace("all", "owner anonymous").split()
    return [role for role in ROLES if role in words]


def pages_of(table: dict[str, Any], pages: list[list[str]]) -> list[tuple[str, str]]:
    """Return who looks at which page: each page once, and home and lists as everybody who gets them."""
    found = []
    for route, path in pages:
        roles = roles_of(table[route])
        if not roles or any(part in f"/{route}" for part in NO_PAGES):
            continue
        several = route in ("", "analyses", "dashboards", "requests", "budget", "reports", "login", "receipts")
        found += [(role, path) for role in (roles if several else roles[:1])]
    for role in ("radiologist", "collaborator", "officer"):
        found.append((role, "/"))
    return found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, _database: None) -> Iterator[tuple[str, dict[str, Any]]]:
    table = tomllib.loads(TABLE.read_text("utf-8"))
    support = str(Path(__file__).parents[2] / "support")
    with make_web_home(tmp_path_factory.mktemp("axe") / "home") as home:
        done = home.python(SEED, support, json.dumps(table))
        assert done.returncode == 0, done.stderr[-2000:]
        world = json.loads(done.stdout.splitlines()[-1])
        world["pages"] = pages_of(table, world["pages"])
        with serving(home) as (port, _):
            yield f"http://127.0.0.1:{port}", world


def faults(
    served: tuple[str, dict[str, Any]], script: str, sizes: list[dict[str, int]], theme: str = "light"
) -> tuple[int, dict[str, list[str]]]:
    """Open every page once, look at it in each size, and return how many there were and what axe finds."""
    base, world = served
    found: dict[str, list[str]] = {}
    seen = 0
    with open_browser() as browser:
        pages = {}
        for role, path in world["pages"]:
            if role not in pages:
                # The platform's policy would keep a script from elsewhere out.
                context = browser.new_context(color_scheme=theme, bypass_csp=True, reduced_motion="reduce")
                if role in world["sessions"]:
                    context.add_cookies([{"name": "session", "value": world["sessions"][role], "url": base}])
                pages[role] = context.new_page()
            page = pages[role]
            page.set_viewport_size(sizes[0])
            try:
                answer = page.goto(base + path)
            except Exception as error:
                if "Download is starting" in str(error):
                    continue  # a file, and no page
                raise
            if not answer.headers.get("content-type", "").startswith("text/html"):
                continue
            if answer.status != 200:
                found.setdefault(f"status {answer.status}", []).append(f"{role} {path}")
                continue
            seen += 1
            for size in sizes:
                page.set_viewport_size(size)
                for fault in violations(page, script):
                    found.setdefault(fault, []).append(f"{role} {path} {size['width']}")
    return seen, found


def test_no_page_shuts_somebody_out(served: Any, pytestconfig: pytest.Config) -> None:
    seen, found = faults(served, axe_script(pytestconfig.cache), [DESK, PHONE])
    assert not found, json.dumps(found, indent=1)
    assert seen > 80, "nearly all pages of the matrix were looked at"


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_shuts_somebody_out_in_any_theme_and_width(
    served: Any, pytestconfig: pytest.Config, theme: str
) -> None:
    sizes = [{"width": 1920, "height": 1080}, DESK, TABLET, PHONE, {"width": 320, "height": 640}]
    seen, found = faults(served, axe_script(pytestconfig.cache), sizes, theme)
    assert not found, json.dumps(found, indent=1)
    assert seen > 80


def test_axe_finds_what_is_wrong(pytestconfig: pytest.Config) -> None:
    script = axe_script(pytestconfig.cache)
    with open_browser() as browser:
        page = browser.new_page()
        page.set_content('<html lang="en"><title>T</title><main><h1>T</h1><a href="/"></a><img src="x"></main></html>')
        assert {fault.split(":")[0] for fault in violations(page, script)} >= {"link-name", "image-alt"}

"""The report form in a real browser: by keyboard, live, under the policy; nothing is lost when the session ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import needs_chromium, open_browser
from web_home import make_web_home

pytestmark = [
    pytest.mark.browser,
    needs_chromium,
]
PASSWORD = "seven unrelated words"
SERVER = """
import json, socket, sys
sys.path.insert(0, sys.argv[1])
from reporting_world import make_world, session_of
from waitress import create_server
from pydplib.web.wsgi import application
world = make_world()
rita = world["rita0"]
rita.set_password(sys.argv[2])
rita.save()
server = create_server(application, host="127.0.0.1", port=0, threads=4)
session = session_of(rita, second_factor=False)
print(json.dumps({"port": server.effective_port, "name": rita.username, "session": session}), flush=True)
server.run()
"""


class Desk:
    """A radiologist's browser on a server of its own; keeps what the browser complains about."""

    def __init__(self, browser: Any, home: Any, started: dict[str, Any]) -> None:
        self.home, self.name = home, started["name"]
        self.base = f"http://127.0.0.1:{started['port']}"
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.context.add_cookies([{"name": "session", "value": started["session"], "url": self.base}])
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.hosts: set[str | None] = set()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and "status of 4" not in message.text:
            self.complaints.append(message.text)

    def begin(self, patient: str) -> Any:
        self.page.goto(self.base + "/reports/new")
        self.page.fill("#id_identifier", patient)
        self.page.keyboard.press("Enter")
        self.page.locator(".alert-title, [data-items]").first.wait_for()
        if self.page.get_by_text("New patient").count():
            self.page.get_by_label("Patient").focus()
            self.page.keyboard.press("Enter")
        self.page.wait_for_url("**/edit")
        return self.page

    def field(self, name: str) -> Any:
        return self.page.locator(f"[id='f:{name}']")

    def focused(self) -> str:
        return str(self.page.evaluate("document.activeElement.name"))

    def saved(self) -> None:
        """Wait until the status line says so and nothing is on its way."""
        self.page.locator("[data-status]", has_text="Saved").wait_for()

    def stored(self) -> list[dict[str, Any]]:
        code = (
            "import json\nfrom pydplib.web.reporting.models import Report\n"
            "print(json.dumps([[r.state, r.answers, r.values] for r in Report.objects.order_by('id')]))"
        )
        done = self.home.python(code)
        assert done.returncode == 0, done.stderr[-2000:]
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def desk(browser: Any, tmp_path: Path) -> Iterator[Desk]:
    with make_web_home(tmp_path) as home:
        process = home.start(SERVER, str(Path(__file__).parents[2] / "support"), PASSWORD)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1][-2000:]
            desk = Desk(browser, home, json.loads(line))
            yield desk
            desk.context.close()
        finally:
            process.kill()
            process.wait()
    assert desk.complaints == []
    assert desk.hosts == {"127.0.0.1"}


@pytest.mark.slow
def test_a_report_with_two_lesions_is_written_by_keyboard_signed_and_found_again(desk: Desk) -> None:
    page = desk.begin("A 17")
    desk.field("exam_date").fill("2018-03-31")
    desk.field("age").click()
    page.keyboard.type("64")
    page.keyboard.press("Enter")
    assert desk.focused() == "follow_up"
    # Each key chooses and goes on; "y" opens new questions, and keys typed while they come are not lost.
    page.keyboard.type("ny34", delay=10)
    desk.field("gleason").get_by_text("7").wait_for()
    page.locator("[id='f:tumour_status'] input:focus").wait_for()
    desk.field("prostate_volume").fill("45,5")
    page.keyboard.press("Enter")
    assert desk.focused() == "image_quality"
    assert "All sequences are of diagnostic quality." in page.locator("[data-at-hand]").inner_text()
    page.keyboard.press("o")

    for number, (sector, zone, size, scores) in enumerate(
        (("mid-PZpl-L", "p", "12", "44nn"), ("mid-TZa-R", "t", "9", "23nn"))
    ):
        page.keyboard.press("Alt+l")
        page.locator(f"[id='f:lesion/{number}/sector']:focus").wait_for()
        desk.field(f"lesion/{number}/sector").select_option(sector)
        page.keyboard.press("Enter")
        page.locator(f"[id='f:lesion/{number}/zone'] input:focus").wait_for()
        page.keyboard.type(zone + size, delay=10)
        page.locator(f"[id='f:lesion/{number}/size']:focus").wait_for()
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")  # the volume is not known
        page.keyboard.type(scores, delay=10)
    live = page.locator("[data-part='live']")
    live.get_by_text("Lesion 2: PI-RADS category of the lesion").wait_for()
    assert "High: clinically significant cancer is likely" in live.inner_text()
    assert desk.field("lesion/0/size").input_value() == "12" and desk.field("lesion/1/size").input_value() == "9"
    assert "12 mm" in live.locator("#preview").inner_text()

    page.keyboard.press("Control+Enter")
    page.get_by_text("The report is signed.", exact=True).wait_for()
    key = page.url.rsplit("/", 1)[-1]
    (state, answers, values), *_ = desk.stored()
    assert state == "signed" and values["pirads"] == 4 and values["gleason"] == 7 and values["lesions"] == 2
    assert [lesion["category"] for lesion in answers["lesion"]] == [4, 2]

    page.goto(desk.base + "/reports?state=signed&score=4")
    assert page.locator(f"a[href='/reports/{key}']").count() == 1
    page.fill("#id_identifier", "A 17")
    page.get_by_role("button", name="Find").click()
    assert page.locator(f"a[href='/reports/{key}']").count() == 1
    assert "A 17" not in page.url


def test_a_sector_fills_in_its_zone_and_a_key_todays_date(desk: Desk) -> None:
    page = desk.begin("A 19")
    day = desk.field("exam_date")
    day.focus()
    page.keyboard.press("t")
    today = page.evaluate("new Date().toLocaleDateString('sv')")
    assert day.input_value() == today
    day.fill("2018-03-31")
    page.get_by_role("button", name="Today").first.click()
    assert day.input_value() == today
    page.keyboard.press("Alt+l")
    page.locator("[id='f:lesion/0/sector']:focus").wait_for()
    desk.field("lesion/0/sector").select_option("mid-TZa-R")
    zone = page.locator("[id='f:lesion/0/zone']")
    zone.locator("input[value='TZ']:checked").wait_for(state="attached")
    zone.locator("label", has_text="peripheral zone").click()
    page.get_by_text("The sector lies in the transition zone").first.wait_for()
    assert zone.locator("input[value='PZ']").is_checked(), "what was chosen stays"


def test_questions_come_and_go_while_caret_and_words_stay(desk: Desk) -> None:
    page = desk.begin("A 17")
    desk.field("image_quality").locator("label", has_text="acceptable").click()
    reason = desk.field("quality_reason")
    reason.wait_for()
    reason.click()
    page.keyboard.type("motion")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    desk.saved()
    page.keyboard.type("X")  # the answer of the server arrives while we type in the middle of the word
    page.locator("#preview").get_by_text("motX").wait_for()
    page.keyboard.type("Y")
    assert reason.input_value() == "motXYion"
    assert page.evaluate("document.activeElement.selectionStart") == 5
    assert page.locator("#preview").get_by_text("motX").count() == 1
    desk.field("image_quality").locator("label", has_text="optimal").click()
    reason.wait_for(state="detached")
    page.keyboard.press("Control+s")
    desk.saved()
    for _ in range(20):  # the status may still speak of the change before
        (_, answers, _), *_ = desk.stored()
        if "quality_reason" not in answers:
            break
    assert answers == {"image_quality": "optimal"}


def test_what_is_typed_after_the_session_ended_is_there_after_signing_in_and_nothing_readable_stays(desk: Desk) -> None:
    page = desk.begin("A 17")
    desk.field("age").fill("64")
    desk.saved()
    # Leaving a field saves it, too: that must be over, or the page has left before anything is typed into the next one.
    with page.expect_response("**/autosave"):
        desk.field("other_findings").focus()
    desk.home.python("from django.contrib.sessions.models import Session; Session.objects.all().delete()")
    desk.field("other_findings").fill("Canary typed after the timeout")
    page.wait_for_url("**/login?**")
    kept = page.evaluate("JSON.stringify(Object.entries(sessionStorage))")
    assert "edit" in kept and "Canary" not in kept and "other_findings" not in kept
    page.fill("#id_username", desk.name)
    page.fill("#id_password", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/account/second-factor")  # no phone yet, and days of grace left: back to the report
    page.get_by_role("link", name="Not now").click()
    page.wait_for_url("**/edit")
    page.locator("#preview").get_by_text("Canary typed after the timeout").wait_for()
    assert desk.field("other_findings").input_value() == "Canary typed after the timeout"
    assert desk.field("age").input_value() == "64"
    left = page.evaluate("JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage)])")
    assert "kept" not in left and "Canary" not in left, left
    desk.saved()
    (_, answers, _), *_ = desk.stored()
    assert answers == {"age": 64, "other_findings": "Canary typed after the timeout"}

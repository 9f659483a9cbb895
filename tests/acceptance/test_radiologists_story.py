"""The radiologist's story in a real browser: sign in, report two lesions, sign, find the report again."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import needs_chromium
from visitors import Phone

pytestmark = [
    pytest.mark.browser,
    needs_chromium,
]
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"  # of the radiologist's phone in this story
WORLD = f"""
from base64 import b16encode, b32decode
from django_otp.plugins.otp_totp.models import TOTPDevice
from reporting_world import make_world
world = make_world()
rita = world["rita0"]
rita.username = "rita"
rita.set_password(PASSWORD)
rita.save()
key = b16encode(b32decode("{SECRET}")).decode().lower()
TOTPDevice.objects.create(user=rita, name="phone", confirmed=True, key=key)
"""
STORED = """
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.reporting.models import Report
reports = [[r.state, r.values.get("pirads"), [l["category"] for l in r.answers["lesion"]], r.department]
           for r in Report.objects.all()]
looks = Line.objects.filter(action="report.look", actor="rita").count()
print(json.dumps({"reports": reports, "looks": looks, "chain": bool(verify())}))
"""
FIRST = {"sector": "mid-PZpl-L", "zone": "peripheral", "size": "12", "scores": {"t2w": "4", "dwi": "3", "dce": "pos"}}
SECOND = {"sector": "mid-TZa-R", "zone": "transition", "size": "9", "scores": {"t2w": "2", "dwi": "3", "dce": "neg"}}


class Form:
    """The report form, filled in by keyboard and mouse."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def field(self, name: str) -> Any:
        return self.page.locator(f"[id='f:{name}']")

    def choose(self, name: str, value: str) -> None:
        """Choose an answer by its value."""
        self.field(name).locator(f"label:has(input[value='{value}'])").click()

    def settled(self) -> None:
        self.page.locator("[data-status]", has_text="Saved").wait_for()

    def lesion(self, number: int, lesion: dict[str, Any]) -> None:
        self.page.keyboard.press("Alt+l")
        sector = self.field(f"lesion/{number}/sector")
        sector.wait_for()
        sector.select_option(lesion["sector"])
        self.choose(f"lesion/{number}/zone", {"peripheral": "PZ", "transition": "TZ"}[lesion["zone"]])
        self.field(f"lesion/{number}/size").fill(lesion["size"])
        for name, score in lesion["scores"].items():
            self.choose(f"lesion/{number}/{name}", score)
        self.choose(f"lesion/{number}/extension", "none")


def test_radiologist_signs_in_reports_two_lesions_signs_and_finds_the_report_again(platform: Any) -> None:
    platform.run(WORLD)
    rita = platform.visitor("radiologist")
    rita.phone = Phone(SECRET)
    rita.sign_in("rita")
    rita.page.get_by_role("button", name="Account menu of").wait_for()
    rita.picture("1-home")

    page = rita.go("/reports/new")
    rita.fill(identifier="Patient 4711")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Begin with a new patient").click()
    page.wait_for_url("**/edit")
    assert "4711" not in page.url, "no identifier in an address"
    form = Form(page)
    form.field("exam_date").fill("2018-03-31")
    form.field("age").fill("64")
    form.field("prostate_volume").fill("45,5")
    form.choose("image_quality", "optimal")

    # Branching: a Gleason score is asked for once there is histology, and goes again with it.
    assert form.field("gleason_primary").count() == 0
    form.choose("histology", "yes")
    form.field("gleason_primary").wait_for()
    form.choose("histology", "no")
    form.field("gleason_primary").wait_for(state="detached")

    form.lesion(0, FIRST)
    live = page.locator("[data-part='live']")
    live.get_by_text("High: clinically significant cancer is likely").first.wait_for()
    form.lesion(1, SECOND)
    live.get_by_text("Lesion 2: PI-RADS category of the lesion").wait_for()
    form.field("other_findings").fill("Small cyst, no consequence.")
    form.settled()
    assert "12 mm" in live.locator("#preview").inner_text()
    rita.picture("2-form")

    page.keyboard.press("Control+Enter")
    page.get_by_text("The report is signed.", exact=True).wait_for()
    key = urlsplit(page.url).path.rsplit("/", 1)[-1]
    rita.picture("3-signed")
    text = page.locator("main").inner_text()
    assert "PI-RADS" in text and "12 mm" in text and "9 mm" in text

    stored = platform.run(STORED)
    # DWI 3 with a positive DCE counts as 4 in the peripheral zone; T2W 2 with DWI 3 stays 2 in the transition zone.
    assert stored["reports"] == [["signed", 4, [4, 2], "radiology"]]
    assert stored["chain"] and stored["looks"] >= 1

    rita.go("/reports?state=signed&score=4")
    assert page.locator(f"a[href='/reports/{key}']").count() == 1
    rita.fill(identifier="Patient 4711")
    rita.press("Find")
    page.locator(f"a[href='/reports/{key}']").first.click()
    page.get_by_text("Small cyst, no consequence.").first.wait_for()
    assert "4711" not in page.url
    rita.picture("4-found")

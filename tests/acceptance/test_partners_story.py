"""The partner's story in a real browser: invited, asks, is refused, asks for more, two owners agree, dashboards."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from chromium import needs_chromium
from visitors import PASSWORD, Phone, Visitor

pytestmark = [
    pytest.mark.browser,
    needs_chromium,
]
CANARY = "ZZCANARY-4419"  # in every identifier of the study
SECRETS = {"olivia": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "otto": "KRSXG5CTMVRXEZLUKRSXG5CTMVRXEZLU"}
WORLD = f"""
from base64 import b16encode, b32decode
from django_otp.plugins.otp_totp.models import TOTPDevice
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.models import Member
from study_world import make_study
hospital = Hospital.objects.create(name="St. Example")
people = {{}}
for name, secret in {SECRETS!r}.items():
    people[name] = User.objects.create_user(name, hospital=hospital, password=PASSWORD, is_hospital_owner=True)
    key = b16encode(b32decode(secret)).decode().lower()
    TOTPDevice.objects.create(user=people[name], name="phone", confirmed=True, key=key)
project = make_study(people["olivia"], reports=920)
Member.objects.create(project=project, user=people["otto"], role="owner")
project.rules.filter(audience="third_party").update(epsilon_per_question=0.5, budget=1.5)
print(json.dumps(project.key))
"""
STORED = """
from pydplib.web.analyses.models import Analysis
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project
project = Project.objects.get()
paula = User.objects.get(username="paula")
accounts = {a.recipient: a.state.nano_epsilon for a in DatabaseLedger().accounts(lineage=project.key)}
print(json.dumps({
    "own": paula.hospital.name, "spent": accounts[paula.hospital.key], "board": accounts["dashboard:third_party"],
    "analyses": Analysis.objects.filter(asked_by=paula).count(),
    "refusals": Line.objects.filter(action="analysis.refuse", actor="paula").count(),
    "raised": Line.objects.filter(action="policy.raise_budget").count(), "chain": bool(verify()),
}))
"""
QUESTIONS = (
    {"kind": "histogram", "field": "age", "bins_age": "40, 50, 60, 70, 80"},
    {"kind": "count", "by1": "pirads"},
    {"kind": "mean", "field": "age"},
    {"kind": "histogram", "field": "prostatitis"},
)


def look_at(paula: Visitor, question: dict[str, str], *, page: Any = None) -> Any:
    """Open a question with its price."""
    page = page or paula.page
    page.goto("/analyses/new?" + urlencode({**question, "accuracy": "epsilon", "epsilon": "0.5"}))
    page.get_by_role("heading", name="Before you pay").wait_for()
    return page


def pay(page: Any) -> None:
    page.get_by_role("button", name="Ask and pay").click()
    page.get_by_text("Paid and answered.").wait_for()
    page.locator(".js-plotly-plot .main-svg").first.wait_for()


def owner(platform: Any, name: str) -> Visitor:
    visitor: Visitor = platform.visitor(name)
    visitor.phone = Phone(SECRETS[name])
    visitor.sign_in(name)
    visitor.page.get_by_role("button", name="Account menu of").wait_for()
    return visitor


def agree(visitor: Visitor, reason: str) -> None:
    """Say yes to the one open request."""
    page = visitor.go("/requests")
    page.locator("a[href^='/requests/']", has_not_text="Propose").locator("visible=true").filter(
        has_text=re.compile("budget", re.I)
    ).first.click()
    visitor.follow("Decide")
    visitor.confirm_if_asked()
    page.locator("input[name='decision'][value='approve']").check(force=True)
    visitor.fill(reason=reason)
    visitor.press("Send")


def test_partner_asks_is_refused_asks_for_more_two_owners_agree_and_the_dashboard_shows_figures_2_to_5(
    platform: Any,
) -> None:
    key = platform.run(WORLD)
    olivia = owner(platform, "olivia")
    page = olivia.go("/hospital/invite")
    olivia.fill(username="paula", full_name="Paula Partner", organisation="Acme Diagnostics")
    olivia.press("Make the link")
    link = page.locator("#secret").inner_text()

    paula = platform.visitor("partner")
    paula.page.goto(link)
    paula.fill(password=PASSWORD, again=PASSWORD)
    paula.press("Set the password")
    paula.page.get_by_role("button", name="Enrol this phone").wait_for()  # she manages Acme: asked at every sign-in
    paula.expected = {404}
    paula.go(f"/projects/{key}")
    assert "Prostate MRI" not in paula.page.locator("body").inner_text(), "not a member yet"
    paula.expected = set()

    olivia.go(f"/projects/{key}/members/new")
    olivia.confirm_if_asked()
    olivia.fill(partner="paula")
    olivia.press("Add or invite")
    page.get_by_text("No answer yet").first.wait_for()
    assert "Paula Partner" not in page.locator("main").inner_text(), "the typed name alone, until she accepts"
    paula.go("/")
    paula.picture("0-invitation")
    paula.press("Accept")
    paula.page.get_by_text("You are a member of").first.wait_for()
    olivia.go(f"/projects/{key}/members")
    page.get_by_text("Paula Partner").first.wait_for()

    # Three questions are paid; a fourth stood open in another tab with its price when the third was paid.
    seen = paula.go("/analyses/new")
    paula.picture("1-new-analysis")
    for number, question in enumerate(QUESTIONS[:2], start=1):
        pay(look_at(paula, question))
        paula.picture(f"2-answer-{number}")
    other = look_at(paula, QUESTIONS[3], page=paula.context.new_page())
    pay(look_at(paula, QUESTIONS[2]))
    assert CANARY not in paula.page.content()
    paula.expected = {402, 403, 409}
    other.get_by_role("button", name="Ask and pay").click()
    refusal = other.locator("#price")
    refusal.get_by_text("The budget cannot pay for this").first.wait_for()
    assert "0.5" in refusal.inner_text(), "what was asked"
    other.screenshot(path=paula.pictures / "partner-3-refused.png", full_page=True)
    other.close()
    look_at(paula, QUESTIONS[3])
    assert seen.get_by_role("button", name="Ask and pay").count() == 0, "known before paying, too"
    paula.picture("4-cannot-pay")

    seen.get_by_role("link", name="Ask for more budget").first.click()
    assert float(seen.locator("#id_budget").input_value()) >= 2
    paula.fill(budget="5", reason="Inflammation by age")
    paula.press("Send to the owners")
    seen.get_by_text("Sent to the owners").wait_for()

    agree(olivia, "It fits the purpose.")
    page.get_by_text("one more must agree").wait_for()
    olivia.picture("1-first-vote")
    look_at(paula, QUESTIONS[3])
    assert seen.get_by_role("button", name="Ask and pay").count() == 0, "one owner is not enough"
    otto = owner(platform, "otto")
    agree(otto, "Agreed.")
    otto.page.get_by_text("Approved and in force.").wait_for()
    paula.expected = set()
    pay(look_at(paula, QUESTIONS[3]))
    paula.picture("5-asked-again")
    assert paula.page.locator("#analysis-table, table").count() >= 1, "the table twin"

    # The paper's figures, published by the owner for all third parties; each organisation pays once.
    olivia.go("/dashboards/new")
    olivia.confirm_if_asked()
    olivia.fill(title="Prostate MRI for partners")
    page.locator("[name='audience']").select_option("third_party") if page.locator(
        "select[name='audience']"
    ).count() else page.locator("input[name='audience'][value='third_party']").check(force=True)
    olivia.press("Make it")
    olivia.confirm_if_asked()
    olivia.press("Count the records")
    olivia.confirm_if_asked()
    page.get_by_role("button", name="Publish").wait_for()
    olivia.picture("2-dashboard-plan")
    olivia.press("Publish")
    olivia.confirm_if_asked()
    page.wait_for_url("**/dashboards/*")

    paula.go("/dashboards")
    paula.follow("Prostate MRI for partners")
    seen.get_by_role("heading", name="Receive these figures").wait_for()
    assert seen.locator("main table").count() == 0, "no number before it is paid"
    paula.picture("6-dashboard-price")
    paula.press("Pay and see them")
    seen.get_by_text("sees these figures from now on").wait_for()
    body = seen.locator("main").inner_text()
    assert all(f"Figure {number}" in body for number in (2, 3, 4, 5))
    panels = seen.locator("section.card").filter(has=seen.locator(".js-plotly-plot"))
    for panel in panels.all():
        panel.scroll_into_view_if_needed()
        panel.locator(".main-svg").first.wait_for()
    assert panels.count() >= 4
    assert seen.locator("main table").count() >= 4, "every figure has its table"
    assert CANARY not in seen.content()
    paula.picture("7-dashboard")
    assert urlsplit(seen.url).path.startswith("/dashboards/")

    stored = platform.run(STORED)
    assert stored["own"] == "Acme Diagnostics" and stored["analyses"] == 4
    assert stored["spent"] == 2_000_000_000 + stored["board"], "four questions of 0.5, the dashboard, no nano more"
    assert stored["refusals"] >= 1 and stored["raised"] == 1 and stored["chain"]

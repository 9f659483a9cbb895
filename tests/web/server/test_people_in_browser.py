"""Set-up, phone, invitation and sign-in in a real browser: no complaint, no foreign host."""

from __future__ import annotations

import re
import time
from base64 import b32decode
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import needs_chromium, open_browser

pytestmark = [
    pytest.mark.browser,
    needs_chromium,
]
PASSWORD = "seven unrelated words"


@pytest.fixture
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


def _code(secret: str, *, steps: int = 0) -> str:
    from django_otp.oath import TOTP

    totp = TOTP(b32decode(secret.replace(" ", "")))
    totp.time = time.time() + 30 * steps
    return f"{totp.token():06d}"


@pytest.mark.slow
def test_owner_sets_up_invites_and_signs_in_again(browser, serve_at, tmp_path) -> None:
    complaints: list[str] = []
    hosts: set[str | None] = set()

    def visitor() -> Any:
        page = browser.new_context().new_page()
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else 0
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
        return page

    with serve_at(tmp_path / "home") as served:
        base = f"http://127.0.0.1:{served.port}"
        page = visitor()
        page.goto(next(line for line in served.lines if "/welcome/" in line).strip())
        assert urlsplit(page.url).path == "/setup"
        for field, value in (
            ("hospital", "St. Example"),
            ("username", "ada"),
            ("password", PASSWORD),
            ("again", PASSWORD),
        ):
            page.fill(f"#id_{field}", value)
        page.get_by_role("button", name="Go on").click()
        page.get_by_text("The phone cannot read the picture").click()
        secret = page.locator("#secret").inner_text()
        page.fill("#id_code", _code(secret))
        page.get_by_role("button", name="Enrol this phone").click()
        codes = page.locator("#codes").inner_text().split()
        assert len(codes) == 10
        page.get_by_role("link", name="I have kept them").click()
        page.goto(base + "/hospital/invite")
        page.fill("#id_username", "rosa")
        page.get_by_role("button", name="Make the link").click()
        link = page.locator("#secret").inner_text()
        assert re.fullmatch(rf"{base}/welcome/[\w-]+", link)

        rosa = visitor()
        rosa.goto(link)
        assert urlsplit(rosa.url).path == "/welcome", "no token in the browser's address"
        rosa.fill("#id_password", PASSWORD)
        rosa.fill("#id_again", PASSWORD)
        rosa.get_by_role("button", name="Set the password").click()
        rosa.get_by_role("button", name="Account menu of rosa").wait_for()

        page.get_by_role("button", name="Account menu").click()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_text("You are signed out").wait_for()
        page.fill("#id_username", "ada")
        page.fill("#id_password", PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.fill("#id_code", codes[0])
        page.get_by_role("button", name="Go on").click()
        page.get_by_text("9 are left").wait_for()
        assert served.end() == 0
    assert not complaints and hosts == {"127.0.0.1"}
    assert "Traceback" not in "\n".join(served.lines)

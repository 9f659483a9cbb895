"""People in a real browser: what the browser complains about, whom it talks to, pictures of what they see."""

from __future__ import annotations

import re
import time
from base64 import b32decode
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PASSWORD = "seven unrelated words"


class Phone:
    """An authenticator app: every code it shows is later than the one before, as the server wants it."""

    def __init__(self, secret: str) -> None:
        self.key = b32decode(secret.replace(" ", ""))
        self.last, self.at = self._now() - 1, self._now()

    def code(self) -> str:
        from django_otp.oath import hotp

        now = self._now()
        # The server follows a phone that is ahead, one step at a time.
        self.last, self.at = self.last + max(1, now - self.at), now
        return f"{hotp(self.key, self.last):06d}"

    @staticmethod
    def _now() -> int:
        return int(time.time() // 30)


class Visitor:
    """Somebody with a browser of their own.

    Args:
        browser: Playwright's.
        base: The server's address.
        pictures: Where screenshots go.
        name: Who it is, for the names of the screenshots.
    """

    def __init__(self, browser: Any, base: str, pictures: Path, name: str) -> None:
        self.base, self.pictures, self.name = base, pictures, name
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=base)
        self.context.set_default_timeout(40_000)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.hosts: set[str | None] = set()
        self.faults: list[str] = []
        self.expected: set[int] = set()
        self.phone: Phone | None = None
        self.context.on("console", self._heard)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.context.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))
        self.context.on("response", self._answered)

    def _heard(self, message: Any) -> None:
        # A refused page is said in the console as well; which refusals are right is in `expected`.
        if message.type in ("error", "warning") and "the server responded with a status of" not in message.text:
            self.complaints.append(message.text)

    def _answered(self, response: Any) -> None:
        if response.status >= 400 and response.status not in self.expected:
            self.faults.append(f"{response.status} {urlsplit(response.url).path}")

    def check(self) -> None:
        """Fail if the browser complained, talked to anybody else, or was refused without our asking for it."""
        assert self.complaints == [], self.name
        assert self.hosts <= {"127.0.0.1"}, self.name
        assert self.faults == [], self.name

    def go(self, path: str) -> Any:
        self.page.goto(path)
        return self.page

    def press(self, name: str, *, exact: bool = True) -> None:
        self.page.get_by_role("button", name=name, exact=exact).click()

    def follow(self, name: str) -> None:
        self.page.get_by_role("link", name=name, exact=True).first.click()

    def fill(self, **fields: str) -> None:
        for name, value in fields.items():
            self.page.fill(f"#id_{name}", value)

    def picture(self, name: str) -> None:
        """Keep a picture of the whole page."""
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.pictures / f"{self.name}-{name}.png", full_page=True)

    # -- ways in ---------------------------------------------------------------------------------

    def set_up(self, link: str, *, hospital: str, username: str) -> None:
        """Open the printed link, make the first account, enrol a phone."""
        self.page.goto(link)
        self.fill(hospital=hospital, username=username, full_name=username.capitalize(), password=PASSWORD)
        self.fill(again=PASSWORD)
        self.press("Go on")
        self.enrol()

    def enrol(self) -> None:
        """Enrol a phone, on the page that asks for it."""
        self.page.get_by_text("The phone cannot read the picture").click()
        self.phone = Phone(self.page.locator("#secret").inner_text())
        self.fill(code=self.phone.code())
        self.press("Enrol this phone")
        assert len(self.page.locator("#codes").inner_text().split()) == 10
        self.follow("I have kept them")

    def sign_in(self, username: str) -> None:
        """Sign in with the password, and with the phone if there is one."""
        if urlsplit(self.page.url).path != "/login":
            self.page.goto("/login")
        self.fill(username=username, password=PASSWORD)
        self.press("Sign in")
        if self.phone is not None:
            self.fill(code=self.phone.code())
            self.press("Go on")

    def confirm_if_asked(self) -> None:
        """Give password and code again where the page wants to know whether it is still the same person."""
        if urlsplit(self.page.url).path == "/confirm":
            self.fill(password=PASSWORD)
            if self.phone is not None:
                self.fill(code=self.phone.code())
            self.press("Go on")


def number_in(text: str) -> float:
    """Return the first number of a text."""
    found = re.search(r"\d+(?:\.\d+)?", text)
    assert found is not None, text
    return float(found[0])

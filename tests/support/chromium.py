"""A real browser for tests: Debian's Chromium, steered by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: sudo apt install chromium")


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start Chromium, and end it.

    Not for longer than a file: while it is open an event loop runs in this thread, and neither Django nor a second
    Playwright works next to it.
    """
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()

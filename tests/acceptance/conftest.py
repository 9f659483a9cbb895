"""A real server and a real browser per story; on SQLite, or on PostgreSQL with PYDPLIB_TEST_DATABASE=postgres."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chromium import open_browser
from postgres_server import run_postgres
from served import Served, clean_environment, own_database, serving
from visitors import PASSWORD, Visitor

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str | None]:
    """The server on which databases are made; none for SQLite."""
    if os.environ.get("PYDPLIB_TEST_DATABASE") != "postgres":
        yield None
        return
    with run_postgres() as server:
        yield server.url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@dataclass
class Platform:
    """A server of the story's own, and the people who come to it."""

    served: Served
    environment: dict[str, str]
    visitor: Callable[..., Visitor]

    def run(self, code: str) -> Any:
        """Run a script next to the server, with Django set up; return what it prints as JSON."""
        begin = f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\nimport json, django; django.setup()\n"
        environment = clean_environment(
            DJANGO_SETTINGS_MODULE="pydplib.web.settings", PYDPLIB_HOME=str(self.served.home), **self.environment
        )
        done = subprocess.run(
            [sys.executable, "-c", begin + f"PASSWORD = {PASSWORD!r}\n" + code],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout) if done.stdout.strip() else None


@pytest.fixture
def platform(
    browser: Any, postgres_url: str | None, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    """Start a server; when the story is over, nobody's browser may have complained, and the server's log is empty."""
    pictures = Path(os.environ.get("PYDPLIB_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    visitors: list[Visitor] = []
    with ExitStack() as stack:
        environment = stack.enter_context(own_database(postgres_url))
        served = stack.enter_context(serving(tmp_path / "home", **environment))

        def visitor(name: str) -> Visitor:
            visitors.append(Visitor(browser, served.base, pictures, name))
            return visitors[-1]

        yield Platform(served, environment, visitor)
        for each in visitors:
            each.context.close()
        assert served.end() == 0
    for each in visitors:
        each.check()
    said = [line for line in served.lines[served.lines.index(_ready(served)) + 1 :] if line != "Stopped."]
    assert said == [], "a server without faults is silent"


def _ready(served: Served) -> str:
    return next(line for line in served.lines if line.startswith("Ready"))

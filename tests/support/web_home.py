"""A migrated home of the platform for tests that start processes of their own, on either database."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class WebHome:
    """Where a server of the test lives; ``environment`` is what its processes get."""

    path: Path
    environment: dict[str, str]

    def python(self, code: str, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a script with Django set up, and wait."""
        return subprocess.run(
            self.command(code, *arguments), env=self.environment, capture_output=True, text=True, timeout=120, **more
        )

    def start(self, code: str, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """Start a script with Django set up."""
        return subprocess.Popen(
            self.command(code, *arguments),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    def command(self, code: str, *arguments: str) -> list[str]:
        """Return the command line of a script."""
        return [sys.executable, "-c", "import django; django.setup()\n" + code, *arguments]


@contextmanager
def make_web_home(path: Path) -> Iterator[WebHome]:
    """Make the tables in a new SQLite file, or in a new database of the PostgreSQL server that the tests run on."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYDPLIB_")}
    environment |= {"PYDPLIB_HOME": str(path), "DJANGO_SETTINGS_MODULE": "pydplib.web.settings"}
    server = environment.pop("DATABASE_URL", None)
    name = f"home_{secrets.token_hex(6)}"
    if server is not None:
        import psycopg

        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        environment["DATABASE_URL"] = server.rsplit("/", 1)[0] + "/" + name
    home = WebHome(path, environment)
    done = home.python("from django.core.management import call_command; call_command('migrate', verbosity=0)")
    assert done.returncode == 0, done.stderr[-2000:]
    try:
        yield home
    finally:
        if server is not None:
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

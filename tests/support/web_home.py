"""A migrated home of the platform for tests that start processes of their own, on either database."""

from __future__ import annotations

import atexit
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import copyfile, rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any


@dataclass(frozen=True)
class WebHome:
    """Where a server of the test lives; ``environment`` is what its processes get."""

    path: Path
    environment: dict[str, str]

    def python(self, code: str, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a script with Django set up, and wait."""
        return subprocess.run(
            self.command(code, *arguments), env=self.environment, capture_output=True, text=True, timeout=600, **more
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


_MIGRATE = "from django.core.management import call_command; call_command('migrate', verbosity=0)"


@cache
def _empty_tables() -> Path:
    """A SQLite file with every table and nothing in it, made once: migrating takes seconds, copying none."""
    home = Path(mkdtemp(prefix="pydplib-tables-"))
    atexit.register(rmtree, home, ignore_errors=True)
    _migrate(WebHome(home, _environment(home)))
    return home / "pydplib.sqlite3"


@cache
def _empty_tables_of(server: str) -> str:
    """The same on a PostgreSQL server: the name of a database to copy."""
    name = f"tables_{secrets.token_hex(6)}"
    _execute(server, f'CREATE DATABASE "{name}"')
    with TemporaryDirectory(prefix="pydplib-tables-") as home:
        _migrate(WebHome(Path(home), _environment(Path(home)) | {"DATABASE_URL": _beside(server, name)}))
    return name


def _environment(path: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("PYDPLIB_") and name != "DATABASE_URL"
    }
    return kept | {
        "PYDPLIB_HOME": str(path),
        "DJANGO_SETTINGS_MODULE": "pydplib.web.settings",
        "PYDPLIB_ANSWER_SECONDS": "0",
    }


def _migrate(home: WebHome) -> None:
    done = home.python(_MIGRATE)
    assert done.returncode == 0, done.stderr[-2000:]


def _beside(server: str, name: str) -> str:
    return server.rsplit("/", 1)[0] + "/" + name


def _execute(server: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)


@contextmanager
def make_web_home(path: Path) -> Iterator[WebHome]:
    """Make the tables in a new SQLite file, or in a new database of the PostgreSQL server that the tests run on."""
    environment, server = _environment(path), os.environ.get("DATABASE_URL")
    if server is None:
        path.mkdir(parents=True, exist_ok=True)
        copyfile(_empty_tables(), path / "pydplib.sqlite3")
        yield WebHome(path, environment)
        return
    name = f"home_{secrets.token_hex(6)}"
    _execute(server, f'CREATE DATABASE "{name}" TEMPLATE "{_empty_tables_of(server)}"')
    try:
        yield WebHome(path, environment | {"DATABASE_URL": _beside(server, name)})
    finally:
        _execute(server, f'DROP DATABASE "{name}" WITH (FORCE)')

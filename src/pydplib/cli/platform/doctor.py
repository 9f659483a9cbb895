"""``pydplib doctor``: what is installed, which engines answer, whether configuration and platform are safe."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Literal

import click

State = Literal["ok", "missing", "unsafe", "broken"]


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One line of the doctor's report.

    Args:
        part: ``"core"``, ``"extra"``, ``"noise"``, ``"engine"``, ``"picture"`` or ``"platform"``.
        name: What was looked at.
        state: ``"ok"``; ``"missing"`` (not installed, nothing wrong); ``"broken"``; ``"unsafe"``.
        words: What was found, and the next step.
    """

    part: str
    name: str
    state: State
    words: str


def looked(part: str, name: str, look: Callable[[], DoctorFinding]) -> DoctorFinding:
    """Return what a look finds; a file that cannot be looked at is a finding too, and never the end of the report."""
    try:
        return look()
    except OSError as error:
        return DoctorFinding(part, name, "broken", f"cannot be looked at: {error.strerror or type(error).__name__}")


_finding = partial(DoctorFinding, "platform")


def examine_platform(environment: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Look at the platform's settings and at its home, if there is one; nothing is opened for writing."""
    from pydplib.errors import ParameterError
    from pydplib.web.configuration import Configuration, postgres_database

    try:
        configuration = Configuration.from_environment(environment)
        if configuration.database_url:
            postgres_database(configuration.database_url)
    except ParameterError as error:
        yield _finding("settings", "broken", str(error))
        return
    password = environment.get("DATABASE_PASSWORD_FILE")
    if configuration.database_url and password:
        yield _rights("password file", Path(password), "chmod 600")
    yield from _home(configuration.home, embedded=configuration.database_url is None)
    yield from _reach(configuration.hosts, behind_tls=configuration.behind_tls, demo=configuration.demo)


def _home(home: Path, *, embedded: bool) -> Iterator[DoctorFinding]:
    try:
        home.lstat()
    except (FileNotFoundError, NotADirectoryError):
        yield _finding("home", "missing", "no server was started here yet (pydplib serve); PYDPLIB_HOME says where")
        return
    except OSError as error:
        yield _finding("home", "broken", f"cannot be looked at: {error.strerror}")
        return
    if not home.is_dir():
        yield _finding("home", "broken", "PYDPLIB_HOME is to be a folder, and is something else")
        return
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield _finding("home", "broken", "this user may not read and write there: run as the user who owns it")
        return
    yield _rights("home", home, "chmod 700")
    database = home / "pydplib.sqlite3"
    yield from _keys(home / "keys", needed=embedded and database.exists())
    if embedded and database.exists():
        yield looked("platform", "database", lambda: _database(database))
    head = home / "ledger.head.json"
    if head.exists():
        yield looked("platform", "ledger's head", lambda: _head(head))


def _keys(folder: Path, *, needed: bool) -> Iterator[DoctorFinding]:
    """Look at the folder of keys and at each; without the old ones a server would make new ones, which fit nothing."""
    if needed and not (folder / "sessions.key").exists():
        words = "the database is there, its keys are not: bring keys/ back from a backup before the server starts"
        yield _finding("keys", "broken", words)
    if not folder.is_dir():
        return
    if (found := _rights("keys", folder, "chmod 700")).state != "ok":
        yield found
    for path in sorted(folder.rglob("*.key")):
        yield looked("platform", f"key {path.stem}", partial(_key, path))


def _key(path: Path) -> DoctorFinding:
    rights = _rights(f"key {path.stem}", path, "chmod 600")
    if rights.state == "ok" and len(path.read_bytes().strip()) < 32:
        return _finding(rights.name, "broken", "is damaged: bring it back from a backup")
    return rights


def _database(path: Path) -> DoctorFinding:
    rights = _rights("database", path, "chmod 600")
    with path.open("rb") as file:
        start = file.read(16)
    if rights.state == "ok" and start != b"SQLite format 3\0":
        return _finding("database", "broken", "is empty or damaged: pydplib restore brings it back from a backup")
    return rights


def _head(path: Path) -> DoctorFinding:
    from pydplib.budget.chain import Head
    from pydplib.errors import LedgerError

    rights = _rights("ledger's head", path, "chmod 600")
    try:
        Head.read(path)
    except LedgerError:
        words = "is damaged: no question is answered until `pydplib ledger accept` has compared it"
        return _finding("ledger's head", "broken", words)
    return rights


def _rights(name: str, path: Path, command: str) -> DoctorFinding:
    def look() -> DoctorFinding:
        rights = stat.S_IMODE(path.stat().st_mode)
        if rights & 0o077:
            verb = "read" if rights & 0o055 else "write to"
            return _finding(name, "unsafe", f"others on this machine can {verb} it: {command} {path.name}")
        return _finding(name, "ok", "readable by its owner alone")

    return looked("platform", name, look)


def _reach(hosts: tuple[str, ...], *, behind_tls: bool, demo: bool) -> Iterator[DoctorFinding]:
    """Say from where the platform is reached, and whether that is safe."""
    from pydplib.web.configuration import LOOPBACK

    beyond = set(hosts) - set(LOOPBACK)
    state: State = "unsafe" if beyond and not behind_tls else "ok"
    if state == "unsafe":
        words = "PYDPLIB_HOSTS names a host beyond this machine, but PYDPLIB_BEHIND_TLS is off"
    else:
        words = "behind TLS" if behind_tls else "this machine only"
    yield _finding("https", state, words)
    if demo and beyond:
        yield _finding("demonstration", "unsafe", "a demonstration is for this machine only: unset PYDPLIB_DEMO")


# Extra -> the distributions that it brings, as pyproject.toml has them.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "plot": ("plotly", "kaleido"),
    "notebook": ("pandas",),
    "tables": ("pyarrow",),
    "utility": ("scikit-learn",),
    "excel": ("openpyxl",),
    "postgres": ("psycopg",),
    "mariadb": ("pymysql",),
    "spark": ("pyspark",),
    "ibis": ("ibis-framework",),
    "pdf": ("weasyprint",),
    "web": (
        "django",
        "django-ninja",
        "django-axes",
        "django-csp",
        "django-otp",
        "argon2-cffi",
        "whitenoise",
        "waitress",
        "segno",
        "psycopg",
    ),
}
CORE = ("numpy", "narwhals", "cryptography", "duckdb", "click", "rich")


def examine(environment: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Look at everything, one finding after the other; nothing is changed and nothing is sent."""
    yield _python()
    for name in CORE:
        yield _distribution("core", name, "pip install pydplib")
    for extra, names in EXTRAS.items():
        missing = [name for name in names if _version(name) is None]
        old = [name for name in names if _too_old(name)]
        if old:
            words = f"too old: {', '.join(_too_old(name) for name in old)}; pip install -U 'pydplib[{extra}]'"
            yield DoctorFinding("extra", extra, "broken", words)
        elif missing:
            yield DoctorFinding(
                "extra", extra, "missing", f"pip install 'pydplib[{extra}]' brings {', '.join(missing)}"
            )
        else:
            yield DoctorFinding("extra", extra, "ok", ", ".join(f"{name} {_version(name)}" for name in names))
    yield _try("noise", "random bits", _noise)
    yield _try("engine", "DuckDB", _duckdb)
    yield _try("engine", "SQLite", _sqlite)
    yield _spark()
    yield _postgres(environment)
    yield _mariadb()
    yield _browser()
    yield from examine_platform(environment)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _distribution(part: str, name: str, command: str) -> DoctorFinding:
    version = _version(name)
    if version is None:
        return DoctorFinding(part, name, "broken", command)
    if old := _too_old(name):
        return DoctorFinding(part, name, "broken", f"{old}: pip install -U pydplib")
    return DoctorFinding(part, name, "ok", version)


def _too_old(name: str) -> str:
    """Say the installed and the needed version if the first is older; nothing if all is well, or nobody knows."""
    version = _version(name)
    for line in _needed():
        found = re.match(rf"{re.escape(name)}(?:\[[^]]*\])?(?![\w.-])[^;]*>=([\d.]+)", line, re.IGNORECASE)
        if version and found and _numbers(version) < _numbers(found[1]):
            return f"{name} {version}, where {found[1]} is needed"
    return ""


@functools.cache
def _needed() -> list[str]:
    try:
        return metadata.requires("pydplib") or []
    except metadata.PackageNotFoundError:  # run from its source
        return []


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in re.findall(r"\d+", re.match(r"[\d.]*", version)[0])]  # type: ignore[index]
    while numbers and numbers[-1] == 0:
        del numbers[-1]
    return tuple(numbers)


def _python() -> DoctorFinding:
    version = ".".join(map(str, sys.version_info[:3]))
    enough = sys.version_info >= (3, 11)
    return DoctorFinding(
        "core", "Python", "ok" if enough else "broken", version if enough else f"{version}: 3.11 is needed"
    )


def _try(part: str, name: str, work: Callable[[], str]) -> DoctorFinding:
    try:
        return DoctorFinding(part, name, "ok", work())
    except Exception as error:
        return DoctorFinding(part, name, "broken", f"does not answer ({type(error).__name__})")


def _noise() -> str:
    from pydplib.noise import random_bytes

    if len(set(random_bytes(4096))) < 200:
        raise RuntimeError
    return "AES-CTR from the operating system's seed"


def _duckdb() -> str:
    import duckdb

    answer = duckdb.connect().execute("SELECT sum(i) FROM range(10) t(i)").fetchone()
    if answer is None or answer[0] != 45:
        raise RuntimeError
    return f"answers ({duckdb.__version__})"


def _sqlite() -> str:
    import sqlite3

    if sqlite3.sqlite_version_info < (3, 37):
        raise RuntimeError
    return f"answers ({sqlite3.sqlite_version}); ledgers need 3.37"


def _spark() -> DoctorFinding:
    if _version("pyspark") is None:
        return DoctorFinding("engine", "Spark", "missing", "pip install 'pydplib[spark]', and Java 17")
    home = os.environ.get("JAVA_HOME")  # what Spark looks at first
    if home and not shutil.which("java", path=os.path.join(home, "bin")):
        return DoctorFinding(
            "engine", "Spark", "broken", "JAVA_HOME is set, but there is no Java: unset it, or correct it"
        )
    if not home and not shutil.which("java"):
        return DoctorFinding("engine", "Spark", "missing", "pyspark is there, Java is not: install a Java 17 runtime")
    return DoctorFinding("engine", "Spark", "ok", f"pyspark {_version('pyspark')} and Java are there (not started)")


def _postgres(environment: Mapping[str, str]) -> DoctorFinding:
    if _version("psycopg") is None:
        return DoctorFinding("engine", "PostgreSQL", "missing", "pip install 'pydplib[postgres]'")
    from pydplib.errors import ParameterError
    from pydplib.web.configuration import database_url, postgres_database

    try:
        url = database_url(environment)
        if url:
            postgres_database(url)
    except ParameterError as error:
        return DoctorFinding("engine", "PostgreSQL", "broken", str(error))
    if not url:
        return DoctorFinding(
            "engine", "PostgreSQL", "ok", "the driver is there; no DATABASE_URL is set, so none was asked"
        )
    import psycopg

    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            connection.execute("SELECT 1")
            number = connection.info.server_version // 10_000
            way = "over TLS" if connection.pgconn.ssl_in_use else "without TLS: for this machine or a closed network"
    except (psycopg.Error, ValueError):
        # The error's own words may hold the address and the user: they are not repeated.
        return DoctorFinding("engine", "PostgreSQL", "broken", "DATABASE_URL is set, but the server does not let us in")
    return DoctorFinding("engine", "PostgreSQL", "ok", f"the server of DATABASE_URL answers ({number}), {way}")


def _mariadb() -> DoctorFinding:
    if _version("pymysql") is None:
        return DoctorFinding("engine", "MariaDB", "missing", "pip install 'pydplib[mariadb]'")
    return DoctorFinding(
        "engine", "MariaDB", "ok", f"the driver is there (pymysql {_version('pymysql')}); no server was asked"
    )


def _browser() -> DoctorFinding:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    named = os.environ.get("BROWSER_PATH")  # what the drawing library looks at first
    found = named if named and shutil.which(named) else next((name for name in names if shutil.which(name)), None)
    if _version("kaleido") is None:
        return DoctorFinding("picture", "PNG and SVG", "missing", "pip install 'pydplib[plot]', and Chromium or Chrome")
    if found is None:
        return DoctorFinding("picture", "PNG and SVG", "missing", "needs Chromium or Chrome, e.g. apt install chromium")
    return DoctorFinding("picture", "PNG and SVG", "ok", f"drawn by {os.path.basename(found)}")


_SIGNS = {"ok": "✓", "missing": "·", "broken": "✗", "unsafe": "!"}
_TITLES = {
    "core": "The library",
    "extra": "Extras",
    "noise": "Noise",
    "engine": "Engines",
    "picture": "Pictures",
    "platform": "The platform",
}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool) -> None:
    """Say what is installed, which engines answer, and whether the configuration is safe.

    Looks at PYDPLIB_HOME, DATABASE_URL and the platform's other settings as they are in this shell. Nothing is
    changed, nothing is sent. Ends with code 1 if something is broken or unsafe; what is only not installed is fine.

    \b
    Examples:
      pydplib doctor
      PYDPLIB_HOME=/srv/pydplib pydplib doctor --json
    """  # noqa: D301 - click needs the backspace itself
    from pydplib._version import __version__

    findings = list(examine(os.environ))
    bad = [finding for finding in findings if finding.state in ("broken", "unsafe")]
    if as_json:
        click.echo(json.dumps({"version": __version__, "healthy": not bad, "findings": [asdict(f) for f in findings]}))
    else:
        click.echo(f"pydplib {__version__}")
        part = ""
        for finding in findings:
            if finding.part != part:
                part = finding.part
                click.echo(f"\n{_TITLES[part]}")
            click.echo(f"  {_SIGNS[finding.state]} {finding.name:<14} {finding.words}")
        click.echo("\nAll is well." if not bad else f"\nTo be fixed: {', '.join(f.name for f in bad)}.")
    if bad:
        raise SystemExit(1)

"""What ``pydplib doctor`` looks at: installed parts, engines that answer, and whether the set-up is safe."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

State = Literal["ok", "missing", "unsafe", "broken"]

# Extra -> the distributions that it brings, as pyproject.toml has them.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "plot": ("plotly", "kaleido"),
    "notebook": ("pandas",),
    "tables": ("pyarrow",),
    "excel": ("openpyxl",),
    "postgres": ("psycopg",),
    "spark": ("pyspark",),
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


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report.

    Args:
        part: ``"core"``, ``"extra"``, ``"engine"``, ``"picture"`` or ``"platform"``.
        name: What was looked at.
        state: ``"ok"``; ``"missing"`` (not installed, nothing wrong); ``"broken"``; ``"unsafe"``.
        words: What was found, and the next step.
    """

    part: str
    name: str
    state: State
    words: str


def examine(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at everything, one finding after the other; nothing is changed and nothing is sent."""
    yield _python()
    for name in CORE:
        yield _distribution("core", name, "pip install pydplib")
    for extra, names in EXTRAS.items():
        missing = [name for name in names if _version(name) is None]
        if missing:
            yield Finding("extra", extra, "missing", f"pip install 'pydplib[{extra}]' brings {', '.join(missing)}")
        else:
            yield Finding("extra", extra, "ok", ", ".join(f"{name} {_version(name)}" for name in names))
    yield _try("noise", "random bits", _noise)
    yield _try("engine", "DuckDB", _duckdb)
    yield _try("engine", "SQLite", _sqlite)
    yield _spark()
    yield _postgres(environment)
    yield _browser()
    yield from _platform(environment)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _distribution(part: str, name: str, command: str) -> Finding:
    version = _version(name)
    return Finding(part, name, "broken", command) if version is None else Finding(part, name, "ok", version)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    enough = sys.version_info >= (3, 11)
    return Finding("core", "Python", "ok" if enough else "broken", version if enough else f"{version}: 3.11 is needed")


def _try(part: str, name: str, work: Callable[[], str]) -> Finding:
    try:
        return Finding(part, name, "ok", work())
    except Exception as error:
        return Finding(part, name, "broken", f"does not answer ({type(error).__name__})")


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


def _spark() -> Finding:
    if _version("pyspark") is None:
        return Finding("engine", "Spark", "missing", "pip install 'pydplib[spark]', and Java 17")
    java = shutil.which("java") or (os.environ.get("JAVA_HOME") and "JAVA_HOME")
    if not java:
        return Finding("engine", "Spark", "missing", "pyspark is there, Java is not: install a Java 17 runtime")
    return Finding("engine", "Spark", "ok", f"pyspark {_version('pyspark')} and Java are there (not started)")


def _postgres(environment: Mapping[str, str]) -> Finding:
    if _version("psycopg") is None:
        return Finding("engine", "PostgreSQL", "missing", "pip install 'pydplib[postgres]'")
    from pydplib.errors import ParameterError
    from pydplib.web.configuration import database_url

    try:
        url = database_url(environment)
    except ParameterError as error:
        return Finding("engine", "PostgreSQL", "broken", str(error))
    if not url:
        return Finding("engine", "PostgreSQL", "ok", "the driver is there; no DATABASE_URL is set, so none was asked")
    import psycopg

    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            connection.execute("SELECT 1")
            number = connection.info.server_version // 10_000
            way = "over TLS" if connection.pgconn.ssl_in_use else "without TLS: for this machine or a closed network"
    except (psycopg.Error, ValueError):
        # The error's own words may hold the address and the user: they are not repeated.
        return Finding("engine", "PostgreSQL", "broken", "DATABASE_URL is set, but the server does not let us in")
    return Finding("engine", "PostgreSQL", "ok", f"the server of DATABASE_URL answers ({number}), {way}")


def _browser() -> Finding:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next((name for name in names if shutil.which(name)), None)
    if found is None:
        return Finding("picture", "PNG and SVG", "missing", "needs Chromium or Chrome, e.g. apt install chromium")
    return Finding("picture", "PNG and SVG", "ok", f"drawn by {found}")


def _platform(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at the platform's home, if there is one."""
    from pydplib.errors import ParameterError
    from pydplib.web.configuration import LOOPBACK, Configuration

    try:
        configuration = Configuration.from_environment(environment)
    except ParameterError as error:
        yield Finding("platform", "settings", "broken", str(error))
        return
    if not configuration.home.exists():
        yield Finding(
            "platform", "home", "missing", "no server was started here yet (pydplib serve); PYDPLIB_HOME says where"
        )
        return
    yield _rights("home", configuration.home, "chmod 700")
    for path in sorted((configuration.home / "keys").rglob("*.key")):
        yield _rights(f"key {path.stem}", path, "chmod 600")
    for name, file in (("database", "pydplib.sqlite3"), ("ledger's head", "ledger.head.json")):
        if (configuration.home / file).exists():
            yield _rights(name, configuration.home / file, "chmod 600")
    if set(configuration.hosts) - set(LOOPBACK) and not configuration.behind_tls:
        yield Finding(
            "platform",
            "https",
            "unsafe",
            "PYDPLIB_HOSTS names a host beyond this machine, but PYDPLIB_BEHIND_TLS is off",
        )
    else:
        yield Finding("platform", "https", "ok", "behind TLS" if configuration.behind_tls else "this machine only")
    if configuration.demo and set(configuration.hosts) - set(LOOPBACK):
        yield Finding(
            "platform", "demonstration", "unsafe", "a demonstration is for this machine only: unset PYDPLIB_DEMO"
        )


def _rights(name: str, path: Path, command: str) -> Finding:
    rights = stat.S_IMODE(path.stat().st_mode)
    if rights & 0o077:
        return Finding("platform", name, "unsafe", f"others on this machine can read it: {command} {path.name}")
    return Finding("platform", name, "ok", "readable by its owner alone")

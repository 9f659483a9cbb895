"""What ``pydplib doctor`` looks at: installed parts, engines that answer, and whether the set-up is safe."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata

from pydplib.cli._doctor_finding import DoctorFinding
from pydplib.cli._doctor_platform import examine_platform

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

"""What ``pydplib doctor`` looks at where a platform keeps its data: rights, keys, database, the ledger's end."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from pydplib.cli._doctor_finding import DoctorFinding, State, looked

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

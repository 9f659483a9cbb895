"""Reading a backup back: unpacked aside, every sum and the log's chain verified, then put in place."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import re
import secrets
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TypedDict

from pydplib.errors import DataError, EngineError, ParameterError
from pydplib.web.backups.backup import EXPORTED, MANIFEST, POSTGRES, SQLITE
from pydplib.web.backups.container import read_container
from pydplib.web.backups.databases import restore_postgres
from pydplib.web.configuration import Configuration, postgres_database
from pydplib.web.startup import only_server, start_django

_NAME = re.compile(
    rf"{SQLITE}|{POSTGRES}|{MANIFEST}|keys/(?:receipts/)?[a-z0-9_-]+\.key|snapshots/[0-9a-f]+\.parquet|exports/{EXPORTED}"
)
_MOST_FILES = 100_000


@dataclass(frozen=True, slots=True)
class Restored:
    """What came back.

    Args:
        made: When the backup was made.
        lines: Lines of the audit log, verified.
        set_aside: Where the former home lies, if there was one.
    """

    made: str
    lines: int
    set_aside: Path | None


def check_free(home: Path, *, force: bool) -> None:
    """Raise ``ParameterError`` if the home is not empty and may not be replaced."""
    if home.exists() and not home.is_dir():
        raise ParameterError(f"'{home}' is a file, not a folder.")
    if not force and home.is_dir() and any(path.name != "serve.lock" for path in home.iterdir()):
        raise ParameterError(
            f"'{home}' is not empty. Choose another --home, or add --force: what is there is set aside, not deleted."
        )


@contextmanager
def unpacked(path: Path, home: Path, passphrase: str | None) -> Iterator[tuple[Path, Manifest]]:
    """Yield a folder next to the home with the files of a backup, sums verified, and what the backup says of itself."""
    home.parent.mkdir(parents=True, exist_ok=True)
    work = home.parent / f".{home.name}.restore-{secrets.token_hex(4)}"
    work.mkdir(mode=0o700)
    try:
        with read_container(path, passphrase) as stream:
            sums = _unpack(stream, work)
        yield work, _checked(work, sums)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def restore(
    configuration: Configuration,
    path: Path,
    *,
    passphrase: str | None,
    force: bool,
    step: Callable[[str], None] = lambda _: None,
) -> Restored:
    """Bring a backup back; the former home is set aside. Starts Django: one call per process.

    Args:
        configuration: Where to: the home, and the database if it is PostgreSQL.
        path: The backup.
        passphrase: For an encrypted one.
        force: Replace what is there.
        step: Called with what is done next.
    """
    home = configuration.home
    check_free(home, force=force)
    step("Unpacking and checking the sums")
    with unpacked(path, home, passphrase) as (work, about):
        is_postgres = about["database"] == POSTGRES
        if is_postgres != (configuration.database_url is not None):
            raise ParameterError(
                "The backup is of a PostgreSQL database: set DATABASE_URL to where it should go."
                if is_postgres
                else "The backup is of the embedded database: unset DATABASE_URL to restore it."
            )
        if configuration.database_url is None:
            (work / SQLITE).rename(work / "pydplib.sqlite3")
        else:
            _into_postgres(configuration.database_url, work / POSTGRES, force=force)
            (work / POSTGRES).unlink()
        step("Verifying the audit log")
        start_django(replace(configuration, home=work))
        lines = _verified(about, exact=not is_postgres)
        if configuration.database_url is not None or not home.exists():
            return Restored(about["made"], lines, _put(work, home))
        with only_server(home):
            return Restored(about["made"], lines, _put(work, home))


def _put(work: Path, home: Path) -> Path | None:
    aside = None
    (work / MANIFEST).unlink(missing_ok=True)
    if home.exists():
        if any(path.name != "serve.lock" for path in home.iterdir()):
            aside = home.with_name(f"{home.name}.before-restore-{dt.datetime.now():%Y%m%d-%H%M%S}")
            home.rename(aside)
        else:
            shutil.rmtree(home)
    work.rename(home)
    return aside


class Manifest(TypedDict):
    """What a backup says of itself."""

    made: str
    database: str
    sha256: dict[str, str]
    audit_lines: int
    audit_hash: str


def _unpack(stream: IO[bytes], work: Path) -> dict[str, str]:
    for name in ("keys", "keys/receipts", "snapshots", "exports"):
        (work / name).mkdir(mode=0o700)
    sums: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for entry in archive:
                if (
                    not entry.isreg()
                    or not _NAME.fullmatch(entry.name)
                    or entry.name in sums
                    or len(sums) > _MOST_FILES
                ):
                    raise DataError("The backup holds something that does not belong there. Nothing was changed.")
                source = archive.extractfile(entry)
                assert source is not None
                sums[entry.name] = _written(source, work / entry.name)
        stream.read()  # to the end: a cut or changed last chunk is noticed
    except tarfile.TarError:
        raise DataError("The backup is damaged. Nothing was changed.") from None
    return sums


def _written(source: IO[bytes], target: Path) -> str:
    digest = hashlib.sha256()
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        while chunk := source.read(2**20):
            digest.update(chunk)
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _checked(work: Path, sums: dict[str, str]) -> Manifest:
    try:
        about: Manifest = json.loads((work / MANIFEST).read_text())
        expected = dict(about["sha256"])
        known = about["database"] in expected and isinstance(about["audit_lines"], int) and about["made"]
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError("The backup is damaged: it does not say what it holds. Nothing was changed.") from None
    if not known or expected != {name: digest for name, digest in sums.items() if name != MANIFEST}:
        raise DataError("The backup is damaged: a sum does not fit. Nothing was changed.")
    return about


def _into_postgres(url: str, dump: Path, *, force: bool) -> None:
    import psycopg

    try:
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT to_regclass('public.projects_project') IS NOT NULL").fetchone()
    except psycopg.OperationalError:
        raise EngineError("The database of DATABASE_URL does not answer, or refuses the user.") from None
    if row and row[0] and not force:
        raise ParameterError("The database has tables of pydplib already. Choose an empty one, or add --force.")
    restore_postgres(postgres_database(url), dump, clean=bool(row and row[0]))


def _verified(about: Manifest, *, exact: bool) -> int:
    from django.db import connection

    from pydplib.web.auditlog.verification import verify

    try:
        verdict = verify(
            expected=(about["audit_lines"], about["audit_hash"]) if exact and about["audit_lines"] else None
        )
    finally:
        connection.close()
    if not verdict:
        raise DataError(f"The audit log in the backup is not whole: {verdict.problem} Nothing was put in place.")
    return verdict.lines

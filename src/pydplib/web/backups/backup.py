"""Writing a backup: the database in one consistent state, the keys, the snapshots that it names."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import os
import re
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydplib._version import __version__
from pydplib.errors import EngineError, ParameterError
from pydplib.web import leftovers
from pydplib.web.backups.container import draft_of, write_container
from pydplib.web.backups.databases import copy_sqlite, dump_postgres
from pydplib.web.configuration import Configuration, postgres_database

SQLITE, POSTGRES, MANIFEST = "database.sqlite3", "database.dump", "manifest.json"
EXPORTED = r"[0-9a-f]+-[0-9a-f]+\.(?:csv|parquet|trace)"
"""How files of anonymized tables are called."""
_SNAPSHOTS = "SELECT file FROM intake_snapshot WHERE file <> ''"
_HEAD = "SELECT number, hash FROM auditlog_head WHERE id = 1"


@dataclass(frozen=True, slots=True)
class Saved:
    """What a backup holds.

    Args:
        files: How many files.
        lines: How many lines the audit log had.
        size: Bytes of the backup.
        missing: Snapshots that the database names and that are not there.
    """

    files: int
    lines: int
    size: int
    missing: int


def save(
    configuration: Configuration, path: Path, *, passphrase: str | None, step: Callable[[str], None] = lambda _: None
) -> Saved:
    """Write everything of a server into one file; the server may run meanwhile.

    Args:
        configuration: The server.
        path: The new file.
        passphrase: Encrypts the file; without one it holds the keys in the clear.
        step: Called with what is done next.
    """
    if path.exists():
        raise ParameterError(f"'{path.name}' exists already. Choose another name.")
    if not (configuration.home / "keys").is_dir():
        raise EngineError(f"There is no server in '{configuration.home}': it has no keys.")
    draft = draft_of(path)
    with leftovers.work_folder(configuration.home, draft) as work:
        held, tables = work / "snapshots", work / "exports"
        held.mkdir()
        tables.mkdir()
        _hold(configuration.home / "snapshots", held)
        _hold(configuration.home / "exports", tables, EXPORTED)
        step("Copying the database")
        name, snapshots, head = _database(configuration, work)
        _hold(configuration.home / "snapshots", held)
        _hold(configuration.home / "exports", tables, EXPORTED)
        step("Writing the file")
        present = [file for file in snapshots if (held / file).is_file()]
        files: list[tuple[str, Path]] = [(name, work / name)]
        keys = configuration.home / "keys"  # those of receipts have a folder of their own
        files += [(f"keys/{key.relative_to(keys).as_posix()}", key) for key in sorted(keys.rglob("*.key"))]
        files += [(f"snapshots/{file}", held / file) for file in sorted(present)]
        # Anonymized tables with their traces, without which nothing later could be made to hold together with them.
        files += [(f"exports/{file.name}", file) for file in sorted(tables.iterdir())]
        about = {
            "version": __version__,
            "made": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "database": name,
            "audit_lines": head[0],
            "audit_hash": head[1],
            "missing_snapshots": len(snapshots) - len(present),
        }
        with write_container(path, passphrase) as out:
            _write(out, files, about)
    return Saved(len(files), head[0], path.stat().st_size, len(snapshots) - len(present))


def _hold(source: Path, target: Path, named: str = r".+\.parquet") -> None:
    """Link files aside, so that one which is deleted meanwhile can still be copied."""
    if source.is_dir():
        for path in source.iterdir():
            if re.fullmatch(named, path.name) and not (target / path.name).exists():
                try:
                    os.link(path, target / path.name)
                except FileNotFoundError:
                    continue


def _database(configuration: Configuration, work: Path) -> tuple[str, list[str], tuple[int, str]]:
    if configuration.database_url is None:
        copy_sqlite(configuration.home / "pydplib.sqlite3", work / SQLITE)
        with closing(sqlite3.connect(work / SQLITE)) as copy:
            try:
                snapshots = [row[0] for row in copy.execute(_SNAPSHOTS)]
                return SQLITE, snapshots, tuple(copy.execute(_HEAD).fetchone())
            except (sqlite3.Error, TypeError):
                raise EngineError("The database is no database of pydplib, or was never used.") from None
    import psycopg

    database = postgres_database(configuration.database_url)
    dump_postgres(database, work / POSTGRES)
    with psycopg.connect(configuration.database_url) as connection:
        snapshots = [row[0] for row in connection.execute(_SNAPSHOTS)]
        head = connection.execute(_HEAD).fetchone()
    return POSTGRES, snapshots, (head[0], "") if head else (0, "")  # lines may have come since the dump


def _write(out: IO[bytes], files: list[tuple[str, Path]], about: dict[str, object]) -> None:
    sums: dict[str, str] = {}
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for name, path in files:
            with path.open("rb") as file:
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = os.fstat(file.fileno()).st_size, 0o600
                counted = _Counted(file)
                archive.addfile(entry, counted)
                sums[name] = counted.digest.hexdigest()
        text = json.dumps({**about, "sha256": sums}, indent=1).encode()
        entry = tarfile.TarInfo(MANIFEST)
        entry.size, entry.mode = len(text), 0o600
        archive.addfile(entry, io.BytesIO(text))


class _Counted:
    """Reads a file and sums what was read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        chunk = self.file.read(size)
        self.digest.update(chunk)
        return chunk

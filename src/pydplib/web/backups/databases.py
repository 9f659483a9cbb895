"""A consistent copy of the database while the server runs, and its way back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

from pydplib.errors import EngineError


def copy_sqlite(source: Path, target: Path) -> None:
    """Copy a SQLite database by its own backup, which gives one consistent state even under writers."""
    if not source.exists():
        raise EngineError(f"There is no database in '{source.parent}'. Is this the server's home?")
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(source, timeout=30)) as live, closing(sqlite3.connect(target)) as copy:
            live.backup(copy)  # in one go: in WAL mode a reader sees one state and stops no writer
            (verdict,) = copy.execute("PRAGMA quick_check").fetchone()
            copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise EngineError(f"The database cannot be copied ({type(error).__name__}).") from None
    if verdict != "ok":
        raise EngineError("The database is damaged: restore an earlier backup.")


def dump_postgres(database: dict[str, object], target: Path) -> None:
    """Dump a PostgreSQL database in one transaction."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    _run(
        [
            find_program("pg_dump"),
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            f"--file={target}",
            *_place(database),
        ],
        database,
        "The database cannot be dumped",
    )


def restore_postgres(database: dict[str, object], source: Path, *, clean: bool) -> None:
    """Bring a dump back in one transaction: all of it, or nothing."""
    options = ["--clean", "--if-exists"] if clean else []
    _run(
        [
            find_program("pg_restore"),
            "--single-transaction",
            "--exit-on-error",
            "--no-owner",
            "--no-privileges",
            *options,
            *_place(database),
            str(source),
        ],
        database,
        "The dump cannot be restored",
    )


def find_program(name: str) -> str:
    """Return the path of a program of PostgreSQL's, or say which package has it."""
    found = shutil.which(name)
    if found is None:
        raise EngineError(
            f"'{name}' is not installed: install PostgreSQL's client programs (Debian: apt install postgresql-client), "
            "in the server's version or newer."
        )
    return found


def _place(database: dict[str, Any]) -> list[str]:
    words = {"host": database["HOST"], "port": database["PORT"], "user": database["USER"], "dbname": database["NAME"]}
    words |= {name: str(value) for name, value in database.get("OPTIONS", {}).items()}
    quoted = (f"{name}='{_escaped(value)}'" for name, value in words.items() if value)
    return [f"--dbname={' '.join(quoted)}"]


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")


def _run(command: list[str], database: dict[str, Any], problem: str) -> None:
    # The password goes by the environment: arguments can be seen by every user of the machine.
    environment = os.environ | ({"PGPASSWORD": database["PASSWORD"]} if database.get("PASSWORD") else {})
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        # Only the first words: later ones may quote rows.
        raise EngineError(f"{problem}: {lines[0][:200] if lines else 'no reason was given'}")

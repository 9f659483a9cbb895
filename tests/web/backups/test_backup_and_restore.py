"""A server is saved and comes back: through the commands, on the database of this test run."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from pydplib.errors import DataError, ParameterError
from pydplib.web.backups import container
from pydplib.web.backups.container import is_encrypted, read_container, write_container
from pydplib.web.backups.databases import find_program

CANARY = "ZZCANARY-7731"
IS_POSTGRES = os.environ.get("PYDPLIB_TEST_DATABASE") == "postgres"

FILL = """
import datetime as dt, json, django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from pydplib.capture import builtin
from pydplib.web.intake import snapshots
from pydplib.web.intake.imports import records
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.models import Project, project_key
from pydplib.web.reporting.models import TemplateVersion
hospital = Hospital.objects.create(name="St. Example")
ada = User.objects.create_user(project_key("ada"), hospital=hospital)
project = Project.objects.create(key=project_key("p"), hospital=hospital, name="P", purpose="p", legal_basis="l",
    retention_until=dt.date(2040, 1, 1))
version = TemplateVersion.objects.create(project=project, number=1, made_by="t",
    definition=builtin("pirads-paper").to_json())
rows = [{"patient_id": f"%s {i}", "age": 50 + i, "year": 2018, "pca_no_pirads": False, "pirads": 3} for i in range(9)]
records.accept_rows(project, version, rows, actor=ada)
snapshots.publish(snapshots.make_snapshot(project, actor=ada), actor=ada)
print(project.key)
""".replace("%s", CANARY)

LOOK = """
import json, sys, django
django.setup()
from pydplib.web.auditlog.verification import verify
from pydplib.web.intake import snapshots
from pydplib.web.intake.rights.erasure import look_up
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report
project = Project.objects.get(key=sys.argv[1])
print(json.dumps({
    "reports": Report.objects.filter(project=project).count(),
    "chain": bool(verify()),
    "found": look_up(project, "%s 3") is not None,
    "loads": snapshots.load_snapshot(snapshots.published_snapshot(project)).schema.person,
}))
""".replace("%s", CANARY)
WHOLE = {"reports": 9, "chain": True, "found": True, "loads": "patient_id"}


def python(home: Path, code: str, *args: str, url: str | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *args], env=environment(home, url), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def environment(home: Path, url: str | None = None) -> dict[str, str]:
    found = os.environ | {"PYDPLIB_HOME": str(home), "DJANGO_SETTINGS_MODULE": "pydplib.web.settings"}
    return found | {"DATABASE_URL": url} if url else found


def pydplib(home: Path, *args: str, url: str | None = None) -> Any:
    code = "from pydplib.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *args], env=environment(home, url), capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    home = tmp_path_factory.mktemp("server") / "home"
    project = python(home, FILL)
    python(
        home,
        "import django; django.setup()\nfrom pydplib.web.analyses.receipts.keys import rotate\n"
        "from pydplib.web.people.models import Hospital\nrotate(Hospital.objects.first())",
    )
    return home, project


@pytest.fixture(scope="module")
def saved(server: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encrypted backup and its passphrase next to it."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "pass").write_text("correct horse battery\n")
    done = pydplib(server[0], "backup", str(folder / "b"), "--passphrase-file", str(folder / "pass"))
    assert done.returncode == 0, done.stderr
    return folder


def new_database(tmp_path: Path) -> str | None:
    """On PostgreSQL: an empty database on the server of this run."""
    if not IS_POSTGRES:
        return None
    import psycopg

    name = f"restored_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    head, _, _ = os.environ["DATABASE_URL"].rpartition("/")
    return f"{head}/{name}"


def test_backup_and_restore_bring_everything_back(server, saved, tmp_path) -> None:
    _, project = server
    home, url = tmp_path / "new", new_database(tmp_path)
    done = pydplib(home, "restore", str(saved / "b"), "--passphrase-file", str(saved / "pass"), url=url)
    assert done.returncode == 0, done.stderr
    assert "lines of the audit log fit" in done.stdout
    assert json.loads(python(home, LOOK, project, url=url)) == WHOLE
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    keys = {path.relative_to(home / "keys") for path in (home / "keys").rglob("*.key")}
    assert keys == {path.relative_to(server[0] / "keys") for path in (server[0] / "keys").rglob("*.key")}
    assert any(len(key.parts) == 2 for key in keys), "receipts must stay verifiable"
    for key in keys:
        assert stat.S_IMODE((home / "keys" / key).stat().st_mode) == 0o600
    assert not (home / "manifest.json").exists() and not list(tmp_path.glob(".*restore*"))


def test_encrypted_backup_is_private_and_holds_nothing_readable(server, saved) -> None:
    content = (saved / "b").read_bytes()
    key = (server[0] / "keys" / "pseudonyms.key").read_bytes()
    assert stat.S_IMODE((saved / "b").stat().st_mode) == 0o600
    assert CANARY.encode() not in content and key not in content and is_encrypted(saved / "b")
    assert not [path for path in server[0].iterdir() if path.name.startswith(".backup")]


def test_plain_backup_says_that_it_holds_the_keys(server, tmp_path) -> None:
    done = pydplib(server[0], "backup", str(tmp_path / "b"))
    assert done.returncode == 0 and "holds the server's keys" in done.stderr
    assert not is_encrypted(tmp_path / "b") and stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600
    again = pydplib(server[0], "backup", str(tmp_path / "b"))
    assert again.returncode != 0 and "exists already" in again.stderr


def test_restore_refuses_a_home_that_is_not_empty_and_sets_it_aside_by_force(server, saved, tmp_path) -> None:
    home, url = tmp_path / "new", new_database(tmp_path)
    home.mkdir()
    (home / "precious").write_text("x")
    words = ["restore", str(saved / "b"), "--passphrase-file", str(saved / "pass")]
    done = pydplib(home, *words, url=url)
    assert done.returncode != 0 and "is not empty" in done.stderr and [p.name for p in home.iterdir()] == ["precious"]
    done = pydplib(home, *words, "--force", url=url)
    assert done.returncode == 0, done.stderr
    (aside,) = tmp_path.glob("new.before-restore-*")
    assert (aside / "precious").read_text() == "x" and not (home / "precious").exists()


@pytest.mark.parametrize("place", [0.1, 0.5, 0.999])
def test_damaged_backup_changes_nothing(saved, tmp_path, place: float) -> None:
    content = bytearray((saved / "b").read_bytes())
    content[int(len(content) * place)] ^= 1
    (tmp_path / "b").write_bytes(content)
    with pytest.raises(DataError, match=r"damaged|cut off|wrong"):
        _read_all(tmp_path / "b", "correct horse battery")


def test_cut_backup_and_wrong_passphrase_are_noticed(saved, tmp_path) -> None:
    content = (saved / "b").read_bytes()
    for missing in (1, 100, container.PIECE + 16):
        (tmp_path / "b").write_bytes(content[:-missing])
        with pytest.raises(DataError, match="cut off"):
            _read_all(tmp_path / "b", "correct horse battery")
    with pytest.raises(DataError, match="passphrase is wrong"):
        _read_all(saved / "b", "another passphrase")
    with pytest.raises(ParameterError, match="encrypted"):
        _read_all(saved / "b", None)


def _read_all(path: Path, passphrase: str | None) -> bytes:
    with read_container(path, passphrase) as stream:
        return stream.read()


@pytest.fixture
def quick(monkeypatch) -> None:
    """A passphrase that is quick to try."""
    monkeypatch.setattr(container, "_LOG_N", 4)


AGE_FILE = base64.b64decode(
    "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCAxZ0RKZkZtaENqcEEzWjBEd051cEx3IDE3CmVlU0l0R1l6WE9zTFNtblpMWHhHeWlFY2ow"
    "TEgwL2cycXFoT0Y2c1VSS3MKLS0tIGk4c0ViWWJtamp4UDNyS2VKUzJFbjNWaVRaVDJabTB0cHpyd2RFQzN6UjAKG4X/eHqnwz2eBxjT5dqBttaW"
    "btoIlfCPvRXEXLnGN1g9FVNhmQ=="
)
SIZES = [0, 1, container.PIECE - 1, container.PIECE, container.PIECE + 1, 3 * container.PIECE]


@pytest.mark.parametrize("size", SIZES)
def test_encrypted_backup_gives_back_what_was_put_in_and_age_opens_it(tmp_path, quick, size: int) -> None:
    import pyrage  # another program of the same format

    content = os.urandom(size)
    with write_container(tmp_path / "c", "long enough") as out:
        out.write(content)
    assert _read_all(tmp_path / "c", "long enough") == content
    assert pyrage.passphrase.decrypt((tmp_path / "c").read_bytes(), "long enough") == content


def test_file_that_another_program_of_the_age_format_wrote_is_read() -> None:
    """``AGE_FILE`` was written by pyrage 1.4.0: ``pyrage.passphrase.encrypt(b"hello", "long enough")``."""
    import io

    with io.BufferedReader(container._AgeReader(io.BytesIO(AGE_FILE), "long enough")) as stream:
        assert stream.read() == b"hello"


def test_pieces_cannot_be_swapped_dropped_or_added(tmp_path, quick, monkeypatch) -> None:
    monkeypatch.setattr(container, "PIECE", 10)
    with write_container(tmp_path / "c", "long enough") as out:
        out.write(b"a" * 40)
    content = (tmp_path / "c").read_bytes()
    head, size = len(content) - 4 * 26, 26
    parts = [content[head + i * size : head + (i + 1) * size] for i in range(4)]
    assert _read_all(tmp_path / "c", "long enough") == b"a" * 40
    for order in ([1, 0, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2, 3, 3], []):
        (tmp_path / "d").write_bytes(content[:head] + b"".join(parts[i] for i in order))
        with pytest.raises(DataError):
            _read_all(tmp_path / "d", "long enough")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b" 4\n", b" 21\n", "more memory"),
        (b" 4\n", b" 5\n", "wrong"),
        (b" 4\n", b" -4\n", "more memory"),
        (b"-> scrypt", b"-> X25519", "with age first"),
        (b"\n---", b"\n-- ", "with age first"),
    ],
)
def test_changed_head_is_refused(tmp_path, quick, old: bytes, new: bytes, words: str) -> None:
    with write_container(tmp_path / "c", "long enough") as out:
        out.write(b"x")
    content = (tmp_path / "c").read_bytes()
    assert old in content
    (tmp_path / "c").write_bytes(content.replace(old, new, 1))
    with pytest.raises(DataError, match=words):
        _read_all(tmp_path / "c", "long enough")


def test_backup_that_fails_leaves_no_file(tmp_path) -> None:
    with pytest.raises(ZeroDivisionError), write_container(tmp_path / "c", None):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
    with pytest.raises(ParameterError, match="at least 8"), write_container(tmp_path / "c", "short"):
        pass


def test_foreign_files_and_foreign_names_are_refused(tmp_path) -> None:
    import io
    import tarfile

    from pydplib.web.backups.restore import unpacked

    (tmp_path / "x").write_bytes(b"hello")
    with pytest.raises(DataError, match="no backup"):
        is_encrypted(tmp_path / "x")
    for name in ("../evil", "/etc/evil", "keys/../../evil", "keys/a.key"):
        path = tmp_path / f"b{len(list(tmp_path.iterdir()))}"
        with write_container(path, None) as out, tarfile.open(fileobj=out, mode="w|") as archive:
            entry = tarfile.TarInfo(name)
            if name == "keys/a.key":
                entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(entry, io.BytesIO(b""))
        with pytest.raises(DataError, match="does not belong"), unpacked(path, tmp_path / "home", None):
            pass
    assert not list(tmp_path.glob(".home*")) and not (tmp_path.parent / "evil").exists()


@pytest.mark.skipif(IS_POSTGRES, reason="changes the embedded database's file")
def test_backup_of_a_log_that_was_changed_is_not_put_in_place(server, tmp_path) -> None:
    import sqlite3

    home = Path(shutil.copytree(server[0], tmp_path / "tampered"))
    with sqlite3.connect(home / "pydplib.sqlite3") as connection:
        connection.execute("DROP TRIGGER auditlog_line_no_update")
        connection.execute("UPDATE auditlog_line SET actor = 'eve' WHERE number = 1")
    assert pydplib(home, "backup", str(tmp_path / "b")).returncode == 0
    done = pydplib(tmp_path / "new", "restore", str(tmp_path / "b"))
    assert done.returncode != 0 and "not whole" in done.stderr and not (tmp_path / "new").exists()


def test_missing_program_names_its_package(monkeypatch) -> None:
    from pydplib.errors import EngineError

    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineError, match="apt install postgresql-client"):
        find_program("pg_dump")


def test_backup_where_there_is_no_server_says_so(tmp_path) -> None:
    done = pydplib(tmp_path / "none", "backup", str(tmp_path / "b"))
    assert done.returncode != 0 and "There is no server" in done.stderr and not (tmp_path / "b").exists()


KILLED = """
import os, signal, sys
from pydplib.web.backups import backup as saving
real = saving._write
def die(*args):
    if sys.argv[1] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(*args)
    os.kill(os.getpid(), signal.SIGKILL)
saving._write = die
from pathlib import Path
from pydplib.web.configuration import Configuration
saving.save(Configuration.from_environment(), Path(sys.argv[2]), passphrase=None)
"""

ERASE = """
import django, json, sys
django.setup()
from pydplib.web.intake.rights.erasure import erase, look_up
from pydplib.web.projects.models import Project
project = Project.objects.get(key=sys.argv[1])
erase(look_up(project, "%s 3"), actor="system")
""".replace("%s", CANARY)


def leftovers_of(*folders: Path) -> list[str]:
    return [path.name for folder in folders for path in folder.iterdir() if path.name.startswith((".backup-", ".b."))]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_backup_leaves_nothing_that_an_erasure_the_next_backup_or_a_start_does_not_find(
    tmp_path: Path, moment: str
) -> None:
    home, target, url = tmp_path / "home", tmp_path / "kept", new_database(tmp_path)
    target.mkdir()
    project = python(home, FILL, url=url)

    def kill() -> None:
        done = subprocess.run(
            [sys.executable, "-c", KILLED, moment, str(target / "b")], env=environment(home, url), capture_output=True
        )
        assert done.returncode == -9, done.stderr
        assert len(leftovers_of(home, target)) == 2, "the folder and the draft"
        assert not (target / "b").exists()

    kill()
    python(home, ERASE, project, url=url)
    assert leftovers_of(home, target) == [], "the erased person is in no copy that a kill left"
    kill()
    assert pydplib(home, "backup", str(target / "c"), url=url).returncode == 0
    assert leftovers_of(home, target) == []
    kill()
    python(home, "import django; django.setup()\nfrom pydplib.web import upkeep; upkeep.tidy()", url=url)
    assert leftovers_of(home, target) == []


def test_a_backup_that_runs_keeps_its_folder_while_others_tidy(tmp_path: Path) -> None:
    from pydplib.web import leftovers

    home = tmp_path / "home"
    home.mkdir()
    with leftovers.work_folder(home, tmp_path / ".b.1.part") as work:
        assert leftovers.remove(home) == 0 and work.is_dir()
    assert not work.exists()


@pytest.mark.skipif(IS_POSTGRES, reason="PostgreSQL rewrites its pages by itself")
def test_an_erased_identifier_is_in_no_byte_of_the_embedded_database(tmp_path: Path) -> None:
    home = tmp_path / "home"
    project = python(home, FILL)
    # A connection of its own keeps the log from being folded in when the last one closes.
    keep = (
        "import sqlite3, sys\nkept = sqlite3.connect(sys.argv[2])\n"
        "kept.execute('SELECT count(*) FROM intake_identifier').fetchall()\n"
    )
    found = keep + ERASE + "\nimport os; os._exit(0)"
    python(home, found, project, str(home / "pydplib.sqlite3"))
    for path in home.glob("pydplib.sqlite3*"):
        assert f"{CANARY} 3".encode() not in path.read_bytes(), path.name
    assert f"{CANARY} 4".encode() in (home / "pydplib.sqlite3").read_bytes()

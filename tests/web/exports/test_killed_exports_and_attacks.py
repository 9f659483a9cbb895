"""kill -9 in a running export and a running attack: nothing half is seen; begun again, or discarded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from killed_steps import Steps

BEGIN = """
import datetime as dt, time
from export_study import make_export, make_study, open_to
from pydplib.web import jobs
from pydplib.web.attacks import runs as attacking
from pydplib.web.attacks.models import AttackRun
from pydplib.web.attacks.launch import start_run
from pydplib.web.auditlog import log
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.exports import releases, runs as running, files as storing
from pydplib.web.exports.models import Download, Export
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.models import Project, project_key
import pyarrow.parquet
jobs.STALE = dt.timedelta(0)
running.BACKGROUND = attacking.BACKGROUND = False
"""

SET_UP = """
hospital = Hospital.objects.get_or_create(name="St. Example")[0]
owner = User.objects.create_user("olivia-" + project_key("x"), hospital=hospital, is_hospital_owner=True)
project = make_study(owner, rows=80)
print(json.dumps(project.key))
"""

MAKE = """
project = Project.objects.get(key=sys.argv[1])
owner = project.members.get(role="owner").user
export = make_export(project, owner, models=({"model": "KAnonymity", "k": 3},))
"""

STATE = """
export = Export.objects.get(project__key=sys.argv[1])
print(json.dumps({
    "state": export.state, "file": bool(export.file), "stalled": running.is_stalled(export),
    "made": Line.objects.filter(project=sys.argv[1], action="export.make").count(), "chain": bool(verify()),
}))
"""

TIDY = """
storing._FRESH = -1
storing.remove_stray_files()
key = Export.objects.get(project__key=sys.argv[1]).key
mine = sorted(path.suffix for path in storing.folder().iterdir() if path.name.startswith(key))
print(json.dumps(mine))
"""

POINTS = {
    "while it searches": "running.anonymize = die",
    "before the files": "storing.write = die",
    "between the files and the numbers": "running.to_numbers = die",
    "inside the last transaction": "log.append = die",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steps]:
    """A home with empty tables (on PostgreSQL the tables are in the server); every test makes its own project."""
    steps = Steps(tmp_path_factory.mktemp("home"), BEGIN)
    yield steps
    steps.close()


@pytest.mark.parametrize("point", POINTS)
def test_export_killed_is_unseen_and_can_be_begun_again(run: Steps, point: str) -> None:
    args = (run(SET_UP),)
    run(POINTS[point], MAKE, args=args, killed=True)
    after = run(STATE, args=args)
    assert after == {"state": "running", "file": False, "stalled": True, "made": 0, "chain": True}
    run("running.start(Export.objects.get(project__key=sys.argv[1]))", args=args)
    assert run(STATE, args=args) == {"state": "ready", "file": True, "stalled": False, "made": 1, "chain": True}
    assert run(TIDY, args=args) == [".csv", ".parquet", ".trace"]  # those of the killed run are gone


def test_export_killed_can_be_discarded_without_a_trace(run: Steps) -> None:
    args = (run(SET_UP),)
    run(POINTS["between the files and the numbers"], MAKE, args=args, killed=True)
    run("running.discard(Export.objects.get(project__key=sys.argv[1]), actor='system')", args=args)
    assert run(STATE, args=args)["state"] == "discarded" and run(TIDY, args=args) == []


def test_worker_that_was_taken_for_gone_cannot_overwrite_the_next(run: Steps) -> None:
    """The first worker sleeps too long; a second one takes over and finishes; the first one's result is dropped."""
    args = (run(SET_UP),)
    late = """
real = running.anonymize
def slow(*args, **more):
    running.anonymize = real
    running.make(Export.objects.get(project__key=sys.argv[1]))
    return real(*args, **more)
running.anonymize = slow
"""
    run(late, MAKE, args=args)
    assert run(STATE, args=args) == {"state": "ready", "file": True, "stalled": False, "made": 1, "chain": True}
    assert run(TIDY, args=args) == [".csv", ".parquet", ".trace"]


def test_export_in_the_background_gives_signs_of_life(run: Steps) -> None:
    args = (run(SET_UP),)
    watched = """
running.BACKGROUND, jobs.STALE, jobs.BEAT = True, dt.timedelta(seconds=90), 0.05
import threading
real, enough = running.anonymize, threading.Event()
def slow(*args, **more):
    enough.wait(120)
    return real(*args, **more)
running.anonymize = slow
"""
    wait = """
seen = set()
for _ in range(6000):
    export.refresh_from_db()
    seen.add(export.heartbeat)
    if len(seen) > 4:
        enough.set()
    if export.state == "ready" or export.problem:
        break
    time.sleep(0.02)
print(json.dumps([export.state, export.problem, export.worker, len(seen) > 4]))
"""
    assert run(watched, MAKE, wait, args=args) == ["ready", "", "", True]


def test_foreign_fault_says_nothing_about_data(run: Steps) -> None:
    args = (run(SET_UP),)
    planted = """
def fail(*args, **more):
    raise ValueError("ZZCANARY-7731")
running.anonymize = fail
"""
    run(planted, MAKE, args=args)
    said = run("print(json.dumps(Export.objects.get(project__key=sys.argv[1]).problem))", args=args)
    assert "our side" in said and "CANARY" not in said
    assert run(STATE, args=args)["stalled"]


def test_attack_killed_goes_on_where_it_stopped(run: Steps) -> None:
    args = (run(SET_UP),)
    given = """
open_to(project, "third_party")
releases.release(owner, export, ["third_party"])
acme = Hospital.objects.create(name="Acme " + project.key)
tara = User.objects.create_user("tara-" + project.key, hospital=acme)
project.members.create(user=tara, role="third_party")
Download.objects.create(export=export, user=tara, recipient=acme.key, role="third_party", kind="csv")
"""
    start = 'start_run(owner, project, subject=acme.key, data="twin", minutes=1)'
    run(MAKE, given, "attacking.linkage.attack_export = die", start, args=args, killed=True)
    state = """
made = AttackRun.objects.get(project__key=sys.argv[1])
print(json.dumps([made.state, attacking.is_stalled(made), len(made.result.get("simulated", [])),
    len(made.result.get("tables", []))]))
"""
    assert run(state, args=args) == ["running", True, 3, 0]
    go_on = """
def fail(*args, **more):
    raise AssertionError("done before the kill")
attacking.simulations.simulate = fail
attacking.start(AttackRun.objects.get(project__key=sys.argv[1]))
"""
    run(go_on, args=args)
    assert run(state, args=args) == ["done", False, 3, 1]


def test_backup_takes_tables_and_their_traces_along(run: Steps) -> None:
    args = (run(SET_UP),)
    saved = """
import pathlib, tempfile
from django.conf import settings
from pydplib.web.backups.restore import unpacked
from pydplib.web.backups.backup import save
path = pathlib.Path(tempfile.mkdtemp()) / "all.backup"
(storing.folder() / "note.txt").write_text("not ours")
save(settings.CONFIGURATION, path, passphrase=None)
with unpacked(path, path.parent / "home", None) as (work, about):
    found = {each.name: each.read_bytes() for each in (work / "exports").iterdir()}
export.refresh_from_db()
mine = {f"{export.file}.{kind}" for kind in ("csv", "parquet", "trace")}
same = all(found[name] == (storing.folder() / name).read_bytes() for name in mine)
print(json.dumps([same, "note.txt" in found, (work / "keys").exists()]))
"""
    assert run(MAKE, saved, args=args) == [True, False, False]

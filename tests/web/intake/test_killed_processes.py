"""kill -9 at named points of an import and of an erasure: no half record, nothing lost, the log's chain whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from killed_steps import Steps

ROWS = 200

BEGIN = """
import datetime as dt
from pydplib.capture import builtin
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web import jobs
from pydplib.web.intake import snapshots
from pydplib.web.intake.imports import acceptance, dry_run, records
from pydplib.web.intake.rights import erasure
from pydplib.web import uploads
from pydplib.web.intake.models import ImportBatch, Snapshot
from pydplib.web.patients.models import Identifier, Patient
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.models import Project, project_key
from pydplib.web.reporting.models import Report, ReportVersion, TemplateVersion
acceptance.CHUNK = 50
jobs.STALE = dt.timedelta(0)

def die_at(number, function):
    calls = []
    def wrapped(*args, **more):
        calls.append(1)
        if len(calls) == number:
            die()
        return function(*args, **more)
    return wrapped
"""

SET_UP = """
hospital = Hospital.objects.get_or_create(name="St. Example")[0]
ada = User.objects.create_user("ada-" + project_key("x"), hospital=hospital)
project = Project.objects.create(key=project_key("pirads"), hospital=hospital, name="P", purpose="p",
    legal_basis="l", retention_until=dt.date(2040, 1, 1))
version = TemplateVersion.objects.create(project=project, number=1, made_by="t",
    definition=builtin("pirads-paper").to_json())
def row(i):
    return {"patient_id": f"P{i}", "last_modified": f"2018-01-{1 + i % 28:02d}", "age": 50 + i % 40, "year": 2018,
            "pca_no_pirads": False, "pirads": 1 + i % 5}
"""

SET_UP_IMPORT = (
    SET_UP
    + f"""
rows = [row(i) for i in range({ROWS})]
rows[7]["age"] = 999
batch = ImportBatch.objects.create(project=project, template=version, by=ada, format="csv", rows={ROWS},
    columns=list(rows[0]), mapping=list(rows[0]))
with uploads.path_of(batch.key).open("w") as out:
    for each in [dict.fromkeys(rows[0]), *rows]:
        out.write(",".join(str(each[name] if each[name] is not None else name) for name in rows[0]) + "\\n")
dry_run.check_rows(batch)
print(json.dumps([batch.key, project.key]))
"""
)

STATE = """
batch = ImportBatch.objects.get(key=sys.argv[1])
mine = Report.all_objects.filter(project=batch.project)
batch.project.refresh_from_db()
print(json.dumps({
    "state": batch.state,
    "seen": Report.objects.filter(project=batch.project).count(),
    "staged": mine.filter(state="staged").count(),
    "versions": ReportVersion.objects.filter(report__project=batch.project).count(),
    "patients": Patient.objects.filter(project=batch.project).count(),
    "people": mine.values("patient").distinct().count(),
    "data_version": batch.project.data_version,
    "accepted": Line.objects.filter(project=batch.project.key, action="import.accept").count(),
    "file": uploads.path_of(batch.key).exists(),
    "chain": bool(verify()),
}))
"""

KILL_IMPORT = {
    "before the first write": "acceptance.write_reports = die",
    # Each chunk inserts reports, then their versions.
    "between reports and their versions": "records.insert_many = die_at(4, records.insert_many)",
    "before the commit of a chunk": """
write = acceptance.write_reports
def written(*args, **more):
    write(*args, **more)
    die()
acceptance.write_reports = written""",
    "after the commit of a chunk": "acceptance._ready = die_at(3, acceptance._ready)",
    "before the last transaction": "acceptance._show = die",
    "inside the last transaction": "acceptance.new_data_version = die",
    "after the last transaction": "uploads.remove = die",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steps]:
    """A home with empty tables (on PostgreSQL the tables are in the server); every test makes its own project."""
    steps = Steps(tmp_path_factory.mktemp("home"), BEGIN)
    yield steps
    steps.close()


@pytest.mark.parametrize("point", KILL_IMPORT)
def test_import_killed_is_whole_or_unseen_and_can_be_resumed(run: Steps, point: str) -> None:
    key, _ = run(SET_UP_IMPORT)
    run(
        KILL_IMPORT[point],
        "acceptance.accept_batch(ImportBatch.objects.get(key=sys.argv[1]))",
        args=(key,),
        killed=True,
    )
    after = run(STATE, args=(key,))
    assert after["chain"]
    if point == "after the last transaction":
        assert (after["seen"], after["state"], after["data_version"]) == (ROWS - 1, "accepted", 1)
        run("uploads.KEPT = dt.timedelta(0)", "uploads.remove_old()")
    else:
        assert (after["seen"], after["state"], after["data_version"], after["accepted"]) == (0, "accepting", 0, 0)
        assert after["staged"] == after["versions"]
        run("acceptance.accept_batch(ImportBatch.objects.get(key=sys.argv[1]))", args=(key,))
    end = run(STATE, args=(key,))
    assert end == {
        "state": "accepted", "seen": ROWS - 1, "staged": 0, "versions": ROWS - 1, "patients": ROWS - 1,
        "people": ROWS - 1, "data_version": 1, "accepted": 1, "file": False, "chain": True,
    }  # fmt: skip


@pytest.mark.parametrize("point", ["after the commit of a chunk", "inside the last transaction"])
def test_import_killed_can_be_discarded_without_a_trace(run: Steps, point: str) -> None:
    key, _ = run(SET_UP_IMPORT)
    run(
        KILL_IMPORT[point],
        "acceptance.accept_batch(ImportBatch.objects.get(key=sys.argv[1]))",
        args=(key,),
        killed=True,
    )
    # Discarding is killed too, and taken up again.
    run(
        "acceptance._unused = die_at(2, acceptance._unused)",
        "acceptance.discard_batch(ImportBatch.objects.get(key=sys.argv[1]))",
        args=(key,),
        killed=True,
    )
    run("acceptance.discard_batch(ImportBatch.objects.get(key=sys.argv[1]))", args=(key,))
    assert run(STATE, args=(key,)) == {
        "state": "discarded", "seen": 0, "staged": 0, "versions": 0, "patients": 0,
        "people": 0, "data_version": 0, "accepted": 0, "file": False, "chain": True,
    }  # fmt: skip


@pytest.mark.parametrize("point", ["inside the first transaction", "between two chunks"])
def test_taking_an_import_back_is_not_begun_or_can_be_finished(run: Steps, point: str) -> None:
    key, _ = run(SET_UP_IMPORT)
    run("acceptance.accept_batch(ImportBatch.objects.get(key=sys.argv[1]))", args=(key,))
    kills = {
        "inside the first transaction": "acceptance.new_data_version = die",
        "between two chunks": "acceptance._unused = die_at(2, acceptance._unused)",
    }
    undo = """
batch = ImportBatch.objects.get(key=sys.argv[1])
acceptance.discard_batch(batch, acceptance.claim_undo(batch, actor=batch.by))"""
    run(kills[point], undo, args=(key,), killed=True)
    after = run(STATE, args=(key,))
    if point == "inside the first transaction":
        assert (after["state"], after["seen"], after["staged"]) == ("accepted", ROWS - 1, 0)
        run(undo, args=(key,))
    else:
        assert (after["state"], after["seen"]) == ("discarding", 0), "nobody sees a part of it"
        run("acceptance.discard_batch(ImportBatch.objects.get(key=sys.argv[1]))", args=(key,))
    end = run(STATE, args=(key,))
    assert (end["state"], end["seen"], end["staged"], end["versions"], end["patients"]) == ("discarded", 0, 0, 0, 0)
    assert end["chain"] and end["data_version"] == 2


SET_UP_ERASURE = (
    SET_UP
    + """
records.accept_rows(project, version, [row(i % 30) | {"last_modified": f"2018-0{1 + i // 30}-01"} for i in range(60)],
    actor=ada)
snapshots.publish(snapshots.make_snapshot(project, actor=ada), actor=ada)
patient = erasure.look_up(project, "P3")
print(json.dumps([project.key, patient.key, patient.pseudonym]))
"""
)

ERASURE_STATE = """
import duckdb
project = Project.objects.get(key=sys.argv[1])
current = snapshots.published_snapshot(project)
files = {path.name: [row[0] for row in duckdb.execute(
    "SELECT count(*) FROM read_parquet(?) WHERE patient_id = ?", [str(path), sys.argv[3]]).fetchall()][0]
    for path in snapshots.folder().iterdir()}
known = set(Snapshot.objects.exclude(file="").values_list("file", flat=True))
print(json.dumps({
    "patient": Patient.objects.filter(key=sys.argv[2]).exists(),
    "identifier": Identifier.objects.filter(patient__project=project, value="P3").exists(),
    "reports": Report.objects.filter(project=project).count(),
    "in_published": files[current.file],
    "stray": sorted(count for name, count in files.items() if name not in known),
    "lines": Line.objects.filter(project=project.key, action="patient.erase").count(),
    "data_version": project.data_version,
    "chain": bool(verify()),
}))
"""


@pytest.mark.parametrize(
    ("point", "patch", "is_erased"),
    [
        ("before the first write", "erasure.forget = die", False),
        ("between the new snapshot and the deletion", "Patient.delete = die", False),
        ("inside the transaction, after all writes", "erasure.new_data_version = die", False),
        ("before the old files are deleted", "import pathlib; pathlib.Path.unlink = die", True),
    ],
)
def test_erasure_killed_is_whole_or_not_at_all(run: Steps, point: str, patch: str, is_erased: bool) -> None:
    args = tuple(run(SET_UP_ERASURE))
    erase = "erasure.erase(Patient.objects.get(key=sys.argv[2]), actor='system')"
    run(patch, erase, args=args, killed=True)
    after = run(ERASURE_STATE, args=args)
    assert after["chain"]
    if is_erased:
        assert (after["patient"], after["identifier"], after["reports"], after["lines"]) == (False, False, 58, 1)
        assert after["in_published"] == 0 and after["data_version"] == 2
        assert after["stray"] == [2]  # the old file still holds the person: no snapshot names it, and it goes
    else:
        assert (after["patient"], after["identifier"], after["reports"], after["lines"]) == (True, True, 60, 0)
        assert after["in_published"] == 2 and after["data_version"] == 1
        run(erase, args=args)
    run("snapshots._FRESH = -1", "snapshots.remove_stray_files()")
    end = run(ERASURE_STATE, args=args)
    assert end == {
        "patient": False, "identifier": False, "reports": 58, "in_published": 0, "stray": [], "lines": 1,
        "data_version": 2, "chain": True,
    }  # fmt: skip


SET_UP_BIG = (
    SET_UP
    + """
import resource
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def big(count):
    names = [*row(0), "physician_name"]
    batch = ImportBatch.objects.create(project=project, template=version, by=ada, format="csv", rows=count,
        columns=names, mapping=names)
    with uploads.path_of(batch.key).open("w") as out:
        out.write(",".join(names) + "\\n")
        for i in range(count):
            each = row(i) | {"patient_id": f"{batch.key} {i}", "physician_name": "x" * 150}
            out.write(",".join(str(each[name]) for name in names) + "\\n")
    return batch
"""
)


def grown(run: Steps, step: str, few: int, many: int, planted: str = "") -> float:
    """Return how many MB more the larger import needs."""
    work = """
def accept(batch):
    ImportBatch.objects.filter(pk=batch.pk).update(state="checked")
    acceptance.accept_batch(batch)
def at(count):
    STEP(big(count))
    return peak()
print(json.dumps([at(FEW), at(MANY)]))
"""
    for word, value in (("STEP", step), ("FEW", few), ("MANY", many)):
        work = work.replace(word, str(value))
    small, large = run(SET_UP_BIG, planted, work)
    return float(large - small)


@pytest.mark.parametrize(("step", "few", "many"), [("dry_run.check_rows", 1000, 15000), ("accept", 500, 4000)])
def test_memory_of_an_import_does_not_grow_with_its_rows(run: Steps, step: str, few: int, many: int) -> None:
    assert grown(run, step, few, many) < 15


def test_memory_test_notices_rows_that_are_held(run: Steps) -> None:
    assert grown(run, "dry_run.check_rows", 1000, 15000, "dry_run.CHUNK = 10**9") > 15


IN_THE_BACKGROUND = """
import time
from pydplib.web.intake import jobs as imports
imports.INLINE_ROWS = 0
batch = ImportBatch.objects.get(key=sys.argv[1])
imports.start(acceptance.accept_batch, batch, take=acceptance.claim_accept)
seen = set()
for _ in range(2400):
    batch.refresh_from_db()
    seen.add(batch.done)
    if batch.state == "accepted" or batch.problem:
        break
    time.sleep(0.05)
print(json.dumps([batch.state, batch.problem, batch.worker, len(seen) > 0]))
"""


def test_large_import_runs_in_the_background(run: Steps) -> None:
    key, _ = run(SET_UP_IMPORT)
    assert run(IN_THE_BACKGROUND, args=(key,)) == ["accepted", "", "", True]
    assert run(STATE, args=(key,))["seen"] == ROWS - 1


def test_step_that_fails_says_so_without_quoting_data_and_can_be_resumed(run: Steps) -> None:
    key, _ = run(SET_UP_IMPORT)
    planted = """
import logging
def fail(*args, **more):
    raise ValueError("ZZCANARY-7731")
acceptance._show = fail
"""
    state, problem, worker, _ = run(planted, IN_THE_BACKGROUND, args=(key,))
    assert (state, worker) == ("accepting", "") and "our side" in problem and "CANARY" not in problem
    assert run(STATE, args=(key,))["seen"] == 0
    run("acceptance.accept_batch(ImportBatch.objects.get(key=sys.argv[1]))", args=(key,))
    assert run(STATE, args=(key,))["seen"] == ROWS - 1

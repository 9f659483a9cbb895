"""kill -9 at random points of imports, snapshots, questions, exports and backups: nothing lost, nothing left behind."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from killed_steps import Steps

KILLS = 40
SEED = 20261116
ROWS = 12

BEGIN = """
import datetime as dt, os, time
from pathlib import Path
import pydplib as dp
from django.db.backends.utils import CursorWrapper
from export_study import make_export, make_study
from study_world import make_partner
from pydplib.web import jobs, upkeep
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.payments.purchases import ask, release_of
from pydplib.web.analyses.models import Analysis
from pydplib.web.auditlog.verification import verify
from pydplib.web import leftovers
from pydplib.web.backups import backup
from pydplib.web.configuration import Configuration
from pydplib.web.projects.models import Member
from pydplib.web.exports import runs, files
from pydplib.web.exports.models import Export
from pydplib.web.intake import snapshots
from pydplib.web.intake.imports import acceptance, blocks, dry_run
from pydplib.web import uploads
from pydplib.web.intake import jobs as intake_jobs
from pydplib.web.intake.models import ImportBatch, Snapshot, SnapshotJob
from pydplib.web.ledger import models as ledger_rows
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report
jobs.STALE = dt.timedelta(0)
acceptance.CHUNK = blocks.CHUNK = 5
runs.BACKGROUND = False
COLUMNS = ["patient_id", "last_modified", "age", "year", "pca_no_pirads", "pirads"]
ROWS = HOW_MANY

def count_steps(end):
    "Count what touches the disk or the database, and call `end` at each."
    seen = [0]
    def counted(function):
        def wrapped(*args, **more):
            seen[0] += 1
            end(seen[0])
            return function(*args, **more)
        return wrapped
    CursorWrapper.execute = counted(CursorWrapper.execute)
    CursorWrapper.executemany = counted(CursorWrapper.executemany)
    for name in ("open", "replace", "rename", "link", "fsync", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    return seen

def project_and_owner():
    project = Project.objects.get()
    return project, project.members.get(role="owner").user

def act(kind, number):
    project, owner = project_and_owner()
    if kind == "import":
        key = f"{number:016x}"
        lines = [",".join(COLUMNS)] + [
            f"N{number}-{i},2018-01-{1 + i:02d},{50 + i},2018,no,{1 + i % 5}" for i in range(ROWS)]
        with uploads.private(uploads.path_of(key)) as out:
            out.write(("\\n".join(lines) + "\\n").encode())
        batch = ImportBatch.objects.create(key=key, project=project, template=project.templates.get(number=1),
            by=owner, format="csv", rows=ROWS, columns=COLUMNS, mapping=COLUMNS)
        dry_run.check_rows(batch)
        acceptance.accept_batch(ImportBatch.objects.get(pk=batch.pk))
    elif kind == "publish":
        intake_jobs.start_snapshot(project, owner, publishes=True)
    elif kind == "ask":
        tara = User.objects.get(username="tara")
        partner, accuracy = Member.as_role("third_party"), Accuracy(epsilon=0.001 + number / 10_000)
        ask(project, tara, partner, dp.Count(by="pirads"), accuracy)
    elif kind == "export":
        make_export(project, owner, models=({"model": "KAnonymity", "k": 3},))
    else:
        backup.save(Configuration.from_environment(), Path(sys.argv[3]) / f"b{number}", passphrase=None)
""".replace("HOW_MANY", str(ROWS))

SET_UP = """
hospital = Hospital.objects.get_or_create(name="St. Example")[0]
owner = User.objects.create_user("olivia", hospital=hospital, is_hospital_owner=True)
project = make_study(owner, rows=60)
project.rules.filter(audience="third_party").update(budget=9.0)
project.data_set_budget = 50
project.save()
make_partner(project, "tara")
print(json.dumps(Report.objects.count()))
"""

MEASURE = """
seen = count_steps(lambda number: None)
act(sys.argv[1], int(sys.argv[2]))
print(json.dumps(seen[0]))
"""

KILL = """
count_steps(lambda number: die() if number == int(sys.argv[4]) else None)
act(sys.argv[1], int(sys.argv[2]))
"""

RECOVER = """
jobs.end_claims()
project, owner = project_and_owner()
kind, number = sys.argv[1], int(sys.argv[2])
before = {"reports": Report.objects.count()}
for batch in ImportBatch.objects.exclude(state__in=ImportBatch.ENDED):
    if batch.state in ("uploaded", "checking"):
        dry_run.check_rows(batch)
    acceptance.accept_batch(ImportBatch.objects.get(pk=batch.pk))
if kind == "import" and not ImportBatch.objects.filter(key=f"{number:016x}").exists():
    uploads.remove(f"{number:016x}")
    act(kind, number)
if kind == "ask":
    act(kind, number)
    epsilon = 0.001 + number / 10_000
    tara = User.objects.get(username="tara")
    mine = [a for a in Analysis.objects.filter(recipient=tara.hospital.key)
            if abs(release_of(a).cost.epsilon - epsilon) < 1e-9]
    digests = {a.digest for a in mine}
    paid = ledger_rows.Payment.objects.filter(release__digest__in=digests, recipient=tara.hospital.key).count()
    assert len(mine) == 1 and paid == 1, ("asked twice", len(mine), paid)
for export in Export.objects.filter(state__in=("draft", "running")):
    runs.make(export)
if kind == "publish" and SnapshotJob.objects.first().state != "done":
    act(kind, number)
if kind == "backup" and not (Path(sys.argv[3]) / f"b{number}").exists():
    act(kind, number)
snapshots._FRESH = files._FRESH = -1
uploads.KEPT = dt.timedelta(0)
upkeep.tidy()
DatabaseLedger().verify()
home = Configuration.from_environment().home
known = set(Snapshot.objects.exclude(file="").values_list("file", flat=True))
stems = set(Export.objects.exclude(file="").values_list("file", flat=True))
left = [path.name for path in (home / "snapshots").iterdir() if path.name not in known]
left += [path.name for path in (home / "exports").iterdir() if path.stem not in stems] if stems else []
left += [path.name for path in (home / "uploads").iterdir()]
left += [path.name for path in home.iterdir() if path.name.startswith(".backup-")]
left += [path.name for path in Path(sys.argv[3]).iterdir() if path.name.startswith(".")]
missing = [name for name in known if not (home / "snapshots" / name).is_file()]
print(json.dumps({
    "chain": bool(verify()), "left": left, "missing": missing, "before": before["reports"],
    "reports": Report.objects.count(), "staged": Report.all_objects.filter(state="staged").count(),
    "open": ImportBatch.objects.exclude(state__in=ImportBatch.ENDED).count(),
    "unmade": Export.objects.exclude(state__in=("ready",)).count(),
}))
"""

KINDS = ("import", "publish", "ask", "export", "backup")


@pytest.mark.slow
def test_kills_at_forty_random_points_lose_nothing_and_leave_nothing_behind(tmp_path: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "kept"
    target.mkdir()
    run, choose = Steps(home, BEGIN), random.Random(SEED)
    try:
        reports: int = run(SET_UP)
        lengths: dict[str, int] = {}
        for number, kind in enumerate(KINDS * 2):  # the first time some take more steps: keys are made
            lengths[kind] = run(MEASURE, args=(kind, str(number), str(target)))
            reports += ROWS if kind == "import" else 0
        points: list[Any] = []
        for number in range(100, 100 + KILLS):
            kind = KINDS[number % len(KINDS)]
            point = choose.randrange(1, lengths[kind] + 1)
            points.append((kind, point))
            run(KILL, args=(kind, str(number), str(target), str(point)), killed=True)
            state = run(RECOVER, args=(kind, str(number), str(target)))
            assert (state["before"] - reports) % ROWS == 0, "an import is taken in whole or not at all"
            reports += ROWS if kind == "import" else 0
            assert state["chain"] and state["reports"] == reports, (points[-1], state)
            assert (state["left"], state["missing"], state["staged"], state["open"]) == ([], [], 0, 0), (
                points[-1], state,
            )  # fmt: skip
            assert state["unmade"] == 0, (points[-1], state)
        assert len(points) == KILLS and len(set(points)) > KILLS // 2
    finally:
        run.close()

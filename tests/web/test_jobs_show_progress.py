"""However late a worker begins, the page right after the click shows progress; a worker that died is reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking_server import seed
from web_home import WebHome, make_web_home

PRESS = """
import json, re, sys, threading, time
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import setup_test_environment
from django.conf import settings
setup_test_environment()
from pydplib.schema import Schema
from pydplib.web import jobs
from pydplib.web.attacks.models import AttackRun
from pydplib.web.exports.models import Export
from pydplib.web.exports.plans import propose
from pydplib.web.intake import jobs as intake_jobs
from pydplib.web.intake.models import ImportBatch, Snapshot, SnapshotJob
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project
intake_jobs.INLINE_ROWS = 0
gate, real, begun = threading.Event(), jobs._run, []

def late(step, model, *rest):
    gate.wait()
    if model in (ImportBatch, SnapshotJob):  # the others take long, and have been looked at by then
        real(step, model, *rest)
    else:
        begun.append(model.__name__)
jobs._run = late

owner, project = User.objects.get(username="olivia"), Project.objects.get()
client = Client()
client.cookies[settings.SESSION_COOKIE_NAME] = sys.argv[1]
HEAD = "patient_id;age;year;pca_no_pirads;pirads;last_modified;prostatitis\\n"
shown = []

def press(kind, address, fields=None, ended=None):
    gate.clear()
    answer = client.post(address, fields or {}, follow=True)
    assert answer.status_code == 200, (kind, answer.status_code)
    page = answer.content.decode()
    bar = re.search(r"<progress [^>]*>", page)
    value = re.search(r'value="([0-9]+)"', bar[0]) if bar else None
    polls = 'hx-trigger="every 2s"' in page
    shown.append([kind, bool(bar) and polls and (value is None or value[1] == "0")])
    gate.set()
    for _ in range(6000):
        if ended is None or ended():
            return answer
        time.sleep(0.02)
    raise SystemExit(kind + " did not end")

def upload(number):
    rows = "".join(f"P{number}-{i};6{i};2018;no;3;2018-01-0{i + 1};n\\n" for i in range(5))
    file = SimpleUploadedFile("r.csv", (HEAD + rows).encode())
    answer = client.post(f"/import?project={project.key}", {"file": file})
    batch = ImportBatch.objects.get(key=answer.url.rsplit("/", 1)[-1])
    mapped = {f"column{place}": name for place, name in enumerate(batch.mapping)}
    press("dry run", f"/import/{batch.key}/mapping", mapped, is_in(batch, "checked"))
    return batch

def is_in(row, state):
    return lambda: type(row).objects.get(pk=row.pk).state == state

def no_snapshot_job():
    return not SnapshotJob.objects.exclude(state="done").exists()

for turn in range(int(sys.argv[2])):
    batch = upload(2 * turn)
    press("accept", f"/import/{batch.key}/accept", ended=is_in(batch, "accepted"))
    batch = upload(2 * turn + 1)
    press("discard", f"/import/{batch.key}/discard", ended=is_in(batch, "discarded"))
    press("snapshot", f"/snapshots?project={project.key}", ended=no_snapshot_job)
    newest = Snapshot.objects.order_by("-number").first()
    press("publish", f"/snapshots/{newest.key}/publish", {"size": "private"}, no_snapshot_job)
    pinned = Snapshot.objects.get(pk=newest.pk)
    export = Export.objects.create(project=project, snapshot=pinned, by=owner, title="T",
        plan=propose(Schema.from_json(pinned.schema)).to_dict())
    press("export", f"/anonymize/{export.key}/run")
    Export.objects.filter(pk=export.pk).update(state="discarded", worker="")
    fields = {"subject": "audience:third_party", "data": "twin", "minutes": "1"}
    press("attack", f"/attacks/start?project={project.key}", fields)
    run = AttackRun.objects.latest("id")
    answered = "stalled" if jobs.is_stalled(run, ("waiting", "running")) else run.state
    shown.append(["attack's state", answered == "running"])
    AttackRun.objects.filter(pk=run.pk).update(state="done", worker="")
connection.close()
print(json.dumps(shown))
"""

TURNS = 7


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WebHome]:
    with make_web_home(tmp_path / "home") as made:
        yield made


def test_page_after_the_click_shows_progress_when_the_worker_is_late(home: WebHome) -> None:
    found = seed(home, budget=2.0, data_set=20)
    done = home.python(PRESS, found["sessions"]["olivia"], str(TURNS))
    assert done.returncode == 0, done.stderr[-3000:]
    shown: list[Any] = json.loads(done.stdout.splitlines()[-1])
    assert len(shown) >= 50 and {kind for kind, _ in shown} >= {
        "dry run", "accept", "discard", "snapshot", "publish", "export", "attack",
    }  # fmt: skip
    assert [kind for kind, progress in shown if not progress] == []


DIED = """
import json, os, signal, sys, threading
sys.path.insert(0, sys.argv[1])
from pydplib.web import jobs
from pydplib.web.intake import jobs as intake_jobs
from pydplib.web.intake.imports import dry_run
from pydplib.web import uploads
from pydplib.web.intake.models import ImportBatch
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project
project = Project.objects.get()
columns = ["patient_id", "age"]
batch = ImportBatch.objects.create(project=project, template=project.templates.get(number=1), format="csv",
    by=User.objects.get(username="olivia"), rows=9999, columns=columns, mapping=columns)
threading.Thread.start = lambda self: os.kill(os.getpid(), signal.SIGKILL)
intake_jobs.start(dry_run.check_rows, batch, take=dry_run.claim_check)
"""

LOOK = """
import json
from pydplib.web import jobs
from pydplib.web.intake import jobs as intake_jobs
from pydplib.web.intake.models import ImportBatch
batch = ImportBatch.objects.get()
before = [batch.state, intake_jobs.is_stalled(batch)]
ended = jobs.end_claims()
batch.refresh_from_db()
print(json.dumps([*before, ended, intake_jobs.is_stalled(batch)]))
"""


def test_process_that_died_before_its_worker_began_is_reported_at_the_next_start(home: WebHome) -> None:
    seed(home, budget=2.0, data_set=20)
    done = home.python(DIED, str(Path(__file__).parent))
    assert done.returncode == -9, done.stderr[-2000:]
    looked = home.python(LOOK)
    assert json.loads(looked.stdout.splitlines()[-1]) == ["checking", False, 1, True], looked.stderr[-2000:]

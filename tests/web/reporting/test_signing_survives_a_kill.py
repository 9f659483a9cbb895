"""kill -9 before, between and after each write of a signature, a correction and a label: whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from web_home import make_web_home

# Each child kills itself when it reaches the point; the parent then looks at what the database has.
SCRIPT = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[1])
from django.db import connection, connections
from report_forms import COMPLETE
from reporting_world import make_world
from pydplib.web.auditlog import log as writing
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.reporting import signatures
from pydplib.web.reporting.labels import queue
from pydplib.web.reporting.forms.drafts import correction_of, save_draft, start_report
from pydplib.web.reporting.labels.free_texts import NewText
from pydplib.web.reporting.models import Correction, FreeText, Reading, Report, ReportVersion
from pydplib.web.projects.models import Member

world = make_world()
project, rita, olga = world["project"], world["rita0"], world["olga"]

def die(*_args, **_more):
    os.kill(os.getpid(), signal.SIGKILL)

def at(point):
    '''Kill this process at the n-th statement of the change, before or after it; or after the commit.'''
    if point == "after the commit":
        return die
    when, number = point.split()
    seen = [0]
    def watch(execute, sql, params, many, context):
        if not sql.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE")):
            return execute(sql, params, many, context)
        seen[0] += 1
        if when == "before" and seen[0] == int(number):
            die()
        result = execute(sql, params, many, context)
        if when == "after" and seen[0] == int(number):
            die()
        return result
    connection.execute_wrappers.append(watch)
    return lambda: None

def count_statements(work):
    seen = [0]
    def watch(execute, sql, params, many, context):
        seen[0] += sql.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE"))
        return execute(sql, params, many, context)
    with connection.execute_wrapper(watch):
        work()
    return seen[0]

def draft():
    report = start_report(project, identifier="A 17", author=rita, department="radiology")
    save_draft(report, dict(COMPLETE), revision=0, by=rita)
    return report

def signed():
    report = draft()
    signatures.sign_report(report, revision=1, user=rita)
    report.refresh_from_db()
    return report

def corrected():
    report = signed()
    correction = correction_of(report, rita)
    correction.save()
    save_draft(correction, dict(COMPLETE, age=70), revision=0, by=rita, reason="Age")
    return correction

def taken():
    queue.add_texts(project, [NewText("B 2", "No lesion.")], readers=1, actor=olga)
    reading = queue.claim_next(project, rita, Member.as_role("radiologist", department="radiology"))
    save_draft(reading, dict(COMPLETE), revision=0, by=rita)
    return reading

def sign_carelessly(report):
    '''The same writes without their transaction: what this test must notice.'''
    done = signatures.complete(report.template.template, dict(report.answers, patient_id="x"))
    Report.objects.filter(pk=report.pk).update(state="signed", version=1, values=done.values)
    ReportVersion.objects.create(
        report=report, number=1, template=report.template, answers=done.answers, text=done.text, author=rita
    )

JOBS = {
    "carelessly": (draft, sign_carelessly),
    "sign": (draft, lambda report: signatures.sign_report(report, revision=1, user=rita)),
    "correct": (corrected, lambda c: signatures.correct_report(c, revision=1, reason="Age", user=rita)),
    "label": (taken, lambda reading: queue.finish_reading(reading, revision=1, user=rita)),
}

def state(job, made):
    project.refresh_from_db()
    lines = list(Line.objects.order_by("-number").values_list("action", flat=True)[:1])
    if job in ("sign", "carelessly"):
        made.refresh_from_db()
        facts = [made.state, made.version, made.versions.count(), bool(made.values), made.answers.get("age")]
    elif job == "correct":
        report = Report.objects.get(pk=made.report_id)
        open_ = Correction.objects.filter(pk=made.pk).count()
        facts = [report.version, report.versions.count(), report.values["age"], open_]
    else:
        made.refresh_from_db()
        text = FreeText.objects.get(pk=made.text_id)
        facts = [made.finished is not None, text.report_id is not None, text.patient.reports.count()]
    return facts + [project.data_version, lines, ReportVersion.objects.count(), Report.objects.count()]

found = {}
job = sys.argv[2]
prepare, work = JOBS[job]
sample = prepare()
total = count_statements(lambda: work(sample))
points = [f"{when} {n}" for n in range(1, total + 1) for when in ("before", "after")] + ["after the commit"]
for point in points:
    made = prepare()
    before = state(job, made)
    connections.close_all()
    child = os.fork()
    if child == 0:
        ending = at(point)
        work(made)
        ending()
        os._exit(7)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    after = state(job, made)
    verdict = verify()
    found[point] = [killed, before, after, verdict.problem]
    if after == before and job != "carelessly":  # the draft is still there: it can be signed now
        work(made)
        assert state(job, made) != before
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with make_web_home(tmp_path_factory.mktemp("kill")) as made:
        yield made


def _killed(home: Any, job: str) -> dict[str, Any]:
    done = home.python(SCRIPT, str(Path(__file__).parents[2] / "support"), job)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def test_half_a_record_would_be_noticed(home: Any) -> None:
    found = _killed(home, "carelessly")
    _, before, after, _ = found["after 1"]
    assert after != before and before[:2] == ["draft", 0] and after[:3] == ["signed", 1, 0]


@pytest.mark.parametrize("job", ["sign", "correct", "label"])
def test_a_kill_at_any_write_leaves_all_or_nothing_and_the_chain_whole(home: Any, job: str) -> None:
    found = _killed(home, job)
    assert len(found) >= 9, "a change writes at least four times: report, version, data version, log"
    for point, (killed, before, after, problem) in found.items():
        assert killed, point
        assert problem is None, point
        if point == "after the commit":
            assert after != before, "what was answered as done is there"
        else:
            assert after == before, f"nothing of the change at '{point}'"

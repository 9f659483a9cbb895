"""Database locked or disk full at any write: nothing half done, debits kept, no answer without one, a generic page."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from study_world import make_partner, make_study

WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE)", re.I)
MOST = 60


class LockedAt:
    """Makes the n-th write of a request fail, as a database does that is locked for too long."""

    def __init__(self, number: int) -> None:
        self.number, self.seen, self.struck = number, 0, False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        from django.db import OperationalError

        if WRITES.match(sql):
            self.seen += 1
            if self.seen == self.number:
                self.struck = True
                raise OperationalError("database is locked (ZZCANARY-7731)")
        return execute(sql, params, many, context)


def strike_each_write(press: Callable[[], Any], check: Callable[[], None]) -> Any:
    """Press a button again and again, each time with the next write failing, until nothing is left to fail.

    Returns the last response, in which nothing failed; ``check`` looks at the state after every failure.
    """
    from django.db import connection, transaction

    for number in range(1, MOST):
        fault = LockedAt(number)
        with connection.execute_wrapper(fault):
            response = press()
        # A write outside of any transaction of the page fails alone; here it would end the test's own one.
        transaction.set_rollback(False)
        if not fault.struck:
            assert number > 2, "there were writes to strike"
            return response
        # 400: what was asked for is done and kept, but the session could not be written afterwards.
        assert response.status_code in (400, 409, 500, 503) or response.status_code < 400, response.status_code
        text = response.content.decode()
        assert "ZZCANARY" not in text and "locked" not in text and "OperationalError" not in text
        check()
    raise AssertionError("more writes than a page should need")


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file of this process grow: every write fails as on a full disk, wherever it is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_the_full_disk_of_these_tests_is_one(tmp_path: Path) -> None:
    with full_disk(), pytest.raises(OSError), (tmp_path / "file").open("w") as file:  # noqa: PT012
        file.write("something")
        file.flush()
    (tmp_path / "file").write_text("something")


@pytest.fixture
def study(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_user: Any, sign_in: Any) -> Any:
    """A published study of thirty reports, its owner and a partner, signed in."""
    from django.conf import settings

    from pydplib.web import uploads

    monkeypatch.setattr(settings, "CONFIGURATION", replace(settings.CONFIGURATION, home=tmp_path))
    (tmp_path / "uploads").mkdir()
    monkeypatch.setattr(uploads, "folder", lambda: tmp_path / "uploads")
    user = make_user("olivia", is_hospital_owner=True)
    project = make_study(user, reports=30)
    partner = make_partner(project, "tara")
    owner, tara = sign_in(user), sign_in(partner)
    owner.raise_request_exception = tara.raise_request_exception = False
    return SimpleNamespace(project=project, user=user, partner=partner, owner=owner, tara=tara, home=tmp_path)


def spent(study: Any) -> int:
    """What the partner's organisation has paid, in nano-epsilon."""
    from pydplib.web.ledger.models import Account

    account = Account.objects.filter(lineage=study.project.key, recipient=study.partner.hospital.key).first()
    return 0 if account is None else int(account.nano_epsilon)


def ask(study: Any, *, bins: str = "40, 60, 80") -> Any:
    question = {"kind": "histogram", "field": "age", "bins_age": bins, "accuracy": "epsilon", "epsilon": "0.4"}
    return study.tara.post(
        "/analyses/new", {"project": study.project.key, "agreed": str(10**9), "title": "Ages", **question}
    )


def test_question_with_the_database_locked_at_any_write_is_paid_once_and_answered_once(study: Any) -> None:
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.auditlog.verification import verify
    from pydplib.web.ledger.models import Payment, Release

    seen: list[int] = []

    def check() -> None:
        seen.append(spent(study))
        assert seen[-1] in (0, 400_000_000), "all of it or nothing"
        assert seen == sorted(seen), "a debit is never given back"
        answered = Release.objects.filter(payload__isnull=False).count()
        assert answered == 0 or seen[-1] == 400_000_000, "no answer without a debit"
        assert verify()

    response = strike_each_write(lambda: ask(study), check)
    assert response.status_code == 302
    assert spent(study) == 400_000_000 and {0, 400_000_000} <= set(seen)
    assert Analysis.objects.count() == Payment.objects.count() == 1
    assert Release.objects.get().payload is not None
    assert study.tara.get(response.url).status_code == 200


def test_question_on_a_full_disk_keeps_the_debit_shows_nothing_and_is_free_afterwards(study: Any) -> None:
    assert ask(study, bins="50, 70").status_code == 302, "the budget is open"
    with full_disk():
        response = ask(study)
    assert response.status_code >= 500
    text = response.content.decode()
    assert "js-plotly" not in text and "Errno" not in text
    assert spent(study) == 800_000_000, "the debit was committed before its mark outside the database"
    again = ask(study)
    assert again.status_code == 302 and spent(study) == 800_000_000
    assert study.tara.get(again.url).status_code == 200


def test_synthetic_table_with_the_database_locked_at_any_write_is_paid_once_and_made_once(
    study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datetime as dt

    from pydplib.web import jobs
    from pydplib.web.auditlog.verification import verify
    from pydplib.web.ledger.models import Payment, Release
    from pydplib.web.synthetic import purchases
    from pydplib.web.synthetic.models import SyntheticPurchase

    monkeypatch.setattr(purchases, "BACKGROUND", False)
    monkeypatch.setattr(jobs, "STALE", dt.timedelta(0))  # a worker that failed is gone
    wanted = {"columns": ["age", "pirads"], "relation1_one": "age", "relation1_other": "pirads", "epsilon": "0.4",
              "accuracy": "epsilon", "noise": "laplace"}  # fmt: skip
    seen: list[int] = []

    def press() -> Any:
        return study.tara.post("/synthetic/new", {"project": study.project.key, "agreed": str(4 * 10**8), **wanted})

    def check() -> None:
        seen.append(spent(study))
        assert seen[-1] in (0, 400_000_000), "all of it or nothing"
        assert seen == sorted(seen), "a debit is never given back"
        assert Release.objects.filter(payload__isnull=False).count() == 0 or seen[-1] == 400_000_000
        assert SyntheticPurchase.objects.count() <= 1
        assert all(row.receipt for row in SyntheticPurchase.objects.filter(state="ready"))
        assert verify()

    response = strike_each_write(press, check)
    assert response.status_code == 302
    assert spent(study) == 400_000_000 and {0, 400_000_000} <= set(seen)
    assert Payment.objects.count() == 1 and SyntheticPurchase.objects.get().state == "ready"
    assert study.tara.get(response.url).status_code == 200


def test_snapshot_on_a_full_disk_or_a_locked_database_leaves_neither_row_nor_file(
    study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.web.auditlog.models import Line
    from pydplib.web.auditlog.verification import verify
    from pydplib.web.intake import snapshots
    from pydplib.web.intake.models import Snapshot
    from pydplib.web.intake.snapshots import folder, remove_stray_files

    press = lambda: study.owner.post(f"/snapshots?project={study.project.key}")  # noqa: E731

    def check() -> None:
        assert Snapshot.objects.count() == Line.objects.filter(action="snapshot.make").count()
        assert all((folder() / each.file).is_file() for each in Snapshot.objects.all()) and verify()

    with full_disk():
        press()
    assert "disk is full" in study.owner.get(f"/snapshots?project={study.project.key}").content.decode()
    check()
    assert Snapshot.objects.count() == 1
    response = strike_each_write(press, check)
    assert response.status_code == 302
    monkeypatch.setattr(snapshots, "_FRESH", -1.0)  # what was left by the failures is old by now
    remove_stray_files()
    assert len(list(folder().glob("*.parquet"))) == Snapshot.objects.count() >= 2


def test_upload_on_a_full_disk_leaves_neither_row_nor_file(study: Any) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    from pydplib.web.intake.models import ImportBatch

    rows = (
        "patient_id;age;year;pca_no_pirads;pirads;last_modified;prostatitis\nZZCANARY-7731;64;2018;no;3;2018-01-01;n\n"
    )

    def press() -> Any:
        file = SimpleUploadedFile("reports.csv", rows.encode())
        return study.owner.post(f"/import?project={study.project.key}", {"file": file})

    with full_disk():
        response = press()
    assert response.status_code >= 400 and "ZZCANARY" not in response.content.decode()
    assert not ImportBatch.objects.exists() and list((study.home / "uploads").iterdir()) == []
    assert press().status_code == 302


def test_signing_with_the_database_locked_at_any_write_signs_once_or_not_at_all(study: Any) -> None:
    from pydplib.web.auditlog.models import Line
    from pydplib.web.auditlog.verification import verify
    from pydplib.web.patients.pseudonyms import patient_for
    from pydplib.web.reporting.models import Report, ReportVersion

    report = Report.objects.create(
        project=study.project,
        patient=patient_for(study.project, {"patient_id": "A 17"}),
        template=study.project.templates.get(number=1),
        author=study.user,
    )
    before = ReportVersion.objects.count()
    answers = {"last_modified": "2018-03-01", "age": 64, "year": 2018, "pca_no_pirads": "no", "pirads": 4,
               "prostatitis": "n", "patient_id": "A 17"}  # fmt: skip

    def press() -> Any:
        report.refresh_from_db()
        fields = {"revision": report.revision, "kind": "report", "do": "finish", **answers}
        return study.owner.post(f"/reports/{report.key}/edit", fields)

    def check() -> None:
        report.refresh_from_db()
        signed = report.state == "signed"
        assert ReportVersion.objects.count() - before == signed, "state and signed text together or not at all"
        assert Line.objects.filter(action="report.sign", subject=report.key).count() == signed
        assert verify()

    response = strike_each_write(press, check)
    assert response.status_code in (200, 302)
    check()
    assert report.state == "signed"


def test_a_page_that_writes_without_a_transaction_is_found(study: Any) -> None:
    """The twin: two writes that belong together, each on its own."""
    from django.db import OperationalError
    from django.http import HttpResponse

    def press() -> Any:
        try:
            for number in (1, 2):
                study.project.rules.filter(audience=("owner", "collaborator")[number - 1]).update(purpose="new")
            study.project.rules.update(purpose="*")
        except OperationalError:
            return HttpResponse(status=500)
        return HttpResponse()

    def check() -> None:
        assert study.project.rules.filter(purpose="new").count() != 1, "half of it"

    with pytest.raises(AssertionError, match="half of it"):
        strike_each_write(press, check)

"""Signing and correcting: the server evaluates everything again, and one transaction writes all of it or nothing."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone

from pydplib.capture import Template, evaluate, report_text
from pydplib.errors import DataError
from pydplib.web.auditlog.log import Log, recorded
from pydplib.web.people.models import User
from pydplib.web.projects.changes import new_data_version
from pydplib.web.reporting.forms.answers import Remark, remark_on
from pydplib.web.reporting.forms.drafts import DraftConflict
from pydplib.web.reporting.models import Correction, Report, ReportVersion
from pydplib.web.reporting.report_templates.versions import capturing_template, row_values


class NotReady(DataError):
    """The answers have errors; ``remarks`` lists them, linked to their fields."""

    def __init__(self, remarks: list[Remark]) -> None:
        count = "One answer stops" if len(remarks) == 1 else f"{len(remarks)} answers stop"
        super().__init__(f"{count} this report from being signed.")
        self.remarks = remarks


@dataclass(frozen=True, slots=True, repr=False)
class Complete:
    """A whole report: clean answers, the flat row, the text."""

    answers: dict[str, object]
    values: dict[str, object]
    text: str


def complete(template: Template, answers: object) -> Complete:
    """Evaluate answers as the signed report will have them; whatever the browser computed is ignored.

    Raises:
        NotReady: Something is missing or wrong.
    """
    evaluation = evaluate(template, answers)
    if not evaluation.ok:
        raise NotReady([remark_on(template, problem) for problem in evaluation.errors])
    clean = evaluation.answers
    return Complete(clean, row_values(template, clean), report_text(template, clean))


def sign_report(report: Report, *, revision: int, user: User) -> ReportVersion:
    """Sign a draft as it was saved.

    Args:
        report: The draft.
        revision: The revision that was looked at; another one is not signed by mistake.
        user: Who signs.

    Raises:
        NotReady: Something is missing or wrong.
        DraftConflict: Somebody changed or signed it meanwhile.
    """
    done = complete(capturing_template(report.template), report.answers)
    with recorded(user, project=report.project) as log:
        written = _write_signed(
            Report.objects.filter(pk=report.pk, state=Report.State.DRAFT, revision=revision),
            report,
            done,
            number=1,
            user=user,
            log=log,
        )
    return written


def correct_report(correction: Correction, *, revision: int, reason: str, user: User) -> ReportVersion:
    """Sign a correction: a new version with its reason; the earlier ones stay as they were.

    Raises:
        NotReady: Something is missing or wrong.
        DraftConflict: Another correction was signed first.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise NotReady([Remark("f-reason", "", "Say why the report is corrected.", "error")])
    report = correction.report
    done = complete(capturing_template(report.template), correction.answers)
    with recorded(user, project=report.project) as log:
        gone, _ = Correction.objects.filter(pk=correction.pk, revision=revision).delete()
        if not gone:
            raise DraftConflict("This correction was changed elsewhere since you opened it.")
        written = _write_signed(
            Report.objects.filter(pk=report.pk, state=Report.State.SIGNED, version=correction.base_version),
            report,
            done,
            number=correction.base_version + 1,
            user=user,
            log=log,
            reason=reason[:400],
        )
    return written


def sign_label(report: Report, done: Complete, *, user: User, log: Log, reason: str = "") -> ReportVersion:
    """Sign a report that was made from a free text; must run inside ``recorded``."""
    rows = Report.objects.filter(pk=report.pk, state=Report.State.DRAFT)
    return _write_signed(rows, report, done, number=1, user=user, log=log, reason=reason)


def _write_signed(
    rows: QuerySet[Report], report: Report, done: Complete, *, number: int, user: User, log: Log, reason: str = ""
) -> ReportVersion:
    """Write the state, the version, the data version and the line; the update decides who was first."""
    now = timezone.now()
    changed = rows.update(
        state=Report.State.SIGNED,
        version=number,
        answers=done.answers,
        values=done.values,
        changed=now,
        changed_by=user,
        signed=now,
        revision=report.revision + 1,
    )
    if not changed:
        raise DraftConflict("Somebody else changed or signed this report since you opened it.")
    version = ReportVersion.objects.create(
        report=report,
        number=number,
        template=report.template,
        answers=done.answers,
        text=done.text,
        author=user,
        time=now,
        reason=reason,
    )
    data_version = new_data_version(report.project)
    action = "report.sign" if number == 1 else "report.correct"
    log.add(action, report.key, version=number, data_version=data_version)
    return version

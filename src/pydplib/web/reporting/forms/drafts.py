"""Drafts: begun, saved without overwriting anybody else's, taken over into a correction, discarded."""

from __future__ import annotations

from typing import TypeAlias

from django.db import transaction
from django.utils import timezone

from pydplib.errors import DataError, TemplateError
from pydplib.web.auditlog.log import recorded
from pydplib.web.patients.models import Patient
from pydplib.web.patients.pseudonyms import nameless_patient, patient_for
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Correction, Reading, Report

DraftHolder: TypeAlias = Report | Correction | Reading
"""Where a draft is kept."""


class DraftConflict(DataError):
    """Somebody saved, signed or removed the draft since it was opened."""

    http_status = 409


def start_report(project: Project, *, identifier: str, author: User, department: str) -> Report:
    """Begin a report on a patient.

    Args:
        project: The project.
        identifier: What names the patient, as typed; none where the template does not ask whose report it is.
        author: Who begins it.
        department: The author's own department.
    """
    version = project.template_version
    if version is None:
        raise TemplateError("This project has no template yet. Ask an owner to add one.")
    person = version.template.person
    with recorded(author, project=project) as log:
        patient = patient_for(project, {person: identifier}) if person else nameless_patient(project)
        report = Report.objects.create(
            project=project,
            patient=patient,
            template=version,
            author=author,
            changed_by=author,
            department=department,
        )
        log.add("report.start", report.key, template=version.number)
    return report


def save_draft(holder: DraftHolder, answers: dict[str, object], *, revision: int, by: User, **more: object) -> int:
    """Save a draft if it is still the one that was opened; return its new revision.

    One conditional update decides, so that of two people who save at once one wins and the other is told.

    Args:
        holder: A report, a correction or a reading.
        answers: The draft.
        revision: The revision that was edited.
        by: Who saves.
        more: Further fields of the holder, such as the reason of a correction.

    Raises:
        DraftConflict: Somebody else was there first.
    """
    rows = type(holder)._base_manager.filter(pk=holder.pk, revision=revision, **_open(holder))
    now = timezone.now()
    if not rows.update(answers=answers, revision=revision + 1, changed=now, changed_by=by, **more):
        raise DraftConflict("This draft was changed elsewhere since you opened it.")
    holder.answers, holder.revision, holder.changed, holder.changed_by = answers, revision + 1, now, by
    return revision + 1


def _open(holder: DraftHolder) -> dict[str, object]:
    """Return what must hold for a draft to be one."""
    if isinstance(holder, Report):
        return {"state": Report.State.DRAFT}
    return {"finished": None} if isinstance(holder, Reading) else {}


def correction_of(report: Report, user: User) -> Correction:
    """Return the user's draft of a correction; unsaved, with the signed answers, if there is none yet."""
    found = Correction.objects.filter(report=report, author=user).first()
    return found or Correction(report=report, author=user, base_version=report.version, answers=report.answers)


def keep_as_correction(report: Report, answers: dict[str, object], *, user: User) -> Correction:
    """Keep what somebody typed into a draft that another has signed meanwhile."""
    with transaction.atomic():
        correction, _ = Correction.objects.update_or_create(
            report=report,
            author=user,
            defaults={"answers": answers, "base_version": report.version, "changed_by": user},
        )
    return correction


def rebase_correction(correction: Correction) -> None:
    """Let a correction build on the report as it is now; what it is compared with from here on."""
    Correction.objects.filter(pk=correction.pk).update(base_version=correction.report.version)


def open_correction(report: Report, user: User) -> Correction | None:
    """Return a user's unsigned correction of a report."""
    return Correction.objects.filter(report=report, author=user).first()


def corrections_of(project: Project, user: User, most: int = 10) -> list[Correction]:
    """Return a user's unsigned corrections in a project."""
    found = Correction.objects.filter(author=user, report__project=project)
    return list(found.select_related("report", "report__patient")[:most])


def discard_draft(report: Report, *, user: User) -> None:
    """Remove a draft that was never signed; with it goes a patient of whom nothing else is known."""
    with recorded(user, project=report.project) as log:
        gone, _ = Report.objects.filter(pk=report.pk, state=Report.State.DRAFT, version=0).delete()
        if not gone:
            raise DraftConflict("This report is signed: it can be corrected, not discarded.")
        forget_if_empty(report.patient)
        log.add("report.discard", report.key)


def discard_correction(report: Report, *, user: User) -> None:
    """Remove the user's draft of a correction; the signed report stays as it is."""
    with recorded(user, project=report.project) as log:
        gone, _ = Correction.objects.filter(report=report, author=user).delete()
        if gone:
            log.add("correction.discard", report.key)


def forget_if_empty(patient: Patient) -> None:
    """Remove a patient and the identifiers, if there is no report, no text and no word on consent."""
    Patient.objects.filter(pk=patient.pk, reports=None, texts=None, consent=Patient.Consent.NOT_NEEDED).delete()

"""What the law gives to patients: erasure, withdrawal of consent, an end to keeping data."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.utils import timezone

from pydplib.errors import DataError, ParameterError
from pydplib.web import uploads
from pydplib.web.auditlog.log import recorded
from pydplib.web.intake.further_tables.files import remove_uploads
from pydplib.web.intake.imports.acceptance import check_not_busy
from pydplib.web.intake.imports.row_store import drop
from pydplib.web.intake.imports.rows import Reader
from pydplib.web.intake.models import ImportBatch, ImportMemory, ImportRow
from pydplib.web.intake.snapshots import forget, without_people
from pydplib.web.patients.inserts import CHUNK
from pydplib.web.patients.models import Patient
from pydplib.web.patients.pseudonyms import LONGEST, by_short_id, find_patient, pseudonyms_of
from pydplib.web.projects.changes import new_data_version
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report
from pydplib.web.tables.models import TableUpload

_ERASED = "The person of this row was erased: it is left out."


def look_up(project: Project, text: str) -> Patient | None:
    """Return the patient of exactly this identifier, id or pseudonym; none if the project has nobody so named.

    An id is that of the patient or of one of their reports, short as pages show it, or whole.
    """
    word = text.strip()
    if not word:
        return None
    known = Patient.objects.filter(project=project)
    return (
        by_short_id(project, word)
        or find_patient(project, {"": word})
        or known.filter(identifiers__value=word).first()
        or known.filter(pseudonym=word).first()
    )


def erase(patient: Patient, *, actor: object) -> int:
    """Erase a person: identifiers, reports with their history, texts, snapshots that hold them. Returns the reports.

    An audit line with the random key stays: that somebody was erased, when and by whom, not who it was. The data
    version goes up; the published snapshot is replaced by the same without the person.
    """
    project = patient.project
    check_not_busy(project)
    pseudonyms = [patient.pseudonym]
    with without_people(project, pseudonyms) as files, recorded(actor, project=project) as log:
        kept = Patient.objects.select_for_update().filter(pk=patient.pk).first()
        if kept is None:
            raise DataError("This patient is erased already.")
        reports = Report.all_objects.filter(patient=kept).count()
        _forget_open_rows(project, set(pseudonyms))
        # Nobody has said yet which column of these files names people: they go whole, and can be uploaded again.
        waiting = TableUpload.objects.filter(project=project)
        for upload in waiting.values_list("key", flat=True):
            log.add("table.discard", upload)
        remove_uploads(waiting)
        key = kept.key
        kept.delete()
        forget(project, files, pseudonyms, log)
        check_not_busy(project)  # again: the project is locked by now, and no import can begin
        number = new_data_version(project)
        log.add("patient.erase", key, reports=reports, data_version=number)
    return reports


def set_consent(patient: Patient, consent: str, *, actor: object) -> None:
    """Note consent or its withdrawal; who withdraws is in no snapshot any more, not in the published one either."""
    if consent not in Patient.Consent.values:
        raise ParameterError("Unknown consent.")
    project, withdrawn = patient.project, consent == str(Patient.Consent.WITHDRAWN)
    pseudonyms = [patient.pseudonym] if withdrawn else []
    with without_people(project, pseudonyms) as files, recorded(actor, project=project) as log:
        Patient.objects.filter(pk=patient.pk).update(consent=consent)
        patient.consent = consent
        if withdrawn:
            forget(project, files, pseudonyms, log)
        number = new_data_version(project)
        log.add("patient.consent", patient.key, consent=consent, data_version=number)


def overdue(project: Project, *, today: dt.date | None = None) -> dict[str, object]:
    """Return what is past the project's retention date: nothing before it, everything after it."""
    due = (today or timezone.now().date()) > project.retention_until
    patients = Patient.objects.filter(project=project)
    reports = Report.all_objects.filter(project=project)
    return {
        "due": due,
        "until": project.retention_until,
        "patients": patients.count() if due else 0,
        "reports": reports.count() if due else 0,
        "snapshots": project.snapshots.exclude(file="").count() if due else 0,
        "imports": open_imports(project) if due else 0,
    }


def purge(project: Project, *, actor: object, today: dt.date | None = None) -> int:
    """Erase everybody of a project whose retention date has passed; returns how many."""
    if not overdue(project, today=today)["due"]:
        raise DataError(f"Nothing is past its time: the project keeps its data until {project.retention_until}.")
    check_not_busy(project)
    with without_people(project, None) as files, recorded(actor, project=project) as log:
        ImportRow.objects.filter(batch__project=project).delete()
        for key in ImportBatch.objects.filter(project=project).values_list("key", flat=True):
            uploads.remove(key)
        ImportBatch.objects.filter(project=project).update(groups=[], replacements={})
        ImportMemory.objects.filter(project=project).delete()
        remove_uploads(TableUpload.objects.filter(project=project))
        patients = Patient.objects.filter(project=project)
        gone = 0
        while part := list(patients.values_list("pk", flat=True)[:CHUNK]):
            Patient.objects.filter(pk__in=part).delete()
            gone += len(part)
        forget(project, files, None, log)
        number = new_data_version(project)
        log.add("project.purge", project.key, patients=gone, data_version=number)
    return gone


def open_imports(project: Project) -> int:
    """Return how many uploads are waiting: they may hold rows of a person who is erased now."""
    batches = ImportBatch.objects.filter(project=project).exclude(state__in=ImportBatch.ENDED).count()
    return batches + TableUpload.objects.filter(project=project).count()


def _forget_open_rows(project: Project, pseudonyms: set[str]) -> None:
    """Empty rows of open imports that are about these people, listed for a decision or not; they stay left out.

    A listed row keeps its entry: without it, it would count as one without problems.
    """
    for batch in ImportBatch.objects.filter(project=project).exclude(state__in=ImportBatch.ENDED):
        _forget_file_rows(batch, pseudonyms)
    for row in ImportRow.objects.filter(batch__project=project).select_related("batch__template").iterator():
        if _is_about(project, row.fields.get(row.batch.template.template.person, ""), pseudonyms):
            row.fields, row.decision = {}, ImportRow.Decision.LEAVE_OUT
            row.problems = [{"code": "erased", "field": "", "column": "", "message": _ERASED, "severity": "error"}]
            row.save(update_fields=["fields", "problems", "decision"])
    # Problems by value may show a cell of theirs; the next dry run counts them again.
    ImportBatch.objects.filter(project=project).exclude(groups=[]).update(groups=[])


def _forget_file_rows(batch: ImportBatch, pseudonyms: set[str]) -> None:
    """Empty the rows of these people in the file of an import, and count those that would have been taken in."""
    if not uploads.path_of(batch.key).exists():
        return
    template = batch.template.template
    reader = Reader(batch, template)
    good = 0

    def is_theirs(number: int, row: Any) -> bool:
        nonlocal good
        if batch.format == "fhir":
            read = reader.resource(number, row)
            said = str(read.answers.get(template.person, ""))
        else:
            read = reader.evaluated(number, *reader.fields_of(row))
            said = read.fields.get(template.person, "")
        # Where no column is matched to the person yet, any cell may be the number.
        texts = [said] if said or template.person in batch.mapping or batch.format == "fhir" else row
        theirs = any(_is_about(batch.project, text, pseudonyms) for text in texts)
        good += theirs and read.ok
        return theirs

    if uploads.empty_rows(batch.key, is_theirs):
        drop([batch.key])
        moved = min(good, batch.good)
        ImportBatch.objects.filter(pk=batch.pk).update(good=batch.good - moved, bad=batch.bad + moved)


def _is_about(project: Project, text: object, pseudonyms: set[str]) -> bool:
    value = str(text).strip()
    return bool(value) and len(value) <= LONGEST and pseudonyms_of(project, [value])[0] in pseudonyms

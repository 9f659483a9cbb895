"""Taking an import in, or throwing it away: in chunks that nobody sees, then as a whole in one last transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from pydplib.errors import DataError
from pydplib.web import uploads
from pydplib.web.auditlog.log import recorded
from pydplib.web.intake.imports.blocks import BlockReader, RowBlock
from pydplib.web.intake.imports.duplicates import Duplicates
from pydplib.web.intake.imports.mappings import remember
from pydplib.web.intake.imports.records import Prepared, write_reports
from pydplib.web.intake.imports.row_store import KeptKeys
from pydplib.web.intake.imports.rows import Reader
from pydplib.web.intake.models import ImportBatch, ImportRow, Snapshot
from pydplib.web.jobs import Claim, LostClaimError
from pydplib.web.patients.inserts import CHUNK, memory_for_indexes
from pydplib.web.patients.models import Identifier, Patient
from pydplib.web.projects.changes import new_data_version
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report

_State = ImportBatch.State
_Decision: Any = ImportRow.Decision


def accept_batch(batch: ImportBatch, claim: Claim | None = None) -> None:
    """Take a checked import in; begun earlier and broken off, it goes on where it stopped.

    Every chunk is one transaction with its progress, and its reports are staged: no reader sees them. The last
    transaction shows them all, raises the data version and writes the line. Killed anywhere, the import is either
    not taken in (and can be resumed or discarded) or taken in whole.
    """
    claim = claim or claim_accept(batch)
    batch.refresh_from_db()
    if not uploads.path_of(batch.key).exists():
        claim.release(problem="The uploaded file is gone: files are kept for a day. Discard this import.")
        return
    template = batch.template.template
    duplicates = Duplicates(batch.project, template, batch)
    kept = KeptKeys(batch)
    reader = BlockReader(Reader(batch, template), duplicates, kept)
    decided = {row.number: row for row in batch.problem_rows.all()}
    begun_at = batch.done if Report.all_objects.filter(batch=batch, state=Report.State.STAGED).exists() else 0
    done = 0
    if not begun_at:
        claim.save(done=0)
    with memory_for_indexes():
        for block in reader.blocks():
            repeated = duplicates.find(block.numbers, block.keys)
            # What was written before a break is looked at again only for duplicates in later rows.
            begin = max(0, begun_at - done)
            done += len(block.numbers)
            if begin >= len(block.numbers):
                continue
            ready = _ready(reader, block, decided, repeated, begin)
            with transaction.atomic():
                claim.save(done=done)
                write_reports(batch.project, batch.template, ready, author=batch.by, staged_in=batch)
        _show(batch, claim)
    kept.close()
    uploads.remove(batch.key)


def claim_accept(batch: ImportBatch) -> Claim:
    """Take one import of a project at a time: of two, neither would see the reports of the other as duplicates.

    One that is begun counts from 0; one that is resumed goes on where it stopped.
    """
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=batch.project_id)
        others = ImportBatch.objects.filter(project=batch.project_id, state=_State.ACCEPTING).exclude(pk=batch.pk)
        if others.exists():
            raise DataError("Another import of this project is running. Let it finish, then try again.")
        try:
            return Claim(batch, _State.ACCEPTING, among=(_State.CHECKED,), done=0)
        except LostClaimError:
            return Claim(batch, _State.ACCEPTING, among=(_State.ACCEPTING,))


def _ready(
    reader: BlockReader, block: RowBlock, decided: Mapping[int, ImportRow], repeated: Mapping[int, str], begin: int
) -> list[Prepared]:
    """Return the rows of a block that are taken in, from a place on."""
    ready = []
    for place in range(begin, len(block.numbers)):
        number = block.numbers[place]
        decision = decided.get(number) if decided else None
        if decision is not None:
            if decision.decision == _Decision.LEAVE_OUT:
                continue
            if decision.decision == _Decision.FIXED:
                ready += reader.prepared_by_itself(number, decision.fields)
                continue
        elif number in repeated:
            continue
        single = block.single.get(place)
        if single is None or single.ok:
            ready.append(reader.prepared(block, place))
    return ready


def _show(batch: ImportBatch, claim: Claim) -> None:
    with recorded(batch.by, project=batch.project) as log:
        now = timezone.now()
        claim.save(state=_State.ACCEPTED, ended=now)
        staged = Report.all_objects.filter(batch=batch, state=Report.State.STAGED)
        written = staged.update(state=Report.State.SIGNED, created=now, changed=now, signed=now)
        number = new_data_version(batch.project) if written else batch.project.data_version
        batch.problem_rows.all().delete()  # they hold cells of the file
        remember(batch, batch.template.template)
        claim.release(good=written, bad=batch.rows - written, groups=[], replacements={}, data_version=number)
        log.add("import.accept", batch.key, reports=written, rows=batch.rows, data_version=number)


def claim_discard(batch: ImportBatch) -> Claim:
    """Claim an import that has not ended, to throw it away."""
    return Claim(batch, _State.DISCARDING, among=set(_State.values).difference(ImportBatch.ENDED))


def claim_undo(batch: ImportBatch, *, actor: object) -> Claim:
    """Take an import back that was taken in: nobody sees its reports from now on, and ``discard_batch`` removes them.

    Raises:
        DataError: A snapshot holds its reports, or somebody has worked on one of them since.
    """
    with recorded(actor, project=batch.project) as log:
        Project.objects.select_for_update().get(pk=batch.project_id)
        check_undo(batch)
        check_not_busy(batch.project)
        claim = claim_discard_of(batch)
        reports = Report.all_objects.filter(batch=batch, state=Report.State.SIGNED).update(state=Report.State.STAGED)
        number = new_data_version(batch.project)
        log.add("import.undo", batch.key, reports=reports, data_version=number)
    return claim


def claim_discard_of(batch: ImportBatch) -> Claim:
    """Claim an import that was taken in, to remove what it brought."""
    return Claim(batch, _State.DISCARDING, among=(_State.ACCEPTED,), done=0)


def check_undo(batch: ImportBatch) -> None:
    """Raise ``DataError`` unless an import can be taken back: until a snapshot holds it, or a report is worked on."""
    if batch.state != _State.ACCEPTED or batch.data_version is None:
        raise DataError("Only an accepted import can be taken back.")
    if Snapshot.objects.filter(project=batch.project_id, data_version__gte=batch.data_version).exists():
        raise DataError("A snapshot was made since this import: it cannot be taken back any more.")
    reports = Report.all_objects.filter(batch=batch)
    touched = reports.filter(Q(version__gt=1) | Q(corrections__isnull=False) | ~Q(state=Report.State.SIGNED))
    if touched.exists():
        raise DataError("Reports of this import were corrected since: it cannot be taken back any more.")


def can_undo(batch: ImportBatch) -> bool:
    """Return whether ``check_undo`` would pass."""
    try:
        check_undo(batch)
    except DataError:
        return False
    return True


def discard_batch(batch: ImportBatch, claim: Claim | None = None, *, actor: object = None) -> None:
    """Throw an import away: file, staged reports, patients whom only it brought."""
    claim = claim or claim_discard(batch)
    staged = Report.all_objects.filter(batch=batch, state=Report.State.STAGED).order_by("pk")
    while part := list(staged.values_list("pk", "patient_id")[:CHUNK]):
        with transaction.atomic():
            claim.save()
            Report.all_objects.filter(pk__in=[pk for pk, _ in part]).delete()
            _unused({patient for _, patient in part}).delete()
    with recorded(actor or batch.by, project=batch.project) as log:
        claim.save(state=_State.DISCARDED, ended=timezone.now(), groups=[], replacements={})
        claim.release()
        batch.problem_rows.all().delete()
        log.add("import.discard", batch.key, rows=batch.rows)
    uploads.remove(batch.key)


def _unused(patients: set[int]) -> QuerySet[Patient]:
    """Return those patients to whom nothing but identifiers belongs."""
    found = Patient.objects.filter(pk__in=patients)
    for relation in Patient._meta.related_objects:
        model = relation.related_model
        if not isinstance(model, str) and model is not Identifier:
            rows = model._base_manager.filter(**{f"{relation.field.name}__in": patients})
            found = found.exclude(pk__in=rows.values(relation.field.name))
    return found


def check_not_busy(project: Project) -> None:
    """Raise ``DataError`` while an import of the project is being taken in."""
    if ImportBatch.objects.filter(project=project, state=_State.ACCEPTING).exists():
        raise DataError("An import is running. Let it finish, or discard it, then try again.")

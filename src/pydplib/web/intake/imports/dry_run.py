"""The dry run: every row is tried, nothing is taken in; rows with problems are kept for a decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from pydplib.capture import Problem, Template, field_name
from pydplib.errors import DataError
from pydplib.web.auditlog.log import recorded
from pydplib.web.intake.imports.blocks import BlockReader
from pydplib.web.intake.imports.columns import titles_of
from pydplib.web.intake.imports.duplicates import Duplicates
from pydplib.web.intake.imports.problem_groups import CellGroups
from pydplib.web.intake.imports.repeats import repeated_in_file
from pydplib.web.intake.imports.row_store import RowWriter, state_of
from pydplib.web.intake.imports.rows import FileRow, Reader, split_fields
from pydplib.web.intake.models import ImportBatch, ImportRow
from pydplib.web.jobs import Claim
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project

MOST_PROBLEM_ROWS = 2000
"""Rows with problems that are kept for a decision; further ones are counted and left out."""

_Decision: Any = ImportRow.Decision
_State = ImportBatch.State


def new_import(**values: object) -> ImportBatch:
    """Store an upload as an import that waits for its columns to be matched."""
    return ImportBatch.objects.create(**values)


def imports_for(project: Project, member: Member, user: User, most: int = 50) -> list[ImportBatch]:
    """Return the latest imports that a member may see: who manages the data all, others their own."""
    found = ImportBatch.objects.filter(project=project).select_related("by", "template")
    if not member.can("manage_data"):
        found = found.none() if member.preview else found.filter(by=user)
    return list(found[:most])


def match_again(batch: ImportBatch) -> None:
    """Go back to the matching of columns."""
    ImportBatch.objects.filter(pk=batch.pk, state=ImportBatch.State.CHECKED).update(state=ImportBatch.State.UPLOADED)


def problem_rows(batch: ImportBatch, *, undecided: bool = False) -> QuerySet[ImportRow]:
    """Return the rows that need a decision; of those, the ones that are left out so far."""
    rows = batch.problem_rows.all()
    return rows.filter(decision=ImportRow.Decision.LEAVE_OUT) if undecided else rows


def problem_row(batch: ImportBatch, number: int) -> ImportRow | None:
    """Return one row that needs a decision."""
    return batch.problem_rows.filter(number=number).first()


def claim_check(batch: ImportBatch, **values: object) -> Claim:
    """Claim an import for the dry run, with other columns that change along: how its columns are matched."""
    among = (_State.UPLOADED, _State.CHECKING, _State.CHECKED)
    return Claim(batch, _State.CHECKING, among=among, done=0, good=0, bad=0, **values)


def check_rows(batch: ImportBatch, claim: Claim | None = None) -> None:
    """Try every row of an import and keep what is wrong with it."""
    claim = claim or claim_check(batch)
    template = batch.template.template
    duplicates = Duplicates(batch.project, template)
    reader = BlockReader(Reader(batch, template), duplicates)
    columns = _names(batch, template)
    groups = CellGroups(columns)
    good = bad = kept = done = 0
    with transaction.atomic():
        claim.save(done=0, good=0, bad=0, groups=[])
        # Erased people stay left out, however often their rows are tried.
        erased = [row.pk for row in batch.problem_rows.all() if is_erased(row)]
        batch.problem_rows.exclude(pk__in=erased).delete()
        gone = set(batch.problem_rows.values_list("number", flat=True))
    with RowWriter(batch) as store:
        for block in reader.blocks():
            store.add(block.keys)
            size = len(block.numbers)
            left = [place for place in range(size) if block.numbers[place] not in gone] if gone else range(size)
            repeated = duplicates.find([block.numbers[place] for place in left], [block.keys[place] for place in left])
            if gone or repeated:
                looked_at = [place for place in left if place in block.single or block.numbers[place] in repeated]
            else:
                looked_at = list(block.single)
            good += len(left) - len(looked_at)
            bad += size - len(left)
            rows = []
            for place in looked_at:
                row = block.row(place)
                words = repeated.get(row.number, "")
                if not row.problems and not words:
                    good += 1
                    continue
                is_bad = not row.ok or bool(words)
                good, bad = good + (not is_bad), bad + is_bad
                groups.add(row, words)
                if kept < MOST_PROBLEM_ROWS:
                    kept += 1
                    rows.append(_problem_row(batch, row, words, columns))
            done += size
            with transaction.atomic():
                ImportRow.objects.bulk_create(rows)
                claim.save(done=done, good=good, bad=bad)
    if store.state != state_of(batch):  # somebody was erased from the file meanwhile
        check_rows(batch, claim)
        return
    with recorded(batch.by, project=batch.project) as log:
        found = {
            name: {old: {**said, "rows": reader.replaced[name, old]} for old, said in values.items()}
            for name, values in batch.replacements.items()
        }
        claim.save(state=_State.CHECKED, groups=[each.to_dict() for each in groups.largest()], replacements=found)
        claim.release()
        log.add("import.check", batch.key, rows=done, bad=bad)


def is_erased(row: ImportRow) -> bool:
    """Return whether the person of a row was erased while its import waited."""
    return any(each["code"] == "erased" for each in row.problems)


def mend_row(row: ImportRow, fields: Mapping[str, str]) -> bool:
    """Put other texts in place of a row's own and try it again; returns whether it can be taken in now.

    Args:
        row: The row.
        fields: Field -> new text, for the fields that change.
    """
    template = row.batch.template.template
    reader = Reader(row.batch, template)
    unknown = [name for name in fields if name not in reader.readers]
    if unknown:
        raise DataError("A corrected row has fields that the template does not know.")
    own, special = split_fields(row.fields)
    merged = own | dict(fields)
    tried = reader.evaluated(row.number, merged, special)
    duplicates = Duplicates(row.batch.project, template)
    keys = duplicates.keys_of([tried])
    repeated = duplicates.find([row.number], keys).get(row.number, "") or repeated_in_file(reader, duplicates, tried)
    row.fields = merged | special
    row.problems = _problems(tried, repeated, _names(row.batch, template))
    row.decision = _Decision.FIXED if tried.ok and not repeated else _Decision.LEAVE_OUT
    row.save()
    return bool(row.decision == _Decision.FIXED)


def decide(row: ImportRow, decision: str) -> None:
    """Leave a row out, or take it in all the same: possible for duplicates and warnings, not for errors."""
    if decision == _Decision.KEEP and any(each["severity"] == "error" for each in row.problems):
        raise DataError(f"Row {row.number} breaks a rule of the template: correct it or leave it out.")
    row.decision = decision
    row.save(update_fields=["decision"])


def tally(batch: ImportBatch) -> dict[str, int]:
    """Return how many rows would be taken in and left out as things stand."""
    decisions = list(batch.problem_rows.values_list("decision", "problems"))
    # Rows with warnings only were counted as good.
    corrected = sum(
        decision != _Decision.LEAVE_OUT
        for decision, problems in decisions
        if decision == _Decision.FIXED or _is_bad(problems)
    )
    dropped = sum(decision == _Decision.LEAVE_OUT for decision, problems in decisions if not _is_bad(problems))
    taken = batch.good + corrected - dropped
    fixed = sum(decision == _Decision.FIXED for decision, _ in decisions)
    return {"taken": taken, "left_out": batch.rows - taken, "corrected": fixed}


def _names(batch: ImportBatch, template: Template) -> dict[str, str]:
    """Return field -> the column that it came from, or else its title."""
    columns = zip(batch.mapping, batch.columns, strict=True)
    return {**titles_of(template), **{name: column for name, column in columns if name}}


def _is_bad(problems: list[dict[str, str]]) -> bool:
    return any(each["severity"] != "warning" for each in problems)


def _problem_row(batch: ImportBatch, row: FileRow, repeated: str, names: Mapping[str, str]) -> ImportRow:
    is_bad = not row.ok or bool(repeated)
    return ImportRow(
        batch=batch,
        number=row.number,
        fields={**row.fields, **row.special},
        problems=_problems(row, repeated, names),
        decision=_Decision.LEAVE_OUT if is_bad else _Decision.KEEP,
    )


def _problems(row: FileRow, repeated: str, names: Mapping[str, str]) -> list[dict[str, object]]:
    found = [_as_value(problem, names) for problem in row.problems]
    if repeated:
        message = f"{repeated} Leave it out, or import it anyway."
        found.append({"code": "duplicate", "field": "", "column": "", "message": message, "severity": "duplicate"})
    return found


def _as_value(problem: Problem, names: Mapping[str, str]) -> dict[str, object]:
    name = field_name(problem.path)
    return {
        "code": problem.code,
        "field": name if name in names else "",
        "column": names.get(name, problem.place or problem.item),
        "message": problem.message,
        "severity": problem.severity,
    }

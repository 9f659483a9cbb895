"""Rows of an import that are left out as things stand, as a file to correct and upload again."""

from __future__ import annotations

from collections.abc import Iterator

from pydplib._csv_text import csv_pieces
from pydplib.web import uploads
from pydplib.web.intake.imports.duplicates import Duplicates
from pydplib.web.intake.imports.rows import Reader
from pydplib.web.intake.models import ImportBatch, ImportRow
from pydplib.web.patients.inserts import CHUNK, chunks

_PIECE = 500


def csv_text(batch: ImportBatch) -> Iterator[str]:
    """Yield the rows as CSV, with the columns of the file, the row's number and what is wrong with it."""
    return csv_pieces([*batch.columns, "Row", "Problem"], _cells(batch), most=_PIECE)


def _cells(batch: ImportBatch) -> Iterator[list[object]]:
    template = batch.template.template
    reader, duplicates = Reader(batch, template), Duplicates(batch.project, template, batch)
    decided = {row.number: row for row in batch.problem_rows.all()}
    numbered = enumerate(uploads.table_rows(batch.key), start=2)
    for part in chunks(numbered, CHUNK):
        rows = {number: reader.evaluated(number, *reader.fields_of(cells)) for number, cells in part}
        repeated = duplicates.find(list(rows), duplicates.keys_of(list(rows.values())))
        for number, cells in part:
            row, decision = rows[number], decided.get(number)
            if not any(cells):
                continue  # emptied: its person was erased
            if decision is not None:
                is_left = decision.decision == ImportRow.Decision.LEAVE_OUT
                if any(each["code"] == "erased" for each in decision.problems):
                    continue  # nothing of an erased person leaves
                said = [each["message"] for each in decision.problems]
            else:
                is_left = not row.ok or number in repeated
                said = [*(each.message for each in row.problems), repeated.get(number, "")]
            if is_left:
                yield [*cells, number, " ".join(said).strip()]

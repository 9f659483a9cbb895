"""Raw rows as a CSV file for owners: under pseudonyms, formulas defused."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from pydplib._csv_text import csv_pieces
from pydplib.capture import Template
from pydplib.web.reporting.models import Report
from pydplib.web.reporting.report_templates.versions import value_columns

_CHUNK = 500


def csv_text(template: Template, reports: QuerySet[Report]) -> Iterator[str]:
    """Yield the export piece by piece; memory stays small however many rows there are."""
    columns = value_columns(template)
    rows = reports.order_by("id").values_list("patient__pseudonym", "key", "version", "department", "values")
    cells = ([*facts, *(values.get(name) for name in columns)] for *facts, values in rows.iterator(chunk_size=_CHUNK))
    return csv_pieces(["person", "report", "version", "department", *columns], cells, most=_CHUNK)

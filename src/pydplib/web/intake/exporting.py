"""Raw rows as a CSV file for owners: under pseudonyms, formulas defused."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from pydplib.capture import Template
from pydplib.web.intake.recording import value_columns

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")
_CHUNK = 500


def csv_columns(template: Template) -> list[str]:
    """Return the columns of the export."""
    return ["person", "report", "version", "department", *value_columns(template)]


def safe_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet runs as a formula: texts that begin like one get an apostrophe.

    Examples:
        >>> safe_cell("=1+1"), safe_cell(-3), safe_cell(None), safe_cell("chr")
        ("'=1+1", -3, '', 'chr')
    """
    if value is None:
        return ""
    if isinstance(value, str) and value.lstrip(" ").startswith(_DANGEROUS):
        return f"'{value}"
    return value


def csv_text(template: Template, reports: Any) -> Iterator[str]:
    """Yield the export piece by piece; memory stays small however many rows there are."""
    columns = value_columns(template)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([safe_cell(name) for name in csv_columns(template)])
    rows = reports.order_by("id").values_list("patient__pseudonym", "key", "version", "department", "values")
    for number, (person, key, version, department, values) in enumerate(rows.iterator(chunk_size=_CHUNK), start=1):
        writer.writerow(map(safe_cell, [person, key, version, department, *(values.get(name) for name in columns)]))
        if number % _CHUNK == 0:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()

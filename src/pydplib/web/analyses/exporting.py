"""Released values as files: CSV that no spreadsheet runs, and the very bytes that the ledger keeps."""

from __future__ import annotations

import csv
import io

from pydplib.release import Release
from pydplib.release.frames import release_columns
from pydplib.web.intake.exporting import safe_cell


def to_csv(release: Release) -> str:
    """Return one line per value: keys, value, interval, margin; cells that look like formulas are made harmless.

    Examples:
        >>> import pydplib as dp
        >>> to_csv(dp.count([1, 2, 3], epsilon=1.0)).splitlines()[0]
        'value,low95,high95,margin95'
    """
    columns = release_columns(release)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([safe_cell(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        writer.writerow([safe_cell(cell) for cell in row])
    return out.getvalue()

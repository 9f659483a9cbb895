"""Released values as CSV that no spreadsheet runs."""

from __future__ import annotations

from pydplib._csv_text import csv_pieces
from pydplib.release import Release
from pydplib.release.frames import release_columns


def to_csv(release: Release) -> str:
    """Return one line per value: keys, value, interval, margin; cells that look like formulas are made harmless.

    Examples:
        >>> import pydplib as dp
        >>> to_csv(dp.count([1, 2, 3], epsilon=1.0)).splitlines()[0]
        'value,low95,high95,margin95'
    """
    if release.printed is not None:
        return release.printed.to_csv()
    columns = release_columns(release)
    return "".join(csv_pieces(list(columns), zip(*columns.values(), strict=True)))

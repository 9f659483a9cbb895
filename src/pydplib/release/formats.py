"""Files of a release's table: what each format is called and how it is written.

Commands (``pydplib release --output``) and the platform's pages offer every format of ``TABLE_FORMATS``: to add one,
such as Excel, add its entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydplib._csv_text import csv_pieces
from pydplib.release.frames import release_columns
from pydplib.release.release import Release


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """One kind of file that holds the table of a release.

    Attributes:
        ending: How names of files end, and how the format is asked for.
        title: As a page calls it.
        media_type: As a server announces it.
        write: From a release, or tables bought together, and the end of a line to the bytes of the file.
        is_text: Whether a terminal can show it.
    """

    ending: str
    title: str
    media_type: str
    write: Callable[[Any, str], bytes]
    is_text: bool = True


def table_of(release: Any) -> dict[str, list[Any]]:
    """Return the columns of a release, or of tables that were bought together."""
    columns: dict[str, list[Any]] = release_columns(release) if isinstance(release, Release) else release.columns()
    return columns


def to_csv(release: Any, end: str = "\r\n") -> str:
    """Return one line per value: keys, value, interval, margin; Table 1 and the like as journals print them.

    Keys can be words of the data: cells that look like formulas are made harmless, so that no spreadsheet runs them.

    Examples:
        >>> import pydplib as dp
        >>> to_csv(dp.count([1, 2, 3], epsilon=1.0)).splitlines()[0]
        'value,low95,high95,margin95'
    """
    if isinstance(release, Release) and release.printed is not None:
        return release.printed.to_csv()
    columns = table_of(release)
    return "".join(csv_pieces(list(columns), zip(*columns.values(), strict=True), end=end))


TABLE_FORMATS: dict[str, TableFormat] = {
    one.ending: one
    for one in (
        TableFormat(
            ending="csv",
            title="CSV",
            media_type="text/csv; charset=utf-8",
            write=lambda release, end: to_csv(release, end).encode(),
        ),
    )
}
"""The formats by their endings."""

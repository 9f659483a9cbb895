"""Files of a release's table: what each format is called and how it is written.

Commands (``pydplib release --output``) and the platform's pages offer every format of ``TABLE_FORMATS``: to add one,
such as Excel, add its entry here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydplib._csv_text import csv_pieces
from pydplib.errors import ParameterError
from pydplib.release.results.frames import release_columns
from pydplib.release.results.release import Release


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

    Numbers have as many digits as their margins deserve; ``Release.to_json`` keeps all of them. Keys can be words of
    the data: cells that look like formulas are made harmless, so that no spreadsheet runs them.

    Examples:
        >>> import pydplib as dp
        >>> to_csv(dp.count([1, 2, 3], epsilon=1.0)).splitlines()[0]
        'value,low95,high95,margin95'
        >>> to_csv(dp.mean([61.0, 67.0] * 500, bounds=(18, 100), epsilon=1.0)).splitlines()[1].split(",")[0].count(".")
        1
    """
    if isinstance(release, Release) and release.printed is not None:
        return release.printed.to_csv()
    columns = rounded(release) if isinstance(release, Release) else table_of(release)
    return "".join(csv_pieces(list(columns), zip(*columns.values(), strict=True), end=end))


def to_parquet(release: Any) -> bytes:
    """Return the table of ``to_csv`` as a Parquet file: the same columns and numbers, with their types.

    Examples:
        >>> import pydplib as dp
        >>> to_parquet(dp.count([1, 2, 3], epsilon=1.0))[:4]
        b'PAR1'
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ParameterError("A Parquet file needs pyarrow: pip install pyarrow. CSV needs nothing.") from None
    columns = rounded(release) if isinstance(release, Release) else table_of(release)
    out = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table({name: _one_kind(cells) for name, cells in columns.items()}), out)
    return bytes(out.getvalue().to_pybytes())


def _one_kind(cells: list[Any]) -> list[Any]:
    """Return cells of one kind: whole numbers among others are numbers, and anything among texts is text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int, float}:
        return [None if cell is None else float(cell) for cell in cells]
    return cells if len(kinds) <= 1 else [None if cell is None else str(cell) for cell in cells]


def rounded(release: Release) -> dict[str, list[Any]]:
    """Return the columns of a release rounded to two digits of each margin: intervals and margins outwards."""
    columns = table_of(release)
    if release.margins is None or release.margin_unit != "value" or release.choices is not None:
        return columns
    often = f"{100 * release.confidence:g}"
    for name, direction in (
        ("value", None),
        (f"low{often}", math.floor),
        (f"high{often}", math.ceil),
        (f"margin{often}", math.ceil),
    ):
        if name in columns:
            numbers = zip(columns[name], release.margins, strict=True)
            columns[name] = [_to_margin(number, margin, direction) for number, margin in numbers]
    return columns


def _to_margin(number: Any, margin: float, direction: Callable[[float], int] | None) -> Any:
    """Return a number with two digits of its margin."""
    if not isinstance(number, float) or not math.isfinite(number) or not 0 < margin < math.inf:
        return number
    digits = max(0, 1 - math.floor(math.log10(margin)))
    if direction is None:
        return round(number, digits) if digits else round(number)
    away = -1e-9 if direction is math.ceil else 1e-9  # what is on a step already stays there
    shown = direction(number * 10**digits + away) / 10**digits
    return round(shown, digits) if digits else round(shown)


TABLE_FORMATS: dict[str, TableFormat] = {
    one.ending: one
    for one in (
        TableFormat(
            ending="csv",
            title="CSV",
            media_type="text/csv; charset=utf-8",
            write=lambda release, end: to_csv(release, end).encode(),
        ),
        TableFormat(
            ending="parquet",
            title="Parquet",
            media_type="application/vnd.apache.parquet",
            write=lambda release, end: to_parquet(release),
            is_text=False,
        ),
    )
}
"""The formats by their endings."""

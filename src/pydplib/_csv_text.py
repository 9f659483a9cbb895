"""Tables as CSV text for spreadsheets: cells that none of them runs as a formula, written piece by piece."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")


def safe_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet runs as a formula: texts that begin like one get an apostrophe.

    Examples:
        >>> safe_cell("=1+1"), safe_cell(" @x"), safe_cell(-3), safe_cell(None), safe_cell("chr")
        ("'=1+1", "' @x", -3, '', 'chr')
    """
    if value is None:
        return ""
    if isinstance(value, str) and value.lstrip(" ").startswith(_DANGEROUS):
        return f"'{value}"
    return value


def csv_pieces(
    heads: Sequence[str], rows: Iterable[Iterable[Any]], *, most: int = 1000, end: str = "\r\n"
) -> Iterator[str]:
    """Yield a table with safe cells, ``most`` rows at a time: memory stays small however many there are.

    Examples:
        >>> list(csv_pieces(["age", "note"], [[64, "=1"], [70, None]], most=1, end=";"))
        ["age,note;64,'=1;", '70,;', '']
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end)
    writer.writerow(map(safe_cell, heads))
    for number, row in enumerate(rows, start=1):
        writer.writerow(map(safe_cell, row))
        if number % most == 0:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()

"""The first line of a CSV: what separates its columns, and their names to the letter."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from pydplib._table_text import guess_separator, open_bytes
from pydplib.errors import DataError, looks_like_names

_LONGEST = 2**20


def read_header(path: Path) -> tuple[list[str], str]:
    """Return the names of the columns exactly as they are written, and what separates them.

    The separator is whichever of , ; tab | the first line has most of, outside quotes.

    Raises:
        DataError: If two names agree, or one is empty; cells are not shown, names are.
    """
    try:
        with open_bytes(path) as file:
            start = file.read(_LONGEST).decode("utf-8", errors="replace").removeprefix("\ufeff")
    except (OSError, EOFError):
        raise DataError("The file cannot be read. Check that it is complete and not damaged.") from None
    if not start.strip():
        raise DataError("The file is empty: not even a line with the names of the columns.")
    line = re.sub(r'"[^"]*"', "", start).splitlines()[0]
    separator = guess_separator(line)
    names = next(csv.reader(start.splitlines(keepends=True), delimiter=separator))
    seen: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(
                f"Column {place} has no name in the first line. Name every column there; a file without names needs "
                "such a line first."
            )
        first = seen.setdefault(name.casefold(), place)
        if first != place:
            which = f" ('{name}')" if looks_like_names(names) else ""
            raise DataError(
                f"Columns {first} and {place} have the same name{which}; large and small letters count as one. "
                "Rename one of them."
            )
    return names, separator

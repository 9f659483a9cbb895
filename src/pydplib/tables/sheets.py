"""One sheet of an Excel workbook as CSV, so that sheets and files are read by the same rules."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any

from pydplib.errors import DataError, ParameterError, did_you_mean, import_extra

_MOST_SHEET_ROWS = 1_048_576  # Excel's own limit; a damaged sheet may number its rows as it likes
_MOST_STRAY_COLUMNS = 1_000


def sheet_to_csv(
    path: Path,
    sheet: str | None,
    copy: Path,
    *,
    said_by: str = "--sheet",
    apart: bool = False,
    most_columns: int = 16_384,
    halves: bool = False,
) -> None:
    """Write one sheet as CSV, so that sheets and files are read by the same rules.

    Args:
        path: The workbook.
        sheet: The sheet, where there are several.
        copy: The file to write.
        said_by: How the user names a sheet, for messages.
        apart: Whether a text gets a mark and everything else its kind: who opens the sheet can tell 1 from "1".
        most_columns: How many columns it may have.
        halves: Whether half characters stay, for a reader that looks for them; by default each is a question mark.
    """
    openpyxl = import_extra("openpyxl", what="Reading an Excel file", extra="excel")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception:
        raise DataError(f"'{path.name}' cannot be read as an Excel file. Check that it is complete.") from None
    try:
        names = list(book.sheetnames)
        if sheet is None and len(names) > 1:
            raise ParameterError(f"'{path.name}' has several sheets. Choose one with {said_by}: {', '.join(names)}.")
        if sheet is not None and sheet not in names:
            raise ParameterError(f"'{path.name}' has no sheet '{sheet}'.{did_you_mean(sheet, names)}")
        if not names:
            raise DataError("The workbook has no sheets. Check that it is complete.")
        found = book[sheet or names[0]]
        found.reset_dimensions()  # a sheet that claims a million columns has only those with something in them
        # Half a character is written as its bytes, by which the reader knows that the cell is no text.
        with copy.open("w", encoding="utf-8", errors="surrogatepass" if halves else "replace", newline="") as out:
            if not _write_rows(_sheet_rows(found), out, apart=apart, most_columns=most_columns):
                raise DataError(f"The sheet is empty. Choose another with {said_by}.")
    finally:
        book.close()


def _write_rows(rows: Iterable[tuple[Any, ...]], out: IO[str], *, apart: bool, most_columns: int) -> int:
    """Write the rows of a sheet as CSV, each as wide as the line of names; return that width, 0 if there is none."""
    writer, width = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n"), 0
    for number, row in enumerate(rows, start=1):
        if number > _MOST_SHEET_ROWS:
            raise DataError("The sheet claims more rows than Excel allows. Save it again, or as CSV.")
        if len(row) > most_columns + _MOST_STRAY_COLUMNS:
            raise DataError("The sheet reaches too far to the right. Delete the columns beyond the last named.")
        cells = [_cell_text(cell, apart=apart and width > 0) for cell in row]
        if not width:
            # The first line with something in it has the names; sheets often begin with empty ones.
            width = max((i + 1 for i, cell in enumerate(cells) if cell), default=0)
            if width and any("\n" in cell for cell in cells):
                cells = [" ".join(cell.split()) for cell in cells]
            if width > most_columns:
                raise DataError(f"The sheet has more than {most_columns} columns. Leave out those not needed.")
        if any(cells[width:]):
            raise DataError("The sheet has cells beyond its last named column. Name the column or clear them.")
        if width and any(cells):
            writer.writerow(cells[:width] + [""] * (width - len(cells)))
    return width


def _sheet_rows(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a sheet; whatever openpyxl finds wrong inside it becomes an error in plain words."""
    try:
        book, counter = sheet.parent, 1
        with sheet._get_source() as source:
            parser = _cell_parser()(
                source, sheet._shared_strings, data_only=True, epoch=book.epoch,
                date_formats=book._date_formats, timedelta_formats=book._timedelta_formats,
            )  # fmt: skip
            for number, row in parser.parse():
                for _ in range(counter, number):
                    yield ()
                counter = max(counter, number) + 1
                cells = {cell["column"]: cell["value"] for cell in row}
                yield tuple(cells.get(place) for place in range(1, max(cells, default=0) + 1))
    except GeneratorExit:
        raise
    except Exception:
        raise DataError("The sheet is damaged. Open it in Excel and save it again, or save it as CSV.") from None


_EXCEL_DAYS = (-657_434, 2_958_466)  # openpyxl quotes a day beyond the calendar in a warning


@cache
def _cell_parser() -> Any:
    """Return openpyxl's parser of a sheet, for which a cell that is no value is missing instead of an error."""
    from xml.etree.ElementTree import Element

    from openpyxl.worksheet._reader import WorkSheetParser

    class CellParser(WorkSheetParser):  # type: ignore[misc]
        col_counter: int

        def parse_cell(self, element: Any) -> Any:
            column: int = self.col_counter
            try:
                if element.get("t", "n") != "n" or int(element.get("s", 0)) not in self.date_formats:
                    return super().parse_cell(element)
                value = float(element.findtext("{*}v") or 0)
                if _EXCEL_DAYS[0] < value < _EXCEL_DAYS[1]:
                    return super().parse_cell(element)
            except Exception:  # noqa: S110 - its text may quote the cell
                pass
            self.col_counter = column
            try:
                return super().parse_cell(Element(element.tag, {"r": element.get("r")}))
            except Exception:
                self.col_counter = column
                return super().parse_cell(Element(element.tag))

    return CellParser


def _cell_text(cell: Any, *, apart: bool = False) -> str:
    if cell is None:
        return ""
    if apart:
        # As the sheet's own line for formulas shows a text.
        return f"'{cell}" if isinstance(cell, str) else f"{type(cell).__name__} {cell!r}"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, dt.datetime):
        midnight = cell.time() == dt.time()
        return cell.date().isoformat() if midnight else cell.isoformat(sep=" ", timespec="seconds")
    return str(cell)

"""Files to UTF-8 text with a line of names: encodings, separators, Excel sheets."""

from __future__ import annotations

import codecs
import csv
import datetime as dt
import gzip
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any, Literal

from pydplib.errors import DataError, ParameterError, did_you_mean, import_extra, looks_like_names

_CHUNK = 2**20
_SEPARATORS = ",;\t|"
_MOST_SHEET_ROWS = 1_048_576  # Excel's own limit; a damaged sheet may number its rows as it likes
_MOST_STRAY_COLUMNS = 1_000
# Windows' own letters between 0x80 and 0x9f, where Latin-1 has nothing to show (the euro sign, quotes).
_WINDOWS = {
    code: bytes([code]).decode("cp1252") for code in range(0x80, 0xA0) if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}


def is_packed(path: Path) -> bool:
    """Tell whether a file is a gzip, whatever it is called."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading, unpacked where it is packed by gzip."""
    return gzip.open(path, "rb") if is_packed(path) else path.open("rb")  # type: ignore[return-value]


def encoding_of(path: Path) -> Literal["utf-8", "utf-16", "latin-1"]:
    """Return UTF-16 if its mark is there, UTF-8 if the whole file is that, and Latin-1 if some lines are not."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with open_bytes(path) as file:
            chunk = file.read(_CHUNK)
            if chunk[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                return "utf-16"
            while chunk:
                decoder.decode(chunk)
                chunk = file.read(_CHUNK)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "latin-1"
    except (OSError, EOFError):
        raise DataError("The file cannot be read. Check that it is complete and not damaged.") from None
    return "utf-8"


def write_utf8(path: Path, encoding: str, copy: Path) -> None:
    """Write a copy in UTF-8.

    Of a file that is not UTF-8 throughout, each line is read for itself: as UTF-8, or else as Windows-1252. One line
    does not decide about another, and ``load`` reads the same file in the same way.
    """
    try:
        with open_bytes(path) as file, copy.open("w", encoding="utf-8", newline="") as out:
            if encoding == "latin-1":
                out.writelines(_mixed_lines(file))
                return
            decoder = codecs.getincrementaldecoder(encoding)()
            while chunk := file.read(_CHUNK):
                out.write(decoder.decode(chunk))
            out.write(decoder.decode(b"", final=True))
    except UnicodeDecodeError:
        raise DataError(f"'{path.name}' begins as UTF-16 text but is damaged. Save it as UTF-8.") from None


def _mixed_lines(file: IO[bytes]) -> Iterator[str]:
    waiting: list[bytes] = []  # the beginning of a line
    while chunk := file.read(_CHUNK):
        if chunk.endswith(b"\r"):
            chunk += file.read(1)  # a return and a feed are one end of a line
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if end:
            yield decode_lines(b"".join([*waiting, chunk[:end]]))
            waiting.clear()
        waiting.append(chunk[end:])
    yield decode_lines(b"".join(waiting))


def decode_lines(raw: bytes) -> str:
    r"""Return the text of lines, each of which is UTF-8 or else Windows-1252.

    Examples:
        >>> decode_lines(b"caf\xc3\xa9\ncaf\xe9")
        'café\ncafé'
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(map(_decode_line, raw.splitlines(keepends=True)))


def _decode_line(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1").translate(_WINDOWS)


def guess_separator(line: str) -> str:
    """Return what stands most often between the names of the first line, quotes left out.

    Examples:
        >>> guess_separator('id;"age, in years";psa')
        ';'
    """
    unquoted = "".join(line.split('"')[::2])
    return max(_SEPARATORS, key=unquoted.count)


def header_of(path: Path, separator: str | None) -> tuple[list[str], str]:
    """Return the names of the columns and what separates them."""
    with open_bytes(path) as file:
        line = file.readline(_CHUNK).decode("utf-8", "replace").removeprefix("\ufeff")  # a very long one is cut
    if not line.strip():
        raise DataError("The first line is empty. It must have the names of the columns.")
    separator = separator or guess_separator(line)
    try:
        names = [name.strip() for name in next(csv.reader([line], delimiter=separator))]
    except csv.Error:
        raise DataError("The first line has no names of columns: something in it is far too long.") from None
    if "" in names:
        raise DataError(
            f"Column {names.index('') + 1} has no name in the first line. Name every column there; "
            "a file without names needs such a line first."
        )
    seen: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        first = seen.setdefault(name.casefold(), place)
        if first != place:
            # In a file without a line of names these are cells, which are not shown.
            which = (
                f"Two columns are named '{name}'" if looks_like_names(names) else f"Columns {first} and {place} agree"
            )
            raise DataError(f"{which} (large and small letters count as one). Rename one.")
    return names, separator


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

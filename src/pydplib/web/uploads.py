"""Files on their way in: limits, what kind they are, one plain form for all of them, and their end."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.utils import timezone

from pydplib.errors import DataError, PydplibError
from pydplib.tables.lines import check_head, is_sound, read_head, write_sound
from pydplib.tables.ndjson import file_lines, ndjson_to_csv
from pydplib.tables.sheets import sheet_to_csv
from pydplib.web.room import FullDiskError, check_room, reason_of

MOST_BYTES = 200_000_000
MOST_ROWS = 250_000
MOST_COLUMNS = 400
MOST_UNPACKED = 600_000_000  # of a workbook
MOST_SHARED = 150_000_000  # of its table of texts, which is held in memory
MOST_RATIO = 250
MOST_PARTS = 2_000
MOST_JSON = 32_000_000  # of a FHIR file that must be read whole; one resource per line may be larger
MOST_LINE = 2_000_000
KEPT = dt.timedelta(days=1)

_CONTROL = frozenset(chr(code) for code in range(32)) - set("\t\n\r\f\v") | {"\x7f"}


class QuotaUploadHandler(FileUploadHandler):
    """Stops a body that is larger than any upload may be, before it is read: before anybody is signed in."""

    def handle_raw_input(
        self, input_data: object, META: object, content_length: int, *args: object, **more: object
    ) -> None:
        """Look at the announced length."""
        if content_length > MOST_BYTES + 1_000_000:
            raise RequestDataTooBig("The upload is too large.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """Count what comes; the announced length may lie."""
        if start + len(raw_data) > MOST_BYTES:
            raise RequestDataTooBig("The upload is too large.")
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""


@dataclass(frozen=True, slots=True)
class Received:
    """A file in plain form: UTF-8 CSV with commas, or one FHIR response per line.

    Args:
        format: ``csv`` (JSON lines too), ``excel`` or ``fhir``.
        rows: How many.
        columns: The names in the first line.
        comma: Whether a comma may stand before decimals.
        ignored: How many entries of a bundle are no responses.
    """

    format: str
    rows: int
    columns: tuple[str, ...] = ()
    _: KW_ONLY
    comma: bool = False
    ignored: int = 0


def folder() -> Path:
    """Return the private folder of uploads."""
    return settings.CONFIGURATION.folder("uploads")


def path_of(key: str) -> Path:
    """Return where the plain form of an upload lies."""
    return folder() / f"{key}.rows"


def state_of(key: str) -> tuple[int, int, int]:
    """Return what differs once rows of an upload were emptied."""
    file = path_of(key).stat()
    return file.st_ino, file.st_size, file.st_mtime_ns


def receive(upload: UploadedFile, key: str, *, sheet: str | None = None) -> Received:
    """Bring an upload into its plain form in a file that only the server reads.

    Args:
        upload: Django's uploaded file.
        key: The import's key.
        sheet: The sheet of a workbook that has several.

    Raises:
        DataError: The file is too large, damaged, packed too tightly or not of a known kind.
        FullDiskError: The disk has no room for it.
    """
    size = upload.size or 0
    if size > MOST_BYTES:
        raise DataError(f"The file is larger than {MOST_BYTES // 1_000_000} MB. Split it, or leave out columns.")
    check_room(3 * size)  # as it came, as text, in plain form
    raw, text, plain = (folder() / f"{key}.{kind}" for kind in ("upload", "text", "part"))
    try:
        with private(raw) as out:
            for chunk in upload.chunks():
                out.write(chunk)
        found = _plain_form(raw, text, plain, sheet)
        plain.replace(path_of(key))
    except (PydplibError, OSError) as error:
        remove(key)
        if reason_of(error) is not None:
            raise FullDiskError from None
        raise
    finally:
        for path in (raw, text, plain):
            path.unlink(missing_ok=True)
    return found


def remove(key: str) -> None:
    """Delete everything of an upload."""
    for path in folder().glob(f"{key}.*"):
        path.unlink(missing_ok=True)


def remove_old(*, keep: Iterable[str] = ()) -> int:
    """Delete uploads older than a day; returns how many files went.

    Args:
        keep: Keys that are being worked on right now.
    """
    limit = (timezone.now() - KEPT).timestamp()
    busy, gone = set(keep), 0
    for path in folder().iterdir():
        if path.stem not in busy and path.stat().st_mtime < limit:
            path.unlink(missing_ok=True)
            gone += 1
    return gone


def table_rows(key: str) -> Iterator[list[str]]:
    """Yield the rows of a plain table without its first line."""
    with path_of(key).open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows, None)
        yield from rows


def has_quotes(key: str) -> bool:
    """Return whether a plain table has a cell in quotes: without one, no cell has a comma or a line break."""
    with path_of(key).open("rb") as file:
        return any(b'"' in part for part in iter(lambda: file.read(1 << 20), b""))


def resources(key: str) -> Iterator[object]:
    """Yield the FHIR responses of an upload."""
    with path_of(key).open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield json.loads(line)
            except RecursionError:
                raise DataError(f"Response {number} is nested too deeply.") from None


def empty_rows(key: str, is_gone: Callable[[int, Any], bool]) -> int:
    """Empty rows of a plain file, which keep their places; returns how many. The file is whole at any moment.

    Args:
        key: The import's key.
        is_gone: Says of a row's number, and its cells or its FHIR response, whether it goes.
    """
    path, part, gone = path_of(key), folder() / f"{key}.emptied", 0
    with path.open("rb") as file:
        is_fhir = file.read(1) == b"{"
    with private(part) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as out:
        if is_fhir:
            for number, resource in enumerate(resources(key), start=1):
                leaves = resource is not None and is_gone(number, resource)
                gone += leaves
                out.write(json.dumps(None if leaves else resource, ensure_ascii=False, separators=(",", ":")) + "\n")
        else:
            writer = csv.writer(out, lineterminator="\n")
            with path.open(encoding="utf-8", newline="") as file:
                for number, cells in enumerate(csv.reader(file), start=1):
                    leaves = number > 1 and any(cells) and is_gone(number, cells)
                    gone += leaves
                    writer.writerow([""] * len(cells) if leaves else cells)
    if gone:
        part.replace(path)
    part.unlink(missing_ok=True)
    return gone


def private(path: Path) -> IO[bytes]:
    """Open a file for writing that only the server reads."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def _plain_form(raw: Path, text: Path, plain: Path, sheet: str | None) -> Received:
    with raw.open("rb") as file:
        start = file.read(4096)
    if not start.strip():
        raise DataError("The file is empty.")
    for path in (text, plain):
        private(path).close()  # made with the owner's rights alone, before anything is written
    if start[:4] == b"PK\x03\x04":
        check_archive(raw)
        book = raw.rename(raw.with_suffix(".xlsx"))  # openpyxl goes by the name
        try:
            sheet_to_csv(book, sheet, text, said_by="the field 'Sheet'", most_columns=MOST_COLUMNS)
        except PydplibError as error:
            raise DataError(str(error).replace(f"'{book.name}'", "The workbook")) from None
        finally:
            book.unlink(missing_ok=True)
        columns, rows = _plain_table(text, ",", plain)
        return Received("excel", rows, tuple(columns), comma=True)
    for sign, word in (
        (b"\xd0\xcf\x11\xe0", "in Excel's old format. Save it as .xlsx or CSV"),
        (b"\x1f\x8b", "packed. Unpack it"),
        (b"PAR1", "a Parquet file. Export it as CSV"),
        (b"%PDF", "a PDF. Export the table as CSV"),
    ):
        if start.startswith(sign):
            raise DataError(f"This file is {word} first.")
    if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        rows, ignored = _plain_fhir(raw, plain)
        if rows:
            return Received("fhir", rows, ignored=ignored)
        text.unlink()
        _lines_as_table(raw, text)
        columns, rows = _plain_table(text, ",", plain)
        return Received("csv", rows, tuple(columns))
    head = read_head(raw)
    if head.encoding != "utf-16" and b"\0" in start:
        raise DataError("This is no table: it has bytes that are not text. Upload CSV, Excel (.xlsx) or FHIR.")
    check_head(head.names)
    # Texts of reports have several lines. Whoever imports looks at the rows before they count.
    if is_sound(raw, head, multiline=True):
        text = raw
    else:
        text.unlink()
        write_sound(raw, head, text, multiline=True)
    columns, rows = _plain_table(text, head.separator, plain)
    return Received("csv", rows, tuple(columns), comma=head.separator != ",")


def check_archive(path: Path) -> None:
    """Refuse a workbook that is damaged or would unpack to far more than it is.

    The sizes are those that the archive declares; the reader never unpacks more of a part than it declares.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            total = sum(part.file_size for part in parts)
            shared = sum(part.file_size for part in parts if part.filename.lower().endswith("sharedstrings.xml"))
            packed = max(1, sum(part.compress_size for part in parts))
            if (
                len(parts) > MOST_PARTS
                or total > MOST_UNPACKED
                or shared > MOST_SHARED
                or any(
                    part.file_size > 1_000_000 and part.file_size > MOST_RATIO * max(1, part.compress_size)
                    for part in parts
                )
                or (total > 1_000_000 and total > MOST_RATIO * packed)
            ):
                raise DataError("The workbook unpacks to far more than a table needs. Save it as CSV instead.")
            if len({part.filename for part in parts}) != len(parts) or any(part.flag_bits & 1 for part in parts):
                raise DataError("The workbook is protected or damaged. Save it without a password, or as CSV.")
            for part in parts:
                with archive.open(part) as file:
                    _check_no_doctype(file)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        if isinstance(error, PydplibError):
            raise
        raise DataError("The file cannot be read as an Excel workbook. Check that it is complete.") from None


def _check_no_doctype(file: IO[bytes]) -> None:
    """Refuse XML that declares a document type, which is where entities are made: in any encoding, at any place.

    A declaration stands before the first element, so the parser that openpyxl uses reads up to there and stops.
    """
    parser = expat.ParserCreate()

    def refuse(*declared: object) -> None:
        raise DataError("The workbook defines texts of its own making. Save it as CSV instead.")

    def stop(*element: object) -> None:
        raise StopIteration

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.StartElementHandler = stop
    try:
        while chunk := file.read(65_536):
            parser.Parse(chunk)
    except (StopIteration, expat.ExpatError):  # the first element, or a picture: no XML at all
        return


def _plain_table(text: Path, separator: str, plain: Path) -> tuple[list[str], int]:
    """Write the table with commas and return its columns and number of rows."""
    count = 0
    try:
        with (
            text.open(encoding="utf-8-sig", newline="") as source,
            plain.open("w", encoding="utf-8", newline="") as out,
        ):
            # Strict: a quote that is never closed would swallow the rows of other patients into one cell.
            rows = csv.reader(_lines(source), delimiter=separator, strict=True)
            writer = csv.writer(out, lineterminator="\n")
            columns = [" ".join(name.split()) for name in next(rows, [])]
            if len(columns) > MOST_COLUMNS:
                raise DataError(f"The file has more than {MOST_COLUMNS} columns. Leave out those that are not needed.")
            if any(_CONTROL & set(name) for name in columns):
                raise DataError("The first line is no text. Upload CSV, Excel (.xlsx) or FHIR.")
            writer.writerow(columns)
            for number, cells in enumerate(rows, start=2):
                if not any(cell.strip() for cell in cells):
                    continue
                if len(cells) > len(columns):
                    if any(cell.strip() for cell in cells[len(columns) :]):
                        raise DataError(
                            f"Row {number} has {len(cells)} cells, but the first line names {len(columns)} columns. "
                            "Put cells that contain the separator in quotes."
                        )
                    cells = cells[: len(columns)]
                count += 1
                if count > MOST_ROWS:
                    raise DataError(f"The file has more than {MOST_ROWS} rows. Split it.")
                writer.writerow(cells + [""] * (len(columns) - len(cells)))
    except csv.Error:
        raise DataError(
            f"The file cannot be read beyond row {count + 1}: a quote is not closed, or a cell is huge."
        ) from None
    if not count:
        raise DataError("The file has names of columns, but no rows.")
    return columns, count


def _lines(source: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(source, start=1):
        if "\0" in line:
            raise DataError(f"Line {number} has bytes that are not text. Export the table again, as CSV in UTF-8.")
        yield line


def _plain_fhir(raw: Path, plain: Path) -> tuple[int, int]:
    count = ignored = 0
    with plain.open("w", encoding="utf-8") as out:
        for resource in _resources_in(raw):
            if not isinstance(resource, dict) or resource.get("resourceType") != "QuestionnaireResponse":
                ignored += 1
                continue
            count += 1
            if count > MOST_ROWS:
                raise DataError(f"The file has more than {MOST_ROWS} responses. Split it.")
            try:
                line = json.dumps(resource, ensure_ascii=False, separators=(",", ":"))
                out.write(line + "\n")
            except RecursionError:
                raise DataError(f"Response {count} is nested too deeply.") from None
            except UnicodeEncodeError:
                line = "\\u0000"
            if "\\u0000" in line:
                raise DataError(f"Response {count} has characters that are not text. Correct it where it came from.")
    return count, ignored


def _lines_as_table(raw: Path, text: Path) -> None:
    """Write one JSON object per line, such as a bulk export of patients, as CSV."""
    is_table = True
    try:
        ndjson_to_csv(file_lines(raw), text, most_columns=MOST_COLUMNS)
    except DataError as error:
        if "JSON object" not in str(error):
            raise
        is_table = False
    if not is_table:
        raise DataError("The file has no QuestionnaireResponse in it, and is no table with one JSON object per line.")


def _resources_in(raw: Path) -> Iterator[object]:
    """Yield the resources of a single resource, a bundle, or a file with one resource per line."""
    if raw.stat().st_size <= MOST_JSON:
        try:
            whole = _parse(raw.read_bytes())
        except DataError:
            whole = None
        if whole is not None:
            if isinstance(whole, dict) and whole.get("resourceType") == "Bundle":
                entries = whole.get("entry")
                for entry in entries if isinstance(entries, list) else []:
                    yield entry.get("resource") if isinstance(entry, dict) else None
            elif isinstance(whole, list):
                yield from whole
            else:
                yield whole
            return
    with raw.open("rb") as file:
        number = 0
        while line := file.readline(MOST_LINE + 1):
            number += 1
            if len(line) > MOST_LINE:
                raise DataError(
                    f"Line {number} is too long. Above {MOST_JSON // 1_000_000} MB a file needs one response per line."
                )
            if line.strip():
                try:
                    yield _parse(line)
                except DataError:
                    raise DataError(
                        f"Line {number} is no JSON. Upload one response, a Bundle, or one per line."
                    ) from None


def _parse(text: bytes) -> object:
    def refuse(word: str) -> object:
        raise ValueError(word)

    try:
        return json.loads(text.removeprefix(b"\xef\xbb\xbf"), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise DataError("This is no JSON.") from None

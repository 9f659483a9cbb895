"""CSV line by line: a line is a row, and no line decides how another one is read.

The first line is public: it says what separates cells and what the columns are called. Every other line is somebody's.
A line ends with a line feed, a carriage return or both, whatever ends the lines around it. A file whose lines are all
sound (UTF-8, quotes that open and close within their line, ends like the first one's) is read as it stands; of any
other a copy is made in which all lines end alike, and the unsound ones, and only they, are written again.

Most lines of most files are sound, so the check works on pieces of 1 MB: one decoding, two counts, and where there are
quotes a few array operations. Only lines that fail are looked at one by one.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, looks_like_names

LONGEST_LINE = 2**24
"""Longer lines are left out, each by itself."""

ENCODINGS = {"utf-8": "utf-8", "utf8": "utf-8", "latin-1": "cp1252", "iso-8859-1": "cp1252", "cp1252": "cp1252",
             "windows-1252": "cp1252", "utf-16": "utf-16"}  # fmt: skip
"""What an owner may declare -> how it is read."""

_SEPARATORS = ",;\t|"
_LONGEST_NAME = 100_000
_PIECE = 2**20
_QUOTE, _FEED, _RETURN = 0x22, 0x0A, 0x0D
_END = re.compile(rb"\r?\n|\r")
_HALF = re.compile("[\ud800-\udfff]")  # of a character of two halves in UTF-16
# Windows leaves five bytes open; each stays a sign of its own, so that two cells never become one.
_WINDOWS = [bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(256)]
_WINDOWS_BYTES = np.array([[*sign.encode("utf-8").ljust(3, b"\0")] for sign in _WINDOWS], np.uint8)
_WINDOWS_TEXT = {code: sign for code, sign in enumerate(_WINDOWS) if chr(code) != sign}


Instead: TypeAlias = Callable[[str], str | None]
"""Column -> what stands for a cell that is no text; None where it is missing."""


@dataclass(frozen=True, slots=True)
class FileHead:
    r"""What the first bytes and the first line of a file say.

    Attributes:
        encoding: ``"utf-8"``, ``"cp1252"`` or ``"utf-16"`` for the whole file; None: line by line.
        separator: What stands between cells.
        names: The names of the columns, stripped of blanks.
        end: What ends the first line: ``"\n"``, ``"\r\n"`` or, as on old Macintosh computers, ``"\r"``.
    """

    encoding: str | None
    separator: str
    names: tuple[str, ...]
    end: str


def is_packed(path: Path) -> bool:
    """Tell whether a file is a gzip, whatever it is called."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def open_bytes(path: Path, *, packed: bool | None = None) -> IO[bytes]:
    """Open a file for reading, unpacked where it is packed by gzip; by default its first bytes say whether it is."""
    packed = is_packed(path) if packed is None else packed
    return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]


def private_file(path: Path) -> IO[bytes]:
    """Open a new file for writing, readable by nobody else."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def unpack(path: Path, target: Path) -> Path:
    """Write a private copy of a file, unpacked where it is packed by gzip; return where it is."""
    with private_file(target) as out, _Opened(path) as file:
        shutil.copyfileobj(file, out, _PIECE)
    return target


def guess_separator(line: str) -> str:
    """Return what stands most often between the names of the first line, quotes left out.

    Examples:
        >>> guess_separator('id;"age, in years";psa')
        ';'
    """
    unquoted = "".join(line.split('"')[::2])
    return max(_SEPARATORS, key=unquoted.count)


def check_head(names: Sequence[str]) -> None:
    """Refuse a first line in which a column has no name, or two have the same.

    Examples:
        >>> check_head(["id", "age"])
    """
    if any(len(name) > _LONGEST_NAME for name in names):
        raise DataError("The first line has no names of columns: something in it is far too long.")
    if "" in names:
        raise DataError(
            f"Column {list(names).index('') + 1} has no name in the first line. Name every column there; "
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


def decode_lines(raw: bytes) -> str:
    r"""Return the text of lines, each of which is UTF-8 or else Windows-1252.

    Examples:
        >>> decode_lines(b"caf\xc3\xa9\ncaf\xe9")
        'café\ncafé'
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(_decoded(line, None) for line in raw.splitlines(keepends=True))


def read_head(path: Path, *, separator: str | None = None, encoding: str | None = None) -> FileHead:
    """Return what the first line says, or what the owner says instead.

    Args:
        path: A file, packed by gzip or not.
        separator: What stands between cells; None: what the first line has most.
        encoding: One of ``ENCODINGS``; None: UTF-16 if the file begins with its mark, else line by line.
    """
    return head_of(_beginning(path), separator=separator, encoding=encoding)


def head_of(start: bytes, *, separator: str | None = None, encoding: str | None = None) -> FileHead:
    r"""Return what the first line of a file's beginning says.

    Examples:
        >>> head_of(b"id;age\r\n1;64\n")
        FileHead(encoding=None, separator=';', names=('id', 'age'), end='\r\n')
    """
    if encoding is not None:
        encoding = ENCODINGS[encoding.lower()]
    elif start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    if encoding == "utf-16":
        text = codecs.getincrementaldecoder("utf-16")("surrogatepass").decode(start)
        if _HALF.search(text.replace("\r", "\n").partition("\n")[0]):
            raise DataError("The first line is damaged: it has half characters. Save the file again, as UTF-8.")
        start = text.encode("utf-8", "replace")
    found = _END.search(start)
    end = "\n" if found is None else found[0].decode()
    line = _decoded(start if found is None else start[: found.start()], None if encoding == "utf-16" else encoding)
    line = line.removeprefix("\ufeff")
    if not line.strip():
        raise DataError("The first line is empty. It must have the names of the columns.")
    separator = separator or guess_separator(line)
    names = cells_of(line, separator)
    if line.count('"') % 2:
        raise DataError(
            "The first line opens a quote and does not close it. Write the names of the columns without line breaks."
        )
    return FileHead(encoding, separator, tuple(name.strip() for name in names), end)


def read_lines(path: Path, *, is_packed: bool) -> Iterator[bytes]:
    """Yield the lines of a file without their ends; lines that are far too long are left out.

    Args:
        path: The file.
        is_packed: Whether it is packed by gzip. Where the first line is somebody's, its bytes must not say so.
    """
    with _Opened(path, is_packed=is_packed) as file:
        for piece in _pieces(file.read):
            lines, _ = _with_feeds(piece, False, False)
            yield from lines.removesuffix(b"\n").split(b"\n") if lines else ()


def is_sound(path: Path, head: FileHead, *, multiline: bool = False) -> bool:
    """Tell whether every line of a file can be read as it stands.

    Args:
        path: The file.
        head: From ``read_head``.
        multiline: Whether quotes may reach over several lines: then only the encoding is looked at.
    """
    if head.encoding not in (None, "utf-8"):
        return False
    with _Opened(path) as file:
        return all(piece and _is_sound_piece(piece, head, multiline) for piece in _pieces(file.read))


def write_sound(
    path: Path,
    head: FileHead,
    target: Path,
    *,
    instead: Instead | None = None,
    multiline: bool = False,
) -> None:
    """Write a private copy in UTF-8, in which every line is sound.

    Args:
        path: The file.
        head: From ``read_head``.
        target: The copy, readable by nobody else; it must not exist yet.
        instead: Column -> what stands for a cell that is no text in the declared encoding; None leaves it empty.
        multiline: Whether quotes may reach over several lines.
    """
    with _Opened(path) as file:
        write_pieces(file.read, head, target, instead=instead, multiline=multiline)


def write_pieces(
    read: Callable[[int], bytes],
    head: FileHead,
    target: Path,
    *,
    instead: Instead | None = None,
    multiline: bool = False,
) -> None:
    """Write a private copy of what ``read`` returns, in which every line is sound."""
    replaced = [("" if instead is None else instead(name) or "") for name in head.names]
    if head.encoding == "utf-16":
        read = _from_utf16(read)
    head = replace(head, end="\n")
    is_open = False
    with private_file(target) as out:
        for piece in _pieces(read):
            lines, is_open = _with_feeds(piece, is_open, multiline)
            if head.encoding == "cp1252":
                lines = _from_windows(lines)
            if _is_sound_piece(lines, head, multiline):
                out.write(lines)
            else:
                out.writelines(_with_sound_lines(lines, head, replaced, multiline))


def lines_as_rows(path: Path, head: FileHead, copy: Callable[[], Path], *, multiline: bool = False) -> Path:
    """Return a file in UTF-8 whose lines all end alike: this one or, where it is another, a private copy.

    This is for readers that refuse a file with a row that does not fit: no cell is written again.

    Args:
        path: The file.
        head: From ``read_head``.
        copy: Returns where a copy may be written; nothing must be there yet.
        multiline: Whether quotes may reach over several lines.

    Raises:
        DataError: A line opens a quote and does not close it, and ``multiline`` is not declared.
    """
    if is_sound(path, head, multiline=multiline):
        return path
    if not is_sound(path, head, multiline=True):
        target = copy()
        write_sound(path, head, target, multiline=True)
        path = target
    if not multiline and _has_open_lines(path, head):
        raise DataError(
            "A line of the file opens a quote and does not close it. Close it, or say --multiline if cells of this "
            "file have line breaks."
        )
    return path


def _has_open_lines(path: Path, head: FileHead) -> bool:
    with _Opened(path) as file:
        for piece in _pieces(file.read):
            starts = _starts(piece)
            for line in np.flatnonzero(_misquoted_lines(piece, head, starts)).tolist():
                if _split(piece[starts[line] : starts[line + 1]].decode().rstrip("\r\n"), head.separator)[1]:
                    return True
    return False


def cells_of(line: str, separator: str) -> list[str]:
    """Return the cells of one line; a quote that is not closed ends with the line.

    Examples:
        >>> cells_of('1,"a, b",c"d', ",")
        ['1', 'a, b', 'c"d']
    """
    return _split(line, separator)[0]


def _split(line: str, separator: str) -> tuple[list[str], bool]:
    """Return the cells of one line, and whether it ends within a quote."""
    cells, at, end, is_open = [], 0, len(line), False
    while True:
        start = at
        while start < end and line[start] == " " and separator != " ":
            start += 1
        if start < end and line[start] == '"':
            found, at = [], start + 1
            while True:
                close = line.find('"', at)
                if close < 0:
                    found.append(line[at:])
                    at, is_open = end, True
                    break
                found.append(line[at:close])
                at = close + 1
                if at < end and line[at] == '"':
                    found.append('"')
                    at += 1
                else:
                    break
            stop = line.find(separator, at)
            stop = end if stop < 0 else stop
            cells.append("".join(found) + line[at:stop].rstrip(" "))
        else:
            stop = line.find(separator, at)
            stop = end if stop < 0 else stop
            cells.append(line[at:stop])
        if stop >= end:
            return cells, is_open
        at = stop + 1


# -- pieces ----------------------------------------------------------------------------------------


def _beginning(path: Path) -> bytes:
    with _Opened(path) as file:
        return file.read(LONGEST_LINE)


class _Opened:
    """A file for reading; what goes wrong inside becomes an error in plain words."""

    def __init__(self, path: Path, *, is_packed: bool | None = None) -> None:
        self._path, self._is_packed = path, is_packed

    def __enter__(self) -> IO[bytes]:
        try:
            self._file = open_bytes(self._path, packed=self._is_packed)
        except (OSError, EOFError):
            self._file = None  # type: ignore[assignment]
        if self._file is None:
            raise DataError("The file cannot be read. Check that it is complete and that you may read it.")
        return self._file

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        if kind is not None and issubclass(kind, OSError | EOFError | zlib.error):
            raise DataError("The file cannot be read. Check that it is complete and that you may read it.") from None


def _pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield whole lines, about 1 MB at a time; nothing (b"") for a line that is left out, being far too long."""
    rest: list[bytes] = []
    size, too_long, held = 0, False, b""
    while chunk := held + read(_PIECE):
        # A return and a feed are one end of a line: the last return waits for what follows it.
        held = b"\r" if chunk.endswith(b"\r") and chunk != held else b""
        chunk = chunk.removesuffix(held)
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if not end:
            size += len(chunk)
            if size > LONGEST_LINE and not too_long:
                too_long = True
                yield b""
            rest = [] if too_long else [*rest, chunk]
            continue
        if too_long:
            found = _END.search(chunk)
            assert found is not None
            first = found.end()
            chunk, end, rest, too_long = chunk[first:], end - first, [], False
        if end:
            yield b"".join([*rest, chunk[:end]])
        rest, size = [chunk[end:]], len(chunk) - end
    if size and not too_long:
        yield b"".join(rest)


def _from_utf16(read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("surrogatepass")

    def decoded(size: int) -> bytes:
        while chunk := read(size):  # a last odd byte is no letter, and is left out
            if text := decoder.decode(chunk):
                return text.encode("utf-8", "surrogatepass")  # half letters make their line unsound
        return b""

    return decoded


def _from_windows(lines: bytes) -> bytes:
    if lines.isascii():
        return lines
    return _letters_from_windows(lines, np.flatnonzero(np.frombuffer(lines, np.uint8) >= 0x80))


def _letters_from_windows(lines: bytes, letters: NDArray[np.intp]) -> bytes:
    """Return the lines with these bytes, all beyond ASCII, read as Windows-1252 and written as UTF-8."""
    signs = np.frombuffer(lines, np.uint8).copy()
    codes = signs[letters]
    signs[letters] = _WINDOWS_BYTES[codes, 0]
    long = letters[_WINDOWS_BYTES[codes, 2] > 0]
    after = np.concatenate([letters, long]) + 1
    more = np.concatenate([_WINDOWS_BYTES[codes, 1], _WINDOWS_BYTES[codes[_WINDOWS_BYTES[codes, 2] > 0], 2]])
    return np.insert(signs, after, more).tobytes()


def _with_feeds(piece: bytes, is_open: bool, multiline: bool) -> tuple[bytes, bool]:
    """Return lines that all end with a feed, and whether a quote is open after them.

    Args:
        piece: Whole lines.
        is_open: Whether a quote was open before them.
        multiline: Whether breaks inside quotes belong to their cell: these stay as they are.
    """
    if not multiline:
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in piece else piece, False
    is_open_after = is_open ^ bool(piece.count(b'"') & 1)
    if b"\r" not in piece:
        return piece, is_open_after
    signs = np.frombuffer(piece, np.uint8).copy()
    returns = np.flatnonzero(signs == _RETURN)
    within = (np.searchsorted(np.flatnonzero(signs == _QUOTE), returns) + is_open) & 1
    returns = returns[within == 0]
    has_feed = np.append(signs, 0)[returns + 1] == _FEED
    signs[returns] = _FEED
    return np.delete(signs, returns[has_feed]).tobytes(), is_open_after


def _has_sound_ends(piece: bytes, head: FileHead) -> bool:
    """Tell whether all lines end as the first one does: DuckDB takes other ends for more rows, or for fewer."""
    if head.end == "\r\n":
        return piece.count(b"\r") == piece.count(b"\n") == piece.count(b"\r\n")
    return head.end == "\n" and b"\r" not in piece


def _is_sound_piece(piece: bytes, head: FileHead, multiline: bool) -> bool:
    if not piece.isascii():
        try:
            piece.decode("utf-8")
        except UnicodeDecodeError:
            return False
    if not _has_sound_ends(piece, head):
        return False
    if multiline:
        return True
    return b'"' not in piece or (head.separator.isascii() and _has_sound_quotes(piece, head))


def _has_sound_quotes(piece: bytes, head: FileHead) -> bool:
    """Tell whether all quotes open after a separator, close before one, and do both within a line."""
    signs = np.frombuffer(piece, np.uint8)
    quotes = np.flatnonzero(signs == _QUOTE)
    if len(quotes) % 2:
        return False
    feeds = np.flatnonzero(signs == _FEED)
    if (np.searchsorted(quotes, feeds) & 1).any():  # a line that ends inside quotes
        return False
    return bool(_fits(signs, quotes[0::2], -1, head).all() and _fits(signs, quotes[1::2], 1, head).all())


def _fits(signs: NDArray[np.uint8], quotes: NDArray[np.intp], step: int, head: FileHead) -> NDArray[np.bool_]:
    """Tell which quotes have a neighbour on one side that lets them open (-1) or close (1) a cell."""
    at = quotes + step
    inside = (at >= 0) & (at < len(signs))
    beside = np.where(inside, signs[np.clip(at, 0, len(signs) - 1)], _FEED)
    # A quote next to a quote: doubled inside a cell, or an empty cell.
    fits = (beside == _FEED) | (beside == _QUOTE)
    if step > 0:
        fits |= beside == _RETURN
    return fits | (beside == ord(head.separator)) if head.separator.isascii() else np.zeros_like(fits)


def _starts(piece: bytes) -> NDArray[np.intp]:
    """Return where the lines begin, and the end."""
    feeds = np.flatnonzero(np.frombuffer(piece, np.uint8) == _FEED) + 1
    ends = feeds if len(feeds) and feeds[-1] == len(piece) else np.append(feeds, len(piece))
    return np.concatenate([np.zeros(1, ends.dtype), ends])


def _lines_of(places: NDArray[np.intp], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.searchsorted(starts, places, side="right") - 1


def _foreign_lines(piece: bytes, starts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Tell which lines are not UTF-8, from the bytes beyond ASCII alone: the rules of RFC 3629, for all at once."""
    signs = np.frombuffer(piece + b"\0\0\0", np.uint8)
    letters = np.flatnonzero(signs >= 0x80)
    first, second, third, fourth = (signs[letters + step] for step in range(4))
    follows = [(byte & 0xC0) == 0x80 for byte in (first, second, third, fourth)]
    three = (first >= 0xE0) & (first <= 0xEF) & follows[1] & follows[2]
    three &= ~((first == 0xE0) & (second < 0xA0)) & ~((first == 0xED) & (second >= 0xA0))  # overlong; half characters
    four = (first >= 0xF0) & (first <= 0xF4) & follows[1] & follows[2] & follows[3]
    four &= ~((first == 0xF0) & (second < 0x90)) & ~((first == 0xF4) & (second >= 0x90))  # overlong; beyond Unicode
    begins = ((first >= 0xC2) & (first <= 0xDF) & follows[1]) | three | four
    belongs = begins.copy()
    for step, reaches in enumerate((begins, three | four, four), start=1):
        belongs[step:] |= reaches[: max(0, len(reaches) - step)]  # bytes that follow are the next ones of ``letters``
    foreign = np.zeros(len(starts) - 1, bool)
    foreign[_lines_of(letters[~belongs], starts)] = True
    return foreign


def _misquoted_lines(piece: bytes, head: FileHead, starts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Tell which lines have quotes that would be read otherwise."""
    signs = np.frombuffer(piece, np.uint8)
    count = len(starts) - 1
    bad = np.zeros(count, bool)
    quotes = np.flatnonzero(signs == _QUOTE)
    lines = _lines_of(quotes, starts)
    number = np.arange(len(quotes)) - np.searchsorted(lines, lines)  # within its line
    opens = number % 2 == 0
    wrong = np.where(opens, ~_fits(signs, quotes, -1, head), ~_fits(signs, quotes, 1, head))
    bad[lines[wrong]] = True
    bad |= np.bincount(lines, minlength=count) % 2 == 1
    return bad


def _from_mixed(piece: bytes, starts: NDArray[np.intp], foreign: NDArray[np.bool_]) -> bytes:
    """Return a piece in UTF-8: lines that were none are read as Windows-1252, all others as they stand."""
    letters = np.flatnonzero(np.frombuffer(piece, np.uint8) >= 0x80)
    return _letters_from_windows(piece, letters[foreign[_lines_of(letters, starts)]])


def _with_sound_lines(piece: bytes, head: FileHead, replaced: Sequence[str], multiline: bool) -> Iterable[bytes]:
    """Yield a piece in which the unsound lines are written again, and all others stand as they were."""
    starts = _starts(piece)
    foreign = _foreign_lines(piece, starts)
    if head.encoding in (None, "cp1252") and foreign.any():  # read, line by line, as what it is
        piece = _from_mixed(piece, starts, foreign)
        if _is_sound_piece(piece, head, multiline):
            yield piece
            return
        starts = _starts(piece)
        foreign = np.zeros_like(foreign)
    unsound = foreign if multiline else foreign | _misquoted_lines(piece, head, starts)
    done = 0
    for line in np.flatnonzero(unsound).tolist():
        start, end = int(starts[line]), int(starts[line + 1])
        yield piece[done:start]
        yield _written_again(piece[start:end], head, replaced, multiline)
        done = end
    yield piece[done:]


def _written_again(raw: bytes, head: FileHead, replaced: Sequence[str], multiline: bool) -> bytes:
    if multiline:  # where the cells begin and end is not known here: every wrong byte stays apart from every other
        return raw.decode("utf-8", "backslashreplace").encode()
    # Wrong bytes of a declared encoding become half characters, by which the cell is known.
    line = raw.decode("utf-8", "surrogateescape")
    cells = cells_of(line.removesuffix("\n"), head.separator)
    if len(cells) < len(head.names):
        return b""  # too few cells: left out, as DuckDB leaves out such a row
    del cells[len(head.names) :]
    cells = [cell if _is_whole(cell) else other for cell, other in zip(cells, replaced, strict=True)]
    quoted = ('"' + cell.replace('"', '""') + '"' for cell in cells)
    return (head.separator.join(quoted) + "\n").encode()


def _is_whole(cell: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in cell)


def _decoded(raw: bytes, encoding: str | None) -> str:
    """Decode one line: by the declared encoding, or as UTF-8 and, if it is none, as Windows-1252."""
    if encoding == "cp1252":
        return raw.decode("latin-1").translate(_WINDOWS_TEXT)
    if encoding == "utf-8":
        return raw.decode("utf-8", "replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1").translate(_WINDOWS_TEXT)

"""Lines of a CSV file, each read by its own bytes: found and converted for a whole piece at once."""

from __future__ import annotations

import io
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pydplib.tables import lines as csv_lines
from pydplib.tables.lines import head_of, write_pieces

PARTS = [b"a", b"\n", b",", b'"', b"\r", b"\0", "ä€😀".encode(), b"\xc3", b"\xe4", b"\x80", b"\x81", b"\xed\xa0\x80",
         b"\xc0\x80", b"\xf5\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xff",
         b"\xf0\x9f", b"\xe2\x82", b"\xef\xbb\xbf"]  # fmt: skip
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
PIECES = st.lists(st.sampled_from(PARTS), min_size=1, max_size=30).map(b"".join) | st.binary(min_size=1, max_size=40)

LINES = PIECES.map(lambda raw: re.sub(b"[\r\n]", b"", raw) or b".")


def read_alone(line: bytes) -> bytes:
    try:
        return line.decode("utf-8").encode()
    except UnicodeDecodeError:
        signs = [bytes([code]).decode("cp1252", "ignore") or chr(code) for code in line]
        return "".join(signs).encode()


@given(PIECES)
@example(b"\xf0\x9f\x98\x80\x80\n")
@example(b"\xe4")
def test_lines_of_a_piece_are_decoded_as_each_would_be_alone(piece: bytes) -> None:
    starts = csv_lines._starts(piece)
    lines = [piece[start:end] for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
    foreign = csv_lines._foreign_lines(piece, starts)
    assert foreign.tolist() == [not _is_utf8(line) for line in lines]
    assert csv_lines._from_mixed(piece, starts, foreign) == b"".join(read_alone(line) for line in lines)


def test_windows_letters_of_every_code_stay_apart() -> None:
    found = [csv_lines._from_windows(bytes([code])) for code in range(256)]
    assert len(set(found)) == 256
    assert found == [sign.encode() for sign in csv_lines._WINDOWS]


@pytest.mark.parametrize("encoding", [None, "utf-8", "latin-1"])
@given(lines=st.lists(LINES, max_size=6), odd=LINES, at=st.integers(0, 6), ends=st.lists(ENDS, min_size=8, max_size=8))
def test_one_line_never_changes_how_another_is_written(
    tmp_path_factory: pytest.TempPathFactory,
    encoding: str | None,
    lines: list[bytes],
    odd: bytes,
    at: int,
    ends: list[bytes],
) -> None:
    head = head_of(b"id,x" + ends[0], encoding=encoding)

    def written(rows: list[bytes]) -> list[bytes]:
        folder: Path = tmp_path_factory.mktemp("csv")
        file = io.BytesIO(b"".join(row + end for row, end in zip([b"id,x", *rows], ends, strict=False)))
        write_pieces(file.read, head, folder / "a.csv")
        return (folder / "a.csv").read_bytes().splitlines(keepends=True)

    at = min(at, len(lines))
    # Each line by itself, after the head, gives what it gives among the others.
    alone = [line for row in [*lines[:at], odd, *lines[at:]] for line in written([row])[1:]]
    assert written([*lines[:at], odd, *lines[at:]])[1:] == alone


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_cut_no_line_and_no_end_of_a_line(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(csv_lines, "_PIECE", size)
    for data in (b"a\r\nb\rc\n\r\r\nd", b"\r\r\r\n", b"\r", b"\n\r", b"ab\r\n" * 3 + b"\r" * 5):
        pieces = list(csv_lines._pieces(io.BytesIO(data).read))
        assert b"".join(pieces) == data
        for one, other in itertools.pairwise(pieces):
            assert one.endswith((b"\r", b"\n")) and not (one.endswith(b"\r") and other.startswith(b"\n"))


def test_many_returns_are_held_one_at_a_time() -> None:
    """A person's cell of returns must not make everybody wait."""
    reads: list[int] = []
    file = io.BytesIO(b"\r" * 5_000_000)

    def read(size: int) -> bytes:
        reads.append(size)
        return file.read(size)

    assert sum(map(len, csv_lines._pieces(read))) == 5_000_000
    assert len(reads) < 20


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_many_foreign_lines_are_converted_without_a_look_at_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file in Latin-1 costs array operations, not a parse of every cell."""
    monkeypatch.setattr(csv_lines, "_written_again", lambda *_: pytest.fail("parsed a line"))
    rows = np.random.default_rng(3).choice(np.array([b"1,K\xf6ln\n", b"2,Bonn\n", "3,Köln\n".encode()]), 5_000)
    parts = iter([b"id,city\n" + b"".join(rows.tolist())])
    write_pieces(lambda _: next(parts, b""), head_of(b"id,city\n"), tmp_path / "a.csv")
    expected = b"".join(read_alone(row) for row in rows.tolist())
    assert (tmp_path / "a.csv").read_bytes() == b"id,city\n" + expected

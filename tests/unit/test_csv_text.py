"""CSV text for spreadsheets: no cell is run as a formula, and rows come in pieces."""

from __future__ import annotations

import csv
import io

import pytest

from pydplib._csv_text import csv_pieces, safe_cell


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =cmd|' /C calc'!A0", "  =x"]
)
def test_safe_cell_defuses_what_begins_like_a_formula(cell: str) -> None:
    assert safe_cell(cell) == f"'{cell}"


def test_safe_cell_leaves_numbers_and_plain_words() -> None:
    assert [safe_cell(cell) for cell in (-1, 2.5, "chr", "a=b", None)] == [-1, 2.5, "chr", "a=b", ""]


@pytest.mark.parametrize("most", [1, 3, 7, 100])
def test_pieces_hold_every_row_once_however_they_are_cut(most: int) -> None:
    rows = [[str(number), "=x" if number % 2 else "a,b"] for number in range(7)]
    pieces = list(csv_pieces(["number", "-head"], rows, most=most))
    assert len(pieces) == 7 // most + 1
    found = list(csv.reader(io.StringIO("".join(pieces), newline="")))
    assert found[0] == ["number", "'-head"]
    assert found[1:] == [[number, cell.replace("=x", "'=x")] for number, cell in rows]

"""Cells of a sheet that are no value: missing, or "other"; the sheet is read, and everybody else counts as before."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import openpyxl
import pytest

import pydplib as dp
from pydplib.engine import Measure, Plan

SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 100, step=1),
        "kind": dp.Category(["a", "b"]),
        "day": dp.Date("2018-01-01", "2018-12-31"),
        "bph": dp.Flag(),
    },
    person="id",
    max_rows_per_person=1,
)
SUM = Measure("sum", "age", low=0, high=100, step=1)
DIGITS = "9" * 5_000
CELLS = {
    "digits": f'<c r="B4"><v>{DIGITS}</v></c>',
    "negative digits": f'<c r="B4"><v>-{DIGITS}</v></c>',
    "words": '<c r="B4"><v>abc</v></c>',
    "nothing": '<c r="B4"><v></v></c>',
    "infinite": '<c r="B4"><v>1e999</v></c>',
    "not a number": '<c r="B4"><v>nan</v></c>',
    "error": '<c r="B4" t="e"><v>#DIV/0!</v></c>',
    "no such text": '<c r="B4" t="s"><v>99999</v></c>',
    "no number of a text": '<c r="B4" t="s"><v>x</v></c>',
    "no such flag": '<c r="E4" t="b"><v>x</v></c>',
    "flag of digits": f'<c r="E4" t="b"><v>{DIGITS}</v></c>',
    "no such day": '<c r="D4" t="d"><v>2018-99-99</v></c>',
    "day beyond the calendar": '<c r="D4" s="1"><v>99999999999999</v></c>',
    "day of digits": f'<c r="D4" s="1"><v>{DIGITS}</v></c>',
    "no such column": '<c r="ZZZZZ4"><v>1</v></c>',
    "no such style": '<c r="B4" s="x"><v>1</v></c>',
}


def write(path: Path, cells: str) -> Path:
    """Write two people, and a third one whose cells are these."""
    import datetime as dt

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["id", "age", "kind", "day", "bph"])
    sheet.append(["p1", 50, "a", dt.date(2018, 1, 1), True])
    sheet.append(["p2", 60, "b", dt.date(2018, 1, 2), False])
    book.save(path.with_suffix(".clean.xlsx"))
    row = f'<row r="4"><c r="A4" t="inlineStr"><is><t>p3</t></is></c>{cells}</row></sheetData>'
    with zipfile.ZipFile(path.with_suffix(".clean.xlsx")) as clean, zipfile.ZipFile(path, "w") as made:
        for name in clean.namelist():
            data = clean.read(name)
            made.writestr(name, data.replace(b"</sheetData>", row.encode()) if "sheet1" in name else data)
    return path


@pytest.mark.parametrize("cell", CELLS)
def test_cell_of_a_sheet_that_is_no_value_is_missing_and_changes_nobody_else(cell: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # openpyxl would quote the cell in one
        table = dp.load(write(tmp_path / "a.xlsx", CELLS[cell]), SCHEMA)
    with table:
        unit = Plan(SCHEMA, measures=[Measure("count")]).scale
        assert table.aggregate(Plan(SCHEMA, measures=[Measure("count")])).values[0].tolist() == [3 * unit]
        by_kind = table.aggregate(Plan(SCHEMA, by=["kind"], measures=[Measure("count"), SUM]))
        assert [values.tolist()[:2] for values in by_kind.values] == [[unit, unit], [50 * unit, 60 * unit]]
        by_flag = table.aggregate(Plan(SCHEMA, by=["bph"], measures=[Measure("count")]))
        assert sorted(by_flag.values[0].tolist()) == [unit, unit]


def test_error_cell_in_a_category_is_other(tmp_path: Path) -> None:
    with dp.load(write(tmp_path / "a.xlsx", '<c r="C4" t="e"><v>#N/A</v></c>'), SCHEMA) as table:
        exact = table.aggregate(Plan(SCHEMA, by=["kind"], measures=[Measure("count")]))
        assert exact.values[0].tolist() == [65536, 65536, 65536]


def test_half_characters_of_a_sheet_are_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydplib.tables import sheets

    real = sheets._sheet_rows
    monkeypatch.setattr(sheets, "_sheet_rows", lambda s: (_with_half(i, row) for i, row in enumerate(real(s))))
    with dp.load(write(tmp_path / "a.xlsx", ""), SCHEMA) as table:
        exact = table.aggregate(Plan(SCHEMA, by=["kind"], measures=[Measure("count")]))
        assert exact.values[0].tolist() == [65536, 65536, 65536]


def _with_half(number: int, row: tuple[object, ...]) -> tuple[object, ...]:
    return ("p3", 5, "a\ud800", None, None) if number == 3 else row

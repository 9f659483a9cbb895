"""Tables as people keep them: separators, decimal commas, encodings, sheets; and what is said about broken ones."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path

import click
import pytest

from pydplib.cli.inputs import csv_options, said_options
from pydplib.errors import DataError, EngineError, ParameterError
from pydplib.tables import Tables, open_tables

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def tables(tmp_path: Path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    made = Tables(workspace)
    yield made
    made.close()


def sheet(path: Path, *rows: list[object], title: str = "one", more: bool = False) -> Path:
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    if more:
        book.create_sheet("two").append(["other"])
    book.save(path)
    return path


def test_german_csv_in_latin1_is_read_with_numbers_dates_codes_and_letters(tables: Tables, tmp_path: Path) -> None:
    text = 'Größe;PLZ;Tag;Name;n;w\n"1,5";01067;01.02.2017;Müller €;3;1.234,50\n2;80331;28.12.2018;"a;b";;2\n'
    (tmp_path / "a.csv").write_bytes(text.encode("cp1252"))
    table = tables.open(tmp_path / "a.csv")
    assert table.separator == ";"
    assert table.columns == {
        "Größe": "comma", "PLZ": "text", "Tag": "german date", "Name": "text", "n": "whole", "w": "comma"
    }  # fmt: skip
    assert table.relation.fetchall() == [
        (1.5, "01067", dt.date(2017, 2, 1), "Müller €", 3, 1234.5),
        (2.0, "80331", dt.date(2018, 12, 28), "a;b", None, 2.0),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_same_text_in_any_encoding_is_read_the_same(tables: Tables, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_text("Straße\tn\nÄußere Allee\t1\n", encoding=encoding)
    table = tables.open(tmp_path / "a.csv")
    assert list(table.columns) == ["Straße", "n"]
    assert table.relation.fetchall() == [("Äußere Allee", 1)]


def test_every_line_is_a_row_unless_cells_of_several_lines_are_declared(tables: Tables, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'n,note\n1,"two\nlines"\r2,one\r\n3,\xe4\n')
    with pytest.raises(DataError, match="--multiline"):
        tables.open(path)
    with open_tables() as plain, pytest.raises(DataError, match="--multiline"):
        plain.open(path)
    declared = click.Command("x", params=[*csv_options(click.Command("y")).params])
    with declared.make_context("x", ["--multiline"]), open_tables(said_options()) as several:
        found = several.open(path).relation.fetchall()
    assert found == [(1, "two\nlines"), (2, "one"), (3, "ä")]


@pytest.mark.parametrize("ends", [b"\r", b"\n", b"\r\n"])
def test_lines_end_each_by_itself(tables: Tables, tmp_path: Path, ends: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(b"a;b" + ends + b"1;x\r2;y\n3;z\r\n4;w")
    assert tables.open(tmp_path / "a.csv").relation.fetchall() == [(1, "x"), (2, "y"), (3, "z"), (4, "w")]


def test_latin1_letter_after_a_long_plain_beginning_is_still_noticed(tables: Tables, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a;b\n" + b"x;1\n" * 400_000 + "ü;2\n".encode("latin-1"))
    assert tables.open(tmp_path / "a.csv").relation.filter("b = 2").fetchall() == [("ü", 2)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_line_of_another_encoding_changes_no_other(tables: Tables, tmp_path: Path, end: str) -> None:
    plain = "".join(f"Köln;{number}{end}" for number in range(150_000)).encode()  # more than one piece of the file
    odd = f"Würzburg €;-1{end}".encode("cp1252")
    for name, content in (("first.csv", odd + plain), ("last.csv", plain + odd)):
        (tmp_path / name).write_bytes(f"Straße;n{end}".encode() + content)
        table = tables.open(tmp_path / name)
        assert list(table.columns) == ["Straße", "n"]
        found = table.relation.aggregate('"Straße", count(*)').fetchall()
        assert sorted(found) == [("Köln", 150_000), ("Würzburg €", 1)]


def test_comma_separated_file_keeps_thousands_as_text_and_points_as_decimals(tables: Tables, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('x,y,when\n2.5,"1,5",2017-01-02 10:00\n1e3,"2,5",2017-01-02T11:30:00\n')
    table = tables.open(tmp_path / "a.csv")
    assert table.columns == {"x": "number", "y": "text", "when": "time"}
    assert table.relation.fetchall()[1] == (1000.0, "2,5", dt.datetime(2017, 1, 2, 11, 30))


def test_impossible_dates_and_codes_with_zeros_stay_texts(tables: Tables, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("day;code;empty\n2017-02-30;007;\n2017-01-01;7; \n")
    table = tables.open(tmp_path / "a.csv")
    assert set(table.columns.values()) == {"text"}
    assert table.relation.fetchall() == [("2017-02-30", "007", None), ("2017-01-01", "7", None)]


def test_packed_csv_with_pipes_is_read(tables: Tables, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wt", encoding="utf-8") as file:
        file.write('a|b\n1|"x|""y"\n')
    assert tables.open(tmp_path / "a.csv.gz").relation.fetchall() == [(1, 'x|"y')]


def test_excel_sheet_is_read_like_a_file(tables: Tables, tmp_path: Path) -> None:
    rows = [
        [None, None],
        ["id", "when", "x", "flag"],
        [1.0, dt.datetime(2017, 3, 4), 2.5, True],
        ["007", None, 3, False],
    ]
    table = tables.open(sheet(tmp_path / "a.xlsx", *rows))
    assert table.format == "excel"
    assert table.relation.fetchall() == [("1", dt.date(2017, 3, 4), 2.5, "true"), ("007", None, 3.0, "false")]


def test_excel_with_several_sheets_asks_which(tables: Tables, tmp_path: Path) -> None:
    path = sheet(tmp_path / "a.xlsx", ["n"], [1], more=True)
    with pytest.raises(ParameterError, match="--sheet: one, two"):
        tables.open(path)
    with pytest.raises(ParameterError, match="no sheet 'tow'"):
        tables.open(path, sheet="tow")
    assert tables.open(path, sheet="one").rows() == 1


def test_parquet_keeps_its_types(tables: Tables, tmp_path: Path) -> None:
    tables.connection.execute(
        f"COPY (SELECT 1::SMALLINT a, 1.5::DECIMAL(4,1) b, DATE '2017-01-01' c, 'x' d) TO '{tmp_path}/a.parquet'"
    ).fetchall()
    assert tables.open(tmp_path / "a.parquet").columns == {"a": "whole", "b": "number", "c": "date", "d": "text"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n1,2\n", "first line is empty"),
        (b"a,,c\n1,2,3\n", "Column 2 has no name"),
        (b"a,A\n1,2\n", "Two columns are named 'A'"),
        (b"a,b\n1,CANARY\n3\n", "more or fewer columns"),
        (b"a,b\n1,CANARY\n3,4,5\n", "more or fewer columns"),
        (b'a,b\n1,"CANARY\n', "opens a quote"),
        (b"PAR1CANARY", "cannot be read as Parquet"),
        (b"PK\x03\x04CANARY", "cannot be read as an Excel file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1CANARY", "Excel's old format"),
        (b"\xff\xfea", "first line is empty"),
    ],
)
def test_broken_files_are_explained_without_their_content(
    tables: Tables, tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError) as caught:
        tables.open(tmp_path / "a.csv").relation.fetchall()
    assert words in str(caught.value)
    assert "CANARY" not in str(caught.value)


def test_sheet_with_cells_beyond_its_names_is_refused(tables: Tables, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="beyond its last named column"):
        tables.open(sheet(tmp_path / "a.xlsx", ["a"], [1, "CANARY"]))
    with pytest.raises(DataError, match="sheet is empty"):
        tables.open(sheet(tmp_path / "b.xlsx"))


def test_repr_of_a_table_shows_no_rows(tables: Tables, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n\nCANARY\n")
    assert "CANARY" not in repr(tables.open(tmp_path / "a.csv"))


def test_interrupted_query_counts_as_ctrl_c_and_other_errors_stay() -> None:
    with pytest.raises(KeyboardInterrupt), open_tables():
        raise RuntimeError("Query interrupted")
    with pytest.raises(EngineError), open_tables():
        raise EngineError("The worker was interrupted.")
    with pytest.raises(RuntimeError, match="else"), open_tables():
        raise RuntimeError("something else")


def test_workspace_is_gone_afterwards() -> None:
    with open_tables() as tables:
        folder = tables.workspace
        assert folder.exists()
    assert not folder.exists()

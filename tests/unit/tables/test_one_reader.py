"""One file, read by every part of the product: the same cells mean the same everywhere."""

from __future__ import annotations

import datetime as dt
import gzip
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import pydplib as dp
from pydplib.cli.answers.noise import command as noise
from pydplib.cli.answers.schema import propose
from pydplib.tables import CsvOptions, open_tables
from pydplib.tables.cells import day_text, decimals_of, number_text, truth_of

DAY, LATER, YES, NO = dt.date(2020, 2, 1), dt.date(2020, 12, 31), True, False

CELLS: dict[str, list[tuple[str, Any]]] = {
    "psa": [("1.234,5", 1234.5), ("0,5", 0.5), ("12", 12.0), ("1.234.567", 1234567.0), ("-3,25", -3.25), ("", None)],
    "visit": [("01.02.2020", DAY), ("1.2.2020", DAY), (" 01.02.2020 ", DAY), ("31.12.2020", LATER), ("", None),
              ("01.02.2020", DAY)],
    "bph": [("t", YES), ("wahr", YES), ("f", NO), ("nein", NO), ("JA", YES), ("", None)],
    "point": [("1.5", 1.5), ("1.234", 1.234), ("12", 12.0), ("1e2", 100.0), ("", None), ("-0.25", -0.25)],
}  # fmt: skip
"""Column -> its cells as a hospital's export writes them, and what each means."""

ROWS = len(CELLS["psa"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the export: semicolons, blanks around names, Latin-1 in one line."""
    lines = [" id ;psa ; visit;bph;point ;note"]
    lines += [";".join([f"p{i}", *(cells[i][0] for cells in CELLS.values()), "x"]) for i in range(ROWS)]
    raw = [line.encode() for line in lines]
    raw[1] = raw[1].replace(b";x", b";M\xfcller")
    path = tmp_path / "export.csv"
    path.write_bytes(b"\n".join(raw) + b"\n")
    return path


def meaning(column: str, value: Any) -> Any:
    """Return what a value read from the file means: yes and no may still be words."""
    if value is None or value != value:
        return None
    if isinstance(value, dt.datetime):
        return value.date()
    return truth_of(value) if column == "bph" and isinstance(value, str) else value


def test_typed_table_reads_every_cell_by_the_one_table(file: Path) -> None:
    with open_tables() as tables:
        table = tables.open(file)
        rows = table.relation.fetchall()
    assert table.columns == {
        "id": "text", "psa": "comma", "visit": "german date", "bph": "flag", "point": "number", "note": "text"
    }  # fmt: skip
    for place, column in enumerate(table.columns):
        if column in CELLS:
            assert [meaning(column, row[place]) for row in rows] == [wanted for _, wanted in CELLS[column]], column
    assert len({row[3] for row in rows if row[3] is not None}) == 2, "one spelling for yes and one for no"
    assert rows[0][5] == "Müller" and rows[1][5] == "x"


def test_load_counts_the_same_values(file: Path) -> None:
    schema = dp.Schema(
        {
            "psa": dp.Number(-10, 2_000_000), "visit": dp.Date("2019-01-01", "2021-01-01"), "bph": dp.Flag(),
            "point": dp.Number(-10, 200),
        },
        size=100,
    )  # fmt: skip
    from pydplib.engine import Measure, Plan

    with dp.load(file, schema) as table:
        kinds = {"psa": (-10, 2_000_000, 64), "point": (-10, 200, 0.002)}
        for column, (low, high, step) in kinds.items():
            wanted = [value for _, value in CELLS[column] if value is not None]
            found = table.aggregate(
                Plan(schema, measures=[Measure("sum", column, low=low, high=high, step=step, center=0)])
            )
            assert float(found.values[0].sum()) * step == pytest.approx(sum(wanted), abs=step * len(wanted))
        flags = table.aggregate(Plan(schema, by=["bph"], measures=[Measure("count")]))
        assert sorted(flags.values[0].tolist()) == [2, 3]
        check = table.check()
    assert check.misfits == ()


def test_anonymize_and_verify_take_the_same_table_by_its_path(file: Path) -> None:
    from pydplib.anonymity.tables.frames import Frame, SeenFrame

    for frame in (Frame(file), SeenFrame(file)):
        assert frame.columns == ["id", "psa", "visit", "bph", "point", "note"]
        for column, cells in CELLS.items():
            coded = frame.coded(column)
            values = [meaning(column, coded.values[code]) for code in coded.codes]
            assert values == [wanted for _, wanted in cells], column


def test_schema_init_proposes_the_same_kinds(file: Path) -> None:
    columns = tomllib.loads(propose(str(file)))["columns"]
    kinds = {name: entry["kind"] for name, entry in columns.items()}
    assert {name: kinds[name] for name in CELLS} == {
        "psa": "number", "visit": "date", "bph": "flag", "point": "number"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("column", "kind"),
    [("psa", "noisy values (numbers)"), ("visit", "dates"), ("bph", "true/false"), ("point", "noisy values (numbers)")],
)
def test_noise_takes_the_same_kinds(file: Path, tmp_path: Path, column: str, kind: str) -> None:
    done = CliRunner().invoke(
        noise,
        [str(file), "--column", column, "--query", "count", "--noise-factor", "low", "--on-missing", "drop",
         "--only-column", "-o", str(tmp_path / "out.csv")],
    )  # fmt: skip
    assert done.exit_code == 0, done.exception
    assert kind in done.stderr, done.stderr
    written = (tmp_path / "out.csv").read_text().split()
    assert written[0] == column and len(written) == 1 + sum(wanted is not None for _, wanted in CELLS[column])
    if column == "bph":
        assert {truth_of(word) for word in written[1:]} <= {True, False}


def test_the_platforms_import_reads_the_same_cells() -> None:
    decimals = decimals_of(";", None)
    for column, read in (("psa", float), ("point", float)):
        for text, wanted in CELLS[column]:
            assert wanted is None or read(number_text(text, decimals)) == wanted
    for text, wanted in CELLS["visit"]:
        assert day_text(text) == ("" if wanted is None else wanted.isoformat())
    for text, wanted in CELLS["bph"]:
        assert truth_of(text) is wanted


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.CSV.GZ", "a.csv.zst", "a.txt"])
@pytest.mark.parametrize("is_packed", [True, False])
def test_no_row_is_lost_to_the_name_of_a_packed_file(tmp_path: Path, name: str, is_packed: bool) -> None:
    raw = b"id;psa\n1;0,5\n2;1\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(raw) if is_packed else raw)
    with open_tables() as tables:
        assert tables.open(path).relation.fetchall() == [(1, 0.5), (2, 1.0)]
    with dp.load(path, dp.Schema({"psa": dp.Number(0, 10)})) as table:
        assert table.check().rows == 2


def test_a_damaged_gzip_is_said_in_plain_words(tmp_path: Path) -> None:
    raw = gzip.compress(b"")[:10] + b"\x07" + bytes(20)  # a block of a kind that there is not
    path = tmp_path / "a.csv.gz"
    path.write_bytes(raw)
    with open_tables() as tables, pytest.raises(dp.errors.DataError, match="cannot be read"):
        tables.open(path)
    with pytest.raises(dp.errors.DataError, match="cannot be read"):
        dp.load(path, dp.Schema({"psa": dp.Number(0, 10)}))


@pytest.mark.parametrize("cell", ["1e400", "1e100", "1" * 101, "0." + "1" * 101])
def test_a_number_that_load_finds_too_long_is_no_number_for_anybody(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "long.csv"
    path.write_text(f"id,psa\n1,2\n2,{cell}\n")
    with open_tables() as tables:
        assert tables.open(path).columns["psa"] == "text"
    with dp.load(path, dp.Schema({"psa": dp.Number(0, 10)})) as table:
        assert table.check().misfits


@pytest.mark.parametrize(("declared", "wanted"), [(None, ["text"]), (",", ["comma", 1234.0])])
def test_point_that_may_group_thousands_is_never_read_as_two_numbers(
    tmp_path: Path, declared: str | None, wanted: list[Any]
) -> None:
    path = tmp_path / "unclear.csv"
    path.write_text("id;psa\n1;3,5\n2;1.234\n")
    with open_tables() as tables:
        table = tables.open(path, options=CsvOptions(decimal=declared))
        values = [row[1] for row in table.relation.fetchall()]
    assert table.columns["psa"] == wanted[0]
    assert values[1] == (wanted[1] if declared else "1.234")

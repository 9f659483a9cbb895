"""CSV in the wild: German files, other encodings, and odd rows that never choose between answer and error."""

from __future__ import annotations

import gzip
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pydplib as dp
from pydplib.engine import Bound, Measure, Plan
from pydplib.errors import DataError, ParameterError, SchemaError

SCHEMA = dp.Schema(
    {
        "psa": dp.Number(0, 100),
        "day": dp.Date("2017-01-01", "2018-12-31"),
        "bph": dp.Flag(),
        "ort": dp.Category(["Köln", "Bonn"]),
    },
    name="befunde",
)
PLAN = Plan(
    SCHEMA,
    by=["ort"],
    measures=[
        Measure("sum", "psa", low=0, high=100, step=0.5),
        Measure("count", "day"),
        Measure("sum", "bph", low=0, high=1, step=1),
        Measure("count", "bph"),
    ],
)
LINES = ["id;psa;day;bph;ort", "1;6,5;31.12.2017;ja;Köln", "2;7;2018-01-02;Nein;Köln", "3;1,0;31.02.2017;NEIN;Bonn"]
EXPECTED = [[27, 2, 0], [2, 0, 0], [1, 0, 0], [2, 1, 0]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_german_file_is_read_as_declared(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "befunde.csv"
    path.write_bytes("\r\n".join([*LINES, ""]).encode(encoding))
    with dp.load(path, SCHEMA) as table:
        assert [values.tolist() for values in table.aggregate(PLAN).values] == EXPECTED


def test_german_days_and_words_count_alike_on_polars(tmp_path: Path) -> None:
    rows = [line.split(";") for line in LINES[1:]]
    frame = pl.DataFrame({
        "psa": [6.5, 7.0, 1.0], "day": [r[2] for r in rows], "bph": [r[3] for r in rows], "ort": [r[4] for r in rows]
    })  # fmt: skip
    with dp.load(frame, SCHEMA) as table:
        assert [values.tolist() for values in table.aggregate(PLAN).values] == EXPECTED


def test_options_of_the_owner_decide_before_the_head_does(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('x,y\n"6,5",1\n7.5,1\n')
    schema = dp.Schema({"x": dp.Number(0, 100)}, name="t")
    plan = Plan(schema, measures=[Measure("sum", "x", low=0, high=100, step=0.5)])
    for decimal, total in ((None, 15), (".", 15), (",", 13)):
        with dp.load(path, schema, decimal=decimal) as table:
            assert table.aggregate(plan).values[0].tolist() == [total]
    for wrong in ({"separator": ";;"}, {"decimal": "'"}, {"encoding": "ebcdic"}):
        with pytest.raises(ParameterError):
            dp.load(path, schema, **wrong)


def test_private_copy_of_a_file_with_odd_lines_is_gone_when_it_is_loaded(tmp_path: Path) -> None:
    from pydplib.engine.stores.duckdb_engine import spill_folder

    path = tmp_path / "befunde.csv"
    path.write_bytes("\n".join([*LINES, ""]).encode("latin-1"))
    with dp.load(path, SCHEMA) as table:
        assert list(Path(spill_folder()).glob("*.csv")) == []
        path.unlink()  # what happens to the file later changes no answer
        assert [values.tolist() for values in table.aggregate(PLAN).values] == EXPECTED


ODD = {
    "long": b"70000,50," + b"x" * 3_000_000 + b"\n",
    "longer": b"70000,50," + b"x" * 20_000_000 + b"\n",
    "return": b"70000,50,a\rb\n",
    "quote inside": b'70000,50,a"b\n',
    "text after a quote": b'70000,50,"a"b\n',
    "open quote at the end": b'70000,50,"abc\n',
    "many cells": b"70000,50,a,b,c\n",
    "few cells": b"70000\n",
    "no UTF-8": b"70000,50,\xff\xfe\n",
    "null": b"70000,50,a\0b\n",
    "line feed in quotes": b'70000,50,"a\nb"\n',
    "ends with a return": b"70000,50,a\r",
    "many returns": b"70000,50,a" + b"\r" * 2_000_000,
    "ends with both": b"70000,50,a\r\n",
    "ends the wrong way round": b"70000,50,a\n\r",
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", [0, 15_000, 30_000])
def test_odd_row_moves_the_answer_by_its_own_person_only(tmp_path: Path, odd: str, place: int) -> None:
    path = tmp_path / "a.csv"
    lines = [b"%d,50,ok\n" % i for i in range(30_000)]
    path.write_bytes(b"id,age,note\n" + b"".join(lines[:place]) + ODD[odd] + b"".join(lines[place:]))
    schema = dp.Schema(
        {"age": dp.Number(0, 100), "note": dp.Category(["ok"])}, person="id", max_rows_per_person=1, name="t"
    )
    with dp.load(path, schema) as table:
        for by in ((), ("note",)):
            values = table.aggregate(Plan(schema, by=by, measures=[Measure("count")])).values[0]
            # The line after a break ('b', 'b"') has too few cells, and is left out by itself.
            assert 0 <= values.sum() - 30_000 * 2**16 <= 2**16
            assert by == () or values[0] == 30_000 * 2**16


SEXES = dp.Schema({"sex": dp.Category(["männlich", "weiblich"])}, person="id", max_rows_per_person=1, name="t")
BY_SEX = Plan(SEXES, by=["sex"], measures=[Measure("count")])


def counts(path: Path, **options: object) -> list[int]:
    with dp.load(path, SEXES, **options) as table:
        return [value // 2**16 for value in table.aggregate(BY_SEX).values[0].tolist()]


def test_one_byte_of_one_person_changes_nobody_elses_cells(tmp_path: Path) -> None:
    """A name in Latin-1, in a column that nobody declared: every other line is still UTF-8."""
    path = tmp_path / "a.csv"
    head = b"id,sex,remark\n"
    lines = "".join(f"{i},{('männlich', 'weiblich')[i % 2]},ok\n" for i in range(1000)).encode()
    path.write_bytes(head + lines)
    assert counts(path) == [500, 500, 0]
    for odd in ("x,weiblich,M\xfcller\n", "x,weiblich,M\xfcller"):
        for content in (head + odd.encode("latin-1").rstrip() + b"\n" + lines, head + lines + odd.encode("latin-1")):
            path.write_bytes(content)
            assert counts(path) == [500, 501, 0]
            assert counts(path, encoding="utf-8") == [500, 501, 0]


def test_lines_of_two_encodings_are_read_each_by_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,sex\n" + "1,männlich\n".encode() + "2,männlich\n".encode("cp1252"))
    assert counts(path) == [2, 0, 0]
    assert counts(path, encoding="utf-8") == [1, 0, 1]
    assert counts(path, encoding="latin-1") == [1, 0, 1]


def test_ids_of_wrong_bytes_are_nobody_when_the_encoding_is_declared_and_two_people_when_not(tmp_path: Path) -> None:
    """As M?ller both would be one person, under one bound."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,sex\nM\xfcller,weiblich\nM\xf6ller,weiblich\nM\x81ller,weiblich\nMeier,weiblich\n")
    assert counts(path) == [0, 4, 0]
    assert counts(path, encoding="utf-8") == [0, 1, 0]


def test_open_quotes_hide_nobody(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    junk = [
        '{i},"weiblich',
        '"{i},weiblich',
        '{i},wei"blich',
        '{i},"a"b"',
        '{i},weiblich,"',
        '""{i}",weiblich',
        '{i}","',
    ]
    lines = [f"{i},{('männlich', 'weiblich')[i % 2]}" for i in range(60)]
    for place in range(0, 60, 7):
        odd = [form.format(i=f"j{place}-{n}") for n, form in enumerate(junk)]
        path.write_text("\n".join(["id,sex", *lines[:place], *odd, *lines[place:]]), encoding="utf-8")
        found = counts(path)
        assert found[0] == 30
        assert 30 <= found[1] <= 30 + len(junk)
    # Two quotes that would fit each other, with everybody between them.
    for first, last in (('x,"weiblich', 'y,weiblich"'), ('"x', 'y",weiblich')):
        path.write_text("\n".join(["id,sex", first, *lines, last, ""]), encoding="utf-8")
        found = counts(path)
        assert found[0] == 30 and 30 <= found[1] <= 32


@settings(max_examples=30)
@given(
    odd=st.lists(st.binary(max_size=60).map(lambda raw: re.sub(b"[\r\n]", b"", raw)), min_size=1, max_size=4),
    place=st.integers(0, 40), quoted=st.booleans(), ends=st.sampled_from([b"\n", b"\r\n"]),
)  # fmt: skip
@example(odd=[b'"'], place=3, quoted=True, ends=b"\n")
@example(odd=[b'x,"weiblich', b'y,weiblich"'], place=0, quoted=True, ends=b"\r\n")
@example(odd=[b'"",""",\xff'], place=40, quoted=True, ends=b"\n")
def test_lines_of_any_bytes_leave_all_other_lines_as_they_are(
    odd: list[bytes], place: int, quoted: bool, ends: bytes
) -> None:
    sign = '"' if quoted else ""
    lines = [f"{sign}p{i}{sign},{sign}{('männlich', 'weiblich')[i % 2]}{sign}".encode() for i in range(40)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(ends.join([b"id,sex", *lines[:place], *odd, *lines[place:], b""]))
        found = counts(path)
    assert 20 <= found[0] <= 20 + len(odd) and 20 <= found[1] <= 20 + len(odd)
    assert sum(found) <= 40 + len(odd)


def test_cells_of_several_lines_are_declared(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,sex,remark\n1,männlich,"two\nlines, and a ""word"", too"\n2,weiblich,ok\n', encoding="utf-8")
    assert counts(path, multiline=True) == [1, 1, 0]
    assert counts(path) == [1, 1, 1]  # the second line of the cell has enough cells, and is a row of its own
    path.write_bytes('id,sex,remark\n1,männlich,"ä\nö"\n2,weiblich,ok\n'.encode("latin-1"))
    assert counts(path, multiline=True) == [1, 1, 0]
    with pytest.raises(ParameterError, match="multiline"):
        dp.load(path, SEXES, multiline="yes")


def zstandard(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


@pytest.mark.parametrize("packing", ["none", "gzip", "zstd"])
def test_packed_files_and_odd_lines_are_read_alike(tmp_path: Path, packing: str) -> None:
    content = "id;sex\n1;männlich\n".encode() + b'2;"weiblich\n3;m\xe4nnlich\n\xff;;\n4;weiblich\n'
    path = tmp_path / {"none": "a.csv", "gzip": "a.csv.gz", "zstd": "a.csv.zst"}[packing]
    packed = {"none": bytes, "gzip": gzip.compress, "zstd": zstandard}
    path.write_bytes(packed[packing](content))
    assert counts(path) == [2, 2, 0]


@pytest.mark.parametrize("code", [*range(0x80, 0xA0), 0xFF])
def test_no_byte_keeps_a_zstandard_file_from_being_read(tmp_path: Path, code: int) -> None:
    path = tmp_path / "a.csv.zst"
    clean = "id;sex;remark\n1;männlich;Äß\n\n2;weiblich;\n".encode()
    path.write_bytes(zstandard(clean + b"3;weiblich;" + bytes([code]) + b"\n"))
    assert counts(path) == [1, 2, 0]


def test_zstandard_files_are_read_like_any_other(tmp_path: Path) -> None:
    text = "id;sex\n1;männlich\n2;weiblich\n"
    path = tmp_path / "a.csv.zst"
    path.write_bytes(zstandard(text.encode("utf-16")))
    assert counts(path) == [1, 1, 0]
    path.write_bytes(zstandard(text.encode()) + zstandard(b"3;weiblich\n"))  # one pack after another
    assert counts(path) == [1, 2, 0]
    path.write_bytes(zstandard(text.encode() * 1000)[:-9])
    with pytest.raises(DataError, match="cannot be read"):
        counts(path)


def test_zstandard_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv.zst"
    path.write_bytes(zstandard(b"id;sex\n1;x\n"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(dp.errors.MissingExtraError, match=r"pydplib\[tables\]"):
        counts(path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard])
def test_what_is_at_an_address_is_read_like_a_file(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(pack("id;sex\n1;männlich\n".encode() + b'2;"weiblich\n3;m\xe4nnlich\n\x9f;;\n4;weiblich\n'))
    assert counts(f"file://{path}") == [2, 2, 0]
    with pytest.raises(DataError, match="cannot be read"):
        counts(f"file://{tmp_path}/b.csv")


def test_files_of_a_pattern_have_their_own_odd_lines_and_the_same_first_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,sex\n1,männlich\n", encoding="utf-8")
    (tmp_path / "b.csv").write_bytes('id,sex\n2,männlich\n3,"weiblich\n'.encode("latin-1"))
    assert counts(tmp_path / "*.csv") == [2, 1, 0]
    (tmp_path / "c.csv").write_text("sex,id\nweiblich,4\n", encoding="utf-8")
    with pytest.raises(DataError, match="different lines"):
        counts(tmp_path / "*.csv")
    with pytest.raises(DataError, match="No file fits"):
        counts(tmp_path / "*.tsv")


ENDS = [b"\n", b"\r\n", b"\r"]


@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize("multiline", [False, True])
@settings(max_examples=6)
@given(st.lists(st.sampled_from(ENDS), min_size=1, max_size=8))
@example([b"\r", b"\r\n", b"\n", b"\r\n"])
def test_every_line_ends_by_itself_whatever_ends_the_others(multiline: bool, first: bytes, ends: list[bytes]) -> None:
    lines = [f"p{i},{('männlich', 'weiblich')[i % 2]}".encode() for i in range(len(ends))]
    people = dp.Schema({"sex": dp.Category(["männlich", "weiblich"])}, name="t")  # a line more is a person more
    with tempfile.TemporaryDirectory() as folder:
        for name, compress in (("a.csv", bytes), ("a.csv.zst", zstandard)):
            path = Path(folder) / name
            path.write_bytes(compress(b"id,sex" + first + b"".join(map(bytes.__add__, lines, ends))))
            assert counts(path, multiline=multiline) == [(len(ends) + 1) // 2, len(ends) // 2, 0]
            cells = [line[3:] for line in lines]
            path.write_bytes(compress(b"sex" + first + b"".join(map(bytes.__add__, cells, ends))))
            with dp.load(path, people, multiline=multiline) as table:
                by_sex, rows = (
                    table.aggregate(Plan(people, by=by, measures=[Measure("count")])).values[0].tolist()
                    for by in (["sex"], [])
                )
            assert by_sex == [(len(ends) + 1) // 2, len(ends) // 2, 0], (name, ends)
            assert rows == [len(ends)], (name, ends)  # with rows of nothing, which have no sex


def test_breaks_inside_declared_cells_stay_and_lines_after_them_too(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    schema = dp.Schema({"t": dp.Text()}, person="id", max_rows_per_person=1, max_groups_per_person=2, name="t")
    plan = Plan(schema, by={"t": None}, bound=Bound("id", 1, mode="sample", max_groups=2, salt="s"),
                measures=[Measure("count")])  # fmt: skip
    cells = ["a\rb", "a\r\nb", "a\nb", "\r", "plain"]
    for ends in ("\n", "\r\n", "\r"):
        lines = [f'{i},"{cell}"' for i, cell in enumerate(cells)]
        path.write_text(ends.join(["id,t", *lines]) + "\r", encoding="utf-8", newline="")
        with dp.load(path, schema, multiline=True) as table:
            assert sorted(key[0] for key in table.aggregate(plan).keys) == sorted(cells)


def test_first_line_with_an_open_quote_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,"sex\n1,weiblich\n', encoding="utf-8")
    with pytest.raises(DataError, match="opens a quote"):
        counts(path)


def test_csv_with_a_declared_name_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Age,age\n1,2\n")
    with pytest.raises(SchemaError, match="several columns"):
        dp.load(path, dp.Schema({"age": dp.Number(0, 100)}, name="t"))


def test_pandas_cell_with_half_a_character_is_one_cell_of_no_known_value() -> None:
    frame = pd.DataFrame({"id": range(100), "note": pd.Series(["ok"] * 99 + ["\ud800"], dtype=object)})
    schema = dp.Schema({"note": dp.Category(["ok"])}, person="id", max_rows_per_person=1, name="t")
    with dp.load(frame, schema) as table:
        counts = table.aggregate(Plan(schema, by=["note"], measures=[Measure("count")])).values[0]
    assert counts.tolist() == [99 * 2**16, 2**16]
    assert frame["note"].iloc[99] == "\ud800"  # the caller's frame stays as it is

"""verify, risk and the certificate count as one class only what nobody can tell apart."""

from __future__ import annotations

import datetime as dt
import decimal
import unicodedata

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

from pydplib.anonymity import Hierarchy, KAnonymity, LDiversity, anonymize, risk, verify
from pydplib.anonymity.tables import frames
from pydplib.anonymity.tables.frames import Frame
from pydplib.cli import main as cli_main

NAN = float("nan")


def arrow(cells, kind=None):
    return pa.table({"x": pa.array(cells, kind)})


def polars(cells):
    return pl.DataFrame({"x": cells})


def mixed(*cells):
    return pd.DataFrame({"x": pd.Series(list(cells), dtype=object)})


def extension(cells):
    return pd.DataFrame({"x": pd.Series(pa.array(cells), dtype=pd.ArrowDtype(pa.float64()))})


def relation(*cells):
    return duckdb.connect().sql(f"FROM (VALUES {', '.join(f'({cell})' for cell in cells)}) t(x)")


NFC, NFD = unicodedata.normalize("NFC", "Zoé"), unicodedata.normalize("NFD", "Zoé")
HALF_PAST = dt.datetime(2020, 1, 1, 12, 30)

APART = {
    "null and NaN, Polars": lambda: polars([1.0, 1.0, None, NAN]),
    "null and NaN, PyArrow": lambda: arrow([1.0, 1.0, None, NAN]),
    "null and NaN, chunks": lambda: pa.concat_tables([arrow([1.0, 1.0, None]), arrow([NAN])]),
    "null and NaN, dictionary": lambda: pa.table({"x": pa.array([1.0, 1.0, None, NAN]).dictionary_encode()}),
    "null and NaN, 32 bits": lambda: arrow([1.0, 1.0, None, NAN], pa.float32()),
    "null and NaN, pandas on PyArrow": lambda: extension([1.0, 1.0, None, NAN]),
    "None and NaN, objects": lambda: mixed("a", "a", None, NAN),
    "None and NA, objects": lambda: mixed("a", "a", None, pd.NA),
    "NaN and NaT, objects": lambda: mixed("a", "a", NAN, pd.NaT),
    "null and NaN, DuckDB": lambda: relation("1.0::DOUBLE", "1.0", "NULL", "'nan'"),
    "zeros, pandas": lambda: pd.DataFrame({"x": [1.0, 1.0, 0.0, -0.0]}),
    "zeros, Polars": lambda: polars([1.0, 1.0, 0.0, -0.0]),
    "zeros, PyArrow": lambda: arrow([1.0, 1.0, 0.0, -0.0]),
    "zeros, DuckDB": lambda: relation("1.0::DOUBLE", "1.0", "0.0", "-0.0::DOUBLE"),
    "zeros, objects": lambda: mixed("a", "a", 0.0, -0.0),
    "number and text": lambda: mixed("a", "a", 1, "1"),
    "whole and number": lambda: mixed("a", "a", 1, 1.0),
    "truth and whole": lambda: mixed("a", "a", 1, True),
    "decimals": lambda: mixed("a", "a", decimal.Decimal("1.0"), decimal.Decimal("1.00")),
    "zones of one moment": lambda: mixed(
        "a", "a", HALF_PAST.replace(tzinfo=dt.UTC),
        HALF_PAST.replace(hour=13, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    ),
    "space at the end": lambda: pd.DataFrame({"x": ["a", "a", "b", "b "]}),
    "space at the end, Polars": lambda: polars(["a", "a", "b", "b "]),
    "case": lambda: arrow(["a", "a", "b", "B"]),
    "case, DuckDB": lambda: relation("'a'", "'a'", "'b'", "'B'"),
    "unicode forms": lambda: pd.DataFrame({"x": ["a", "a", NFC, NFD]}),
    "unicode forms, Polars": lambda: polars(["a", "a", NFC, NFD]),
    "unicode forms, DuckDB": lambda: relation("'a'", "'a'", f"'{NFC}'", f"'{NFD}'"),
    "empty text and null": lambda: polars(["a", "a", "", None]),
    "long numbers, DuckDB": lambda: relation("1::HUGEINT", "1", "9007199254740992", "9007199254740993"),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_cells_that_can_be_told_apart_are_apart(name):
    found = verify(APART[name](), ["x"])
    assert (found.k, found.classes) == (1, 3)
    known = risk(APART[name](), ["x"])
    assert (known.classes, known.unique, known.prosecutor.maximum) == (3, 0.5, 1.0)


PLANTED = [name for name in APART if "null and NaN" in name or name.startswith(("zeros", "None", "whole", "decimals"))]


@pytest.mark.parametrize("name", [n for n in PLANTED if n != "zeros, PyArrow"])
def test_codes_by_value_would_claim_a_larger_k(name, monkeypatch):
    """The twin: with the codes that the search uses, which join such cells, k is 2."""
    monkeypatch.setattr(frames.SeenFrame, "seen", Frame.coded)
    assert verify(APART[name](), ["x"]).k == 2
    assert risk(APART[name](), ["x"]).unique == 0.0


ALIKE = {
    "NaN, pandas": lambda: pd.DataFrame({"x": [1.0, 1.0, NAN, NAN]}),
    "NaN of two payloads": lambda: pd.DataFrame(
        {"x": np.array([0x3FF0000000000000] * 2 + [0x7FF8000000000000, 0x7FF8000000000001], dtype="u8").view("f8")}
    ),
    "null, Polars": lambda: polars([1.0, 1.0, None, None]),
    "None, objects": lambda: mixed("a", "a", None, None),
    "numbers of two libraries": lambda: mixed("a", "a", 1.0, np.float64(1.0)),
}


@pytest.mark.parametrize("name", ALIKE)
def test_cells_that_nobody_can_tell_apart_are_one_class(name):
    assert (verify(ALIKE[name](), ["x"]).k, verify(ALIKE[name](), ["x"]).classes) == (2, 2)


FILES = {
    "leading zero": ("01067", "1067"),
    "digits after the point": ("1.0", "1.00"),
    "exponent": ("10", "1e1"),
    "quoted nothing": ('""', ""),
    "spaces": ("b ", "b"),
    "spaces around a number": ("7", " 7"),
    "words of truth": ("true", "TRUE"),
    "days": ("2020-01-01", "2020-1-1"),
    "case": ("b", "B"),
    "unicode forms": (NFC, NFD),
    "minus nothing": ("0", "-0"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("separator", [",", ";"])
def test_spellings_in_a_csv_file_are_apart(tmp_path, name, separator):
    path = tmp_path / "table.csv"
    first, second = FILES[name]
    lines = ["x,y", "3,1", "3,1", f"{first},1", f"{second},1"]
    path.write_text("\n".join(lines).replace(",", separator) + "\n", encoding="utf-8")
    assert (verify(path, ["x"]).k, verify(str(path), ["x"]).classes) == (1, 3)
    assert risk(path, ["x"]).unique == 0.5
    for command in ("verify", "risk"):
        done = CliRunner().invoke(_command(command), [str(path), "--quasi", "x", "--json"])
        assert done.exit_code == 0, done.output
        assert '"classes": 3' in done.output


def _command(name):
    import importlib

    assert callable(cli_main)
    return importlib.import_module(f"pydplib.cli.tables.{name}").command


def test_decimal_commas_and_encodings_keep_their_spellings(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("größe;y\n1,5;1\n1,5;1\n1,50;1\n2,5;1\n2,5;1\n".encode("latin-1"))
    done = CliRunner().invoke(_command("verify"), [str(path), "--quasi", "größe", "--json"])
    assert '"k": 1' in done.output and '"classes": 3' in done.output


def test_texts_and_numbers_of_a_sheet_are_apart(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["x", "y"], [7, 1], [7, 2], ["7", 3], [7, 4]):
        book.active.append(row)
    path = tmp_path / "table.xlsx"
    book.save(path)
    done = CliRunner().invoke(_command("verify"), [str(path), "--quasi", "x", "--json"])
    assert '"k": 1' in done.output and '"classes": 2' in done.output


def test_numbers_of_a_sensitive_column_keep_their_order_in_a_csv_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,s\na,2\na,10\nb,2.0\nb,10\n")
    found = verify(path, ["x"], "s").sensitive["s"]
    # 2 and 2.0 are one value: another spelling is no diversity.
    assert found.l_distinct == 2 and found.t_equal == 0.0


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_null_and_nan_of_a_sensitive_column_are_not_diversity(make):
    table = make({"q": ["a", "a", "b", "b"], "s": [None, NAN, 1.0, 2.0]})
    assert verify(table, ["q"], "s").sensitive["s"].l_distinct == 1


@pytest.mark.parametrize("name", [n for n in APART if n.startswith(("null and NaN", "zeros", "None", "whole"))])
def test_output_of_anonymize_has_one_form_of_what_counts_as_one_value(name):
    table = APART[name]()
    result = anonymize(table, ["x"], models=[KAnonymity(2)])
    assert result.certificate.holds and result.certificate.k == 2
    assert verify(result.data, ["x"]).k == 2


def test_certificate_sees_two_forms_that_an_output_would_show(monkeypatch):
    """A planted fault: rows are taken as they are, so null and NaN both come out."""
    table = polars([1.0, 1.0, None, NAN])
    real = Frame.take
    monkeypatch.setattr(Frame, "take", lambda self, name, rows, coded=None: real(self, name, rows))
    result = anonymize(table, {"x": Hierarchy.flat([1.0])}, models=[KAnonymity(2)])
    assert not result.certificate.holds and result.certificate.k == 1


def test_population_is_matched_by_what_cells_mean(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n30,1\n30,1\n31,1\n")
    everybody = pd.DataFrame({"x": [30, 30, 30, 30, 31, 31, 99]})
    found = risk(path, ["x"], population=everybody)
    assert found.journalist.maximum == 0.5
    assert found.marketer == pytest.approx((2 / 4 + 1 / 2) / 3)
    both = risk(polars([1.0, None, NAN]), ["x"], population=polars([1.0, 1.0, None, NAN, None]))
    assert both.classes == 3 and both.journalist.maximum == pytest.approx(1 / 2)


def test_earlier_releases_in_files_are_compared_by_what_cells_mean(tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("x;s\n1,5;a\n1,5;b\n")
    second.write_text("x;s\n1,50;a\n1,50;b\n")
    done = CliRunner().invoke(
        _command("verify"), [str(second), "--quasi", "x", "--sensitive", "s", "--previous", str(first), "--json"]
    )
    assert '"across_releases"' in done.output
    assert '"k": 2' in done.output.split("across_releases")[1]


def test_diversity_models_still_see_values_of_the_search():
    table = pd.DataFrame({"x": [1.0, 1.0, 2.0, 2.0], "s": [0.0, -0.0, 1.0, 0.0]})
    result = anonymize(table, {"x": Hierarchy.flat([1.0, 2.0])}, "s", models=[LDiversity(2)])
    assert result.levels == {"x": 1}

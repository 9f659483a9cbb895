"""Whether cells fit their declarations is told in words, alike on every engine that speaks SQL."""

from __future__ import annotations

import pyarrow as pa
import pytest

import pydplib as dp
from pydplib.engine.readable import find_misfits

SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 100),
        "lesions": dp.Integer(0, 9),
        "bph": dp.Flag(),
        "site": dp.Category(["a", "b"]),
        "any": dp.Category(["a", "other"]),
        "note": dp.Text(),
    },
    person="id",
)
SQL = ["duckdb", "parquet", "relation", "pandas", "sqlite"]
SQL += [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("postgres", "spark")]
on_every_database = pytest.mark.parametrize("engine_name", SQL, indirect=True, scope="session")


def told(place, **cells: list[object]) -> list[str]:
    rows = {name: cells.get(name, ["1", "2", None]) for name in ("age", "lesions", "any", "note")}
    rows |= {"id": cells.get("id", ["p", "q", "r"]), "bph": cells.get("bph", ["ja", "", "n"])}
    rows |= {"site": cells.get("site", ["a", None, "b"])}
    table = place(pa.table({name: pa.array(column, pa.string()) for name, column in rows.items()}), SCHEMA)
    return [str(misfit) for misfit in find_misfits(table.engine)]


@on_every_database
def test_cells_that_fit_and_empty_ones_are_not_spoken_of(place):
    assert told(place, age=["12", " 7.5 ", " "], lesions=["1e0", "", None]) == []


@on_every_database
def test_cells_that_do_not_fit_are_told_by_a_word_and_never_shown(place):
    found = told(
        place, age=["n/a", "7", "8"], lesions=["CANARY", "x", None], bph=["maybe", "ja", ""], site=["c", "d", "C"],
        any=["zzz", None, "a"], id=["p", None, ""],
    )  # fmt: skip
    assert found == [
        "Column 'age': some cells cannot be read as a number. They count as missing.",
        "Column 'lesions': no cell can be read as a number. All count as missing: is it another kind, or written in "
        "another way?",
        "Column 'bph': some cells cannot be read as yes or no (true/false, ja/nein, 1/0). They count as missing.",
        "Column 'site': no cell is in the list of values. All count as 'other'.",
        "Person column 'id': some rows do not say whose they are. They do not count.",
    ]


@pytest.mark.parametrize("engine_name", ["duckdb", "parquet", "sqlite"], indirect=True, scope="session")
def test_numbers_days_and_nan_of_typed_columns_fit(place):
    schema = dp.Schema({"x": dp.Number(0, 1), "day": dp.Date("2018-01-01", "2018-12-31"), "k": dp.Category([1, 2])})
    columns = {"x": [float("nan"), 1e300, None], "day": [None, "2018-02-31", "31.12.2018"], "k": [1, 3, 2]}
    table = place(pa.table(columns), schema)
    assert [str(misfit).split(":")[0] for misfit in find_misfits(table.engine)] == ["Column 'day'", "Column 'k'"]

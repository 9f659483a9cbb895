"""Which cells fit, and what limit and bounds leave out, is told alike on every engine."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import pydplib as dp

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
    max_rows_per_person=1,
)
SQL = ["duckdb", "parquet", "relation", "pandas", "sqlite", "polars"]
SQL += [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("postgres", "spark")]
on_every_database = pytest.mark.parametrize("engine_name", SQL, indirect=True, scope="session")


def told(place, **cells: list[object]) -> list[str]:
    rows = {name: cells.get(name, ["1", "2", None]) for name in ("age", "lesions", "any", "note")}
    rows |= {"id": cells.get("id", ["p", "q", "r"]), "bph": cells.get("bph", ["ja", "", "n"])}
    rows |= {"site": cells.get("site", ["a", None, "b"])}
    table = place(pa.table({name: pa.array(column, pa.string()) for name, column in rows.items()}), SCHEMA)
    return [str(misfit) for misfit in table.check().misfits]


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
    assert [str(misfit).split(":")[0] for misfit in table.check().misfits] == ["Column 'day'", "Column 'k'"]


LIMITED = dp.Schema(
    {"age": dp.Number(0, 100), "lesions": dp.Integer(0, 9), "day": dp.Date("2018-01-01", "2018-12-31")},
    person="id",
    max_rows_per_person=2,
    name="visits",
)


def visits() -> pa.Table:
    """Persons with 1 to 30 rows, values beyond all bounds, and rows of nobody."""
    people = [f"p{i}" for i in range(1, 31) for _ in range(i)]
    ages = [[-5.0, 40.0, 100.0, 140.0, float("nan")][i % 5] for i in range(len(people))]
    lesions = [[0, 9, 12, None][i % 4] for i in range(len(people))]
    days = [[dt.date(1990, 1, 1), dt.date(2018, 5, 1), dt.date(2030, 1, 1)][i % 3] for i in range(len(people))]
    return pa.table(
        {
            "id": pa.array([*people, None, ""], pa.string()),
            "age": pa.array([*ages, 900.0, 900.0], pa.float64()),
            "lesions": pa.array([*lesions, 99, 99], pa.int64()),
            "day": pa.array([*days, None, None], pa.date32()),
        }
    )


def test_check_counts_what_limit_and_bounds_leave_out_exactly(place) -> None:
    found = place(visits(), LIMITED).check()
    numbers = range(1, 31)
    rows = sum(numbers)
    assert (found.rows, found.persons, found.persons_over) == (rows, 30, 28)
    for limit, kept in found.kept.items():
        assert kept == sum(min(n, limit) for n in numbers) / rows, limit
    assert (found.limit_for(0.6), found.limit_for(0.95), found.limit_for(0.99)) == (20, 50, 50)
    assert dict(found.below) == {"age": 93, "lesions": 0, "day": 155}
    assert dict(found.above) == {"age": 93, "lesions": 116, "day": 155}
    assert "28 persons have more" in str(found) and "the guarantee does not cover that choice" in str(found)


def test_check_without_a_person_column_counts_rows(place) -> None:
    schema = dp.Schema({"age": dp.Number(0, 100)})
    found = place(visits(), schema).check()
    assert (found.rows, found.persons, found.persons_over, found.share_beyond) == (467, 467, 0, 0.0)
    assert found.above["age"] == 95


@pytest.mark.parametrize("engine_name", ["duckdb", "polars", "sqlite"], indirect=True, scope="session")
def test_check_of_a_table_without_rows_says_so(place) -> None:
    schema = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=2)
    rows = {"id": pa.array([], pa.string()), "age": pa.array([], pa.float64())}
    found = place(pa.table(rows), schema).check()
    assert found.lines() == [
        ("rows", "none: the table has no rows that say whose they are, so there is nothing to leave out")
    ]
    assert "keeps" not in str(found) and "none: the table has no rows" in found._repr_html_()

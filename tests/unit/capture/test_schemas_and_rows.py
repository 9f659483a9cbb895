"""From templates to tables: the public schema, and reports as rows."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from pydplib.capture import Question, Template, builtin, columns_of, evaluate, evaluate_rows, to_row, to_rows, to_schema
from pydplib.datasets import PAPER_NAMES, pirads, pirads_schema
from pydplib.errors import DataError, SchemaError, TemplateError
from pydplib.schema import Category, Date, Flag, Integer, Number, Schema, Text

REPORT = {
    "patient": "p-17",
    "seen": True,
    "lesion": [{"zone": "CZ", "origin": "TZ", "size": 12}, {"zone": "PZ"}],
    "biopsy": "2020-05-04",
    "psa": 7.5,
}


def test_schema_of_a_report_has_bounds_categories_and_labels_of_the_template(scan):
    schema = to_schema(scan)
    assert dict(schema.columns) == {
        "patient": Text(label="identifier", title="Patient"),
        "seen": Flag(label="sensitive", title="Lesion seen"),
        "count": Integer(0, 3, label="sensitive", title="Number"),
        "largest": Integer(1, 150, unit="mm", label="sensitive", title="Largest"),
        "biopsy": Date(dt.date(2010, 1, 1), dt.date(2030, 12, 31), label="quasi", title="Biopsy on"),
        "psa": Number(0, 500, unit="ng/mL", step=0.1, label="sensitive", title="PSA"),
        "notes": Text(label="identifier", title="Notes"),
    }
    assert (schema.person, schema.max_rows_per_person, schema.lineage) == ("patient", 2, "scan")


def test_schema_of_a_repetition_adds_its_columns_and_multiplies_the_rows(scan):
    schema = to_schema(scan, group="lesion")
    assert schema.column("zone") == Category(["PZ", "CZ"], label="sensitive", title="Zone")
    assert schema.column("patient").kind == "text"
    assert schema.max_rows_per_person == 2 * 3
    assert schema.lineage == to_schema(scan).lineage  # one budget for both tables of the same people


def test_schema_survives_its_own_file(scan):
    assert Schema.from_toml(to_schema(scan).to_toml()).to_dict() == to_schema(scan).to_dict()


def test_schema_without_bounds_is_refused_or_leaves_them_out():
    items = (Question(id="a", kind="integer", title="A"), Question(id="b", kind="date", title="B"))
    template = Template(id="t", version="1", title="T", items=(*items, Question(id="c", kind="boolean", title="C")))
    with pytest.raises(SchemaError, match="'a', 'b'"):
        to_schema(template)
    assert list(to_schema(template, skip_unbounded=True).columns) == ["c"]


def test_schema_of_a_group_that_does_not_repeat_is_refused(scan):
    with pytest.raises(TemplateError, match="Did you mean 'lesion'"):
        to_schema(scan, group="lesions")
    with pytest.raises(SchemaError, match="person"):
        to_schema(replace(scan, person="", max_reports_per_person=1), group="lesion")


def test_report_becomes_one_row_with_gaps_as_none(scan):
    assert to_row(scan, REPORT) == {
        "patient": "p-17",
        "seen": True,
        "count": 2,
        "largest": 12,
        "biopsy": dt.date(2020, 5, 4),
        "psa": 7.5,
        "notes": None,
    }


def test_report_becomes_a_row_per_lesion(scan):
    rows = to_rows(scan, REPORT, group="lesion")
    assert [(row["patient"], row["zone"], row["origin"], row["size"]) for row in rows] == [
        ("p-17", "CZ", "TZ", 12),
        ("p-17", "PZ", None, None),
    ]
    assert list(rows[0]) == [question.id for question in columns_of(scan, group="lesion")]
    assert to_rows(scan, REPORT | {"seen": False}, group="lesion") == []


def test_report_with_errors_makes_no_row_and_is_not_quoted(scan):
    with pytest.raises(DataError, match="2 errors") as caught:
        to_row(scan, {"patient": "p-17", "psa": "CANARY"})
    assert "CANARY" not in str(caught.value)


def test_paper_template_declares_the_paper_columns_of_the_cohort():
    ours, theirs = to_schema(builtin("pirads-paper")), pirads_schema()
    assert [name for name in theirs.columns if name != "report_id"] == list(ours.columns)
    assert len(ours.columns) == 16
    assert (ours.person, ours.max_rows_per_person) == (theirs.person, theirs.max_rows_per_person)
    for name, column in ours.columns.items():
        other = theirs.column(name)
        assert column.label == other.label
        assert [code.code for code in builtin("pirads-paper").question(name).codes] == [PAPER_NAMES[name]]
        assert column.title == other.title and "_" not in column.title and "RequestRadiology" not in column.title
        if name == "age":
            assert (column.low, column.high, column.unit) == (other.low, other.high, other.unit)
        elif isinstance(column, Category):
            assert column.values == other.values and column.ordered == other.ordered
        else:
            assert replace(column, title="") == replace(other, title="")


def test_cohort_of_synthetic_reports_passes_the_import():
    template = builtin("pirads-paper")
    frame = pirads(n=300, seed=3, backend="pandas").drop(columns="report_id")
    for row in frame.to_dict("records"):
        result = evaluate(template, row, purpose="import")
        assert result.ok, [problem.message for problem in result.problems]


def test_rows_of_a_file_are_evaluated_one_by_one_and_numbered(scan):
    good = {"patient": "p-17", "seen": "no"}
    taken = []

    def rows():
        for row in (good, {"seen": "CANARY"}, "CANARY", good | {"psa": "7,5"}):
            taken.append(row)
            yield row

    found = evaluate_rows(scan, rows(), first=2)
    first = next(found)
    assert len(taken) == 1  # nothing is read ahead
    rest = list(found)
    assert [row.number for row in (first, *rest)] == [2, 3, 4, 5]
    assert [row.ok for row in (first, *rest)] == [True, False, False, False]
    assert [problem.item for problem in rest[2].problems] == ["psa"]
    assert "CANARY" not in repr(rest) + "".join(problem.message for row in rest for problem in row.problems)


def test_cohort_as_texts_of_a_csv_passes_the_import():
    template = builtin("pirads-paper")
    frame = pirads(n=40, seed=4, backend="pandas").drop(columns="report_id")
    texts = frame.astype(object).where(frame.notna(), "")
    for row in texts.to_dict("records"):
        result = evaluate(
            template,
            {key: str(value)[:10] if key == "last_modified" else str(value) for key, value in row.items()},
            purpose="import",
        )
        assert result.ok, [problem.message for problem in result.problems]


def test_structured_report_has_the_columns_that_the_figures_need():
    ours, paper = to_schema(builtin("pirads-2.1")), to_schema(builtin("pirads-paper"))
    for name in ("pirads", "gleason", "prostatitis", "therapy", "tumour_status"):
        assert ours.column(name).values == paper.column(name).values
    for name in ("bph", "turp", "follow_up"):
        assert ours.column(name).kind == "flag"
    assert (ours.column("age").low, ours.column("age").high) == (18, 100)
    assert {2017, 2018} <= set(ours.column("year").values)
    assert {"sector", "zone", "size", "t2w", "dwi", "dce", "extension", "category"} <= set(
        to_schema(builtin("pirads-2.1"), group="lesion").columns
    )
    assert ours.column("other_findings").label == "identifier"

"""The owner's exact view: numbers as in the data, filters that stay out of addresses and logs, nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from pydplib.capture import builtin
from pydplib.web.auditlog.models import Line
from pydplib.web.intake.rows.exact import (
    DEPARTMENT,
    ExactCondition,
    ExactQuestion,
    bad_parts,
    columns_for,
    count,
    drawing,
    with_condition,
    without_condition,
)

TEMPLATE = builtin("pirads-paper")
COLUMNS = columns_for(TEMPLATE, ["MR", "CT"])
ROWS = [
    (1, "MR", {"age": 50, "pirads": 4, "prostatitis": "n", "last_modified": "2018-03-01"}),
    (1, "MR", {"age": 51, "pirads": 5, "prostatitis": "n", "last_modified": "2018-04-01"}),
    (2, "CT", {"age": 70, "pirads": 4, "prostatitis": "chr", "last_modified": "2018-05-01"}),
    (3, "CT", {"age": None, "pirads": None, "prostatitis": "n", "last_modified": "2018-05-02"}),
]


def counted(**asked: Any) -> Any:
    return count(TEMPLATE, ROWS, ExactQuestion(**asked), COLUMNS)


@pytest.mark.parametrize(
    ("conditions", "reports", "patients"),
    [
        ([], 4, 3),
        ([ExactCondition(column="age", low="51")], 2, 2),
        ([ExactCondition(column="age", high="50")], 1, 1),
        ([ExactCondition(column="age", low="50", high="51")], 2, 1),
        ([ExactCondition(column="age", gaps="without")], 3, 2),
        ([ExactCondition(column="age", gaps="only")], 1, 1),
        ([ExactCondition(column="age", low="nonsense")], 4, 3),
        ([ExactCondition(column="pirads", chosen=("4",))], 2, 2),
        (
            [ExactCondition(column="pirads", chosen=("4", "5")), ExactCondition(column="prostatitis", chosen=("n",))],
            2,
            1,
        ),
        ([ExactCondition(column="last_modified", low="2018-05-01")], 2, 2),
        ([ExactCondition(column=DEPARTMENT, chosen=("CT",))], 2, 2),
    ],
)
def test_filters_keep_the_rows_that_fit_all_of_them(
    conditions: list[ExactCondition], reports: int, patients: int
) -> None:
    found = counted(conditions=tuple(conditions))
    assert (found.reports, found.patients, found.all_reports) == (reports, patients, 4)


def test_bars_and_parts_add_up_and_count_reports_or_patients() -> None:
    found = counted(by="pirads")
    bars = dict(zip(found.labels, found.series[""], strict=True))
    assert {label: number for label, number in bars.items() if number} == {"4": 2, "5": 1}
    assert found.missing == {"": 1}
    split = counted(by="age", split="prostatitis")
    assert sum(map(sum, split.series.values())) + sum(split.missing.values()) == 4
    assert [(name, values) for name, *values in split.summaries] == [
        ("chronic", [1, 70.0, 70.0, 70.0, 70.0]),
        ("no", [2, 50.5, 50.5, 50.0, 51.0]),
    ]
    people = counted(by="prostatitis", unit="patients")
    assert dict(zip(people.labels, people.series[""], strict=True))["no"] == 2, "the two reports of one count once"


@pytest.mark.parametrize("by", [name for name in COLUMNS if name != DEPARTMENT])
def test_every_column_has_bars_whose_table_says_the_same(by: str) -> None:
    asked = ExactQuestion(by=by)
    found = count(TEMPLATE, ROWS, asked, COLUMNS)
    figure, heads, rows = drawing(TEMPLATE, found, asked, COLUMNS)
    assert figure.data and len(heads) == 2
    assert rows[-1] == ["Total", 4] and sum(row[1] for row in rows[:-1]) == 4


@pytest.mark.parametrize("value", ["n/a", ["4", "5"], {"a": 1}, "9" * 400, 10**400], ids=type)
@pytest.mark.parametrize("by", ["age", "pirads", "prostatitis", "last_modified"])
def test_a_cell_that_an_earlier_template_let_in_hides_no_other_row(by: str, value: Any) -> None:
    odd = [*ROWS, (4, "MR", {"age": value, "pirads": value, "prostatitis": value, "last_modified": value})]
    conditions = (ExactCondition(column="age", low="50"),)
    found = count(TEMPLATE, odd, ExactQuestion(by=by, split="pirads"), COLUMNS)
    assert (found.reports, found.all_reports) == (5, 5)
    drawing(TEMPLATE, found, ExactQuestion(by=by, split="pirads"), COLUMNS)
    assert count(TEMPLATE, odd, ExactQuestion(by=by, conditions=conditions), COLUMNS).reports >= 3


def test_what_is_kept_in_the_session_comes_back_and_columns_that_are_gone_are_left_out() -> None:
    asked = ExactQuestion(by="age", split="pirads", conditions=(ExactCondition(column="age", low="50", chosen=("x",)),))
    assert ExactQuestion.from_dict(asked.to_dict(), COLUMNS) == asked
    rest = {name: column for name, column in COLUMNS.items() if name != "age"}
    assert ExactQuestion.from_dict(asked.to_dict(), rest) == ExactQuestion(split="pirads")
    assert "50" not in repr(asked)
    more = with_condition(asked, "pirads")
    assert with_condition(more, "pirads") == more and without_condition(more, "pirads") == asked
    assert bad_parts(ExactCondition(column="age", low="x", high="50"), COLUMNS["age"]) == ["low"]


def test_owner_looks_with_filters_and_the_log_names_columns_alone(filled: Any, project: Any) -> None:
    answer = filled.post("/counts", {"by": "pirads", "add": "age"})
    assert answer.status_code == 302 and answer.url == "/counts", "no value stands in the address"
    filled.post("/counts", {"by": "pirads", "low0": "19", "high0": "61.5"})
    page = filled.get("/counts")
    text = page.content.decode()
    assert 'value="61.5"' in text and "Reports by" in text
    assert "no-store" in page.headers["Cache-Control"]
    line = Line.objects.filter(action="data.count").latest("number")
    assert line.facts == {"by": "pirads", "split": "", "filters": ["age"]} and "61.5" not in line.details
    filled.post("/counts", {"do": "clear"})
    assert "61.5" not in filled.get("/counts").content.decode()
    assert Line.objects.filter(action="data.count").count() == 2


def test_nobody_else_gets_a_number_not_even_an_owner_who_looks_as_another_role(
    filled: Any, project: Any, member: Any
) -> None:
    for role in ("radiologist", "collaborator", "third_party", "data_protection_officer"):
        client = member(role, f"{role}-x")
        assert client.get("/counts").status_code == 403
        assert client.post("/counts", {"by": "age"}).status_code == 403
        assert "/counts" not in client.get("/").content.decode()
    filled.post("/policy/preview", {"role": "radiologist"})
    assert filled.get("/counts").status_code == 403


def test_what_one_owner_chose_is_not_shown_to_another(filled: Any, member: Any) -> None:
    filled.post("/counts", {"by": "age", "add": "year"})
    other = member("owner", "second-owner")
    assert "Only the total" in other.get("/counts").content.decode()
    assert "<legend>" not in other.get("/counts").content.decode()

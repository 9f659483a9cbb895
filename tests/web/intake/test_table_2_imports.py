"""A file with exactly the columns and types of the paper's Table 2 is imported without mapping by hand."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pydplib.capture import Template, builtin
from pydplib.capture.template import from_json
from pydplib.datasets import pirads
from pydplib.datasets._schema import PAPER_NAMES
from pydplib.web import uploads
from pydplib.web.intake.models import ImportBatch
from pydplib.web.reporting.models import Report, TemplateVersion

TABLE_2 = [
    "Anonym_ID",
    "RequestRadiologyDepartmentCode",
    "ProcedureValidatingPhysicianName",
    "LastModified",
    "Age",
    "Year",
    "Gleason score",
    "PCA_no_PIRADS_defined",
    "Follow up",
    "PIRADS score",
    "Number_of_Lesions",
    "Prostatitis",
    "BPH",
    "Primary_TU_LocalRecurrence_or_Progress",
    "Therapy",
    "TURP surgery",
]
OLD = Path(__file__).parents[2] / "fixtures" / "templates" / "pirads-paper-1.json"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch) -> None:
    path = tmp_path / "uploads"
    path.mkdir(mode=0o700)
    monkeypatch.setattr(uploads, "folder", lambda: path)


def table_2(rows: list[dict[str, Any]], separator: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, TABLE_2, delimiter=separator)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def cohort_rows(n: int) -> list[dict[str, Any]]:
    rows = pirads(n=n, backend="polars").to_dicts()
    return [
        {PAPER_NAMES[name]: "" if cell is None else cell for name, cell in row.items() if name != "report_id"}
        for row in rows
    ]


def send(client: Any, content: bytes) -> ImportBatch:
    """Upload a file; no field is mapped by hand."""
    response = client.post("/import", {"file": SimpleUploadedFile("table2.csv", content)})
    assert response.status_code == 302, response.content.decode()[:2000]
    return ImportBatch.objects.get()


def accept_guess(client: Any, batch: ImportBatch) -> ImportBatch:
    if batch.state == "uploaded":
        mapping = {f"column{place}": name for place, name in enumerate(batch.mapping)}
        assert client.post(f"/import/{batch.key}/mapping", mapping).status_code == 302
        batch.refresh_from_db()
    return batch


def test_columns_of_table_2_are_all_recognised(project, version, member) -> None:
    batch = send(member("owner"), table_2(cohort_rows(3)))
    assert batch.mapping == [name for name in PAPER_NAMES if name != "report_id"]


def test_cohort_under_the_papers_names_is_imported_whole(project, version, member) -> None:
    owner = member("owner")
    batch = accept_guess(owner, send(owner, table_2(cohort_rows(120))))
    assert (batch.state, batch.good, batch.bad) == ("checked", 120, 0)
    owner.post(f"/import/{batch.key}/accept")
    values = [report.values for report in Report.objects.all()]
    assert len(values) == 120
    assert any(isinstance(each["age"], float) and each["age"] % 1 for each in values)
    assert {each["follow_up"] for each in values} >= {"yes", "no"}
    assert all(each["turp"] in ("yes", "no", "unknown") for each in values)


def test_types_of_table_2_are_read_in_every_spelling(project, version, member) -> None:
    row = dict.fromkeys(TABLE_2, "") | {
        "Anonym_ID": "17",
        "LastModified": "2018-03-01",
        "Age": "61.527",
        "Year": "2018",
        "PCA_no_PIRADS_defined": "False",
        "PIRADS score": "4.0",
        "Follow up": "ja",
        "Number_of_Lesions": "multiple",
        "Prostatitis": "acute on chronic",
        "BPH": "True",
        "TURP surgery": "N",
    }
    rows = [row, row | {"Anonym_ID": "18", "Age": "70", "Number_of_Lesions": "2.0", "Follow up": "unknown"}]
    owner = member("owner")
    batch = accept_guess(owner, send(owner, table_2(rows)))
    assert (batch.good, batch.bad) == (2, 0)
    owner.post(f"/import/{batch.key}/accept")
    first, second = (report.values for report in Report.objects.order_by("pk"))
    found = {name: first[name] for name in ("age", "lesions", "follow_up", "turp", "bph", "pirads")}
    assert found == {"age": 61.527, "lesions": "multiple", "follow_up": "yes", "turp": "no", "bph": True, "pirads": 4}
    assert (second["age"], second["lesions"], second["follow_up"]) == (70, "2", "unknown")


def test_project_with_the_first_version_keeps_it(project, member, row) -> None:
    """A template that a project took before is stored with it: same questions, same types, same schema."""
    from pydplib.web.intake.imports.records import accept_rows
    from pydplib.web.intake.snapshots import make_snapshot, snapshot_schema

    old = from_json(OLD.read_text(encoding="utf-8"))
    assert (old.version, builtin("pirads-paper").version) == ("1", "2")
    owner = member("owner")
    version = TemplateVersion.objects.create(project=project, number=1, definition=old.to_json(), made_by="test")
    accept_rows(project, version, [row(f"P{i}", follow_up=True, turp=False) for i in range(12)], actor=owner.user)
    stored: Template = TemplateVersion.objects.get().template
    assert stored == old
    assert stored.question("age").kind == "integer" and stored.question("follow_up").kind == "boolean"
    assert {report.values["follow_up"] for report in Report.objects.all()} == {True}
    schema = snapshot_schema(stored, lineage="old")
    assert (schema.column("age").kind, schema.column("turp").kind) == ("integer", "flag")
    project.refresh_from_db()
    snapshot = make_snapshot(project, actor=owner.user)
    assert snapshot.template.template == old
    batch = accept_guess(owner, send(owner, table_2([dict(zip(TABLE_2, _old_cells(), strict=True))])))
    assert (batch.good, batch.bad) == (1, 0), "files with the old types still fit the old version"


def _old_cells() -> list[str]:
    return ["P99", "SYN-RAD", "Dr. A", "2018-03-01", "61", "2018", "", "false", "yes", "4", "2", "n", "true", "",
            "no therapy", "no"]  # fmt: skip


@pytest.mark.parametrize("old", [False, True], ids=["today's version", "the first version"])
def test_patients_report_shows_no_working_title(project, member, row, old: bool) -> None:
    from pydplib.capture import report_text
    from pydplib.web.intake.imports.records import accept_rows

    template = from_json(OLD.read_text(encoding="utf-8")) if old else builtin("pirads-paper")
    version = TemplateVersion.objects.create(project=project, number=1, definition=template.to_json(), made_by="test")
    owner = member("owner")
    accept_rows(project, version, [row("P1")], actor=owner.user)
    page = owner.get(f"/reports/{Report.objects.get().key}").content.decode()
    text = report_text(template, row("P1"))
    for shown in (page, text):
        assert "columns of the PyDPLib paper" not in shown
        assert "MRI of the prostate" in shown


def test_forms_have_titles_for_people_next_to_the_papers_names() -> None:
    template = builtin("pirads-paper")
    assert template.question("department_code").title == "Requesting department"
    for _, question in template.index.questions():
        assert "_" not in question.title
        (code,) = question.codes
        assert code.code == PAPER_NAMES[question.id]

from __future__ import annotations

import csv
import io
import json
import logging
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from imported_files import agreed

from pydplib.capture import builtin, response_to_fhir
from pydplib.web import uploads
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.intake.models import ImportBatch, ImportRow
from pydplib.web.patients.models import Identifier, Patient
from pydplib.web.reporting.models import Report, ReportVersion

CANARY = "ZZCANARY-7731"
TITLES = {
    "patient_id": "Anonym_ID",
    "department_code": "RequestRadiologyDepartmentCode",
    "physician_name": "ProcedureValidatingPhysicianName",
    "last_modified": "LastModified",
    "age": "Age",
    "year": "Year",
    "pca_no_pirads": "PCA_no_PIRADS_defined",
    "pirads": "PIRADS score",
    "prostatitis": "Prostatitis",
    "bph": "BPH",
}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch) -> None:
    path = tmp_path / "uploads"
    path.mkdir(mode=0o700)
    monkeypatch.setattr(uploads, "folder", lambda: path)


def table(rows: list[dict], *, separator: str = ",", encoding: str = "utf-8", extra: str = "") -> bytes:
    names = list(rows[0])
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator)
    writer.writerow([TITLES.get(name, name) for name in names] + ([extra] if extra else []))
    for row in rows:
        writer.writerow([row[name] for name in names] + (["x"] if extra else []))
    return out.getvalue().encode(encoding)


def upload(client, content: bytes, name: str = "reports.csv", **more):
    return client.post("/import", {"file": SimpleUploadedFile(name, content), **more})


def go_through(client, content: bytes, name: str = "reports.csv", **more) -> ImportBatch:
    """Upload, and take the guessed mapping."""
    response = upload(client, content, name, **more)
    assert response.status_code == 302, response.content.decode()[:3000]
    batch = ImportBatch.objects.get()
    if batch.state == "uploaded":
        response = client.post(f"/import/{batch.key}/mapping", mapping_of(batch))
        assert response.status_code == 302, response.content.decode()
    batch.refresh_from_db()
    return batch


def mapping_of(batch: ImportBatch) -> dict[str, str]:
    return {f"column{place}": name for place, name in enumerate(batch.mapping)}


def paper_rows() -> list[dict]:
    """The paper's 920 reports, as its owner would export them."""
    from pydplib.datasets import pirads

    return [
        {name: "" if cell is None else cell for name, cell in row.items()}
        for row in pirads(seed=7, backend="polars").to_dicts()
    ]


def test_owner_imports_rows_and_sees_them(project, version, row, member) -> None:
    owner = member("owner")
    rows = [row(f"P{i}", age=50 + i, physician_name="Dr. Möller") for i in range(5)]
    batch = go_through(owner, table(rows, extra="Colour"), department="URO")
    page = owner.get(f"/import/{batch.key}")
    assert page.status_code == 200 and b"Every row is good" in page.content and b"Colour" in page.content
    assert not Report.all_objects.exists()
    assert owner.post(f"/import/{batch.key}/accept", agreed(batch)).status_code == 302
    assert Report.objects.filter(state="signed", department="URO").count() == 5
    assert Report.objects.get(values__age=52).answers["physician_name"] == "Dr. Möller"
    project.refresh_from_db()
    assert project.data_version == 1
    batch.refresh_from_db()
    assert (batch.state, batch.good, batch.bad, batch.worker) == ("accepted", 5, 0, "")
    assert not list(uploads.folder().iterdir()) and not ImportRow.objects.exists()
    assert [line.action for line in Line.objects.filter(action__startswith="import.")] == [
        "import.upload", "import.check", "import.accept",
    ]  # fmt: skip
    assert verify()
    assert b"5 reports imported." in owner.get(f"/import/{batch.key}").content


def test_guessed_mapping_says_which_columns_are_ignored_and_can_be_changed(project, version, row, member) -> None:
    owner = member("owner")
    upload(owner, table([row("P1")], extra="Alter"))
    batch = ImportBatch.objects.get()
    page = owner.get(f"/import/{batch.key}").content.decode()
    assert "Ignored and not stored: Alter" in page
    wrong = mapping_of(batch) | {"column7": "age"}  # two columns to one field
    response = owner.post(f"/import/{batch.key}/mapping", wrong)
    assert response.status_code == 422 and b"go to the same field" in response.content
    nobody = mapping_of(batch) | {"column0": ""}
    response = owner.post(f"/import/{batch.key}/mapping", nobody)
    assert response.status_code == 422 and b"whose report" in response.content
    batch.refresh_from_db()
    assert batch.state == "uploaded"


def test_semicolon_decimal_comma_and_latin_1_are_recognised(project, member) -> None:
    from pydplib.capture import Question, Template
    from pydplib.web.reporting.models import TemplateVersion

    template = Template(
        id="lab", version="1", title="Lab", person="pid",
        items=(
            Question(id="pid", kind="text", title="Patient", required=True),
            Question(id="psa", kind="decimal", title="PSA", low=0, high=5000),
            Question(id="day", kind="date", title="Day", low="2010-01-01", high="2030-12-31"),
            Question(id="note", kind="text", title="Note", label="sensitive"),
            Question(id="known", kind="boolean", title="Known"),
        ),
    )  # fmt: skip
    TemplateVersion.objects.create(project=project, number=1, definition=template.to_json(), made_by="t")
    text = "Patient;PSA;Day;Note;Known\nA1;7,25;31.03.2018;Größe;ja\nA2;1.234,5;2018-04-01 10:00:00;;nein\n"
    owner = member("owner")
    batch = go_through(owner, text.encode("latin-1"))
    assert (batch.good, batch.bad) == (2, 0), list(batch.problem_rows.values_list("problems", flat=True))
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    found = {report.values["psa"]: report.values for report in Report.objects.all()}
    assert found[7.25] == {"psa": 7.25, "day": "2018-03-31", "note": "Größe", "known": True}
    assert found[1234.5] == {"psa": 1234.5, "day": "2018-04-01", "note": None, "known": False}


def test_one_row_of_another_encoding_changes_no_other(project, version, row, member) -> None:
    owner = member("owner")
    rows = [table([row(name, physician_name="Dr. Müß")], encoding=encoding)
            for name, encoding in (("Ä1", "utf-8"), ("Ö2", "cp1252"))]  # fmt: skip
    batch = go_through(owner, rows[0] + rows[1].split(b"\n", 1)[1])
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert [report.answers["physician_name"] for report in Report.objects.all()] == ["Dr. Müß"] * 2
    assert set(Identifier.objects.values_list("value", flat=True)) == {"Ä1", "Ö2"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_every_encoding_gives_the_same_reports(project, version, row, member, encoding: str) -> None:
    owner = member("owner")
    batch = go_through(owner, table([row("Ä1", physician_name="Dr. Müß")], separator=";", encoding=encoding))
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert Report.objects.get().answers["physician_name"] == "Dr. Müß"
    assert Identifier.objects.get().value == "Ä1"


def test_bad_rows_are_named_by_row_column_rule_and_can_be_mended(project, version, row, member, caplog) -> None:
    owner = member("owner")
    rows = [row("P1"), row("P2", age=640), row("P3", prostatitis=CANARY), row("P4")]
    with caplog.at_level(logging.DEBUG):
        batch = go_through(owner, table(rows))
        page = owner.get(f"/import/{batch.key}").content.decode()
    assert (batch.good, batch.bad) == (2, 2)
    assert "Row 3" in page and "Age must lie between 18 and 100" in page and 'value="640"' in page
    assert "Row 4" in page and "must be one of the options" in page
    owner.post(f"/import/{batch.key}/rows/3", {"action": "mend", "field:age": "64"})
    assert ImportRow.objects.get(number=3).decision == "fixed"
    owner.post(f"/import/{batch.key}/rows/4", {"action": "mend", "field:prostatitis": "nonsense"})
    assert ImportRow.objects.get(number=4).decision == "leave_out"
    owner.post(f"/import/{batch.key}/rows/4", {"action": "leave_out"})
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert sorted(Report.objects.values_list("values__age", flat=True)) == [64, 64, 64]
    assert Identifier.objects.filter(value="P2").exists() and not Identifier.objects.filter(value="P3").exists()
    text = "".join(line.body for line in Line.objects.all())
    assert CANARY not in text and CANARY not in caplog.text
    assert not any("640" in line.details for line in Line.objects.all())
    assert Line.objects.get(action="import.look").facts["rows"] == [3, 4]


def test_row_with_an_error_cannot_be_taken_in_all_the_same(project, version, row, member) -> None:
    owner = member("owner")
    batch = go_through(owner, table([row("P1"), row("P2", age=640)]))
    assert owner.post(f"/import/{batch.key}/rows/3", {"action": "keep"}).status_code == 422
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert Report.objects.count() == 1


def test_duplicates_in_file_and_project_are_left_out_unless_wanted(project, version, row, member) -> None:
    owner = member("owner")
    first = go_through(owner, table([row("P1"), row("P2")]))
    owner.post(f"/import/{first.key}/accept", agreed(first))
    ImportBatch.objects.all().delete()
    rows = [row("P1"), row("P3"), row("P3"), row("P1", last_modified="2018-04-01")]
    batch = go_through(owner, table(rows))
    page = owner.get(f"/import/{batch.key}").content.decode()
    assert "is in the project already" in page and "is in row 3 too" in page
    assert (batch.good, batch.bad) == (2, 2)
    owner.post(f"/import/{batch.key}/rows/4", {"action": "keep"})
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert Report.objects.count() == 5 and Patient.objects.count() == 3


def test_report_number_finds_a_duplicate_whatever_the_day(project, version, row, member) -> None:
    owner = member("owner")
    rows = [row("P1", Accession="A1"), row("P1", Accession="A2"), row("P2", Accession="A1", last_modified="2018-05-05")]
    batch = go_through(owner, table(rows))
    assert batch.mapping[-1] == "@number" and (batch.good, batch.bad) == (2, 1)
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    hashes = list(Report.objects.values_list("number_hash", flat=True))
    assert len(set(hashes)) == 2 and not any("A1" in text for text in hashes)


def test_report_with_a_number_is_compared_by_day_with_those_without_one(project, version, row, member) -> None:
    from pydplib.web.intake.imports.records import accept_rows

    owner = member("owner")
    accept_rows(project, version, [row("P1")], actor=owner.user)
    batch = go_through(owner, table([row("P1", Accession="A1"), row("P2", Accession="A2")]))
    assert (batch.good, batch.bad) == (1, 1)
    assert batch.problem_rows.get().number == 2


def test_excel_is_imported(project, version, row, member) -> None:
    from openpyxl import Workbook

    book = Workbook()
    rows = [row(f"P{i}") for i in range(3)]
    book.active.append([TITLES.get(name, name) for name in rows[0]])
    for each in rows:
        book.active.append(list(each.values()))
    out = io.BytesIO()
    book.save(out)
    owner = member("owner")
    batch = go_through(owner, out.getvalue(), "reports.xlsx")
    assert batch.format == "excel" and batch.good == 3
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert Report.objects.count() == 3


@pytest.mark.parametrize("shape", ["single", "bundle", "ndjson"])
def test_fhir_responses_are_imported(project, version, row, member, shape: str) -> None:
    template = builtin("pirads-paper")
    count = 1 if shape == "single" else 3
    resources = [response_to_fhir(template, row(f"P{i}"), version="R4") for i in range(count)]
    if shape == "single":
        content = json.dumps(resources[0])
    elif shape == "bundle":
        entries = [{"resource": each} for each in resources] + [{"resource": {"resourceType": "Patient"}}]
        content = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries})
    else:
        content = "\n".join(map(json.dumps, resources))
    owner = member("owner")
    batch = go_through(owner, content.encode(), "responses.json")
    assert batch.state == "checked" and batch.good == count
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert Report.objects.count() == count and Report.objects.first().values["age"] == 64


def test_fhir_subject_names_the_patient_and_bad_answers_can_be_mended(project, version, row, member) -> None:
    template = builtin("pirads-paper")
    resource = response_to_fhir(template, row("P1"), version="R4", subject="Patient/77")
    group = resource["item"][0]["item"]
    group[:] = [item for item in group if item["linkId"] not in ("patient_id", "age")]
    owner = member("owner")
    batch = go_through(owner, json.dumps(resource).encode(), "r.json")
    assert batch.bad == 1
    owner.post(f"/import/{batch.key}/rows/1", {"action": "mend", "field:age": "64"})
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert Report.objects.get().values["age"] == 64
    assert Identifier.objects.get().value == "Patient/77"


def test_repeating_groups_are_mapped_by_number(project, member) -> None:
    from pydplib.web.reporting.models import TemplateVersion

    TemplateVersion.objects.create(project=project, number=1, definition=builtin("pirads-2.1").to_json(), made_by="t")
    owner = member("owner")
    upload(owner, b"patient_id,exam_date,age,lesion_1_size,lesion 2 size\nP1,2018-01-01,64,9,12\n")
    mapping = ImportBatch.objects.get().mapping
    assert mapping[:3] == ["patient_id", "exam_date", "age"]
    assert mapping[3].endswith("/0/size") and mapping[4].endswith("/1/size")


def test_paper_cohort_of_920_rows_is_imported_with_two_rows_mended(project, version, member) -> None:
    rows = paper_rows()
    assert len(rows) == 920
    rows[10]["age"], rows[500]["pirads"] = 999, 7
    rows[500]["pca_no_pirads"] = False
    owner = member("owner")
    batch = go_through(owner, table(rows, separator=";", encoding="latin-1"))
    bad = {each.number: each for each in batch.problem_rows.all()}
    assert {12, 502} <= set(bad), sorted(bad)
    extra = set(bad) - {12, 502}
    owner.post(f"/import/{batch.key}/rows/12", {"action": "mend", "field:age": "66"})
    owner.post(f"/import/{batch.key}/rows/502", {"action": "mend", "field:pirads": "4"})
    for number in extra:  # two reports of one patient on one day, if the cohort has such
        owner.post(f"/import/{batch.key}/rows/{number}", {"action": "keep"})
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert Report.objects.count() == 920 and ReportVersion.objects.count() == 920
    assert verify()


def test_department_comes_from_its_column_the_form_or_the_answers(project, version, row, member) -> None:
    owner = member("owner")
    rows = [row("P1", department_code="SYN-ONC", Department="URO"), row("P2", department_code="SYN-ONC", Department="")]
    batch = go_through(owner, table(rows))
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert sorted(Report.objects.values_list("department", flat=True)) == ["SYN-ONC", "URO"]


def test_radiologist_imports_into_the_own_department_alone(project, version, row, member) -> None:
    doctor = member("radiologist", department="RAD")
    rows = [row("P1", Department="URO"), row("P2", Department="URO")]
    batch = go_through(doctor, table(rows), department="URO")
    assert batch.department == "RAD" and "@department" not in batch.mapping
    forced = mapping_of(batch) | {f"column{len(batch.columns) - 1}": "@department"}
    assert doctor.post(f"/import/{batch.key}/mapping", forced).status_code == 422
    doctor.post(f"/import/{batch.key}/accept", agreed(batch))
    assert set(Report.objects.values_list("department", flat=True)) == {"RAD"}
    other = member("radiologist", "second", department="RAD")
    assert other.get(f"/import/{batch.key}").status_code == 404
    assert member("radiologist", "third").get("/import").status_code == 403


def test_discard_leaves_nothing_but_the_log(project, version, row, member) -> None:
    owner = member("owner")
    batch = go_through(owner, table([row("P1"), row("P2", age=640)]))
    owner.post(f"/import/{batch.key}/discard")
    batch.refresh_from_db()
    assert batch.state == "discarded" and not ImportRow.objects.exists()
    assert not list(uploads.folder().iterdir()) and not Report.all_objects.exists() and not Patient.objects.exists()
    assert owner.post(f"/import/{batch.key}/accept", agreed(batch)).status_code == 302
    assert not Report.all_objects.exists()


def _bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 60_000_000)
    return out.getvalue()


def _doctype() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (_bomb(), "unpacks to far more"),
        (_doctype(), "texts of its own making"),
        (b"PK\x03\x04 not a zip", "cannot be read as an Excel workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100, "old format"),
        (b"\x1f\x8b" + b"\0" * 100, "packed"),
        (b"%PDF-1.7 x", "PDF"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\0", "no table"),
        ("a;b".encode("utf-16")[:-1] + b"\xd8" * 3, "damaged"),
        (b"a,b\n1,2,3\n", "has 3 cells"),
        (b"a,a\n1,2\n", "Two columns are named"),
        (b"a,b\n", "no rows"),
        (b"   ", "empty"),
        (b"\n\nx", "first line is empty"),
        (b'{"resourceType": "Patient"}', "no QuestionnaireResponse"),
        (b'{"resourceType": "QuestionnaireResponse", "x": NaN}\n{', "no JSON"),
        (b"[" * 5000, "no JSON"),
        (b'a,b\n"' + b"x" * 200_000 + b'",1\n', "cannot be read beyond row"),
        ((",".join(f"c{i}" for i in range(401)) + "\n1").encode(), "more than 400 columns"),
    ],
)
def test_files_that_cannot_be_taken_are_refused_in_words(project, version, member, content: bytes, words: str) -> None:
    response = upload(member("owner"), content)
    assert response.status_code == 422 and words in response.content.decode(), response.content.decode()[-1500:]
    assert not ImportBatch.objects.exists() and not list(uploads.folder().iterdir())


def test_too_many_rows_and_bytes_are_refused(project, version, row, member, monkeypatch) -> None:
    owner = member("owner")
    monkeypatch.setattr(uploads, "MOST_ROWS", 3)
    response = upload(owner, table([row(f"P{i}") for i in range(4)]))
    assert b"more than 3 rows" in response.content
    monkeypatch.setattr(uploads, "MOST_BYTES", 50)
    response = upload(owner, table([row("P1")]))
    assert response.status_code == 400 and not ImportBatch.objects.exists()


def test_uploads_are_gone_after_a_day(project, version, row, member) -> None:
    import datetime as dt
    import os

    from django.utils import timezone

    from pydplib.web.intake.upkeep import tidy

    owner = member("owner")
    batch = go_through(owner, table([row("P1"), row("P2", age=640)]))
    stray = uploads.folder() / "left.upload"
    stray.write_bytes(b"x")
    tidy()
    assert uploads.path_of(batch.key).exists() and stray.exists()
    old = timezone.now() - dt.timedelta(hours=25)
    ImportBatch.objects.update(made=old)
    os.utime(stray, (old.timestamp(),) * 2)
    tidy()
    batch.refresh_from_db()
    assert batch.state == "discarded" and not list(uploads.folder().iterdir()) and not ImportRow.objects.exists()
    assert Line.objects.filter(action="import.discard", actor="system").count() == 1


def test_uploaded_rows_are_readable_by_the_server_alone(project, version, row, member) -> None:
    import stat

    upload(member("owner"), table([row("P1")]))
    (path,) = uploads.folder().iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_one_worker_at_a_time(project, version, row, member, monkeypatch) -> None:
    import datetime as dt

    from pydplib.web import jobs
    from pydplib.web.intake.jobs import is_stalled

    owner = member("owner")
    batch = go_through(owner, table([row("P1")]))
    first = jobs.Claim(batch, "accepting", among=("checked", "accepting"))
    batch.refresh_from_db()
    assert not is_stalled(batch)
    with pytest.raises(jobs.LostClaimError):
        jobs.Claim(batch, "accepting", among=("checked", "accepting"))
    assert owner.post(f"/import/{batch.key}/accept", agreed(batch)).status_code == 302
    assert not Report.all_objects.exists()
    monkeypatch.setattr(jobs, "STALE", dt.timedelta(0))
    assert is_stalled(batch)
    page = owner.get(f"/import/{batch.key}").content.decode()
    assert "Nobody works on this import" in page and "Go on" in page
    assert owner.get(f"/import/{batch.key}/progress")["HX-Refresh"] == "true"
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert Report.objects.count() == 1
    with pytest.raises(jobs.LostClaimError):
        first.save(done=1)


def test_a_row_mended_into_another_row_of_the_file_is_a_duplicate(project, version, row, member) -> None:
    owner = member("owner")
    rows = [row("P1"), row("P2"), row("P1", age=640, last_modified="2018-03-02"), row("P4", age=650)]
    batch = go_through(owner, table(rows))
    mend = f"/import/{batch.key}/rows/"
    owner.post(f"{mend}4", {"action": "mend", "field:age": "64", "field:last_modified": "2018-03-01"})
    third = ImportRow.objects.get(number=4)
    assert third.decision == "leave_out" and "is in row 2 too" in third.problems[-1]["message"]
    owner.post(f"{mend}4", {"action": "mend", "field:patient_id": " p 9 ", "field:age": "64"})
    assert ImportRow.objects.get(number=4).decision == "fixed"
    owner.post(f"{mend}5", {"action": "mend", "field:patient_id": "p 9", "field:age": "64"})
    fourth = ImportRow.objects.get(number=5)
    assert fourth.decision == "leave_out" and "is in row 4 too" in fourth.problems[-1]["message"], "as it was corrected"
    owner.post(f"{mend}5", {"action": "mend", "field:patient_id": "P4"})
    assert ImportRow.objects.get(number=5).decision == "fixed"
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    assert Report.objects.count() == 4


def test_a_mended_row_whose_number_is_in_the_file_twice_is_a_duplicate(project, version, row, member) -> None:
    owner = member("owner")
    rows = [row("P1") | {"Accession": "7"}, row("P2", age=640, last_modified="2018-04-01") | {"Accession": "8"}]
    batch = go_through(owner, table([*rows, row("P3", age=900) | {"Accession": " 7"}]))
    owner.post(f"/import/{batch.key}/rows/3", {"action": "mend", "field:age": "64"})
    assert ImportRow.objects.get(number=3).decision == "fixed"
    owner.post(f"/import/{batch.key}/rows/4", {"action": "mend", "field:age": "64"})
    last = ImportRow.objects.get(number=4)
    assert last.decision == "leave_out" and "The same report number is in row 2 too" in last.problems[-1]["message"]

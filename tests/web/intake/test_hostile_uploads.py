"""Files that were made to hurt, or broke on their way: refused in words, quickly, and nothing of them stays."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from imported_files import agreed

from pydplib.errors import DataError
from pydplib.web import uploads
from pydplib.web.intake.models import ImportBatch
from pydplib.web.patients.models import Patient
from pydplib.web.reporting.models import Report

SECRET = "ZZCANARY-7731"
SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "uploads"
    path.mkdir(mode=0o700)
    monkeypatch.setattr(uploads, "folder", lambda: path)


def receive(content: bytes) -> Any:
    return uploads.receive(SimpleUploadedFile("file", content), "0123456789abcdef")


def refused(content: bytes) -> str:
    with pytest.raises(DataError) as caught:
        receive(content)
    assert not list(uploads.folder().iterdir())
    assert SECRET not in str(caught.value)
    return str(caught.value)


def workbook(change: Any) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (("patient_id", "age"), (SECRET, 5)):
        book.active.append(row)
    first = io.BytesIO()
    book.save(first)
    out = io.BytesIO()
    with zipfile.ZipFile(first) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            text = source.read(name)
            target.writestr(name, change(text) if name == SHEET else text)
    return out.getvalue()


def test_untouched_workbook_is_received() -> None:
    assert receive(workbook(lambda text: text)).rows == 1


def test_quote_that_is_never_closed_swallows_no_other_patients_rows() -> None:
    text = f'patient_id;age;note\nA;50;"large\nB;51;{SECRET}\nC;52;x\n'

    assert "a quote is not closed" in refused(text.encode())


def test_zero_byte_far_down_is_named_by_its_line() -> None:
    text = "patient_id;age\n" + "A;50\n" * 2000 + f"{SECRET}\0;50\n"

    assert "Line 2002" in refused(text.encode())


@pytest.mark.parametrize("line", ["x" * 200_000, "ä" * 700_000])
def test_endless_first_line_is_refused_in_words(line: str) -> None:
    assert "first line" in refused(f"{line}\n1\n".encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b'<row r="1"', b'<row r="abc"'),
    ],
    ids=["cut", "row"],
)
def test_damaged_sheet_is_refused_in_words(change: Any) -> None:
    assert "damaged" in refused(workbook(change))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_neither_expanded_nor_fetched(encoding: str, tmp_path: Any) -> None:
    (tmp_path / "file").write_text(SECRET)
    steps = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    kind = f'<!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">{steps}<!ENTITY f SYSTEM "file://{tmp_path}/file">]>'

    for name in ("a9", "f"):
        before = f'<?xml version="1.0" encoding="{encoding}"?><!--{" " * 5000}-->{kind}'

        def change(text: bytes, name: str = name, before: str = before) -> bytes:
            return (before + text.decode().replace("patient_id", f"&{name};")).encode(encoding)

        assert "texts of its own making" in refused(workbook(change))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_entity_behind_a_long_comment_or_in_another_encoding_is_refused(encoding: str) -> None:
    before = f'<?xml version="1.0" encoding="{encoding}"?><!--{" " * 200_000}--><!DOCTYPE x [<!ENTITY a "INNER">]>'

    def change(text: bytes) -> bytes:
        return (before + text.decode().replace("patient_id", "&a;")).encode(encoding)

    assert "texts of its own making" in refused(workbook(change))


def test_sheet_with_cells_at_the_far_right_of_every_row_is_refused_at_the_first() -> None:
    rows = "".join(f'<row r="{n}"><c r="A{n}"><v>1</v></c><c r="XFD{n}"/></row>' for n in range(3, 3000))

    problem = refused(workbook(lambda text: text.replace(b"</sheetData>", rows.encode() + b"</sheetData>")))

    assert "too far to the right" in problem


def test_sheet_whose_rows_are_numbered_beyond_excel_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pydplib.tables.sheets._MOST_SHEET_ROWS", 1000)
    row = b'<row r="999999999"><c r="A999999999"><v>1</v></c></row></sheetData>'

    assert "more rows than Excel" in refused(workbook(lambda text: text.replace(b"</sheetData>", row)))


@pytest.mark.parametrize("value", ["a\\ud800", "a\\u0000"])
def test_response_with_what_no_database_can_hold_is_named_by_its_number(value: str) -> None:
    good = '{"resourceType":"QuestionnaireResponse","item":[]}'
    bad = f'{{"resourceType":"QuestionnaireResponse","identifier":{{"value":"{value}"}},"item":[]}}'

    assert "Response 2" in refused(f"{good}\n{bad}\n".encode())


def test_response_nested_to_the_limit_of_the_reader_ends_in_words(project: Any, version: Any, member: Any) -> None:
    owner = member("owner")
    for depth in (400, 440, 450, 455, 460, 470):
        item = '{"linkId":"g","item":[' * depth + '{"linkId":"age"}' + "]}" * depth
        text = f'{{"resourceType":"QuestionnaireResponse","item":[{item}]}}'

        response = owner.post("/import", {"file": SimpleUploadedFile("a.json", text.encode())})

        assert response.status_code in (302, 422)
    assert not ImportBatch.objects.filter(problem__contains="our side").exists()


def test_dot_before_three_digits_is_asked_about_where_the_column_has_decimal_commas() -> None:
    from pydplib.capture import Question, Template
    from pydplib.web.intake.imports.rows import Reader

    volume = Question(id="volume", kind="decimal", title="Volume", low=0, high=5000, decimals=3)
    template = Template(id="visit", version="1", title="Visit", items=(volume,))

    def rows(cells: list[str], *, separator: str = ";") -> list[Any]:
        lines = "".join(f"P{n}{separator}{cell}\n" for n, cell in enumerate(cells))
        found = receive(f"number{separator}volume\n{lines}".encode())
        batch = ImportBatch(key="0123456789abcdef", format=found.format, comma=found.comma)
        batch.columns, batch.mapping = list(found.columns), ["", "volume"]
        return list(Reader(batch, template).rows())

    def read(cells: list[str], *, separator: str = ";") -> list[Any]:
        return [row.answers.get("volume") for row in rows(cells, separator=separator)]

    unclear = rows(["3,5", "1.234", "0.123", "1.234,5"])
    assert [row.ok for row in unclear] == [True, False, True, True]
    assert [problem.code for problem in unclear[1].problems] == ["ambiguous"]
    assert [row.answers["volume"] for row in unclear if row.ok] == [3.5, 0.123, 1234.5]
    assert read(["3.5", "1.234"]) == [3.5, 1.234]
    assert read(["3.5", "1.234"], separator=",") == [3.5, 1.234]


def test_rows_of_an_erased_person_stay_out_of_an_open_import(project: Any, filled: Any, row: Any) -> None:
    from pydplib.web.intake.rights.erasure import erase, look_up

    names = {"patient_id": "Anonym_ID", "last_modified": "LastModified", "pirads": "PIRADS score"}
    again = row("P3", last_modified="2018-04-04")  # the same patient and day: a duplicate, left out
    lines = [";".join(names.get(name, name) for name in again)]
    lines += [";".join(str(value) for value in each.values()) for each in (again, row("new"))]
    filled.post("/import", {"file": SimpleUploadedFile("a.csv", "\n".join(lines).encode())})
    batch = ImportBatch.objects.get()
    filled.post(f"/import/{batch.key}/mapping", {f"column{n}": name for n, name in enumerate(again)})
    assert batch.problem_rows.get().problems[0]["code"] == "duplicate"

    erase(look_up(project, "P3"), actor=filled.user)
    held = batch.problem_rows.get()
    assert held.fields == {} and held.decision == "leave_out"
    filled.post(f"/import/{batch.key}/accept", agreed(batch))

    batch.refresh_from_db()
    assert batch.state == "accepted" and batch.good == 1
    assert look_up(project, "P3") is None and look_up(project, "new") is not None


def test_columns_stay_as_they_are_once_an_import_is_being_taken_in(
    project: Any, filled: Any, row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.web.intake.imports import views as views_import

    good = row("new")
    text = ";".join(good) + "\n" + ";".join(str(value) for value in good.values()) + "\n"
    filled.post("/import", {"file": SimpleUploadedFile("a.csv", text.encode())})
    batch = ImportBatch.objects.get()
    mapping = {f"column{n}": name for n, name in enumerate(good)}
    filled.post(f"/import/{batch.key}/mapping", mapping)
    asked = views_import._mapping_form

    def meanwhile(request: Any, *more: Any) -> Any:
        ImportBatch.objects.filter(pk=batch.pk).update(state="accepting")  # the other window
        return asked(request, *more)

    monkeypatch.setattr(views_import, "_mapping_form", meanwhile)
    filled.post(f"/import/{batch.key}/mapping", mapping | {"column2": ""})

    batch.refresh_from_db()
    assert batch.state == "accepting" and batch.mapping == list(good)
    assert not Report.all_objects.filter(batch=batch).exists() and Patient.objects.count() == 25


def test_two_imports_of_the_same_reports_are_taken_in_one_after_the_other(project: Any, filled: Any, row: Any) -> None:
    good = row("new")
    text = ";".join(good) + "\n" + ";".join(str(value) for value in good.values()) + "\n"
    for _ in range(2):
        filled.post("/import", {"file": SimpleUploadedFile("a.csv", text.encode())})
    first, second = ImportBatch.objects.order_by("pk")
    for batch in (first, second):
        filled.post(f"/import/{batch.key}/mapping", {f"column{n}": name for n, name in enumerate(good)})
    ImportBatch.objects.filter(pk=first.pk).update(state="accepting", worker="another")

    filled.post(f"/import/{second.key}/accept", agreed(second))
    second.refresh_from_db()
    assert second.state == "checked" and "Another import" in second.problem

    ImportBatch.objects.filter(pk=first.pk).update(worker="")
    for batch in (first, second):
        filled.post(f"/import/{batch.key}/accept", agreed(batch))
        batch.refresh_from_db()
    assert (first.good, second.good) == (1, 0)
    assert Report.objects.filter(origin="import", patient__identifiers__value="new").count() == 1


def test_rows_of_an_upload_that_no_import_names_are_not_kept(
    version: Any, member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import DatabaseError

    owner = member("owner")
    owner.raise_request_exception = False

    def full(*_: Any) -> None:
        raise DatabaseError("disk full")

    monkeypatch.setattr("pydplib.web.auditlog.log.append", full)
    answer = owner.post("/import", {"file": SimpleUploadedFile("a.csv", b"age\n5\n")})
    assert answer.status_code == 503 and b"disk is full" in answer.content
    assert not list(uploads.folder().iterdir()) and not ImportBatch.objects.exists()

"""Pages of further tables: upload, declare, check, take in; unknown people are listed, nobody else may look."""

from __future__ import annotations

import io
from typing import Any

import duckdb
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

import pydplib as dp
from pydplib.web import uploads
from pydplib.web.auditlog.models import Line
from pydplib.web.intake import upkeep as housekeeping
from pydplib.web.intake.snapshots import make_snapshot
from pydplib.web.tables.declared import computed_columns
from pydplib.web.tables.models import PersonRow, PersonTable, TableUpload


def labs(study: Any) -> str:
    """A German file: semicolons, decimal commas, dotted days; one row of a stranger, one of nobody."""
    one, other = (row["patient_id"] for row in study.rows[:2])
    return "\n".join(
        [
            "Pat-Nr;Datum;Testosteron;Stadium;Raucher",
            f"{one};3.1.2018;4,5;T2;ja",
            f"{one};9.4.2018;3,9;T3;ja",
            f"{other};1.2.2018;12,25;T2;nein",
            "ZZCANARY-unknown;1.2.2018;5,5;T2;nein",
            ";1.2.2018;5,5;T2;nein",
            f"{other};1.3.2018;viel;T9;nein",
        ]
    )


def send(study: Any, text: str | bytes, name: str = "labs.csv", **more: Any) -> Any:
    data = text.encode() if isinstance(text, str) else text
    sent = {"table": "new", "title": "Laboratory", "file": SimpleUploadedFile(name, data), **more}
    return study.owner.post(f"/tables?project={study.project.key}", sent)


DECLARED = {
    "person": "Pat-Nr",
    "most": "4",
    "kind1": "date", "facts1": "2017-01-01 to 2019-12-31", "name1": "lab_day", "title1": "Day of the test",
    "kind2": "number", "facts2": "0 bis 30", "unit2": "nmol/l", "name2": "testosterone", "title2": "Testosterone",
    "kind3": "category", "facts3": "T1, T2, T3, T4", "name3": "stage", "title3": "Stage",
    "kind4": "flag", "facts4": "", "name4": "smoker", "title4": "Smoker", "label4": "quasi",
}  # fmt: skip


def test_a_german_file_becomes_a_table_that_the_next_snapshot_has(study: Any) -> None:
    made = send(study, labs(study))
    assert made.status_code == 302, made.content.decode()[-2000:]
    upload = TableUpload.objects.get()
    page = study.owner.get(made["Location"])
    form = page.context["form"]
    assert form["person"].value() == "Pat-Nr" and form["most"].value() is None
    assert [form[f"kind{place}"].value() for place in range(5)] == ["", "date", "category", "category", "flag"]
    assert form["facts2"].value() == ""  # data never choose bounds
    tried = study.owner.post(made["Location"], {**DECLARED, "do": "check"})
    found = tried.context["found"]
    assert (found.rows, found.known, found.patients, found.unknown, found.nameless) == (6, 4, 2, 1, 1)
    assert dict(found.unread) == {"testosterone": 1, "stage": 1}
    assert not PersonTable.objects.filter(name="laboratory").exists()
    words = tried.content.decode()
    assert "People whom this project does not know" in words and "Testosterone: 1 cell" in words
    listed = b"".join(study.owner.get(f"/tables/uploads/{upload.key}/left-out.csv").streaming_content).decode()
    assert "ZZCANARY-unknown" in listed and len(listed.strip().splitlines()) == 2
    taken = study.owner.post(made["Location"], {**DECLARED, "do": "accept"}, follow=True)
    assert "4 rows of 2 patients were imported. 2 were left out." in taken.content.decode()
    table = PersonTable.objects.get(name="laboratory")
    assert table.rows.count() == 4 and not TableUpload.objects.exists()
    assert not uploads.path_of(upload.key).exists()
    first = PersonRow.objects.filter(table=table).order_by("pk").first()
    assert first.values == {"lab_day": "2018-01-03", "testosterone": 4.5, "stage": "T2", "smoker": True}
    snapshot = make_snapshot(study.project, actor=study.owner.user)
    pinned = snapshot.project.snapshots.get(number=snapshot.number, group="laboratory")
    schema = dp.Schema.from_json(pinned.schema)
    assert schema.max_rows_per_person == 4 and schema.column("testosterone").unit == "nmol/l"
    assert schema.column("smoker").label == "quasi" and pinned.table_title == "Laboratory"
    lines = " ".join(Line.objects.values_list("details", flat=True))
    assert "ZZCANARY" not in lines and "viel" not in lines
    assert {"table.upload", "table.add", "table.download"} <= set(Line.objects.values_list("action", flat=True))


def test_wrong_declarations_are_said_next_to_their_columns(study: Any) -> None:
    address = send(study, labs(study))["Location"]
    wrong = {**DECLARED, "facts2": "", "name1": "pirads", "facts3": "", "do": "check"}
    page = study.owner.post(address, wrong)
    assert page.status_code == 422
    errors = page.context["form"].errors
    assert "lowest and the highest" in str(errors["facts2"]) and "possible values" in str(errors["facts3"])
    taken = study.owner.post(address, {**DECLARED, "name1": "pirads", "do": "check"})
    assert "policy opens fields by name" in taken.content.decode()
    again = study.owner.post(address, {**DECLARED, "name1": "psa", "do": "check"})  # a column of the visits
    assert "policy opens fields by name" in again.content.decode()
    computed = computed_columns(study.project)[0].name  # a row that opens the formula would open these cells
    hidden = study.owner.post(address, {**DECLARED, "name1": computed, "do": "check"})
    assert "policy opens fields by name" in hidden.content.decode()
    nobody = study.owner.post(address, {**DECLARED, "person": "Stadium", "kind0": "", "do": "accept"})
    assert "nothing was imported" in nobody.content.decode() and PersonTable.objects.count() == 1
    discarded = study.owner.post(address + "/discard")
    assert discarded.status_code == 302 and not TableUpload.objects.exists()


def test_an_erasure_leaves_no_waiting_file_that_may_hold_the_person(study: Any) -> None:
    from pydplib.web.intake.rights.erasure import erase
    from pydplib.web.patients.models import Patient

    assert send(study, labs(study)).status_code == 302 and list(uploads.folder().iterdir())
    erase(Patient.objects.filter(project=study.project).first(), actor=study.owner.user)
    assert not TableUpload.objects.exists() and not list(uploads.folder().iterdir())
    assert Line.objects.filter(action="table.discard").count() == 1


def test_parquet_with_a_schema_file_replaces_the_rows_of_a_table(study: Any) -> None:
    one = study.rows[0]["patient_id"]
    table = PersonTable.objects.get()
    rows = duckdb.sql(
        f"SELECT '{one}' AS patient_id, DATE '2018-05-01' AS visit_date, 7.25 AS psa, 'standard' AS arm, "
        "true AS recurrence"
    )
    buffer = io.BytesIO()
    import pyarrow.parquet as pq

    pq.write_table(rows.to_arrow_table(), buffer)
    made = send(study, buffer.getvalue(), "visits.parquet", table=table.key, title="")
    assert made.status_code == 302, made.content.decode()[-1500:]
    form = study.owner.get(made["Location"]).context["form"]
    assert form["most"].value() == 12 and form["facts2"].value() == "0 to 100" and form["kind3"].value() == "category"
    sent = {name: form[name].value() or "" for name in form.fields} | {"do": "accept"}
    assert study.owner.post(made["Location"], sent).status_code == 302
    table.refresh_from_db()
    assert table.rows.count() == 1 and table.rows.get().values["psa"] == 7.25
    assert Line.objects.filter(action="table.replace").count() == 1
    toml = dp.Schema({"dose": dp.Number(0, 80, unit="Gy")}, person="patient_id", max_rows_per_person=2).to_toml()
    text = f"patient_id,dose\n{one},60\n"
    made = send(study, text, title="Radiation", schema=toml)
    form = study.owner.get(made["Location"]).context["form"]
    assert form["facts1"].value() == "0 to 80" and form["unit1"].value() == "Gy" and form["most"].value() == 2
    broken = send(study, text, schema="columns = 3")
    assert broken.status_code == 422 and "schema" in broken.context["form"].errors


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("x.parquet", b"PAR1 and then nothing of the kind", "Parquet file cannot be read"),
        ("x.csv", b"", "empty"),
        ("x.json", b'{"resourceType": "QuestionnaireResponse"}', "not a table"),
    ],
)
def test_hostile_files_are_refused_in_words(study: Any, name: str, data: bytes, words: str) -> None:
    answer = send(study, data, name)
    assert answer.status_code == 422 and words in answer.content.decode()
    assert not TableUpload.objects.exists() and not list(uploads.folder().iterdir())


def test_parquet_that_unpacks_without_end_is_stopped_and_odd_types_are_missing(
    study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One long text in every row takes a few bytes in the file, whatever the file says of its own size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pydplib.web.intake.further_tables import files as table_files

    def packed(**columns: Any) -> bytes:
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns), buffer, compression="zstd")
        return buffer.getvalue()

    monkeypatch.setattr(table_files, "MOST_UNPACKED", 1_000_000)
    bomb = packed(patient_id=["1"] * 2000, note=["x" * 1000] * 2000)
    assert len(bomb) < 5_000
    refused = send(study, bomb, "x.parquet")
    assert refused.status_code == 422 and "unpacks to far more" in refused.content.decode()
    assert not TableUpload.objects.exists() and not list(uploads.folder().iterdir())
    odd = packed(
        patient_id=["1", "2"], many=[["a"], ["b"]], inner=[{"a": 1}, None], raw=[b"\xff", None],
        word=pa.array(["u", None]).dictionary_encode(), number=[1.5, float("nan")],
    )  # fmt: skip
    assert send(study, odd, "x.parquet").status_code == 302
    upload = TableUpload.objects.get()
    assert list(uploads.table_rows(upload.key)) == [["1", "", "", "", "u", "1.5"], ["2", "", "", "", "", ""]]


def test_hostile_cells_change_no_other_row(study: Any) -> None:
    one = study.rows[0]["patient_id"]
    cells = ["1e400", "NaN", "inf", "-0", "9" * 400, "'; DROP TABLE", "=1+1", "\u202e7", "7"]
    text = "patient_id,value\n" + "\n".join(f"{one},{cell}" for cell in cells) + "\n"
    address = send(study, text, title="Values")["Location"]
    sent = {
        "person": "patient_id",
        "most": "20",
        "kind1": "number",
        "facts1": "0 to 10",
        "name1": "value",
        "do": "accept",
    }
    assert study.owner.post(address, sent).status_code == 302
    kept = [row.values.get("value") for row in PersonTable.objects.get(name="values").rows.order_by("pk")]
    assert len(kept) == len(cells) and kept[-1] == 7.0 and kept[3] == 0.0
    assert [value for value in kept if value is not None] == [0.0, 7.0]
    make_snapshot(study.project, actor=study.owner.user)


def test_files_that_nobody_takes_in_go_after_a_day(study: Any) -> None:
    import datetime as dt

    from django.utils import timezone

    send(study, labs(study))
    upload = TableUpload.objects.get()
    housekeeping.tidy()
    assert TableUpload.objects.exists()
    TableUpload.objects.update(made=timezone.now() - dt.timedelta(days=1, minutes=1))
    housekeeping.tidy()
    assert not TableUpload.objects.exists() and not uploads.path_of(upload.key).exists()


def test_removing_a_table_asks_and_deletes_its_rows(study: Any) -> None:
    table = PersonTable.objects.get()
    page = study.owner.get(f"/tables?project={study.project.key}").content.decode()
    assert "Follow-up visits" in page and "Delete this table?" in page
    assert study.owner.post(f"/tables/{table.key}/remove").status_code == 302
    assert not PersonRow.objects.exists() and not PersonTable.objects.exists()

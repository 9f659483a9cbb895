"""The labelling queue: texts in, blind readers, agreement, a judge where they differ, signed reports out."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from report_forms import as_fields

from pydplib.capture import cohens_kappa
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.reporting.labels.agreement import agreement_of
from pydplib.web.reporting.models import FreeText, Reading, Report

CSV = (
    'patient;text;department\nA 17;"Lesion, left.\nPI-RADS 4";radiology\nB 2;No lesion Canary-99.;\nC 3;Third;urology\n'
)


@pytest.fixture
def owner(member: Any, template: Any) -> Any:
    return member("owner", "olga")


@pytest.fixture
def rob(member: Any) -> Any:
    return member("radiologist", "rob", department="radiology")


def _add(client: Any, data: bytes = CSV.encode(), readers: int = 1) -> Any:
    return client.post("/labelling/add", {"file": SimpleUploadedFile("t.csv", data), "readers": readers})


def _paste(client: Any, count: int = 1, readers: int = 1) -> None:
    for number in range(count):
        values = {"identifier": f"P {number}", "text": f"Text number {number}", "readers": readers}
        assert client.post("/labelling/add", values).status_code == 302


def _take(client: Any) -> Reading | None:
    answer = client.post("/labelling/next")
    assert answer.status_code == 302
    key = answer["Location"].rsplit("/", 1)[-1]
    return Reading.objects.filter(key=key).first()


def _finish(client: Any, reading: Reading, answers: dict[str, Any]) -> Any:
    reading.refresh_from_db()
    values = {"revision": reading.revision, "kind": "reading", "do": "finish", **as_fields(answers)}
    return client.post(f"/labelling/readings/{reading.key}", values)


def test_a_file_fills_the_queue_with_patients_stored_apart(owner) -> None:
    assert _add(owner).status_code == 302
    texts = list(FreeText.objects.order_by("id"))
    assert [text.department for text in texts] == ["radiology", "", "urology"]
    assert texts[0].text == "Lesion, left.\nPI-RADS 4"
    assert texts[0].patient.identifiers.get().value == "A 17"
    assert Line.objects.get(action="texts.add").facts == {"texts": 3, "readers": 1}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a;b\n1;2\n", "names the patient"),
        (b"patient;b\n1;2\n", "holds the text"),
        (b"patient;text\n", "no texts"),
        (b"patient;text\n;Something Canary\n", "Row 2 does not say whose"),
        (b"patient;text\nA;\n", "Row 2 is empty"),
        (b"patient;text\nA;b;Canary\n", "Row 2 has 3 columns"),
        (b'patient;text\nA;"Canary open\n', "not a CSV"),
        (b"patient;text\nA;bell \x07 Canary\n", "not text"),
        (b"", "empty"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_as_a_whole_without_quoting_it(owner, data, words) -> None:
    answer = _add(owner, data)
    page = answer.content.decode()
    assert answer.status_code == 422 and words in page and "Canary" not in page
    assert not FreeText.objects.exists()


def test_latin_1_files_are_read(owner) -> None:
    assert _add(owner, "patient,text\nMüller,Läsion links\n".encode("latin-1")).status_code == 302
    assert FreeText.objects.get().text == "Läsion links"


def test_one_line_of_another_encoding_changes_no_other(owner) -> None:
    _add(owner, "patient,text\nA,Läsion rechts\n".encode() + "B,Läsion links\n".encode("latin-1"))
    assert set(FreeText.objects.values_list("text", flat=True)) == {"Läsion rechts", "Läsion links"}


def test_readers_get_texts_of_their_department_one_at_a_time(owner, reader) -> None:
    _add(owner)
    first = _take(reader)
    assert first is not None and first.text.department == "radiology"
    assert _take(reader).pk == first.pk  # the one in hand comes first
    page = reader.get(f"/labelling/readings/{first.key}").content.decode()
    assert "Lesion, left." in page and "Canary-99" not in page
    reader.post(f"/labelling/readings/{first.key}/give-back")
    texts = {_take(reader).text.department for _ in range(1)}
    assert texts == {"radiology"}
    assert Line.objects.filter(action="text.look").exists()


def test_the_queue_ends_and_says_so(owner, reader) -> None:
    _paste(owner)
    assert _take(reader) is not None
    reader.post(f"/labelling/readings/{Reading.objects.get().key}/give-back")
    FreeText.objects.update(department="urology")
    assert _take(reader) is None
    assert "No text waits for you" in reader.get("/labelling").content.decode()


def test_one_reader_makes_a_signed_report_of_a_text(owner, reader, answers, project) -> None:
    _paste(owner)
    reading = _take(reader)
    assert _finish(reader, reading, answers).status_code == 302
    report = Report.objects.get()
    text = FreeText.objects.get()
    assert (report.state, report.origin, report.version, report.values["pirads"]) == ("signed", "label", 1, 4)
    assert text.report == report and report.patient == text.patient and report.author == reader.user
    project.refresh_from_db()
    assert project.data_version == 1
    assert [line.action for line in Line.objects.order_by("number")][-2:] == ["text.read", "report.sign"]
    assert verify()


def test_an_incomplete_reading_is_not_finished(owner, reader, answers) -> None:
    _paste(owner)
    reading = _take(reader)
    del answers["age"]
    assert _finish(reader, reading, answers).status_code == 422
    reading.refresh_from_db()
    assert reading.finished is None and not Report.objects.exists()


def test_the_second_reader_is_blind_and_agreement_signs_the_report(owner, reader, rob, answers) -> None:
    _paste(owner, readers=2)
    one, two = _take(reader), _take(rob)
    assert {one.number, two.number} == {1, 2} and one.text_id == two.text_id
    assert _finish(reader, one, answers).status_code == 302
    assert not Report.objects.exists()
    page = rob.get(f"/labelling/readings/{two.key}").content.decode()
    assert "Canary-7731" not in page and 'value="64"' not in page  # nothing of what the first one answered
    for client in (rob, owner):
        assert client.get(f"/labelling/readings/{one.key}").status_code == 404
    assert _finish(rob, two, answers).status_code == 302
    assert Report.objects.get().versions.get().reason == "Two readers agree"


def test_the_same_reader_never_reads_a_text_twice(owner, reader, answers) -> None:
    _paste(owner, readers=2)
    _finish(reader, _take(reader), answers)
    assert _take(reader) is None


def test_where_readers_differ_an_owner_decides(owner, reader, rob, answers) -> None:
    _paste(owner, readers=2)
    _finish(reader, _take(reader), answers)
    other = answers | {"age": 70}
    _finish(rob, _take(rob), other)
    assert not Report.objects.exists()
    text = FreeText.objects.get()
    assert f"/labelling/texts/{text.key}/judge" in owner.get("/labelling").content.decode()
    assert rob.post(f"/labelling/texts/{text.key}/judge").status_code == 403
    began = owner.post(f"/labelling/texts/{text.key}/judge")
    judgement = Reading.objects.get(number=Reading.JUDGE)
    assert began["Location"].endswith(judgement.key)
    assert "age" not in judgement.answers and judgement.answers["lesion"][0]["size"] == 12
    page = owner.get(f"/labelling/readings/{judgement.key}").content.decode()
    assert "64 years" in page and "70 years" in page and "Where the readers differ" in page
    assert _finish(owner, judgement, other).status_code == 302
    report = Report.objects.get()
    assert report.values["age"] == 70 and report.versions.get().reason == "Decided between two readers"
    assert owner.get("/labelling").status_code == 200 and FreeText.objects.get().report == report


def test_nothing_is_decided_before_both_have_read(owner, reader, answers) -> None:
    _paste(owner, readers=2)
    _finish(reader, _take(reader), answers)
    text = FreeText.objects.get()
    assert owner.post(f"/labelling/texts/{text.key}/judge").status_code == 422
    assert not Reading.objects.filter(number=Reading.JUDGE).exists()


def test_agreement_is_cohens_kappa_of_the_finished_pairs(owner, reader, rob, answers, project) -> None:
    ours, theirs = [True, True, False, False], [True, False, False, False]
    _paste(owner, count=4, readers=2)
    for client, votes in ((reader, ours), (rob, theirs)):
        for vote in votes:
            assert _finish(client, _take(client), answers | {"bph": "yes" if vote else "no"}).status_code == 302
    ((_, count, questions),) = agreement_of(project)
    found = {each.question.id: each.agreement for each in questions}
    expected = cohens_kappa(ours, theirs, categories=[False, True])
    assert count == 4 and found["bph"] == expected and found["bph"].kappa == pytest.approx(0.5)
    page = owner.get("/labelling/agreement").content.decode()
    assert "0.50" in page and "moderate" in page
    assert rob.get("/labelling/agreement").status_code == 403


def test_progress_counts_texts_readings_and_differences(owner, reader, rob, answers) -> None:
    from pydplib.web.reporting.labels.queue import progress_of

    _paste(owner, count=3, readers=2)
    for client, age in ((reader, 64), (rob, 70)):
        _finish(client, _take(client), answers | {"age": age})
    _take(reader)
    progress = progress_of(FreeText.objects.first().project)
    assert (progress.texts, progress.labelled, progress.in_hand, progress.differ) == (3, 0, 1, 1)


def test_a_reading_is_kept_while_it_is_filled_in_and_conflicts_are_told(owner, reader) -> None:
    _paste(owner)
    reading = _take(reader)
    address = f"/labelling/readings/{reading.key}/autosave"
    assert reader.post(address, {"revision": 0, "age": "64"}).status_code == 200
    assert reader.post(address, {"revision": 0, "age": "65"}).status_code == 409
    reading.refresh_from_db()
    assert reading.answers == {"age": 64}


def test_an_owner_puts_back_what_an_absent_reader_holds_and_others_cannot(owner, reader, rob) -> None:
    _paste(owner)
    reading = _take(reader)
    assert rob.post(f"/labelling/readings/{reading.key}/give-back").status_code == 404
    assert owner.post(f"/labelling/readings/{reading.key}/give-back").status_code == 302
    assert _take(rob) is not None


def test_texts_reach_readers_and_owners_only(owner, member) -> None:
    _add(owner)
    for role in ("collaborator", "third_party", "data_protection_officer"):
        client = member(role)
        for page in ("/labelling", "/labelling/add", "/labelling/agreement"):
            answer = client.get(page)
            assert answer.status_code == 403 and "Canary" not in answer.content.decode()
    assert not any("Canary" in line.body for line in Line.objects.all())


def test_erasing_a_patient_takes_texts_readings_and_corrections_along(owner, reader, rob, write, answers) -> None:
    from pydplib.web.intake.rights.erasure import erase
    from pydplib.web.reporting.forms.drafts import keep_as_correction
    from pydplib.web.reporting.models import Correction, ReportVersion

    _paste(owner, count=2, readers=2)
    _finish(reader, _take(reader), answers)
    _take(rob)
    report = write(reader, answers, patient="P 0")
    keep_as_correction(report, report.answers, user=rob.user)
    other = FreeText.objects.exclude(patient=report.patient).get()
    erase(report.patient, actor=owner.user)
    assert list(FreeText.objects.all()) == [other]
    for model in (Reading, Report, ReportVersion, Correction):
        assert not model.objects.exists()

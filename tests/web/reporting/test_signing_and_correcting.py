"""Signing, correcting, history; who is second is told and loses nothing; the log goes with the change or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone
from report_forms import as_fields, post

from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.patients.models import Patient
from pydplib.web.reporting import signatures
from pydplib.web.reporting.models import Correction, Report, ReportVersion


def _actions(report: Any) -> list[str]:
    return list(Line.objects.filter(subject=report.key).order_by("number").values_list("action", flat=True))


def test_signing_writes_version_text_row_data_version_and_line(reader, write, answers, project) -> None:
    before = project.data_version
    report = write(reader, answers)
    version = report.versions.get()
    project.refresh_from_db()
    assert (report.state, report.version, version.number, version.author) == ("signed", 1, 1, reader.user)
    assert "Overall PI-RADS category 4 (high: clinically significant cancer is likely)" in version.text
    assert report.values["exam_date"] == "2018-03-31" and report.values["pirads"] == 4
    assert "patient_id" not in report.values and "other_findings" not in report.values
    assert "patient_id" not in report.answers and report.answers == version.answers
    assert project.data_version == before + 1
    line = Line.objects.get(action="report.sign")
    assert line.subject == report.key and line.facts == {"version": 1, "data_version": project.data_version}
    assert verify()


@pytest.mark.parametrize("where", ["new_data_version", "_write_signed", "append"])
def test_a_fault_while_signing_leaves_neither_report_nor_line(
    reader, write, answers, project, monkeypatch, where
) -> None:
    report = write(reader, answers, sign=False)
    lines = Line.objects.count()

    def fail(*args: Any, **more: Any) -> None:
        raise RuntimeError("power cut")

    target = "pydplib.web.auditlog.log.append" if where == "append" else f"pydplib.web.reporting.signatures.{where}"
    monkeypatch.setattr(target, fail)
    report.refresh_from_db()
    with pytest.raises(RuntimeError):
        signatures.sign_report(report, revision=report.revision, user=reader.user)
    monkeypatch.undo()
    report.refresh_from_db()
    version = project.data_version
    project.refresh_from_db()
    assert (report.state, report.version, report.values) == ("draft", 0, {})
    assert not ReportVersion.objects.exists() and project.data_version == version
    assert Line.objects.count() == lines and verify()


def test_a_correction_needs_a_reason_and_becomes_a_new_version(reader, write, answers, project) -> None:
    report = write(reader, answers)
    answers["lesion"][0] |= {"dwi": "5", "t2w": "5", "size": 16}
    refused = post(reader, report, answers, do="finish", revision=0)
    assert refused.status_code == 422 and "Say why" in refused.content.decode()
    draft = Correction.objects.get()
    report.refresh_from_db()
    assert report.version == 1 and report.values["pirads"] == 4  # the signed one stays until the correction is signed
    done = post(reader, report, answers, do="finish", revision=draft.revision, reason="Measured again")
    assert done.status_code == 302
    report.refresh_from_db()
    project.refresh_from_db()
    first, second = report.versions.order_by("number")
    assert (report.version, report.values["pirads"], second.reason) == (2, 5, "Measured again")
    assert "category 4" in first.text and "category 5" in second.text and first.reason == ""
    assert not Correction.objects.exists() and project.data_version == 2
    assert _actions(report)[-1] == "report.correct" and verify()


def test_the_history_shows_the_differences_between_versions(reader, write, answers) -> None:
    report = write(reader, answers)
    answers["age"] = 65
    post(reader, report, answers, do="finish", revision=0, reason="Wrong year")
    page = reader.get(f"/reports/{report.key}").content.decode()
    assert "Wrong year" in page and "64 years" in page and "65 years" in page and "Version 2" in page
    earlier = reader.get(f"/reports/{report.key}?version=1").content.decode()
    assert "Patient of 64 years." in earlier and "An earlier version" in earlier
    assert reader.get(f"/reports/{report.key}?version=9").status_code == 404


def test_two_people_on_one_draft_the_second_is_told_and_nothing_is_lost(reader, write, member) -> None:
    report = write(reader, {"age": 64}, sign=False)
    report.refresh_from_db()
    opened = {"revision": report.revision, "kind": "report"}
    rob = member("radiologist", "rob", department="radiology")
    address = f"/reports/{report.key}/edit"
    assert reader.post(address, opened | {"age": "70"}).status_code == 302
    late = rob.post(address, opened | {"age": "71", "psa": "3.3"})
    page = late.content.decode()
    assert late.status_code == 409 and "rita" in page
    assert 'value="71"' in page and "70 years" in page and "71 years" in page
    report.refresh_from_db()
    assert report.answers == {"age": 70}
    # Saved again on purpose, from the page that showed the difference, the second one's is kept.
    revision = page.split('name="revision" value="')[1].split('"')[0]
    assert rob.post(address, {"revision": revision, "kind": "report", "age": "71", "psa": "3.3"}).status_code == 302
    report.refresh_from_db()
    assert report.answers == {"age": 71, "psa": 3.3}


def test_autosave_on_a_draft_that_changed_elsewhere_says_so(reader, write) -> None:
    report = write(reader, {"age": 64}, sign=False)
    values = {"revision": "0", "kind": "report", "age": "66"}
    answer = reader.post(f"/reports/{report.key}/autosave", values)
    assert answer.status_code == 409 and 'data-part="met"' in answer.content.decode()
    report.refresh_from_db()
    assert report.answers == {"age": 64}


def test_what_was_typed_into_a_draft_that_another_signed_is_kept_as_a_correction(
    reader, write, answers, member
) -> None:
    report = write(reader, answers, sign=False)
    report.refresh_from_db()
    rob = member("radiologist", "rob", department="radiology")
    assert post(rob, report, answers, do="finish").status_code == 302
    typed = {"revision": report.revision, "kind": "report", **as_fields(answers | {"age": 70})}
    late = reader.post(f"/reports/{report.key}/autosave", typed, headers={"X-Requested-With": "fetch"})
    assert late.status_code == 409 and late["X-Go-To"] == f"/reports/{report.key}/edit"
    report.refresh_from_db()
    assert report.values["age"] == 64 and report.version == 1
    kept = Correction.objects.get()
    assert kept.author == reader.user and kept.answers["age"] == 70
    assert "What you typed is kept" in reader.get(late["X-Go-To"]).content.decode()


def test_the_second_of_two_corrections_is_told_and_can_build_on_the_first(reader, write, answers, member) -> None:
    report = write(reader, answers)
    rob = member("radiologist", "rob", department="radiology")
    post(rob, report, answers | {"age": 70}, revision=0, reason="Age")  # rob begins
    post(reader, report, answers | {"psa": "9.1"}, do="finish", revision=0, reason="PSA was missing")
    mine = Correction.objects.get(author=rob.user)
    values = answers | {"age": 70}
    told = post(rob, report, values, do="finish", revision=mine.revision, reason="Age")
    page = told.content.decode()
    assert told.status_code == 409 and "Somebody else corrected" in page and "9.1 ng/mL" in page
    mine.refresh_from_db()
    assert post(rob, report, values, do="finish", revision=mine.revision, reason="Age").status_code == 302
    report.refresh_from_db()
    assert report.version == 3 and report.values["age"] == 70
    assert [v.number for v in report.versions.order_by("number")] == [1, 2, 3]


def test_signing_another_revision_than_the_one_looked_at_is_refused(reader, write, answers) -> None:
    report = write(reader, answers, sign=False)
    with pytest.raises(signatures.DraftConflict):
        signatures.sign_report(report, revision=report.revision + 5, user=reader.user)
    report.refresh_from_db()
    assert report.state == "draft" and not ReportVersion.objects.exists()


def test_a_discarded_draft_takes_a_patient_with_it_of_whom_nothing_else_is_known(reader, write, answers) -> None:
    signed = write(reader, answers, patient="A 17")
    second = write(reader, answers, patient="A 17", sign=False)
    alone = write(reader, answers, patient="B 2", sign=False)
    for report in (second, alone):
        assert reader.post(f"/reports/{report.key}/discard").status_code == 302
    assert list(Report.objects.all()) == [signed] and list(Patient.objects.all()) == [signed.patient]
    assert Line.objects.filter(action="report.discard").count() == 2


def test_a_signed_report_cannot_be_discarded_only_its_correction(reader, write, answers) -> None:
    report = write(reader, answers)
    post(reader, report, answers, revision=0, reason="x")
    assert Correction.objects.count() == 1
    assert reader.post(f"/reports/{report.key}/discard").status_code == 302
    report.refresh_from_db()
    assert report.state == "signed" and not Correction.objects.exists() and report.versions.count() == 1
    from pydplib.web.reporting.forms.drafts import discard_draft

    with pytest.raises(signatures.DraftConflict):
        discard_draft(report, user=reader.user)


def test_the_prior_report_of_the_patient_stands_beside_the_form(reader, write, answers, member) -> None:
    prior = write(reader, answers, patient="A 17")
    now = write(reader, {}, patient="A 17", sign=False)
    page = reader.get(f"/reports/{now.key}/edit").content.decode()
    assert "Prior report of" in page and "Patient of 64 years." in page
    looks = Line.objects.filter(action="report.look", subject=prior.key)
    assert looks.exists() and looks.last().facts["page"] == "prior"
    Report.objects.filter(pk=prior.pk).update(department="elsewhere", author=member("owner", "olga").user)
    assert "Prior report of" not in reader.get(f"/reports/{now.key}/edit").content.decode()


def test_a_report_on_another_patient_than_the_one_typed_again_is_not_signed(reader, write, answers) -> None:
    report = write(reader, answers, sign=False)
    assert post(reader, report, answers, do="finish", check_identifier="B 2").status_code == 302
    report.refresh_from_db()
    assert report.state == "draft"
    assert "on another patient" in reader.get(f"/reports/{report.key}/edit").content.decode()
    post(reader, report, answers, check_identifier=" A  17")
    assert "Yes, this report is on that patient" in reader.get(f"/reports/{report.key}/edit").content.decode()
    assert [line.facts for line in Line.objects.filter(action="patient.check")] == [{"same": False}, {"same": True}]


def test_the_database_refuses_to_change_a_signed_version(reader, write, answers) -> None:
    version = write(reader, answers).versions.get()
    for change in ({"text": "Nothing found."}, {"answers": {}}, {"reason": "later"}):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            ReportVersion.objects.filter(pk=version.pk).update(**change)
    version.refresh_from_db()
    assert "category 4" in version.text


def test_a_withdrawn_consent_is_said_in_the_form(reader, write) -> None:
    report = write(reader, {}, sign=False)
    Patient.objects.filter(pk=report.patient_id).update(consent="withdrawn")
    assert "Consent withdrawn" in reader.get(f"/reports/{report.key}/edit").content.decode()


def test_the_draft_that_is_signed_by_a_colleague_names_both(reader, write, answers, member) -> None:
    report = write(reader, answers, sign=False)
    rob = member("radiologist", "rob", department="radiology")
    post(rob, report, answers, do="finish")
    report.refresh_from_db()
    assert report.author == reader.user and report.versions.get().author == rob.user
    assert report.signed <= timezone.now()

"""The report form without script: round trips, branching, what is kept and what is dropped."""

from __future__ import annotations

from typing import Any

import pytest
from report_forms import LESION, as_fields, post

from pydplib.web.reporting.models import Report


def _page(client: Any, report: Any) -> str:
    answer = client.get(f"/reports/{report.key}/edit")
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_a_new_report_asks_for_the_patient_first_and_shows_the_identifier_to_its_author_until_it_is_signed(
    reader, write, answers
) -> None:
    report = write(reader, answers, patient="Canary Jane 1950", sign=False)
    page = _page(reader, report)
    assert page.count("Canary Jane 1950") == 1, "to the one who typed it"
    assert report.patient.identifiers.get().value == "Canary Jane 1950"
    assert "Canary" not in str({k: v for k, v in report.answers.items() if k != "other_findings"})
    assert 'name="patient_id"' not in page and 'name="age"' in page


def test_a_report_is_begun_filled_in_and_signed_through_the_pages(reader, answers) -> None:
    began = reader.post("/reports/new", {"identifier": "A 17", "new_patient": "A 17"})
    assert began.status_code == 302
    report = Report.objects.get(key=began["Location"].split("/")[2])
    assert (report.author, report.department, report.state) == (reader.user, "radiology", "draft")
    assert post(reader, report, answers).status_code == 302
    signed = post(reader, report, answers, do="finish")
    assert signed.status_code == 302 and signed["Location"] == f"/reports/{report.key}"
    page = reader.get(signed["Location"]).content.decode()
    assert "High: clinically significant cancer is likely" in page and "The report is signed." in page


def test_an_unknown_number_says_new_patient_before_anything_is_written(reader, write, answers) -> None:
    from pydplib.web.auditlog.models import Line
    from pydplib.web.patients.models import Patient

    write(reader, answers, patient="SYN-R-001")
    asked = reader.post("/reports/new", {"identifier": "SYN-R-0O1"})
    page = asked.content.decode()
    assert asked.status_code == 200 and "New patient" in page and "<code>SYN-R-0O1</code>" in page
    assert Report.objects.count() == Patient.objects.count() == 1
    line = Line.objects.get(action="patient.check")
    assert line.facts == {"known": False} and "SYN" not in line.subject + line.details
    other = reader.post("/reports/new", {"identifier": "SYN-R-0O2", "new_patient": "SYN-R-0O1"})
    assert other.status_code == 200 and "SYN-R-0O2" in other.content.decode(), "said of another number"
    assert reader.post("/reports/new", {"identifier": "SYN-R-001"}).status_code == 302, (
        "somebody known is not asked about"
    )
    assert reader.post("/reports/new", {"identifier": "SYN-R-0O1", "new_patient": "SYN-R-0O1"}).status_code == 302
    assert Patient.objects.count() == 2


def test_the_typed_number_is_shown_to_nobody_else_and_not_after_signing(reader, member, write, answers) -> None:
    report = write(reader, answers, patient="Canary Jane 1950", sign=False)
    colleague = member("radiologist", "ruth", department="radiology")
    page = _page(colleague, report)
    assert 'name="age"' in page and "Canary Jane" not in page
    assert post(reader, report, answers, do="finish").status_code == 302
    for address in (f"/reports/{report.key}", f"/reports/{report.key}/edit"):
        assert "Canary Jane" not in reader.get(address).content.decode()


def test_a_patient_with_an_open_draft_is_offered_before_another_one_is_begun(reader, write, answers) -> None:
    first = write(reader, answers, sign=False)
    again = reader.post("/reports/new", {"identifier": "A 17"})
    assert again.status_code == 200 and f"/reports/{first.key}/edit" in again.content.decode()
    assert Report.objects.count() == 1
    assert reader.post("/reports/new", {"identifier": "A  17 ", "anyway": "1"}).status_code == 302
    assert Report.objects.filter(patient=first.patient).count() == 2


@pytest.mark.parametrize("identifier", ["", "   "])
def test_a_patient_without_identifier_is_refused(reader, identifier) -> None:
    answer = reader.post("/reports/new", {"identifier": identifier})
    assert answer.status_code == 200 and "field-error" in answer.content.decode()
    assert not Report.objects.exists()


def test_questions_appear_and_go_by_round_trips_and_hidden_answers_are_dropped(reader, write) -> None:
    report = write(reader, {"histology": "yes"}, sign=False)
    assert 'name="gleason_primary"' in _page(reader, report)
    post(reader, report, {"histology": "yes", "gleason_primary": "4", "gleason_secondary": "3"})
    page = _page(reader, report)
    assert '<output class="computed" data-value>7</output>' in page
    post(reader, report, {"histology": "no", "gleason_primary": "4", "gleason_secondary": "3"})
    report.refresh_from_db()
    assert report.answers == {"histology": False}
    assert 'name="gleason_primary"' not in _page(reader, report)


def test_branching_inside_a_repetition_looks_at_its_own_answers(reader, write) -> None:
    report = write(reader, {"lesion": [{"zone": "CZ"}, {"zone": "PZ"}]}, sign=False)
    page = _page(reader, report)
    assert 'name="lesion/0/origin"' in page and 'name="lesion/1/origin"' not in page


def test_lesions_are_added_and_removed_by_round_trips(reader, write) -> None:
    report = write(reader, {"lesion": [{"size": 9}]}, sign=False)
    post(reader, report, {"lesion": [{"size": 9}]}, do="add:lesion")
    assert 'name="lesion/1/size"' in _page(reader, report)
    post(reader, report, {"lesion": [{"size": 9}, {"size": 14}]}, do="remove:lesion/0")
    report.refresh_from_db()
    assert report.answers["lesion"] == [{"size": 14}]
    for count in range(1, 6):
        blank = [{"size": ""}] * (count - 1)  # what a browser posts of fields that nobody filled in
        post(reader, report, {"lesion": [{"size": 14}, *blank]}, do="add:lesion")
    report.refresh_from_db()
    assert len(report.answers["lesion"]) == 4


def test_a_step_that_makes_no_sense_changes_nothing(reader, write) -> None:
    report = write(reader, {"lesion": [{"size": 9}]}, sign=False)
    for step in ("add:age", "add:", "remove:lesion/9", "remove:lesion", "remove:x/y/z", "add:lesion/0/zone"):
        assert post(reader, report, {"lesion": [{"size": 9}]}, do=step).status_code == 302
        report.refresh_from_db()
        assert report.answers == {"lesion": [{"size": 9}]}, step


def test_what_cannot_be_read_is_kept_to_be_mended(reader, write) -> None:
    report = write(reader, {"age": "sixty", "psa": "7,25"}, sign=False)
    assert report.answers == {"age": "sixty", "psa": 7.25}
    page = _page(reader, report)
    assert 'value="sixty"' in page and "Age must be a whole number." in page


def test_what_no_database_can_hold_is_taken_out(reader, write) -> None:
    report = write(reader, {"other_findings": "a\x00b"}, sign=False)
    assert report.answers == {"other_findings": "ab"}


def test_typed_markup_is_shown_as_text(reader, write) -> None:
    page = _page(reader, write(reader, {"other_findings": "<script>alert(1)</script>"}, sign=False))
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page


def test_signing_lists_what_is_missing_linked_to_the_fields(reader, write, answers) -> None:
    del answers["age"]
    del answers["lesion"][0]["size"]
    report = write(reader, answers, sign=False)
    refused = post(reader, report, answers, do="finish")
    page = refused.content.decode()
    assert refused.status_code == 422
    assert 'href="#f:age"' in page and 'id="f:age"' in page
    assert 'href="#f:lesion/0/size"' in page and "Lesion 1: " in page
    report.refresh_from_db()
    assert report.state == "draft" and report.version == 0


def test_the_server_computes_the_category_whatever_the_browser_says(reader, write, answers) -> None:
    answers |= {"pirads": "1", "lesions": "0", "significant": "no"}
    answers["lesion"][0]["category"] = "1"
    report = write(reader, answers)
    assert report.values["pirads"] == 4 and report.values["lesions"] == 1
    assert report.answers["lesion"][0]["category"] == 4


def test_contradictions_must_be_seen_before_signing(reader, write, answers) -> None:
    answers["lesion"][0]["size"] = 18  # a score of 4 from 15 mm on contradicts itself
    report = write(reader, answers, sign=False)
    asked = post(reader, report, answers, do="finish")
    page = asked.content.decode()
    assert asked.status_code == 200 and "Look at this before you sign" in page
    mark = page.split('name="seen" value="')[1].split('"')[0]
    assert post(reader, report, answers, do="finish", seen="something else").status_code == 200
    report.refresh_from_db()
    assert report.state == "draft"
    assert post(reader, report, answers, do="finish", seen=mark).status_code == 302
    report.refresh_from_db()
    assert report.state == "signed"


def test_autosave_keeps_the_draft_and_answers_with_the_parts_that_follow(reader, write) -> None:
    report = write(reader, {}, sign=False)
    report.refresh_from_db()
    values = {"revision": report.revision, "kind": "report", **as_fields({"lesion": [LESION]})}
    answer = reader.post(f"/reports/{report.key}/autosave", values)
    parts = answer.content.decode()
    assert answer.status_code == 200
    assert (
        f'data-revision="{report.revision + 1}"' in parts and "High: clinically significant cancer is likely" in parts
    )
    assert "<html" not in parts
    report.refresh_from_db()
    assert report.answers == {"lesion": [{**LESION}]}
    assert reader.get(f"/reports/{report.key}/autosave").status_code == 405


def test_autosave_after_a_timeout_goes_to_the_sign_in_and_the_draft_is_there_afterwards(reader, write, sign_in) -> None:
    report = write(reader, {"age": 64}, sign=False)
    session = reader.session
    session["started_at"] = session["seen_at"] = 1.0  # long ago
    session.save()
    answer = reader.post(f"/reports/{report.key}/autosave", {"revision": 1, "kind": "report", "age": "65"})
    assert answer.status_code == 302 and "login" in answer["Location"]
    assert 'value="64"' in _page(sign_in(reader.user), report)


def test_the_key_for_what_was_typed_after_a_timeout_is_the_same_for_one_person_and_draft_only(
    reader, write, member, sign_in
) -> None:
    def key(client: Any, report: Any) -> str:
        return _page(client, report).split('data-keep-key="')[1].split('"')[0]

    one, other = write(reader, {}, sign=False), write(reader, {}, patient="B 2", sign=False)
    colleague = member("radiologist", "rob", department="radiology")
    assert key(reader, one) == key(sign_in(reader.user), one)
    assert len({key(reader, one), key(reader, other), key(colleague, one)}) == 3


def test_a_draft_is_kept_when_closed_and_stands_on_top_of_the_list(reader, write) -> None:
    report = write(reader, {"age": 64}, sign=False)
    assert post(reader, report, {"age": 65}, do="leave")["Location"] == "/reports"
    page = reader.get("/reports").content.decode()
    assert "Your drafts" in page and f"/reports/{report.key}/edit" in page


def test_a_template_without_person_question_begins_without_identifier(reader, project) -> None:
    from pydplib.capture import Question, Template
    from pydplib.web.reporting.report_templates.versions import add_template

    age = Question(id="age", kind="integer", title="Age", low=18, high=100, required=True)
    add_template(project, Template(id="visit", version="1", title="Visit", items=(age,)), actor="system")
    began = reader.post("/reports/new", {})
    assert began.status_code == 302
    report = Report.objects.get()
    assert not report.patient.identifiers.exists()
    assert post(reader, report, {"age": 64}, do="finish").status_code == 302
    report.refresh_from_db()
    assert report.values == {"age": 64}


def test_only_a_template_that_works_a_score_out_promises_one() -> None:
    from pydplib.capture import builtin
    from pydplib.web.reporting.forms.answers import form_state

    assert form_state(builtin("pirads-2.1"), {}).scored
    assert not form_state(builtin("pirads-paper"), {}).scored

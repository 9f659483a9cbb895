"""Departments, lists, exact finding, looks in the log, and free text that never reaches anybody else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from report_forms import post

from pydplib.capture import builtin, response_from_fhir
from pydplib.web.auditlog.models import Line
from pydplib.web.reporting.models import Report

CANARY = "Canary-7731"


@pytest.fixture
def elsewhere(member: Any) -> Any:
    """A radiologist of another department."""
    return member("radiologist", "urs", department="urology")


def test_a_report_of_another_department_is_not_there(reader, elsewhere, write, answers) -> None:
    signed, draft = write(reader, answers), write(reader, {"age": 64}, patient="B 2", sign=False)
    for report in (signed, draft):
        address = f"/reports/{report.key}"
        for page in ("", "/edit", "/fhir"):
            assert elsewhere.get(address + page).status_code == 404
        for page in ("/edit", "/autosave", "/discard"):
            assert elsewhere.post(address + page, {"revision": report.revision, "age": "1"}).status_code == 404
        assert report.key not in elsewhere.get("/reports").content.decode()
    assert Report.objects.count() == 2


def test_somebody_without_department_sees_the_own_reports_only(member, reader, write, answers) -> None:
    nobody = member("radiologist", "nora")
    theirs, own = write(reader, answers), write(nobody, answers, patient="B 2")
    Report.objects.filter(pk=theirs.pk).update(department="")  # an empty department is nobody's
    page = nobody.get("/reports").content.decode()
    assert own.key in page and theirs.key not in page
    assert nobody.get(f"/reports/{theirs.key}").status_code == 404


def test_an_owner_sees_all_and_a_colleague_those_of_the_department(member, reader, elsewhere, write, answers) -> None:
    one, two = write(reader, answers), write(elsewhere, answers, patient="B 2")
    owner, rob = member("owner"), member("radiologist", "rob", department="radiology")
    page = owner.get("/reports").content.decode()
    assert one.key in page and two.key in page
    page = rob.get("/reports").content.decode()
    assert one.key in page and two.key not in page


def test_an_owner_who_looks_as_a_radiologist_changes_nothing(member, reader, write, answers, project) -> None:
    report = write(reader, answers)
    owner = member("owner")
    session = owner.session
    session["preview"] = {"project": project.key, "role": "radiologist"}
    session.save()
    assert owner.get(f"/reports/{report.key}").status_code == 404  # no department, not the author
    assert owner.post("/reports/new", {"identifier": "X 1"}).status_code == 403


def test_filters_find_what_fits(member, reader, elsewhere, write, answers) -> None:
    made = {"four": write(reader, answers), "draft": write(reader, {"age": 64}, patient="B 2", sign=False)}
    del answers["lesion"]
    made["two"] = write(elsewhere, answers | {"category_without_lesion": 2}, patient="C 3")
    owner = member("owner")
    for query, expected in (
        ("state=draft", {"draft"}),
        ("state=signed", {"four", "two"}),
        ("score=4", {"four"}),
        ("score=2", {"two"}),
        ("score=5", set()),
        ("author=urs", {"two"}),
        ("author=nobody", set()),
        ("department=urology", {"two"}),
        ("since=2000-01-01&until=2001-01-01", set()),
        ("since=2000-01-01", {"four", "two", "draft"}),
        ("since=nonsense", set()),
        ("state=signed&score=4&department=radiology", {"four"}),
    ):
        table = owner.get(f"/reports?{query}").content.decode().partition("<tbody>")[2]
        assert {name for name, report in made.items() if report.key in table} == expected, query


def test_long_lists_come_in_pages(member, reader, write, answers) -> None:
    report = write(reader, answers)
    copies = [Report(**_fields(report)) for _ in range(30)]
    Report.objects.bulk_create(copies)
    owner = member("owner")
    first, second = (owner.get(f"/reports?page={n}&state=signed").content.decode() for n in (1, 2))
    assert first.count("<tr>") == 26 and second.count("<tr>") == 7
    assert "state=signed" in first.partition("pagination")[2]


def _fields(report: Any) -> dict[str, Any]:
    names = ("project_id", "patient_id", "template_id", "state", "department", "author_id", "values", "version")
    return {name: getattr(report, name) for name in names}


def test_a_patient_is_found_by_the_exact_identifier_only_and_it_stays_out_of_addresses_and_log(
    reader, write, answers
) -> None:
    report = write(reader, answers, patient="Jane Canary 1950")
    assert reader.get("/reports/find").status_code == 405
    found = reader.post("/reports/find", {"identifier": " Jane  Canary 1950"})
    assert report.key in found.content.decode()
    for other in ("Jane", "jane canary 1950", "Jane Canary 195", "%"):
        page = reader.post("/reports/find", {"identifier": other}).content.decode()
        assert report.key not in page and "Nothing found" in page
    assert not any("Canary" in line.body for line in Line.objects.all())


def test_finding_never_reaches_into_another_department(reader, elsewhere, write, answers) -> None:
    report = write(reader, answers)
    assert report.key not in elsewhere.post("/reports/find", {"identifier": "A 17"}).content.decode()


def test_every_look_is_a_line(reader, write, answers) -> None:
    report = write(reader, answers)
    before = Line.objects.filter(action="report.look", subject=report.key).count()
    reader.get(f"/reports/{report.key}")
    reader.get(f"/reports/{report.key}/edit")
    lines = Line.objects.filter(action="report.look", subject=report.key)
    assert lines.count() == before + 2 and {line.actor for line in lines} == {"rita"}
    reader.get("/reports?state=signed")
    facts = Line.objects.filter(action="reports.look").last().facts
    assert facts == {"filters": ["state"], "patients": [report.patient.key]}


@pytest.mark.parametrize("release", ["R4", "R5"])
def test_the_fhir_form_of_a_report_names_nobody_and_is_logged(reader, write, answers, release) -> None:
    report = write(reader, answers, patient="Jane Canary 1950")
    answer = reader.get(f"/reports/{report.key}/fhir?release={release}")
    assert answer.status_code == 200 and "attachment" in answer["Content-Disposition"]
    resource = json.loads(answer.content)
    assert resource["status"] == "completed" and "Jane" not in answer.content.decode()
    imported = response_from_fhir(builtin("pirads-2.1"), resource)
    assert imported.answers["lesion"][0]["category"] == 4
    assert Line.objects.filter(action="report.export", subject=report.key).get().facts == {"format": f"FHIR {release}"}
    assert reader.get(f"/reports/{report.key}/fhir?release=STU3").status_code == 422


def test_a_download_asks_for_the_password_again(reader, write, answers, sign_in) -> None:
    report = write(reader, answers)
    later = sign_in(reader.user, recent=False)
    answer = later.get(f"/reports/{report.key}/fhir")
    assert answer.status_code == 302 and "confirm" in answer["Location"]
    assert not Line.objects.filter(action="report.export").exists()


def test_a_draft_has_no_fhir_form(reader, write) -> None:
    assert reader.get(f"/reports/{write(reader, {}, sign=False).key}/fhir").status_code == 404


def test_other_findings_reach_the_report_itself_and_nothing_else(member, reader, write, answers, project) -> None:
    """The free text stays with those who may read the report: not in rows, lists, templates, logs or for others."""
    report = write(reader, answers)
    assert CANARY in reader.get(f"/reports/{report.key}").content.decode()
    assert CANARY not in json.dumps(report.values)
    owner = member("owner")
    assert CANARY not in owner.get("/reports").content.decode()
    others = [member(role, role) for role in ("collaborator", "third_party", "data_protection_officer")]
    pages = ["/reports", "/reports/new", "/templates", f"/templates/{report.template.key}", "/labelling", "/"]
    pages += [f"/reports/{report.key}{end}" for end in ("", "/edit", "/fhir")]
    for client in others:
        for page in pages:
            answer = client.get(page)
            assert CANARY not in answer.content.decode(), (client.user.username, page)
            if page.startswith("/reports"):
                assert answer.status_code == 403
    assert not any(CANARY in line.body for line in Line.objects.all())


def test_a_correction_cannot_be_written_by_another_department(reader, elsewhere, write, answers) -> None:
    report = write(reader, answers)
    assert post(elsewhere, report, answers, do="finish", revision=0, reason="x").status_code == 404
    report.refresh_from_db()
    assert report.version == 1

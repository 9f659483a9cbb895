"""One short id per patient and report: the same on every page, searchable, linked from the log, which filters by it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pydplib.web.auditlog.models import Line
from pydplib.web.design.values import short_id
from pydplib.web.intake.rights.access_report import access_report
from pydplib.web.intake.rights.erasure import look_up
from pydplib.web.patients.models import Patient
from pydplib.web.reporting.models import Report


@pytest.fixture
def people(project: Any, member: Any) -> Any:
    """Owner, radiologist and officer of a project with signed reports of three patients."""
    from pydplib.capture import builtin
    from pydplib.web.intake.imports.records import accept_rows
    from pydplib.web.reporting.models import TemplateVersion

    version = TemplateVersion.objects.create(
        project=project, number=1, made_by="t", definition=builtin("pirads-paper").to_json(), is_current=True
    )
    owner = member("owner", "olivia")
    rows = [
        {"patient_id": f"HOSP-{i}", "age": 60 + i, "year": 2018, "pca_no_pirads": False, "pirads": 3} for i in range(3)
    ]
    accept_rows(project, version, rows, actor=owner.user)
    Report.objects.update(department="MR")
    return {
        "owner": owner,
        "radiologist": member("radiologist", "rosa", department="MR"),
        "officer": member("data_protection_officer", "dana"),
    }


def test_lists_report_data_and_privacy_rights_show_the_same_id(people: Any, project: Any) -> None:
    report = Report.objects.select_related("patient").latest("id")
    patient, shown = report.patient, f"<code>{short_id(report.patient.key)}</code>"
    pages = {
        "/reports": people["radiologist"],
        f"/reports/{report.key}": people["radiologist"],
        "/data": people["owner"],
        f"/data/patients/{patient.key}": people["owner"],
        f"/privacy-rights/patients/{patient.key}": people["officer"],
    }
    for address, reader in pages.items():
        text = re.sub(r"<code[^>]*>", "<code>", reader.get(address).content.decode())
        assert shown in text, address
        assert patient.pseudonym[:8] not in text, address


def test_the_access_report_names_patient_and_reports_by_their_short_ids(people: Any) -> None:
    report = Report.objects.select_related("patient").latest("id")
    page = people["officer"].get(f"/privacy-rights/patients/{report.patient.key}/access").content.decode()
    assert f"<code>{short_id(report.patient.key)}</code>" in page and f"<code>{short_id(report.key)}</code>" in page


def test_short_ids_of_patient_and_report_are_found(people: Any, project: Any) -> None:
    report = Report.objects.select_related("patient").latest("id")
    for word in (report.patient.key, short_id(report.patient.key), short_id(report.key).upper(), "HOSP-2"):
        assert look_up(project, word) == report.patient, word
    assert look_up(project, "00000000") is None and look_up(project, report.patient.key[:5]) is None
    answer = people["officer"].post("/privacy-rights/find", {"identifier": short_id(report.patient.key)})
    assert answer.url == f"/privacy-rights/patients/{report.patient.key}"
    page = people["radiologist"].post("/reports/find", {"identifier": short_id(report.patient.key)}).content.decode()
    assert f"/reports/{report.key}" in page and page.count("/reports/") >= 1
    other = Report.objects.exclude(patient=report.patient).first()
    assert other is not None and f"/reports/{other.key}" not in page


def test_two_patients_with_one_short_id_are_not_mixed_up(people: Any, project: Any) -> None:
    first, second, _ = Patient.objects.order_by("id")
    Patient.objects.filter(pk=first.pk).update(key="aaaaaaaa00000001")
    Patient.objects.filter(pk=second.pk).update(key="aaaaaaaa00000002")
    assert look_up(project, "aaaaaaaa") is None
    assert look_up(project, "aaaaaaaa00000002") == second


def test_a_list_view_counts_as_a_look_at_every_patient_it_shows(people: Any, project: Any) -> None:
    people["radiologist"].get("/reports")
    for patient in Patient.objects.all():
        looks = [h for h in access_report(patient, with_values=False)["history"] if h["look"]]
        assert [(look["who"], look["what"]) for look in looks] == [("rosa", "reports.look")]
    [line] = Line.objects.filter(action="reports.look")
    assert sorted(line.facts["patients"]) == sorted(Patient.objects.values_list("key", flat=True))
    people["radiologist"].post("/reports/find", {"identifier": "HOSP-1"})
    [line] = Line.objects.filter(action="reports.find")
    assert line.facts["patients"] == [look_up(project, "HOSP-1").key]  # type: ignore[union-attr]


def test_log_filters_by_object_and_leads_to_it(people: Any, project: Any) -> None:
    report = Report.objects.select_related("patient").latest("id")
    other = Report.objects.exclude(pk=report.pk).first()
    assert other is not None
    people["radiologist"].get(f"/reports/{report.key}")
    people["radiologist"].get(f"/reports/{other.key}")
    people["radiologist"].get("/reports")
    for reader, where in (
        (people["owner"], f'href="/reports/{report.key}"'),
        (people["officer"], f'href="/privacy-rights/patients/{report.patient.key}"'),
    ):
        for word in (short_id(report.patient.key), report.patient.key):
            page = reader.get(f"/audit?project={project.key}&on={word}").content.decode()
            assert where in page, "the look at the report, by the patient's id"
            assert other.key not in page, "no line that is only about somebody else"
            assert "Looked at the list of reports" in page or "list" in page
        page = reader.get(f"/audit?project={project.key}&on={short_id(report.key)}").content.decode()
        assert where in page
        page = reader.get(f"/audit?project={project.key}&on=00000000").content.decode()
        assert "Nothing fits this filter" in page


def test_patients_named_in_the_details_of_a_line_are_links_for_those_who_may_open_them(
    people: Any, project: Any, member: Any
) -> None:
    people["radiologist"].get("/reports")
    page = people["officer"].get("/audit?action=reports.look").content.decode()
    for patient in Patient.objects.all():
        assert f'<a href="/privacy-rights/patients/{patient.key}">{short_id(patient.key)}</a>' in page
    gone = Patient.objects.earliest("id")
    Report.objects.filter(patient=gone).delete()
    key, _ = gone.key, gone.delete()
    page = people["officer"].get("/audit?action=reports.look").content.decode()
    assert short_id(key) in page and f"/privacy-rights/patients/{key}" not in page


def test_log_leads_nowhere_after_an_erasure(people: Any, project: Any) -> None:
    from pydplib.web.intake.rights.erasure import erase

    report = Report.objects.select_related("patient").latest("id")
    key = report.patient.key
    people["radiologist"].get(f"/reports/{report.key}")
    erase(report.patient, actor=people["owner"].user)
    page = people["officer"].get(f"/audit?project={project.key}&on={key}").content.decode()
    assert short_id(key) in page and f'href="/privacy-rights/patients/{key}"' not in page

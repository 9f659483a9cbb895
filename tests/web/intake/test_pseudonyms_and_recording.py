from __future__ import annotations

import hashlib
import hmac
import json
import random

import pytest
from django.conf import settings

from pydplib.capture import Evaluator, builtin, report_text
from pydplib.errors import DataError
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.intake.imports.records import Recorder, accept_rows
from pydplib.web.patients.models import Identifier, Patient
from pydplib.web.patients.pseudonyms import clean, find_patient, patient_for, patients_for
from pydplib.web.projects.models import Project, project_key
from pydplib.web.reporting.models import Report, ReportVersion
from pydplib.web.reporting.report_templates.versions import row_values

pytestmark = pytest.mark.usefixtures("db")


def test_patient_for_same_identifier_returns_same_patient(project) -> None:
    first = patient_for(project, {"patient_id": "A 17"})
    assert patient_for(project, {"patient_id": "  A\u00a017 ", "name": "Doe"}) == first
    assert find_patient(project, {"patient_id": "A 17"}) == first
    assert find_patient(project, {"patient_id": "A 18"}) is None
    assert sorted(first.identifiers.values_list("field", "value")) == [("name", "Doe"), ("patient_id", "A 17")]


def test_pseudonym_is_keyed_and_other_in_every_project(project, hospital) -> None:
    other = Project.objects.create(
        key=project_key("b"), hospital=hospital, name="B", purpose="p", legal_basis="l", retention_until="2040-01-01"
    )
    one, two = patient_for(project, {"id": "A17"}), patient_for(other, {"id": "A17"})
    assert one.pseudonym != two.pseudonym
    key = settings.CONFIGURATION.key("pseudonyms")
    message = f"patient\x1f{project.key}\x1fstr\x1fA17".encode()
    assert one.pseudonym == hmac.new(key, message, hashlib.sha256).hexdigest()[:32]
    assert "A17" not in one.pseudonym and one.pseudonym not in hashlib.sha256(b"A17").hexdigest()


def test_many_patients_at_once_are_each_made_once(project) -> None:
    found = patients_for(project, [{"id": f"P{i % 3}"} for i in range(9)])
    assert [patient.pk for patient in found[:3]] * 3 == [patient.pk for patient in found]
    assert Patient.objects.count() == 3 and Identifier.objects.count() == 3


@pytest.mark.parametrize("value", ["", "   ", "x" * 401])
def test_identifier_that_names_nobody_is_refused_without_quoting_it(value: str) -> None:
    with pytest.raises(DataError) as error:
        clean(value)
    assert "xxx" not in str(error.value)


def test_row_values_have_no_identifier_column() -> None:
    values = row_values(builtin("pirads-paper"), {"patient_id": "A", "physician_name": "Dr", "age": 64})
    assert values["age"] == 64 and len(values) == 14
    assert not {"patient_id", "physician_name"} & set(values)


def test_accept_rows_writes_reports_versions_values_and_one_line(project, version, row, make_user) -> None:
    ada = make_user("ada")
    rows = [row("P1"), row("P2", age=70), row("P1", age=65)]
    assert accept_rows(project, version, rows, actor=ada, department="URO") == 3
    assert project.data_version == 1
    report = Report.objects.get(values__age=70)
    assert (report.state, report.origin, report.version, report.department) == ("signed", "import", 1, "URO")
    assert "patient_id" not in report.answers and report.values["last_modified"] == "2018-03-01"
    assert ReportVersion.objects.get(report=report).text
    assert Patient.objects.count() == 2
    line = Line.objects.get(action="reports.import")
    assert line.facts == {"reports": 3, "data_version": 1} and line.actor == "ada"
    assert verify()


def test_accept_rows_with_a_bad_row_keeps_nothing(project, version, row, make_user) -> None:
    with pytest.raises(DataError, match="Row 2 cannot be imported: Age must lie") as error:
        accept_rows(project, version, [row("P1"), row("P2", age=640)], actor=make_user("ada"))
    assert "640" not in str(error.value)
    project.refresh_from_db()
    assert not Report.all_objects.exists() and not Patient.objects.exists() and project.data_version == 0
    assert not Line.objects.exists()


@pytest.mark.parametrize("name", ["pirads-paper", "pirads-2.1"])
def test_prepared_reports_hold_the_answers_and_the_row_as_json(name: str) -> None:
    template, choose = builtin(name), random.Random(9)
    recorder, evaluator = Recorder(template), Evaluator(template, purpose="draft")
    for number in range(200):
        raw: dict[str, object] = {"patient_id": f"P{number}", "age": "64", "histology": "no"}
        for place, question in template.index.questions():
            if question.options and choose.random() < 0.7:
                said = str(choose.choice(question.options).value)
                if not place.loops:
                    raw[question.id] = said
                else:
                    raw.setdefault(place.loops[0], [{}])[0][question.id] = said  # type: ignore[attr-defined]
        clean_answers = evaluator(raw).answers
        kept = {name: value for name, value in clean_answers.items() if name != template.person}
        prepared = recorder.prepare(clean_answers, department="radiology")
        assert prepared.answers == json.dumps(kept)
        assert prepared.values == json.dumps(row_values(template, kept))
        assert prepared.text == report_text(template, kept)

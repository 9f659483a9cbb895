from __future__ import annotations

import csv
import io
import json
import logging

import pytest

from pydplib.capture import Condition, Question, Template, builtin
from pydplib.web.auditlog.models import Line
from pydplib.web.intake.models import SnapshotSchedule
from pydplib.web.intake.rows.quality import measure
from pydplib.web.patients.models import Patient
from pydplib.web.projects.models import Rule
from pydplib.web.reporting.models import Report

CANARY = "ZZCANARY-7731"


def last_line(action: str) -> Line:
    return Line.objects.filter(action=action).order_by("-number").first()


def test_browser_shows_rows_and_logs_page_and_filter_but_no_values(project, filled) -> None:
    page = filled.get("/data?column=age&column=pirads&field=age&value=64")
    text = page.content.decode()
    assert page.status_code == 200 and ">64</td>" in text and ">65</td>" not in text
    line = last_line("data.look")
    assert line.facts["filter"] == ["age"] and line.facts["page"] == 1 and len(line.facts["reports"]) == 1
    assert "64" not in json.dumps({name: line.facts[name] for name in ("filter", "page")})
    assert CANARY not in text and "P14" not in text


def test_browser_pages_and_departments(project, filled, monkeypatch) -> None:
    monkeypatch.setattr("pydplib.web.intake.rows.lists.PER_PAGE", 10)
    assert "1–10 of 30" in filled.get("/data").content.decode()
    filled.get("/data?page=3")
    assert last_line("data.look").facts["page"] == 3
    assert "of 20" in filled.get("/data?department=URO").content.decode()
    assert last_line("data.look").facts["filter"] == ["department"]


@pytest.mark.parametrize(
    "query", ["field=age&value=abc", "field=age&value=640", "field=nope&value=1", "field=age__gt&value=1", "page=x"]
)
def test_browser_with_a_senseless_query_shows_all(project, filled, query: str) -> None:
    page = filled.get(f"/data?{query}")
    assert page.status_code == 200 and page.content.decode().count("/data/patients/") == 30


def test_radiologist_sees_the_own_department_alone(project, filled, member) -> None:
    doctor = member("radiologist", department="RAD")
    text = doctor.get("/data?department=URO").content.decode()
    assert text.count("/data/patients/") == 10 and "Export" not in text
    hidden = Report.objects.filter(department="URO").exclude(patient__reports__department="RAD").first().patient
    shared = Report.objects.filter(department="URO", patient__reports__department="RAD").first().patient
    assert doctor.get(f"/data/patients/{hidden.key}").status_code == 404
    page = doctor.get(f"/data/patients/{shared.key}")
    assert page.status_code == 200 and "URO" not in page.content.decode()
    assert doctor.post(f"/data/patients/{shared.key}/identifiers").status_code == 403
    assert member("radiologist", "nowhere").get("/data").content.decode().count("/data/patients/") == 0


def test_identifiers_come_by_post_with_password_and_leave_a_line(project, filled, sign_in) -> None:
    patient = Patient.objects.get(identifiers__value="P3")
    address = f"/data/patients/{patient.key}"
    assert ">P3<" not in filled.get(address).content.decode()
    assert filled.get(f"{address}/identifiers").status_code == 405
    late = sign_in(filled.user, recent=False)
    assert late.post(f"{address}/identifiers").url.startswith("/confirm?")
    assert last_line("patient.identifiers") is None
    page = filled.post(f"{address}/identifiers").content.decode()
    assert "P3" in page
    line = last_line("patient.identifiers")
    assert line.subject == patient.key and line.facts == {"fields": 1}


def test_export_needs_password_passes_the_policy_and_is_logged(project, filled, sign_in) -> None:
    assert sign_in(filled.user, recent=False).post("/data/export").url.startswith("/confirm?")
    response = filled.post("/data/export")
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert len(rows) == 30 and "attachment" in response["Content-Disposition"]
    assert "physician_name" not in rows[0] and CANARY not in str(rows)
    assert {row["person"] for row in rows} == set(Patient.objects.values_list("pseudonym", flat=True))
    assert last_line("data.export").facts == {"rows": 30, "data_version": 2}
    Rule.objects.filter(project=project, audience="owner").update(label="dp_low")
    refused = filled.post("/data/export")
    assert refused.status_code == 403 and Line.objects.filter(action="data.export").count() == 1


def test_quality_finds_what_was_planted() -> None:
    template = Template(
        id="t", version="2", title="T", person="pid",
        items=(
            Question(id="pid", kind="text", title="Patient", required=True),
            Question(id="day", kind="date", title="Day", low="2018-01-01", high="2018-12-31"),
            Question(id="age", kind="integer", title="Age", low=18, high=100),
            Question(id="kind", kind="choice", title="Kind", options=builtin("pirads-paper").question("year").options),
            Question(id="smoker", kind="boolean", title="Smoker"),
            Question(id="packs", kind="integer", title="Packs", low=0, high=9,
                     enable_when=(Condition("smoker", "=", True),)),
        ),
    )  # fmt: skip
    import datetime as dt

    now = dt.datetime(2018, 5, 1, tzinfo=dt.UTC)
    reports = [
        ("r1", 1, now, {"day": "2018-01-05", "age": 64, "kind": 2017, "smoker": True, "packs": 1}),
        ("r2", 1, now, {"day": "2018-01-05", "age": 640, "kind": 2017, "smoker": False}),
        ("r3", 2, now, {"day": "2018-05-05", "kind": 1999, "smoker": True}),
        ("r4", 3, now, {"age": 50}),
    ]
    found = measure(template, [(*report, report[3]) for report in reports])
    assert (found.reports, found.patients, found.duplicates) == (4, 3, [("r2", "r1")])
    age, kind, packs = found.fields["age"], found.fields["kind"], found.fields["packs"]
    assert (age.present, age.missing, age.outside) == (3, 1, 1)
    assert (kind.present, kind.missing, kind.unknown) == (3, 1, 1)
    assert (packs.present, packs.missing, packs.hidden) == (1, 1, 2)
    assert found.quarters == ["2018 Q1", "2018 Q2"] and age.by_period == {"2018 Q2": 1}
    assert {each.title: shares for each, shares in found.over_time}["Age"] == [0, 50]
    assert found.faults == 2


def test_quality_counts_contradictions_of_the_template() -> None:
    from pydplib.capture import evaluate

    template = builtin("pirads-2.1")
    lesion = {"sector": None, "zone": "PZ", "size": 5, "t2w": "5", "dwi": "5", "dce": "pos", "extension": "no"}
    answers = {"exam_date": "2018-01-01", "age": 64, "histology": False}
    known = set(template.index.by_id)
    answers["lesion"] = [{name: value for name, value in lesion.items() if name in known and value}]
    import datetime as dt

    warnings = evaluate(template, answers, purpose="draft").warnings
    found = measure(template, [("r1", 1, dt.datetime.now(dt.UTC), answers, {})])
    assert found.contradictions.total() == len(warnings) > 0
    assert found.examples[warnings[0].message] == ["r1"]


def test_quality_page_follows_the_data_version(project, filled, version, row) -> None:
    from pydplib.web.intake.imports.records import accept_rows

    page = filled.get("/quality")
    assert page.status_code == 200 and "Gleason score" in page.content.decode()
    assert ">30<" in page.content.decode()
    accept_rows(project, version, [row("new")], actor=filled.user)
    assert ">31<" in filled.get("/quality").content.decode()


def test_snapshot_pages_make_publish_and_schedule(project, filled, tmp_path, monkeypatch) -> None:
    from pydplib.web.intake import snapshots

    monkeypatch.setattr(snapshots, "folder", lambda: tmp_path)
    assert filled.post("/snapshots").status_code == 302
    made = project.snapshots.get()
    assert made.published is None
    filled.post(f"/snapshots/{made.key}/publish")
    filled.post("/snapshots", {"publish": "1"})
    assert [each.published is not None for each in project.snapshots.all()] == [True, True]
    filled.post("/snapshots/schedule", {"every": "quarter"})
    assert SnapshotSchedule.objects.get().next_day is not None
    text = filled.get("/snapshots").content.decode()
    assert "Published earlier" in text and "The next one comes on" in text
    assert [line.action for line in Line.objects.filter(action__startswith="snapshot")] == [
        "snapshot.make", "snapshot.publish", "snapshot.count",
        "snapshot.make", "snapshot.publish", "snapshot.count", "snapshot.schedule",
    ]  # fmt: skip


def test_officer_finds_and_erases_without_seeing_a_name(project, filled, member, caplog) -> None:
    officer = member("data_protection_officer")
    with caplog.at_level(logging.DEBUG):
        assert officer.post("/privacy-rights/find", {"identifier": "nobody at all"}).status_code == 422
        found = officer.post("/privacy-rights/find", {"identifier": "P3"})
    patient = Patient.objects.get(identifiers__value="P3")
    assert found.url == f"/privacy-rights/patients/{patient.key}"
    assert "P3" not in found.url and "nobody" not in caplog.text
    missed, hit = Line.objects.filter(action="patient.find")
    assert (missed.facts, hit.facts, hit.subject) == ({"found": False}, {"found": True}, patient.key)
    pages = [officer.get(found.url), officer.get(f"{found.url}/access"), officer.get(f"{found.url}/access.json")]
    for page in pages:
        text = page.content.decode()
        assert page.status_code == 200 and ">P3<" not in text and '"P3"' not in text and CANARY not in text
    held = json.loads(pages[2].content)
    assert "identifiers" not in held and "answers" not in held["reports"][0]["versions"][0]
    officer.post(f"{found.url}/erase", {"confirm_word": "yes"})
    assert Patient.objects.filter(pk=patient.pk).exists()
    officer.post(f"{found.url}/erase", {"confirm_word": "ERASE"})
    assert not Patient.objects.filter(pk=patient.pk).exists()


def test_access_report_holds_everything_and_who_looked(project, filled) -> None:
    patient = Patient.objects.get(identifiers__value="P3")
    filled.get("/data")
    filled.post(f"/data/patients/{patient.key}/identifiers")
    held = json.loads(filled.get(f"/privacy-rights/patients/{patient.key}/access.json").content)
    assert held["identifiers"] == {"patient_id": "P3"} and len(held["reports"]) == 2
    assert held["reports"][0]["versions"][0]["answers"]["physician_name"] == f"{CANARY} physician"
    looks = [line["what"] for line in held["history"] if line["look"]]
    assert {"data.look", "patient.identifiers", "patient.access"} <= set(looks)
    page = filled.get(f"/privacy-rights/patients/{patient.key}/access").content.decode()
    assert "P3" in page and "Looked at a patient" in page and "PI-RADS score" in page
    assert "patient_id" not in page and "Patient" in page, "the template's words, not its names"
    other = Patient.objects.get(identifiers__value="P4")
    held = json.loads(filled.get(f"/privacy-rights/patients/{other.key}/access.json").content)
    assert "patient.identifiers" not in [line["what"] for line in held["history"]]


def test_erasure_and_consent_need_the_password(project, filled, sign_in) -> None:
    patient = Patient.objects.get(identifiers__value="P3")
    late = sign_in(filled.user, recent=False)
    for what, form in (("erase", {"confirm_word": "ERASE"}), ("consent", {"consent": "withdrawn"})):
        assert late.post(f"/privacy-rights/patients/{patient.key}/{what}", form).url.startswith("/confirm?")
    patient.refresh_from_db()
    assert patient.consent == "not_needed"
    filled.post(f"/privacy-rights/patients/{patient.key}/consent", {"consent": "withdrawn"})
    patient.refresh_from_db()
    assert patient.consent == "withdrawn"
    assert last_line("patient.consent").facts["consent"] == "withdrawn"


def test_retention_is_shown_then_confirmed(project, filled) -> None:
    import datetime as dt

    assert "nothing is overdue" in filled.get("/privacy-rights").content.decode()
    filled.post("/privacy-rights/purge", {"confirm_word": "ERASE"})
    assert Patient.objects.count() == 25
    project.retention_until = dt.date(2020, 1, 1)
    project.save()
    assert "25 patients, 30 reports" in filled.get("/privacy-rights").content.decode()
    filled.post("/privacy-rights/purge", {"confirm_word": ""})
    assert Patient.objects.count() == 25
    filled.post("/privacy-rights/purge", {"confirm_word": "ERASE"})
    assert not Patient.objects.exists()


def test_record_of_processing_says_what_the_law_asks(project, filled) -> None:
    held = json.loads(filled.get("/privacy-rights/processing.json").content)
    assert held["controller"] == "St. Example" and held["purpose"] == "Prostate MRI"
    assert {"Patient", "Age"} <= {field["field"] for field in held["categories_of_data"]}
    assert any(each["gets"] == "dp_high" for each in held["recipients"])
    assert "Prostate MRI" in filled.get("/privacy-rights/processing").content.decode()


def test_no_canary_reaches_anybody_but_the_owner(project, filled, member, caplog) -> None:
    """Names and free texts are planted; no page of anybody else, no line and no log holds one."""
    patient = Patient.objects.get(identifiers__value="P3")
    addresses = ["/data", "/import", "/quality", "/snapshots", "/privacy-rights", f"/data/patients/{patient.key}",
                 f"/privacy-rights/patients/{patient.key}", f"/privacy-rights/patients/{patient.key}/access",
                 "/privacy-rights/processing", "/data?field=physician_name&value=x", "/data/export"]  # fmt: skip
    with caplog.at_level(logging.DEBUG):
        for role in ("radiologist", "collaborator", "third_party", "data_protection_officer"):
            client = member(role, department="RAD")
            for address in addresses:
                text = client.get(address).content.decode()
                assert CANARY not in text and ">P3<" not in text, f"{role} at {address}"
                client.post(address)
    assert not any(CANARY in line.body or '"P3"' in line.body for line in Line.objects.all())
    assert CANARY not in caplog.text

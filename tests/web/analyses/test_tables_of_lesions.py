"""Lesions are a table of their own: made, published, asked and erased with the reports, from the one budget."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from django.test import Client
from django.urls import reverse

import pydplib as dp
from pydplib.capture import builtin
from pydplib.engine import Measure, Plan
from pydplib.errors import ParameterError, QuestionError, SchemaError
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import ask, release_of
from pydplib.web.analyses.question_form.offers import offer_for
from pydplib.web.api.tokens import make_token
from pydplib.web.auditlog.models import Line
from pydplib.web.demo_examples import REPORTS
from pydplib.web.exports import runs
from pydplib.web.exports.models import Export
from pydplib.web.exports.plans import ExportPlan
from pydplib.web.intake import snapshots
from pydplib.web.intake.imports.records import accept_rows
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.rights.erasure import erase
from pydplib.web.intake.snapshots import (
    groups_of,
    load_snapshot,
    make_snapshot,
    publish,
    published_snapshot,
    published_tables,
    snapshot_schema,
)
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.patients.models import Patient
from pydplib.web.projects.models import Member

W = 2**16
LESIONS = sum(len(report.get("lesion", ())) for report in REPORTS)


@pytest.fixture
def desk(project: Any, member: Any) -> Any:
    """A project with PI-RADS 2.1, the demonstration's reports, and a published snapshot."""
    from pydplib.web.reporting.models import TemplateVersion

    owner = member("owner")
    definition = builtin("pirads-2.1").to_json()
    version = TemplateVersion.objects.create(project=project, number=1, definition=definition, made_by="test")
    accept_rows(project, version, REPORTS, actor=owner.user, department="SYN-RAD")
    project.refresh_from_db()
    snapshot = make_snapshot(project, actor=owner.user)
    publish(snapshot, actor=owner.user, size=4)
    return SimpleNamespace(project=project, owner=owner, snapshot=snapshot, place=Member.as_role("owner"))


def rows_of(snapshot: Snapshot) -> list[tuple[Any, ...]]:
    path = snapshots.folder() / snapshot.file
    return duckdb.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()


def test_schema_of_lesions_has_their_questions_the_reports_and_the_templates_limit() -> None:
    template = builtin("pirads-2.1")
    reports = snapshot_schema(template, lineage="p")
    lesions = snapshot_schema(template, lineage="p", group="lesion")
    assert groups_of(template) == ("lesion",)
    assert lesions.max_rows_per_person == 4 * reports.max_rows_per_person
    assert lesions.person == reports.person and lesions.lineage == reports.lineage and lesions.name != reports.name
    assert set(reports.columns) < set(lesions.columns) and "size" in lesions.columns and "size" not in reports.columns
    assert all(column.label != "identifier" for name, column in lesions.columns.items() if name != lesions.person)


def test_snapshot_has_a_table_of_lesions_with_a_row_for_each(desk: Any) -> None:
    reports, lesions = published_tables(desk.project)
    assert (reports.group, lesions.group, lesions.number) == ("", "lesion", reports.number)
    assert reports == published_snapshot(desk.project) == desk.snapshot
    assert len(rows_of(reports)) == len(REPORTS) and len(rows_of(lesions)) == LESIONS
    people = {row[0] for row in rows_of(lesions)}
    assert people <= set(Patient.objects.values_list("pseudonym", flat=True))
    assert "SYN-R-001" not in str(rows_of(lesions))
    # The declared number of people is that of the reports; how many have lesions is not public.
    assert reports.declared_size == 4 and lesions.declared_size is None
    with load_snapshot(lesions) as table:
        plan = Plan(table.schema, by=["zone"], measures=[Measure("count"), Measure("count", "size")])
        counts = table.aggregate(plan)
        assert sum(counts[0]) == LESIONS * W
    with pytest.raises(ParameterError, match="published with the reports"):
        publish(Snapshot.objects.get(pk=lesions.pk), actor=desk.owner.user)
    made = [json.loads(line.details) for line in Line.objects.filter(action="snapshot.make")]
    assert [details.get("table") for details in made] == [None, "lesion"]


def test_questions_about_lesions_are_answered_from_their_table_and_the_one_budget(desk: Any) -> None:
    question = dp.Count(by="zone")
    user, place = desk.owner.user, desk.place
    offer = offer_for(desk.project, place, "lesion")
    assert offer.tables == {"": "Reports", "lesion": "Lesions"} and "size" in offer.fields
    made = ask(desk.project, user, place, question, Accuracy(epsilon=2.0), table="lesion")
    assert made.snapshot == published_snapshot(desk.project, "lesion").key
    assert "Lesions" in made.receipt
    values = release_of(made).to_frame()["value"]
    assert abs(sum(values) - LESIONS) < 12 * 4 + 40
    with pytest.raises(SchemaError, match="zone"):
        ask(desk.project, user, place, question, Accuracy(epsilon=1.0))  # reports have no such field
    with pytest.raises(QuestionError, match="There are: lesion"):
        ask(desk.project, user, place, question, Accuracy(epsilon=1.0), table="lesions")
    # The same words on the other table are another answer, and both are paid for by the project's one account.
    same = dp.Count(by="bph")
    one = ask(desk.project, user, place, same, Accuracy(epsilon=0.5))
    other = ask(desk.project, user, place, same, Accuracy(epsilon=0.5), table="lesion")
    assert one.digest != other.digest
    accounts = [each for each in DatabaseLedger().accounts(lineage=desk.project.key) if each.recipient is None]
    assert len(accounts) == 1 and accounts[0].state.nano_epsilon == 3_000_000_000


def test_form_offers_the_tables_and_prices_the_chosen_one(desk: Any) -> None:
    page = desk.owner.get("/analyses/new", {"project": desk.project.key}).content.decode()
    assert 'name="table"' in page and "Lesions" in page
    chosen = {"project": desk.project.key, "kind": "mean", "table": "lesion", "field": "size"}
    chosen |= {"accuracy": "epsilon", "epsilon": "1"}
    page = desk.owner.get("/analyses/new", chosen).content.decode()
    assert "Lesions: Average of" in page and 'name="agreed"' in page
    paid = desk.owner.post("/analyses/new", {**chosen, "agreed": str(10**12)})
    assert paid.status_code == 302, paid.content.decode()[-800:]
    made = Analysis.objects.get()
    page = desk.owner.get(f"/analyses/{made.key}").content.decode()
    assert "Lesions: Average of" in page and "Lesions of snapshot 1" in page and "table=lesion" in page
    listed = desk.owner.get("/analyses", {"project": desk.project.key}).content.decode()
    assert "Average of" in listed
    reports = {**chosen, "table": "", "field": "psa"}
    assert "Average of" in desk.owner.get("/analyses/new", reports).content.decode()
    assert desk.owner.get("/analyses/new", {**chosen, "table": "nowhere"}).status_code == 200
    # Nothing is paid for the reports where a table was chosen that is not there any more.
    gone = desk.owner.post("/analyses/new", {**reports, "table": "nowhere", "agreed": str(10**12)})
    assert gone.status_code == 422 and "no table" in gone.content.decode()
    assert Analysis.objects.get() == made


def test_erasing_somebody_replaces_all_tables_of_the_snapshot(desk: Any) -> None:
    patient = Patient.objects.get(pk=Patient.objects.order_by("pk").first().pk)
    before = published_tables(desk.project)
    erase(patient, actor=desk.owner.user)
    after = published_tables(desk.project)
    assert [each.group for each in after] == ["", "lesion"] and len({each.number for each in after}) == 1
    for old, new in zip(before, after, strict=True):
        assert new.key != old.key and patient.pseudonym not in {row[0] for row in rows_of(new)}
        assert not (snapshots.folder() / old.file).exists()
    assert {path.name for path in snapshots.folder().iterdir()} == {each.file for each in after}


def test_list_of_snapshots_shows_each_once(desk: Any) -> None:
    page = desk.owner.get(reverse("snapshots"), {"project": desk.project.key})
    assert [each.group for each in page.context["snapshots"]] == [""]


def test_export_of_lesions_counts_all_rows_of_people_that_an_attacker_sees(desk: Any) -> None:
    owner, project = desk.owner, desk.project
    crowd = [{**REPORTS[0], "patient_id": f"SYN-X-{i}", "age": 60 + i % 3} for i in range(12)]
    accept_rows(project, project.template_version, crowd, actor=owner.user, department="SYN-RAD")
    page = owner.get("/anonymize/new", {"project": project.key}).content.decode()
    assert "Lesions: all of every person" in page
    sent = {"project": project.key, "title": "Lesions for Acme", "source": "current", "rows": "lesion"}
    made = owner.post(f"/anonymize/new?project={project.key}", sent)
    assert made.status_code == 302, made.content.decode()[-1500:]
    export = Export.objects.get()
    schema = dp.Schema.from_json(export.snapshot.schema)
    plan = ExportPlan.from_dict(export.plan)
    assert export.snapshot.group == "lesion" and plan.rows == "all" and {"zone", "size"} <= set(plan.fields)
    assert runs.read_rows(export, plan, schema).num_rows == LESIONS + 12
    few = dict.fromkeys(plan.fields, "drop") | {"age": "quasi", "zone": "quasi"}
    models = (dp.KAnonymity(3).to_dict(),)
    export.plan = replace(plan, fields=few, models=models, suppression=0.9, mixed=None).to_dict()
    export.save()
    runs.make(export)
    export.refresh_from_db()
    assert export.state == "ready", export.problem
    assert not export.traced  # several rows of one person: the only export of its project


def test_api_prices_and_answers_questions_about_lesions(desk: Any) -> None:
    _, token = make_token(desk.owner.user, name="notebook", scopes=("read", "ask"), days=1, second_factor=True)
    program = Client(headers={"authorization": f"Bearer {token}"})

    def post(path: str, **more: str) -> Any:
        asked = {"question": {"ask": "count", "by": [{"column": "zone"}]}, "epsilon": 1.0, "table": "lesion", **more}
        path = f"/api/v1/projects/{desk.project.key}/{path}"
        return program.post(path, json.dumps(asked), content_type="application/json")

    assert post("price").status_code == 200
    answer = post("analyses")
    assert answer.status_code == 200, answer.content
    assert Analysis.objects.get().snapshot == published_snapshot(desk.project, "lesion").key
    wrong = post("price", table="none")
    assert wrong.status_code == 422 and "There are: lesion" in wrong.content.decode()
    assert post("price", table="").status_code == 422

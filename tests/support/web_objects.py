"""Objects for the matrix of addresses: one maker per model that an address names by ``<str:key>``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone


@dataclass
class World:
    """One hospital with one project and somebody in every role."""

    hospital: Any
    project: Any
    people: dict[str, Any] = field(default_factory=dict)

    @property
    def owner(self) -> Any:
        return self.people["owner"]


MEMBERS = {
    "owner": "owner",
    "radiologist": "radiologist",
    "collaborator": "collaborator",
    "third_party": "third_party",
    "officer": "data_protection_officer",
}
"""Name in the matrix -> role in the project."""

MAKERS: dict[str, Callable[[World], Any]] = {}


def maker(model: str) -> Callable[[Callable[[World], Any]], Callable[[World], Any]]:
    """Register how an object of a model is made in a world: ``@maker("reporting.Report")``."""

    def register(make: Callable[[World], Any]) -> Callable[[World], Any]:
        MAKERS[model] = make
        return make

    return register


def make_project(hospital: Any, name: str = "PI-RADS") -> Any:
    from pydplib.policy import DEFAULT_RULES
    from pydplib.web.projects.models import Project, Rule, project_key

    project = Project.objects.create(
        key=project_key(name),
        hospital=hospital,
        name=name,
        purpose="Prostate MRI",
        legal_basis="Consent",
        retention_until=dt.date(2040, 1, 1),
    )
    Rule.objects.bulk_create([Rule.from_rule(project, rule) for rule in DEFAULT_RULES])
    return project


@maker("projects.Project")
def _project(world: World) -> Any:
    return world.project


@maker("projects.Member")
def _member(world: World) -> Any:
    """The collaborator's place: an owner may change it."""
    from pydplib.web.projects.models import Member

    return Member.objects.get(project=world.project, user=world.people["collaborator"])


@maker("projects.Invitation")
def _invitation(world: World) -> Any:
    """The colleague is invited: as if from elsewhere, for the pages ask for the name alone."""
    from pydplib.web.projects.models import Invitation

    invited = world.people.get("colleague")
    typed = invited.username if invited else "somebody-unknown"
    return Invitation.objects.create(project=world.project, by=world.owner, typed=typed)


@maker("projects.Rule")
def _rule(world: World) -> Any:
    return world.project.rules.get(audience="third_party")


@maker("projects.AccessRequest")
def _request(world: World) -> Any:
    """What the collaborator asks for."""
    from pydplib.web.projects.models import AccessRequest

    return AccessRequest.objects.create(
        project=world.project,
        by=world.people["collaborator"],
        beneficiary="collaborator",
        kind="budget",
        asked={"budget": 8.0, "from": 4.0},
        reason="One more figure",
    )


@maker("reporting.TemplateVersion")
def make_template(world: World) -> Any:
    from pydplib.capture import builtin
    from pydplib.web.reporting.models import TemplateVersion

    made, _ = TemplateVersion.objects.get_or_create(
        project=world.project,
        number=1,
        defaults={"definition": builtin("pirads-2.1").to_json(), "made_by": world.owner.username},
    )
    return made


@maker("intake.Patient")
def make_patient(world: World) -> Any:
    from pydplib.web.patients.models import Patient

    made, _ = Patient.objects.get_or_create(project=world.project, pseudonym="p" * 64)
    return made


@maker("reporting.Report")
def make_report(world: World) -> Any:
    """A draft of the radiologist's department."""
    from pydplib.web.reporting.models import Report

    return Report.objects.create(
        project=world.project,
        patient=make_patient(world),
        template=make_template(world),
        author=world.people.get("radiologist", world.owner),
        department="radiology",
    )


@maker("intake.ImportBatch")
def _import(world: World) -> Any:
    """An import of the owner whose columns are to be matched."""
    from pydplib.web.intake.models import ImportBatch

    return ImportBatch.objects.create(
        project=world.project,
        template=make_template(world),
        by=world.owner,
        format="csv",
        columns=["patient_id"],
        mapping=["patient_id"],
        rows=1,
    )


@maker("tables.TableUpload")
def _table_upload(world: World) -> Any:
    """A file of the owner whose columns are to be declared."""
    from pydplib.web.tables.models import TableUpload

    make_template(world)
    return TableUpload.objects.create(
        project=world.project, title="Visits", columns=["patient_id", "psa"], rows=1, by=world.owner
    )


@maker("tables.PersonTable")
def _person_table(world: World) -> Any:
    """A further table without rows."""
    from pydplib.schema import Number, Schema
    from pydplib.web.tables.models import PersonTable

    schema = Schema({"visit_psa": Number(0, 100)}, person="patient_id", max_rows_per_person=12, name="visits")
    return PersonTable.objects.create(
        project=world.project, name="visits", title="Visits", declared=schema.to_json(), by=world.owner
    )


@maker("intake.Snapshot")
def _snapshot(world: World) -> Any:
    from pydplib.capture import to_schema
    from pydplib.web.intake.models import Snapshot

    template = make_template(world)
    return Snapshot.objects.create(
        project=world.project,
        number=1,
        data_version=1,
        template=template,
        schema=to_schema(template.template, skip_unbounded=True).to_json(),
        file="",
        sha256="0" * 64,
        published=timezone.now(),
    )


@maker("analyses.Analysis")
def make_analysis(world: World) -> Any:
    """What somebody of the world's organisation has paid for, with so much noise that every role may see it."""
    import hashlib
    import json
    from dataclasses import replace

    import pydplib as dp
    from pydplib.budget.chain import Entry
    from pydplib.receipt import Receipt, new_signing_key
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.intake.models import Snapshot
    from pydplib.web.ledger import models as rows

    snapshot = Snapshot.objects.filter(project=world.project).first() or MAKERS["intake.Snapshot"](world)
    digest = world.project.key.encode().hex().ljust(64, "0")[:64]
    release = replace(dp.count([1, 2, 3], epsilon=0.1), key=digest)
    payload = release.to_json().encode()
    receipt = Receipt.of(release, payload, data="snapshot 1", issued="2026-01-01T00:00:00+00:00")
    # Next to the chain, far from where a real entry would come: what is shown is compared with it.
    entry = Entry(
        number=10**6 + rows.Entry.objects.count(),
        kind="answer",
        time="2026-01-01T00:00:00+00:00",
        lineage=world.project.key,
        release=digest,
        details={"payload_hash": hashlib.sha256(payload).hexdigest()},
    ).sealed()
    rows.Entry.objects.create(number=entry.number, body=entry.body, hash=entry.hash, lineage=entry.lineage)
    rows.Release.objects.create(
        digest=digest,
        lineage=world.project.key,
        snapshot=snapshot.key,
        question="{}",
        payload=payload,
        answer=entry.number,
    )
    rows.Payment.objects.create(release_id=digest, recipient=world.hospital.key, entry_id=entry.number)
    return Analysis.objects.create(
        project=world.project,
        asked_by=world.people["collaborator"],
        recipient=world.hospital.key,
        role="collaborator",
        label="dp_high",
        snapshot=snapshot.key,
        digest=digest,
        question=json.dumps(dp.Count().to_dict()),
        words="count",
        receipt=receipt.signed(new_signing_key()).to_json(),
    )


@maker("api.ApiToken")
def _token(world: World) -> Any:
    from pydplib.web.api.tokens import make_token

    return make_token(world.owner, name="notebook", scopes=["read"], days=1, second_factor=True)[0]


@maker("people.User")
def _user(world: World) -> Any:
    return world.people.get("radiologist", world.owner)


@maker("reporting.Report, signed")
def make_signed_report(world: World) -> Any:
    """A signed report of the radiologist's department."""
    from report_forms import COMPLETE

    from pydplib.web.reporting.forms.drafts import save_draft
    from pydplib.web.reporting.signatures import sign_report

    report = make_report(world)
    revision = save_draft(report, dict(COMPLETE), revision=0, by=report.author)
    sign_report(report, revision=revision, user=report.author)
    report.refresh_from_db()
    return report


@maker("reporting.FreeText")
def make_text(world: World) -> Any:
    from pydplib.web.reporting.models import FreeText

    return FreeText.objects.create(
        project=world.project, patient=make_patient(world), text="No lesion.", added_by=world.owner.username
    )


@maker("reporting.Reading")
def _reading(world: World) -> Any:
    """A text in the owner's hands."""
    from pydplib.web.reporting.models import Reading

    return Reading.objects.create(text=make_text(world), number=1, reader=world.owner, template=make_template(world))


@maker("dashboards.Dashboard")
def make_dashboard(world: World) -> Any:
    """A dashboard that is published for third parties, without figures."""
    from pydplib.web.dashboards.models import Dashboard, Edition

    made = Dashboard.objects.create(
        project=world.project, title="Trends", audience="third_party", state="published", made_by=world.owner
    )
    snapshot = world.project.snapshots.first() or _snapshot(world)
    Edition.objects.create(dashboard=made, number=1, title=made.title, snapshot=snapshot, made_by=world.owner)
    return made


@maker("dashboards.Figure")
def _figure(world: World) -> Any:
    from pydplib.web.dashboards.models import Figure

    return Figure.objects.create(dashboard=make_dashboard(world), position=1, kind="ready", name="reports-by-year")


@maker("exports.Export")
def make_export(world: World) -> Any:
    """A table that the owner has released to collaborators; the policy opens it to them."""
    from pydplib.schema import Schema
    from pydplib.web.exports.models import Export
    from pydplib.web.exports.plans import propose
    from pydplib.web.intake.models import Snapshot

    snapshot = Snapshot.objects.filter(project=world.project).first() or MAKERS["intake.Snapshot"](world)
    world.project.rules.filter(audience="collaborator").update(label="k_anonymous")
    numbers = {
        "rows": 10, "people": 10, "classes": 2, "k": 5, "counted": "one row is one person", "holds": True,
        "guarantee": "5-anonymity.", "notes": [], "earlier": [], "levels": {"age": 3}, "heights": {"age": 5},
        "statements": [
            {"model": "5-anonymity", "sensitive": None, "holds": True, "value": 5.0, "value_input": None},
        ],
        "suppressed": {"rows": 0, "share": 0.0, "limit": 0.05},
        "loss": {"granularity": 0.3, "precision": 0.3, "entropy": 0.3, "discernibility": 50, "class_size": 1.0,
                 "ncp": 0.3, "columns": {"age": 0.3}},
        "sizes": {"before": [[1, 10]], "after": [[5, 2]]},
        "search": {"checked": 4, "nodes": 6, "optimal": True, "gap": 0.0},
    }  # fmt: skip
    return Export.objects.create(
        project=world.project,
        snapshot=snapshot,
        by=world.owner,
        title="Ages",
        state="released",
        plan=propose(Schema.from_json(snapshot.schema)).to_dict(),
        result=numbers,
        columns=["age"],
        file="no-file",
        audiences=["collaborator"],
        released=timezone.now(),
    )


@maker("synthetic.SyntheticPurchase")
def make_synthetic_table(world: World) -> Any:
    """A synthetic table that somebody of the world's organisation has bought, with much noise."""
    import hashlib
    from dataclasses import replace

    import pyarrow

    import pydplib as dp
    from pydplib.budget.chain import Entry
    from pydplib.receipt import Receipt, new_signing_key
    from pydplib.schema import Schema
    from pydplib.web.intake.models import Snapshot
    from pydplib.web.ledger import models as rows
    from pydplib.web.synthetic.models import SyntheticPurchase
    from pydplib.web.synthetic.offers import Asked

    snapshot = Snapshot.objects.filter(project=world.project).first() or MAKERS["intake.Snapshot"](world)
    digest = ("5" + world.project.key.encode().hex()).ljust(64, "0")[:64]
    column = Schema.from_json(snapshot.schema).column("age")
    people = pyarrow.table({"age": [50, 60, 70] * 20})
    table = dp.synthesize(people, Schema({"age": column}, name="reports"), epsilon=0.5)
    payload = replace(table, key=digest).to_json().encode()
    receipt = Receipt.of(replace(table, key=digest), payload, data="snapshot 1", issued="2026-01-01T00:00:00+00:00")
    entry = Entry(
        number=2 * 10**6 + rows.Entry.objects.count(),
        kind="answer",
        time="2026-01-01T00:00:00+00:00",
        lineage=world.project.key,
        release=digest,
        details={"payload_hash": hashlib.sha256(payload).hexdigest()},
    ).sealed()
    rows.Entry.objects.create(number=entry.number, body=entry.body, hash=entry.hash, lineage=entry.lineage)
    rows.Release.objects.create(
        digest=digest,
        lineage=world.project.key,
        snapshot=snapshot.key,
        question="{}",
        payload=payload,
        answer=entry.number,
    )
    rows.Payment.objects.create(release_id=digest, recipient=world.hospital.key, entry_id=entry.number)
    return SyntheticPurchase.objects.create(
        project=world.project,
        asked_by=world.people["collaborator"],
        recipient=world.hospital.key,
        role="collaborator",
        label="dp_high",
        snapshot=snapshot.key,
        digest=digest,
        asked=Asked(columns=("age",), epsilon=0.5, noise="laplace").to_dict(),
        nano_epsilon=5 * 10**8,
        state="ready",
        receipt=receipt.signed(new_signing_key()).to_json(),
    )


@maker("attacks.AttackRun")
def make_attack_run(world: World) -> Any:
    """A finished run on behalf of the third parties."""
    from pydplib.web.attacks.models import AttackRun
    from pydplib.web.attacks.recipients import subject_of
    from pydplib.web.attacks.runs import given_facts
    from pydplib.web.attacks.verdicts import verdict_of

    given = subject_of(world.project, "audience:third_party")
    result: dict[str, Any] = {"given": given_facts(given), "simulated": [], "missed": [], "tables": []}
    return AttackRun.objects.create(
        project=world.project,
        by=world.owner,
        subject=given.subject,
        name=given.name,
        state="done",
        result=result | {"verdict": verdict_of(given, result)},
    )

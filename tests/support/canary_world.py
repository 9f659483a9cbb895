"""A hospital full of canaries: every secret of it is a text that no page of a non-owner, export or log may hold."""

from __future__ import annotations

import csv
import datetime as dt
import io
from dataclasses import dataclass, field
from typing import Any

from web_objects import MAKERS, MEMBERS, World

TAG = "ZZCANARY"
ROLES = ("anonymous", "outsider", "colleague", "manager", "radiologist", "collaborator", "third_party", "officer")
"""Everybody but the owner."""


def canary(what: str) -> str:
    """Return a text that stands nowhere else."""
    return f"{TAG}-{what}-7731"


@dataclass
class Planted:
    """What was planted, and who walks past it."""

    worlds: list[World]
    clients: dict[str, Any]
    programs: dict[str, Any]
    owner: Any
    secrets: dict[str, str] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)

    def leaks_in(self, content: bytes | str) -> list[str]:
        """Return which canaries stand in some content: by their common tag, or as one of the random secrets."""
        text = content if isinstance(content, str) else content.decode("utf-8", "replace")
        found = [name for name, secret in self.secrets.items() if secret in text]
        return found + ([TAG] if TAG in text and not found else [])

    def object_for(self, model: str, world: World) -> Any:
        """Return the object with canaries in it, or one of the matrix's makers."""
        own = self.objects.get(f"{model} {world.project.key}")
        return own if own is not None else MAKERS[model](world)


def plant(sign_in: Any) -> Planted:
    """Make the hospital with a study and a reporting desk, somebody in every role, and the secrets."""
    from django.test import Client

    from pydplib.web.api.tokens import make_token
    from pydplib.web.people import links
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.people.sign_in.second_factor import new_recovery_codes
    from pydplib.web.projects.models import Member

    hospital, elsewhere = Hospital.objects.create(name="Here"), Hospital.objects.create(name="There")
    owner = User.objects.create_user("owner", hospital=hospital, is_hospital_owner=True, password=canary("PASSWORD"))
    people = {"owner": owner}
    for role in ("colleague", "manager", *MEMBERS):
        if role != "owner":
            people[role] = User.objects.create_user(role, hospital=hospital, is_hospital_owner=role == "manager")
    outsider = User.objects.create_user("outsider", hospital=elsewhere, is_hospital_owner=True)
    worlds = [World(hospital, _study(owner), people), World(hospital, _desk(owner), people)]
    for world in worlds:
        for role, name in MEMBERS.items():
            if role != "owner":
                Member.objects.create(project=world.project, user=people[role], role=name, department="radiology")
    users = {role: user for role, user in people.items() if role != "owner"} | {"outsider": outsider}
    clients = {role: sign_in(user) for role, user in users.items()} | {"anonymous": Client()}
    programs: dict[str, Any] = {"anonymous": Client()}
    planted = Planted(worlds, clients, programs, sign_in(owner))
    for role, user in users.items():
        _, token = make_token(user, name="walk", scopes=["read", "ask", "export"], days=1, second_factor=True)
        programs[role] = Client(headers={"authorization": f"Bearer {token}"})
        planted.secrets[f"token of {role}"] = token
    planted.secrets["token of the owner"] = make_token(owner, name="own", scopes=["read"], days=1, second_factor=True)[
        1
    ]
    planted.secrets["one-time link"] = links.make_link(links.Purpose.RESET, user=owner)
    planted.secrets["recovery code"] = new_recovery_codes(owner)[0]
    planted.secrets["session of the owner"] = str(planted.owner.session.session_key)
    _fill(planted)
    return planted


def _study(owner: Any) -> Any:
    """A published study: canaries in identifiers and names of physicians."""
    from study_world import rows_with_canaries

    from pydplib.web.intake.imports.records import accept_rows
    from pydplib.web.intake.snapshots import make_snapshot, publish

    project = _project(owner, "Study", "pirads-paper")
    rows = ({**row, "patient_id": canary(f"PATIENT-{i}"), "physician_name": canary("PHYSICIAN")}
            for i, row in enumerate(rows_with_canaries(60)))  # fmt: skip
    accept_rows(project, project.templates.get(number=1), rows, actor=owner, department="urology")
    publish(make_snapshot(project, actor=owner), actor=owner)
    return project


def _desk(owner: Any) -> Any:
    """A reporting desk: canaries in free texts and identifiers, in a department that is not the radiologist's."""
    from report_forms import COMPLETE

    from pydplib.web.intake.imports.records import accept_rows
    from pydplib.web.reporting.labels.free_texts import NewText
    from pydplib.web.reporting.labels.queue import add_texts

    project = _project(owner, "Desk", "pirads-2.1")
    row = {**COMPLETE, "histology": False, "patient_id": canary("PATIENT"), "other_findings": canary("FINDINGS")}
    accept_rows(project, project.templates.get(number=1), [row], actor=owner, department="urology")
    add_texts(project, [NewText(canary("PATIENT"), canary("TEXT"), "urology")], readers=1, actor=owner)
    return project


def _project(owner: Any, name: str, template: str) -> Any:
    from pydplib.web.projects.setup import create_project

    return create_project(
        owner,
        name=name,
        purpose="research",
        legal_basis="Consent",
        retention_until=dt.date(2040, 1, 1),
        template=template,
    )


def _fill(planted: Planted) -> None:
    """Make the objects that addresses name, by the owner's own hands where a page makes them."""
    from export_study import make_export, open_to

    from pydplib.release.prices import Accuracy
    from pydplib.web.analyses.payments.purchases import ask
    from pydplib.web.analyses.shared_answers import receive
    from pydplib.web.dashboards import plans
    from pydplib.web.dashboards.editions import count_records, publish
    from pydplib.web.dashboards.panels import releases_for
    from pydplib.web.dashboards.prices import bill_for
    from pydplib.web.exports.models import Export
    from pydplib.web.intake.models import ImportBatch
    from pydplib.web.patients.models import Patient
    from pydplib.web.projects.models import Member
    from pydplib.web.reporting.models import FreeText, Report

    study, desk = (world.project for world in planted.worlds)
    owner = planted.worlds[0].owner
    put = planted.objects.__setitem__
    for project in (study, desk):
        put(f"intake.Patient {project.key}", Patient.objects.filter(project=project).first())
        report = Report.objects.filter(project=project).first()
        put(f"reporting.Report {project.key}", report)
        put(f"reporting.Report, signed {project.key}", report)
        put(f"reporting.TemplateVersion {project.key}", project.templates.get(number=1))
    put(f"reporting.FreeText {desk.key}", FreeText.objects.get(project=desk))
    put(f"intake.Snapshot {study.key}", study.snapshots.get())
    put(f"intake.ImportBatch {study.key}", _import(planted, study))
    assert ImportBatch.objects.get(project=study).problem_rows.exists(), "a row with canaries waits for a decision"

    import pydplib as dp

    asker = planted.worlds[0].people["collaborator"]
    answered = ask(study, asker, Member.as_role("collaborator"), dp.Histogram("age"), Accuracy(epsilon=0.2))
    put(f"analyses.Analysis {study.key}", answered)
    board = plans.make_dashboard(owner, study, title="For partners", audience="third_party")
    plans.add_ready_made(owner, board, ("3",))
    count_records(owner, board)
    publish(owner, board, agreed=bill_for(board).nano)
    reader, place = planted.worlds[0].people["third_party"], Member.as_role("third_party")
    receive(study, reader, place, releases_for(board.edition, place), agreed=10**10, subject=board.key)
    put(f"dashboards.Dashboard {study.key}", board)
    put(f"dashboards.Figure {study.key}", board.figures.first())
    open_to(study, "collaborator")
    export = make_export(study, owner)
    Export.objects.filter(pk=export.pk).update(
        state="released", audiences=["collaborator"], released=export.made, problem=""
    )
    export.refresh_from_db()
    assert export.file, export.problem
    put(f"exports.Export {study.key}", export)


def _import(planted: Planted, project: Any) -> Any:
    """Upload a file whose very name is a secret, with one row that breaks a rule."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    from pydplib.web.intake.models import ImportBatch

    out = io.StringIO()
    names = ["patient_id", "physician_name", "last_modified", "age", "year", "pca_no_pirads", "pirads", "prostatitis"]
    rows = [names, [canary("ROW"), canary("PHYSICIAN"), "2018-01-01", canary("CELL"), 2018, "no", 3, "n"]]
    csv.writer(out, delimiter=";").writerows(rows)
    file = SimpleUploadedFile(canary("FILE") + ".csv", out.getvalue().encode())
    query = f"project={project.key}"
    answer = planted.owner.post(f"/import?{query}", {"file": file})
    assert answer.status_code == 302, answer.content.decode()[:2000]
    batch = ImportBatch.objects.get(project=project)
    fields = {f"column{place}": name for place, name in enumerate(batch.mapping)}
    assert planted.owner.post(f"/import/{batch.key}/mapping?{query}", fields).status_code == 302
    batch.refresh_from_db()
    return batch

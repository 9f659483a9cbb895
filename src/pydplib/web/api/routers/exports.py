"""Anonymized tables: what was released to the caller, its certificate and files; owners start and watch them."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from django.http import FileResponse, Http404, HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict

from pydplib.errors import ParameterError
from pydplib.schema import Schema
from pydplib.web.api.permissions import entry
from pydplib.web.api.values import answers, reply
from pydplib.web.auditlog.log import record
from pydplib.web.exports import files, releases, runs
from pydplib.web.exports.models import Export
from pydplib.web.exports.plans import ExportPlan, check_plan
from pydplib.web.exports.results import certificate_of
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import TargetRequest

router = Router(tags=["exports"])
_FILES = {200: {"description": "OK", "content": {kind.split(";")[0]: {} for kind in files.KINDS.values()}}}


class ExportOut(BaseModel):
    """An anonymized table: where it stands and what it holds. Progress and problem are for owners."""

    key: str
    project: str
    title: str
    state: str
    columns: list[str]
    rows: int | None
    guarantee: str
    sha256: dict[str, str]
    released: dt.datetime | None
    progress: str
    problem: str

    @classmethod
    def of(cls, export: Export, *, own: bool) -> ExportOut:
        """Return an export as the API says it."""
        return cls(
            key=export.key,
            project=export.project.key,
            title=export.title,
            state="stalled" if runs.is_stalled(export) else export.state,
            columns=export.columns,
            rows=export.result.get("rows"),
            guarantee=export.result.get("guarantee", ""),
            sha256=export.sha256,
            released=export.released,
            progress=export.progress_words if own else "",
            problem=export.problem if own else "",
        )


class ExportsOut(BaseModel):
    """Anonymized tables, the newest first."""

    items: list[ExportOut]


class CertificateOut(BaseModel):
    """What a table guarantees, measured on the table alone."""

    model_config = ConfigDict(extra="allow")

    title: str
    columns: list[str]
    k: int
    holds: bool
    guarantee: str


class DownloadIn(BaseModel):
    """Which file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["csv", "parquet"]


@router.get("/projects/{key}/exports", response=answers(ExportsOut), operation_id="list_exports")
@entry("ask", scope="read", of=Project)
def list_exports(request: TargetRequest[Project], key: str) -> HttpResponse:
    """The tables that were released to the caller; for owners, all of them."""
    own = request.member.can("manage_data")
    found = releases.visible(request.project, request.member)
    return reply(ExportsOut(items=[ExportOut.of(item, own=own) for item in found]))


@router.get("/exports/{key}", response=answers(ExportOut), operation_id="read_export")
@entry("ask", scope="read", of=Export)
def read_export(request: TargetRequest[Export], key: str) -> HttpResponse:
    """One table: where it stands and what it holds."""
    return reply(ExportOut.of(_open(request), own=request.member.can("manage_data")))


@router.get("/exports/{key}/certificate", response=answers(CertificateOut), operation_id="read_certificate")
@entry("ask", scope="read", of=Export)
def read_certificate(request: TargetRequest[Export], key: str) -> HttpResponse:
    """The certificate of a table."""
    item = _open(request)
    if not item.result:
        raise Http404
    record(request.user, "export.certificate", item.key, project=item.project)
    return reply(CertificateOut.model_validate(certificate_of(item)))


@router.post(
    "/exports/{key}/download",
    response=answers(None),
    operation_id="download_export",
    openapi_extra={"responses": _FILES},
)
@entry("ask", scope="export", of=Export)
def download_export(request: TargetRequest[Export], key: str, body: DownloadIn) -> FileResponse:
    """The file of a table. The policy is asked again; ledger, log and recall list have the copy."""
    item = releases.check_concerns(request)
    path = releases.take(request, item, body.kind)
    kind = files.KINDS[body.kind]
    return FileResponse(path.open("rb"), content_type=kind, as_attachment=True, filename=f"{item.key}.{body.kind}")


@router.post("/exports/{key}/run", response=answers(ExportOut), operation_id="run_export")
@entry("manage_data", scope="export", of=Export)
def run_export(request: TargetRequest[Export], key: str) -> HttpResponse:
    """Make a planned table, or begin again after a break; ``GET /exports/{key}`` says how far it is."""
    item: Export = request.target
    if item.state not in (Export.State.DRAFT, Export.State.READY) and not runs.is_stalled(item):
        raise ParameterError("This export is being made, or was released or discarded: it cannot be made again.")
    check_plan(ExportPlan.from_dict(item.plan), Schema.from_json(item.snapshot.schema))
    runs.start(item)
    item.refresh_from_db()
    return reply(ExportOut.of(item, own=True))


def _open(request: TargetRequest[Export]) -> Export:
    item = releases.check_concerns(request)
    if not request.member.can("manage_data"):
        decision = releases.decision_for(item, request.member)
        if not decision:
            record(request.user, "flow.refuse", item.key, project=item.project, reason=decision.reason)
            raise Http404
    return item

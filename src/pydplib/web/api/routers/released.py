"""Released tables of a project for other software: a list, and each as CSV or Parquet; reading alone."""

from __future__ import annotations

import datetime as dt

from django.http import Http404, HttpResponse
from ninja import Router
from pydantic import BaseModel

from pydplib.release.results.formats import TABLE_FORMATS, table_of
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import release_of
from pydplib.web.analyses.visibility import check_see, received
from pydplib.web.api.permissions import entry
from pydplib.web.api.values import answers, reply
from pydplib.web.auditlog.log import record
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import TargetRequest

router = Router(tags=["released tables"])

MOST = 500
"""The most tables of one list: the newest."""


class ReleasedTable(BaseModel):
    """A table that was released to the caller's organisation."""

    key: str
    title: str
    made: dt.datetime
    columns: list[str]
    csv: str
    parquet: str


@router.get("/projects/{key}/released", response=answers(list[ReleasedTable]), operation_id="list_released")
@entry("ask", scope="read", of=Project, basic=True)
def list_released(request: TargetRequest[Project], key: str) -> HttpResponse:
    """The tables that were released to the caller's organisation, the newest first, with their addresses.

    The token goes into the header, `Authorization: Bearer TOKEN`, or is the password of HTTP's basic scheme with any
    user name. It is never part of an address.
    """
    found = received(request.project, request.user, request.member, most=MOST)
    return reply([_listed(item) for item in found])


@router.get("/released/{key}/{kind}", response=answers(None), operation_id="read_released")
@entry("ask", scope="read", of=Analysis, basic=True)
def read_released(request: TargetRequest[Analysis], key: str, kind: str) -> HttpResponse:
    """One released table as `csv` or `parquet`, rounded to its margins; the token as for the list."""
    found = check_see(request)
    form = TABLE_FORMATS.get(kind)
    if form is None:
        raise Http404
    record(request.user, "analysis.export", found.key, project=request.project, kind=kind)
    response = HttpResponse(form.write(release_of(found), "\r\n"), content_type=form.media_type)
    response["Content-Disposition"] = f'attachment; filename="{found.key}.{kind}"'
    return response


def _listed(item: Analysis) -> ReleasedTable:
    address = f"/api/v1/released/{item.key}"
    return ReleasedTable(
        key=item.key,
        title=item.title or item.words,
        made=item.made,
        columns=list(table_of(release_of(item))),
        csv=f"{address}/csv",
        parquet=f"{address}/parquet",
    )

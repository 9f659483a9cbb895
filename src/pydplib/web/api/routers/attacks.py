"""Attacks for owners and data protection officers: bounds from the ledger, start a run, see how far it is."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from django.http import HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from pydplib.errors import ParameterError
from pydplib.web.api.permissions import entry
from pydplib.web.api.values import answers, reply
from pydplib.web.attacks import runs as running
from pydplib.web.attacks.launch import start_run
from pydplib.web.attacks.models import AttackRun
from pydplib.web.attacks.recipients import Given, given_to_all, if_all_is_spent
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import TargetRequest

router = Router(tags=["attacks"])


class GivenOut(BaseModel):
    """What a recipient has, or could get with its whole budget, and what that allows at most."""

    subject: str
    name: str
    whole_budget: bool
    epsilon: float
    delta: float
    most_success: float
    questions: int
    tables: list[str]
    synthetic: list[str]  # synthetic tables that it has bought: their loss is part of epsilon

    @classmethod
    def of(cls, given: Given) -> GivenOut:
        """Return it as the API says it."""
        return cls(
            subject=given.subject,
            name=given.name,
            whole_budget=given.whole,
            epsilon=given.epsilon,
            delta=given.delta,
            most_success=given.bound,
            questions=given.questions,
            tables=[export.key for export in given.exports],
            synthetic=[row.key for row in given.synthetic],
        )


class RunOut(BaseModel):
    """A run of attacks. The result holds shares and words, no value of any field."""

    key: str
    project: str
    name: str
    state: str
    progress: int | None
    problem: str
    made: dt.datetime
    result: dict[str, object]

    @classmethod
    def of(cls, run: AttackRun) -> RunOut:
        """Return a run as the API says it."""
        return cls(
            key=run.key,
            project=run.project.key,
            name=run.name,
            state="stalled" if running.is_stalled(run) else run.state,
            progress=run.progress,
            problem=run.problem,
            made=run.made,
            result=run.result if run.state == AttackRun.State.DONE else {},
        )


class AttacksOut(BaseModel):
    """What recipients could learn by the guarantees alone, and the runs so far."""

    given: list[GivenOut]
    runs: list[RunOut]


class StartIn(BaseModel):
    """On whose behalf: a ``subject`` of the list."""

    model_config = ConfigDict(extra="forbid", strict=True)

    subject: str = Field(min_length=1, max_length=100)
    data: Literal["twin", "real"] = "twin"
    minutes: Literal[1, 5, 15] = 5


@router.get("/projects/{key}/attacks", response=answers(AttacksOut), operation_id="list_attacks")
@entry("read_log", scope="read", of=Project)
def list_attacks(request: TargetRequest[Project], key: str) -> HttpResponse:
    """What every recipient could learn at most, and the newest runs."""
    given = [*given_to_all(request.project), *if_all_is_spent(request.project)]
    runs = AttackRun.objects.filter(project=request.project).select_related("project")[:30]
    return reply(AttacksOut(given=[GivenOut.of(each) for each in given], runs=[RunOut.of(run) for run in runs]))


@router.post("/projects/{key}/attacks", response=answers(RunOut), operation_id="start_attacks")
@entry("read_log", scope="ask", of=Project)
def start_attacks(request: TargetRequest[Project], key: str, body: StartIn) -> HttpResponse:
    """Start a run; ``GET /attacks/{key}`` says how far it is."""
    known = {each.subject for each in (*given_to_all(request.project), *if_all_is_spent(request.project))}
    if body.subject not in known:
        raise ParameterError("This recipient has no part in the project: choose a subject of the list.")
    run = start_run(request.user, request.project, subject=body.subject, data=body.data, minutes=body.minutes)
    return reply(RunOut.of(run))


@router.get("/attacks/{key}", response=answers(RunOut), operation_id="read_attacks")
@entry("read_log", scope="read", of=AttackRun)
def read_attacks(request: TargetRequest[AttackRun], key: str) -> HttpResponse:
    """How far a run is, or what it found."""
    return reply(RunOut.of(request.target))

"""Price a question, pay for it, and see what was paid for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated

from django.http import Http404, HttpResponse
from ninja import Query, Router

from pydplib.errors import PolicyError
from pydplib.release import Question
from pydplib.release.prices import Accuracy
from pydplib.web.analyses import shared_answers
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.budgets import recipient_names
from pydplib.web.analyses.payments.joint_purchases import ask_all, bought_tables, quote_all
from pydplib.web.analyses.payments.prices import quote
from pydplib.web.analyses.payments.purchases import answer_bytes, ask
from pydplib.web.analyses.question_form.offers import offer_for
from pydplib.web.analyses.question_form.questions import check_cells
from pydplib.web.analyses.visibility import check_concerns, check_see, is_own, payer_for, visible
from pydplib.web.api.permissions import entry
from pydplib.web.api.questions import (
    AskIn,
    PayIn,
    PayTogetherIn,
    TogetherIn,
    check_names,
    check_opened,
    read_question,
)
from pydplib.web.api.values import (
    AgreeIn,
    AnalysesOut,
    AnalysisBrief,
    AnalysisOut,
    BoughtOut,
    BoughtTogetherOut,
    PriceOut,
    ReceiptOut,
    ReleaseOut,
    answers,
    reply,
    with_release,
)
from pydplib.web.auditlog.log import record
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest

router = Router(tags=["analyses"])


@router.post("/projects/{key}/price", response=answers(PriceOut), operation_id="price_question")
@entry("ask", scope="read", of=Project)
def price_question(request: TargetRequest[Project], key: str, body: AskIn) -> HttpResponse:
    """What a question would cost and how accurate it would be. Spends nothing and reads no row."""
    question, noise = _asked(request, body)
    price = quote(request.project, request.user, request.member, question, noise, table=body.table)
    return reply(PriceOut.of(price))


@router.get("/projects/{key}/analyses", response=answers(AnalysesOut), operation_id="list_analyses")
@entry("ask", scope="read", of=Project)
def list_analyses(
    request: TargetRequest[Project],
    key: str,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> HttpResponse:
    """The analyses that the caller may see, the newest first."""
    found = visible(request.project, request.user, request.member)
    names = recipient_names()
    items = [AnalysisBrief.of(each, payer=_payer(request, each, names)) for each in found[offset : offset + limit]]
    return reply(AnalysesOut(count=found.count(), items=items))


@router.post("/projects/{key}/analyses", response=answers(AnalysisOut), operation_id="ask_question")
@entry("ask", scope="ask", of=Project)
def ask_question(request: TargetRequest[Project], key: str, body: PayIn) -> HttpResponse:
    """Pay for a question and get the answer. The same question again is free, and the same bytes.

    With `at_most` it is refused, and nothing is spent, if it would cost more epsilon than that in total.
    """
    question, noise = _asked(request, body)
    if noise.margin is not None:
        with suppress(PolicyError):  # ask refuses it too, and writes it down
            # a margin that nobody can promise
            quote(request.project, request.user, request.member, question, noise, table=body.table)
    made = ask(request.project, request.user, request.member, question, noise, at_most=body.at_most, table=body.table)
    return with_release(made, payer=_payer(request, made, recipient_names()))


@router.post("/projects/{key}/tables/price", response=answers(PriceOut), operation_id="price_tables")
@entry("ask", scope="read", of=Project)
def price_tables(request: TargetRequest[Project], key: str, body: TogetherIn) -> HttpResponse:
    """What several tables of counts would cost as one release, and the margin of each. Spends nothing."""
    questions = _asked_together(request, body)
    return reply(PriceOut.of(quote_all(request.project, request.user, request.member, questions, body.said)))


@router.post("/projects/{key}/tables", response=answers(BoughtTogetherOut), operation_id="ask_tables")
@entry("ask", scope="ask", of=Project)
def ask_tables(request: TargetRequest[Project], key: str, body: PayTogetherIn) -> HttpResponse:
    """Pay for several tables of counts as one release: one price, one entry, numbers that agree.

    The same questions again are free, and the same bytes. With `at_most` it is refused, and nothing is spent, if it
    would cost more epsilon than that in total.
    """
    questions = _asked_together(request, body)
    bought = ask_all(request.project, request.user, request.member, questions, body.said, at_most=body.at_most)
    names = recipient_names()
    briefs = [AnalysisBrief.of(each, payer=_payer(request, each, names)) for each in bought.analyses]
    listed = ",".join(brief.model_dump_json(by_alias=True) for brief in briefs).encode()
    head = b'{"tables": ' + bought.payload + b', "order": ' + json.dumps(bought.order).encode()
    return HttpResponse(head + b', "analyses": [' + listed + b"]}", content_type="application/json")


@router.get("/projects/{key}/tables", response=answers(BoughtOut), operation_id="list_tables")
@entry("ask", scope="read", of=Project)
def list_tables(request: TargetRequest[Project], key: str) -> HttpResponse:
    """The tables that the caller's organisation has paid for, of the published snapshot."""
    found = bought_tables(request.project, request.user, request.member)
    body = b'{"items": [' + b", ".join(tables.to_json().encode() for tables in found) + b"]}"
    return HttpResponse(body, content_type="application/json")


@router.get("/analyses/{key}", response=answers(AnalysisOut), operation_id="read_analysis")
@entry("ask", scope="read", of=Analysis)
def read_analysis(request: TargetRequest[Analysis], key: str) -> HttpResponse:
    """An analysis with its released values, once the caller's organisation has paid for it."""
    found = check_see(request)
    return with_release(found, payer=_payer(request, found, recipient_names()))


@router.post("/analyses/{key}/receive", response=answers(AnalysisOut), operation_id="receive_analysis")
@entry("ask", scope="ask", of=Analysis)
def receive_analysis(request: TargetRequest[Analysis], key: str, body: AgreeIn) -> HttpResponse:
    """Pay for an analysis that is shared with the caller, from the organisation's budget; free if it has paid before.

    It is refused, and nothing is spent, if it would cost more epsilon than `at_most`.
    """
    found = check_concerns(request)
    if not is_own(found, request.user, request.member) and not request.member.can("see_raw"):
        found = shared_answers.receive_analysis(request.user, request.member, found, agreed=body.nano)
    return with_release(found, payer=_payer(request, found, recipient_names()))


@router.get("/analyses/{key}/release", response=answers(ReleaseOut), operation_id="read_release")
@entry("ask", scope="read", of=Analysis)
def read_release(request: TargetRequest[Analysis], key: str) -> HttpResponse:
    """The release alone, byte for byte as the ledger stores it and as the receipt's hash has it."""
    found = check_see(request)
    record(request.user, "analysis.export", found.key, project=request.project, kind="json")
    return HttpResponse(answer_bytes(found), content_type="application/json")


@router.get("/analyses/{key}/receipt", response=answers(ReceiptOut), operation_id="read_receipt")
@entry("ask", scope="read", of=Analysis)
def read_receipt(request: TargetRequest[Analysis], key: str) -> HttpResponse:
    """The signed receipt of an analysis."""
    found = check_see(request)
    if not found.receipt:
        raise Http404
    record(request.user, "analysis.export", found.key, project=request.project, kind="receipt")
    return HttpResponse(found.receipt, content_type="application/json")


def _payer(request: ProjectRequest, analysis: Analysis, names: Mapping[str, str]) -> str:
    return payer_for(analysis, request.user, request.member, names)


def _asked(request: ProjectRequest, body: AskIn) -> tuple[Question, Accuracy]:
    """Return what was asked, with sizes that the platform answers."""
    accuracy = Accuracy(
        epsilon=body.epsilon, margin=body.margin, noise_factor=body.noise_factor, confidence=body.confidence
    )
    return _checked(request, body.question, body.table), accuracy


def _asked_together(request: ProjectRequest, body: TogetherIn) -> list[Question]:
    """Return all that was asked, each with sizes that the platform answers."""
    body.said.of(len(body.questions))  # what it may cost is said soundly, before anything else
    return [_checked(request, sent) for sent in body.questions]


def _checked(request: ProjectRequest, sent: object, table: str = "") -> Question:
    question = read_question(sent)
    try:
        offer = offer_for(request.project, request.member, table)
        check_names(question, offer.schema, {**offer.fields, **offer.filters})
        check_opened(question, offer, request.project, request.member)
    except PolicyError as refusal:
        record(request.user, "analysis.refuse", project=request.project, reason=str(refusal), role=request.member.role)
        raise
    check_cells(question, offer.schema)
    return question

"""Synthetic tables: price and expected fidelity, pay, wait, take the table and its receipt."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from pydantic import BaseModel, Field

from pydplib.errors import PolicyError, QuestionError, did_you_mean
from pydplib.web.analyses.question_form.offers import offer_for
from pydplib.web.api.permissions import entry
from pydplib.web.api.questions import Name, Strict
from pydplib.web.api.values import PriceOut, ReceiptOut, answers, reply
from pydplib.web.auditlog.log import record
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest
from pydplib.web.synthetic import purchases, tables
from pydplib.web.synthetic.models import SyntheticPurchase
from pydplib.web.synthetic.offers import Asked, SyntheticOffer, Variant, quote

router = Router(tags=["synthetic"])
_FILES = {
    200: {"description": "OK", "content": {kind.content_type.split(";")[0]: {} for kind in tables.KINDS.values()}}
}


class SyntheticIn(Strict):
    """What to buy: columns, the relations that are always measured, and epsilon or the noise factor.

    `noise` is `auto` for whichever kind of noise leaves the budget better off at equal fidelity.
    """

    columns: Annotated[list[Name], Field(min_length=1, max_length=20)]
    relations: Annotated[list[Annotated[list[Name], Field(min_length=2, max_length=3)]], Field(max_length=20)] = Field(
        default_factory=list
    )
    find: bool = False
    epsilon: Annotated[float, Field(gt=0, le=100)] | None = None
    noise_factor: Literal["low", "medium", "high"] | None = None
    noise: Literal["auto", "gaussian", "laplace"] = "auto"

    @property
    def asked(self) -> Asked:
        """The same for the platform."""
        return Asked(
            columns=tuple(self.columns),
            relations=tuple(tuple(relation) for relation in self.relations),
            find=self.find,
            epsilon=self.epsilon,
            noise_factor=self.noise_factor,
            noise=self.noise,
        )


class PaySyntheticIn(SyntheticIn):
    """The same, and the most epsilon that may be spent for it. If it would cost more, nothing is spent."""

    at_most: Annotated[float, Field(ge=0, le=10_000)] | None = None


class VariantOut(BaseModel):
    """One kind of noise: price, what it leaves, and what to expect of it."""

    noise: str
    price: PriceOut
    margin: float  # of one count of a column or declared relation, in persons (95 %)
    distance: float | None  # expected total variation of the columns; none where the number of persons is not known

    @classmethod
    def of(cls, variant: Variant) -> VariantOut:
        """Return a variant as the API says it."""
        return cls(
            noise=variant.noise,
            price=PriceOut.of(variant.price),
            margin=variant.expected.margin,
            distance=variant.expected.distance,
        )


class SyntheticPriceOut(BaseModel):
    """What would be taken, the other kind of noise at equal fidelity, and why; nothing was spent, and no row read."""

    chosen: VariantOut
    other: VariantOut | None
    why: str

    @classmethod
    def of(cls, offer: SyntheticOffer) -> SyntheticPriceOut:
        """Return an offer as the API says it."""
        other = None if offer.other is None else VariantOut.of(offer.other)
        return cls(chosen=VariantOut.of(offer.chosen), other=other, why=offer.why)


class SyntheticOut(BaseModel):
    """A synthetic table: where it stands and what was asked."""

    key: str
    project: str
    title: str
    state: str  # paying, running, stalled, ready, withdrawn
    progress: int | None
    words: str
    problem: str
    columns: list[str]
    relations: list[list[str]]
    epsilon: float
    label: str
    release_key: str
    made: dt.datetime
    reason: str  # why it was withdrawn

    @classmethod
    def of(cls, row: SyntheticPurchase) -> SyntheticOut:
        """Return a table as the API says it."""
        return cls(
            key=row.key,
            project=row.project.key,
            title=str(row),
            state="stalled" if purchases.is_stalled(row) else row.state,
            progress=row.progress,
            words=row.progress_words,
            problem=row.problem,
            columns=row.asked["columns"],
            relations=row.asked["relations"],
            epsilon=row.nano_epsilon / 10**9,
            label=row.label,
            release_key=row.digest,
            made=row.made,
            reason=row.reason,
        )


class SyntheticListOut(BaseModel):
    """Synthetic tables, the newest first."""

    items: list[SyntheticOut]


class TakeIn(Strict):
    """Which file; `json` is the stored measurements, from which `pydplib.synthesis.SyntheticTable` draws the rows."""

    kind: Literal["csv", "parquet", "json", "copies"]
    copies: Annotated[int, Field(ge=2, le=tables.MOST_COPIES)] = 5


@router.post("/projects/{key}/synthetic/price", response=answers(SyntheticPriceOut), operation_id="price_synthetic")
@entry("ask", scope="read", of=Project)
def price_synthetic(request: TargetRequest[Project], key: str, body: SyntheticIn) -> HttpResponse:
    """What a synthetic table would cost and how close it would be. Spends nothing and reads no row."""
    return reply(SyntheticPriceOut.of(quote(request.project, request.user, request.member, _asked(request, body))))


@router.post("/projects/{key}/synthetic", response=answers(SyntheticOut), operation_id="buy_synthetic")
@entry("ask", scope="ask", of=Project)
def buy_synthetic(request: TargetRequest[Project], key: str, body: PaySyntheticIn) -> HttpResponse:
    """Pay for a synthetic table; it is made in the background. The same purchase again is free, and the same rows."""
    asked = _asked(request, body)
    made = purchases.buy(request.project, request.user, request.member, asked, at_most=body.at_most)
    return reply(SyntheticOut.of(made))


@router.get("/projects/{key}/synthetic", response=answers(SyntheticListOut), operation_id="list_synthetic")
@entry("ask", scope="read", of=Project)
def list_synthetic(request: TargetRequest[Project], key: str) -> HttpResponse:
    """The synthetic tables that the caller's organisation has bought; for owners, everybody's."""
    found = tables.visible(request.project, request.user, request.member)
    return reply(SyntheticListOut(items=[SyntheticOut.of(row) for row in found]))


@router.get("/synthetic/{key}", response=answers(SyntheticOut), operation_id="read_synthetic")
@entry("ask", scope="read", of=SyntheticPurchase)
def read_synthetic(request: TargetRequest[SyntheticPurchase], key: str) -> HttpResponse:
    """One table: where it stands."""
    return reply(SyntheticOut.of(tables.check_concerns(request)))


@router.post("/synthetic/{key}/run", response=answers(SyntheticOut), operation_id="run_synthetic")
@entry("ask", scope="ask", of=SyntheticPurchase)
def run_synthetic(request: TargetRequest[SyntheticPurchase], key: str) -> HttpResponse:
    """Go on after a break: nothing is paid twice."""
    row = tables.check_concerns(request)
    if not tables.is_own(row, request.user, request.member):
        raise PolicyError("Those who bought this table go on with it: their budget pays.")
    if purchases.is_stalled(row):
        purchases.go_on(row, request.user, request.member)
    return reply(SyntheticOut.of(row))


@router.post(
    "/synthetic/{key}/download",
    response=answers(None),
    operation_id="download_synthetic",
    openapi_extra={"responses": _FILES},
)
@entry("ask", scope="read", of=SyntheticPurchase)
def download_synthetic(request: TargetRequest[SyntheticPurchase], key: str, body: TakeIn) -> HttpResponseBase:
    """A file of a table. The policy is asked again, and the copy is noted for recalls."""
    row = tables.check_see(request)
    content = tables.take(request, row, body.kind, copies=body.copies)
    return HttpResponse(content, content_type=tables.KINDS[body.kind].content_type)


@router.get("/synthetic/{key}/receipt", response=answers(ReceiptOut), operation_id="read_synthetic_receipt")
@entry("ask", scope="read", of=SyntheticPurchase)
def read_synthetic_receipt(request: TargetRequest[SyntheticPurchase], key: str) -> HttpResponse:
    """The signed receipt of a table; also after a withdrawal."""
    row = tables.check_concerns(request)
    if not row.receipt:
        raise Http404
    record(request.user, "synthetic.receipt", row.key, project=row.project)
    return HttpResponse(row.receipt, content_type="application/json")


def _asked(request: ProjectRequest, body: SyntheticIn) -> Asked:
    """Return what was asked, of fields that are open: others are not even told to exist."""
    offer = offer_for(request.project, request.member)
    for name in [*body.columns, *(name for relation in body.relations for name in relation)]:
        if name not in offer.fields:
            shown = f"'{name}'" if name.isidentifier() and len(name) <= 40 else "of this name"
            raise QuestionError(f"No field {shown} is open to you.{did_you_mean(name, offer.fields)}")
    return body.asked

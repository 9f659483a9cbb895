"""What the API says: the shapes of its answers, and how the platform's objects become them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

from django.http import HttpResponse
from pydantic import BaseModel, ConfigDict, Field

from pydplib.budget.rules import Remaining
from pydplib.budget.units import NANO, floor_units
from pydplib.release import Price
from pydplib.schema import Column
from pydplib.schema import Schema as PublicSchema
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import answer_bytes
from pydplib.web.analyses.question_form.offers import Offer


class ApiProblem(BaseModel):
    """Why something was not done. ``kind`` is the class of ``pydplib.errors``; asked and left are of a budget."""

    error: str
    kind: str
    asked: str | None
    left: str | None


def answers(good: object, *, public: bool = False) -> dict[int, object]:
    """Return the answers of an operation by status, for the OpenAPI document."""
    bad = (400, 404, 405, 413, 422, 500, 503) + (() if public else (401, 403, 429))
    return {200: good} | dict.fromkeys(sorted(bad), ApiProblem)


def reply(values: BaseModel | Sequence[BaseModel]) -> HttpResponse:
    """Return values of these shapes as JSON; they are checked when they are made, and not a second time."""
    if not isinstance(values, BaseModel):
        body = "[" + ",".join(value.model_dump_json(by_alias=True) for value in values) + "]"
    else:
        body = values.model_dump_json(by_alias=True)
    return HttpResponse(body, content_type="application/json")


class TokenOut(BaseModel):
    """Who the caller is, and what the token is for."""

    user: str
    organisation: str
    name: str
    scopes: list[str]
    expires: dt.datetime


class ProjectBrief(BaseModel):
    """One of the caller's projects."""

    key: str
    name: str
    purpose: str
    role: str
    is_synthetic: bool


class Left(BaseModel):
    """What is left of a budget: the largest epsilon of one further question, and the limit; in whole units too."""

    epsilon: float
    nano_epsilon: int
    atto_delta: int
    limit: dict[str, object]
    is_shared: bool  # whether it is the data set's own, which owners alone see
    words: str

    @classmethod
    def of(cls, left: Remaining) -> Left:
        """Return a budget as the API says it."""
        return cls(**left.to_dict())


class OfferOut(BaseModel):
    """What the policy opens to the caller today: the public facts of these fields, and no others."""

    facts: dict[str, object] = Field(alias="schema", description="pydplib.Schema.to_dict()")
    fields: list[str]  # that answers may mention
    filters: list[str]  # that conditions may use
    noise_factors: list[str]  # the role's own first
    most_epsilon: float | None  # of one question
    snapshot: int
    published: dt.datetime
    template: str

    @classmethod
    def of(cls, offer: Offer) -> OfferOut:
        """Return an offer as the API says it; fields that are not opened are not even named."""
        template = offer.snapshot.template.template
        facts = open_facts(offer)
        assert offer.snapshot.published is not None  # nothing else is offered
        return cls(
            schema=facts.to_dict(),
            fields=list(offer.fields),
            filters=list(offer.filters),
            noise_factors=[factor.name for factor in offer.factors],
            most_epsilon=offer.cap,
            snapshot=offer.snapshot.number,
            published=offer.snapshot.published,
            template=f"{template.id} {template.version}",
        )


class TableOut(BaseModel):
    """A table that can be asked: reports have an empty name."""

    name: str
    title: str
    facts: dict[str, object] = Field(alias="schema", description="pydplib.Schema.to_dict()")
    fields: list[str]  # that answers may mention
    filters: list[str]  # that conditions may use

    @classmethod
    def of(cls, offer: Offer) -> TableOut:
        """Return a table as the API says it."""
        return cls(
            name=offer.snapshot.group,
            title=offer.snapshot.table_title,
            schema=open_facts(offer).to_dict(),
            fields=list(offer.fields),
            filters=list(offer.filters),
        )


def open_facts(offer: Offer) -> PublicSchema:
    """Return the public facts of what is opened; nothing else is even named.

    A computed column that is open while its inputs are not shows its bounds, and not its formula.
    """
    whole = offer.schema
    opened = {name for name in whole.columns if name in offer.fields or name in offer.filters or name == whole.person}
    kept: dict[str, Column] = {}
    for name, column in whole.columns.items():
        if name not in opened:
            continue
        shown: Any = column
        if column.formula is not None and not opened.issuperset(column.formula.columns):
            shown = replace(shown, derived="")
        kept[name] = shown
    return PublicSchema(
        kept,
        person=whole.person,
        max_rows_per_person=whole.max_rows_per_person,
        max_groups_per_person=whole.max_groups_per_person,
        size=whole.size,
        name=whole.name,
        lineage=whole.lineage,
    )


class ProjectOut(ProjectBrief):
    """One project: what it is for, what the caller may ask, what is left."""

    role_title: str
    offer: OfferOut | None  # none for roles that ask nothing, and while nothing is published
    tables: list[TableOut]  # the reports first; empty where there is no offer
    left: Left | None


class PriceOut(BaseModel):
    """What a question would cost, as ``pydplib.release.Price.from_dict`` reads it: nothing spent, no row read."""

    question: str
    cost: dict[str, object]
    epsilon: float  # of the answer
    delta: float
    guarantee: dict[str, object]
    free: bool
    affordable: bool
    at_most: bool
    nano_epsilon_in_all: int  # with the number of rows, where that has to be bought too
    nano_epsilon_of_size: int  # for the number of rows alone; 0 if it need not be bought
    margin: float | None
    margin95: float | None  # the same, where the confidence is 95 %
    confidence: float
    margin_unit: str
    margin_words: str
    unit: str
    noise_percent: float | None
    too_noisy: bool
    left: Left
    after: Left | None  # none if the budget cannot pay
    bar: dict[str, float]  # spent, asked and total epsilon of the caller's own budget
    notes: list[str]

    @classmethod
    def of(cls, price: Price) -> PriceOut:
        """Return a price as the API says it."""
        return cls(**price.to_dict())


class AnalysisBrief(BaseModel):
    """A question that was paid for."""

    key: str
    project: str
    release_key: str
    title: str
    words: str
    question: dict[str, object]
    label: str
    organisation: str  # who paid; empty where that is somebody else's business
    made: dt.datetime

    @classmethod
    def of(cls, analysis: Analysis, *, payer: str) -> AnalysisBrief:
        """Return an analysis as the API says it, with who paid for it (see ``seeing.payer_for``)."""
        return cls(
            key=analysis.key,
            project=analysis.project.key,
            release_key=analysis.digest,
            title=analysis.title,
            words=analysis.words,
            question=json.loads(analysis.question),
            label=analysis.label,
            organisation=payer,
            made=analysis.made,
        )


class AgreeIn(BaseModel):
    """What the caller agrees to pay, in epsilon, for answers that are there."""

    model_config = ConfigDict(extra="forbid", strict=True)

    at_most: Annotated[float, Field(ge=0, le=10_000)]

    @property
    def nano(self) -> int:
        """The same in nano-epsilon."""
        return floor_units(Fraction(str(self.at_most)), NANO)


class AnalysesOut(BaseModel):
    """Analyses, the newest first."""

    count: int
    items: list[AnalysisBrief]


class ReleaseOut(BaseModel):
    """A release as the ledger keeps it: ``pydplib.Release.from_dict`` reads it."""

    model_config = ConfigDict(extra="allow")

    format: str
    values: list[float]
    question: dict[str, object]
    cost: dict[str, object]
    guarantee: dict[str, object]


class AnalysisOut(AnalysisBrief):
    """An analysis with its answer."""

    release: ReleaseOut


class TablesOut(BaseModel):
    """Stored tables as the ledger keeps them: ``pydplib.release.MeasuredTables.from_json`` reads them."""

    model_config = ConfigDict(extra="allow")

    format: str
    releases: list[ReleaseOut]
    cost: dict[str, object]
    guarantee: dict[str, object]


class BoughtTogetherOut(BaseModel):
    """Tables that were paid for: the release, in which order its answers were asked, and an analysis for each."""

    tables: TablesOut
    order: list[int]
    analyses: list[AnalysisBrief]


class BoughtOut(BaseModel):
    """The tables that the caller's organisation has paid for, of the published snapshot."""

    items: list[TablesOut]


def with_release(analysis: Analysis, *, payer: str) -> HttpResponse:
    """Return an analysis whose release is, byte for byte, what the ledger stores."""
    head = AnalysisBrief.of(analysis, payer=payer).model_dump_json().encode()
    body = head[:-1] + b', "release": ' + answer_bytes(analysis) + b"}"
    return HttpResponse(body, content_type="application/json")


class Account(BaseModel):
    """A budget of one organisation, or of the data set over all of them."""

    organisation: str | None  # none: the data set's own
    relation: str
    left: Left


class BudgetOut(BaseModel):
    """What is left: their own organisation's, and all of them for those who watch over the ledger."""

    own: Left | None
    accounts: list[Account] | None


class ReceiptOut(BaseModel):
    """A signed receipt: ``pydplib receipt verify`` reads it."""

    model_config = ConfigDict(extra="allow")

    format: str
    release: str
    payload_hash: str
    key_id: str
    signature: str


class KeyOut(BaseModel):
    """A public key that receipts are signed with."""

    key_id: str
    public_key: str
    issuer_id: str
    current: bool
    algorithm: str


class KeysOut(BaseModel):
    """The public keys, the newest first; retired ones still verify old receipts."""

    keys: list[KeyOut]

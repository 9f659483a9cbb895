"""Who sees an analysis: the organisation that paid, those whom the owner shows it to, owners; the policy decides."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping

from django.db.models import CharField, Max, Min, Q, QuerySet, Value
from django.db.models.functions import Concat
from django.http import Http404
from django.utils import timezone

from pydplib.budget.units import show_nano
from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import PARTNER_ROLES, Decision, FlowAudience, FlowSource, Output, Policy, may_flow
from pydplib.release import Question
from pydplib.schema import Schema
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.sessions import recipient_of
from pydplib.web.auditlog.log import record, recorded
from pydplib.web.intake.models import Snapshot
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import TargetRequest
from pydplib.web.projects.words import DASHBOARD

AUDIENCES = PARTNER_ROLES
"""Whom an owner can show an analysis to: the roles that get statistics."""


_SMALL = 1e-6  # within any cap


def question_of(analysis: Analysis) -> Question:
    """Return what was asked."""
    return Question.from_dict(json.loads(analysis.question))


def snapshot_of(analysis: Analysis) -> Snapshot:
    """Return the published state that was asked; its file may be gone."""
    found: Snapshot = Snapshot.objects.select_related("template").get(key=analysis.snapshot)
    return found


def decision_for(
    analysis: Analysis, place: Member, *, own: bool = False, policy: Policy | None = None, schema: Schema | None = None
) -> Decision:
    """Ask the policy whether the released values may go to somebody's role and groups, by the policy of today.

    Args:
        analysis: What was released.
        place: Whoever has a ``role`` and ``groups``.
        own: Whether they paid for it: then a cap per question that was lowered since closes nothing.
        policy: The project's policy, if it was read before.
        schema: The snapshot's schema, if it was read before.
    """
    question = question_of(analysis)
    facts = schema or Schema.from_json(snapshot_of(analysis).schema)
    project = analysis.project
    source = FlowSource.of(facts, project=project.key, fields=question.fields, filters=question.filters)
    audience = FlowAudience(place.role, tuple(place.groups))
    epsilon = _SMALL if own else analysis.nano_epsilon / 10**9
    output = Output(analysis.label, epsilon=epsilon)  # type: ignore[arg-type]
    rules = project.policy if policy is None else policy
    return may_flow(source, audience, output, project.purpose, policy=rules, on=timezone.localdate())


def is_own(analysis: Analysis, user: User, place: Member) -> bool:
    """Return whether the user's organisation paid; who looks through another role's eyes belongs to no partner."""
    return not place.preview and analysis.recipient == recipient_of(user)


def concerns(analysis: Analysis, user: User, place: Member) -> bool:
    """Return whether an analysis is somebody's business: own organisation's, shared with the role, or all of them."""
    if place.can("read_all_ledgers"):
        return True
    return is_own(analysis, user, place) or place.role in analysis.shared_with


def payer_for(analysis: Analysis, user: User, place: Member, names: Mapping[str, str]) -> str:
    """Return the name of who paid, as far as it is somebody's business: their own organisation, or whoever sees all.

    Args:
        analysis: What was released.
        user: Who looks.
        place: Their place in the project.
        names: Recipient -> name, see ``budgets.recipient_names``.
    """
    if is_own(analysis, user, place) or place.can("read_all_ledgers"):
        return names.get(analysis.recipient, analysis.recipient)
    return ""


def visible(project: Project, user: User, place: Member) -> QuerySet[Analysis]:
    """Return the analyses that somebody may see now, newest first; filtered, counted and paged by the database.

    The policy is asked once for all questions about the same fields, conditions and snapshot, not once per answer.
    """
    every = Analysis.objects.filter(project=project)
    mine = every.none() if place.preview else every.filter(recipient=recipient_of(user))
    others = every if place.can("read_all_ledgers") else every.filter(pk__in=_shared_with(every, place.role))
    if not place.preview:
        others = others.exclude(recipient=recipient_of(user))
    if not place.can("read_all_ledgers"):
        others = others.exclude(digest__in=mine.values("digest"))  # what was received is listed once
    policy, facts = project.policy, _Facts()
    wanted = _allowed(mine, place, policy, facts, own=True) | _allowed(others, place, policy, facts, own=False)
    return every.annotate(sign=_SIGN).filter(wanted).select_related("asked_by__hospital", "project")


_SIGN = Concat("label", Value("|"), "scope", Value("|"), "snapshot", output_field=CharField())
"""What all answers have in common about which the policy says the same, up to a cap on epsilon."""


def asked_and_of_dashboards(analyses: QuerySet[Analysis]) -> tuple[QuerySet[Analysis], QuerySet[Analysis]]:
    """Return the analyses that people asked for, and those that dashboards paid for."""
    of_boards = {"recipient__startswith": DASHBOARD}
    return analyses.exclude(**of_boards), analyses.filter(**of_boards)


class _Facts(dict[str, Schema]):
    """Schemas of snapshots by key, each read once."""

    def __missing__(self, key: str) -> Schema:
        found = self[key] = Schema.from_json(Snapshot.objects.values_list("schema", flat=True).get(key=key))
        return found


def _shared_with(rows: QuerySet[Analysis], role: str) -> list[int]:
    """Return the analyses that an owner shows to a role: a choice by hand each, so they are few."""
    shared = rows.exclude(shared_with=[]).values_list("pk", "shared_with")
    return [pk for pk, roles in shared if role in roles]


def _allowed(rows: QuerySet[Analysis], place: Member, policy: Policy, facts: _Facts, *, own: bool) -> Q:
    """Return the condition that an analysis is one of these rows and the policy lets it through."""
    kinds = rows.annotate(sign=_SIGN).order_by().values("sign", "snapshot")
    by_cap: dict[int | None, list[str]] = {}
    for kind in kinds.annotate(top=Max("nano_epsilon"), first=Min("pk")):
        sample = Analysis.objects.select_related("project").get(pk=kind["first"])
        schema = facts[kind["snapshot"]]

        def lets_through(nano: int, sample: Analysis = sample, schema: Schema = schema) -> bool:
            sample.nano_epsilon = nano
            return bool(decision_for(sample, place, own=own, policy=policy, schema=schema))

        if lets_through(kind["top"]):
            by_cap.setdefault(None, []).append(kind["sign"])
            continue
        if own:  # then no cap is asked: what one of them lacks, all of them lack
            continue
        # A cap per question lets the cheaper ones through: the most that passes is looked for among those there are.
        there = rows.annotate(sign=_SIGN).filter(sign=kind["sign"]).order_by("nano_epsilon")
        costs = list(there.values_list("nano_epsilon", flat=True).distinct())
        passing = bisect_left(costs, True, key=lambda nano: not lets_through(nano))
        if passing:
            by_cap.setdefault(costs[passing - 1], []).append(kind["sign"])
    found = Q(pk__in=[])
    for cap, signs in by_cap.items():
        found |= Q(sign__in=signs) if cap is None else Q(sign__in=signs, nano_epsilon__lte=cap)
    return found & Q(pk__in=rows.order_by().values("pk"))


def is_received(analysis: Analysis, user: User, place: Member) -> bool:
    """Return whether a user may read the numbers: their organisation has paid for them, or they hold the rows."""
    if place.preview or place.can("see_raw"):
        return True
    return bool(DatabaseLedger().paid_by(recipient_of(user), [analysis.digest]))


def received(project: Project, user: User, place: Member, *, most: int) -> list[Analysis]:
    """Return the analyses whose numbers somebody may read now, newest first: of what is visible, what is paid for."""
    found = visible(project, user, place)
    if place.preview or place.can("see_raw"):
        return list(found[:most])
    paid = DatabaseLedger().paid_by(recipient_of(user), list(found.values_list("digest", flat=True)))
    return [item for item in found if item.digest in paid][:most]


def check_see(request: TargetRequest[Analysis]) -> Analysis:
    """Return the analysis of the address if the user may read its numbers.

    Raises:
        Http404: It is somebody else's: it looks as if it were not there.
        PolicyError: The policy has closed it, and the refusal is logged; or the organisation has not received it.
    """
    analysis = check_concerns(request)
    if not is_received(analysis, request.user, request.member):
        raise PolicyError(
            "This answer is shared with you, and your organisation has not received it yet: it costs epsilon "
            f"{show_nano(analysis.nano_epsilon)} of your organisation's budget, once. Open it in the browser, or "
            f"send POST /api/v1/analyses/{analysis.key}/receive."
        )
    return analysis


def check_concerns(request: TargetRequest[Analysis]) -> Analysis:
    """Return the analysis of the address if it is the user's business and the policy lets it through.

    Raises:
        Http404: It is somebody else's: it looks as if it were not there.
        PolicyError: It was their own organisation's, and the policy has closed it; the refusal is logged.
    """
    analysis: Analysis = request.target
    if not concerns(analysis, request.user, request.member):
        raise Http404
    decision = decision_for(analysis, request.member, own=is_own(analysis, request.user, request.member))
    if not decision:
        record(request.user, "flow.refuse", analysis.key, project=request.project, reason=decision.reason)
        raise PolicyError(f"{decision.reason} Ask the owner of the data to change the policy.")
    return analysis


def audiences_for(analysis: Analysis) -> list[tuple[str, Decision]]:
    """Return each role that gets statistics, with the policy's answer for this analysis."""
    return [(role, decision_for(analysis, Member.as_role(role))) for role in AUDIENCES]


def share(actor: User, analysis: Analysis, roles: Iterable[str]) -> None:
    """Show an analysis to all members in these roles; each must be allowed by the policy.

    The data set has paid for it already. Each organisation pays from its own budget when it wants to read it.

    Raises:
        PolicyError: The policy does not let it go to one of the roles; logged.
    """
    wanted = sorted(set(roles))
    answers = dict(audiences_for(analysis))
    for role in wanted:
        if role not in answers:
            raise ParameterError("An analysis is shared with roles that get statistics.")
        if not answers[role]:
            record(actor, "flow.refuse", analysis.key, project=analysis.project, reason=answers[role].reason)
            raise PolicyError(f"{answers[role].reason} Change the policy first, or share a noisier answer.")
    with recorded(actor, project=analysis.project) as log:
        before = analysis.shared_with
        analysis.shared_with = wanted
        analysis.save(update_fields=["shared_with"])
        log.add("analysis.share", analysis.key, before=before, after=wanted)

"""Who sees an analysis: the organisation that paid, those whom the owner shows it to, owners; all by the one door."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.http import Http404
from django.utils import timezone

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import ROLES, Audience, Decision, Output, Source, may_flow
from pydplib.receipt import Receipt
from pydplib.release import Question
from pydplib.schema import Schema
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.sessions import recipient_of
from pydplib.web.auditlog.writing import record, recorded
from pydplib.web.doors import Place
from pydplib.web.intake.models import Snapshot

AUDIENCES = tuple(name for name, role in ROLES.items() if "ask" in role.powers and name != "owner")
"""Whom an owner can show an analysis to: the roles that get statistics."""


_SMALL = 1e-6  # within any cap


def epsilon_of(analysis: Analysis) -> float:
    """Return the privacy loss of a release, as its receipt says."""
    return float(Receipt.from_json(analysis.receipt).epsilon or "inf")


def question_of(analysis: Analysis) -> Question:
    """Return what was asked."""
    return Question.from_dict(json.loads(analysis.question))


def snapshot_of(analysis: Analysis) -> Snapshot:
    """Return the published state that was asked; its file may be gone."""
    found: Snapshot = Snapshot.objects.select_related("template").get(key=analysis.snapshot)
    return found


def decision_for(
    analysis: Analysis, place: Any, *, own: bool = False, policy: Any = None, schema: Schema | None = None
) -> Decision:
    """Ask the door whether the released values may go to somebody's role and groups, by the policy of today.

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
    source = Source.of(facts, project=project.key, fields=question.fields, filters=question.filters)
    audience = Audience(place.role, tuple(place.groups))
    output = Output(analysis.label, epsilon=_SMALL if own else epsilon_of(analysis))  # type: ignore[arg-type]
    rules = project.policy if policy is None else policy
    return may_flow(source, audience, output, project.purpose, policy=rules, on=timezone.localdate())


def is_own(analysis: Analysis, user: Any, place: Any) -> bool:
    """Return whether the user's organisation paid; who looks through another role's eyes belongs to no partner."""
    return not place.preview and analysis.recipient == recipient_of(user)


def concerns(analysis: Analysis, user: Any, place: Any) -> bool:
    """Return whether an analysis is somebody's business: own organisation's, shared with the role, or all of them."""
    if place.can("read_all_ledgers"):
        return True
    return is_own(analysis, user, place) or place.role in analysis.shared_with


def payer_for(analysis: Analysis, user: Any, place: Any, names: Mapping[str, str]) -> str:
    """Return the name of who paid, as far as it is somebody's business: the own organisation, or whoever sees all.

    Args:
        analysis: What was released.
        user: Who looks.
        place: Their place in the project.
        names: Recipient -> name, see ``budgets.recipient_names``.
    """
    if is_own(analysis, user, place) or place.can("read_all_ledgers"):
        return names.get(analysis.recipient, analysis.recipient)
    return ""


def visible(project: Any, user: Any, place: Any) -> list[Analysis]:
    """Return the analyses that somebody may see now, newest first."""
    policy, facts = project.policy, {}
    found = []
    for analysis in Analysis.objects.filter(project=project).select_related("asked_by__hospital", "project"):
        if not concerns(analysis, user, place):
            continue
        if analysis.snapshot not in facts:
            facts[analysis.snapshot] = Schema.from_json(snapshot_of(analysis).schema)
        own = is_own(analysis, user, place)
        if decision_for(analysis, place, own=own, policy=policy, schema=facts[analysis.snapshot]):
            found.append(analysis)
    return found


def check_see(request: Any) -> Analysis:
    """Return the analysis of the address if it is the user's business and the policy lets it through.

    Raises:
        Http404: It is somebody else's: it looks as if it were not there.
        PolicyError: It was the own organisation's, and the policy has closed it; the refusal is logged.
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
    """Return each role that gets statistics, with the door's answer for this analysis."""
    return [(role, decision_for(analysis, Place(role))) for role in AUDIENCES]


def share(actor: Any, analysis: Analysis, roles: Iterable[str]) -> None:
    """Show an analysis to all members in these roles; each must be allowed by the policy.

    What is shared was paid for already, and counts in the data set's budget; not in the readers' own.

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

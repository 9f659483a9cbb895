"""The check of outputs: may this leave to this member, for this purpose? Asked by every export, page and analysis."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from django.utils import timezone

from pydplib.errors import PolicyError
from pydplib.policy import Decision, FlowAudience, FlowSource, Output, OutputLabel, Policy, may_flow
from pydplib.web.auditlog.log import record
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import ProjectRequest
from pydplib.web.projects.policy.fields import Field, project_fields


def flow_for(
    project: Project,
    member: Member,
    output: Output | OutputLabel,
    *,
    purpose: str,
    fields: Iterable[str] = (),
    filters: Iterable[str] = (),
    on: dt.date | None = None,
) -> Decision:
    """Return whether ``output`` of these fields may go to a member, by the project's policy as it is now.

    Only answers; ``check_flow_for`` also refuses and writes the refusal down.

    Args:
        project: The project that holds the data.
        member: Whoever has a ``role`` and ``groups``: ``request.member`` or a ``Member``.
        output: What would leave: a label, or an ``Output`` with its epsilon.
        purpose: What for.
        fields: The fields that it is about.
        filters: The fields that its conditions use.
        on: The day; today if left out.
    """
    return decide(
        project,
        member,
        output,
        purpose=purpose,
        fields=fields,
        filters=filters,
        on=on,
        known=project_fields(project),
        policy=project.policy,
    )


def decide(
    project: Project,
    member: Member,
    output: Output | OutputLabel,
    *,
    purpose: str,
    known: Iterable[Field],
    policy: Policy,
    fields: Iterable[str] = (),
    filters: Iterable[str] = (),
    on: dt.date | None = None,
) -> Decision:
    """Decide with fields and policy that were read before; for pages that ask many times."""
    wanted = output if isinstance(output, Output) else Output(output)
    known, fields, filters = tuple(known), frozenset(fields), frozenset(filters)
    strange = (fields | filters) - {field.name for field in known}
    if strange:
        # What was asked may be anything that somebody typed: only what looks like a name is repeated.
        names = [f"'{name}'" for name in sorted(strange) if name.isidentifier() and len(name) <= 40]
        return Decision(False, f"Denied: the project's template has no field {', '.join(names) or 'of this name'}.")
    source = FlowSource(
        project.key,
        fields=fields,
        filters=filters,
        identifiers=[field.name for field in known if field.is_identifier],
        computed={field.name: field.inputs for field in known if field.inputs},
    )
    audience = FlowAudience(member.role, tuple(member.groups))
    return may_flow(source, audience, wanted, purpose, policy=policy, on=on or timezone.localdate())


def check_flow_for(
    request: ProjectRequest,
    output: Output | OutputLabel,
    *,
    purpose: str,
    fields: Iterable[str] = (),
    filters: Iterable[str] = (),
) -> Decision:
    """Return the decision for the request's project and member if it is yes; else write a line and raise.

    Call it outside of a transaction that the refusal would roll back.

    Raises:
        PolicyError: Denied, with the reason.
    """
    project, member = request.project, request.member
    decision = flow_for(project, member, output, purpose=purpose, fields=fields, filters=filters)
    if not decision:
        label = output.label if isinstance(output, Output) else output
        record(request.user, "flow.refuse", label, project=project, reason=decision.reason, role=member.role)
        raise PolicyError(f"{decision.reason} Ask the owner of the data to change the policy, or ask for less.")
    return decision

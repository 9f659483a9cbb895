"""What a role gets, asked of the policy: every kind of output and every field, with the reason in words."""

from __future__ import annotations

from dataclasses import dataclass

from pydplib.policy import ANY, LABEL_WORDS, LABELS, Decision, Output, OutputLabel
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.policy.fields import Field, project_fields
from pydplib.web.projects.policy.flows import decide
from pydplib.web.projects.words import plain

_SMALL = 1e-6  # within any cap: this page asks what is open, not what it costs


@dataclass(frozen=True, slots=True)
class AccessAnswer:
    """What the policy said."""

    allow: bool
    reason: str


@dataclass(frozen=True, slots=True)
class FieldAccess:
    """What is open of one field."""

    field: Field
    raw: AccessAnswer
    statistics: AccessAnswer
    conditions: AccessAnswer


@dataclass(frozen=True, slots=True)
class Access:
    """Everything that a place gets.

    Args:
        outputs: Each kind of output with the answer.
        fields: Each field with its answers.
        statistics: The kind of statistics that the fields were asked for, in words.
        purpose: The purpose that was asked for.
    """

    outputs: list[tuple[str, AccessAnswer]]
    fields: list[FieldAccess]
    statistics: str
    purpose: str


def access_of(project: Project, place: Member) -> Access:
    """Ask ``may_flow`` for every kind of output and every field of the template, for this role and its groups."""
    known, policy = project_fields(project), project.policy
    rules = [rule for rule in policy.rules if rule.is_for(place.role, tuple(place.groups))]
    purpose = next((rule.purpose for rule in rules if rule.purpose != ANY), "research")

    def ask(label: OutputLabel, *, fields: tuple[str, ...] = (), filters: tuple[str, ...] = ()) -> AccessAnswer:
        epsilon = _SMALL if label.startswith("dp_") else None
        decision: Decision = decide(
            project,
            place,
            Output(label, epsilon=epsilon),
            purpose=purpose,
            known=known,
            policy=policy,
            fields=fields,
            filters=filters,
        )
        return AccessAnswer(decision.allow, plain(decision.reason))

    outputs = [(label, ask(label)) for label in LABELS]
    best: OutputLabel = next(
        (label for label, answer in outputs if answer.allow and label.startswith("dp_")), "dp_high"
    )
    fields = [
        FieldAccess(
            field,
            ask("raw", fields=(field.name,)),
            ask(best, fields=(field.name,)),
            ask(best, filters=(field.name,)),
        )
        for field in known
    ]
    return Access(
        [(LABEL_WORDS[label].capitalize(), answer) for label, answer in outputs], fields, LABEL_WORDS[best], purpose
    )

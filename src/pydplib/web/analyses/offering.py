"""What a member may ask: the fields of the published snapshot that the policy opens to the role today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from pydplib.errors import PolicyError
from pydplib.policy import (
    NOISE_FACTORS,
    ROLES,
    Audience,
    Decision,
    NoiseFactor,
    Output,
    Policy,
    Source,
    may_flow,
)
from pydplib.schema import Column, Schema
from pydplib.web.analyses.sessions import asked_snapshot
from pydplib.web.intake.models import Snapshot

_SMALL = 1e-6  # within any cap: this asks what is open, not what it costs


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be asked now.

    Args:
        snapshot: The published state of the data.
        schema: Its public facts.
        fields: Fields that answers may speak of.
        filters: Fields that conditions may use.
        factors: Noise factors that the role may ask for, its own first.
        cap: The most epsilon of one question; none for no cap.
    """

    snapshot: Snapshot
    schema: Schema
    fields: Mapping[str, Column]
    filters: Mapping[str, Column]
    factors: tuple[NoiseFactor, ...]
    cap: float | None

    @property
    def titles(self) -> dict[str, str]:
        """Field -> its words for readers."""
        return titles_of(self.schema)


def titles_of(schema: Schema) -> dict[str, str]:
    """Return field -> its words for readers."""
    return {name: column.title or name for name, column in schema.columns.items()}


def offer_for(project: Any, place: Any) -> Offer:
    """Return what a member may ask; every field is asked of the policy's one door.

    Raises:
        PolicyError: If nothing is published, or no rule lets the role ask.
    """
    snapshot = asked_snapshot(project)
    schema, policy = Schema.from_json(snapshot.schema), project.policy
    terms = policy.terms(place.role, groups=tuple(place.groups), project=project.key, on=timezone.localdate())
    own = ROLES[place.role].noise_factor
    if own is None:
        raise PolicyError("This role asks no statistics.")
    open_ones = [name for name, column in schema.columns.items() if column.can_be_asked]

    def opens(**asked: tuple[str, ...]) -> bool:
        return bool(decision_on(project, place, schema, policy=policy, **asked))

    return Offer(
        snapshot=snapshot,
        schema=schema,
        fields={name: schema.columns[name] for name in open_ones if opens(fields=(name,))},
        filters={name: schema.columns[name] for name in open_ones if opens(filters=(name,))},
        factors=tuple(factor for factor in NOISE_FACTORS.values() if factor.number >= own.number),
        cap=terms.epsilon_cap,
    )


def decision_on(
    project: Any,
    place: Any,
    schema: Schema,
    *,
    fields: Iterable[str] = (),
    filters: Iterable[str] = (),
    policy: Policy | None = None,
) -> Decision:
    """Ask the door whether any answer, however noisy, may speak of these fields to somebody today."""
    source = Source.of(schema, project=project.key, fields=fields, filters=filters)
    audience, output = Audience(place.role, tuple(place.groups)), Output("dp_high", epsilon=_SMALL)
    rules = project.policy if policy is None else policy
    return may_flow(source, audience, output, project.purpose, policy=rules, on=timezone.localdate())

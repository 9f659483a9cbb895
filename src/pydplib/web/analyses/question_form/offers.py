"""What a member may ask: the fields of the published snapshot that the policy opens to the role today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils import timezone

from pydplib.errors import PolicyError
from pydplib.policy import (
    NOISE_FACTORS,
    ROLES,
    Decision,
    FlowAudience,
    FlowSource,
    NoiseFactor,
    Output,
    Policy,
    may_flow,
    open_names,
)
from pydplib.schema import Column, Schema
from pydplib.web.analyses.payments.sessions import asked_snapshot
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.snapshots import published_tables
from pydplib.web.projects.allowances import terms_of
from pydplib.web.projects.models import Member, Project

_SMALL = 1e-6  # within any cap: this asks what is open, not what it costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What can be asked now.

    Args:
        snapshot: The published state of the data.
        policy: The policy of this moment.
        schema: Its public facts.
        fields: Fields that answers may mention.
        filters: Fields that conditions may use.
        factors: Noise factors that the role may ask for, its own first.
        cap: The most epsilon of one question; none for no cap.
        tables: Repeating group, or nothing for reports -> its words; what questions may be about.
    """

    snapshot: Snapshot
    policy: Policy
    schema: Schema
    fields: Mapping[str, Column]
    filters: Mapping[str, Column]
    factors: tuple[NoiseFactor, ...]
    cap: float | None
    tables: Mapping[str, str]

    @property
    def titles(self) -> dict[str, str]:
        """Field -> its words for readers."""
        return titles_of(self.schema)


def titles_of(schema: Schema) -> dict[str, str]:
    """Return field -> its words for readers."""
    return {name: column.title or name for name, column in schema.columns.items()}


def of_table(snapshot: Snapshot, words: str) -> str:
    """Return the words of a question with the table that it is about, where that is not the reports."""
    return f"{snapshot.table_title}: {words}" if snapshot.group else words


def offer_for(project: Project, place: Member, table: str = "") -> Offer:
    """Return what a member may ask by the policy of this moment, read once and asked once for all fields.

    Args:
        project: The project.
        place: The member's place in it.
        table: The repeating group that is asked; empty for reports.

    Raises:
        PolicyError: If nothing is published, or no rule lets the role ask.
    """
    snapshot, today = asked_snapshot(project, table), timezone.localdate()
    schema, policy = snapshot.declared, project.policy
    terms = terms_of(project, place.role, place.groups, policy=policy, on=today)
    own = ROLES[place.role].noise_factor
    if own is None:
        raise PolicyError("This role asks no statistics.")
    askable = {name: column for name, column in schema.columns.items() if column.can_be_asked}
    fields, filters = open_names(*_flow(project, place, schema, askable, askable), policy=policy, on=today)
    return Offer(
        snapshot=snapshot,
        policy=policy,
        schema=schema,
        fields={name: column for name, column in askable.items() if name in fields},
        filters={name: column for name, column in askable.items() if name in filters},
        factors=tuple(factor for factor in NOISE_FACTORS.values() if factor.number >= own.number),
        cap=terms.epsilon_cap,
        tables={each.group: each.table_title for each in published_tables(project)},
    )


def decision_on(
    project: Project, place: Member, schema: Schema, *, fields: Iterable[str] = (), filters: Iterable[str] = ()
) -> Decision:
    """Ask the policy whether any answer, however noisy, may use these fields for somebody today."""
    asked = _flow(project, place, schema, fields, filters)
    return may_flow(*asked, policy=project.policy, on=timezone.localdate())


def _flow(
    project: Project, place: Member, schema: Schema, fields: Iterable[str], filters: Iterable[str]
) -> tuple[FlowSource, FlowAudience, Output, str]:
    """Return what would flow to somebody: an answer with the most noise, so that no cap closes it."""
    source = FlowSource.of(schema, project=project.key, fields=fields, filters=filters)
    audience, output = FlowAudience(place.role, tuple(place.groups)), Output("dp_high", epsilon=_SMALL)
    return source, audience, output, project.purpose

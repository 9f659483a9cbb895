"""The one check: may this output of this source go to this audience for this purpose?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydplib.errors import PolicyError
from pydplib.policy.labels import LABEL_WORDS, OutputLabel, is_within, parse_label
from pydplib.policy.policy import Policy
from pydplib.policy.roles import parse_role
from pydplib.policy.rules import ALL, ANY, PolicyRule
from pydplib.schema import Schema


@dataclass(frozen=True, slots=True)
class FlowSource:
    """What an output is made from.

    Args:
        project: The project that holds the data.
        fields: The fields that the output is about.
        filters: The fields that its conditions use.
        identifiers: Those fields of the project that identify a person.
        computed: Computed column -> the fields that it is computed from. A row that opens all of these opens the column
            too; a row that names the column opens it alone.

    Examples:
        >>> FlowSource("pirads", fields=["age"]).fields == frozenset(["age"])
        True
    """

    project: str
    fields: frozenset[str] = frozenset()
    filters: frozenset[str] = frozenset()
    identifiers: frozenset[str] = frozenset()
    computed: tuple[tuple[str, frozenset[str]], ...] = ()

    def __init__(
        self,
        project: str,
        *,
        fields: Iterable[str] = (),
        filters: Iterable[str] = (),
        identifiers: Iterable[str] = (),
        computed: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        for name, value in (
            ("project", project),
            ("fields", frozenset(fields)),
            ("filters", frozenset(filters)),
            ("identifiers", frozenset(identifiers)),
            ("computed", tuple((name, frozenset(inputs)) for name, inputs in sorted((computed or {}).items()))),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, schema: Schema, *, project: str, fields: Iterable[str] = (), filters: Iterable[str] = ()) -> FlowSource:
        """Return a source whose identifiers are those that the schema declares, and the person column."""
        identifiers = {name for name, column in schema.columns.items() if column.label == "identifier"}
        if schema.person:
            identifiers.add(schema.person)
        computed = {name: formula.columns for name, formula in schema.formulas.items() if formula.columns}
        return cls(project, fields=fields, filters=filters, identifiers=identifiers, computed=computed)


@dataclass(frozen=True, slots=True)
class FlowAudience:
    """Who would get it.

    Args:
        role: The role in the project.
        groups: The groups that it belongs to.
    """

    role: str
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", parse_role(self.role).name)


@dataclass(frozen=True, slots=True)
class Output:
    """What would leave.

    Args:
        label: How much it gives away.
        epsilon: What it costs, if it is differentially private.
        paper_mode: Whether it is paper-mode data, which carry no guarantee.
        synthetic: Whether it is a synthetic table.
    """

    label: OutputLabel
    epsilon: float | None = None
    paper_mode: bool = False
    synthetic: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", parse_label(self.label))


@dataclass(frozen=True, slots=True)
class Decision:
    """Yes or no, the reason in one sentence, and the row that decided.

    Args:
        allow: Whether it may flow.
        reason: Why, for readers.
        policy: The row that allowed it, or the nearest one that did not; none if no row is about the audience.
    """

    allow: bool
    reason: str
    policy: PolicyRule | None = None

    def __bool__(self) -> bool:
        return self.allow


def may_flow(
    source: FlowSource, audience: FlowAudience, output: Output, purpose: str, *, policy: Policy, on: dt.date
) -> Decision:
    """Return whether ``output`` of ``source`` may go to ``audience`` for ``purpose``. Denied unless a row allows it.

    Args:
        source: What it is made from.
        audience: Who would get it.
        output: What would leave.
        purpose: What for.
        policy: The rows.
        on: Today; a row holds up to and including its last day.

    Examples:
        >>> import datetime as dt
        >>> today = dt.date(2026, 1, 1)
        >>> partner, ages = FlowAudience("third_party"), FlowSource("pirads", fields=["age"])
        >>> bool(may_flow(ages, partner, Output("dp_high", epsilon=0.2), "research", policy=Policy(), on=today))
        True
        >>> may_flow(ages, partner, Output("raw"), "research", policy=Policy(), on=today).reason
        "Denied: 'third_party' may get statistics with much noise at most, asked raw rows."
    """
    rules = _rules_for(source, audience, policy)
    if not rules:
        return Decision(False, f"Denied: no rule mentions '{audience.role}' in this project; the default is no.")
    nearest: tuple[int, str, PolicyRule] | None = None
    for rule in rules:
        passed, reason = _judge(rule, source, audience, output, purpose, on)
        if reason is None:
            return Decision(True, f"Allowed: a rule for '{rule.audience}' permits {LABEL_WORDS[output.label]}.", rule)
        if nearest is None or passed > nearest[0]:
            nearest = (passed, reason, rule)
    assert nearest is not None
    return Decision(False, f"Denied: {nearest[1]}", nearest[2])


def can_flow(
    source: FlowSource, audience: FlowAudience, output: Output, purpose: str, *, policy: Policy, on: dt.date
) -> bool:
    """Return whether ``may_flow`` allows it."""
    return may_flow(source, audience, output, purpose, policy=policy, on=on).allow


def check_flow(
    source: FlowSource, audience: FlowAudience, output: Output, purpose: str, *, policy: Policy, on: dt.date
) -> Decision:
    """Return the decision if it is yes; raise ``PolicyError`` with the reason if it is no."""
    decision = may_flow(source, audience, output, purpose, policy=policy, on=on)
    if not decision:
        raise PolicyError(f"{decision.reason} Ask the owner of the data to change the policy, or ask for less.")
    return decision


def open_names(
    source: FlowSource, audience: FlowAudience, output: Output, purpose: str, *, policy: Policy, on: dt.date
) -> tuple[frozenset[str], frozenset[str]]:
    """Return those of a source's fields, and those of its filters, that ``may_flow`` allows one at a time.

    The same answer as one ``may_flow`` per name, from one look at the rules: for forms that list what is open. Two
    names that two different rules open may still be closed together.

    Examples:
        >>> import datetime as dt
        >>> source = FlowSource("pirads", fields=["age", "patient_id"], filters=["age"], identifiers=["patient_id"])
        >>> who, what = FlowAudience("third_party"), Output("dp_high", epsilon=0.2)
        >>> fields, filters = open_names(source, who, what, "research", policy=Policy(), on=dt.date(2026, 1, 1))
        >>> sorted(fields), sorted(filters)
        (['age'], ['age'])
    """
    bare = FlowSource(source.project)
    rules = [
        rule
        for rule in _rules_for(source, audience, policy)
        if _judge(rule, bare, audience, output, purpose, on)[1] is None
    ]

    def opened(names: frozenset[str], which: Literal["fields", "filters"]) -> frozenset[str]:
        inside = (names - _beyond(names, getattr(rule, which), source, output) for rule in rules)
        return frozenset[str]().union(*inside) - _identifying(names, source, output)

    return opened(source.fields, "fields"), opened(source.filters, "filters")


def _rules_for(source: FlowSource, audience: FlowAudience, policy: Policy) -> list[PolicyRule]:
    """Return the rows that mention an audience in the project of a source."""
    return [
        rule
        for rule in policy.rules
        if rule.is_for(audience.role, audience.groups) and rule.project in (ANY, source.project)
    ]


def _judge(
    rule: PolicyRule, source: FlowSource, audience: FlowAudience, output: Output, purpose: str, on: dt.date
) -> tuple[int, str | None]:
    """Return how many checks passed and why the next one failed; none if all passed."""
    who = f"'{audience.role}'"
    checks: list[tuple[bool, str]] = [
        (rule.expires is None or on <= rule.expires, f"the rule for {who} expired on {rule.expires}."),
        (rule.purpose in (ANY, purpose), f"the rule for {who} is for the purpose '{rule.purpose}' only."),
        (
            is_within(output.label, rule.label),
            f"{who} may get {LABEL_WORDS[rule.label]} at most, asked {LABEL_WORDS[output.label]}.",
        ),
        (
            not output.paper_mode or rule.paper_mode,
            f"paper-mode data carry no guarantee, and the owner has not switched them on for {who}.",
        ),
        (
            not output.synthetic or rule.synthetic,
            f"the owner has not switched on synthetic tables for {who}.",
        ),
        *_field_checks(rule, source, output, who),
        *_epsilon_checks(rule, output, who),
    ]
    for passed, (holds, reason) in enumerate(checks):
        if not holds:
            return passed, reason
    return len(checks), None


def _field_checks(rule: PolicyRule, source: FlowSource, output: Output, who: str) -> list[tuple[bool, str]]:
    identifying = _identifying(source.fields | source.filters, source, output)
    checks = [
        (
            not identifying,
            "identifiers are part of no output but raw rows: " + _names(identifying) + ". (Free text is one, unless "
            "the schema gives it another label.)",
        )
    ]
    for what, asked, allowed in (("fields", source.fields, rule.fields), ("filters", source.filters, rule.filters)):
        beyond = _beyond(asked, allowed, source, output)
        checks.append((not beyond, f"the rule for {who} does not open the {what} {_names(beyond)}."))
    return checks


def _identifying(names: frozenset[str], source: FlowSource, output: Output) -> frozenset[str]:
    """Return those names that this output may not use because they identify a person."""
    return frozenset[str]() if output.label in ("raw", "public") else names & source.identifiers


def _beyond(names: frozenset[str], allowed: tuple[str, ...], source: FlowSource, output: Output) -> frozenset[str]:
    """Return those names that a row does not open to this output; what is public uses none that could be closed.

    A computed column is open where all that it is computed from is, and where the row names it.
    """
    if output.label == "public" or allowed == ALL:
        return frozenset[str]()
    opened = set(allowed)
    opened |= {name for name, inputs in source.computed if inputs <= opened}
    return names - opened


def _epsilon_checks(rule: PolicyRule, output: Output, who: str) -> list[tuple[bool, str]]:
    if not output.label.startswith("dp_") or output.paper_mode:
        return []
    cap = rule.epsilon_per_question
    return [
        (output.epsilon is not None, "a differentially private output must say its epsilon; there is no default."),
        (
            cap is None or output.epsilon is None or output.epsilon <= cap,
            f"one question of {who} may cost epsilon {cap} at most, asked {output.epsilon}.",
        ),
    ]


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))

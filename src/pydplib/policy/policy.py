"""A whole policy: its rows, the data set's budget and delta; defaults that the owner may change."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from pydplib._shown import Shown
from pydplib.errors import ParameterError, PolicyError, did_you_mean
from pydplib.guarantee import ApproxDP
from pydplib.policy.labels import OutputLabel, is_within, label_of_noise_factor
from pydplib.policy.noise_factors import NOISE_FACTORS, NoiseFactor
from pydplib.policy.roles import parse_role
from pydplib.policy.rules import ALL, ANY, PolicyRule


@dataclass(frozen=True, slots=True)
class DefaultBudget:
    """What a kind of recipient may learn until the owner says otherwise.

    Args:
        per_question: Epsilon of one question.
        total: Epsilon of all of one recipient's questions together.
        why: What the numbers rest on.
    """

    per_question: float
    total: float
    why: str


DEFAULT_BUDGETS: Mapping[str, DefaultBudget] = MappingProxyType(
    {
        "collaborator": DefaultBudget(2.0, 4.0, "bound by an agreement and known by name"),
        "third_party": DefaultBudget(1.0, 2.0, "bound by the platform's terms alone"),
        "public": DefaultBudget(0.1, 0.1, "anybody, for ever: nothing can be taken back"),
    }
)
"""The one table of default budgets: the default policy and the limits of the attacks are made of it."""

DATA_SET_BUDGET = 8.0
"""What all recipients together may learn until the owner says otherwise: two collaborators, or four third parties."""


def _partner(role: str, label: OutputLabel) -> PolicyRule:
    terms = DEFAULT_BUDGETS[role]
    return PolicyRule(role, label, fields=ALL, filters=ALL, epsilon_per_question=terms.per_question, budget=terms.total)


DEFAULT_RULES: tuple[PolicyRule, ...] = (
    PolicyRule("owner", "raw", fields=ALL, filters=ALL, paper_mode=True),
    _partner("collaborator", "dp_medium"),
    _partner("third_party", "dp_high"),
    PolicyRule("radiologist", "public"),
    PolicyRule("data_protection_officer", "public"),
)
"""What holds until the owner says otherwise."""

_LEAST_DELTA = 1e-15


@dataclass(frozen=True, slots=True)
class Terms:
    """What a role gets: its noise, the cap per question and the budgets.

    Args:
        noise_factor: The noise factor of the role.
        epsilon_cap: The most epsilon of one question; none for no cap.
        budget: The budget of one recipient; none for no budget but the data set's.
        data_set_budget: The budget of all recipients together.
    """

    noise_factor: NoiseFactor
    epsilon_cap: float | None
    budget: ApproxDP | None
    data_set_budget: ApproxDP

    @property
    def own(self) -> ApproxDP:
        """What one recipient may spend in total: the role's budget, or without one the data set's."""
        return self.budget or self.data_set_budget


@dataclass(frozen=True, slots=True, repr=False)
class Policy(Shown):
    """All rows, and what all recipients together may get.

    Args:
        rules: The rows; what none of them allows is denied.
        data_set_budget: The epsilon of all recipients together: the only protection against collusion.
        delta: The chance that a guarantee may fail.

    Examples:
        >>> policy = Policy()
        >>> terms = policy.terms("third_party", n=920)
        >>> terms.noise_factor.name, terms.epsilon_cap, terms.budget.epsilon, terms.data_set_budget.epsilon
        ('high', 1.0, 2.0, 8.0)
        >>> Policy.from_dict(policy.to_dict()) == policy
        True
    """

    rules: tuple[PolicyRule, ...] = DEFAULT_RULES
    data_set_budget: float = DATA_SET_BUDGET
    delta: float = 1e-6

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        ApproxDP(self.data_set_budget, self.delta)  # raises if one of them is out of range

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]], data_set_budget: float, delta: float) -> Policy:
        """Return the policy of rows as a database keeps them: what each says, by the names of ``PolicyRule``."""
        return cls(tuple(PolicyRule(**row) for row in rows), data_set_budget, delta)

    def __str__(self) -> str:
        lines = [f"Policy: epsilon {self.data_set_budget:g} for all recipients together, delta {self.delta:g}"]
        for rule in self.rules:
            cap, budget = rule.epsilon_per_question, rule.budget
            told = [
                "" if cap is None else f"epsilon {cap:g} per question",
                "" if budget is None else f"{budget:g} in total",
                "" if rule.expires is None else f"until {rule.expires}",
            ]
            lines.append(f"  {rule.audience}  {rule.label}  {', '.join(part for part in told if part)}".rstrip())
        return "\n".join(lines)

    def delta_for(self, n: int | None) -> float:
        """Return the delta for a declared public size: 1/n^2 where that is smaller, but 1e-15 is small enough.

        Args:
            n: The size that the schema declares public, or none. Never the exact number of rows.

        Examples:
            >>> Policy().delta_for(None), Policy().delta_for(10_000)
            (1e-06, 1e-08)
        """
        if n is None or n < 1:
            return self.delta
        # Ledgers count delta in steps of 1e-18, and a release takes a part of it: 1/n^2 must not fall below them.
        return min(self.delta, max(1 / n**2, _LEAST_DELTA))

    def terms(
        self,
        role: object,
        *,
        groups: tuple[str, ...] = (),
        project: str = ANY,
        n: int | None = None,
        on: dt.date | None = None,
    ) -> Terms:
        """Return what a role gets; where several rows are about it, the strictest number counts.

        Args:
            role: The recipient's role.
            groups: The groups it belongs to.
            project: The project that is asked.
            n: The declared public size, or none.
            on: The day, to leave out rows that have expired; none counts all rows.
        """
        who = parse_role(role)
        rules = [
            rule
            for rule in self.rules
            if rule.is_for(who.name, groups)
            and rule.project in (ANY, project)
            and (on is None or rule.expires is None or on <= rule.expires)
        ]
        if who.noise_factor is None or not rules:
            raise PolicyError(
                f"No rule of the policy lets '{who.name}' ask statistics. The owner adds a rule or gives another role."
            )
        whole = self.shared_budget(n)
        cap = min((rule.epsilon_per_question for rule in rules if rule.epsilon_per_question), default=None)
        budget = min((rule.budget for rule in rules if rule.budget), default=None)
        return Terms(
            who.noise_factor,
            cap,
            None if budget is None else ApproxDP(budget, whole.delta),
            whole,
        )

    def shared_budget(self, n: int | None) -> ApproxDP:
        """Return the budget of all recipients together, for a declared public size or none."""
        return ApproxDP(self.data_set_budget, self.delta_for(n))

    def label_of_epsilon(self, epsilon: float) -> OutputLabel:
        """Return the label of a release whose epsilon was given as a number, by the caps of the three audiences.

        A row that lets an audience's label through and has no cap takes any epsilon.

        Examples:
            >>> Policy().label_of_epsilon(0.2), Policy().label_of_epsilon(1.5), Policy().label_of_epsilon(3)
            ('dp_high', 'dp_medium', 'dp_low')
        """
        for factor in sorted(NOISE_FACTORS.values(), key=lambda factor: -factor.number):
            label = label_of_noise_factor(factor)
            rules = [rule for rule in self.rules if rule.audience == factor.role]
            caps = [rule.epsilon_per_question for rule in rules if rule.epsilon_per_question is not None]
            fits = epsilon <= min(caps) if caps else any(is_within(label, rule.label) for rule in rules)
            if fits:
                return label
        return "dp_low"

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain values, as in TOML or JSON."""
        return {
            "data_set_budget": self.data_set_budget,
            "delta": self.delta,
            "rules": [rule.to_dict() for rule in self.rules],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Policy:
        """Make a policy from plain values; reading the file is the caller's.

        Without ``rules`` the default rows hold; an empty list denies everything.
        """
        known = ("data_set_budget", "delta", "rules")
        for name in values:
            if name not in known:
                raise ParameterError(f"A policy has no '{name}'.{did_you_mean(name, known)}")
        plain = dict(values)
        if "rules" in plain:
            if not isinstance(plain["rules"], list | tuple):
                raise ParameterError("The rules of a policy are a list of rows ([[rules]] in TOML).")
            plain["rules"] = tuple(PolicyRule.from_dict(row) for row in plain["rules"])
        return cls(**plain)


def settle_epsilon(
    band_epsilon: float, cap: float | None, *, on_conflict: Literal["privacy", "refuse"] = "privacy"
) -> tuple[float, bool]:
    """Return the epsilon that is really used and whether the cap lowered it: min(band, cap).

    Args:
        band_epsilon: What the noise band would need.
        cap: The role's most epsilon per question; none for no cap.
        on_conflict: ``"privacy"``: more noise than the band says, and reported; ``"refuse"``: an error.

    Examples:
        >>> settle_epsilon(1.2, 0.5), settle_epsilon(0.29, 0.5)
        ((0.5, True), (0.29, False))
    """
    if on_conflict not in ("privacy", "refuse"):
        raise ParameterError(f"Unknown on_conflict '{on_conflict}'.{did_you_mean(on_conflict, ['privacy', 'refuse'])}")
    if not (math.isfinite(band_epsilon) and band_epsilon > 0):
        raise ParameterError(f"epsilon must be a positive, finite number. Got {band_epsilon!r}.")
    if cap is None or band_epsilon <= cap:
        return band_epsilon, False
    if on_conflict == "refuse":
        raise PolicyError(
            f"The noise factor would need epsilon {band_epsilon:.4g} for this question; the role's cap is {cap:g} per "
            "question. Ask with wider bins or fewer groups, or accept more noise (on_conflict='privacy')."
        )
    return cap, True


def can_spend(epsilon: float, cap: float | None) -> bool:
    """Return whether one question may cost ``epsilon``."""
    return cap is None or epsilon <= cap


def check_spend(epsilon: float, cap: float | None) -> None:
    """Raise ``PolicyError`` if one question may not cost ``epsilon``."""
    if not can_spend(epsilon, cap):
        raise PolicyError(
            f"One question may cost epsilon {cap:g} at most in this role. Asked: {epsilon:g}. Ask with less epsilon, "
            "or for a wider margin."
        )

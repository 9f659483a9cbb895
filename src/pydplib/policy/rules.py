"""Policy rows: which audience may get which output, of which fields, for which purpose, at which price."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from pydplib.errors import ParameterError, did_you_mean, shown
from pydplib.policy.labels import OutputLabel, parse_label
from pydplib.policy.roles import ROLES

ALL = ("*",)
"""All fields (but identifiers, which only raw rows contain) or all filters."""

ANY = "*"
"""Any project, or any purpose."""

GROUP = "group:"
"""What the audience of a rule starts with if it is a named group and not a role."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One row of the policy. Whatever no row allows is denied.

    Args:
        audience: A role (``"third_party"``) or a group (``"group:acme"``).
        label: The most that it may get.
        fields: The fields that an output may mention; ``("*",)`` for all but identifiers.
        filters: The fields that a condition may use; ``("*",)`` for all but identifiers.
        epsilon_per_question: The most epsilon of one question; none for no cap.
        budget: The epsilon of all questions together; none for no budget of its own.
        expires: The last day on which the row holds; none for no end.
        purpose: What the outputs may be used for; ``"*"`` for any.
        project: The project whose data it opens; ``"*"`` for any.
        paper_mode: Whether data without a guarantee (paper mode) may go there too; the owner's explicit switch.
        synthetic: Whether synthetic tables may be bought, at the price and of the fields that the row opens.

    Examples:
        >>> rule = PolicyRule("third_party", "dp_high", fields=("age", "pirads"), epsilon_per_question=0.5, budget=2)
        >>> PolicyRule.from_dict(rule.to_dict()) == rule
        True
    """

    audience: str
    label: OutputLabel
    _: KW_ONLY
    fields: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    epsilon_per_question: float | None = None
    budget: float | None = None
    expires: dt.date | None = None
    purpose: str = ANY
    project: str = ANY
    paper_mode: bool = False
    synthetic: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", parse_label(self.label))
        role = None if self.audience.startswith(GROUP) else self.audience
        if role is not None and role not in ROLES:
            raise ParameterError(
                f"The audience of a rule is a role or '{GROUP}NAME'. Got '{role}'.{did_you_mean(role, ROLES)}"
            )
        if not self.audience.removeprefix(GROUP).strip():
            raise ParameterError(f"The audience '{GROUP}' needs the name of a group.")
        if self.label == "raw" and (role is None or "see_raw" not in ROLES[role].powers):
            raise ParameterError(
                "Raw rows are for owners, and for radiologists in their department. A rule cannot give them to "
                f"'{self.audience}'."
            )
        for name in ("epsilon_per_question", "budget"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float) or not (0 < value < math.inf)
            ):
                raise ParameterError(f"A rule's {name} must be a positive number, or left out. Got {shown(value)}.")
        for name in ("fields", "filters"):
            values = getattr(self, name)
            if isinstance(values, str) or not all(isinstance(value, str) and value for value in values):
                raise ParameterError(f'A rule\'s {name} are a list of names, or ["*"] for all but identifiers.')
            object.__setattr__(self, name, tuple(values))
        if self.expires is not None and (
            isinstance(self.expires, dt.datetime) or not isinstance(self.expires, dt.date)
        ):
            raise ParameterError("A rule's expires is a date (the last day on which it holds).")

    def is_for(self, role: str, groups: tuple[str, ...] = ()) -> bool:
        """Return whether the row is about this role or one of these groups."""
        return self.audience == role or self.audience in {GROUP + group for group in groups}

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values, as in TOML or JSON; what is not set is left out."""
        values: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None or (isinstance(item.default, bool) and value == item.default):
                continue
            if isinstance(value, dt.date):
                value = value.isoformat()
            values[item.name] = list(value) if isinstance(value, tuple) else value
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PolicyRule:
        """Make a row from plain values; an unknown or missing key is an error."""
        known = [item.name for item in fields(cls)]
        for name in values:
            if name not in known:
                raise ParameterError(f"A rule has no '{name}'.{did_you_mean(name, known)}")
        for name in ("audience", "label"):
            if name not in values:
                raise ParameterError(f"A rule needs '{name}'.")
        plain = dict(values)
        if isinstance(plain.get("expires"), str):
            try:
                plain["expires"] = dt.date.fromisoformat(plain["expires"])
            except ValueError:
                raise ParameterError("A rule's expires is a date such as 2027-12-31.") from None
        return cls(**plain)

"""The policy in words: rows, audiences, requests and decisions for readers, without codes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils import timezone

from pydplib.attack.bounds import most_success
from pydplib.policy import ALL, ANY, GROUP, LABEL_WORDS, ROLES, PolicyRule

if TYPE_CHECKING:
    from pydplib.web.projects.models import AccessRequest

DASHBOARD = "dashboard:"
"""How the account of an audience's dashboards begins, in the ledger and in requests: ``dashboard:third_party``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWords:
    """One row of the matrix as a reader sees it."""

    who: str
    gets: str
    fields: str
    filters: str
    per_question: str
    budget: str
    until: str
    purpose: str
    paper_mode: str
    synthetic: str
    expired: bool


def audience_words(audience: str) -> str:
    """Return an audience for readers.

    Examples:
        >>> audience_words("third_party"), audience_words("group:acme"), audience_words("*")
        ('Third party', 'Group acme', 'All recipients together')
    """
    if audience == ANY:
        return "All recipients together"
    if audience.startswith(DASHBOARD):
        return f"Dashboards for {audience_words(audience.removeprefix(DASHBOARD)).lower()}"
    if audience.startswith(GROUP):
        return f"Group {audience.removeprefix(GROUP)}"
    return ROLES[audience].title if audience in ROLES else audience


def row_words(rule: PolicyRule, titles: Mapping[str, str]) -> RowWords:
    """Return a row in words; ``titles`` names the fields."""
    asks = rule.label != "public"
    limits = asks or rule.budget is not None
    return RowWords(
        who=audience_words(rule.audience),
        gets=LABEL_WORDS[rule.label].capitalize(),
        fields=_names(rule.fields, titles) if asks else "None",
        filters=_names(rule.filters, titles) if asks else "None",
        per_question=_number(rule.epsilon_per_question, "a question", "Any question") if asks else "–",
        budget=_number(rule.budget, "in total", "No limit in total") if limits else "",
        until="No end" if rule.expires is None else f"Until {rule.expires:%-d %B %Y}",
        purpose="Any purpose" if rule.purpose == ANY else f"For: {rule.purpose}",
        paper_mode="Paper mode allowed" if rule.paper_mode else "No paper mode",
        synthetic=("Synthetic tables" if rule.synthetic else "No synthetic tables") if asks else "",
        expired=rule.expires is not None and timezone.localdate() > rule.expires,
    )


def request_words(request: AccessRequest, titles: Mapping[str, str]) -> str:
    """Return what a request asks for, in one sentence."""
    asked = request.asked
    who = audience_words(request.beneficiary)
    if request.kind == "budget":
        return f"{who}: budget from {asked['from']:g} to {asked['budget']:g}"
    if request.kind == "fields":
        also = ", also in conditions" if asked.get("conditions") else ""
        return f"{who}: open {_names(asked['fields'], titles)}{also}"
    who = request.beneficiary if asked.get("proposal") else str(request.by)
    parts = []
    if asked["role"] != asked["from"]:
        parts.append(f"from {audience_words(asked['from']).lower()} to {audience_words(asked['role']).lower()}")
    before, after = set(asked.get("from_groups", ())), set(asked.get("groups", ()))
    parts += [f"out of group {name}" for name in sorted(before - after)]
    parts += [f"into group {name}" for name in sorted(after - before)]
    return f"{who}: {', '.join(parts)}"


def raise_meaning(before: float, after: float) -> str:
    """Return what a larger budget means for a person in the data, rounded up.

    Examples:
        >>> raise_meaning(2, 3).split(": ")[1]
        'at most 88.1 % today, at most 95.3 % then. A coin is right in 50 %.'
    """

    def most(epsilon: float) -> str:
        tenths = math.ceil(1000 * most_success(epsilon) - 1e-9)
        return f"at most {tenths / 10:g} %" if tenths < 1000 else "more than 99.9 %"

    return (
        "How often the best guess whether a person is in the data can be right, whatever else somebody knows: "
        f"{most(before)} today, {most(after)} then. A coin is right in 50 %."
    )


def request_meaning(request: AccessRequest) -> str:
    """Return what a request means for the people in the data, if it raises a budget; else nothing."""
    asked, project = request.asked, request.project
    if request.kind == "budget":
        return raise_meaning(asked["from"], asked["budget"])
    if request.kind != "role":
        return ""
    budgets = {row.audience: row.budget for row in project.rules.all()}
    before, after = (budgets.get(asked[name]) for name in ("from", "role"))
    return raise_meaning(before, after) if before and after and after > before else ""


def plain(reason: str) -> str:
    """Return a decision's reason with words in place of codes.

    Examples:
        >>> plain("Denied: 'third_party' may get public facts only at most, asked raw rows.")
        'Denied: third party may get public facts only at most, asked raw rows.'
    """
    for name, role in ROLES.items():
        reason = reason.replace(f"'{name}'", role.title.lower())
    return re.sub(rf"'{GROUP}([^']+)'", r"group \1", reason)


def _names(names: Iterable[str], titles: Mapping[str, str]) -> str:
    listed = tuple(names)
    if listed == ALL:
        return "All but identifiers"
    return ", ".join(titles.get(name, name) for name in listed) or "None"


def _number(value: float | None, unit: str, without: str) -> str:
    return without if value is None else f"ε {value:g} {unit}"

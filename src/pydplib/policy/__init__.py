"""Who may get what: roles, noise factors, output labels, policy rows and the one door, ``may_flow``.

Pure functions over values: nothing here reads a file, a clock or a row of data.
"""

from __future__ import annotations

from pydplib.policy.flow import Audience, Decision, Output, Source, can_flow, check_flow, may_flow
from pydplib.policy.labels import (
    DECLASSIFIERS,
    LABEL_MEANINGS,
    LABEL_WORDS,
    LABELS,
    OutputLabel,
    can_declassify,
    check_declassify,
    is_within,
    join,
    label_of_noise_factor,
    parse_label,
)
from pydplib.policy.noise_factors import NOISE_FACTORS, NoiseFactor, parse_noise_factor
from pydplib.policy.policy import (
    DATA_SET_BUDGET,
    DEFAULT_BUDGETS,
    DEFAULT_RULES,
    DefaultBudget,
    Policy,
    Terms,
    can_spend,
    check_spend,
    settle_epsilon,
)
from pydplib.policy.roles import (
    NEW_MEMBER,
    ROLES,
    Power,
    Role,
    can_edit_rights,
    can_raise_budget,
    can_read_ledger,
    can_use,
    check_edit_rights,
    check_raise_budget,
    check_read_ledger,
    check_use,
    parse_role,
)
from pydplib.policy.rules import ALL, ANY, GROUP, PolicyRule

__all__ = [
    "ALL",
    "ANY",
    "DATA_SET_BUDGET",
    "DECLASSIFIERS",
    "DEFAULT_BUDGETS",
    "DEFAULT_RULES",
    "GROUP",
    "LABELS",
    "LABEL_MEANINGS",
    "LABEL_WORDS",
    "NEW_MEMBER",
    "NOISE_FACTORS",
    "ROLES",
    "Audience",
    "Decision",
    "DefaultBudget",
    "NoiseFactor",
    "Output",
    "OutputLabel",
    "Policy",
    "PolicyRule",
    "Power",
    "Role",
    "Source",
    "Terms",
    "can_declassify",
    "can_edit_rights",
    "can_flow",
    "can_raise_budget",
    "can_read_ledger",
    "can_spend",
    "can_use",
    "check_declassify",
    "check_edit_rights",
    "check_flow",
    "check_raise_budget",
    "check_read_ledger",
    "check_spend",
    "check_use",
    "is_within",
    "join",
    "label_of_noise_factor",
    "may_flow",
    "parse_label",
    "parse_noise_factor",
    "parse_role",
    "settle_epsilon",
]

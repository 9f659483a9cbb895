"""Roles: data with a description that users read, and what each may do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from pydplib.errors import ParameterError, PolicyError, did_you_mean, shown
from pydplib.policy.labels import OutputLabel
from pydplib.policy.noise_factors import NOISE_FACTORS, NoiseFactor

Power: TypeAlias = Literal[
    "ask",
    "capture",
    "decide_requests",
    "edit_policy",
    "edit_templates",
    "erase",
    "import_records",
    "make_request",
    "manage_data",
    "read_all_ledgers",
    "read_log",
    "read_project",
    "read_templates",
    "see_raw",
]
"""What a role may do besides getting outputs.

ask: questions for statistics; capture: write and sign reports; decide_requests: approve or refuse what others ask for;
edit_policy: rules, members and budgets; edit_templates: new versions of a report template; erase: take a patient out,
and what the law asks around it; import_records: bring in files; make_request: ask the owner for more; manage_data:
versions, snapshots and data quality of the whole project; read_all_ledgers, read_log: what others were given and did;
read_project: what the project is for, and one's own role in it; read_templates: what a report asks; see_raw: rows.
"""


_POWER_WORDS: Mapping[Power, str] = MappingProxyType(
    {
        "ask": "ask for statistics",
        "capture": "write reports",
        "decide_requests": "decide on requests",
        "edit_policy": "change policy, members and budgets",
        "edit_templates": "change templates",
        "erase": "see to the rights of patients",
        "import_records": "import records",
        "make_request": "send requests to the owners",
        "manage_data": "manage data and snapshots",
        "read_all_ledgers": "read the ledgers of others",
        "read_log": "read the audit log",
        "read_project": "read what the project is for",
        "read_templates": "read templates",
        "see_raw": "see raw rows",
    }
)
"""Each power in the words of a refusal."""


Tone: TypeAlias = Literal["neutral", "info", "good", "warning"]
"""The family of a colour."""


@dataclass(frozen=True, slots=True)
class Role:
    """Who somebody is to the data.

    Args:
        name: The word in code and policies.
        title: The word for readers.
        description: What this role is and may do, for readers.
        noise_factor: The noise that it gets; none for roles that do not ask.
        label: The most that it gets unless the owner says otherwise.
        powers: What it may do.
        icon: The name of its icon, for whoever draws it.
        tone: The family of its colour: ``"neutral"``, ``"info"``, ``"good"``, ``"warning"``.

    Examples:
        >>> ROLES["third_party"].noise_factor.name, ROLES["third_party"].label
        ('high', 'dp_high')
    """

    name: str
    title: str
    _: KW_ONLY
    description: str
    noise_factor: NoiseFactor | None
    label: OutputLabel
    powers: frozenset[Power]
    icon: str = "user"
    tone: Tone = "neutral"

    def __str__(self) -> str:
        return self.title


ROLES: Mapping[str, Role] = MappingProxyType(
    {
        role.name: role
        for role in (
            Role(
                "owner",
                "Data owner",
                description="Holds the data and answers for them: sees raw rows, decides the policy and the budgets. "
                "Every look is logged.",
                noise_factor=NOISE_FACTORS["low"],
                label="raw",
                powers=frozenset(get_args(Power)) - {"make_request"},
                icon="key-round",
                tone="info",
            ),
            Role(
                "collaborator",
                "Collaborator",
                description="Works with the owner on a shared question: gets statistics with medium noise, within a "
                "budget.",
                noise_factor=NOISE_FACTORS["medium"],
                label="dp_medium",
                powers=frozenset(["ask", "make_request", "read_project", "read_templates"]),
                icon="handshake",
                tone="good",
            ),
            Role(
                "third_party",
                "Third party",
                description="Anybody else, such as a company: gets statistics with much noise, within a small budget. "
                "New members start here.",
                noise_factor=NOISE_FACTORS["high"],
                label="dp_high",
                powers=frozenset(["ask", "make_request", "read_project"]),
                icon="building-2",
                tone="warning",
            ),
            Role(
                "radiologist",
                "Radiologist",
                description="Writes and signs reports, and sees those of their own department; asks no statistics.",
                noise_factor=None,
                label="public",
                powers=frozenset(["capture", "import_records", "read_project", "read_templates", "see_raw"]),
                icon="stethoscope",
                tone="info",
            ),
            Role(
                "data_protection_officer",
                "Data protection officer",
                description="Watches over all of it: reads every log and ledger, sees no rows and asks no statistics.",
                noise_factor=None,
                label="public",
                powers=frozenset(["erase", "read_all_ledgers", "read_log", "read_project"]),
                icon="shield-check",
                tone="neutral",
            ),
        )
    }
)
"""All roles by name."""

OWNER = "owner"
"""The role of whoever makes a project."""

NEW_MEMBER = "third_party"
"""The role in which everybody starts."""

PARTNER_ROLES: tuple[str, ...] = tuple(
    role.name for role in ROLES.values() if "ask" in role.powers and "see_raw" not in role.powers
)
"""The roles of those who ask and do not hold the data."""


def parse_role(role: object) -> Role:
    """Return the role for a word.

    Examples:
        >>> parse_role("third party").title
        'Third party'
    """
    if isinstance(role, Role):
        return role
    word = str(role).strip().lower().replace(" ", "_").replace("-", "_")
    if word not in ROLES:
        raise ParameterError(f"Unknown role {shown(role)}.{did_you_mean(word, ROLES)}")
    return ROLES[word]


def can_use(role: object, power: Power) -> bool:
    """Return whether a role has a power.

    Examples:
        >>> can_use("radiologist", "capture"), can_use("radiologist", "ask")
        (True, False)
    """
    return power in parse_role(role).powers


def roles_with(power: Power) -> tuple[str, ...]:
    """Return the names of the roles that have a power.

    Examples:
        >>> roles_with("edit_policy")
        ('owner',)
    """
    return tuple(role.name for role in ROLES.values() if power in role.powers)


def check_use(role: object, power: Power) -> None:
    """Raise ``PolicyError`` unless the role has the power."""
    if not can_use(role, power):
        who = sorted(known.title.lower() for known in ROLES.values() if power in known.powers)
        title = parse_role(role).title.lower()
        raise PolicyError(f"As {title} you may not {_POWER_WORDS[power]}; this is for: {', '.join(who)}.")


def can_read_ledger(role: object, *, own: bool) -> bool:
    """Return whether a role may read a recipient's ledger: everybody their own one, owner and officer all.

    Examples:
        >>> can_read_ledger("third_party", own=True), can_read_ledger("third_party", own=False)
        (True, False)
    """
    return own or can_use(role, "read_all_ledgers")


def check_read_ledger(role: object, *, own: bool) -> None:
    """Raise ``PolicyError`` unless ``can_read_ledger``."""
    if not can_read_ledger(role, own=own):
        raise PolicyError(f"The role '{parse_role(role).name}' reads its own ledger only.")


def can_edit_rights(role: object, *, editor: str, subject: str) -> bool:
    """Return whether ``editor`` may change the rights of ``subject``: owners, and nobody their own.

    Examples:
        >>> can_edit_rights("owner", editor="ada", subject="bob"), can_edit_rights("owner", editor="ada", subject="ada")
        (True, False)
    """
    return can_use(role, "edit_policy") and editor != subject


def check_edit_rights(role: object, *, editor: str, subject: str) -> None:
    """Raise ``PolicyError`` unless ``can_edit_rights``."""
    check_use(role, "edit_policy")
    if editor == subject:
        raise PolicyError("Nobody may edit their own rights: ask another owner.")


def can_raise_budget(approvals: Mapping[str, object], *, beneficiary: str) -> bool:
    """Return whether a budget may be raised: two different owners agree, not counting whom it benefits.

    Args:
        approvals: Who agreed, and in which role.
        beneficiary: Whose budget it is.

    Examples:
        >>> can_raise_budget({"ada": "owner", "bob": "owner"}, beneficiary="acme")
        True
    """
    return len(_owners(approvals, beneficiary)) >= 2


def check_raise_budget(approvals: Mapping[str, object], *, beneficiary: str) -> None:
    """Raise ``PolicyError`` unless ``can_raise_budget``."""
    owners = _owners(approvals, beneficiary)
    if len(owners) < 2:
        raise PolicyError(f"Raising a budget takes two owners other than its beneficiary; so far {len(owners)} agreed.")


def _owners(approvals: Mapping[str, object], beneficiary: str) -> Collection[str]:
    return [who for who, role in approvals.items() if can_use(role, "edit_policy") and who != beneficiary]

"""Badges: which word of the product gets which tone and icon, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from pydplib.policy import ROLES

Tone: TypeAlias = Literal["neutral", "info", "good", "warning", "danger"]


@dataclass(frozen=True, slots=True)
class Badge:
    """A short word with a tone; the icon says the same as the colour, for those who cannot tell colours apart.

    Args:
        text: What is shown.
        tone: The colour family.
        icon: A name of the icon sheet, or nothing.
        hint: One sentence, shown on hovering.
    """

    text: str
    tone: Tone = "neutral"
    icon: str = ""
    hint: str = ""


BADGES: Mapping[str, Badge] = MappingProxyType(
    {
        # Roles.
        **{role.name: Badge(role.title, role.tone, role.icon) for role in ROLES.values()},
        # How much an output gives away.
        "raw": Badge("Raw", "danger", "lock-open", "Rows of people, as they were recorded."),
        "k_anonymous": Badge("k-anonymous", "warning", "users", "Nobody can be narrowed down to fewer than k people."),
        "dp_low": Badge("DP, light", "info", "shield", "Differentially private; in the policy: little noise."),
        "dp_medium": Badge("DP, medium", "good", "shield", "Differentially private; in the policy: medium noise."),
        "dp_high": Badge("DP, strong", "good", "shield-check", "Differentially private; in the policy: much noise."),
        # What a field says about a person; "public" is also the freest output.
        "identifier": Badge("Identifier", "danger", "venetian-mask", "Names the person; never leaves the owner."),
        "sensitive": Badge("Sensitive", "warning", "lock", "What must not be learnt about a person."),
        "quasi_identifier": Badge("Quasi-identifier", "info", "tags", "Narrows a person down together with others."),
        "public": Badge("Public", "neutral", "eye", "What everybody may know."),
        # What becomes of reports, requests, imports, releases and analyses.
        "draft": Badge("Draft", "neutral", "pencil"),
        "signed": Badge("Signed", "good", "signature"),
        "corrected": Badge("Corrected", "info", "history"),
        "open": Badge("Open", "info", "inbox"),
        "waiting": Badge("Waiting", "neutral", "hourglass"),
        "approved": Badge("Approved", "good", "circle-check"),
        "refused": Badge("Refused", "danger", "ban"),
        "reserved": Badge("Reserved", "warning", "hourglass"),
        "running": Badge("Running", "info", "refresh-cw"),
        "done": Badge("Done", "good", "circle-check"),
        "failed": Badge("Failed", "danger", "circle-x"),
        "cancelled": Badge("Cancelled", "neutral", "ban"),
        "published": Badge("Published", "good", "check"),
        "retired": Badge("Retired", "neutral", "archive"),
        "active": Badge("Active", "good", "check"),
        "disabled": Badge("Disabled", "neutral", "ban"),
        "expired": Badge("Expired", "neutral", "clock"),
        "locked": Badge("Locked", "warning", "lock"),
        "erased": Badge("Erased", "neutral", "eraser"),
        "withdrawn": Badge("Consent withdrawn", "warning", "ban"),
        "allowed": Badge("Allowed", "good", "check"),
        "denied": Badge("Denied", "danger", "ban"),
        "required": Badge("Required", "warning", "circle-alert"),
        "computed": Badge("Computed", "neutral", "activity"),
        "synthetic": Badge(
            "Synthetic", "neutral", "microscope", "Made up by a generator; none of these people exists."
        ),
        "paper_mode": Badge("Paper mode", "warning", "triangle-alert", "No formal guarantee."),
        "verified": Badge("Verified", "good", "shield-check"),
        "tampered": Badge("Changed since", "danger", "triangle-alert"),
    }
)
"""Every word that has a look of its own."""


_BY_TEXT = {badge.text.lower().replace("-", "_").replace(" ", "_"): key for key, badge in BADGES.items()}


def badge_for(word: object, *, text: str = "", tone: Tone | None = None, icon: str | None = None) -> Badge:
    """Return the badge of a word; an unknown word is shown as it is, in the neutral tone.

    Args:
        word: A role, a label, a state; written with spaces, hyphens or underscores.
        text: Other words to show.
        tone: Another tone.
        icon: Another icon.

    Examples:
        >>> badge_for("third party").text
        'Third party'
        >>> badge_for("PI-RADS 4", tone="warning")
        Badge(text='PI-RADS 4', tone='warning', icon='', hint='')
    """
    key = str(word).strip().lower().replace("-", "_").replace(" ", "_")
    known = BADGES.get(key) or BADGES.get(_BY_TEXT.get(key, "")) or Badge(str(word))
    return Badge(text or known.text, tone or known.tone, known.icon if icon is None else icon, known.hint)

"""The key of a release: what makes two questions the same question."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from pydplib.budget.costs import Cost
from pydplib.errors import ParameterError


def canonical_json(value: Any) -> str:
    """Return JSON that is the same text for the same value: sorted keys, no blanks, no NaN.

    Examples:
        >>> canonical_json({"of": "age", "by": ["pirads"]})
        '{"by":["pirads"],"of":"age"}'
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError(
            "A question is made of plain values: text, finite numbers, true/false, none, lists and mappings of them."
        ) from None


def sha256_hex(content: str | bytes) -> str:
    """Return the SHA-256 of text (as UTF-8) or bytes, in hexadecimal digits."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseKey:
    """Lineage, snapshot, canonical question, mechanism, parameters and cost: the same key, the same answer.

    Args:
        lineage: All tables that may share persons: one budget. New snapshots stay in their lineage.
        snapshot: The published state of the table that is asked.
        question: The question as plain values; conditions and lists already in their normal order.
        cost: What it costs.
        parameters: What else decides the answer: scale, grid, bins, split of epsilon.

    Examples:
        >>> cost = Cost.pure(0.2, mechanism="laplace")
        >>> one = ReleaseKey(lineage="reports", snapshot="2018", question={"ask": "count", "of": "rows"}, cost=cost)
        >>> two = ReleaseKey(lineage="reports", snapshot="2018", question={"of": "rows", "ask": "count"}, cost=cost)
        >>> one.digest == two.digest
        True
    """

    lineage: str
    snapshot: str
    question: Mapping[str, Any]
    cost: Cost
    parameters: Mapping[str, Any] = field(default_factory=dict)
    digest: str = field(default="", init=False, repr=False, compare=False)
    """The SHA-256 of all of it: the name of the release in ledger, cache and receipts."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lineage", check_name("lineage", self.lineage))
        check_name("snapshot", self.snapshot)
        # A copy in plain values: a list that the caller changes later must not change the key.
        object.__setattr__(self, "question", json.loads(canonical_json(dict(self.question))))
        object.__setattr__(self, "parameters", json.loads(canonical_json(dict(self.parameters))))
        object.__setattr__(self, "digest", sha256_hex(self.canonical))

    @property
    def question_json(self) -> str:
        """The question as canonical JSON."""
        return canonical_json(dict(self.question))

    @property
    def question_hash(self) -> str:
        """The SHA-256 of the canonical question."""
        return sha256_hex(self.question_json)

    @property
    def canonical(self) -> str:
        """Everything that the key stands for, as canonical JSON."""
        return canonical_json(
            {
                "cost": self.cost.to_dict(),
                "lineage": self.lineage,
                "parameters": dict(self.parameters),
                "question": dict(self.question),
                "snapshot": self.snapshot,
            }
        )


_IDENTITIES = ("recipient", "lineage")


def check_name(what: str, name: object) -> str:
    """Return ``name`` if it can stand in a ledger: 1 to 200 printable characters, no blanks around.

    Who has a budget is one and the same in any spelling: recipients and lineages come back with small letters, single
    blanks and one form of every accent, so that no variant of a name opens a fresh budget.

    Examples:
        >>> check_name("recipient", "Partner  Clinic"), check_name("snapshot", "2018-Q1")
        ('partner clinic', '2018-Q1')
    """
    if _fits(name):
        found = _folded(name) if what in _IDENTITIES else name
        if _fits(found):
            return found
    raise ParameterError(f"The {what} must be a name of 1 to 200 printable characters without blanks at its ends.")


def _fits(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable() and name == name.strip()


def _folded(name: str) -> str:
    # Twice: folding can make text that composes again, and composing can make text that folds.
    for _ in range(2):
        name = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", name).split())

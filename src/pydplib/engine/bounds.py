"""How much of one person counts: by weights, by one row of each person, or by a keyed sample of rows and groups."""

from __future__ import annotations

import hashlib
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from pydplib.errors import QuestionError, did_you_mean, shown
from pydplib.schema import Schema

Mode: TypeAlias = Literal["weight", "row", "sample"]
"""Weights count every row a little; one row of each person, or a sample of rows, counts wholly."""

WEIGHT_UNIT = 2**16
"""The integer weight of a whole row."""

PRIME = 2**31 - 1
"""The field of the sampling hash: products of two residues fit into 64 signed bits on every engine."""


def fold_text(text: str | bytes) -> int:
    """Fold a text into an integer below 2^28, as the databases' MD5 does. No secret: the polynomial is keyed.

    Examples:
        >>> fold_text("p1") == fold_text(b"p1") < 2**28
        True
    """
    data = text if isinstance(text, bytes) else text.encode()
    return int(hashlib.md5(data, usedforsecurity=False).hexdigest()[:7], 16)


@dataclass(frozen=True, slots=True)
class Bound:
    """How one person's contribution is bounded.

    Args:
        person: The column that says whose row it is; None where every row is another person.
        max_rows: Most rows of a person that count (with ``max_groups``: per group).
        mode: ``"weight"``: a row of a person with c rows weighs min(1, max_rows/c), in units of 2^-16, so
            nothing is thrown away. ``"row"``: one row of each person counts wholly, see ``rule``. ``"sample"``: a
            keyed hash picks whole rows.
        max_groups: Sampling only: most groups of ``by`` that one person may count in.
        row_key: Sampling only: a column that names a row for good (a report id), never a position.
        salt: Sampling only: the key of the hash; the same salt picks the same rows on every engine.
        rule: One row only: ``first`` takes the smallest values of the order columns, ``last`` and ``highest`` take the
            largest; ``any`` is for questions about columns that are the same in all rows of a person.
        order: One row only: the columns that order a person's rows; ``persons`` says how ties are settled.

    Examples:
        >>> Bound("patient_id", 3).scale
        65536
        >>> Bound("patient_id", 1, mode="sample", max_groups=2, salt="2024").scale
        1
    """

    person: str | None
    max_rows: int = 1
    _: KW_ONLY
    mode: Mode = "weight"
    max_groups: int | None = None
    row_key: str | None = None
    salt: str | None = None
    rule: str | None = None
    order: tuple[str, ...] = ()
    scale: int = field(default=1, init=False, repr=False, compare=False)
    """Integer units per whole row: 2^16 with weights; 1 for whole rows, and without a person column."""

    def __post_init__(self) -> None:
        weighs = self.mode == "weight" and self.person is not None
        object.__setattr__(self, "scale", WEIGHT_UNIT if weighs else 1)
        if self.mode not in get_args(Mode):
            raise QuestionError(f"Unknown bound '{self.mode}'.{did_you_mean(self.mode, get_args(Mode))}")
        for name in ("max_rows", "max_groups"):
            value = getattr(self, name)
            if name == "max_groups" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
                raise QuestionError(f"{name} must be a whole number of at least 1. Got {shown(value)}.")
        if self.person is None and (self.mode != "weight" or self.max_rows != 1):
            raise QuestionError("Without a person column every row is another person: Bound(None).")
        if self.mode == "row":
            self._check_row()
        elif self.rule is not None or self.order:
            raise QuestionError("rule and order belong to one row of each person; use Bound(..., mode='row').")
        if self.mode != "sample":
            for name in ("max_groups", "row_key", "salt"):
                if getattr(self, name) is not None:
                    raise QuestionError(f"{name} belongs to sampling; use Bound(..., mode='sample').")
        elif not isinstance(self.salt, str) or not self.salt:
            raise QuestionError("Sampling needs a salt: a secret text, fixed per table, Bound(..., salt='...').")

    def _check_row(self) -> None:
        if self.max_rows != 1:
            raise QuestionError(f"One row of each person counts: max_rows is 1. Got {shown(self.max_rows)}.")
        if self.rule not in ("first", "last", "highest", "any"):
            raise QuestionError("One row of each person needs its rule: rule='first', 'last' or 'highest'.")
        order: Any = self.order
        object.__setattr__(self, "order", (order,) if isinstance(order, str) else tuple(order))
        if bool(self.order) == (self.rule == "any") or len(set(self.order)) != len(self.order):
            raise QuestionError("One row of each person needs its order: order=('day',), each column once.")

    @property
    def is_descending(self) -> bool:
        """Whether the row with the largest values of the order columns counts."""
        return self.rule in ("last", "highest")

    @classmethod
    def from_schema(cls, schema: Schema) -> Bound:
        """Return the default bound of a table: by weights, with the schema's maximum rows per person."""
        if schema.person is None:
            return cls(None)
        return cls(schema.person, schema.max_rows_per_person)

    def coefficients(self, purpose: str) -> tuple[int, int, int, int]:
        """Return the four secret coefficients of the cubic polynomial mod 2^31-1 for one purpose.

        Four independent coefficients make the hash 4-wise independent; a linear one would favour
        some of a person's consecutive ids badly.
        """
        found: list[int] = []
        counter = 0
        while len(found) < 4:
            block = hashlib.sha256(f"{purpose}\0{counter}\0{self.salt}".encode()).digest()
            words = (int.from_bytes(block[i : i + 4], "big") >> 1 for i in range(0, 32, 4))
            found.extend(word for word in words if word < PRIME)
            counter += 1
        return (found[0], found[1], found[2], found[3])

    def to_dict(self) -> dict[str, Any]:
        """Return the bound as plain values; the salt only as a fingerprint, for it is a secret."""
        values: dict[str, Any] = {"person": self.person, "max_rows": self.max_rows, "mode": self.mode}
        if self.mode == "sample":
            values |= {"max_groups": self.max_groups, "row_key": self.row_key}
            values["salt_fingerprint"] = hashlib.sha256(f"fingerprint\0{self.salt}".encode()).hexdigest()[:16]
        if self.mode == "row":
            values |= {"rule": self.rule, "order": list(self.order)}
        return values

    def __repr__(self) -> str:
        parts = [repr(self.person), str(self.max_rows), f"mode={self.mode!r}"]
        parts += [
            f"{n}={getattr(self, n)!r}" for n in ("max_groups", "row_key", "rule") if getattr(self, n) is not None
        ]
        parts += [f"order={self.order!r}"] if self.order else []
        return f"Bound({', '.join(parts)})"

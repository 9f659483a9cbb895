"""Free text, or a name."""

from __future__ import annotations

from dataclasses import dataclass

from pydplib.errors import QuestionError
from pydplib.schema.cells import Scalar, Storage, TextCell
from pydplib.schema.columns.base import Column, Label, Operator


@dataclass(frozen=True, slots=True)
class Text(Column):
    """Free text or a name: can be dropped or replaced by a pseudonym, never released.

    Examples:
        >>> Text().label
        'identifier'
    """

    kind = "text"
    example = "Text()"
    operators = ()
    widget = "none"
    can_be_asked = False
    takes_unknown_keys = True

    label: Label = "identifier"
    title: str = ""

    def __post_init__(self) -> None:
        self._check_words("title")

    @property
    def cell(self) -> TextCell:
        """The text as it stands."""
        return TextCell()

    def canonical(self, name: str, op: Operator, values: tuple[Scalar, ...]) -> tuple[Operator, tuple[Scalar, ...]]:
        """Refuse every condition."""
        raise QuestionError(f"Column '{name}' {self.unreadable('')}")

    def unreadable(self, text: str) -> str:
        """Say that no condition can look at it."""
        return "is free text: no condition can look at it."

    @classmethod
    def propose(cls, storage: Storage, *, few: bool) -> tuple[str, ...] | None:
        """Propose free text for whatever no other kind takes."""
        return cls.entry_lines() if storage in ("text", "unsupported") and not few else None

    @classmethod
    def entry_lines(cls, *, few: bool = False) -> tuple[str, ...]:
        """Return the entry of free text that nobody releases."""
        return (
            'kind = "text"  # free text: never released',
            '# label = "quasi"  # then it can stand after "by", with --delta: values that many people have are shown',
        )

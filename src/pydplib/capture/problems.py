"""What is wrong with a template or with an answer, as a value that never quotes the answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Where an answer stands: ids, and numbers of repetitions counted from 0: ``("lesion", 1, "size")``."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        code: Which rule, in one word that does not change between versions.
        item: The id of the item it is about; empty for the whole.
        message: What is wrong and how to mend it, in plain words; never the answer itself.
        path: Where the answer stands; empty for problems of a template.
        severity: ``error`` stops signing or import, ``warning`` asks for a second look.

    Examples:
        >>> Problem("required", "size", "Size is missing.", ("lesion", 1, "size")).place
        'lesion 2, size'
    """

    code: str
    item: str
    message: str
    path: Path = ()
    severity: Literal["error", "warning"] = "error"

    @property
    def place(self) -> str:
        """The path in words, repetitions counted from 1 as people do."""
        words: list[str] = []
        for step in self.path:
            if isinstance(step, int) and words:
                words[-1] += f" {step + 1}"
            else:
                words.append(str(step))
        return ", ".join(words)


def errors_of(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems that stop signing or import."""
    return tuple(problem for problem in problems if problem.severity == "error")


def shorten(text: object, most: int = 60) -> str:
    """Make a foreign name fit for a message: one line, printable, not long."""
    clean = "".join(c if c.isprintable() else "?" for c in str(text))
    return clean if len(clean) <= most else clean[: most - 1] + "…"

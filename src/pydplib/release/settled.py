"""An epsilon that was agreed on, and how a refusal is told where the number of rows was bought on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from pydplib.errors import BudgetError, PolicyError
from pydplib.policy import OutputLabel

MATCHING = (
    "The noise factor speaks of the whole table. How many rows meet the conditions is not public: with fewer rows "
    "the noise weighs more."
)


@dataclass(frozen=True, slots=True)
class Settled:
    """An epsilon that was agreed: by number, margin or noise factor.

    Args:
        epsilon: The privacy loss.
        label: The label of the output.
        size: The number of rows as far as the recipient knows it.
        at_most: Whether the true price may be lower.
        notes: What else to know.
        remarks: What was bought along just now, in words.
    """

    epsilon: Fraction
    label: OutputLabel
    size: float | None
    at_most: bool = False
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@contextmanager
def telling(bought: tuple[str, ...]) -> Iterator[None]:
    """Let a refusal say what was paid before it came: the number of rows, where it was bought in the same breath."""
    try:
        yield
    except (BudgetError, PolicyError) as refusal:
        if not bought:
            raise
        words = f"{str(refusal).replace(' Nothing was spent.', ' Nothing else was spent.')} {' '.join(bought)}"
        if isinstance(refusal, BudgetError):
            raise BudgetError(words, asked=refusal.asked, left=refusal.left) from None
        raise PolicyError(words) from None

"""The most frequent values of a column, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pydplib.engine import ExactTable
from pydplib.engine.plan import WHOLE_LIMIT
from pydplib.errors import QuestionError
from pydplib.noise.tap import flip_and_choose
from pydplib.release.results.axes import Axis
from pydplib.release.statistics.histogram import BIN_PARTS
from pydplib.release.statistics.mode import Mode, ModeNoise
from pydplib.release.statistics.noise import COVERAGE, Integers, Noisy
from pydplib.release.statistics.question import Part, Words, statistic
from pydplib.schema import Schema

if TYPE_CHECKING:
    from pydplib.release.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class TopNoise(ModeNoise):
    """The most frequent values one after the other: each by permute-and-flip among those that are left.

    Proof: every choice is one of ``ModeNoise`` at epsilon / places, of counts that move one way with one person; which
    values are left follows from earlier choices alone. Choices add up (sequential composition): epsilon together.

    Examples:
        >>> noise = TopNoise(1, 1, 4, Fraction(9), places=2)
        >>> noise.apply(np.array([[9, 0, 90, 40]])).values.tolist()
        [2, 3]
    """

    places: int = 1

    @property
    def unit(self) -> Fraction:
        """How much one unit of a count weighs in each choice."""
        return self.epsilon / self.places / self.sensitivity

    def reach(self) -> tuple[float, float]:
        """Return the rows by which the odds of a value fall by the factor e, and the most that one person moves."""
        return float(self.rows * self.places / self.epsilon), float(self.rows)

    def apply(self, counts: Integers, *, confidence: float = COVERAGE) -> Noisy:
        """Return the places of the chosen values, the most frequent first."""
        scores = np.clip(counts.ravel(), 0, WHOLE_LIMIT - 1).astype(np.int64)
        left, chosen = list(range(scores.size)), []
        for _ in range(self.places):
            place = flip_and_choose(scores[left], self.unit, sensitivity=self.sensitivity, monotone=True)
            chosen.append(left.pop(place))
        return Noisy(np.array(chosen, dtype=np.int64), margins=np.full(len(chosen), self.margin(confidence)))


@statistic(
    "top",
    aliases=("most frequent values",),
    title="The most frequent values, in order",
    hint="The values that most records have, the most frequent first.",
    example="top pirads places 3",
    picture="choices",
    about="all",
    is_binned=True,
    most_groups=0,
    api_groups=(0, 0),
    parts=(
        *BIN_PARTS,
        Part(
            name="places",
            kind="whole",
            label="How many values?",
            form="places",
            word="places",
            default=3,
            help="More places share the same privacy loss.",
        ),
    ),
)
@dataclass(frozen=True, repr=False)
class Top(Mode):
    """The most frequent values of a column, in order: declared values, or public bins.

    Proof: ``TopNoise``.

    Args:
        column: A category, a yes/no column or a short whole number (its values), or a number or date (bins).
        edges: Public edges of the bins.
        bins: Instead of edges: how many bins of even width.
        places: How many values.
        where: Conditions, all of which must hold.

    Examples:
        >>> Top("pirads", places=2)
        Top('pirads', places=2)
    """

    places: int = 3
    axis_name: ClassVar[str] = "place"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.places, int) and not isinstance(self.places, bool)
        if not (whole and 1 <= self.places <= 100):
            raise QuestionError("places= is a whole number from 1 to 100, e.g. Top('pirads', places=3).")
        if self.pairs:
            raise QuestionError("Top is asked of a whole table; use where= for one group.")

    def _own(self) -> dict[str, Any]:
        return super()._own() | {"places": int(self.places)}

    @classmethod
    def read(cls, words: Words) -> Any:
        """Read a column and, after "places", how many."""
        column = words.column(f"the column of '{words.first}'")
        places = int(words.number("a number after 'places'")) if words.take("places") else 3
        return cls(column, places=places, where=words.where())

    @classmethod
    def from_form(
        cls, *, column: Any, groups: Mapping[str, Any], edges: Mapping[str, Any], where: Any, own: Mapping[str, Any]
    ) -> Any:
        """Build the question with the bins that were typed in."""
        name = column or ""
        return cls(name, edges[name].edges if name in edges else None, where=where, **own)

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the places."""
        return (Axis("place", tuple(range(1, self.places + 1)), title="Place"),)

    def check(self, facts: Facts) -> None:
        """Raise where there are fewer values than places."""
        known = len(self.choices(facts).keys)
        if known < self.places:
            raise QuestionError(f"'{self.column}' has {known} public values: ask for at most {known} places.")

    def noise(self, facts: Facts, epsilon: Fraction) -> TopNoise:
        """Return the choices one after the other."""
        values = len(self.choices(facts).keys)
        return TopNoise(rows=facts.rows, per_row=facts.bound.scale, values=values, epsilon=epsilon, places=self.places)

    def band_epsilon(self, facts: Facts, target: float, each: float) -> float:
        """Return the epsilon whose scale in rows is ``target`` times the rows of an even value."""
        return self.places * super().band_epsilon(facts, target, each)

    def notes(self, facts: Facts, noise: ModeNoise, noisy: Noisy) -> tuple[str, ...]:
        """Return what the order means."""
        return ("Values are chosen one after the other; two that are nearly as frequent may change places.",)

    def exact(self, facts: Facts, noise: ModeNoise, table: ExactTable) -> NDArray[np.float64]:
        """Return the places of the most frequent values."""
        order = np.argsort(-np.asarray(table[0].ravel(), dtype=np.float64), kind="stable")
        return order[: self.places].astype(np.float64)

"""Counts of rows or persons, and the noise of every table of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pydplib.engine import Bins, Bound, ExactTable, Measure, RowCondition
from pydplib.errors import QuestionError, did_you_mean
from pydplib.noise.tap import add_laplace
from pydplib.release.statistics.noise import (
    COVERAGE,
    Expected,
    Integers,
    Noise,
    Noisy,
    expected_steps,
    margin_steps,
)
from pydplib.release.statistics.question import Part, Question, Words, public_salt, sampled_groups, statistic
from pydplib.schema import Schema

if TYPE_CHECKING:
    from pydplib.release.facts import Facts

UNITS: Mapping[str, str] = {"rows": "records", "persons": "people"}
"""What is counted -> its words for readers."""


@dataclass(frozen=True, slots=True)
class CountNoise(Noise):
    """Counts, histograms and tables: exact discrete Laplace noise on every cell.

    Proof: one person's weights sum to at most rows * per_row over all cells, so the L1 sensitivity of all
    cells together is that; ``noise.tap.add_laplace`` with scale sensitivity / epsilon is epsilon-DP. Negative
    counts become 0 afterwards, which is post-processing and moves no value away from the truth.

    Examples:
        >>> CountNoise(rows=1, per_row=1, cells=1, epsilon=Fraction(1)).margin()
        3
    """

    rows: int
    per_row: int
    cells: int
    epsilon: Fraction

    @property
    def sensitivity(self) -> int:
        """Steps that one person moves all cells together."""
        return self.rows * self.per_row

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, in steps."""
        return self.sensitivity / self.epsilon

    def reach(self) -> tuple[float, float]:
        """Return scale and sensitivity in rows."""
        return float(self.scale) / self.per_row, float(self.rows)

    def margin(self, confidence: float = COVERAGE) -> float:
        """Return the smallest margin that covers one cell with this confidence."""
        return self._in_rows(margin_steps(self.scale, coverage=confidence))

    def simultaneous(self, confidence: float = COVERAGE) -> float:
        """Return the smallest margin that covers all cells at once with this confidence."""
        return self._in_rows(margin_steps(self.scale, cells=self.cells, coverage=confidence))

    @property
    def expected(self) -> float:
        """The expected noise of one cell, in rows."""
        return expected_steps(self.scale) / self.per_row

    def _in_rows(self, steps: int) -> float:
        return steps if self.per_row == 1 else steps / self.per_row

    def apply(self, exact: Integers, *, confidence: float = COVERAGE) -> Noisy:
        """Return noisy counts."""
        noisy = add_laplace(exact, self.scale, sensitivity=self.sensitivity)
        shown: NDArray[Any] = noisy if self.per_row == 1 else noisy / self.per_row
        margin = self.margin(confidence)
        values = np.maximum(shown, 0)
        low, high = np.maximum(shown - margin, 0), np.maximum(shown + margin, 0)
        return Noisy(
            values,
            low=low,
            high=high,
            margins=np.full(shown.shape, margin),
            simultaneous=self.simultaneous(confidence),
            raw=shown,
        )

    def found_rows(self, noisy: Noisy) -> tuple[float, float]:
        """Return the sum of all cells and its standard deviation; of several tables, by what one person may add."""
        if noisy.counts is not None:  # values are computed from these
            spread = self.reach()[0] * math.sqrt(2 * max(noisy.counts.size, 1))
            return float(noisy.counts.sum()) / self.rows, spread / self.rows
        counts = noisy.values if noisy.raw is None else noisy.raw
        return float(counts.sum()), self.reach()[0] * math.sqrt(2 * max(counts.size, 1))


class Counting(Question):
    """What counts, histograms and tables of counts share: rows per cell with ``CountNoise``."""

    def table(self, facts: Facts) -> Question | None:
        """Return the question itself, where its keys are public."""
        return None if facts.has_unknown_keys else self

    def unit(self, facts: Facts) -> str:
        """Rows, unless persons are counted."""
        return "persons" if facts.bound.mode == "row" else "rows"

    def measures(self, facts: Facts, epsilon: Fraction) -> tuple[Measure, ...]:
        """Return the number of rows, or of their weights."""
        return (Measure("count"),)

    def noise(self, facts: Facts, epsilon: Fraction) -> CountNoise:
        """Return the noise of all cells together."""
        return CountNoise(facts.rows, facts.bound.scale, facts.cells, epsilon)

    def answer(self, facts: Facts, noise: CountNoise, table: ExactTable, *, confidence: float = COVERAGE) -> Noisy:
        """Return noisy counts."""
        return noise.apply(table[0], confidence=confidence)

    def expect(self, facts: Facts, noise: CountNoise, each: float | None, *, confidence: float = COVERAGE) -> Expected:
        """Return the margin of a count, which is exact."""
        percent = None if each is None else 100 * noise.expected / each
        return Expected(noise.margin(confidence), noise_percent=percent)

    def span(self, facts: Facts, noise: CountNoise, rows: float) -> float:
        """Four times the group: a count is lost where its margin reaches the group, which may then as well be empty."""
        return 4 * rows

    def band_epsilon(self, facts: Facts, target: float, each: float) -> float:
        """Return (D/g) asinh(g / (target n/k)): E|Z| = g / sinh(g epsilon / D) on a grid g with sensitivity D."""
        grid = 1 / facts.bound.scale
        return facts.rows / grid * math.asinh(grid / (target * each))

    def exact(self, facts: Facts, noise: CountNoise, table: ExactTable) -> NDArray[np.float64]:
        """Return the counts."""
        return np.asarray(table[0] / noise.per_row, dtype=np.float64)


@statistic(
    "count",
    title="How many",
    hint="A number, or one per group.",
    example="count persons by pirads",
    picture="bars",
    is_count=True,
    takes_unknown_keys=True,
    parts=(
        Part(
            name="of",
            kind="choice",
            label="Of what?",
            form="count_of",
            choices={"rows": "Records", "persons": "People"},
            default="rows",
        ),
    ),
)
@dataclass(frozen=True, repr=False)
class Count(Counting):
    """How many rows, or how many persons.

    Args:
        of: ``"rows"`` or ``"persons"``. A person counts once; in groups, in the group of one of that person's rows.
        by: Groups: a column, several, or column -> public keys, ``Bins([...])``, or None for unknown keys.
        where: Conditions, all of which must hold.

    Examples:
        >>> Count(of="persons", by="pirads")
        Count(of='persons', by=['pirads'])
    """

    of: Literal["rows", "persons"] = "rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of not in ("rows", "persons"):
            raise QuestionError(f"Count counts rows or persons.{did_you_mean(self.of, ('rows', 'persons'))}")

    def __repr__(self) -> str:
        own = [f"of={self.of!r}"] if self.of != "rows" else []
        return f"Count({', '.join([*own, *self._shared_reprs()])})"

    @classmethod
    def _from_plain(cls, plain: dict[str, Any], by: dict[str, Any], where: list[RowCondition]) -> Question:
        return cls(**plain, by=by, where=where)

    def canonical(self, schema: Schema) -> dict[str, Any]:
        """Return the question in its one spelling: of one row of each person, rows are persons."""
        plain = super().canonical(schema)
        return plain if self.row_bound(schema) is None else plain | {"of": "persons"}

    @classmethod
    def read(cls, words: Words) -> Question:
        """Read "count", "count rows" or "count persons", groups and conditions."""
        of: Literal["rows", "persons"] = "persons" if words.take("persons", "people", "patients") else "rows"
        words.take("rows")
        return cls(of, by=words.by(), where=words.where())

    @classmethod
    def headline(cls, plain: Mapping[str, Any], titles: Mapping[str, str], groups: list[str]) -> str:
        """Return "How many people by Score"."""
        words = f"How many {UNITS.get(plain.get('of', ''), 'records')}"
        return words + (" by " + " and ".join(groups) if groups else "")

    @classmethod
    def from_form(
        cls,
        *,
        column: str | None,
        groups: Mapping[str, Any],
        edges: Mapping[str, Bins],
        where: Iterable[RowCondition],
        own: Mapping[str, Any],
    ) -> Question:
        """Build the question from the fields of a form."""
        return cls(**own, by=groups, where=where)

    def unit(self, facts: Facts) -> str:
        """Rows or persons."""
        return super().unit(facts) if facts.bound.mode == "row" else self.of

    def bound(self, schema: Schema, groups: Mapping[str, Any]) -> Bound:
        """Return the schema's bound; of persons, one row of each."""
        if self.of == "rows":
            return super().bound(schema, groups)
        if any(keys is None for keys in groups.values()):
            return sampled_groups(schema, 1)
        if schema.person is not None:
            return Bound(schema.person, 1, mode="sample", salt=public_salt(schema))
        return Bound.from_schema(schema)

    def _who_counts(self, facts: Facts) -> tuple[str, bool]:
        if self.of == "rows" or facts.bound.person is None or facts.bound.mode == "row":
            return super()._who_counts(facts)
        alone = " and in one group only, by one of that person's rows" if facts.groups else ""
        return f"each person counts once{alone}", bool(facts.groups)

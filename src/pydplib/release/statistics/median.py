"""Medians of a column: the quantile of one half."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pydplib.release.statistics.quantiles import OfRanks
from pydplib.release.statistics.question import statistic


@statistic(
    "median",
    title="Median",
    hint="Half of the records lie below it.",
    example="median age where bph = yes",
    picture="points",
    about="numbers",
)
@dataclass(frozen=True, repr=False)
class Median(OfRanks):
    """The median of a column, on its public grid.

    Proof: ``QuantileNoise`` or ``BinnedQuantileNoise`` with the share one half.

    Examples:
        >>> Median("age", by="pirads")
        Median('age', by=['pirads'])
    """

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """One half."""
        return (Fraction(1, 2),)

"""Statistics: one file each, holding all that the product knows of it; ``STATISTICS`` is their registry."""

from __future__ import annotations

from pydplib._public import STATISTIC_MODULES
from pydplib.release.statistics.count import Count
from pydplib.release.statistics.crosstab import Crosstab
from pydplib.release.statistics.deviation import StandardDeviation
from pydplib.release.statistics.histogram import Histogram
from pydplib.release.statistics.mean import Mean
from pydplib.release.statistics.median import Median
from pydplib.release.statistics.mode import Mode
from pydplib.release.statistics.quantiles import Quantiles
from pydplib.release.statistics.question import (
    STATISTICS,
    Part,
    Question,
    is_count_of,
    offered_statistics,
    statistic,
    statistic_words,
)
from pydplib.release.statistics.rows_per_person import RowsPerPerson
from pydplib.release.statistics.sum import Sum
from pydplib.release.statistics.variance import Variance

_ORDER = (
    "count", "mean", "median", "mode", "sum", "deviation", "variance", "histogram", "crosstab", "quantiles",
)  # fmt: skip
for _ask in [*_ORDER, *(_other for _other in list(STATISTICS) if _other not in _ORDER)]:
    STATISTICS[_ask] = STATISTICS.pop(_ask)  # the order of forms, whatever the order of imports
STATISTICS.open(*STATISTIC_MODULES)

__all__ = [
    "STATISTICS",
    "Count",
    "Crosstab",
    "Histogram",
    "Mean",
    "Median",
    "Mode",
    "Part",
    "Quantiles",
    "Question",
    "RowsPerPerson",
    "StandardDeviation",
    "Sum",
    "Variance",
    "is_count_of",
    "offered_statistics",
    "statistic",
    "statistic_words",
]

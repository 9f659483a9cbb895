"""Clinical statistics from noisy counts, with intervals that know the noise.

Estimators are pure functions of noisy counts and of their noise (``contrasts``, ``association``, ``survival_curves``,
``accuracy``, ``regression``); questions ask a session for one joint table and compute the rest from it.
"""

from __future__ import annotations

from pydplib.clinic.comparisons import Difference, OddsRatio, RiskRatio, StandardError
from pydplib.clinic.diagnosis import Roc
from pydplib.clinic.frequent import Top
from pydplib.clinic.intervals import holm
from pydplib.clinic.planner import StudyPlan, plan
from pydplib.clinic.printed_table import PrintedTable
from pydplib.clinic.relations import Association, Correlation, Logistic, Trend
from pydplib.clinic.series import Series
from pydplib.clinic.survival import Survival
from pydplib.clinic.table_one import TableOne, table_one
from pydplib.release.statistics import STATISTICS

_ORDER = (
    "table one", "difference", "risk ratio", "odds ratio", "standard error", "association", "trend", "correlation",
    "logistic", "survival", "roc", "series", "top",
)  # fmt: skip
for _ask in _ORDER:
    STATISTICS[_ask] = STATISTICS.pop(_ask)  # the order of forms, whatever the order of imports

__all__ = [
    "Association",
    "Correlation",
    "Difference",
    "Logistic",
    "OddsRatio",
    "PrintedTable",
    "RiskRatio",
    "Roc",
    "Series",
    "StandardError",
    "StudyPlan",
    "Survival",
    "TableOne",
    "Top",
    "Trend",
    "holm",
    "plan",
    "table_one",
]

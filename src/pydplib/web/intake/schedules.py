"""The days on which snapshots are published by themselves."""

from __future__ import annotations

import datetime as dt
from typing import Any

from pydplib.web.intake.models import SnapshotSchedule


def next_day(every: str, today: dt.date) -> dt.date | None:
    """Return the first publishing day after today.

    Examples:
        >>> next_day("month", dt.date(2026, 12, 31)), next_day("quarter", dt.date(2026, 4, 1))
        (datetime.date(2027, 1, 1), datetime.date(2026, 7, 1))
    """
    rhythm: Any = SnapshotSchedule.Every
    if every == rhythm.MONTH:
        months = today.month
    elif every == rhythm.QUARTER:
        months = (today.month - 1) // 3 * 3 + 3
    else:
        return None
    return dt.date(today.year + months // 12, months % 12 + 1, 1)

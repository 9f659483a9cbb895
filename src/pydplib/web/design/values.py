"""Tags that show values: tables, numbers, histories, bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from pydplib.web.design.components import component


def data_table(columns: Sequence[object], rows: Iterable[Sequence[object]], caption: str, **options: object) -> str:
    """Return a whole table from values; numbers stand right. Columns are texts or (text, "num")."""
    return component("data_table", caption=caption, **table_cells(columns, rows), **options)


def table_cells(columns: Sequence[object], rows: Iterable[Sequence[object]]) -> dict[str, object]:
    """Return heads and cells for ``data_table``: numbers are marked ``num``, words that must not break ``short``."""
    listed = [list(row) for row in rows]
    heads = []
    for place, column in enumerate(columns):
        name, kind = column if isinstance(column, (tuple, list)) else (column, "")
        values = [row[place] for row in listed if row[place] not in (None, "")]
        numeric = bool(values) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
        longest = max((len(str(value)) for value in values), default=0)
        fitting = "num" if numeric else "short" if longest <= 20 else "long" if longest > 60 else ""
        heads.append({"name": name, "kind": kind or fitting})
    return {"heads": heads, "rows": [list(zip(heads, row, strict=True)) for row in listed]}


SHORT = 8
"""How many signs of a key people see."""


def short_id(key: object) -> str:
    """Return the short id of a patient, a report or another object: the first signs of its key, on every page.

    Examples:
        >>> short_id("8ed9f1ddd114f78d")
        '8ed9f1dd'
    """
    return str(key)[:SHORT]


def stat(name: str, value: object, hint: str = "", tone: str = "", icon: str = "") -> str:
    """Return one number with its name, to stand in ``<dl class="stats">``."""
    shown = str(value)
    words = len(shown) > (14 if shown[:1].isdigit() else 9)  # words and dates are set smaller than numbers
    return component("stat", name=name, value=value, hint=hint, tone=tone, icon=icon, words=words)


def key_values(items: Mapping[str, object] | Iterable[tuple[str, object]]) -> str:
    """Return names and values below each other."""
    return component("key_values", items=items.items() if isinstance(items, Mapping) else items)


def timeline(events: Iterable[Mapping[str, object]]) -> str:
    """Return a history. Each event: title, when, and if wanted who, text, icon, tone, url."""
    return component("timeline", events=events)


def progress(value: float | None, label: str, maximum: float = 100, **options: object) -> str:
    """Return a progress bar; ``value=None`` is one whose end is not known. Options: hint, tone, quiet."""
    return component("progress", value=value, label=label, maximum=maximum, **options)


def budget_bar(spent: float, asked: float, total: float, words: str = "this question") -> str:
    """Return a bar of a budget in points: what is spent, what a question would cost, what is left after it.

    The same in epsilon is one click away.
    """
    left = total - spent - asked

    def percent(part: float) -> str:
        return f"{max(0.0, min(100.0, 100 * part / total)) if total else 0:.2f}"

    return component(
        "budget_bar",
        spent=points(spent, total),
        asked=points(asked, total) if asked else "",
        left=points_left(max(left, 0), total),
        total=POINTS,
        exactly={
            "spent": epsilon(spent),
            "asked": epsilon(asked) if asked else "",
            "left": epsilon_left(max(left, 0)),
            "total": epsilon(total),
        },
        too_much=left < 0,
        spent_percent=percent(spent),
        asked_percent=percent(min(asked, total - spent)),
        asked_words=words,
    )


POINTS = 100
"""A whole budget in points: what pages show instead of epsilon, which is one click away."""


def points(value: float, total: float, *, up: bool = True) -> str:
    """Return an epsilon in points of a budget, never to the reader's favour: costs up, what is left down.

    Examples:
        >>> points(0.34, 2.0), points(1.666, 2.0, up=False), points(0.001, 2.0), points(0.0, 2.0)
        ('17', '83', '0.05', '0')
    """
    share = POINTS * value / total if total else 0.0
    digits = 0 if share >= 10 else 1 if share >= 1 else 2
    steps = round(share * 10**digits, 6)
    whole = math.ceil(steps) if up else math.floor(steps)
    return f"{whole / 10**digits:.{digits}f}".rstrip("0").rstrip(".") if digits else str(whole)


def points_left(value: float, total: float) -> str:
    """Return what is left of a budget in points: rounded down."""
    return points(value, total, up=False)


def epsilon_left(value: float) -> str:
    """Return what is left of a budget as all pages show it: rounded down.

    Examples:
        >>> epsilon(1.64405), epsilon_left(1.64405), epsilon_left(2.0)
        ('1.6441', '1.644', '2')
    """
    return epsilon(value, up=False)


def epsilon(value: float, *, up: bool = True) -> str:
    """Return an epsilon with at most four decimals, never to the reader's favour: costs up, what is left down."""
    steps = round(value * 1e9) / 1e5
    whole = math.ceil(steps) if up else math.floor(steps)
    if value > 0 and whole <= 1:
        return f"{value:.9f}".rstrip("0").rstrip(".")
    return f"{whole / 1e4:.4f}".rstrip("0").rstrip(".")

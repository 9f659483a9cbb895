"""A figure of one release: bars for counts, points with intervals for means, colours for tables, boxes on request."""

from __future__ import annotations

from typing import Any

import numpy as np

from pydplib.errors import ParameterError, did_you_mean
from pydplib.plot._cells import bubbles, heatmap
from pydplib.plot._figure import Figure
from pydplib.plot._parts import ORIGINAL_SHOWN
from pydplib.plot._series import Box, bar, box, line

KINDS = ("bar", "points", "heatmap", "box", "bubbles")
"""How a release can be drawn; by default what suits its statistic and axes."""
_BESIDE = ("bar", "points")  # kinds that have room for the original beside the release


def draw_release(release: Any, *, original: Any = None, kind: str | None = None, title: str = "") -> Figure:
    """Return a figure of a release, with the noise's margins as error bars and the guarantee as the caption.

    Args:
        release: A ``Release``.
        original: For the owner only: the exact values, in the shape of ``release.value``, beside bars or points.
        kind: ``"bar"``, ``"points"``, ``"heatmap"``, ``"box"`` or ``"bubbles"``.
        title: What the figure shows; by default the question.

    Examples:
        >>> import pydplib as dp
        >>> figure = dp.histogram([61, 67, 70] * 300, edges=[50, 60, 70, 80], epsilon=1.0).plot()
        >>> len(figure.data[0].y)
        3
    """
    if kind is not None and kind not in KINDS:
        raise ParameterError(f"Unknown kind '{kind}'.{did_you_mean(kind, KINDS)}")
    chosen = kind or _kind(release)
    if original is not None and chosen not in _BESIDE:
        raise ParameterError(f"The original is drawn beside bars and points, not as kind='{chosen}'; use kind='bar'.")
    words: dict[str, Any] = {
        "title": title or _title(release),
        "caption": _caption(release, chosen, original is not None),
    }
    if chosen in _BESIDE:
        return (_bars if chosen == "bar" else _points)(release, original, words)
    return {"heatmap": _heatmap, "box": _boxes, "bubbles": _bubbles}[chosen](release, words)


def _kind(release: Any) -> str:
    counts = _is_count(release)
    if counts and len(release.axes) == 2:
        return "heatmap"
    return "bar" if counts or release.statistic == "sum" else "points"


def _is_count(release: Any) -> bool:
    return release.statistic in ("count", "histogram", "crosstab")


def _title(release: Any) -> str:
    from pydplib.release.words import words_of

    words = words_of(release.question)
    return words[:1].upper() + words[1:]


def _caption(release: Any, kind: str, shows_original: bool) -> str:
    words = [release.guarantee.sentence, f"Cost: {release.cost}."]
    if release.margins95 is not None and release.margin_unit == "value":
        if kind in _BESIDE:
            words.append("Error bars: how far the noise may have moved a number (95 %); sampling error is not in them.")
        elif kind in ("heatmap", "bubbles"):
            words.append(f"The noise may have moved each number by {max(release.margins95):.3g} (95 %).")
    if shows_original:
        words.append(ORIGINAL_SHOWN)
    return " ".join(words)


def _axis_title(axis: Any) -> str:
    name = axis.title or axis.name
    return f"{name} ({axis.unit})" if axis.unit else str(name)


def _value_title(release: Any) -> str:
    word = release.unit if _is_count(release) else f"{release.statistic} {release.question.get('of', '')}".strip()
    return f"{word} ({release.unit})" if release.unit and not _is_count(release) else str(word or "count")


def _series(release: Any, original: Any) -> tuple[list[str], dict[str, Any], dict[str, Any], str]:
    """Return labels, series, margins and the title of the x axis: the first axis lies on x, the others are series."""
    if not release.axes:
        labels, axis_title = [release.statistic], ""
        table = np.array([[release.values[0]]])
        spread = None if release.margins95 is None else np.array([[release.margins95[0]]])
        names = [""]
    else:
        first, rest = release.axes[0], release.axes[1:]
        labels, axis_title = list(first.labels), _axis_title(first)
        table = np.asarray(release.value, dtype=float).reshape(len(labels), -1)
        spread = None if release.margins95 is None else np.asarray(release.margin95, dtype=float).reshape(table.shape)
        names = [""]
        for axis in rest:
            names = [f"{name}, {label}" if name else label for name in names for label in axis.labels]
    if release.margin_unit != "value":
        spread = None
    named = [name or "released" for name in names]
    series = {name: table[:, i] for i, name in enumerate(named)}
    margins = {} if spread is None else {name: spread[:, i] for i, name in enumerate(named)}
    if original is not None:
        exact = np.asarray(original, dtype=float).reshape(table.shape)
        series = {f"original{', ' + name if name else ''}": exact[:, i] for i, name in enumerate(names)} | series
    return labels, series, margins, axis_title


def _bars(release: Any, original: Any, words: dict[str, Any]) -> Figure:
    labels, series, margins, x_title = _series(release, original)
    figure = bar(labels, series, margins=margins, x_title=x_title, y_title=_value_title(release), **words)
    _use_intervals(figure, release)
    return figure


def _use_intervals(figure: Figure, release: Any) -> None:
    """Make the error bars end where the intervals do: they are not even where a value lies near a bound."""
    if release.low95 is None or release.high95 is None or release.margin_unit != "value":
        return
    shape = (len(release.axes[0].keys) if release.axes else 1, -1)
    values, low, high = (
        np.asarray(numbers, dtype=float).reshape(shape) for numbers in (release.values, release.low95, release.high95)
    )
    marked = [trace for trace in figure.data if trace.error_y.array is not None]
    for place, trace in enumerate(marked):
        up, down = (high - values)[:, place], (values - low)[:, place]
        if not np.allclose(up, down):
            trace.error_y.update(symmetric=False, array=up.clip(0).tolist(), arrayminus=down.clip(0).tolist())
            trace.hovertemplate = (
                "%{x}: %{y:,.4~g} (+ %{error_y.array:,.3~g}, - %{error_y.arrayminus:,.3~g})"
                "<extra>%{fullData.name}</extra>"
            )


def _points(release: Any, original: Any, words: dict[str, Any]) -> Figure:
    labels, series, margins, x_title = _series(release, original)
    figure = line(labels, series, margins=margins, x_title=x_title, y_title=_value_title(release), **words)
    _use_intervals(figure, release)
    figure.update_xaxes(type="category")
    figure.update_traces(mode="markers", marker={"size": 10})
    return figure


def _heatmap(release: Any, words: dict[str, Any]) -> Figure:
    if len(release.axes) != 2:
        raise ParameterError("A heatmap needs a table of two columns; use kind='bar'.")
    down, across = release.axes
    margins = release.margin95 if release.margin_unit == "value" else None
    return heatmap(
        across.labels, down.labels, _tidied(release), margins=margins, value_title=_value_title(release),
        x_title=_axis_title(across), y_title=_axis_title(down), **words,
    )  # fmt: skip


def _tidied(release: Any) -> np.ndarray[Any, Any]:
    from pydplib.release.postprocess import tidy_table

    return np.asarray(tidy_table(release).value, dtype=float)


def _boxes(release: Any, words: dict[str, Any]) -> Figure:
    from pydplib.release.postprocess import box_data

    # Groups that the noise alone could have made are left out: judged by noisy numbers only.
    least = max(release.margins95 or (0,))
    found = [one for one in box_data(release) if one.rows > 2 * least] or list(box_data(release))
    binned = next(axis for axis in reversed(release.axes) if axis.kind == "bins")
    others = [axis for axis in release.axes if axis is not binned]
    boxes = [Box(one.low, one.q1, one.median, one.q3, one.high) for one in found]
    words = words | {"caption": words["caption"] + " Whiskers hold nine tenths of the rows."}
    return box(
        [one.group or "all" for one in found], {"released": boxes}, x_title=", ".join(_axis_title(a) for a in others),
        y_title=_axis_title(binned), **words,
    )  # fmt: skip


def _bubbles(release: Any, words: dict[str, Any]) -> Figure:
    if len(release.axes) != 2:
        raise ParameterError("Bubbles need a table of two columns; use kind='bar'.")
    across, up = release.axes
    x = [label for label in across.labels for _ in up.labels]
    y = [label for _ in across.labels for label in up.labels]
    return bubbles(
        x, y, _tidied(release).ravel(), size_title=_value_title(release), x_title=_axis_title(across),
        y_title=_axis_title(up), **words,
    )  # fmt: skip

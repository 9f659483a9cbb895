"""A figure of one release: bars for counts, points with intervals for means, colours for tables, boxes on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from pydplib.errors import ParameterError, did_you_mean
from pydplib.plot._cells import bubbles, heatmap
from pydplib.plot._figure import Figure
from pydplib.plot._panels import panels
from pydplib.plot._parts import ORIGINAL_SHOWN, faint, fit_labels, may_be_noise
from pydplib.plot._series import Box, bar, box, line
from pydplib.plot._theme import COLORWAY, TONES
from pydplib.plot.clinic import PICTURES, draw_clinical
from pydplib.release.outlook import lost_values
from pydplib.release.postprocess import box_data, tidy_table
from pydplib.release.results.words import show_margin, words_of
from pydplib.release.statistics import STATISTICS
from pydplib.release.statistics.noise import confidence_words
from pydplib.release.statistics.rows_per_person import beyond_note

KINDS = ("bar", "points", "heatmap", "box", "bubbles")
"""How a release can be drawn; by default what suits its statistic and axes."""
_BESIDE = ("bar", "points")  # kinds that have room for the original next to the release
_PER_CELL = ("values", "low", "high", "margins", "sizes", "doubtful", "noisy", "population_low", "population_high")
_FEW_ROWS = 30  # a group of fewer rows, by its noisy number, is small
_MOSTLY = 0.75  # of the cells of a group: one in twenty intervals misses, so some of many cells look real
_HALF = 400  # pixels of the x axis of a panel, two abreast


def draw_release(release: Any, *, original: Any = None, kind: str | None = None, title: str = "") -> Figure:
    """Return a figure of a release, with the noise's margins as error bars and the guarantee as the caption.

    Of several columns, the first lies on the x axis and the second gives the colours; further ones, and those with more
    values than there are colours, give panels. A group "other" that the noise alone can have made is left out, and the
    caption says so.

    Args:
        release: A ``Release``.
        original: For the owner only: the exact values, in the shape of ``release.value``, next to bars or points.
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
    if chosen in PICTURES:
        if original is None:
            return draw_clinical(release, chosen, title=title or _title(release), caption=caption_of(release, chosen))
        chosen = "points"
    if original is not None and chosen not in _BESIDE:
        raise ParameterError(f"The original is drawn next to bars and points, not as kind='{chosen}'; use kind='bar'.")
    _check_axes(release, chosen)
    exact = None if original is None else np.asarray(original, dtype=float)
    if exact is not None:
        if exact.size != len(release.values):
            raise ParameterError(
                f"original has one number per released value: {len(release.values)}. Got {exact.size}."
            )
        exact = exact.reshape(release.shape or (1,))
    drawn, left_out = release, ""
    if chosen != "box":
        drawn, exact, left_out = without_noise_groups(release, exact)
    if chosen in ("heatmap", "bubbles"):
        drawn = _tidied(drawn)
    words: dict[str, Any] = {
        "title": title or _title(release),
        "caption": caption_of(release, chosen, left_out=left_out, shows_original=original is not None),
    }
    if chosen in _BESIDE:
        figure = _beside(drawn, exact, _bars if chosen == "bar" else _points, words)
        if chosen == "points":
            _near(figure, drawn, exact)
        if drawn.choices is not None:
            _name_choices(figure, drawn.choices)
        return figure
    if chosen == "heatmap":
        return _heatmaps(drawn, words)
    return (_boxes if chosen == "box" else _bubbles)(drawn, words)


def _kind(release: Any) -> str:
    if release.is_count and len(release.axes) >= 2:
        return "heatmap"
    kind = STATISTICS.get(release.statistic)
    if kind is not None and kind.picture in PICTURES:
        return str(kind.picture)
    return "bar" if kind is not None and kind.picture == "bars" else "points"


def _check_axes(release: Any, kind: str) -> None:
    if kind == "heatmap" and len(release.axes) < 2:
        raise ParameterError("A heatmap needs a table of two columns; use kind='bar'.")
    if kind == "bubbles" and len(release.axes) != 2:
        raise ParameterError("Bubbles need a table of two columns; use kind='bar'.")


def _noun(release: Any) -> str:
    kind = STATISTICS.get(release.statistic)
    return str(release.statistic) if kind is None else kind.noun


def _title(release: Any) -> str:
    words = words_of(release.question)
    return words[:1].upper() + words[1:]


def caption_of(release: Any, kind: str, *, left_out: str = "", shows_original: bool = False) -> str:
    """Return what is said under a figure of a release: guarantee and cost; what its margins mean; what was counted.

    Args:
        release: What is drawn.
        kind: How it is drawn.
        left_out: What is not in the picture, in a sentence.
        shows_original: Whether the owner had exact values drawn as well.
    """
    means, often = "", confidence_words(release.confidence)
    if release.margins is not None and release.margin_unit == "rows":
        most = show_margin(max(release.margins), whole=True)
        means = f"At most {most} fewer rows have a value that is shown than the most frequent one ({often})."
    elif release.margins is not None and release.margin_unit == "ranks":
        most = show_margin(max(release.margins), whole=True)
        means = (
            f"No error bars: the margin counts ranks, ± {most} rows ({often}). "
            "In the unit of the values it is private: it would tell how close they lie."
        )
        if kind == "quantiles":
            means += " Whiskers hold nine tenths of the records."
    elif release.margins is not None:
        most = show_margin(max(release.margins), whole=release.is_count)
        if kind in _BESIDE:
            means = f"Error bars: how far the noise may have moved a number ({often}); sampling error is not in them."
        elif kind == "quantiles":
            means = (
                f"Boxes end at released quantiles, each moved by up to {most} ({often}); they have no error bars. "
                "Whiskers hold nine tenths of the records."
            )
        elif kind == "box":
            means = (
                f"Boxes are read off noisy counts, each moved by up to {most} ({often}); they have no error bars. "
                "Whiskers hold nine tenths of the rows."
            )
        elif kind in PICTURES:
            least = show_margin(min(release.margins), whole=release.is_count)
            range_ = most if least == most else f"its margin, {least} to {most}"
            means = f"The noise alone moved each number by at most {range_} ({often})."
        else:
            means = f"The noise may have moved each number by {most} ({often}); sampling error is not in that."
    counted = f"Counted: {release.counted}" if release.counted else ""
    lines = [
        f"{release.guarantee.sentence} Cost: {release.cost.words}.",
        " ".join(part for part in (means, counted, beyond_note(release)) if part),
        " ".join(part for part in (left_out, ORIGINAL_SHOWN if shows_original else "") if part),
    ]
    return "\n".join(line for line in lines if line)


def without_noise_groups(release: Any, original: Any = None) -> tuple[Any, Any, str]:
    """Return what is drawn of a release, the exact values next to it, and what is left out, in a sentence.

    Left out are the groups "other" and "missing" where the noise alone can have made them, judged by released numbers.

    Args:
        release: What was released.
        original: For the owner only: the exact values, in the shape of ``release.value``.
    """
    kept, left_out = _kept(release)
    if kept is None:
        return release, original, left_out
    exact = None if original is None else np.asarray(original, dtype=float).reshape(release.shape)[np.ix_(*kept)]
    return _taken(release, kept), exact, left_out


def _kept(release: Any) -> tuple[list[list[int]] | None, str]:
    """Return which keys of each axis are drawn, and what is not, in a sentence; None: all are."""
    judged = _made_by_noise(release)
    if judged is None:
        return None, ""
    possible, blank = judged
    kept, names = [], []
    for place, axis in enumerate(release.axes):
        others = tuple(other for other in range(len(release.axes)) if other != place)
        noise = possible.all(axis=others) & (blank.mean(axis=others) >= _MOSTLY)
        gone = [
            number
            for number, key in enumerate(axis.keys)
            if axis.kind == "category" and key in ("other", None) and noise[number]
        ]
        if len(gone) == len(axis.keys):
            gone = []
        kept.append([number for number in range(len(axis.keys)) if number not in gone])
        names += [f"“{axis.label(axis.keys[number])}” of {axis.title or axis.name}" for number in gone]
    if not names:
        return None, ""
    return kept, f"Not drawn, because the noise alone can have made it: {', '.join(names)}."


def _made_by_noise(release: Any) -> tuple[Any, Any] | None:
    """Return for each cell whether the noise alone can have made it, and whether it says nothing; None: not known."""
    if not release.axes or release.margins is None or release.margin_unit != "value":
        return None
    if release.is_count:
        found = np.asarray(release.noisy or release.values, dtype=float)
        margin = np.maximum(release.margins, release.simultaneous or 0.0)
        inside = (found <= margin).reshape(release.shape)
        return inside, inside
    if release.sizes is None or release.low is None or release.high is None:
        return None
    if release.doubtful is not None:
        doubtful = np.asarray(release.doubtful, dtype=bool).reshape(release.shape)
        return doubtful, doubtful
    low, high, sizes = (np.asarray(getattr(release, name)) for name in ("low", "high", "sizes"))
    small = sizes < _FEW_ROWS
    if small.all():
        return None
    # An interval that holds those of all larger groups says nothing about its own group.
    blank = (low <= low[~small].min()) & (high >= high[~small].max())
    return small.reshape(release.shape), blank.reshape(release.shape)


def _taken(release: Any, kept: Sequence[Sequence[int]]) -> Any:
    """Return a release with some keys of each axis."""
    axes = tuple(
        replace(axis, keys=tuple(axis.keys[place] for place in places))
        for axis, places in zip(release.axes, kept, strict=True)
    )
    return _with_cells(release, axes, lambda cells: cells[np.ix_(*kept)])


def _one_of(release: Any, axis: int, key: int) -> Any:
    """Return the part of a release where one axis has one of its keys."""
    rest = tuple(other for place, other in enumerate(release.axes) if place != axis)
    return _with_cells(release, rest, lambda cells: cells.take(key, axis=axis))


def _with_cells(release: Any, axes: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    fields = {name: getattr(release, name) for name in _PER_CELL}
    cells = {
        name: tuple(change(np.asarray(numbers).reshape(release.shape)).ravel().tolist())
        for name, numbers in fields.items()
        if numbers is not None
    }
    return replace(release, axes=axes, **cells)


def _axis_title(axis: Any) -> str:
    name = axis.title or axis.name
    return f"{name} ({axis.unit})" if axis.unit else str(name)


def _value_title(release: Any) -> str:
    word = release.unit if release.is_count else f"{_noun(release)} {release.question.get('of', '')}".strip()
    return f"{word} ({release.unit})" if release.unit and not release.is_count else str(word or "count")


def axis_labels(axis: Any) -> list[str]:
    """Return the keys of an axis as short words for a figure: whole years and months of dates as such.

    Examples:
        >>> from pydplib.release.results.axes import Axis
        >>> axis_labels(Axis("day", (("2017-01-01", "2018-01-01"), ("2018-01-01", "2020-01-01")), kind="bins"))
        ['2017', '2018 to 2019']
        >>> axis_labels(Axis("day", (("2017-01-01", "2017-02-01"), ("2017-02-01", "2017-05-01")), kind="bins"))
        ['2017-01', '2017-02 to 2017-04']
    """
    ends = [end for key in axis.keys for end in (key if axis.kind == "bins" and key is not None else ())]
    if not ends or not all(isinstance(end, str) and end.endswith("-01") for end in ends):
        return list(axis.labels)
    unit: Literal["Y", "M"] = "Y" if all(end.endswith("-01-01") for end in ends) else "M"
    found = []
    for key in axis.keys:
        if key is None:
            found.append(axis.label(key))
            continue
        first, last = np.datetime64(key[0], unit), np.datetime64(key[1], unit) - 1
        found.append(str(first) if first == last else f"{first} to {last}")
    return found


def _beside(release: Any, exact: Any, draw: Callable[..., Figure], words: dict[str, Any]) -> Figure:
    """Return bars or points: one axis on x, one as colours, the others as panels."""
    if len(release.axes) < 2 or (len(release.axes) == 2 and min(release.shape) <= len(COLORWAY)):
        if len(release.axes) == 2 and release.shape[1] > len(COLORWAY):
            # More values than colours: the other column gives them.
            exact = None if exact is None else exact.T
            release = _with_cells(release, release.axes[::-1], np.transpose)
        return draw(release, exact, words)
    series = 1 if release.shape[1] <= len(COLORWAY) else None
    return _paneled(
        release,
        [place for place in range(1, len(release.axes)) if place != series],
        lambda part, numbers: draw(part, None if exact is None else numbers(exact), {}, width=_HALF),
        words,
    )


def _heatmaps(release: Any, words: dict[str, Any]) -> Figure:
    """Return tables as colours; of more than two columns, the shorter ones give panels."""
    if len(release.axes) == 2:
        return _heatmap(release, words)
    by_length = sorted(range(len(release.axes)), key=lambda place: release.shape[place])
    top = max(1.0, *release.values)
    wide = release.shape[max(by_length[-2:])]
    return _paneled(
        release,
        sorted(by_length[:-2]),
        lambda part, numbers: _heatmap(part, {"limit": top, "width": _HALF if wide <= 6 else None}),
        words,
        columns=2 if wide <= 6 else 1,
        panel_height=60 + 40 * release.shape[min(by_length[-2:])],
    )


def _paneled(
    release: Any,
    along: Sequence[int],
    draw: Callable[[Any, Callable[[Any], Any]], Figure],
    words: dict[str, Any],
    **options: Any,
) -> Figure:
    """Return one panel per key of the axes ``along``."""
    parts: dict[str, Figure] = {}
    for keys in product(*(range(release.shape[place]) for place in along)):
        part, names = release, list[str]()
        for place, key in sorted(zip(along, keys, strict=True), reverse=True):
            axis = release.axes[place]
            names.insert(0, f"{axis.title or axis.name}: {axis.labels[key]}")
            part = _one_of(part, place, key)
        where = dict(zip(along, keys, strict=True))
        index = tuple(where.get(place, slice(None)) for place in range(len(release.axes)))
        parts[", ".join(names)] = draw(part, itemgetter(index))
    return panels(parts, **words, **options)


def _series(release: Any, exact: Any) -> tuple[list[str], dict[str, Any], dict[str, Any], dict[str, str]]:
    """Return labels, series, margins and colours: the first axis lies on x, the second is the series."""
    first, *rest = release.axes or (None,)
    labels = [_noun(release)] if first is None else axis_labels(first)
    names = axis_labels(rest[0]) if rest else [""]
    named = [name or "released" for name in names]
    table = np.asarray(release.values, dtype=float).reshape(len(labels), -1)
    series = {name: table[:, i] for i, name in enumerate(named)}
    colours = dict(zip(named, COLORWAY, strict=False))
    margins: dict[str, Any] = {}
    if release.margins is not None and release.margin_unit == "value":
        spread = np.asarray(release.margins, dtype=float).reshape(table.shape)
        margins = {name: spread[:, i] for i, name in enumerate(named)}
    if exact is not None:
        compared = np.asarray(exact, dtype=float).reshape(table.shape)
        both = {f"original{', ' + name if name else ''}": compared[:, i] for i, name in enumerate(names)}
        # The original of a series is paler; a single one is grey.
        pale = [faint(colours[name], 0.4) for name in named] if rest else [TONES["original"]]
        colours |= dict(zip(both, pale, strict=True))
        series = both | series
    return labels, series, margins, colours


def _bars(release: Any, exact: Any, words: dict[str, Any], width: int | None = None) -> Figure:
    figure = _marks(bar, release, exact, words, width)
    lost = lost_values(release)
    if release.axes and any(lost):
        faded = np.asarray(lost, dtype=bool).reshape(release.shape[0], -1)
        for trace, faint_ones in zip(figure.data[-faded.shape[1] :], faded.T, strict=True):  # originals come first
            trace.marker.opacity = [0.4 if one else 1.0 for one in faint_ones]
    return figure


def _points(release: Any, exact: Any, words: dict[str, Any], width: int | None = None) -> Figure:
    figure = _marks(line, release, exact, words, width)
    for trace in figure.data:
        trace.update(mode="markers", marker={"size": 10}, offsetgroup=trace.name)
    # Next to each other, so that the error bars of two series do not lie on top of each other.
    figure.update_layout(scattermode="group", scattergap=0.4)
    lost = lost_values(release)
    if release.axes and any(lost):
        _fade(figure, release, lost)
    return figure


def _fade(figure: Figure, release: Any, lost: list[bool]) -> None:
    """Draw points of groups that the noise has swallowed as faint rings, and say so under them."""
    labels = axis_labels(release.axes[0])
    doubtful = np.asarray(lost, dtype=bool).reshape(len(labels), -1)
    for trace, doubts in zip(figure.data[-doubtful.shape[1] :], doubtful.T, strict=True):  # originals come first
        if trace.error_y.array is not None and doubts.any():
            trace.error_y.thickness = 1
        trace.marker.update(
            symbol=["circle-open" if doubt else "circle" for doubt in doubts],
            opacity=[0.5 if doubt else 1.0 for doubt in doubts],
            line={"width": [2 if doubt else 0 for doubt in doubts]},
        )
    told = [label for label, doubts in zip(labels, doubtful, strict=True) if doubts.all()]
    may_be_noise(figure, told, ("too", "noisy") if release.doubtful is None else ("may be", "noise"))


def _marks(build: Callable[..., Figure], release: Any, exact: Any, words: dict[str, Any], width: int | None) -> Figure:
    labels, series, margins, colours = _series(release, exact)
    x_title = _axis_title(release.axes[0]) if release.axes else ""
    figure = build(
        labels, series, margins=margins, colours=colours, x_title=x_title, y_title=_value_title(release), **words
    )
    _use_intervals(figure, release)
    fit_labels(
        figure,
        labels,
        thin=bool(release.axes) and release.axes[0].kind == "bins",
        **({"width": width} if width else {}),
    )
    if len(release.axes) == 2:
        figure.update_layout(legend={"title": {"text": _axis_title(release.axes[1])}})
    return figure


def _name_choices(figure: Figure, choices: Any) -> None:
    """Write the public keys of a mode at the y axis, where their places are drawn."""
    labels = axis_labels(choices)
    places = list(range(len(labels)))
    figure.update_yaxes(tickmode="array", tickvals=places, ticktext=labels, range=[-0.5, len(labels) - 0.5])
    for trace in figure.data:
        trace.update(
            text=[labels[int(place)] if place == place else "" for place in trace.y],
            hovertemplate="%{x}: %{text}<extra>%{fullData.name}</extra>",
        )


def _near(figure: Figure, release: Any, exact: Any) -> None:
    """Let the y axis show the intervals large: points need no zero, and next to it no margin could be seen."""
    if release.low is None or release.high is None or release.margin_unit != "value":
        return
    lost = lost_values(release)
    kept = [place for place, one in enumerate(lost) if not one] or list(range(len(lost)))
    # What the noise has swallowed does not stretch the axis: its interval may end outside.
    shown = [ends[place] for ends in (release.low, release.high) for place in kept]
    shown += [*release.values, *([] if exact is None else exact.ravel().tolist())]
    low, high = min(shown), max(shown)
    room = 0.08 * (high - low) or 1.0
    start = 0.0 if 0 <= low < room else low - room
    figure.update_yaxes(range=[start, high + room])


def _use_intervals(figure: Figure, release: Any) -> None:
    """Make the error bars end where the intervals do: they are not even where a value lies near a bound."""
    if release.low is None or release.high is None or release.margin_unit != "value":
        return
    shape = (len(release.axes[0].keys) if release.axes else 1, -1)
    values, low, high = (
        np.asarray(numbers, dtype=float).reshape(shape) for numbers in (release.values, release.low, release.high)
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


def _heatmap(release: Any, words: dict[str, Any]) -> Figure:
    down, across = release.axes
    margins = release.margin if release.margin_unit == "value" else None
    width = words.pop("width", None)
    labels = axis_labels(across)
    figure = heatmap(
        labels, axis_labels(down), release.value, margins=margins, value_title=_value_title(release),
        x_title=_axis_title(across), y_title=_axis_title(down), **words,
    )  # fmt: skip
    fit_labels(figure, labels, thin=across.kind == "bins", **({"width": width} if width else {}))
    return figure


def _tidied(release: Any) -> Any:
    return tidy_table(release)


def _boxes(release: Any, words: dict[str, Any]) -> Figure:
    # Groups that the noise alone could have made are left out: judged by noisy numbers only.
    least = max(release.margins or (0,))
    found = [one for one in box_data(release) if one.rows > 2 * least] or list(box_data(release))
    binned = next(axis for axis in reversed(release.axes) if axis.kind == "bins")
    others = [axis for axis in release.axes if axis is not binned]
    boxes = [Box(one.low, one.q1, one.median, one.q3, one.high) for one in found]
    return box(
        [one.group or "all" for one in found], {"released": boxes}, x_title=", ".join(_axis_title(a) for a in others),
        y_title=_axis_title(binned), **words,
    )  # fmt: skip


def _bubbles(release: Any, words: dict[str, Any]) -> Figure:
    across, up = release.axes
    x = [label for label in across.labels for _ in up.labels]
    y = [label for _ in across.labels for label in up.labels]
    return bubbles(
        x, y, release.values, size_title=_value_title(release), x_title=_axis_title(across),
        y_title=_axis_title(up), **words,
    )  # fmt: skip

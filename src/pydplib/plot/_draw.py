"""``draw``: a figure of whatever may leave. Releases and results are drawn, tables and arrays are refused."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from pydplib.errors import ParameterError
from pydplib.guarantee import loss_text
from pydplib.plot._figure import Figure
from pydplib.plot._parts import ORIGINAL_SHOWN
from pydplib.plot._series import bar

MOST_BINS = 40


def draw_result(result: Any, *, original: Any = None, title: str = "", x_title: str = "") -> Figure:
    """Return the counts of the noisy values: per category, or per bin of at most 40 for numbers.

    Args:
        result: A ``DPResult``.
        original: For the owner only: the column as it was, counted in the same bins.
        title: What the figure shows.
        x_title: Name of the column.
    """
    noisy = _values(result.dp_data)
    columns = {_level(result).removeprefix("noise factor "): noisy}
    if original is not None:
        columns = {"original": _values(original), **columns}
    labels, series = _count_numbers(columns) if _are_numbers(columns) else _count_labels(columns)
    return bar(
        labels,
        series,
        x_title=x_title or "value",
        y_title="records",
        title=title or f"Noisy values, {_level(result)}",
        caption=" ".join([result.guarantee.sentence, *([] if original is None else [ORIGINAL_SHOWN])]),
    )


def _level(result: Any) -> str:
    factor = getattr(result, "noise_factor", "noisy")
    if factor is None:
        return f"record epsilon {loss_text(result.record_epsilon)}"
    return f"noise factor {getattr(factor, 'name', factor)}"


def _values(column: Any) -> np.ndarray[Any, Any]:
    if not isinstance(column, np.ndarray | list | tuple) and hasattr(column, "to_numpy"):
        # Arrow copies only when asked to; to_pylist also knows its dictionaries.
        column = column.to_pylist() if hasattr(column, "to_pylist") else column.to_numpy()
    values = np.asarray(column)
    if values.dtype == object:
        plain = np.array(list(values))
        values = plain if plain.dtype != object else values
    return values


def _are_numbers(columns: dict[str, np.ndarray[Any, Any]]) -> bool:
    return all(values.dtype.kind in "iufM" for values in columns.values())


def _count_labels(columns: dict[str, np.ndarray[Any, Any]]) -> tuple[list[str], dict[str, list[float]]]:
    kept = {name: values.astype(str) for name, values in columns.items()}
    labels = sorted({label for values in kept.values() for label in np.unique(values).tolist()})
    return labels, {name: [float((values == label).sum()) for label in labels] for name, values in kept.items()}


def _count_numbers(columns: dict[str, np.ndarray[Any, Any]]) -> tuple[list[str], dict[str, list[float]]]:
    dates = any(values.dtype.kind == "M" for values in columns.values())
    kept = {
        name: (values.astype("datetime64[D]").astype(np.int64) if dates else values.astype(float))
        for name, values in columns.items()
    }
    both = np.concatenate([values[np.isfinite(values)] for values in kept.values()] or [np.zeros(0)])
    if not both.size:
        return [], {name: [] for name in columns}
    low, high = float(both.min()), float(both.max())
    width = _round_width((high - low) / MOST_BINS, whole=bool(np.all(both == np.floor(both))))
    edges = np.arange(np.floor(low / width), np.floor(high / width) + 2) * width
    counted = {name: np.histogram(values, edges)[0].astype(float).tolist() for name, values in kept.items()}
    starts = edges[:-1]
    if dates:
        return [str(np.datetime64(int(start), "D")) for start in starts], counted
    return [f"{start:.12g}" for start in starts], counted


def _round_width(least: float, *, whole: bool) -> float:
    """Return the next of 1, 2, 5 times a power of ten, so that bins are easy to read."""
    if whole or least == 0:
        least = max(least, 1.0)
    power = 10.0 ** np.floor(np.log10(least))
    width = next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-12))
    return float(width)


# Name of a class (its own or a base's) -> the function that draws it. Written as text so that
# drawing one kind imports nothing of the others; a room that adds a kind adds its line here.
_DRAWERS: dict[str, str] = {
    "AnonymizationResult": "pydplib.plot.anonymity:draw_anonymization",
    "DPResult": "pydplib.plot._draw:draw_result",
    "Release": "pydplib.plot.releases:draw_release",
}


def draw(released: Any, *, original: Any = None, **options: Any) -> Figure:
    """Return a figure of a release: aggregates with their margins, and the guarantee as the caption.

    Only what may leave is drawn. Raw columns are refused; the owner adds them to compare, by
    naming them: ``original=``.

    Args:
        released: What a session released, or what ``dp_calculate`` or ``anonymize`` returned.
        original: For the owner's eyes only: what is drawn next to it, as aggregates. The column that was made noisy;
            the exact values of a release; for an anonymized table ``True``. Whoever gets the figure then has exact
            statistics of private data.
        options: ``title=`` and whatever else the kind of release understands.

    Raises:
        ParameterError: ``released`` is not a release.

    Examples:
        >>> from pydplib import plot
        >>> plot.draw([61, 67, 70])
        Traceback (most recent call last):
        ...
        pydplib.errors.ParameterError: plot.draw takes what may leave: a release of a session, or a result of \
dp_calculate or anonymize. Got list. Make a release of it first; raw values enter a figure only as original=, for \
the owner.
    """
    for kind in type(released).__mro__:
        if kind.__module__.split(".")[0] == "pydplib" and kind.__name__ in _DRAWERS:
            module, function = _DRAWERS[kind.__name__].split(":")
            drawer = getattr(import_module(module), function)
            figure: Figure = drawer(released, original=original, **options)
            return figure
    raise ParameterError(
        "plot.draw takes what may leave: a release of a session, or a result of dp_calculate or anonymize. "
        f"Got {type(released).__name__}. "
        "Make a release of it first; raw values enter a figure only as original=, for the owner."
    )

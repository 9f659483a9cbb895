"""After the noise: tables made non-negative, whole and consistent, and figures' data made of them. Costs no privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.errors import ParameterError
from pydplib.release.results.frames import build_frame

if TYPE_CHECKING:
    from pydplib.release.results.release import Release

Floats = NDArray[np.float64]

BOX_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The five numbers of a box: whiskers hold nine tenths of the rows."""


def non_negative(values: ArrayLike, *, total: float | None = None) -> Floats:
    """Return counts of at least 0 whose sum is max(0, total): one threshold is taken off all, nothing falls below 0.

    Setting negative counts to 0 alone would make the table grow; this is the nearest table (in squares)
    that has the noisy total.

    Args:
        values: Noisy counts.
        total: The sum to keep; by default that of the noisy counts.

    Examples:
        >>> non_negative([10.0, -2.0, 1.0]).tolist()
        [9.0, 0.0, 0.0]
    """
    cells = np.asarray(values, dtype=np.float64)
    flat = cells.ravel()
    wanted = max(0.0, float(flat.sum()) if total is None else float(total))
    if not flat.size or wanted == 0:
        return np.zeros_like(cells)
    ordered = np.sort(flat)[::-1]
    excess = np.cumsum(ordered) - wanted
    steps = np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(ordered * steps >= excess)[-1])
    found: Floats = np.maximum(cells - excess[last] / (last + 1), 0.0)
    return found


def whole_numbers(values: ArrayLike) -> NDArray[np.int64]:
    """Return non-negative counts as whole numbers that keep the rounded sum: largest remainders go up.

    Examples:
        >>> whole_numbers([1.4, 1.4, 1.2]).tolist()
        [2, 1, 1]
    """
    cells = np.maximum(np.asarray(values, dtype=np.float64), 0.0)
    down = np.floor(cells).astype(np.int64)
    missing = round(float(cells.sum())) - int(down.sum())
    order = np.argsort(-(cells - down).ravel(), kind="stable")[: max(0, missing)]
    flat = down.ravel()
    flat[order] += 1
    return flat.reshape(cells.shape)


def tidy_table(release: Release) -> Release:
    """Return a table of counts as whole numbers of at least 0 whose total is the noisy one.

    Margins are kept: they are about the numbers before tidying, and tidying moves a number by less on average.

    Examples:
        >>> import pydplib as dp
        >>> table = tidy_table(dp.histogram([61, 67, 70] * 300, edges=[50, 60, 70, 80], epsilon=1.0))
        >>> all(isinstance(value, int) and value >= 0 for value in table.values)
        True
    """
    _check_counts(release)
    whole = whole_numbers(non_negative(_noisy(release)))
    return replace(release, values=tuple(int(value) for value in whole))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxData:
    """The five numbers of one group's box plot, and the group's noisy number of rows."""

    group: str
    low: float
    q1: float
    median: float
    q3: float
    high: float
    rows: float


def box_data(release: Release, *, shares: Sequence[float] = BOX_SHARES) -> tuple[BoxData, ...]:
    """Return box plots of a binned column per group, from one released table: no further privacy is spent.

    The last axis with bins is the measured one. Counts are made non-negative, and quantiles are read off the
    cumulative counts, evenly within a bin.

    Args:
        release: A histogram with groups, or a crosstab of a binned column and another.
        shares: The five shares of the box.

    Examples:
        >>> import pydplib as dp
        >>> release = dp.histogram([61, 67, 70] * 300, edges=[50, 60, 70, 80], epsilon=1.0)
        >>> 60 < box_data(release)[0].median < 70
        True
    """
    counts, axis, labels = counts_by_group(release)
    if len(shares) != 5:
        raise ParameterError("A box has five numbers: low, q1, median, q3, high.")
    edges = np.array([axis.keys[0][0], *(key[1] for key in axis.keys)], dtype=np.float64)
    boxes = []
    for label, row in zip(labels, counts, strict=True):
        low, q1, median, q3, high = interpolated(row, edges, shares).tolist()
        boxes.append(
            BoxData(group=label, low=low, q1=q1, median=median, q3=q3, high=high, rows=max(0.0, float(row.sum())))
        )
    return tuple(boxes)


def interpolated(counts: Floats, edges: Floats, shares: Sequence[float]) -> Floats:
    """Return quantiles read off the cumulative counts, evenly within a bin; NaN where there are no rows.

    Examples:
        >>> interpolated(np.array([10.0, 30.0]), np.array([50.0, 60.0, 70.0]), [0.5]).round(2).tolist()
        [63.33]
    """
    clean = non_negative(counts)
    total = float(clean.sum())
    if total <= 0:
        return np.full(len(shares), np.nan)
    reached = np.concatenate([[0.0], np.cumsum(clean)])
    # Strictly rising, so that an empty bin at the end of a step decides nothing.
    rising = reached + np.arange(len(reached)) * total * 1e-12
    found: Floats = np.interp(np.asarray(shares) * rising[-1], rising, edges)
    return found


def points(release: Release, *, backend: str | None = None) -> Any:
    """Return a table of made-up rows, evenly spread over the cells of a released table, for any plotting tool.

    Every cell contributes its tidied count of rows, spread evenly over its bins: a scatter of x against y
    looks like the data without showing a single record. Costs no privacy.

    Args:
        release: A count, histogram or crosstab with at least one axis.
        backend: ``"pandas"``, ``"polars"`` or ``"pyarrow"``.

    Examples:
        >>> import pydplib as dp
        >>> release = dp.histogram([61, 67, 70] * 300, edges=[50, 60, 70, 80], epsilon=1.0)
        >>> 850 < len(points(release, backend="pandas")) < 950
        True
    """
    _check_counts(release)
    if not release.axes:
        raise ParameterError("points() needs a table with at least one axis; this release is a single number.")
    counts = whole_numbers(non_negative(_noisy(release))).ravel()
    columns: dict[str, list[Any]] = {axis.name or "value": [] for axis in release.axes}
    for key, count in zip(release.keys, counts.tolist(), strict=True):
        for place, (axis, part) in enumerate(zip(release.axes, key, strict=True)):
            spread: list[Any]
            if axis.kind == "bins" and not isinstance(part[0], str):
                low, high = float(part[0]), float(part[1])
                # Golden-ratio steps fill the cell evenly in every axis without lining up on a diagonal.
                turns = (
                    (np.arange(count) + 0.5) / max(count, 1) if place == 0 else (np.arange(count) * 0.61803398875) % 1
                )
                spread = (low + (high - low) * turns).tolist()
            else:
                spread = [axis.label(part)] * count
            columns[axis.name or "value"].extend(spread)
    return build_frame(columns, backend or release.backend)


def _noisy(release: Release) -> tuple[float, ...]:
    """Return the counts as the noise left them: only with the negative ones is the total unbiased."""
    return release.values if release.noisy is None else release.noisy


def _check_counts(release: Release) -> None:
    if not release.is_count:
        raise ParameterError(f"A table of counts is needed: count, histogram or crosstab. Got '{release.statistic}'.")


def counts_by_group(release: Release) -> tuple[Floats, Any, list[str]]:
    """Return noisy counts of a binned number (a row per group), its axis, and the groups in words."""
    _check_counts(release)
    binned = [i for i, axis in enumerate(release.axes) if axis.kind == "bins" and not isinstance(axis.keys[0][0], str)]
    if not binned:
        raise ParameterError(
            "Box plots need a binned number: Histogram('age', by='pirads') or Crosstab('pirads', 'age')."
        )
    place = binned[-1]
    table = np.moveaxis(np.asarray(_noisy(release), dtype=np.float64).reshape(release.shape), place, -1)
    others = [axis for i, axis in enumerate(release.axes) if i != place]
    labels = [""]
    for axis in others:
        labels = [f"{label}, {name}" if label else name for label in labels for name in axis.labels]
    return table.reshape(len(labels), -1), release.axes[place], labels

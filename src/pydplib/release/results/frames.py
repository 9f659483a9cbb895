"""A release as a table, in the library that the caller works with."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from pydplib.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from pydplib.release.results.release import Release

BACKENDS = ("pandas", "polars", "pyarrow")
"""The libraries that a table can come back in."""


def release_columns(release: Release) -> dict[str, list[Any]]:
    """Return the columns of a release's table: keys first, then the numbers."""
    columns: dict[str, list[Any]] = {}
    keys = release.keys
    for position, axis in enumerate(release.axes):
        own = [key[position] for key in keys]
        if axis.kind == "bins":
            # One histogram reads "from" and "to"; several axes carry their column's name.
            prefix = f"{axis.name}_" if len(release.axes) > 1 or axis.name else ""
            columns[f"{prefix}from"] = [key[0] for key in own]
            columns[f"{prefix}to"] = [key[1] for key in own]
        else:
            columns[axis.name or "key"] = _one_type(own)
    if release.choices is None:
        columns["value"] = list(release.values)
    else:
        chosen = [release.choices.keys[int(place)] for place in release.values]
        bins = release.choices.kind == "bins"
        columns["value"] = [release.label(i) for i in range(len(chosen))] if bins else _one_type(chosen)
    often = f"{100 * release.confidence:g}"
    if release.low is not None and release.high is not None:
        columns[f"low{often}"], columns[f"high{often}"] = list(release.low), list(release.high)
    if release.population_low is not None and release.population_high is not None:
        columns[f"population_low{often}"] = list(release.population_low)
        columns[f"population_high{often}"] = list(release.population_high)
    if release.margins is not None:
        unit = "" if release.margin_unit == "value" else f"_{release.margin_unit}"
        columns[f"margin{often}{unit}"] = list(release.margins)
    return columns


def _one_type(keys: list[Any]) -> list[Any]:
    """Return keys of one type: with "other" among numbers, all become text."""
    kinds = {type(key) for key in keys if key is not None}
    return keys if len(kinds) <= 1 else [None if key is None else str(key) for key in keys]


def release_frame(release: Release, backend: str | None) -> Any:
    """Return a release as a data frame."""
    return build_frame(release_columns(release), backend)


def build_frame(columns: dict[str, list[Any]], backend: str | None) -> Any:
    """Return columns as a data frame of ``backend``, or of the first library that is installed."""
    if backend is not None and backend not in BACKENDS:
        raise ParameterError(f"Unknown backend '{backend}'.{did_you_mean(backend, BACKENDS)}")
    chosen = backend or next((name for name in BACKENDS if importlib.util.find_spec(name)), None)
    if chosen is None or importlib.util.find_spec(chosen) is None:
        raise ParameterError(
            f"A data frame needs {chosen or 'pandas, polars or pyarrow'}, which is not installed. "
            f"Install it (pip install {chosen or 'pandas'}), or use to_dict()."
        )
    if chosen == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    if chosen == "polars":
        import polars

        return polars.DataFrame(columns, strict=False)
    import pyarrow

    return pyarrow.table(columns)

"""What a figure really carries: every array in its JSON, base64 decoded, to prove that no row left."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import numpy as np


def figure_arrays(figure: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Return every array of a figure by its path, with Plotly's packed ``bdata`` decoded.

    A reader of a page has all of them, whatever the picture shows.

    Args:
        figure: A Plotly figure, its JSON text, or the dict of that.

    Examples:
        >>> from pydplib import plot
        >>> figure_arrays(plot.bar(["a", "b"], {"n": [1, 2]}))["data.0.y"]
        array([1., 2.])
    """
    if hasattr(figure, "to_json"):
        figure = figure.to_json()
    values = json.loads(figure) if isinstance(figure, str) else figure
    return dict(_walk(values, ""))


def _walk(value: Any, path: str) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if isinstance(value, dict):
        if "bdata" in value and "dtype" in value:
            packed = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
            shape = [int(size) for size in str(value.get("shape", packed.size)).split(",")]
            yield path, packed.reshape(shape)
            return
        for key, inner in value.items():
            yield from _walk(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        if value and not any(isinstance(item, dict) for item in value):
            array = np.array(value) if _is_even(value) else np.array(value, dtype=object)
            yield path, array
        for place, item in enumerate(value):
            if isinstance(item, dict):
                yield from _walk(item, f"{path}.{place}")


def _is_even(value: list[Any]) -> bool:
    """Tell whether a list is rectangular, so that NumPy can hold it as a table."""
    sizes = {len(item) if isinstance(item, list) else -1 for item in value}
    return len(sizes) == 1

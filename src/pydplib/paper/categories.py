"""Text as ordered categories: positions in a list, with an exact way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, ParameterError
from pydplib.paper.coded import Coded, check_finite
from pydplib.paper.containers import Column, Mask


def encode_categories(
    column: Column,
    values: NDArray[Any],
    missing: Mask | None,
    *,
    name: str,
    categories: Sequence[Any] | None,
) -> Coded:
    """Return text (or anything countable) as positions in an ordered list of categories.

    Args:
        column: The opened column.
        values: Its values that were kept.
        missing: Where 'missing' is a category of its own.
        name: ``"char"`` or ``"string"``.
        categories: The order; else that of the column's type, else the sorted values.
    """
    if column.family == "float":
        check_finite(values if missing is None else values[~missing])
    listed: list[Any] = values.tolist()
    gap = "" if column.family == "text" and column.missing is None else None
    if missing is not None:
        listed = [gap if absent else v for v, absent in zip(listed, missing.tolist(), strict=True)]
    unique = set(listed)
    members, ordered = _order(unique, categories if categories is not None else column.categories, gap, missing)
    if name == "char" and any(len(str(v)) != 1 for v in unique if v != gap):
        raise DataError("data_type='char' needs single characters; some values are longer. Use data_type='string'.")
    position = {member: i for i, member in enumerate(members)}
    codes = np.fromiter((position[v] for v in listed), dtype=np.int64, count=len(listed))
    return Coded(codes, name, "category", members, ordered)


def _order(
    unique: set[Any], categories: Sequence[Any] | None, gap: Any, missing: Mask | None
) -> tuple[tuple[Any, ...], bool]:
    """Return the categories in order; 'missing', where it is a category, comes last."""
    if categories is None:
        present = unique - {gap} if missing is not None else unique
        try:
            members = tuple(sorted(present))
        except TypeError:  # an int/string column: numbers before words
            members = tuple(sorted(present, key=lambda v: (isinstance(v, str), str(v))))
        return (members if missing is None else (*members, gap)), False
    members = tuple(categories)
    if isinstance(categories, str) or len(set(members)) != len(members) or len(members) < 2:
        raise ParameterError("categories= must be a list of at least two different values, in their order.")
    if missing is not None and gap not in members:
        members = (*members, gap)
    if not unique <= set(members):
        raise DataError(
            f"Some values are not among the {len(categories)} categories given. Correct them, "
            "or add what is missing to categories=."
        )
    return members, True

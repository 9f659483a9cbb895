"""Text as ordered categories: positions in a list, with an exact way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, ParameterError
from pydplib.noise import uniform_below
from pydplib.paper.coded import Coded, check_finite
from pydplib.paper.containers import Column, Mask

OTHER = "other"
"""Where it is a declared category, values that are none of the others count as it."""


def encode_categories(
    column: Column,
    values: NDArray[Any],
    missing: Mask | None,
    *,
    name: str,
    categories: Sequence[Any] | None,
    with_missing: bool,
    public: bool = False,
) -> Coded:
    """Return text (or anything countable) as positions in an ordered list of categories.

    Args:
        column: The opened column.
        values: Its values that were kept.
        missing: Where a value is missing.
        name: ``"char"`` or ``"string"``.
        categories: The order; else that of the column's type, else the sorted values.
        with_missing: Whether 'missing' is a category of its own.
        public: Whether a value that is no declared category must not fail: see ``encode``.
    """
    if column.family == "float" and not public:
        check_finite(values if missing is None else values[~missing])
    declared = None if categories is None else check_categories(categories)
    gap = _gap(column, declared)  # of declared categories no value decides it
    listed: list[Any] = values.tolist()
    if missing is not None:
        listed = [gap if absent else v for v, absent in zip(listed, missing.tolist(), strict=True)]
    unique = set(listed)
    if declared is None:
        members = _from_data(unique, column, gap, missing)
    else:
        # Appended whether or not a value is missing: the number of categories decides the noise, and must be public.
        members = (*declared, gap) if with_missing and gap not in declared else declared
        if public:
            listed = _known(listed, members)
            unique = set(listed)
        elif not unique <= set(members):
            raise DataError(
                f"Some values are not among the {len(declared)} categories given. Correct them, "
                "or add what is missing to categories=."
            )
    if name == "char" and any(len(str(v)) != 1 for v in unique if v != gap):
        raise DataError("data_type='char' needs single characters; some values are longer. Use data_type='string'.")
    position = {member: i for i, member in enumerate(members)}
    codes = np.fromiter((position[v] for v in listed), dtype=np.int64, count=len(listed))
    occurring = declared is None and column.categories is None
    return Coded(codes, name, "category", members, declared=declared is not None, occurring=occurring)


def _known(listed: list[Any], members: tuple[Any, ...]) -> list[Any]:
    """Return values among the members: others become "other", or a member at random, which says nothing of them.

    An error would tell that such a record is there. Randomised response of a random member is a random member, which
    no more than e^epsilon separates from the response of any value.
    """
    known = set(members)
    gone = [place for place, value in enumerate(listed) if value not in known]
    if not gone:
        return listed
    drawn = [OTHER] * len(gone) if OTHER in known else [members[i] for i in uniform_below(len(members), len(gone))]
    out = list(listed)
    for place, value in zip(gone, drawn, strict=True):
        out[place] = value
    return out


def check_categories(categories: Sequence[Any]) -> tuple[Any, ...]:
    """Return declared categories, or say what they must be."""
    try:
        members = () if isinstance(categories, str) else tuple(categories)
        different = len(set(members)) == len(members)
    except TypeError:  # no list, or a list of lists
        members, different = (), False
    if not different or len(members) < 2:
        raise ParameterError("categories= must be a list of at least two different values, in their order.")
    return members


def _gap(column: Column, declared: tuple[Any, ...] | None) -> Any:
    """Return what stands for 'missing': what the caller declared, '' beside declared text, else as it came."""
    if declared is not None:
        known = [member for member in declared if member is None or member == ""]
        return known[0] if known else "" if all(isinstance(member, str) for member in declared) else None
    return "" if column.family == "text" and column.missing is None else None


def _from_data(unique: set[Any], column: Column, gap: Any, missing: Mask | None) -> tuple[Any, ...]:
    """Return the categories in the order of the column's own type, else sorted; 'missing' comes last."""
    present = unique - {gap} if missing is not None else unique
    if column.categories is not None:
        members = column.categories
    else:
        try:
            members = tuple(sorted(present))
        except TypeError:  # an int/string column: numbers before words
            members = tuple(sorted(present, key=lambda v: (isinstance(v, str), str(v))))
    return members if missing is None else (*members, gap)

"""Verify a table as it is: which k, l, t, beta and delta it has, whoever made it and however."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from pydplib._shown import Shown
from pydplib.anonymity.frames import Coded, Frame, with_labels
from pydplib.anonymity.hierarchies import Hierarchy
from pydplib.anonymity.measures import SensitiveMeasures, measure_spread
from pydplib.anonymity.spellings import SeenFrame
from pydplib.anonymity.unnamed import ColumnFinding, check_roles, find_unnamed
from pydplib.anonymity.view import look_at, spread_of
from pydplib.errors import ParameterError


@dataclass(frozen=True)
class Across:
    """What several releases of one table show together.

    Attributes:
        k: The fewest people who can be in one class here and one class of an earlier release.
        l_distinct: The fewest sensitive values that fit both, per sensitive column.
        appeared: The fewest people in a comparable part who are new since the earlier release; 0: none.
        vanished: The fewest people in a comparable part who are gone; 0: none.
    """

    k: int
    l_distinct: Mapping[str, int]
    appeared: int
    vanished: int


@dataclass(frozen=True, repr=False)
class Verification(Shown):
    """What a table guarantees as it is.

    Attributes:
        rows: Number of rows.
        people: Number of people (rows, unless a person column was named).
        classes: Number of classes of equal quasi-identifiers.
        k: People in the smallest class; 0 for an empty table.
        sensitive: Per sensitive column, alpha, l, t, beta and delta.
        quasi_identifiers: The columns that formed the classes.
        missing: How missing and alike cells were treated.
        across: What holds together with earlier releases, if any were given.
        columns: What columns give away that nobody gave a role; see ``unnamed``.

    Examples:
        >>> import pandas as pd
        >>> found = verify(pd.DataFrame({"age": [30, 30, 40, 40]}), quasi_identifiers=["age"])
        >>> found.k
        2
    """

    rows: int
    people: int
    classes: int
    k: int
    sensitive: Mapping[str, SensitiveMeasures]
    quasi_identifiers: tuple[str, ...]
    missing: str = "a missing cell is a value of its own; what can be told apart is apart"
    across: Across | None = None
    columns: tuple[ColumnFinding, ...] = ()

    @property
    def unnamed(self) -> tuple[ColumnFinding, ...]:
        """The columns without a role that may name people: nothing is certain until each has one."""
        return tuple(found for found in self.columns if found.names_people or found.blocks)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", MappingProxyType(dict(self.sensitive)))

    def __str__(self) -> str:
        lines = [f"{self.k}-anonymity: {self.classes} classes of {', '.join(self.quasi_identifiers)} ({self.missing})."]
        for name, m in self.sensitive.items():
            tree = "" if m.t_hierarchical is None else f", {m.t_hierarchical:.4f} (hierarchical)"
            lines.append(
                f"{name}: alpha {m.alpha:.4f}; l {m.l_distinct} (distinct), {m.l_entropy:.4f} (entropy), "
                f"recursive (c, 2) {_beyond(m.recursive(2))}; "
                f"t {m.t_equal:.4f} (equal), {m.t_ordered:.4f} (ordered){tree}; beta {m.beta:.4f}; "
                f"delta {m.delta:.4f} (log2)."
            )
        if self.across is not None:
            a = self.across
            lines.append(
                f"Together with earlier releases: {a.k}-anonymity; "
                + "".join(f"{name}: l {value}; " for name, value in a.l_distinct.items())
                + f"smallest group that appeared {a.appeared or 'none'}, that vanished {a.vanished or 'none'}."
            )
        lines += [found.sentence for found in self.unnamed]
        return "\n".join(lines)


def _beyond(c: float) -> str:
    return f"for c above {c:.4f}" if math.isfinite(c) else "for no c"


def names_of(columns: Any, what: str) -> tuple[str, ...]:
    """Return column names from a name, a list or a mapping, each once."""
    if columns is None:
        return ()
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if len(set(names)) != len(names):
        raise ParameterError(f"A column is named twice among the {what}.")
    if not all(isinstance(name, str) for name in names):
        raise ParameterError(f"The {what} are names of columns.")
    return names


def verify(
    table: Any,
    quasi_identifiers: Sequence[str] | Mapping[str, Any],
    sensitive: str | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    person: str | None = None,
    linked: bool = False,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    previous: Sequence[Any] = (),
    insensitive: str | Sequence[str] = (),
    identifiers: str | Sequence[str] = (),
    original: Any = None,
) -> Verification:
    """Return k, alpha, l, t, beta and delta of a table as it is; it may be generalized or raw.

    Classes are made of what a reader can tell apart: null and NaN are two values, so are 0.0 and -0.0, 1 and "1" in a
    mixed column, and ``1.0`` and ``1.00``, ``01`` and ``1`` in a CSV file. Sensitive values are compared by what they
    mean, so that another spelling is not taken for diversity.

    Args:
        table: A data frame, DuckDB relation or path.
        quasi_identifiers: The columns that an outsider may know. As a mapping to hierarchies, earlier
            releases with other levels can be compared.
        sensitive: The columns to measure.
        person: The column that says whose row it is; None: one row is one person.
        linked: Whether an outsider sees which rows belong together (a consistent pseudonym).
        hierarchies: Per sensitive column, a hierarchy for the hierarchical distance.
        orders: Per sensitive column, all values in order, for the ordered distance.
        previous: Earlier releases of the same table: results of ``anonymize`` or frames.
        insensitive: Columns that are harmless. Those without a role are looked at: names, hashes, row numbers and the
            like are in ``Verification.unnamed``.
        identifiers: Columns that name people, of this table or of the original.
        original: The table that this one was made from; columns without a role are joined with it.

    Examples:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"zip": ["81*", "81*", "82*"], "ill": ["flu", "burn", "flu"]})
        >>> print(verify(table, ["zip"], "ill").k)
        1
    """
    frame = SeenFrame(with_labels(table))
    names = names_of(quasi_identifiers, "quasi-identifiers")
    watched = names_of(sensitive, "sensitive columns")
    frame.check_columns(names, "quasi-identifier")
    frame.check_columns(watched, "sensitive")
    owner = None
    if person is not None:
        frame.check_columns([person], "person")
        owner = person_codes(frame.coded(person))
    elif linked:
        raise ParameterError("linked=True needs person=, the column that links the rows.")
    view = look_at(frame, names, person=owner, linked=linked)
    measured = {
        name: measure_spread(
            spread_of(view, frame.coded(name)),
            order=(orders or {}).get(name),
            hierarchy=(hierarchies or {}).get(name),
        )
        for name in watched
    }
    across = None
    if previous:
        from pydplib.anonymity.across import compare_releases

        trees = (
            {n: h for n, h in quasi_identifiers.items() if h is not None}
            if isinstance(quasi_identifiers, Mapping)
            else {}
        )
        across = compare_releases(frame, names, watched, previous, trees)
    behind = None if original is None else Frame(with_labels(original))
    columns = look_at_others(
        frame, behind, quasi=names, sensitive=watched, insensitive=insensitive, identifiers=identifiers, person=person
    )
    return Verification(
        rows=len(frame),
        people=view.people,
        classes=view.classes,
        k=int(view.size.min()) if len(view.size) else 0,
        sensitive=measured,
        quasi_identifiers=names,
        across=across,
        columns=columns,
    )


def look_at_others(
    frame: Frame,
    original: Frame | None,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    insensitive: str | Sequence[str],
    identifiers: str | Sequence[str],
    person: str | None,
) -> tuple[ColumnFinding, ...]:
    """Return what columns give away that nobody gave a role."""
    harmless, naming = names_of(insensitive, "insensitive columns"), names_of(identifiers, "identifiers")
    roles = {"quasi-identifier": quasi, "sensitive": sensitive, "insensitive": harmless, "identifier": naming}
    check_roles([*frame.columns, *([] if original is None else original.columns)], roles)
    return find_unnamed(
        frame, quasi=quasi, named=harmless, sensitive=sensitive, identifiers=naming, original=original, person=person
    )


def person_codes(column: Coded) -> Any:
    """Return whose row each is; rows of nobody in particular are each somebody else."""
    if None not in column.values:
        return column.codes
    codes = column.codes.copy()
    lost = np.flatnonzero(codes == len(column.values) - 1)
    codes[lost] = len(column.values) - 1 + np.arange(len(lost))
    return codes

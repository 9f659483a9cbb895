"""Verify a table as it is: which k, l, t, beta and delta it has, whoever made it and however."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from pydplib._shown import Shown
from pydplib.anonymity.assessment.measures import SensitiveMeasures, measure_spread
from pydplib.anonymity.assessment.unnamed_columns import ColumnFinding, check_roles, find_unnamed
from pydplib.anonymity.hierarchies.base import Hierarchy
from pydplib.anonymity.hierarchies.cells import meeting
from pydplib.anonymity.tables.columns import Bools, Ints
from pydplib.anonymity.tables.frames import ColumnCodes, Frame, SeenFrame, with_labels
from pydplib.anonymity.tables.view import look_at, number_rows, one_of_each, spread_of
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


@dataclass(frozen=True, repr=False, kw_only=True)
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


def person_codes(column: ColumnCodes) -> Any:
    """Return whose row each is; rows of nobody in particular are each somebody else."""
    if None not in column.values:
        return column.codes
    codes = column.codes.copy()
    lost = np.flatnonzero(codes == len(column.values) - 1)
    codes[lost] = len(column.values) - 1 + np.arange(len(lost))
    return codes


def compare_releases(
    frame: SeenFrame, names: Sequence[str], watched: Sequence[str], previous: Sequence[Any], trees: Mapping[str, Any]
) -> Across:
    """Measure what this release and earlier ones show together to somebody who has them all.

    For every pair of classes that can hold the same person (their cells can mean the same values), at most as
    many people can be in both as both have of each combination of sensitive values. Parts of the tables that are
    closed against each other are compared as a whole: people who appeared or vanished there must be many too.
    """
    k, appeared, vanished = np.inf, np.inf, np.inf
    diverse: dict[str, float] = dict.fromkeys(watched, np.inf)
    now = _summary(frame, names, watched)
    for item in previous:
        earlier = SeenFrame(getattr(item, "data", item))
        earlier.check_columns([*names, *watched], "in an earlier release")
        then = _summary(earlier, names, watched)
        sure, together = _meeting_classes(now, then, names, trees)
        ours, theirs = _shared_counts(now, then)
        values = now.value_of_cell(then, watched)
        for i, j in zip(*np.nonzero(together), strict=True):
            common = np.minimum(ours[i], theirs[j])
            if common.sum() > 0:
                k = min(k, int(common.sum()))
                for column, of_cell in values.items():
                    diverse[column] = min(diverse[column], len(np.unique(of_cell[common > 0])))
        parts = _closed_parts(together)
        if not np.array_equal(sure, together):
            parts += _closed_parts(sure)  # smaller parts show more: whichever is right, the worst counts
        for mine, other in parts:
            change = ours[mine].sum(axis=0) - theirs[other].sum(axis=0)
            new, left = int(np.maximum(change, 0).sum()), int(np.maximum(-change, 0).sum())
            appeared = min(appeared, new) if new else appeared
            vanished = min(vanished, left) if left else vanished
    return Across(
        _finite(k), {name: _finite(value) for name, value in diverse.items()}, _finite(appeared), _finite(vanished)
    )


def _finite(value: float) -> int:
    return int(value) if np.isfinite(value) else 0


@dataclass(eq=False)
class _Summary:
    """Classes of one release: their cells, and counts of combinations of sensitive values."""

    cells: list[ColumnCodes]
    first: Ints
    counts: dict[tuple[Any, ...], Ints]
    classes: int

    def combinations(self, other: _Summary) -> list[tuple[Any, ...]]:
        return list(dict.fromkeys([*self.counts, *other.counts]))

    def value_of_cell(self, other: _Summary, watched: Sequence[str]) -> dict[str, Ints]:
        out = {}
        for place, name in enumerate(watched):
            number: dict[Any, int] = {}
            cells = [number.setdefault(c[place], len(number)) for c in self.combinations(other)]
            out[name] = np.array(cells, dtype=np.int64)
        return out


def _summary(frame: SeenFrame, names: Sequence[str], watched: Sequence[str]) -> _Summary:
    cells = [frame.seen(name) for name in names]
    of_row = number_rows(cells, len(frame))
    first = one_of_each(of_row)
    classes = len(first)
    secret = [frame.coded(name) for name in watched]
    number = number_rows(secret, len(frame)) if secret else np.zeros(len(frame), dtype=np.int64)
    one = one_of_each(number)
    kinds = len(one)
    table = np.bincount(of_row * max(kinds, 1) + number, minlength=classes * kinds).reshape(classes, kinds)
    counts = {tuple(c.values[c.codes[row]] for c in secret): table[:, i] for i, row in enumerate(one.tolist())}
    return _Summary(cells, first, counts, classes)


def _shared_counts(now: _Summary, then: _Summary) -> tuple[Ints, Ints]:
    """Return people per class and combination of sensitive values, of both releases in one numbering."""
    every = now.combinations(then)
    out = []
    for part in (now, then):
        empty = np.zeros(part.classes, dtype=np.int64)
        columns = [part.counts.get(key, empty) for key in every]
        out.append(np.stack(columns, axis=1) if columns else np.zeros((part.classes, 0), dtype=np.int64))
    return out[0], out[1]


def _meeting_classes(
    now: _Summary, then: _Summary, names: Sequence[str], trees: Mapping[str, Any]
) -> tuple[Bools, Bools]:
    """Return which classes surely and which possibly hold the same person."""
    sure = np.ones((now.classes, then.classes), dtype=bool)
    possible = sure.copy()
    for mine, theirs, name in zip(now.cells, then.cells, names, strict=True):
        certain, likely = meeting(mine.values, theirs.values, trees.get(name), column=name)
        if now.classes and then.classes:
            cells = np.ix_(mine.codes[now.first], theirs.codes[then.first])
            sure &= certain[cells]
            possible &= likely[cells]
    return sure, possible


def _closed_parts(together: Bools) -> list[tuple[Ints, Ints]]:
    """Return the connected parts of the graph of classes that can meet."""
    rows, columns = together.shape
    todo, out = set(range(rows)), []
    open_columns = set(range(columns))
    while todo:
        mine: set[int] = {todo.pop()}
        theirs: set[int] = set()
        new_rows = set(mine)
        while new_rows:
            reached = np.flatnonzero(together[sorted(new_rows)].any(axis=0))
            new_columns = set(reached.tolist()) - theirs
            theirs |= new_columns
            found = set(np.flatnonzero(together[:, sorted(new_columns)].any(axis=1)).tolist()) if new_columns else set()
            new_rows = found - mine
            mine |= new_rows
        todo -= mine
        open_columns -= theirs
        out.append((np.array(sorted(mine), dtype=np.int64), np.array(sorted(theirs), dtype=np.int64)))
    out.extend((np.zeros(0, dtype=np.int64), np.array([column], dtype=np.int64)) for column in sorted(open_columns))
    return out

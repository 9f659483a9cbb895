"""A table as an outsider sees it: classes of equal cells and dense counts of sensitive values.

Used to verify and to certify. It shares no grouping or model code with the search, so that a fault there
is found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pydplib.anonymity.tables.columns import Floats, Ints
from pydplib.anonymity.tables.frames import ColumnCodes, SeenFrame
from pydplib.errors import DataError

_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class View:
    """Classes of a table.

    Attributes:
        rows: Number of rows.
        of_row: Class of every row.
        size: People per class.
        person: Person of every row where several rows can belong to one, else None.
        counted: Number of people, where an engine counted them.
    """

    rows: int
    of_row: Ints
    size: Ints
    person: Ints | None = None
    _: KW_ONLY
    counted: int | None = None

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.size)

    @property
    def people(self) -> int:
        """Number of people."""
        if self.counted is not None:
            return self.counted
        return self.rows if self.person is None else int(self.person.max(initial=-1)) + 1

    def __repr__(self) -> str:
        return "View()"


def number_rows(columns: Sequence[ColumnCodes], rows: int) -> Ints:
    """Give equal rows equal numbers 0, 1, ...

    Mixed-radix keys, made dense with ``np.unique`` whenever they would leave 64 bits.
    """
    key = np.zeros(rows, dtype=np.int64)
    radix = 1
    for column in columns:
        width = len(column.values) or 1
        if radix * width >= 1 << 62:
            dense, key = np.unique(key, return_inverse=True)
            radix = len(dense)
        key = key * width + column.codes
        radix *= width
    if radix <= 4 * rows + 1024:
        seen = np.zeros(radix, dtype=bool)
        seen[key] = True
        return (np.cumsum(seen) - 1)[key]
    shift = int(rows).bit_length()
    if radix.bit_length() + shift > 62:
        return np.searchsorted(np.unique(key), key).astype(np.int64, copy=False)
    # The row number rides in the low bits of the key: a plain sort is far faster than an indirect one.
    packed = np.sort((key << shift) + np.arange(rows))
    fresh = np.diff(packed >> shift, prepend=-1) != 0
    out = np.empty(rows, dtype=np.int64)
    out[packed & ((1 << shift) - 1)] = np.cumsum(fresh) - 1
    return out


def dense(codes: Ints) -> Ints:
    """Number codes 0, 1, ... without gaps.

    Examples:
        >>> dense(np.array([7, 3, 7])).tolist()
        [1, 0, 1]
    """
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def one_of_each(numbers: Ints) -> Ints:
    """Return one place of every number 0, 1, ... that occurs.

    Examples:
        >>> one_of_each(np.array([1, 0, 1])).tolist()
        [1, 2]
    """
    out = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
    out[numbers] = np.arange(len(numbers))
    return out


def look_at(frame: SeenFrame, names: Sequence[str], *, person: Ints | None = None, linked: bool = False) -> View:
    """Form the classes of a table by what can be told apart in some columns, counting persons where they are given."""
    if not names:
        raise DataError("Name at least one quasi-identifier.")
    columns = [frame.seen(name) for name in names]
    return view_of(columns, len(frame), person=person, linked=linked)


def view_of(columns: Sequence[ColumnCodes], rows: int, *, person: Ints | None = None, linked: bool = False) -> View:
    """Form classes from coded columns."""
    cells = number_rows(columns, rows)
    if person is None or not rows:
        return View(rows, cells, np.bincount(cells).astype(np.int64) if rows else np.zeros(0, np.int64))
    people = int(person.max()) + 1
    if linked:
        order = np.lexsort((cells, person))
        cuts = np.flatnonzero(np.diff(person[order], prepend=-1))[1:]
        profiles: dict[bytes, int] = {}
        # Exact and simple: the sorted rows of a person are her profile.
        numbers = [profiles.setdefault(part.tobytes(), len(profiles)) for part in np.split(cells[order], cuts)]
        of_person = np.array(numbers, dtype=np.int64)
        return View(rows, of_person[person], np.bincount(of_person), person)
    pairs = np.unique(np.stack((cells, person)), axis=1)
    return View(rows, cells, np.bincount(pairs[0], minlength=int(cells.max()) + 1), person if people < rows else None)


@dataclass(frozen=True, eq=False, kw_only=True)
class Spread:
    """Sensitive values of a view: dense counts per class, in blocks of classes."""

    view: View
    column: ColumnCodes
    domain: tuple[Any, ...]
    share: Floats
    entries: tuple[Ints, Ints]
    weight: Ints | None = None

    def blocks(self) -> Iterator[tuple[Ints, Floats]]:
        """Yield (classes, counts per class and value of the domain)."""
        owner, value = self.entries
        m, classes = max(len(self.domain), 1), self.view.classes
        step = max(_BLOCK // m, 1)
        if classes <= step:
            flat = np.bincount(owner * m + value, self.weight, minlength=classes * m)
            yield np.arange(classes), flat.reshape(classes, m).astype(np.float64)
            return
        order = np.argsort(owner, kind="stable")
        owner, value = owner[order], value[order]
        weight = None if self.weight is None else self.weight[order]
        for first in range(0, classes, step):
            last = min(first + step, classes)
            low, high = np.searchsorted(owner, [first, last])
            part = None if weight is None else weight[low:high]
            flat = np.bincount((owner[low:high] - first) * m + value[low:high], part, minlength=(last - first) * m)
            yield np.arange(first, last), flat.reshape(last - first, m).astype(np.float64)


def spread_of(view: View, column: ColumnCodes, reference: Mapping[Any, float] | None = None) -> Spread:
    """Collect the sensitive values of a view; ``reference`` is another table's distribution to compare with."""
    owner, value = view.of_row, column.codes
    if view.person is not None:
        triples = np.unique(np.stack((owner, view.person, value)), axis=1)
        owner, value = triples[0], triples[2]
        once = np.unique(np.stack((view.person, column.codes)), axis=1)[1]
    else:
        once = value
    counts = np.bincount(once, minlength=len(column.values))
    return spread_against(view, column, owner, value, None, counts, reference)


def spread_against(
    view: View,
    column: ColumnCodes,
    owner: Ints,
    value: Ints,
    weight: Ints | None,
    counts: Any,
    reference: Mapping[Any, float] | None,
) -> Spread:
    """Return the spread of (class, value) entries against the table's own or another distribution."""
    if reference is None:
        share = counts / max(int(counts.sum()), 1)
        return Spread(
            view=view, column=column, domain=column.values, share=share, entries=(owner, value), weight=weight
        )
    domain = tuple(dict.fromkeys([*reference, *column.values]))
    place = {item: i for i, item in enumerate(domain)}
    renumber = np.array([place[item] for item in column.values], dtype=np.int64)
    share = np.array([reference.get(item, 0.0) for item in domain])
    return Spread(
        view=view,
        column=column,
        domain=domain,
        share=share,
        entries=(owner, renumber[value] if len(renumber) else value),
        weight=weight,
    )

"""People with several rows: whom a released row could be, counted in people instead of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pydplib.anonymity.tables.columns import Ints
from pydplib.anonymity.tables.frames import Coded
from pydplib.anonymity.tables.view import view_of
from pydplib.attack._join import MOST_PAIRS, TooManyPairs
from pydplib.attack._lists import expand
from pydplib.attack._released import Classes, Entries, count_people, distinct_pairs


def spread_lists(index: Ints, start: Ints, items: Ints) -> tuple[Ints, Ints]:
    """Return, for the lists ``items[start[i]:start[i + 1]]`` of every i in ``index``, (place in index, item).

    Raises:
        TooManyPairs: There would be more than memory is made for.

    Examples:
        >>> places, items = spread_lists(np.array([1, 0]), np.array([0, 1, 3]), np.array([7, 8, 9]))
        >>> places.tolist(), items.tolist()
        ([0, 0, 1], [8, 9, 7])
    """
    if int((start[index + 1] - start[index]).sum()) > MOST_PAIRS:
        raise TooManyPairs
    place, at = expand(index, start)
    return place, items[at]


def count_known(classes: Classes, pool: Ints, start: Ints, members: Ints, owner: Ints) -> Classes:
    """Return classes that count people where the release itself does not say whose rows belong together.

    Of the known rows that fit a class, so many belong to so many people: the released rows there are taken to be as
    many people in proportion. Exact where the known people are those of the release and every row fits one class.
    """
    if classes.of_row is None:
        return classes
    inside = pool >= 0
    rows = np.bincount(pool[inside], minlength=len(start) - 1)[np.repeat(np.arange(len(start) - 1), np.diff(start))]
    fit = np.bincount(members, weights=rows, minlength=classes.number)
    whose, at = distinct_pairs(owner[inside], pool[inside])
    place, member = spread_lists(at, start, members)
    people = np.bincount(distinct_pairs(whose[place], member)[1], minlength=classes.number)
    share = np.where(fit > 0, people / np.maximum(fit, 1.0), 1.0)
    entries = {
        name: Entries(one.owner, one.value, one.count * share[one.owner], one.domain)
        for name, one in classes.entries.items()
    }
    return replace(classes, size=np.round(classes.size * share, 9), entries=entries)


def by_person(classes: Classes) -> Classes:
    """Return a release in which every class is one person with all of her rows: what a pseudonym shows."""
    whose = classes.person_of_row
    assert whose is not None
    entries = {
        name: count_people(whose, classes.values_of_row[name], whose, one.domain)
        for name, one in classes.entries.items()
    }
    number = int(whose.max(initial=-1)) + 1
    _, start, _ = profiles_of(classes)
    alike = int(np.diff(start).min(initial=number))
    return replace(classes, cells=(), size=np.ones(number), entries=entries, of_row=whose, alike=alike)


def profiles_of(classes: Classes) -> tuple[Ints, Ints, Ints]:
    """Return, per released row, the number of its person's set of rows; and the people of each such set, as lists."""
    assert classes.of_row is not None and classes.person_of_row is not None
    cells = Coded("cells", classes.of_row, tuple(range(classes.number)))
    profile = view_of([cells], len(classes.of_row), person=classes.person_of_row, linked=True).of_row
    of_profile, people = distinct_pairs(profile, classes.person_of_row)
    start = np.searchsorted(of_profile, np.arange(int(profile.max(initial=-1)) + 2)).astype(np.int64)
    return profile, start, people


def match_people(left: Ints, right: Ints, row_kind: Ints, owner: Ints, classes: Classes) -> tuple[Ints, Ints, int]:
    """Return the pairs (known person, released person) where every known row of the one fits a row of the other.

    Args:
        left: Kinds of known rows that fit ...
        right: ... these classes, pair by pair.
        row_kind: The kind of every known row.
        owner: Whose known row each is.
        classes: The release, which says whose rows belong together.
    """
    assert classes.of_row is not None and classes.person_of_row is not None
    of_class, there = distinct_pairs(classes.of_row, classes.person_of_row)
    start = np.searchsorted(of_class, np.arange(classes.number + 1)).astype(np.int64)
    place, other = spread_lists(right, start, there)
    kind, other = distinct_pairs(left[place], other)
    begin = np.searchsorted(kind, np.arange(int(row_kind.max(initial=-1)) + 2)).astype(np.int64)
    person, known = distinct_pairs(owner, row_kind)
    place, fits = spread_lists(known, begin, other)
    width = int(classes.person_of_row.max(initial=-1)) + 1
    keys, times = np.unique(person[place] * max(width, 1) + fits, return_counts=True)
    number = int(owner.max(initial=-1)) + 1
    wanted = np.bincount(person, minlength=number)
    good = keys[times == wanted[keys // max(width, 1)]] if len(keys) else keys
    return good // max(width, 1), good % max(width, 1), number

"""Whom a released row could be: known people met with released classes, and what is known about each of them then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pydplib.anonymity.frames import Coded, Frame
from pydplib.anonymity.resolved import Bools, Floats, Ints
from pydplib.anonymity.view import number_rows
from pydplib.attack._join import TooManyPairs, join_classes
from pydplib.attack._relation import relate
from pydplib.attack._released import Classes, Entries, columns_of, count_entries, plain_column, read_release
from pydplib.errors import DataError, ParameterError

_SEED = 20_240_229  # the sample of people in a table too ambiguous to match as a whole: the same in every run


@dataclass(frozen=True, eq=False)
class Cases:
    """People who are in the same situation: same candidates, same true value.

    Attributes:
        pool: Their set of candidates; -1 where no released row fits.
        truth: Their true value, counted into ``domain``.
        people: How many they are; a fraction where the truth is only known as a distribution.
        entries: Sensitive values of every pool's candidates.
        size: Candidates of every pool.
    """

    pool: Ints
    truth: Ints
    people: Floats
    entries: Entries
    size: Floats

    @property
    def total(self) -> float:
        """Number of people."""
        return float(self.people.sum())

    @cached_property
    def prior(self) -> Floats:
        """How the true values are spread over all people: what somebody can know without the release."""
        return np.bincount(self.truth, weights=self.people, minlength=len(self.entries.domain)) / max(self.total, 1e-9)

    @property
    def usual(self) -> int:
        """The most common true value: the best blind guess."""
        return int(self.prior.argmax()) if len(self.prior) else 0

    @property
    def blind(self) -> float:
        """How often the best blind guess is right."""
        return float(self.prior.max(initial=0.0))

    def share(self, right: Bools) -> float:
        """Return the share of people in cases where something holds."""
        return float(self.people[right].sum() / max(self.total, 1e-9))

    @cached_property
    def belief(self) -> Floats:
        """Per case, the share of its candidates that have the true value; the prior where there are none."""
        width = max(len(self.entries.domain), 1)
        keys = self.entries.owner * width + self.entries.value
        wanted = self.pool * width + self.truth
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        found = (keys[place] == wanted) if len(keys) else np.zeros(len(wanted), dtype=bool)
        count = np.where(found, self.entries.count[place] if len(keys) else 0.0, 0.0)
        inside = self.pool >= 0
        size = np.where(inside, self.size[np.maximum(self.pool, 0)] if len(self.size) else 1.0, 1.0)
        return np.where(inside, count / np.maximum(size, 1e-9), self.prior[self.truth])

    def __repr__(self) -> str:
        return f"Cases({len(self.pool)})"


@dataclass(frozen=True, eq=False)
class Candidates:
    """Known people and the released classes that could hold each of them.

    Attributes:
        classes: The release.
        pool: Per known person, the number of the set of classes; -1 for none.
        start: Bounds of each set in ``members``.
        members: The classes of every set, one after the other.
        truth: Per sensitive column that is known, the people's true values.
        given: Whether the people were given (else they are those of the release itself).
        everybody: How many people were given; more than ``pool`` has where only a sample was matched.
    """

    classes: Classes
    pool: Ints
    start: Ints
    members: Ints
    truth: Mapping[str, Coded] = field(default_factory=dict)
    given: bool = True
    everybody: int = 0
    rows: Ints | None = None

    def __repr__(self) -> str:
        return f"Candidates({len(self.pool)} people, {self.classes.number} classes)"

    @cached_property
    def size(self) -> Floats:
        """Released people in every set."""
        owner = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return np.bincount(owner, weights=self.classes.size[self.members], minlength=len(self.start) - 1).astype(
            np.float64
        )

    @cached_property
    def people(self) -> Floats:
        """Known people per set."""
        return np.bincount(self.pool[self.pool >= 0], minlength=len(self.start) - 1).astype(np.float64)

    @property
    def unfit(self) -> float:
        """The share of released people whose cells fit nobody who is known."""
        reached = np.zeros(self.classes.number, dtype=bool)
        reached[self.members] = True
        return float(self.classes.size[~reached].sum() / max(self.classes.people, 1.0))

    @property
    def scale(self) -> float:
        """Given people per matched one: above 1 where a sample was matched."""
        return max(self.everybody, len(self.pool)) / max(len(self.pool), 1)

    def entries(self, name: str) -> Entries:
        """Return the sensitive values of every set's candidates."""
        own = self.classes.entries[name]
        number = np.bincount(own.owner, minlength=self.classes.number)
        start = np.concatenate([[0], np.cumsum(number)])
        count = number[self.members]
        owner = np.repeat(np.repeat(np.arange(len(self.start) - 1), np.diff(self.start)), count)
        place = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        place = place + np.repeat(start[self.members], count)
        return count_entries(owner, own.value[place], own.count[place], own.domain)

    def cases(self, name: str) -> Cases:
        """Return the people in the same situation, for one sensitive column."""
        entries = self.entries(name)
        if name not in self.truth:
            return self._expected(entries)
        truth = self.truth[name]
        place = {text: i for i, text in enumerate(entries.domain)}
        number = np.array([place.setdefault(text, len(place)) for text in truth.values], dtype=np.int64)
        codes = number[truth.codes] if len(number) else truth.codes
        made = count_entries(self.pool + 1, codes, None, tuple(place))
        wide = Entries(entries.owner, entries.value, entries.count, tuple(place))
        return Cases(made.owner - 1, made.value, made.count, wide, self.size)

    def _expected(self, entries: Entries) -> Cases:
        """People whose true value is not known: as the release says it is spread among their candidates."""
        if not (self.pool >= 0).any():
            raise DataError("No released row fits any of the known people, and their true values are not known.")
        chance = entries.count / np.maximum(self.size[entries.owner], 1e-9)
        people = chance * self.people[entries.owner]
        return Cases(entries.owner, entries.value, people, entries, self.size)


def find_candidates(
    released: Any,
    known: Any = None,
    *,
    quasi_identifiers: Any = None,
    sensitive: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> tuple[Candidates, tuple[str, ...]]:
    """Match known people with a release; return the candidates and the sensitive columns.

    Args:
        released: A data frame, path, ``AnonymizationResult`` or noisy table of counts.
        known: A table of the people whom the attacker knows, with the quasi-identifiers as he knows them and,
            to judge him, the true sensitive values. None: he knows everybody in the release as it shows them.
        quasi_identifiers: What he knows of a person.
        sensitive: What he wants to learn.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.
    """
    names, watched, trees = columns_of(released, quasi_identifiers, sensitive, hierarchies)
    classes = read_release(released, names, watched)
    if known is None:
        return as_shown(classes), watched
    return match(classes, Frame(known), watched, trees), watched


def as_shown(classes: Classes) -> Candidates:
    """Return the people of a release as somebody sees them who knows which class is whose."""
    if classes.of_row is None:
        raise ParameterError("A noisy table has no rows: name the people that the attacker knows, known=...")
    number = classes.number
    truth = {name: Coded(name, classes.values_of_row[name], classes.entries[name].domain) for name in classes.entries}
    whole, start = len(classes.of_row), np.arange(number + 1)
    return Candidates(classes, classes.of_row, start, np.arange(number), truth, given=False, everybody=whole)


def match(classes: Classes, known: Frame, watched: Sequence[str], trees: Mapping[str, Any]) -> Candidates:
    """Match the people of a table with the classes of a release."""
    known.check_columns(classes.names, "quasi-identifier, known to the attacker")
    columns = [known.coded(name) for name in classes.names]
    truth = {name: plain_column(known.coded(name)) for name in watched if name in known.columns}
    return match_columns(classes, columns, len(known), truth, trees)


def match_columns(
    classes: Classes, columns: Sequence[Coded], people: int, truth: Mapping[str, Coded], trees: Mapping[str, Any]
) -> Candidates:
    """Match coded people with the classes of a release; a sample of them where there are too many pairs."""
    relations = [
        relate(column.values, cells.values, trees.get(column.name))
        for column, cells in zip(columns, classes.cells, strict=True)
    ]
    rows = np.arange(people)
    rng = np.random.default_rng(_SEED)
    while True:
        codes = [column.codes[rows] for column in columns]
        of_person = number_rows(
            [Coded(c.name, part, c.values) for c, part in zip(columns, codes, strict=True)], len(rows)
        )
        number = int(of_person.max(initial=-1)) + 1
        first = np.zeros(number, dtype=np.int64)
        first[of_person] = np.arange(len(rows))
        try:
            left, right = join_classes(
                [part[first] for part in codes], [c.codes for c in classes.cells], relations, (number, classes.number)
            )
            break
        except TooManyPairs:
            rows = np.sort(rng.choice(rows, size=max(len(rows) // 4, 1), replace=False))
    pool, start, members = _sets(left, right, number, classes.number)
    sampled = {name: Coded(name, column.codes[rows], column.values) for name, column in truth.items()}
    return Candidates(classes, pool[of_person], start, members, sampled, True, people, rows)


def _sets(left: Ints, right: Ints, people: int, classes: int) -> tuple[Ints, Ints, Ints]:
    """Number equal sets of classes; return the set of every known row, and the members of every set."""
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    count = np.bincount(left, minlength=people)
    # Sets are told apart by the sum of random 64-bit marks of their members.
    mark = np.random.default_rng(_SEED).integers(0, 1 << 63, size=classes, dtype=np.uint64)
    total = np.zeros(people, dtype=np.uint64)
    begin = np.cumsum(count) - count
    some = np.flatnonzero(count)
    if len(some):
        total[some] = np.add.reduceat(mark[right], begin[some])
    _, first, into = np.unique(total[some], return_index=True, return_inverse=True)
    pool = np.full(people, -1, dtype=np.int64)
    pool[some] = into.reshape(-1)
    sizes = count[some][first]
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    place = np.arange(int(sizes.sum())) - np.repeat(start[:-1], sizes) + np.repeat(begin[some][first], sizes)
    return pool, start, right[place] if len(place) else np.zeros(0, dtype=np.int64)


def one_column(watched: Sequence[str]) -> str:
    """Return the one sensitive column that an attack is about."""
    if len(watched) != 1:
        raise ParameterError(f"This attack is about one sensitive column: sensitive='...'. Got {len(watched)}.")
    return watched[0]

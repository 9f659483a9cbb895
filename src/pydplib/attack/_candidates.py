"""Whom a released row could be: known people met with released classes, and what is known about each of them then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pydplib.anonymity.assessment.verification import person_codes
from pydplib.anonymity.tables.columns import Floats, Ints
from pydplib.anonymity.tables.frames import Coded, Frame
from pydplib.anonymity.tables.view import number_rows, one_of_each
from pydplib.attack._cases import Cases
from pydplib.attack._join import TooManyPairs, join_classes
from pydplib.attack._lists import expand, starts_of
from pydplib.attack._people import by_person, count_known, match_people, profiles_of
from pydplib.attack._relation import relate
from pydplib.attack._released import (
    Classes,
    Entries,
    columns_of,
    count_entries,
    distinct_pairs,
    join_domains,
    plain_column,
    read_release,
)
from pydplib.errors import DataError, ParameterError

_SEED = 20_240_229  # the sample of people in a table too ambiguous to match as a whole: the same in every run


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
        rows: Which of the given rows were matched.
        person: Whose known row each is, where people can have several; ``pool`` and ``truth`` go by rows.
    """

    classes: Classes
    pool: Ints
    start: Ints
    members: Ints
    truth: Mapping[str, Coded] = field(default_factory=dict)
    given: bool = True
    everybody: int = 0
    rows: Ints | None = None
    person: Ints | None = None

    def __repr__(self) -> str:
        return f"Candidates({len(self.pool)} people, {self.classes.number} classes)"

    @cached_property
    def size(self) -> Floats:
        """Released people in every set."""
        size = self.classes.size[self.members]
        return np.bincount(self.set_of_member, weights=size, minlength=len(self.start) - 1).astype(np.float64)

    @cached_property
    def set_of_member(self) -> Ints:
        """Per entry of ``members``, the number of its set."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def people(self) -> Floats:
        """Known people per set."""
        pool = self.pool if self.person is None else distinct_pairs(self.pool + 1, self.person)[0] - 1
        return np.bincount(pool[pool >= 0], minlength=len(self.start) - 1).astype(np.float64)

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
        member, place = expand(self.members, starts_of(own.owner, self.classes.number))
        return count_entries(self.set_of_member[member], own.value[place], own.count[place], own.domain)

    def cases(self, name: str) -> Cases:
        """Return the people in the same situation, for one sensitive column."""
        entries = self.entries(name)
        if name not in self.truth:
            return self._expected(entries)
        truth = self.truth[name]
        domain, number = join_domains(entries.domain, truth.values)
        codes = number[truth.codes]
        wide = Entries(entries.owner, entries.value, entries.count, domain)
        if self.person is None:
            made = count_entries(self.pool + 1, codes, None, domain)
            return Cases(made.owner - 1, made.value, made.count, wide, self.size)
        width = max(len(domain), 1)
        # A person is one, spread evenly over the different cases that she is in.
        key, person = distinct_pairs((self.pool + 1) * width + codes, self.person)
        weight = 1 / np.bincount(person)[person]
        made = count_entries(key // width, key % width, weight, domain)
        case = np.searchsorted(made.owner * width + made.value, key)
        return Cases(made.owner - 1, made.value, made.count, wide, self.size, (person, case))

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
    person: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> tuple[Candidates, tuple[str, ...]]:
    """Match known people with a release; return the candidates and the sensitive columns.

    Args:
        released: A data frame, path, ``AnonymizationResult`` or noisy table of counts.
        known: A table of the people whom the attacker knows, with the quasi-identifiers as he knows them and,
            to judge him, the true sensitive values. None: he knows everybody in the release as it shows them.
        quasi_identifiers: What he knows of a person.
        sensitive: What he wants to learn.
        person: The column that says whose row it is, where people have several rows.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.
    """
    names, watched, trees = columns_of(released, quasi_identifiers, sensitive, hierarchies)
    frame = None if known is None else Frame(known)
    person = person_of(released, frame, person, (*names, *watched))
    classes = read_release(released, names, watched, person, () if frame is None else frame.columns)
    if frame is None:
        if person is not None and classes.person_of_row is None:
            raise ParameterError(
                f"The release has no column '{person}', so that nobody can tell whose rows belong together. "
                "Name the people whom the attacker knows, known=..., with that column."
            )
        return as_shown(classes), watched
    return match(classes, frame, watched, trees, person), watched


def find_cases(
    released: Any, known: Any, quasi: Any, sensitive: Any, person: str | None, hierarchies: Mapping[str, Any] | None
) -> tuple[Cases, Classes, str]:
    """Match known people with a release; return the cases of its one sensitive column, the release, and the column."""
    found, watched = find_candidates(
        released, known, quasi_identifiers=quasi, sensitive=sensitive, person=person, hierarchies=hierarchies
    )
    name = one_column(watched)
    return found.cases(name), found.classes, name


def person_of(released: Any, known: Frame | None, person: str | None, used: Sequence[str]) -> str | None:
    """Return the person column: the one that was named, or the one by which a table was anonymized."""
    if person in used:
        raise ParameterError(f"The person column '{person}' says whose rows they are; it cannot be attacked as well.")
    if person is None:
        recipe = getattr(released, "recipe", None)
        made = getattr(recipe, "person", None)
        return made if known is not None and made in known.columns else None
    if known is not None:
        known.check_columns([person], "person, of the known people")
    return person


def as_shown(classes: Classes) -> Candidates:
    """Return the people of a release as somebody sees them who knows which class is whose."""
    if classes.of_row is None:
        raise ParameterError("A noisy table has no rows: name the people that the attacker knows, known=...")
    truth = {name: Coded(name, classes.values_of_row[name], classes.entries[name].domain) for name in classes.entries}
    whole, number, pool = len(classes.of_row), classes.number, classes.of_row
    start, members = np.arange(number + 1), np.arange(number)
    if classes.person_of_row is not None:
        # Rows that stay linked are known by all that belong together.
        pool, start, members = profiles_of(classes)
        classes = by_person(classes)
    return Candidates(classes, pool, start, members, truth, given=False, everybody=whole, person=classes.person_of_row)


def match(
    classes: Classes, known: Frame, watched: Sequence[str], trees: Mapping[str, Any], person: str | None = None
) -> Candidates:
    """Match the people of a table with the classes of a release."""
    known.check_columns(classes.names, "quasi-identifier, known to the attacker")
    columns = [known.coded(name) for name in classes.names]
    truth = {name: plain_column(known.coded(name)) for name in watched if name in known.columns}
    whose = None if person is None or person not in known.columns else person_codes(known.coded(person))
    return match_columns(classes, columns, len(known), truth, trees, whose)


def match_columns(
    classes: Classes, columns: Sequence[Coded], people: int, truth: Mapping[str, Coded], trees: Mapping[str, Any],
    whose: Ints | None = None,
) -> Candidates:  # fmt: skip
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
        first = one_of_each(of_person)
        number = len(first)
        owner = None if whose is None else np.unique(whose[rows], return_inverse=True)[1].reshape(-1).astype(np.int64)
        try:
            left, right = join_classes(
                [part[first] for part in codes], [c.codes for c in classes.cells], relations, (number, classes.number)
            )
            if owner is None or classes.person_of_row is None:
                pool, start, members = _sets(left, right, number, classes.number)
                pool = pool[of_person]
                if owner is not None:
                    classes = count_known(classes, pool, start, members, owner)
            else:
                left, right, number = match_people(left, right, of_person, owner, classes)
                classes = by_person(classes)
                pool, start, members = _sets(left, right, number, classes.number)
                pool = pool[owner]
            break
        except TooManyPairs:
            rows = _fewer(rows, whose, rng)
    sampled = {name: Coded(name, column.codes[rows], column.values) for name, column in truth.items()}
    return Candidates(classes, pool, start, members, sampled, True, people, rows, owner)


def _fewer(rows: Ints, whose: Ints | None, rng: np.random.Generator) -> Ints:
    """Return a quarter of the rows, or the rows of a quarter of the people."""
    if whose is None:
        return np.sort(rng.choice(rows, size=max(len(rows) // 4, 1), replace=False))
    people = np.unique(whose[rows])
    some = rng.choice(people, size=max(len(people) // 4, 1), replace=False)
    return rows[np.isin(whose[rows], some)]


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


def regroup(
    people: Candidates, pool: Ints, name: str, entries: Entries, size: Floats, *, noisy: bool, margin: float
) -> Candidates:
    """Return the same known people with other candidates: what ``entries`` and ``size`` say of the sets in ``pool``."""
    classes = Classes(people.classes.names, (), size, {name: entries}, noisy=noisy, margin=margin)
    start, members = np.arange(len(size) + 1), np.arange(len(size))
    return Candidates(classes, pool, start, members, people.truth, True, len(pool), person=people.person)


def one_column(watched: Sequence[str]) -> str:
    """Return the one sensitive column that an attack is about."""
    if len(watched) != 1:
        raise ParameterError(f"This attack is about one sensitive column: sensitive='...'. Got {len(watched)}.")
    return watched[0]

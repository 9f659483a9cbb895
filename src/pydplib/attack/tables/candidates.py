"""Whom a released row could be: known people met with released classes, counted in rows or in people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pydplib.anonymity.assessment.verification import person_codes
from pydplib.anonymity.tables.columns import Bools, Floats, Ints
from pydplib.anonymity.tables.frames import ColumnCodes, Frame
from pydplib.anonymity.tables.view import number_rows, one_of_each, view_of
from pydplib.attack._arguments import check_time
from pydplib.attack.tables.cells import CellRelation, expand, find_sorted, relate, starts_of
from pydplib.attack.tables.released import (
    Entries,
    ReleasedClasses,
    columns_of,
    count_entries,
    count_people,
    distinct_pairs,
    join_domains,
    plain_column,
    read_release,
)
from pydplib.errors import DataError, ParameterError

_AT_ONCE = 1 << 22  # pairs looked at in one step
MOST_PAIRS = 30_000_000
"""Pairs of people and classes that one join may return."""


class TooManyPairs(Exception):
    """The join would need more memory than is sensible; ask about fewer people."""


class _Children(NamedTuple):
    """The next column of all distinct beginnings of rows: per parent its codes and the ids of the longer beginnings."""

    start: Ints
    code: Ints
    id: Ints
    keys: Ints
    of_row: Ints


def join_classes(
    people: Sequence[Ints], classes: Sequence[Ints], relations: Sequence[CellRelation], sizes: tuple[int, int]
) -> tuple[Ints, Ints]:
    """Return the pairs (row of ``people``, row of ``classes``) whose cells fit in every column.

    Both sides are walked as tries, one column at a time, so that the work is that of the pairs that still fit,
    not of all pairs.

    Args:
        people: Per column, the number of each known row's value.
        classes: Per column, the number of each class's cell.
        relations: Per column, which cells can mean which values.
        sizes: Number of known rows and of classes.

    Examples:
        >>> from pydplib.attack.tables.cells import relate
        >>> ages = relate([31, 52], ["30-39", "50-59"])
        >>> join_classes([np.array([0, 1, 1])], [np.array([0, 1])], [ages], (3, 2))[1].tolist()
        [0, 1, 1]
    """
    if not all(sizes):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # The sharpest column first: fewest cells per value, of all cells there are.
    order = np.argsort([r.counts.mean() / max(r.width, 1) if len(r.counts) else 0.0 for r in relations], kind="stable")
    left, right = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    mine, theirs = np.zeros(sizes[0], dtype=np.int64), np.zeros(sizes[1], dtype=np.int64)
    for at in order.tolist():
        ours = _children(mine, people[at], len(relations[at].start) - 1)
        others = _children(theirs, classes[at], relations[at].width)
        left, right = _step(left, right, ours, others, relations[at])
        mine, theirs = ours.of_row, others.of_row
    return _expand_rows(left, right, mine, theirs)


def _children(parent: Ints, code: Ints, width: int) -> _Children:
    keys, of_row = np.unique(parent * max(width, 1) + code, return_inverse=True)
    start = starts_of(keys // max(width, 1), int(parent.max(initial=-1)) + 1)
    return _Children(start, keys % max(width, 1), np.arange(len(keys)), keys, of_row.reshape(-1).astype(np.int64))


def _step(left: Ints, right: Ints, ours: _Children, others: _Children, relation: CellRelation) -> tuple[Ints, Ints]:
    mine = np.diff(ours.start)
    # Per beginning of a known row: cells to look up if we go by the relation.
    through = np.add.reduceat(np.append(relation.counts[ours.code], 0), ours.start[:-1]) * (mine > 0)
    by_cells = int(through[left].sum())
    by_children = int((mine[left] * np.diff(others.start)[right]).sum())
    out_left, out_right, total = [], [], 0
    cost = through[left] if by_cells <= by_children else mine[left] * np.diff(others.start)[right]
    for block in _blocks(cost):
        check_time()
        pair, child = expand(left[block], ours.start)
        code = ours.code[child]
        if by_cells <= by_children:
            again, cell = expand(code, relation.start)
            keys = right[block][pair][again] * max(relation.width, 1) + relation.cells[cell]
            place, good = find_sorted(others.keys, keys)
            found_left, found_right = ours.id[child][again][good], place[good]
        else:
            again, other = expand(right[block][pair], others.start)
            good = _related(relation, code[again], others.code[other])
            found_left, found_right = ours.id[child][again][good], others.id[other][good]
        out_left.append(found_left)
        out_right.append(found_right)
        total += len(found_left)
        if total > MOST_PAIRS:
            raise TooManyPairs
    empty = np.zeros(0, dtype=np.int64)
    return np.concatenate(out_left or [empty]), np.concatenate(out_right or [empty])


def _blocks(cost: Ints) -> Iterator[slice]:
    upto = np.cumsum(cost)
    first = 0
    while first < len(cost):
        done = int(upto[first - 1]) if first else 0
        last = max(int(np.searchsorted(upto, done + _AT_ONCE, side="right")), first + 1)
        yield slice(first, last)
        first = last


def _related(relation: CellRelation, code: Ints, cell: Ints) -> Bools:
    values = len(relation.start) - 1
    if values * relation.width <= 1 << 26:
        table = np.zeros((values, relation.width), dtype=bool)
        table[np.repeat(np.arange(values), relation.counts), relation.cells] = True
        return np.asarray(table[code, cell])
    keys = np.repeat(np.arange(values), relation.counts) * relation.width + relation.cells
    return find_sorted(keys, code * relation.width + cell)[1]


def _expand_rows(left: Ints, right: Ints, mine: Ints, theirs: Ints) -> tuple[Ints, Ints]:
    """Go from distinct rows back to the rows themselves (equal rows were walked once)."""
    rows, row_start = _rows_of(mine)
    others, other_start = _rows_of(theirs)
    pair, row = expand(left, row_start)
    again, other = expand(right[pair], other_start)
    if len(again) > MOST_PAIRS:
        raise TooManyPairs
    return rows[row][again], others[other]


def _rows_of(ids: Ints) -> tuple[Ints, Ints]:
    return np.argsort(ids, kind="stable"), starts_of(ids, int(ids.max(initial=-1)) + 1)


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


def count_known(classes: ReleasedClasses, pool: Ints, start: Ints, members: Ints, owner: Ints) -> ReleasedClasses:
    """Return classes that count people where the release itself does not say whose rows belong together.

    Of the known rows that fit a class, this many belong to this many people: the released rows there are taken to be as
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


def by_person(classes: ReleasedClasses) -> ReleasedClasses:
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


def profiles_of(classes: ReleasedClasses) -> tuple[Ints, Ints, Ints]:
    """Return, per released row, the number of its person's set of rows; and the people of each such set, as lists."""
    assert classes.of_row is not None and classes.person_of_row is not None
    cells = ColumnCodes("cells", classes.of_row, tuple(range(classes.number)))
    profile = view_of([cells], len(classes.of_row), person=classes.person_of_row, linked=True).of_row
    of_profile, people = distinct_pairs(profile, classes.person_of_row)
    start = np.searchsorted(of_profile, np.arange(int(profile.max(initial=-1)) + 2)).astype(np.int64)
    return profile, start, people


def match_people(
    left: Ints, right: Ints, row_kind: Ints, owner: Ints, classes: ReleasedClasses
) -> tuple[Ints, Ints, int]:
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


RISE = 0.2
"""By how much the belief in somebody's true value must rise for the release to have told it; as in ``skewness``."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Cases:
    """People who are in the same situation: same candidates, same true value.

    Attributes:
        pool: Their set of candidates; -1 where no released row fits.
        truth: Their true value, counted into ``domain``.
        people: How many they are; a fraction where the truth is only known as a distribution, or where somebody has
            several rows.
        entries: Sensitive values of every pool's candidates.
        size: Candidates of every pool.
        whose: (person, case) where people have several rows.
    """

    pool: Ints
    truth: Ints
    people: Floats
    entries: Entries
    size: Floats
    whose: tuple[Ints, Ints] | None = None

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

    def gained(self, right: Bools, before: Floats | None = None) -> float:
        """Return the share of people whose value is certain now, and was not nearly so without the release.

        That most people do not have a rare disease is known to everybody: a group in which nobody has it tells little.
        What counts is certainty that somebody with the same knowledge, but without the release, is far from.

        Args:
            right: Cases in which the true value is certain.
            before: The belief in the true value without the release; by default the prior.
        """
        known = self.prior[self.truth] if before is None else before
        return self.reached(right & (1 - known > RISE + 1e-12))

    def share(self, right: Bools) -> float:
        """Return the share of people in cases where something holds."""
        return float(self.people[right].sum() / max(self.total, 1e-9))

    def reached(self, right: Bools) -> float:
        """Return the share of people of whom something holds in at least one of their cases."""
        if self.whose is None:
            return self.share(right)
        person, case = self.whose
        return len(np.unique(person[right[case]])) / max(self.total, 1e-9)

    @cached_property
    def belief(self) -> Floats:
        """Per case, the share of its candidates that have the true value; the prior where there are none."""
        width = max(len(self.entries.domain), 1)
        keys = self.entries.owner * width + self.entries.value
        place, found = find_sorted(keys, self.pool * width + self.truth)
        count = np.where(found, self.entries.count[place] if len(keys) else 0.0, 0.0)
        inside = self.pool >= 0
        size = np.where(inside, self.size[np.maximum(self.pool, 0)] if len(self.size) else 1.0, 1.0)
        return np.where(inside, count / np.maximum(size, 1e-9), self.prior[self.truth])

    def __repr__(self) -> str:
        return f"Cases({len(self.pool)})"


_SEED = 20_240_229  # the sample of people in a table too ambiguous to match as a whole: the same in every run


@dataclass(frozen=True, eq=False, kw_only=True)
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

    classes: ReleasedClasses
    pool: Ints
    start: Ints
    members: Ints
    truth: Mapping[str, ColumnCodes] = field(default_factory=dict)
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
            return Cases(pool=made.owner - 1, truth=made.value, people=made.count, entries=wide, size=self.size)
        width = max(len(domain), 1)
        # A person is one, spread evenly over the different cases that she is in.
        key, person = distinct_pairs((self.pool + 1) * width + codes, self.person)
        weight = 1 / np.bincount(person)[person]
        made = count_entries(key // width, key % width, weight, domain)
        case = np.searchsorted(made.owner * width + made.value, key)
        return Cases(
            pool=made.owner - 1, truth=made.value, people=made.count, entries=wide, size=self.size, whose=(person, case)
        )

    def _expected(self, entries: Entries) -> Cases:
        """People whose true value is not known: as the release says it is spread among their candidates."""
        if not (self.pool >= 0).any():
            raise DataError("No released row fits any of the known people, and their true values are not known.")
        chance = entries.count / np.maximum(self.size[entries.owner], 1e-9)
        people = chance * self.people[entries.owner]
        return Cases(pool=entries.owner, truth=entries.value, people=people, entries=entries, size=self.size)


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
) -> tuple[Cases, ReleasedClasses, str]:
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


def as_shown(classes: ReleasedClasses) -> Candidates:
    """Return the people of a release as somebody sees them who knows which class is whose."""
    if classes.of_row is None:
        raise ParameterError("A noisy table has no rows: name the people that the attacker knows, known=...")
    truth = {
        name: ColumnCodes(name, classes.values_of_row[name], classes.entries[name].domain) for name in classes.entries
    }
    whole, number, pool = len(classes.of_row), classes.number, classes.of_row
    start, members = np.arange(number + 1), np.arange(number)
    if classes.person_of_row is not None:
        # Rows that stay linked are known by all that belong together.
        pool, start, members = profiles_of(classes)
        classes = by_person(classes)
    return Candidates(
        classes=classes,
        pool=pool,
        start=start,
        members=members,
        truth=truth,
        given=False,
        everybody=whole,
        person=classes.person_of_row,
    )


def match(
    classes: ReleasedClasses, known: Frame, watched: Sequence[str], trees: Mapping[str, Any], person: str | None = None
) -> Candidates:
    """Match the people of a table with the classes of a release."""
    known.check_columns(classes.names, "quasi-identifier, known to the attacker")
    columns = [known.coded(name) for name in classes.names]
    truth = {name: plain_column(known.coded(name)) for name in watched if name in known.columns}
    whose = None if person is None or person not in known.columns else person_codes(known.coded(person))
    return match_columns(classes, columns, len(known), truth, trees, whose)


def match_columns(
    classes: ReleasedClasses,
    columns: Sequence[ColumnCodes],
    people: int,
    truth: Mapping[str, ColumnCodes],
    trees: Mapping[str, Any],
    whose: Ints | None = None,
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
            [ColumnCodes(c.name, part, c.values) for c, part in zip(columns, codes, strict=True)], len(rows)
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
    sampled = {name: ColumnCodes(name, column.codes[rows], column.values) for name, column in truth.items()}
    return Candidates(
        classes=classes,
        pool=pool,
        start=start,
        members=members,
        truth=sampled,
        given=True,
        everybody=people,
        rows=rows,
        person=owner,
    )


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
    classes = ReleasedClasses(people.classes.names, (), size, {name: entries}, noisy=noisy, margin=margin)
    start, members = np.arange(len(size) + 1), np.arange(len(size))
    return Candidates(
        classes=classes,
        pool=pool,
        start=start,
        members=members,
        truth=people.truth,
        given=True,
        everybody=len(pool),
        person=people.person,
    )


def one_column(watched: Sequence[str]) -> str:
    """Return the one sensitive column that an attack is about."""
    if len(watched) != 1:
        raise ParameterError(f"This attack is about one sensitive column: sensitive='...'. Got {len(watched)}.")
    return watched[0]

"""Several releases of one table: classes that hold together, and people who come and go unseen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.anonymity.classes import Classes
from pydplib.anonymity.covers import meeting
from pydplib.anonymity.frames import Coded, Frame
from pydplib.anonymity.grouping import combine, group
from pydplib.anonymity.plain import show
from pydplib.anonymity.problem import Problem
from pydplib.anonymity.resolved import Bools, Ints
from pydplib.anonymity.spellings import SeenFrame
from pydplib.anonymity.stats import ClassStats, Histogram, Sensitive
from pydplib.anonymity.verification import Across, names_of
from pydplib.anonymity.view import number_rows
from pydplib.errors import DataError, ParameterError

if TYPE_CHECKING:
    from pydplib.anonymity.prepare import Task
    from pydplib.anonymity.recoding import Recoding


@dataclass(eq=False)
class Trace:
    """Who was released in which class. Private: it stays with the owner, like the table itself.

    Attributes:
        people: Per row of the input, what tells the person again (a hash).
        classes: Per row, the number of the released class; -1 if suppressed.
        values: Per sensitive column, the row's value.
        told_by: The columns whose cells tell a person again; None: a person column.
    """

    people: list[str]
    classes: Ints
    values: dict[str, list[Any]]
    told_by: frozenset[str] | None = None

    def __repr__(self) -> str:
        return "Trace(private)"


class LazyTrace:
    """A trace that is worked out when a later release asks for it."""

    def __init__(self, task: Task, recoding: Recoding, gone: Bools) -> None:
        self._parts = (task, recoding, gone)
        self._made: Trace | None = None

    def __repr__(self) -> str:
        return "Trace(private)"

    @property
    def problem(self) -> Problem:
        """The table as the search saw it."""
        return self._parts[0].problem

    def __reduce__(self) -> Any:
        # A result that is copied or stored must not take the private table along.
        return (_no_trace, ())

    def read(self) -> Trace:
        """Return the trace."""
        if self._made is None:
            task, recoding, gone = self._parts
            assert task.problem.of_row is not None
            ids = [column.ids[task.problem.of_row] for column in recoding.columns]
            numbers = group(combine(ids, [len(c.labels) for c in recoding.columns], len(gone))[0]).into
            self._made = Trace(
                people_of(task.frame, task.person, [*task.quasi, *task.sensitive]),
                np.where(gone, -1, numbers),
                {
                    name: [task.coded[name].values[i] for i in task.coded[name].codes.tolist()]
                    for name in task.sensitive
                },
                told_by(task.person, [*task.quasi, *task.sensitive]),
            )
        return self._made


def _no_trace() -> None:
    """Stands in for a trace that was left behind."""


def told_by(person: str | None, names: Sequence[str]) -> frozenset[str] | None:
    """Return which columns tell a person again; None where a person column does."""
    return None if person is not None else frozenset(names)


def people_of(frame: Frame, person: str | None, names: Sequence[str]) -> list[str]:
    """Return what tells every row's person again: her identifier, or the whole row and which copy it is."""
    columns = [frame.coded(person)] if person is not None else [frame.coded(name) for name in sorted(names)]
    seen: dict[str, int] = {}
    out = []
    for cells in zip(*([c.values[i] for i in c.codes.tolist()] for c in columns), strict=True):
        text = "\x1f".join(_written(cell) for cell in cells)
        copy = seen[text] = seen.get(text, -1) + 1
        out.append(hashlib.blake2b(f"{text}\x1e{copy}".encode(), digest_size=16).hexdigest())
    return out


def _written(cell: Any) -> str:
    """Return a cell as one text whatever its kind: 7, 7.0 and "7" are the same person in another file."""
    return "\x00" if cell is None else show(cell).strip()


@dataclass(eq=False)
class History:
    """What earlier releases showed about the rows of this table.

    Attributes:
        signatures: Per row, the number of its combination of earlier classes; 0 is "in none of them".
        gone: Per signature, how many people of earlier releases are not in this table.
        gone_values: Per sensitive column, (signature, value, count) of those people.
    """

    signatures: Ints
    gone: Ints
    gone_values: dict[str, tuple[Ints, list[Any], Ints]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "History(private)"

    def settle(self, problem: Problem, classes: Classes, fine: Bools) -> Bools:
        """Suppress more classes until those who vanish from an earlier class satisfy the models too.

        Somebody who was visible in an earlier class and is not released now, deleted or suppressed, hides only
        among others of that class who vanish with her. Where they are too few, the rest of the class vanishes.
        """
        signature = classes.fixed
        number = len(self.gone)
        lost = ~fine
        vanished = self.gone + np.bincount(signature[lost], weights=classes.rows[lost], minlength=number).astype(
            np.int64
        )
        vanished[0] = 0
        open_ = vanished > 0
        if not open_.any():
            return fine
        hidden = np.zeros(number, dtype=bool)
        hidden[open_] = self._groups_pass(problem, classes, lost, vanished, open_)
        exposed = open_ & ~hidden
        return fine & ~exposed[signature]

    def _groups_pass(self, problem: Problem, classes: Classes, lost: Bools, vanished: Ints, open_: Bools) -> Bools:
        place = np.cumsum(open_) - 1
        out = np.ones(int(open_.sum()), dtype=bool)
        for rule in problem.rules:
            size = vanished[open_]
            if rule.sensitive is None:
                out &= rule.model.passes(ClassStats(size), None)
                continue
            histogram, column = self._histogram(problem, classes, lost, rule.sensitive, open_, place)
            stats = ClassStats(size, {rule.sensitive: histogram}, {rule.sensitive: column})
            out &= rule.model.passes(stats, rule.sensitive)
        return out

    def _histogram(
        self, problem: Problem, classes: Classes, lost: Bools, name: str, open_: Bools, place: Ints
    ) -> tuple[Histogram, Sensitive]:
        column = problem.sensitive[name]
        width = len(column.share)
        owners, values, counts = [], [], []
        inside = lost & open_[classes.fixed]
        if inside.any():
            found, _ = classes.histogram(name, inside)
            owners.append(place[classes.fixed[inside]][found.owner])
            values.append(found.value)
            counts.append(found.count)
        signature, raw, count = self.gone_values[name]
        known = self._codes(name, raw, width)
        keep = open_[signature]
        owners.append(place[signature[keep]])
        values.append(known[keep])
        counts.append(count[keep])
        owner, value = np.concatenate(owners), np.concatenate(values)
        top = max(int(value.max(initial=-1)) + 1, width)
        groups = group(owner * top + value)
        entry = groups.keys // top
        start = np.flatnonzero(np.diff(entry, prepend=-1))
        # Values that only people of earlier releases had: as rare as one row of this table.
        extra = top - width
        share = np.append(column.share, np.full(extra, 1.0 / max(problem.rows, 1)))
        rank = np.append(column.rank, column.ranks + np.arange(extra))
        tree = tuple(
            np.append(level, np.arange(extra) + (int(level.max(initial=-1)) + 1 if i < len(column.tree) - 1 else 0))
            for i, level in enumerate(column.tree)
        )
        out = Histogram(start, entry, groups.keys % top, groups.sums(np.concatenate(counts)))
        return out, Sensitive(name, share, rank, column.ranks + extra, tree)

    def _codes(self, name: str, raw: Sequence[Any], width: int) -> Ints:
        place = dict(self.known_values.get(name, {}))
        return np.array([place.setdefault(value, max(len(place), width)) for value in raw], dtype=np.int64)

    known_values: dict[str, dict[Any, int]] = field(default_factory=dict)


def read_history(
    frame: Frame, quasi_identifiers: Any, sensitive: Any, previous: Sequence[Any], *, person: str | None
) -> History:
    """Match the rows of a table with the traces of earlier releases."""
    from pydplib.anonymity.result import AnonymizationResult

    quasi = names_of(quasi_identifiers, "quasi-identifiers")
    watched = names_of(list(sensitive) if isinstance(sensitive, Mapping) else sensitive, "sensitive columns")
    frame.check_columns([*quasi, *watched, *([person] if person else [])], "named")
    traces: list[Trace] = []
    for item in previous:
        trace = item.trace if isinstance(item, AnonymizationResult) else item
        if isinstance(trace, LazyTrace):
            trace = trace.read()
        if not isinstance(trace, Trace):
            raise ParameterError(
                "previous= takes the results of earlier anonymize() calls (or their .trace): only those tell the same "
                "people again. To compare released tables alone use verify(..., previous=[...])."
            )
        if set(trace.values) != set(watched):
            raise ParameterError("The earlier release had other sensitive columns. Name the same ones.")
        if trace.told_by != told_by(person, [*quasi, *watched]):
            raise ParameterError(
                "previous= cannot tell the same people again: without a person column in both calls, a person is told "
                "by the cells of the quasi-identifiers and sensitive columns, and the earlier release was made with "
                "others. Name person=, the column that says whose row it is, in every release."
            )
        traces.append(trace)
    people = people_of(frame, person, [*quasi, *watched])
    if person is not None:
        owner = frame.coded(person)
        if len(owner.codes) > len(owner.values):
            raise ParameterError("previous= needs one row per person. Summarize each person's rows first.")
    if any(len(set(trace.people)) != len(trace.people) for trace in traces):
        raise DataError("An earlier release had several rows of one person; previous= needs one row per person.")
    here = set(people)
    for trace in traces:
        if here and trace.people and here.isdisjoint(trace.people):
            raise ParameterError(
                "previous= finds nobody of an earlier release in this table, so it could protect nobody. Are the "
                "person's identifiers written as before (same column, same spelling)? If the tables have no person "
                "in common, leave that release out."
            )
    return _join(people, traces, frame, watched)


def _join(people: Sequence[str], traces: Sequence[Trace], frame: Frame, watched: Sequence[str]) -> History:
    nobody = (-1,) * len(traces)
    number: dict[tuple[int, ...], int] = {nobody: 0}
    seen: list[dict[str, int]] = [dict(zip(t.people, t.classes.tolist(), strict=True)) for t in traces]
    signatures = np.array(
        [number.setdefault(tuple(s.get(p, -1) for s in seen), len(number)) for p in people], dtype=np.int64
    )
    here = set(people)
    gone: dict[str, tuple[int, dict[str, Any]]] = {}
    for trace in traces:
        for row, name in enumerate(trace.people):
            if name not in here and name not in gone:
                mark = number.setdefault(tuple(s.get(name, -1) for s in seen), len(number))
                gone[name] = (mark, {column: trace.values[column][row] for column in watched})
    marks = np.array([mark for mark, _ in gone.values()], dtype=np.int64)
    history = History(signatures, np.bincount(marks, minlength=len(number)).astype(np.int64))
    for column in watched:
        raw = [values[column] for _, values in gone.values()]
        history.gone_values[column] = (marks, raw, np.ones(len(marks), dtype=np.int64))
        history.known_values[column] = {value: i for i, value in enumerate(frame.coded(column).values)}
    return history


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
        ours, theirs = _shared_counts(now, then, watched)
        for i, j in zip(*np.nonzero(together), strict=True):
            common = np.minimum(ours[i], theirs[j])
            if common.sum() > 0:
                k = min(k, int(common.sum()))
                for column, of_cell in now.value_of_cell(then, watched).items():
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

    cells: list[Coded]
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
    classes = int(of_row.max(initial=-1)) + 1
    first = np.zeros(classes, dtype=np.int64)
    first[of_row] = np.arange(len(frame))
    secret = [frame.coded(name) for name in watched]
    number = number_rows(secret, len(frame)) if secret else np.zeros(len(frame), dtype=np.int64)
    kinds = int(number.max(initial=-1)) + 1
    table = np.bincount(of_row * max(kinds, 1) + number, minlength=classes * kinds).reshape(classes, kinds)
    one = np.zeros(kinds, dtype=np.int64)
    one[number] = np.arange(len(frame))
    counts = {tuple(c.values[c.codes[row]] for c in secret): table[:, i] for i, row in enumerate(one.tolist())}
    return _Summary(cells, first, counts, classes)


def _shared_counts(now: _Summary, then: _Summary, watched: Sequence[str]) -> tuple[Ints, Ints]:
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

"""Several releases of one table: classes that hold together, people who come and go unseen, and their certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.anonymity.assessment.verification import compare_releases, names_of
from pydplib.anonymity.certificate import TOGETHER, Certificate, Statement, certify_view
from pydplib.anonymity.models import KAnonymity, LDiversity
from pydplib.anonymity.result import AnonymizationResult
from pydplib.anonymity.search.classes import Classes
from pydplib.anonymity.search.groups import group
from pydplib.anonymity.search.problem import ModelRule, SearchProblem
from pydplib.anonymity.search.statistics import ClassHistogram, ClassStats, Sensitive
from pydplib.anonymity.tables.columns import Bools, Ints
from pydplib.anonymity.tables.frames import ColumnCodes, Frame, SeenFrame
from pydplib.anonymity.tables.view import spread_of, view_of
from pydplib.anonymity.traces import LazyTrace, Trace, hash_values, is_trace, people_of, told_by
from pydplib.errors import DataError, ParameterError

if TYPE_CHECKING:
    from pydplib.anonymity.preparation import Task


@dataclass(eq=False)
class History:
    """What earlier releases showed about the rows of this table.

    Attributes:
        signatures: Per row, the number of its combination of earlier classes; 0 is "in none of them".
        gone: Per signature, how many people of earlier releases are not in this table.
        gone_values: Per sensitive column, (signature, hash of the value, count) of those people.
        known_values: Per sensitive column, hash of a value of this table -> its code.
        key: The key under which all traces tell people and values again.
        holds_key: Whether files of traces hold the key.
    """

    signatures: Ints
    gone: Ints
    key: bytes
    holds_key: bool
    _: KW_ONLY
    gone_values: dict[str, tuple[Ints, list[bytes], Ints]] = field(default_factory=dict)
    known_values: dict[str, dict[bytes, int]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "History(private)"

    def settle(self, problem: SearchProblem, classes: Classes, fine: Bools) -> Bools:
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

    def _groups_pass(
        self, problem: SearchProblem, classes: Classes, lost: Bools, vanished: Ints, open_: Bools
    ) -> Bools:
        place = np.cumsum(open_) - 1
        out = np.ones(int(open_.sum()), dtype=bool)
        for rule in problem.rules:
            size = vanished[open_]
            if rule.sensitive is None:
                out &= rule.model.passes(ClassStats(size), None)
                continue
            histogram, column = self._histogram(problem, classes, lost, rule.sensitive, open_, place)
            stats = ClassStats(size, histograms={rule.sensitive: histogram}, sensitive={rule.sensitive: column})
            out &= rule.model.passes(stats, rule.sensitive)
        return out

    def _histogram(
        self, problem: SearchProblem, classes: Classes, lost: Bools, name: str, open_: Bools, place: Ints
    ) -> tuple[ClassHistogram, Sensitive]:
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
        out = ClassHistogram(start, entry, groups.keys % top, groups.sums(np.concatenate(counts)))
        return out, Sensitive(name=name, share=share, rank=rank, ranks=column.ranks + extra, tree=tree)

    def _codes(self, name: str, raw: Sequence[bytes], width: int) -> Ints:
        place = dict(self.known_values.get(name, {}))
        return np.array([place.setdefault(value, max(len(place), width)) for value in raw], dtype=np.int64)


def sort_previous(previous: Sequence[Any]) -> tuple[list[Trace | LazyTrace], list[Any]]:
    """Return the traces among earlier releases, and those of which only the released table is there."""
    traces: list[Trace | LazyTrace] = []
    tables: list[Any] = []
    if isinstance(previous, str | Path | AnonymizationResult):
        previous = [previous]
    for item in previous:
        if isinstance(item, str | Path) and is_trace(item):
            traces.append(Trace.load(item))
        elif isinstance(item, Trace | LazyTrace):
            traces.append(item)
        elif isinstance(item, AnonymizationResult) and item.trace is not None:
            traces.append(item.trace)
        elif isinstance(item, str | Path) and not Path(item).exists():
            raise ParameterError(f"previous= names '{item}', which does not exist. Give a trace or a released table.")
        else:
            tables.append(SeenFrame(getattr(item, "data", item)))
    return traces, tables


def check_tables(tables: Sequence[Any], rules: Sequence[ModelRule]) -> None:
    """Say which models can be held across a release of which only the table is known."""
    for rule in rules if tables else ():
        model = rule.model
        if not isinstance(model, KAnonymity) and not (isinstance(model, LDiversity) and model.kind == "distinct"):
            raise ParameterError(
                f"Across an earlier release of which only the table is there, k-anonymity and distinct l-diversity can "
                f"be measured, not {model}. Give its trace instead: result.save_trace(path) writes one."
            )


def check_rules(traces: Sequence[Any], rules: Sequence[ModelRule]) -> None:
    """Say which models cannot be held across releases."""
    for rule in rules if traces else ():
        if getattr(rule.model, "population", None) is not None:
            raise ParameterError(f"previous= does not take models with a population table, such as {rule.model}.")
        if rule.model.whole_table:
            raise ParameterError(f"previous= does not take models about all classes together, such as {rule.model}.")


def read_history(
    frame: Frame,
    quasi_identifiers: Any,
    sensitive: Any,
    previous: Sequence[Trace | LazyTrace],
    *,
    person: str | None,
) -> History:
    """Match the rows of a table with the traces of earlier releases."""
    quasi = names_of(quasi_identifiers, "quasi-identifiers")
    watched = names_of(list(sensitive) if isinstance(sensitive, Mapping) else sensitive, "sensitive columns")
    frame.check_columns([*quasi, *watched, *([person] if person else [])], "named")
    key, holds_key = _common_key(previous)
    traces = [trace.read(key) if isinstance(trace, LazyTrace) else trace for trace in previous]
    for trace in traces:
        if set(trace.values) != set(watched):
            raise ParameterError("The earlier release had other sensitive columns. Name the same ones.")
        if trace.told_by != told_by(person, [*quasi, *watched]):
            raise ParameterError(
                "previous= cannot tell the same people again: without a person column in both calls, a person is told "
                "by the cells of the quasi-identifiers and sensitive columns, and the earlier release was made with "
                "others. Name person=, the column that says whose row it is, in every release."
            )
    people = people_of(frame, person, [*quasi, *watched], key)
    if len(set(people)) < len(people):
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
    return _join(people, traces, frame, watched, key, holds_key=holds_key)


def _common_key(traces: Sequence[Trace | LazyTrace]) -> tuple[bytes, bool]:
    """Return the key under which all releases tell the same people again."""
    # A release of this session can be hashed again under any key; one from a file cannot.
    fixed = [trace for trace in traces if isinstance(trace, Trace)] or traces[:1]
    if len({trace.key for trace in fixed}) > 1:
        raise ParameterError(
            "The traces were saved with different keys, so nobody can be told again across them. Make each release "
            "with previous= of the one before, or save all of them with one key: save_trace(path, key=...)."
        )
    return fixed[0].key, all(trace.holds_key for trace in fixed)


def _join(
    people: Sequence[bytes],
    traces: Sequence[Trace],
    frame: Frame,
    watched: Sequence[str],
    key: bytes,
    *,
    holds_key: bool,
) -> History:
    nobody = (-1,) * len(traces)
    number: dict[tuple[int, ...], int] = {nobody: 0}
    seen: list[dict[bytes, int]] = [dict(zip(t.people, t.classes.tolist(), strict=True)) for t in traces]
    signatures = np.array(
        [number.setdefault(tuple(s.get(p, -1) for s in seen), len(number)) for p in people], dtype=np.int64
    )
    here = set(people)
    gone: dict[bytes, tuple[int, dict[str, bytes]]] = {}
    for trace in traces:
        for row, name in enumerate(trace.people):
            if name not in here and name not in gone:
                mark = number.setdefault(tuple(s.get(name, -1) for s in seen), len(number))
                gone[name] = (mark, {column: trace.values[column][row] for column in watched})
    marks = np.array([mark for mark, _ in gone.values()], dtype=np.int64)
    history = History(signatures, np.bincount(marks, minlength=len(number)).astype(np.int64), key, holds_key)
    for column in watched:
        raw = [values[column] for _, values in gone.values()]
        history.gone_values[column] = (marks, raw, np.ones(len(marks), dtype=np.int64))
        known = hash_values(key, column, frame.coded(column).values)
        history.known_values[column] = {value: i for i, value in enumerate(known)}
    return history


def certify_together(
    certificate: Certificate, task: Task, released: SeenFrame, order: Ints, tables: Sequence[Any]
) -> Certificate:
    """Add what holds for people who look alike in this release and in earlier ones.

    Args:
        certificate: What holds for this release alone.
        task: What was asked.
        released: The output.
        order: The rows of the input in the order of the output.
        tables: Earlier releases of which only the table is known.
    """
    more: list[Statement] = []
    if task.problem.history is not None:
        more += _with_traces(task, released, task.problem.history.signatures[order])
    if tables:
        more += _with_tables(task, released, tables)
    return replace(certificate, statements=(*certificate.statements, *more))


def _with_traces(task: Task, released: SeenFrame, signatures: Ints) -> list[Statement]:
    """Measure the models on classes that are alike here and were alike in every earlier release."""
    numbers, codes = np.unique(signatures, return_inverse=True)
    earlier = ColumnCodes("earlier classes", codes.astype(np.int64), tuple(numbers.tolist()))
    view = view_of([*(released.seen(name) for name in task.quasi), earlier], len(released))
    found = certify_view(
        view, task.rules, task.reference, lambda name, against: spread_of(view, released.coded(name), against),
        "one row is one person", list, {},
    )  # fmt: skip
    return [replace(statement, model=statement.model + TOGETHER) for statement in found.statements]


def _with_tables(task: Task, released: SeenFrame, tables: Sequence[Any]) -> list[Statement]:
    across = compare_releases(released, task.quasi, task.sensitive, tables, task.hierarchies)
    if len(released) and across.k == 0:
        raise ParameterError(
            "previous= names a table that can have nobody in common with this release. Has it the same columns, with "
            "labels of the same hierarchies? If the tables have no person in common, leave it out."
        )
    least = max((rule.model.k for rule in task.rules if isinstance(rule.model, KAnonymity)), default=1)
    seen = [number for number in (across.k, across.appeared, across.vanished) if number > 0]
    out = [Statement(f"{least}-anonymity{TOGETHER}", None, min(seen, default=0) >= least, float(min(seen, default=0)))]
    for rule in task.rules:
        if isinstance(rule.model, LDiversity) and rule.sensitive is not None:
            value = across.l_distinct[rule.sensitive]
            out.append(Statement(f"{rule.model}{TOGETHER}", rule.sensitive, value >= rule.model.l, float(value)))
    return out

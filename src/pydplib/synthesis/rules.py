"""Rules of a table: combinations of answers that cannot be, from published declarations alone.

A rule is about one column and the columns that decide about it: under some of their answers the column has no value, or
not some of its values. A person who breaks a rule is counted with "missing or other" in that column, in every table of
counts; rows that are drawn never break one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from pydplib.capture import Template
from pydplib.capture.functions import FUNCTIONS, compute
from pydplib.capture.model import Computed, Condition, Item, Value, holds, join
from pydplib.capture.plan import refer
from pydplib.engine import Bins
from pydplib.errors import QuestionError, did_you_mean
from pydplib.schema import Schema
from pydplib.synthesis.domain import Variable
from pydplib.synthesis.model import Floats, Integers, lift
from pydplib.synthesis.tree import Columns

MOST_COMBINATIONS = 20_000
"""Most combinations of the columns of one rule."""

MOST_COUNTED = 1_000_000
"""Most cells that are counted for one table, the columns that decide about its own included."""

Answers: TypeAlias = Mapping[str, Sequence[Value]]
"""Column -> its answer as conditions take it: none, or one."""


@dataclass(frozen=True, init=False)
class Impossible:
    """A public rule of a synthetic table: under some answers a column has no value, or not these.

    Declare what everybody may know, never what was seen in the data. People whose rows break the rule are counted with
    "missing or other"; synthetic rows never break it.

    Args:
        column: The column that the rule is about.
        when: Column -> the answers under which the rule applies: a value, or a list of them; None stands for "missing".
            For numbers and days in bins, pairs (low, high): from low to just below high, None for no end.
        values: The values that cannot be; by default every one, so that the column is always missing then.

    Examples:
        >>> import pandas as pd
        >>> import pydplib as dp
        >>> schema = dp.Schema({"tumour": dp.Flag(), "gleason": dp.Category([6, 7, 8, 9, 10])}, name="reports")
        >>> frame = pd.DataFrame({"tumour": [True, False] * 300, "gleason": [7, None] * 300})
        >>> rule = dp.synthesis.Impossible("gleason", when={"tumour": [False, None]})
        >>> rows = dp.synthesize(frame, schema, impossible=[rule], epsilon=1.0).to_frame(backend="pandas")
        >>> bool(rows[rows["tumour"] == False]["gleason"].notna().any())
        False
    """

    column: str
    when: Mapping[str, tuple[Any, ...]]
    values: tuple[Any, ...] | None

    def __init__(self, column: str, *, when: Mapping[str, Any], values: Any = None) -> None:
        if not isinstance(column, str) or not isinstance(when, Mapping) or not when:
            raise QuestionError(
                "A rule names a column and the answers under which it has no value: "
                "dp.synthesis.Impossible('gleason', when={'tumour': False})."
            )
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "when", {name: _listed(given) for name, given in when.items()})
        object.__setattr__(self, "values", None if values is None else _listed(values))

    def __hash__(self) -> int:
        return hash((self.column, tuple(self.when)))


def _listed(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, list | set | frozenset | range) else (given,)


@dataclass(frozen=True, eq=False)
class CellRule:
    """A rule about the cells of a synthetic table.

    Attributes:
        target: The column that it is about: whoever breaks the rule is counted in its last cell.
        drivers: The columns that decide, ascending.
        possible: 1 for combinations that can be, 0 for the others; one axis for each column, ascending.
    """

    target: int
    drivers: Columns
    possible: Floats

    @property
    def columns(self) -> Columns:
        """All of its columns, ascending."""
        return tuple(sorted((self.target, *self.drivers)))

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the rule as plain values."""
        bits = np.packbits(self.possible.ravel() == 0)
        return {
            "column": names[self.target],
            "when": [names[place] for place in self.drivers],
            "impossible": bits.tobytes().hex(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], variables: Sequence[Variable]) -> CellRule:
        """Read a rule from plain values."""
        places = {variable.name: place for place, variable in enumerate(variables)}
        target, drivers = places[plain["column"]], tuple(sorted(places[name] for name in plain["when"]))
        sizes = [variables[place].size for place in sorted((target, *drivers))]
        bits = np.frombuffer(bytes.fromhex(plain["impossible"]), dtype=np.uint8)
        possible = 1.0 - np.unpackbits(bits)[: math.prod(sizes)].reshape(sizes).astype(np.float64)
        found = cls(target, drivers, possible)
        if target in drivers or not found.possible.take(-1, axis=found.columns.index(target)).all():
            raise ValueError
        return found


# -- counts and models ---------------------------------------------------------------------------------


def with_deciding(rules: Sequence[CellRule], columns: Columns) -> Columns:
    """Return columns and all that decide about them, and about those."""
    found = set(columns)
    for rule in reversed(rules):  # what decides stands before what it decides about
        if rule.target in found:
            found |= {*rule.drivers}
    return tuple(sorted(found))


def keep_rules(counts: Integers, columns: Columns, rules: Sequence[CellRule]) -> Integers:
    """Return counts in which everybody who breaks a rule has moved to the last cell of its column.

    Proof: which cell a row counts in depends on this row alone, so that every person still has one cell of the table.

    Args:
        counts: The counts of ``with_deciding(rules, ...)``.
        columns: Their columns, ascending.
        rules: The rules, as ``cell_rules`` orders them.

    Examples:
        >>> rule = CellRule(1, (0,), np.array([[1.0, 1.0], [0.0, 1.0]]))
        >>> keep_rules(np.array([[5, 1], [2, 3]]), (0, 1), [rule]).tolist()
        [[5, 1], [0, 5]]
    """
    found = counts.copy()
    for rule in rules:
        if rule.target not in columns:
            continue
        axis = columns.index(rule.target)
        broken = np.where(lift(rule.possible, rule.columns, columns) == 0, found, 0)
        found -= broken
        last = [slice(None)] * found.ndim
        last[axis] = slice(-1, None)
        found[tuple(last)] += broken.sum(axis=axis, keepdims=True)
    return found


def keep_codes(codes: Integers, rules: Sequence[CellRule]) -> Integers:
    """Return the cells of rows, one line per column, in which nobody breaks a rule: the last cell stands instead."""
    found = codes.copy()
    for rule in rules:
        broken = rule.possible[tuple(found[place] for place in rule.columns)] == 0
        last = rule.possible.shape[rule.columns.index(rule.target)] - 1
        found[rule.target] = np.where(broken, last, found[rule.target])
    return found


def possible_cells(rules: Iterable[CellRule]) -> dict[Columns, Floats]:
    """Return columns -> 1 for combinations that can be, 0 elsewhere: what a model keeps."""
    found: dict[Columns, Floats] = {}
    for rule in rules:
        found[rule.columns] = found.get(rule.columns, np.ones(())) * rule.possible
    return found


# -- declarations --------------------------------------------------------------------------------------


def edges_of(impossible: Template | Iterable[Impossible], schema: Schema) -> dict[str, set[float]]:
    """Return column -> thresholds of rules, as numbers: edges of its bins, so that no bin is on both sides."""
    found: dict[str, set[float]] = {}

    def cut(name: str, *numbers: Any) -> None:
        column = schema.columns.get(name)
        if column is not None and column.is_ranged:
            found.setdefault(name, set()).update(float(n) for n in numbers if n is not None)

    if isinstance(impossible, Template):
        for place in impossible.index.places:
            for condition in place.item.enable_when:
                cut(condition.question, *_thresholds(condition, schema))
        return found
    for rule in _checked(impossible):
        for name, given in [*rule.when.items(), (rule.column, rule.values or ())]:
            column = schema.columns.get(name)
            for pair in given:
                if isinstance(pair, tuple) and len(pair) == 2:
                    cut(name, *(_number(end) for end in pair))
                elif pair is not None and column is not None and column.is_ranged:
                    number = _number(pair)
                    cut(name, number, number + _step(column))
    return found


def _checked(impossible: Any) -> tuple[Impossible, ...]:
    given = tuple(impossible) if isinstance(impossible, Iterable) and not isinstance(impossible, str) else (impossible,)
    if not all(isinstance(rule, Impossible) for rule in given):
        raise QuestionError(
            "impossible= is a list of rules, [dp.synthesis.Impossible('gleason', when={'tumour': False})], or a report "
            "template."
        )
    return given


def _step(column: Any) -> float:
    return 1.0 if column.is_whole or not column.holds_numbers else float(column.grid or 0.0)


def _number(value: Any) -> Any:
    """Return a number, or a day as days since 1970-01-01."""
    if value is None:
        return None
    if isinstance(value, str):
        value = date.fromisoformat(value)
    return float((value - date(1970, 1, 1)).days) if isinstance(value, date) else float(value)


def _thresholds(condition: Condition, schema: Schema) -> tuple[float, ...]:
    column = schema.columns.get(condition.question)
    if column is None or not column.is_ranged or condition.operator == "exists":
        return ()
    number, step = _number(condition.answer), _step(column)
    first, after = number, number + step
    bounds = column.number_bounds
    if bounds is not None and first >= bounds[1]:  # the last bin is closed: half a step below, its end stands alone
        first = bounds[1] - step / 2
    return {">=": (first,), "<": (first,), ">": (after,), "<=": (after,)}.get(condition.operator, (first, after))


def with_edges(variable: Variable, numbers: Iterable[float]) -> Variable:
    """Return a column whose bins have some more edges."""
    if not isinstance(variable.keys, Bins):
        return variable
    known = dict(zip(variable.keys.numbers, variable.keys.edges, strict=True))
    low, high = min(known), max(known)
    for number in numbers:
        if low < number < high:
            day = None if variable.column.holds_numbers else date(1970, 1, 1) + timedelta(days=round(number))
            edge = int(number) if number.is_integer() else number
            known.setdefault(number, edge if day is None else day.isoformat())
    return Variable(variable.name, variable.column, Bins([known[number] for number in sorted(known)]))


def cell_rules(
    impossible: Template | Iterable[Impossible], variables: Sequence[Variable]
) -> tuple[tuple[CellRule, ...], tuple[str, ...]]:
    """Return rules about the cells of a table, those that decide first, and what could not be kept.

    A rule that names a column which the table has not is left out: nothing in the table can break it.

    Raises:
        QuestionError: A rule names unknown values, has too many combinations, or two rules decide about each other.
    """
    notes: list[str] = []
    if isinstance(impossible, Template):
        found = _template_rules(impossible, variables, notes)
    else:
        names = {variable.name for variable in variables}
        found = [_rule(rule, variables) for rule in _checked(impossible) if {rule.column, *rule.when} <= names]
    joined: dict[tuple[int, Columns], CellRule] = {}
    for rule in found:
        key = (rule.target, rule.drivers)
        known = joined.get(key)
        joined[key] = rule if known is None else CellRule(*key, known.possible * rule.possible)
    kept = [joined[key] for key in sorted(joined) if (joined[key].possible == 0).any()]
    ordered = _ordered(kept, variables)
    for place, variable in enumerate(variables):
        counted = math.prod(variables[c].size for c in with_deciding(ordered, (place,)))
        if counted > MOST_COUNTED:
            raise QuestionError(
                f"The rules about '{variable.name}' look at {counted} combinations. Name fewer columns: columns=[...]."
            )
    return ordered, tuple(notes)


def _ordered(rules: Sequence[CellRule], variables: Sequence[Variable]) -> tuple[CellRule, ...]:
    left, found = list(rules), list[CellRule]()
    while left:
        waiting = {rule.target for rule in left}
        ready = [rule for rule in left if not waiting & {*rule.drivers}]
        if not ready:
            names = sorted(variables[place].name for place in waiting)
            raise QuestionError(f"Rules about {', '.join(names)} decide about each other. Leave one of them out.")
        found += ready
        left = [rule for rule in left if rule not in ready]
    return tuple(found)


def _build(
    target: int, drivers: Columns, variables: Sequence[Variable], is_possible: Callable[[Columns, int], bool]
) -> CellRule:
    """Return a rule from a function of the drivers' cells and the target's, which is never asked about the last one."""
    columns = tuple(sorted((target, *drivers)))
    axis = columns.index(target)
    sizes = [variables[place].size for place in columns]
    possible = np.ones(sizes)
    for cells in product(*(range(variables[place].size) for place in drivers)):
        for cell in range(sizes[axis] - 1):
            if not is_possible(cells, cell):
                possible[(*cells[:axis], cell, *cells[axis:])] = 0.0
    return CellRule(target, drivers, possible)


def _rule(rule: Impossible, variables: Sequence[Variable]) -> CellRule:
    places = {variable.name: place for place, variable in enumerate(variables)}
    target, drivers = places[rule.column], tuple(sorted(places[name] for name in rule.when))
    if target in drivers:
        raise QuestionError(f"A rule about '{rule.column}' cannot depend on '{rule.column}' itself.")
    combinations = math.prod(variables[place].size for place in (target, *drivers))
    if combinations > MOST_COMBINATIONS:
        raise QuestionError(
            f"The rule about '{rule.column}' has {combinations} combinations, more than {MOST_COMBINATIONS}. Give "
            "wider bins or fewer columns."
        )
    when = [_cells(variables[place], rule.when[variables[place].name]) for place in drivers]
    last = variables[target].size - 1
    never = {*range(last)} if rule.values is None else _cells(variables[target], rule.values)

    def is_possible(cells: Columns, cell: int) -> bool:
        return cell not in never or not all(own in given for own, given in zip(cells, when, strict=True))

    return _build(target, drivers, variables, is_possible)


def _cells(variable: Variable, values: Iterable[Any]) -> set[int]:
    """Return the cells that some values stand for."""
    found: set[int] = set()
    for value in values:
        if value is None:
            found.add(variable.size - 1)
        elif isinstance(variable.keys, Bins):
            low, high = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
            first, end = _number(low), _number(high)
            if not isinstance(value, tuple):
                end = first + _step(variable.column)
            numbers = variable.keys.numbers
            found |= {
                place
                for place in range(len(numbers) - 1)
                if (first is None or numbers[place] >= first) and (end is None or numbers[place + 1] <= end)
            }
        elif value in variable.cells:
            found.add(variable.cells.index(value))
        else:
            known = [str(key) for key in variable.cells]
            raise QuestionError(
                f"A rule names a value that '{variable.name}' has not.{did_you_mean(str(value), known)}"
            )
    return found


# -- templates -----------------------------------------------------------------------------------------


def _template_rules(template: Template, variables: Sequence[Variable], notes: list[str]) -> list[CellRule]:
    """Return the rules of a template: hidden questions have no answer, computed ones the one that is worked out."""
    places = {variable.name: place for place, variable in enumerate(variables)}
    index, found = template.index, list[CellRule]()

    def seen(name: str, loops: tuple[str, ...]) -> bool:
        """Whether a row holds the one answer of another question."""
        reference = refer(index, loops, name)
        return name in places and not reference.loops and not reference.counts

    def add(target: int, names: Iterable[str], is_possible: Callable[[Answers, Value], bool]) -> None:
        drivers = tuple(sorted({places[name] for name in names}))
        combinations = math.prod(variables[place].size for place in (target, *drivers))
        if combinations > MOST_COMBINATIONS:
            notes.append(
                f"The template's rule about '{variables[target].name}' has {combinations} combinations and is not "
                "kept: rows may break it."
            )
            return
        answers = [[_answer(variables[place], cell) for cell in range(variables[place].size)] for place in drivers]
        own = [_answer(variables[target], cell) for cell in range(variables[target].size)]

        def judge(cells: Columns, cell: int) -> bool:
            given = {variables[d].name: answers[i][cells[i]] for i, d in enumerate(drivers)}
            return is_possible(given, own[cell][0])

        found.append(_build(target, drivers, variables, judge))

    for place, question in index.questions():
        if question.id not in places:
            continue
        target = places[question.id]
        around: list[tuple[Item, tuple[str, ...]]] = [(question, place.loops)]
        around += [(group, index.by_id[group.id].loops) for group in place.parents]
        for item, loops in around:
            known = [condition for condition in item.enable_when if seen(condition.question, loops)]
            if known and (len(known) == len(item.enable_when) or item.enable_behaviour != "any"):
                add(target, [condition.question for condition in known], _shown(item, known))
        computed = question.computed
        if computed is None or not all(seen(name, place.loops) for name in computed.inputs):
            continue
        if not any(isinstance(variables[places[name]].keys, Bins) for name in (*computed.inputs, question.id)):
            add(target, computed.inputs, _worked_out(computed))
    return found


def _answer(variable: Variable, cell: int) -> tuple[Value, ...]:
    """Return the answer that a cell stands for; in a bin its lowest, which thresholds have at their edges."""
    if cell == variable.size - 1:
        return ()
    return (variable.keys.edges[cell],) if isinstance(variable.keys, Bins) else (variable.cells[cell],)


def _shown(item: Item, known: Sequence[Condition]) -> Callable[[Answers, Value], bool]:
    def is_possible(answers: Answers, value: Value) -> bool:
        return join(item.enable_behaviour, [holds(condition, answers[condition.question]) for condition in known])

    return is_possible


def _worked_out(computed: Computed) -> Callable[[Answers, Value], bool]:
    function = FUNCTIONS[computed.function]

    def is_possible(answers: Answers, value: Value) -> bool:
        return compute(function, [answers[name] for name in computed.inputs]) == value

    return is_possible

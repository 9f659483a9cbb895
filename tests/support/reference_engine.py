"""The rules once more, in plain loops over plain rows: slow, obvious, and shared with no engine."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import re
from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa

from pydplib.engine import Bins, Measure, Plan
from pydplib.engine.sql.one_row import step_condition
from pydplib.schema import Category, Column, Date, Flag, Integer, Number, Text
from pydplib.schema.formulas import compute

PRIME = 2**31 - 1
NUMBER = r" *[+-]?([0-9]{1,100}(\.[0-9]{0,100})?|\.[0-9]{1,100})([eE][+-]?[0-9]{1,2})? *"
DAY_ZERO = dt.date(1970, 1, 1)


def reference(data: pa.Table, plan: Plan) -> tuple[tuple[tuple[Any, ...], ...], list[Any]]:
    """Return keys and, per measure, a list of integers (of lists, for cells)."""
    rows = []
    for cells in data.to_pylist():
        person = None if plan.bound.person is None else cells[plan.bound.person]
        if plan.bound.person is not None and (person is None or person == "" or person != person):
            continue
        values = {name: read_cell(cells[name], plan.table.column(name)) for name in plan.stored}
        for name in plan.read:
            formula = plan.table.column(name).formula
            if formula is not None and not formula.is_step:
                values[name] = computed(formula, values, plan.table.column(name))
        if all(met(values, condition, plan.table.columns) for condition in plan.where):
            row_key = cells[plan.bound.row_key] if plan.bound.row_key else None
            rows.append({"person": person, "row_key": row_key, "v": values})
    tell_persons(rows, plan)
    for row in rows:
        row["key"] = key_of(row["v"], plan)
    if plan.measures[0].kind == "persons":
        classes = [0] * plan.measures[0].cells
        for count in Counter(row["person"] for row in rows).values():
            classes[max(i for i, edge in enumerate(plan.measures[0].edges) if count >= edge)] += 1
        return plan.keys, [[classes]]
    for row, weight in zip(rows, weights(rows, plan), strict=True):
        row["weight"] = weight
    rows = [row for row in rows if row["weight"] and row["key"] is not None]
    if plan.has_unknown_keys:
        keys = tuple(sorted({row["key"] for row in rows}, key=lambda key: key_order(key, plan)))
    else:
        keys = plan.keys
    return keys, [[added(rows, key, measure) for key in keys] for measure in plan.measures]


def computed(formula: Any, values: dict[str, Any], column: Column) -> Any:
    """Compute a formula of one row in plain floats, and clamp it."""
    found = compute(formula, {n: None if values[n] is None else float(values[n]) for n in formula.columns})
    if found is None:
        return None
    if isinstance(column, Category):
        return column.values[int(found)]
    found = min(max(found, float(column.low)), float(column.high))
    return float(math.floor(found + 0.5)) if isinstance(column, Integer) else found


def tell_persons(rows: list[dict[str, Any]], plan: Plan) -> None:
    """Write what is told of each person into all rows of that person."""
    columns = plan.table.columns
    steps = {name: columns[name].formula.step for name in plan.columns if columns[name].is_step}
    for person in {row["person"] for row in rows} if steps else ():
        mine = [row["v"] for row in rows if row["person"] == person]
        found = {name: told(step, mine, plan, columns[name]) for name, step in steps.items()}
        for values in mine:
            values.update(found)


def told(step: Any, mine: list[dict[str, Any]], plan: Plan, column: Column) -> Any:
    """Tell one value of a person, in plain loops."""
    columns = plan.table.columns
    if step.kind == "count_of":
        if not step.columns:
            found: Any = len(mine)
        else:
            condition = step_condition(plan.table, step)
            found = sum(met(values, condition, columns) for values in mine)
    elif step.kind in ("days_between", "days_to_next"):
        days = sorted(v[step.columns[0]] for v in mine if v[step.columns[0]] is not None)
        others = sorted(v[step.columns[-1]] for v in mine if v[step.columns[-1]] is not None)
        if step.kind == "days_to_next":
            others = [day for day in days if day > days[0]]
        elif len(step.columns) == 1:
            others = days[-1:]
        found = others[0] - days[0] if days and others else None
    elif step.kind == "highest":
        listed = sorted((code(v[step.columns[0]], columns[step.columns[0]]), i) for i, v in enumerate(mine)
                        if v[step.columns[0]] is not None)  # fmt: skip
        declared = [pair for pair in listed if mine[pair[1]][step.columns[0]] != "other"] or listed
        found = mine[declared[-1][1]][step.columns[0]] if declared else None
    else:
        there = [v for v in mine if v[step.columns[0]] is not None]
        first, last = (min(there, key=lambda v, s=sign: rank_of(v, plan, step.order, s, step.columns), default=None)
                       for sign in (1, -1))  # fmt: skip
        ends = [None if v is None else v[step.columns[0]] for v in (first, last)]
        if step.kind == "change":
            found = None if None in ends else ends[1] - ends[0]
        else:
            found = ends[0] if step.kind == "first" else ends[1]
    if found is None or isinstance(column, Category | Flag):
        return found
    if isinstance(column, Date):
        low, high = (float((end - DAY_ZERO).days) for end in (column.low, column.high))
        return min(max(found, low), high)
    found = min(max(float(found), float(column.low)), float(column.high))
    return float(math.floor(found + 0.5)) if isinstance(column, Integer) else found


def rank_of(values: dict[str, Any], plan: Plan, order: Any, sign: int, ties: Any = None) -> list[Any]:
    """Return what a person's rows are sorted by: the order columns, then everything that can be asked."""
    columns = plan.table.columns
    found: list[Any] = []
    for name in order:
        value, kind = values[name], columns[name]
        is_other = isinstance(kind, Category) and value == "other" and "other" not in kind.values
        place = code(value, kind)
        is_last = is_other and sign < 0
        found.append((2, 0) if place is None else (1, 0) if is_last else (0, sign * place))
    if ties is None:
        ties = [n for n, c in columns.items() if not isinstance(c, Text) and c.formula is None]
    for name in [n for n in ties if n not in order and n != plan.bound.person]:
        place = code(values[name], columns[name])
        found.append((1, 0) if place is None else (0, place))
    return found


def added(rows: list[dict[str, Any]], key: tuple[Any, ...], measure: Measure) -> Any:
    total, cells = 0, [0] * measure.cells
    for row in rows:
        if row["key"] != key:
            continue
        value = 1 if measure.column is None else row["v"][measure.column]
        if value is None:
            continue
        if measure.kind == "count":
            total += row["weight"]
            continue
        x = min(max(float(value), measure.low), measure.high)
        if measure.kind == "cells":
            cell = cell_of(x, measure)
            if cell is not None:
                cells[cell] += row["weight"]
            continue
        x -= measure.center
        x = x * x if measure.kind == "sumsq" else x
        total += row["weight"] * (math.floor(x * (1.0 / measure.step) + 0.5) - measure.offset)
    return cells if measure.kind == "cells" else total


def cell_of(x: float, measure: Measure) -> int | None:
    if measure.edges is None:
        return math.floor(x * (1.0 / measure.step) + 0.5) - math.floor(measure.low * (1.0 / measure.step) + 0.5)
    return bin_of(x, measure.edges)


def bin_of(x: float, edges: tuple[float, ...]) -> int | None:
    for i in range(len(edges) - 1):
        last = i == len(edges) - 2
        if edges[i] <= x < edges[i + 1] or (last and x == edges[-1]):
            return i
    return None


def read_cell(cell: Any, column: Column) -> Any:
    """Return a clamped number, a listed value, "other", a flag, or None for missing."""
    if cell is None or cell == "" or cell != cell:
        return None
    if isinstance(column, Number | Integer):
        if isinstance(cell, str) and not re.fullmatch(NUMBER, cell):
            return None
        number = min(max(float(cell), float(column.low)), float(column.high))
        return float(math.floor(number + 0.5)) if isinstance(column, Integer) else number
    if isinstance(column, Date):
        if isinstance(cell, str):
            try:
                cell = dt.date.fromisoformat(cell[:10])
            except ValueError:
                return None
        day = cell.date() if isinstance(cell, dt.datetime) else cell
        return float((min(max(day, column.low), column.high) - DAY_ZERO).days)
    if isinstance(column, Flag):
        word = str(cell).lower().removesuffix(".0")
        return 1 if word in ("true", "t", "yes", "y", "1") else 0 if word in ("false", "f", "no", "n", "0") else None
    if isinstance(column, Category):
        for value in column.values:
            if cell == value or (isinstance(cell, str) and not isinstance(value, str) and cell == str(value)):
                return value
        return "other"
    if isinstance(column, Text):
        return str(cell)
    raise AssertionError(column)


def met(values: dict[str, Any], condition: Any, columns: Any) -> bool:
    """Tell whether a row meets a condition, or one of several."""
    parts = getattr(condition, "parts", (condition,))
    return any(meets(values[part.column], part, columns[part.column]) for part in parts)


def meets(value: Any, condition: Any, column: Column) -> bool:
    if condition.op == "is_missing":
        return value is None
    if value is None:
        return False
    if condition.op == "is_present":
        return True
    given = [
        float((dt.date.fromisoformat(v) - DAY_ZERO).days) if isinstance(column, Date) else v for v in condition.values
    ]
    return {
        "is_in": lambda: value in given,
        "not_in": lambda: value not in given,
        "between": lambda: given[0] <= value <= given[1],
        "at_least": lambda: value >= given[0],
        "at_most": lambda: value <= given[0],
        "more_than": lambda: value > given[0],
        "less_than": lambda: value < given[0],
    }[condition.op]()


def key_of(values: dict[str, Any], plan: Plan) -> tuple[Any, ...] | None:
    """Return the public key of a row, or None if it has none."""
    found: list[Any] = []
    for name, keys in plan.by.items():
        value = values[name]
        if keys is None:
            if value is None:
                return None
            found.append(value if isinstance(value, str) else int(value))
        elif isinstance(keys, Bins):
            position = None if value is None else bin_of(value, keys.numbers)
            if position is None:
                return None
            found.append(keys.keys[position])
        else:
            if isinstance(plan.table.column(name), Flag) and value is not None:
                value = bool(value)
            if isinstance(plan.table.column(name), Integer) and value is not None:
                value = int(value)
            if value not in keys:
                return None
            found.append(value)
    return tuple(found)


def key_order(key: tuple[Any, ...], plan: Plan) -> list[Any]:
    """Return what keys found by an engine are sorted by: public order, or the value itself."""
    lists = [keys.keys if isinstance(keys, Bins) else keys for keys in plan.by.values()]
    return [part if keys is None else keys.index(part) for part, keys in zip(key, lists, strict=True)]


def weights(rows: list[dict[str, Any]], plan: Plan) -> list[int]:
    bound = plan.bound
    if bound.person is None:
        return [1] * len(rows)
    if bound.mode == "weight":
        counts = Counter(row["person"] for row in rows)
        return [min(2**16, bound.max_rows * 2**16 // counts[row["person"]]) for row in rows]
    return _one_each(rows, plan) if bound.mode == "row" else _sampled(rows, plan)


def _one_each(rows: list[dict[str, Any]], plan: Plan) -> list[int]:
    """Give weight 1 to the one row of each person that the rule chooses, if it meets the conditions on it."""
    columns, texts = plan.table.columns, [n for n in plan.columns if isinstance(plan.table.columns[n], Text)]

    def rank(i: int) -> list[Any]:
        if plan.bound.rule == "any":
            return []
        sign = 1 if plan.bound.rule == "first" else -1
        found = rank_of(rows[i]["v"], plan, plan.bound.order, sign)
        return [*found, *((rows[i]["v"][n] is None, rows[i]["v"][n] or "") for n in texts)]

    best: dict[Any, int] = {}
    for i, row in enumerate(rows):
        if row["person"] not in best or rank(i) < rank(best[row["person"]]):
            best[row["person"]] = i
    kept = [0] * len(rows)
    for i in best.values():
        kept[i] = int(all(met(rows[i]["v"], condition, columns) for condition in plan.after))
    return kept


def _sampled(rows: list[dict[str, Any]], plan: Plan) -> list[int]:
    bound, kept = plan.bound, [0] * len(rows)
    per_person: dict[Any, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        if row["key"] is not None:
            per_person[row["person"]].append(i)
    names = {name: f"c{i}" for i, name in enumerate(plan.table.columns)}
    for person, mine in per_person.items():

        def group_rank(i: int, person: Any = person) -> tuple[Any, ...]:
            parts = [("p", person), ("k", public_position(rows[i]["key"], plan))]
            parts += [(f"u{j}", rows[i]["key"][j]) for j, keys in enumerate(plan.by.values()) if keys is None]
            mixed = sum(poly(fold(value), plan, f"group {name}") for name, value in parts) % PRIME
            return (poly(mixed, plan, "groups"), *[value for _, value in parts[1:]])

        def row_rank(i: int, person: Any = person) -> tuple[Any, ...]:
            if bound.row_key:
                content = [("rk", rows[i]["row_key"])]
            else:
                content = [
                    (names[n], code(rows[i]["v"][n], plan.table.column(n)))
                    for n in plan.columns if not isinstance(plan.table.column(n), Text)
                ]  # fmt: skip
            mixed = sum(poly(fold(value), plan, f"row {name}") for name, value in [("p", person), *content]) % PRIME
            ties = [rows[i]["row_key"]] if bound.row_key else []
            ties += [code(rows[i]["v"][n], plan.table.column(n)) for n in plan.columns]
            grouped = () if bound.max_groups else group_rank(i)[1:]
            return (
                poly(mixed, plan, "rows"),
                *grouped,
                *[(tie is not None, tie if tie is not None else 0) for tie in ties],
            )

        groups = sorted({group_rank(i) for i in mine})[: bound.max_groups or len(mine)]
        taken: Counter[Any] = Counter()
        for i in sorted(mine, key=row_rank):
            bucket = rows[i]["key"] if bound.max_groups else None
            if group_rank(i) in groups and taken[bucket] < bound.max_rows:
                taken[bucket] += 1
                kept[i] = 1
    return kept


def code(value: Any, column: Column) -> Any:
    if isinstance(column, Category) and value is not None:
        listed = [*column.values, *([] if "other" in column.values else ["other"])]
        return listed.index(value)
    return value


def public_position(key: tuple[Any, ...], plan: Plan) -> int:
    position = 0
    for part, keys in zip(key, plan.by.values(), strict=True):
        if keys is not None:
            listed = keys.keys if isinstance(keys, Bins) else keys
            position = position * len(listed) + listed.index(part)
    return position


def fold(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return int(hashlib.md5(value.encode(), usedforsecurity=False).hexdigest()[:7], 16)
    return math.floor(value) % PRIME if abs(value) < 1e15 or isinstance(value, int) else 0


def poly(x: int, plan: Plan, purpose: str) -> int:
    a, b, c, d = plan.bound.coefficients(purpose)
    return (a * x**3 + b * x**2 + c * x + d) % PRIME

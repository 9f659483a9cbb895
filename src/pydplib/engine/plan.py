"""Plans: what an engine is asked to count, said with public facts alone. A plan touches no data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from types import MappingProxyType
from typing import Any, TypeAlias

from pydplib.engine.bounds import Bound
from pydplib.engine.conditions import RowCondition, canonical_conditions
from pydplib.engine.measures import Measure
from pydplib.engine.persons import can_order, ordering_columns
from pydplib.errors import QuestionError, did_you_mean
from pydplib.schema import Scalar, Schema, number_of_text, same_scalar

Key: TypeAlias = Scalar | tuple[Scalar, Scalar] | None
"""One public key: a value, a bin (low, high), or None for "missing"."""

CELLS_LIMIT = 10_000_000
"""Most integers that one plan may bring back."""

ROWS_CEILING = 2**31
"""Weighted rows a table is taken to have at most, where the owner declares no size: a public fact of pydplib."""

WHOLE_LIMIT = 2**62
"""No sum is planned to reach this; one that does, because the table outgrew its declared size, is kept exactly."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Public bins of a number or date column as keys of ``by``: [e0, e1), [e1, e2), ..., the last one closed.

    Examples:
        >>> Bins([50, 60, 70]).keys
        ((50, 60), (60, 70))
    """

    edges: tuple[Scalar, ...]

    def __init__(self, edges: Iterable[Any]) -> None:
        plain = tuple(edge.isoformat() if hasattr(edge, "isoformat") else edge for edge in edges)
        object.__setattr__(self, "edges", plain)
        numbers = self.numbers
        if len(numbers) < 2 or not all(a < b for a, b in pairwise(numbers)):
            raise QuestionError("Bins needs at least two ascending public edges, e.g. Bins([50, 60, 70]).")

    def __repr__(self) -> str:
        return f"Bins({list(self.edges)!r})"

    @property
    def numbers(self) -> tuple[float, ...]:
        """The edges as numbers; days as days since 1970-01-01."""
        found = []
        for edge in self.edges:
            number = number_of_text(edge) if isinstance(edge, str) else edge
            if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
                raise QuestionError("Bins needs finite edges.")
            found.append(float(number))
        return tuple(found)

    @property
    def keys(self) -> tuple[tuple[Scalar, Scalar], ...]:
        """The bins as (low, high)."""
        return tuple(pairwise(self.edges))


Keys: TypeAlias = tuple[Key, ...] | Bins | None
"""The public keys of one ``by`` column; None: unknown, the engine finds them."""


def public_keys(schema: Schema, column: str) -> tuple[Key, ...]:
    """Return the keys a column's declaration makes public: its values, and "other" for categories.

    Examples:
        >>> from pydplib.schema import Category, Flag
        >>> public_keys(Schema({"pirads": Category([1, 2]), "bph": Flag()}), "pirads")
        (1, 2, 'other')
    """
    kind = schema.column(column)
    if kind.listed:
        return kind.public_keys
    raise QuestionError(f"Column '{column}' has no public list of values. Give bins: by={{'{column}': Bins([...])}}.")


@dataclass(frozen=True)
class Plan:
    """What to count: which rows, per which public keys, bounded how, measured how.

    Args:
        table: The declared table.
        where: Conditions, all of which must hold.
        by: Column -> its public keys, in the order in which they come back; ``Bins`` for numbers and
            dates; None for unknown keys. A list of names takes the declared values.
        bound: How the contribution of a person is bounded; by default by weights, as the schema says.
        measures: What to add up.
        after: Conditions on the one row of each person, all of which must hold; they leave persons out, and choose no
            other row.

    Examples:
        >>> from pydplib.schema import Category, Number
        >>> schema = Schema({"age": Number(18, 100), "pirads": Category([1, 2])}, person="id", max_rows_per_person=1)
        >>> plan = Plan(schema, by=["pirads"], measures=[Measure("count")])
        >>> plan.keys
        ((1,), (2,), ('other',))
    """

    table: Schema
    where: tuple[RowCondition, ...]
    by: Mapping[str, Keys]
    bound: Bound
    measures: tuple[Measure, ...]
    after: tuple[RowCondition, ...] = ()

    def __init__(
        self,
        table: Schema,
        *,
        measures: Iterable[Measure],
        where: Iterable[RowCondition] = (),
        by: Mapping[str, Any] | Iterable[str] = (),
        bound: Bound | None = None,
        after: Iterable[RowCondition] = (),
    ) -> None:
        if not isinstance(table, Schema):
            raise QuestionError("A plan is made for a declared table: Plan(schema, ...).")
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "where", canonical_conditions(where, table))
        named = dict(by) if isinstance(by, Mapping) else {name: public_keys(table, name) for name in by}
        keys = {name: _check_keys(table, name, given) for name, given in named.items()}
        object.__setattr__(self, "by", MappingProxyType(keys))
        object.__setattr__(self, "bound", bound or Bound.from_schema(table))
        object.__setattr__(self, "after", canonical_conditions(after, table))
        self._check_bound()
        self._measure(measures)

    def measuring(self, measures: Iterable[Measure]) -> Plan:
        """Return the plan of other measures on the same rows: by the same keys, under the same bound.

        Examples:
            >>> from pydplib.schema import Number
            >>> counted = Plan(Schema({"age": Number(18, 100)}), measures=[Measure("count")])
            >>> counted.measuring([Measure("sum", "age", low=18, high=100, step=1)]).told
            ('age',)
        """
        found = copy(self)
        found._measure(measures)
        return found

    def _measure(self, measures: Iterable[Measure]) -> None:
        object.__setattr__(self, "measures", (measures,) if isinstance(measures, Measure) else tuple(measures))
        self._check_measures()
        self._check_steps()
        self._check_size()

    def _check_bound(self) -> None:
        if self.bound.person != self.table.person:
            raise QuestionError(
                f"The bound protects '{self.bound.person}', the schema says that a person is "
                f"'{self.table.person}'. They must be the same column."
            )
        for name in self.bound.order:
            if not can_order(self.table, name):
                raise QuestionError(
                    f"Column '{name}' cannot order a person's rows.{did_you_mean(name, self.table.columns)}"
                )
        if self.after and self.bound.mode != "row":
            raise QuestionError(
                "after= looks at the one row of each person: say which one counts, per_person=, or use where=."
            )
        is_limited = self.bound.mode == "row" or self.bound.max_groups is not None
        if self.has_unknown_keys and not is_limited:
            raise QuestionError(
                "Unknown keys need a sampling bound with a most number of groups per person: "
                "Bound(person, max_rows, mode='sample', max_groups=...)."
            )
        if self.bound.max_groups is not None and not self.by:
            raise QuestionError("max_groups bounds the groups of by=; this plan has no groups.")

    def _check_steps(self) -> None:
        """Refuse columns that are told of each person where rows are asked, and columns of rows where no row is."""
        steps = {*self.table.steps}
        used = {name for condition in self.where for name in condition.columns} & steps
        if used:
            raise QuestionError(f"'{min(used)}' is computed for each person, not for each row: use after=, not where=.")
        looked_at = {*self.told}
        if looked_at & steps and self.bound.mode != "row":
            name = min(looked_at & steps)
            raise QuestionError(f"'{name}' is computed for each person: it needs one row of each person.")
        if self.bound.rule == "any" and looked_at - steps:
            raise QuestionError(
                f"'{min(looked_at - steps)}' may differ between the rows of one person. Say which row counts: "
                "per_person=dp.Person('patient_id').first_row(order='day'), in words per person first by day."
            )

    def _check_measures(self) -> None:
        if not self.measures:
            raise QuestionError("A plan needs at least one measure, e.g. Measure('count').")
        for measure in self.measures:
            if not isinstance(measure, Measure):
                raise QuestionError(f"measures= takes Measure values. Got {type(measure).__name__}.")
            if measure.kind == "persons" and (
                len(self.measures) > 1 or self.by or self.table.person is None or self.bound.mode == "row"
            ):
                raise QuestionError(
                    "Persons by their number of rows are counted alone: no by=, no other measure, and a person column."
                )
            if measure.column is None:
                continue
            kind = self.table.column(measure.column)
            if not kind.can_be_asked:
                raise QuestionError(f"Column '{measure.column}' is free text and cannot be measured.")
            if measure.kind != "count" and kind.number_bounds is None:
                raise QuestionError(
                    f"'{measure.kind}' needs numbers; column '{measure.column}' is a {kind.kind}. "
                    "Count it by its values: by=[...]."
                )
            if measure.kind == "cells" and self.has_unknown_keys:
                raise QuestionError("Cells need public keys; this plan has unknown ones.")

    def _check_size(self) -> None:
        if not self.has_unknown_keys:
            cells = sum(measure.cells for measure in self.measures) * len(self.keys)
            if cells > CELLS_LIMIT:
                raise QuestionError(
                    f"The question has {cells} cells; at most {CELLS_LIMIT} are answered. Use wider bins."
                )
        for measure in self.measures:
            total = self.rows_ceiling * self.scale * measure.largest
            # One person's raw rows are added up before they are weighed: 2^32 of them must fit as well.
            if total >= WHOLE_LIMIT or measure.largest >= 2**30:
                raise QuestionError(
                    f"Measure '{measure.kind}' of '{measure.column}' could overflow: {self.rows_ceiling} weighted "
                    f"rows of at most {measure.largest} grid steps each. Use a wider step, or declare the "
                    "public size in the schema."
                )

    @property
    def rows_ceiling(self) -> int:
        """Most rows that can count, from public facts: the declared size, or pydplib's own ceiling."""
        if self.table.size is None:
            return ROWS_CEILING
        groups = self.bound.max_groups or 1
        return self.table.size * self.bound.max_rows * groups

    @property
    def scale(self) -> int:
        """How many integer units one row is: 2^16 where rows are weighed, 1 elsewhere."""
        return self.bound.scale

    @property
    def has_unknown_keys(self) -> bool:
        """Whether a ``by`` column has no public keys."""
        return any(given is None for given in self.by.values())

    @cached_property
    def keys(self) -> tuple[tuple[Key, ...], ...]:
        """Every public key, in public order: the rows of the answer. One empty key without ``by``."""
        if self.has_unknown_keys:
            raise QuestionError("This plan's keys are unknown before the engine has looked.")
        lists = [given.keys if isinstance(given, Bins) else given or () for given in self.by.values()]
        return tuple(product(*lists))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the plan looks at, besides the person, sorted."""
        return tuple(sorted({name for condition in self.where for name in condition.columns} | {*self.told}))

    @property
    def told(self) -> tuple[str, ...]:
        """The columns that the plan still looks at once rows are chosen: groups, measures, conditions after; sorted."""
        used = {name for condition in self.after for name in condition.columns} | set(self.by)
        return tuple(sorted(used | {measure.column for measure in self.measures if measure.column is not None}))

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that are read, sorted: those looked at and, for one row of each person, all that settle which."""
        return tuple(sorted(self._read(self.columns)))

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the table itself that are read, sorted: computed ones stand for those they are made of."""
        return tuple(sorted(self._stored(self._read(self.columns))))

    def read_with(self, columns: Iterable[str]) -> set[str]:
        """Return the columns that are read, computed and stored, once the plan looks at these columns too."""
        read = self._read({*self.columns, *columns})
        return read | self._stored(read)

    def _read(self, columns: Iterable[str]) -> set[str]:
        looked_at = {*columns}
        ordering = ordering_columns(self.table) if self.bound.mode == "row" and self.bound.order else ()
        steps = [self.table.formulas[name] for name in looked_at if name in self.table.steps]
        told = {name for formula in steps for name in formula.columns}
        return {*looked_at, *ordering, *self.bound.order, *told}

    def _stored(self, read: Iterable[str]) -> set[str]:
        formulas = self.table.formulas
        return {source for name in read for source in (formulas[name].columns if name in formulas else (name,))}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values: canonical, fit for hashing and for the audit trail."""
        by: list[Any] = []
        for name, given in self.by.items():
            entry: dict[str, Any] = {"column": name}
            if isinstance(given, Bins):
                entry["edges"] = list(given.edges)
            else:
                entry["keys"] = None if given is None else list(given)
            by.append(entry)
        plain: dict[str, Any] = {
            "table": self.table.name,
            "where": [condition.to_dict() for condition in self.where],
            "by": by,
            "bound": self.bound.to_dict(),
            "measures": [measure.to_dict() for measure in self.measures],
        }
        if self.after:
            plain["after"] = [condition.to_dict() for condition in self.after]
        return plain

    def to_json(self) -> str:
        """Return the plan as canonical JSON."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)


def _check_keys(schema: Schema, name: str, given: Any) -> Keys:
    kind = schema.column(name)
    if given is None:
        if kind.takes_unknown_keys:
            return None
        raise QuestionError(f"Column '{name}' has public keys; list them, or name it alone: by=['{name}'].")
    if isinstance(given, Bins):
        if kind.is_ranged:
            return given
        raise QuestionError(f"Bins are for numbers and days; column '{name}' is a {kind.kind}.")
    if not kind.listed:
        raise QuestionError(
            f"Column '{name}' is a {kind.kind}: group it by public bins, by={{'{name}': Bins([...])}}."
            if kind.can_be_asked
            else f"Column '{name}' is free text: its keys are unknown, by={{'{name}': None}}."
        )
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise QuestionError(f"The public keys of '{name}' are a list.")
    keys = tuple(given)
    known: tuple[Key, ...] = (*kind.public_keys, None)
    for position, key in enumerate(keys):
        if not any(same_scalar(key, item) for item in known):  # type: ignore[arg-type]
            raise QuestionError(f"'{key}' is no public key of column '{name}'.{did_you_mean(key, known)}")
        if any(same_scalar(key, item) for item in keys[:position]):
            raise QuestionError(f"The keys of column '{name}' list '{key}' twice.")
    if not keys:
        raise QuestionError(f"by= lists no key of column '{name}'.")
    return keys

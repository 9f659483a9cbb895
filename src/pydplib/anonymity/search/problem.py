"""The table as a search sees it: distinct tuples with counts, sensitive values, rules and the limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from pydplib.anonymity.models import LDiversity, Model, TCloseness
from pydplib.anonymity.search.groups import combine, group
from pydplib.anonymity.search.statistics import Sensitive
from pydplib.anonymity.tables.columns import Ints, Resolved
from pydplib.errors import DataError


@dataclass(frozen=True)
class ModelRule:
    """A model and the sensitive column it is about, if any."""

    model: Model
    sensitive: str | None = None

    def __str__(self) -> str:
        return str(self.model) if self.sensitive is None else f"{self.model} of {self.sensitive}"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sensitive values of distinct tuples: (tuple, value) with the number of people, or one entry per person."""

    owner: Ints
    value: Ints
    count: Ints
    person: Ints | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Persons:
    """Who owns which rows, where a person can have several.

    Attributes:
        number: How many persons there are.
        owner: Distinct (tuple, person) pairs: the tuple.
        person: Distinct (tuple, person) pairs: the person.
        rows: Per row of the table: the tuple.
        row_person: Per row of the table: the person.
        linked: Whether the output links a person's rows, so that classes are made of persons.
    """

    number: int
    owner: Ints
    person: Ints
    rows: Ints
    row_person: Ints
    linked: bool


@dataclass(eq=False)
class SearchProblem:
    """All that a search needs; private data live here and never in its repr.

    Attributes:
        columns: The quasi-identifiers, met by their hierarchies.
        codes: Per quasi-identifier, the value of every distinct tuple.
        weight: Rows per distinct tuple.
        rules: What has to hold.
        limit: How many rows may be suppressed.
        of_row: The distinct tuple of every row; None where the rows stayed in an engine.
        sensitive: Per sensitive column, the table's distribution.
        pairs: Per sensitive column, its values in every distinct tuple.
        persons: Who owns which rows, where somebody has several.
        population: Per model with a population (by its id), codes and people of the population's distinct tuples.
        history: What earlier releases showed, where there were any (``previous.History``).
        fixed: Per distinct tuple, its combination of earlier classes, which no generalization may join.
        reference: The table whose distribution classes are compared with: the ``"output"``, or the ``"input"``.
        heights: Per quasi-identifier, its highest level.
        monotone: The rules that, where a class passes them, every class that it becomes part of passes too.
        other: All other rules.
    """

    columns: Sequence[Resolved]
    codes: Sequence[Ints]
    weight: Ints
    rules: Sequence[ModelRule]
    _: KW_ONLY
    limit: int
    of_row: Ints | None = None
    sensitive: dict[str, Sensitive] = field(default_factory=dict)
    pairs: dict[str, Pairs] = field(default_factory=dict)
    persons: Persons | None = None
    population: dict[int, tuple[Sequence[Ints], Ints]] = field(default_factory=dict)
    history: Any = None
    fixed: Ints | None = None
    reference: str = "output"
    heights: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.heights = tuple(column.height for column in self.columns)
        self.rows = int(self.weight.sum())
        # Which rules keep their rows under generalization, whatever is suppressed: a "no" to them
        # speaks for all nodes below.
        several = self.persons is not None
        self.monotone = [rule for rule in self.rules if _monotone(rule.model, several=several)]
        other = [rule for rule in self.rules if not _monotone(rule.model, several=several)]
        self.other = sorted(other, key=lambda rule: rule.model.whole_table)  # those that judge what is left come last

    def __repr__(self) -> str:
        return f"Problem({len(self.columns)} quasi-identifiers, {len(self.rules)} rules)"

    @property
    def asked(self) -> str:
        """What has to hold, in words."""
        return ", ".join(str(rule) for rule in self.rules)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of every column: the shape of the lattice."""
        return tuple(height + 1 for height in self.heights)

    @property
    def nodes(self) -> int:
        """The number of nodes of the lattice."""
        return math.prod(self.shape)

    @property
    def moves(self) -> bool:
        """Whether suppressing rows changes what the other rows are compared with."""
        return self.limit > 0 and self.reference == "output" and any(rule.model.relative for rule in self.other)

    @property
    def splits(self) -> bool:
        """Whether a class is the sum of those it is made of: not where persons with several rows count once."""
        return self.persons is None and self.history is None

    @property
    def all_monotone(self) -> bool:
        """Whether "all classes pass" at a node implies the same at every node above.

        True for models of single classes by convexity, but for persons with several rows, who are counted once.
        """
        return self.splits and all(rule.model.upward for rule in self.rules)


def _monotone(model: Model, *, several: bool) -> bool:
    if isinstance(model, LDiversity):
        return model.kind == "distinct" and not several
    return model.monotone


def distinct_tuples(codes: Sequence[Ints], cards: Sequence[int], rows: int) -> tuple[list[Ints], Ints, Ints]:
    """Return the codes of the distinct tuples, the tuple of every row, and the rows per tuple."""
    keys, _ = combine(codes, cards, rows)
    groups = group(keys)
    first = groups.first
    return [np.ascontiguousarray(column[first]) for column in codes], groups.into, groups.counts


def make_pairs(of_row: Ints, value: Ints, values: int, person: Ints | None, persons: int) -> Pairs:
    """Count sensitive values per tuple, or list distinct (tuple, person, value) where persons have several rows."""
    if person is None:
        groups = group(of_row * max(values, 1) + value)
        first = groups.first
        return Pairs(of_row[first], value[first], groups.counts)
    keys, _ = combine([of_row, person, value], [int(of_row.max(initial=0)) + 1, persons, values], len(of_row))
    first = group(keys).first
    return Pairs(of_row[first], value[first], np.ones(len(first), dtype=np.int64), person[first])


def describe_sensitive(
    name: str,
    values: Sequence[Any],
    counts: Ints,
    models: Sequence[Model],
) -> Sensitive:
    """Return the distribution of a sensitive column, with the order and tree that its models need."""
    total = max(int(counts.sum()), 1)
    rank, ranks = rank_values(values, None)
    tree: tuple[Ints, ...] = ()
    listed = forest = False
    for model in models:
        if isinstance(model, TCloseness) and model.distance == "hierarchical" and model.hierarchy is not None:
            tree = model.hierarchy.resolve(name, values).levels
            if int(tree[-1].max(initial=0)) > 0:
                # Several tops: moving between them is the longest way of all, so they get a root above them.
                tree, forest = (*tree, np.zeros(len(values), dtype=np.int64)), True
        if isinstance(model, TCloseness) and model.order is not None:
            (rank, ranks), listed = rank_values(values, model.order), True
    return Sensitive(name=name, share=counts / total, rank=rank, ranks=ranks, tree=tree, listed=listed, forest=forest)


def rank_values(values: Sequence[Any], order: Sequence[Any] | None) -> tuple[Ints, int]:
    """Return every value's rank and the number of ranks; numbers by size, texts by alphabet, missing last."""
    if order is not None:
        place: Mapping[Any, int] = {value: i for i, value in enumerate(order)}
        lost = sum(value is not None and value not in place for value in values)
        if lost:
            raise DataError(f"TCloseness(order=...) misses {lost} of the column's values. List all of them.")
        ranks = len(place) + int(None in values and None not in place)
        return np.array([place.get(value, len(place)) for value in values], dtype=np.int64), ranks
    keys = [
        (value is None, isinstance(value, str), str(value) if isinstance(value, str) else value) for value in values
    ]
    try:
        by = sorted(range(len(values)), key=lambda i: keys[i])
    except TypeError:
        by = sorted(range(len(values)), key=lambda i: (values[i] is None, str(values[i])))
    rank = np.empty(len(values), dtype=np.int64)
    rank[by] = np.arange(len(values))
    return rank, len(values)

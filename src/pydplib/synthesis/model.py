"""The model behind a synthetic table: a log-linear distribution on a junction tree, fitted to noisy tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pydplib.synthesis.tree import Columns, JunctionTree

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

_Number = TypeVar("_Number", bound=np.generic)

_TINY = 1e-300


@dataclass(frozen=True)
class NoisyTable:
    """A table of counts as it was measured: post-processing starts here.

    Attributes:
        columns: The columns, ascending; the table has one axis for each.
        counts: The noisy counts, in persons.
        variance: The variance of the noise of one cell.
    """

    columns: Columns
    counts: Floats
    variance: float


def lift(array: Floats, columns: Columns, wanted: Columns) -> Floats:
    """Return a view with one axis for each of the wanted columns, of length 1 where the array has none."""
    sizes = dict(zip(columns, array.shape, strict=True))
    return array.reshape([sizes.get(column, 1) for column in wanted])


def sum_to(array: NDArray[_Number], columns: Columns, wanted: Columns) -> NDArray[_Number]:
    """Return the sums over every column that is not wanted."""
    axes = tuple(place for place, column in enumerate(columns) if column not in wanted)
    return array.sum(axis=axes) if axes else array


@dataclass
class FittedModel:
    """A distribution over all combinations of columns, held as one table per clique of a junction tree.

    Attributes:
        tree: Which tables it holds.
        weights: Columns of a measured table -> the logarithms that the fit adds to its cells.
        possible: Columns -> 0 for combinations that cannot be, 1 elsewhere.
        beliefs: The probabilities of each clique.
    """

    tree: JunctionTree
    weights: dict[Columns, Floats]
    possible: Mapping[Columns, Floats] = field(default_factory=dict)
    _: KW_ONLY
    beliefs: list[Floats] = field(default_factory=list)
    _shared: list[Floats] = field(default_factory=list)
    _found: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.beliefs:
            self.refresh()

    def refresh(self) -> None:
        """Compute the probabilities of all cliques from the weights (two passes over the tree)."""
        self.beliefs, self._shared = calibrate(self.tree, self._potentials())
        self._found = {}

    def _potentials(self) -> list[Floats]:
        tree = self.tree
        logs = [np.zeros([tree.shape[c] for c in clique]) for clique in tree.cliques]
        for columns, weight in self.weights.items():
            place = self._home(columns)
            logs[place] += lift(weight, columns, tree.cliques[place])
        found = [np.exp(log - log.max()) for log in logs]
        for columns, mask in self.possible.items():
            place = self._home(columns)
            found[place] *= lift(mask, columns, tree.cliques[place])
        return found

    def _home(self, columns: Columns) -> int:
        place = self.tree.holding(columns)
        assert place is not None
        return place

    def support(self) -> list[NDArray[np.bool_]]:
        """Return which combinations of each clique can be at all, by all rules together."""
        bare = FittedModel(self.tree, {}, self.possible) if self.possible else None
        return [
            np.ones(b.shape, dtype=bool) if bare is None else bare.beliefs[i] > 0 for i, b in enumerate(self.beliefs)
        ]

    def probabilities(self, columns: Columns) -> Floats:
        """Return the probabilities of all combinations of some columns, in the order of the columns."""
        if columns not in self._found:
            place = self.tree.holding(columns)
            if place is None:
                self._found[columns] = self._across(columns)
            else:
                self._found[columns] = sum_to(self.beliefs[place], self.tree.cliques[place], columns)
        found: Floats = self._found[columns]
        return found

    # -- tables that no clique holds ---------------------------------------------------------------

    def _across(self, columns: Columns) -> Floats:
        """Multiply along the smallest part of the tree that holds the columns, summing out as early as possible."""
        wanted = frozenset(columns)
        top, has = 0, self._columns_below()
        while True:  # descend while one branch alone holds everything
            children = [c for c in self._children()[top] if wanted <= has[c]]
            if not children:
                break
            top = children[0]
        table, named = self._gather(top, wanted, self.beliefs[top])
        return sum_to(table, named, columns)

    def _below(self, place: int, wanted: frozenset[int]) -> tuple[Floats, Columns]:
        """Return P(wanted columns of this branch | separator) as a table over both."""
        key = (place, wanted)
        if key not in self._found:
            separator = self.tree.separators[place]
            clique = self.tree.cliques[place]
            shared = lift(self._shared[place], separator, clique) if separator else self._shared[place]
            given = np.divide(self.beliefs[place], shared, out=np.zeros_like(self.beliefs[place]), where=shared > _TINY)
            table, named = self._gather(place, wanted, given)
            keep = tuple(c for c in named if c in wanted or c in separator)
            self._found[key] = (sum_to(table, named, keep), keep)
        found: tuple[Floats, Columns] = self._found[key]
        return found

    def _gather(self, place: int, wanted: frozenset[int], table: Floats) -> tuple[Floats, Columns]:
        named, has = self.tree.cliques[place], self._columns_below()
        branches = []
        for child in self._children()[place]:
            missing = (wanted & has[child]) - set(named)
            if missing:
                branches.append(self._below(child, frozenset(missing | (wanted & set(self.tree.separators[child])))))
        needed = wanted.union(*(set(columns) for _, columns in branches))
        for separator in [self.tree.separators[place]] if table is not self.beliefs[place] else []:
            needed = needed.union(separator)
        keep = tuple(c for c in named if c in needed)
        table, named = sum_to(table, named, keep), keep
        for other, columns in branches:
            both = tuple(sorted({*named, *columns}))
            table = lift(table, named, both) * lift(other, columns, both)
            named = both
        return table, named

    def _children(self) -> list[list[int]]:
        if "children" not in self._found:
            found: list[list[int]] = [[] for _ in self.tree.cliques]
            for place, parent in enumerate(self.tree.parents):
                if parent >= 0:
                    found[parent].append(place)
            self._found["children"] = found
        children: list[list[int]] = self._found["children"]
        return children

    def _columns_below(self) -> list[frozenset[int]]:
        if "below" not in self._found:
            found = [frozenset(clique) for clique in self.tree.cliques]
            for place in range(len(found) - 1, 0, -1):
                parent = self.tree.parents[place]
                found[parent] |= found[place]
            self._found["below"] = found
        below: list[frozenset[int]] = self._found["below"]
        return below


def calibrate(tree: JunctionTree, potentials: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Return the probabilities of every clique and of its separator, from factors of the cliques."""
    tables = list(potentials)
    messages: list[Floats] = [np.ones(())] * len(tables)
    for place in range(len(tables) - 1, 0, -1):
        message = np.asarray(sum_to(tables[place], tree.cliques[place], tree.separators[place]))
        top = message.max()
        messages[place] = message
        parent = tree.parents[place]
        factor = message / top if top > 0 else message
        tables[parent] = tables[parent] * lift(factor, tree.separators[place], tree.cliques[parent])
    total = tables[0].sum()
    tables[0] = tables[0] / total if total > 0 else np.full_like(tables[0], 1 / tables[0].size)
    shared: list[Floats] = [np.ones(())] * len(tables)
    for place in range(1, len(tables)):
        parent, separator = tree.parents[place], tree.separators[place]
        above = np.asarray(sum_to(tables[parent], tree.cliques[parent], separator))
        shared[place] = above
        ratio = np.divide(above, messages[place], out=np.zeros_like(above), where=messages[place] > _TINY)
        tables[place] = tables[place] * lift(ratio, separator, tree.cliques[place])
    return tables, shared


def fit_model(
    shape: Sequence[int],
    measured: Sequence[NoisyTable],
    total: float,
    *,
    start: FittedModel | None = None,
    possible: Mapping[Columns, Floats] | None = None,
    iterations: int = 60,
    enough: float = 1e-4,
) -> FittedModel:
    """Return the model whose tables are closest to the measured ones, each cell weighed by its known variance.

    Mirror descent on the weighted squares with steps that are halved until the loss falls. Post-processing of noisy
    tables: floats are fine here.

    Args:
        shape: Cells by column.
        measured: The noisy tables; tables over the same columns are averaged by their precision.
        total: The noisy number of persons.
        start: A model to start from.
        possible: Combinations that can be (1) and cannot be (0).
        iterations: The most steps.
        enough: Stop when a step lowers the loss by less than this share.
    """
    possible = {} if possible is None else possible
    tables = combine(measured)
    tree = JunctionTree.of(shape, [*(t.columns for t in tables), *possible])
    before = {} if start is None else start.weights
    weights = {t.columns: before.get(t.columns, np.zeros(t.counts.shape)).copy() for t in tables}
    for t in tables:  # a first guess for a table that is new in the model: columns by themselves are known best
        if start is None and len(t.columns) == 1:
            weights[t.columns] = np.log(np.maximum(t.counts, 0.1 * np.sqrt(t.variance)) + 1e-9)
    model = FittedModel(tree, weights, possible)
    # Nobody is in a cell that cannot be: what was measured there is noise alone.
    bare = FittedModel(tree, {}, possible) if possible else None
    aims = [
        (t.columns, t.counts / total * (1.0 if bare is None else bare.probabilities(t.columns) > 0),
         total * total / t.variance)
        for t in tables
    ]  # fmt: skip

    def loss_of(model: FittedModel) -> tuple[float, dict[Columns, Floats]]:
        loss, slopes = 0.0, {}
        for columns, aim, weight in aims:
            gap = model.probabilities(columns) - aim
            loss += 0.5 * weight * float((gap * gap).sum())
            slopes[columns] = weight * gap
        return loss, slopes

    loss, slopes = loss_of(model)
    step = 2.0 / max(weight for _, _, weight in aims)
    for _ in range(iterations):
        moved = False
        for _ in range(12):
            trial = FittedModel(tree, {c: w - step * slopes[c] for c, w in model.weights.items()}, possible)
            new_loss, new_slopes = loss_of(trial)
            expected = sum(
                float((slopes[c] * (model.probabilities(c) - trial.probabilities(c))).sum()) for c, _, _ in aims
            )
            if loss - new_loss >= 0.5 * expected - 1e-12 and new_loss <= loss:
                moved = True
                break
            step *= 0.5
        if not moved:
            break
        gain = loss - new_loss
        model, loss, slopes = trial, new_loss, new_slopes
        step *= 1.6
        if gain < enough * max(loss, 1e-9):
            break
    return model


def combine(measured: Sequence[NoisyTable]) -> list[NoisyTable]:
    """Return one table for each set of columns: repeated measurements averaged by their precision."""
    found: dict[Columns, NoisyTable] = {}
    for table in measured:
        known = found.get(table.columns)
        if known is None:
            found[table.columns] = table
            continue
        precision = 1 / known.variance + 1 / table.variance
        counts = (known.counts / known.variance + table.counts / table.variance) / precision
        found[table.columns] = NoisyTable(table.columns, counts, 1 / precision)
    return list(found.values())

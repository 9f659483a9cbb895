"""Junction trees: which tables of counts a model of many columns has to hold at the same time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Columns: TypeAlias = tuple[int, ...]
"""Columns by their places, ascending."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of columns in an order in which each one's parent comes before it.

    Every table that the model was asked to hold lies inside one clique. The joint distribution is the product of each
    clique given its separator, the columns that it shares with its parent.

    Attributes:
        shape: Cells by column.
        cliques: The cliques; the first is the root.
        parents: The place of each clique's parent; -1 for the root.
        separators: The columns that each clique shares with its parent; none where parts are independent.

    Examples:
        >>> tree = JunctionTree.of((2, 3, 4, 5), [(0, 1), (1, 2), (3,)])
        >>> sorted(tree.cliques), tree.cells
        ([(0, 1), (1, 2), (3,)], 23)
    """

    shape: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    separators: tuple[Columns, ...]

    @classmethod
    def of(cls, shape: Sequence[int], tables: Iterable[Columns]) -> JunctionTree:
        """Return a tree whose cliques hold all of these tables, and every column."""
        found = _triangulate(tuple(shape), tables)
        cliques = sorted((_places(mask) for mask in found), key=lambda c: (-_cells(shape, c), c))
        order, parents = [cliques[0]], [-1]
        separators: list[Columns] = [()]
        left = cliques[1:]
        while left:  # the largest separator first: a maximum spanning tree has the running intersection
            pairs = ((len(set(c) & set(o)), -i, -j) for i, c in enumerate(left) for j, o in enumerate(order))
            _, i, j = max(pairs)
            clique = left.pop(-i)
            separators.append(tuple(sorted(set(clique) & set(order[-j]))))
            parents.append(-j)
            order.append(clique)
        return cls(tuple(shape), tuple(order), tuple(parents), tuple(separators))

    @property
    def cells(self) -> int:
        """The cells of all cliques together."""
        return sum(_cells(self.shape, clique) for clique in self.cliques)

    def holding(self, columns: Columns) -> int | None:
        """Return the smallest clique that holds these columns; None where none does."""
        wanted = set(columns)
        fits = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(fits, key=lambda place: _cells(self.shape, self.cliques[place]), default=None)


def tree_cells(shape: Sequence[int], tables: Iterable[Columns]) -> int:
    """Return how many cells the cliques would have that hold these tables.

    Examples:
        >>> tree_cells((2, 3, 4), [(0, 1), (1, 2)]), tree_cells((2, 3, 4), [(0, 1), (1, 2), (0, 2)])
        (18, 24)
    """
    return sum(_cells(shape, _places(mask)) for mask in _triangulate(tuple(shape), tables))


def _triangulate(shape: tuple[int, ...], tables: Iterable[Columns]) -> list[int]:
    """Return maximal cliques as bit masks: columns are eliminated one by one, the smallest clique first."""
    width = len(shape)
    near = [1 << place for place in range(width)]
    for table in tables:
        mask = sum(1 << place for place in table)
        for place in table:
            near[place] |= mask
    logs = [math.log(size) for size in shape]
    left = (1 << width) - 1
    cliques: list[int] = []
    costs = {place: _log_cells(near[place], logs) for place in range(width)}
    while left:
        chosen = min(costs, key=lambda place: (costs[place], place))
        clique = near[chosen] & left
        if not any(clique & other == clique for other in cliques):
            cliques.append(clique)
        left &= ~(1 << chosen)
        del costs[chosen]
        rest = clique & left
        for place in _places(rest):
            near[place] = (near[place] | rest) & left
            costs[place] = _log_cells(near[place], logs)
    return cliques


def _places(mask: int) -> Columns:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


def _log_cells(mask: int, logs: Sequence[float]) -> float:
    return sum(logs[place] for place in _places(mask))


def _cells(shape: Sequence[int], columns: Columns) -> int:
    return math.prod(shape[place] for place in columns)

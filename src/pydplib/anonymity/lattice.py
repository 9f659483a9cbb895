"""Every node of a small lattice: what each would lose and suppress. For the owner's eyes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydplib.anonymity.judging import Judge
from pydplib.anonymity.losses import make_objective

if TYPE_CHECKING:
    from pydplib.anonymity.result import AnonymizationResult


@dataclass(frozen=True)
class LatticeNode:
    """One combination of levels.

    Attributes:
        levels: One level per quasi-identifier.
        loss: The loss that was minimized; None where the models do not hold within the limit.
        suppressed: Share of the rows that would be left out; at least this much where the limit is exceeded.
        chosen: Whether it was released.
    """

    levels: tuple[int, ...]
    loss: float | None
    suppressed: float
    chosen: bool


@dataclass(frozen=True)
class Lattice:
    """All combinations of levels.

    Attributes:
        columns: The quasi-identifiers.
        heights: Their highest levels.
        nodes: One per combination, level by level.
        measure: Which loss was minimized.
    """

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    nodes: tuple[LatticeNode, ...]
    measure: str


def lattice_of(result: AnonymizationResult, *, most: int = 200) -> Lattice | None:
    """Evaluate all nodes of the lattice that a result was chosen from.

    Returns None for lattices with more than ``most`` nodes, for methods without one level per column, and for
    tables that stayed in DuckDB.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import Intervals, KAnonymity, anonymize
        >>> table = pd.DataFrame({"age": [31, 33, 38, 52, 55, 59]})
        >>> found = lattice_of(anonymize(table, {"age": Intervals(0, 100, [10, 20])}, models=[KAnonymity(3)]))
        >>> [(node.levels, node.chosen) for node in found.nodes if node.loss is not None]
        [((1,), True), ((2,), False), ((3,), False)]
    """
    if result.levels is None or result.trace is None:
        return None
    problem = result.trace.problem
    if math.prod(problem.shape) > most:
        return None
    judge, objective = Judge(problem), make_objective(result.recipe.loss, problem)
    released = tuple(result.levels[column.name] for column in problem.columns)
    nodes = []
    for levels in itertools.product(*(range(size) for size in problem.shape)):
        verdict = judge.judge(levels)
        holds = verdict.suppressed is not None and verdict.suppressed_rows <= problem.limit
        loss = float(objective.value(verdict)) if holds else None
        gone = min(verdict.suppressed_rows, problem.rows) / max(problem.rows, 1)
        nodes.append(LatticeNode(levels, loss, gone, levels == released))
    nodes.sort(key=lambda node: (sum(node.levels), node.levels))
    return Lattice(tuple(c.name for c in problem.columns), problem.heights, tuple(nodes), result.recipe.loss)

"""What anonymization costs: granularity, precision, entropy, discernibility, class size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pydplib._shown import Shown
from pydplib.anonymity.models import AlphaK, KAnonymity
from pydplib.anonymity.search.classes import Node
from pydplib.anonymity.search.verdicts import NodeVerdict, cost_tables
from pydplib.anonymity.tables.columns import Floats
from pydplib.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from pydplib.anonymity.search.problem import SearchProblem

LOSSES = ("granularity", "precision", "entropy", "discernibility", "class_size")
"""The losses that a search can minimize."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Loss(Shown):
    """What was lost, by several measures; smaller is better.

    Attributes:
        granularity: Mean over rows and quasi-identifiers of how much of the domain a label covers; 0 to 1.
        precision: Mean of level / height (a suppressed row counts 1); 0 to 1.
        entropy: Non-uniform entropy, as a share of what suppressing everything would lose; 0 to 1.
        discernibility: Sum of squared class sizes, plus n per suppressed row.
        class_size: Average class size over k (C_avg); suppressed rows count as one class.
        ncp: Normalized certainty penalty: as granularity, with the plain share of the domain.
        columns: Granularity per column, over all rows.
        suppressed_share: The share of suppressed rows.

    Examples:
        >>> loss = Loss(
        ...     granularity=0.1, precision=0.2, entropy=0.3, discernibility=90, class_size=1.2, ncp=0.1,
        ...     columns={"age": 0.1}, suppressed_share=0.0,
        ... )
        >>> loss.granularity
        0.1
    """

    granularity: float
    precision: float
    entropy: float
    discernibility: int
    class_size: float
    ncp: float
    columns: Mapping[str, float] = field(default_factory=dict)
    suppressed_share: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    def __str__(self) -> str:
        return (
            f"granularity {self.granularity:.5f}, precision {self.precision:.5f}, entropy {self.entropy:.5f}, "
            f"discernibility {self.discernibility}, class size {self.class_size:.3f}"
        )


class Objective(Protocol):
    """A loss that a search minimizes, with bounds that need no or little data."""

    name: str

    def value(self, verdict: NodeVerdict) -> float:
        """The loss of what a node would release."""
        ...

    def start(self) -> Floats:
        """A lower bound for every node of the lattice, before any data are looked at."""
        ...

    def box_bound(self, low: Node, high: Node, verdict: NodeVerdict | None) -> float:
        """A lower bound for all nodes between two nodes, given what is known of the upper one."""
        ...

    def tighten(self, bound: Floats, verdict: NodeVerdict) -> None:
        """Raise the lower bounds of nodes below and above one that was evaluated."""
        ...


class SeparableLoss:
    """A loss that adds up over rows and columns: granularity, precision, entropy.

    Lower bounds. Without data: the cost of the labels alone, since suppressing a row never costs less.
    Below an evaluated node w: all rows that fail at w fail there too and cost the full price; what the other
    rows cost is at least all rows' cost minus the failing rows' cost at w (costs only grow upwards).
    """

    def __init__(
        self, name: str, problem: SearchProblem, *, tables: Sequence[Sequence[Floats]], full: float, offset: float
    ) -> None:
        self.name, self.problem, self.tables, self.full = name, problem, tables, full
        self.columns = len(problem.columns)
        self.totals = []
        for column, codes in zip(tables, problem.codes, strict=True):
            rows = np.bincount(codes, weights=problem.weight, minlength=len(column[0]))
            self.totals.append(np.array([(table * rows).sum() for table in column]))
        self.offset = offset
        self.norm = self.full * self.columns * problem.rows - offset

    def _share(self, cost: float) -> float:
        return max(cost - self.offset, 0.0) / self.norm if self.norm > 0 else 0.0

    def value(self, verdict: NodeVerdict) -> float:
        """The loss of what a node would release."""
        node = verdict.classes.node
        cost = float(sum(total[level] for total, level in zip(self.totals, node, strict=True)))
        if verdict.suppressed_rows and verdict.suppressed is not None:
            lost = verdict.classes.costs(cost_tables(self.tables, node), verdict.suppressed).sum()
            cost += self.full * self.columns * verdict.suppressed_rows - float(lost)
        return self._share(cost)

    def start(self) -> Floats:
        """The cost of the labels alone, for every node."""
        out = np.full(self.problem.shape, -self.offset)
        for a, total in enumerate(self.totals):
            out += _along(total, a, self.columns)
        return np.maximum(out, 0.0) / self.norm if self.norm > 0 else np.zeros(self.problem.shape)

    def _parts(self, verdict: NodeVerdict, high: Node) -> list[Floats]:
        spent = verdict.classes.costs(cost_tables(self.tables, high), verdict.failing)
        return [np.maximum(total - lost, 0.0) for total, lost in zip(self.totals, spent, strict=True)]

    def tighten(self, bound: Floats, verdict: NodeVerdict) -> None:
        """Raise the lower bounds of all nodes below."""
        if verdict.failing_rows == 0 or self.norm <= 0:
            return
        node = verdict.classes.node
        box = tuple(slice(0, level + 1) for level in node)
        known = self.full * self.columns * verdict.failing_rows - self.offset
        out = np.full([level + 1 for level in node], known)
        for a, part in enumerate(self._parts(verdict, node)):
            out += _along(part[: node[a] + 1], a, self.columns)
        out /= self.norm
        np.maximum(bound[box], out, out=bound[box])

    def box_bound(self, low: Node, high: Node, verdict: NodeVerdict | None) -> float:
        """A lower bound for all nodes between two nodes."""
        plain = self._share(float(sum(total[level] for total, level in zip(self.totals, low, strict=True))))
        if verdict is None or verdict.failing_rows == 0:
            return plain
        cost = sum(float(part[level]) for part, level in zip(self._parts(verdict, high), low, strict=True))
        return max(plain, self._share(cost + self.full * self.columns * verdict.failing_rows))


class ClassLoss:
    """A loss of class sizes: discernibility or average class size.

    Lower bounds. Below w: rows that fail at w fail there too; the others are in classes of at least k.
    Above w: classes only merge, so squared sizes only grow and the number of classes only falls.
    """

    def __init__(self, name: str, problem: SearchProblem) -> None:
        self.name, self.problem = name, problem
        self.k = smallest_size(problem)

    def value(self, verdict: NodeVerdict) -> float:
        """The loss of what a node would release."""
        rows = verdict.classes.rows
        kept = rows if verdict.suppressed is None else rows[~verdict.suppressed]
        return self._loss(float(np.square(kept, dtype=np.float64).sum()), len(kept), verdict.suppressed_rows)

    def _loss(self, squares: float, classes: float, suppressed: int) -> float:
        n = self.problem.rows
        if self.name == "discernibility":
            return squares + float(n) * suppressed
        return n / max(classes + (suppressed > 0), 1) / self.k

    def start(self) -> Floats:
        """Every row is in a class of at least k."""
        return np.full(self.problem.shape, self._below(0))

    def _below(self, failing: int) -> float:
        rest = self.problem.rows - failing
        # What else is suppressed further down may count as one more class.
        classes = rest // self.k + (failing == 0)
        return self._loss(float(rest) * self.k, classes, failing)

    def _above(self, verdict: NodeVerdict) -> float:
        rows = verdict.classes.rows
        if self.name == "discernibility":
            return float(np.square(rows, dtype=np.float64).sum())
        return self.problem.rows / max(len(rows) + 1, 1) / self.k

    def tighten(self, bound: Floats, verdict: NodeVerdict) -> None:
        """Raise the lower bounds of all nodes below and above."""
        node = verdict.classes.node
        below = tuple(slice(0, level + 1) for level in node)
        above = tuple(slice(level, None) for level in node)
        np.maximum(bound[below], self._below(verdict.failing_rows), out=bound[below])
        np.maximum(bound[above], self._above(verdict), out=bound[above])

    def box_bound(self, low: Node, high: Node, verdict: NodeVerdict | None) -> float:
        """A lower bound for all nodes between two nodes."""
        return self._below(0 if verdict is None else verdict.failing_rows)


def smallest_size(problem: SearchProblem) -> int:
    """Return the k that the rules ask for, 1 if none does."""
    return max((r.model.k for r in problem.rules if isinstance(r.model, KAnonymity | AlphaK)), default=1)


def _along(values: Floats, axis: int, axes: int) -> Floats:
    return values.reshape([-1 if i == axis else 1 for i in range(axes)])


def make_objective(name: str, problem: SearchProblem) -> Objective:
    """Return the loss to minimize.

    Raises:
        ParameterError: For an unknown name.
    """
    if name == "granularity":
        tables = [[c.cost[i][c.levels[i]] for i in range(c.height + 1)] for c in problem.columns]
        return SeparableLoss(name, problem, tables=tables, full=1.0, offset=0.0)
    if name == "precision":
        steps = [[np.full(len(c.values), i / max(c.height, 1)) for i in range(c.height + 1)] for c in problem.columns]
        return SeparableLoss(name, problem, tables=steps, full=1.0, offset=0.0)
    if name == "entropy":
        tables, offset = entropy_tables(problem)
        return SeparableLoss(name, problem, tables=tables, full=float(np.log2(max(problem.rows, 1))), offset=offset)
    if name in ("discernibility", "class_size"):
        return ClassLoss(name, problem)
    raise ParameterError(f"Unknown loss '{name}'.{did_you_mean(name, LOSSES)}")


def entropy_tables(problem: SearchProblem) -> tuple[list[list[Floats]], float]:
    """Return log2 of how many rows share a label, per code, and what the raw values would sum to.

    A row whose value (f rows) becomes a label (g rows) loses log2(g/f); suppressed, log2(n/f).
    """
    tables: list[list[Floats]] = []
    offset = 0.0
    for column, codes in zip(problem.columns, problem.codes, strict=True):
        count = np.bincount(codes, weights=problem.weight, minlength=len(column.values))
        rows = []
        for level in column.levels:
            shared = np.bincount(level, weights=count, minlength=int(level.max(initial=-1)) + 1)[level]
            rows.append(np.log2(np.maximum(shared, 1.0)))
        offset += float((count * np.log2(np.maximum(count, 1.0))).sum())
        tables.append(rows)
    return tables, offset

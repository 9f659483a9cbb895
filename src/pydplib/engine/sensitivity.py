"""How far one person can move the integers of a plan: from the plan alone, never from data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydplib.engine.measures import Measure
from pydplib.engine.plan import Plan
from pydplib.errors import QuestionError


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The most that adding or removing all rows of one person changes the integers, in three norms.

    Attributes:
        l1: Sum of the absolute changes.
        l2_squared: Sum of the squared changes, an exact integer.
        linf: The largest single change.

    Examples:
        >>> Sensitivity(6, 18, 3).l2 >= 18**0.5
        True
    """

    l1: int
    l2_squared: int
    linf: int

    @property
    def l2(self) -> float:
        """The Euclidean norm, rounded up."""
        root = math.isqrt(self.l2_squared)
        if root * root == self.l2_squared and root < 2**53:
            return float(root)
        return math.nextafter(math.nextafter(math.sqrt(self.l2_squared), math.inf), math.inf)


def sensitivity(plan: Plan, measure: Measure | int | None = None) -> Sensitivity:
    """Return how far one person can move a plan's answer, or one measure of it.

    Args:
        plan: The plan.
        measure: One of its measures, or its position; by default all of them together.

    Proof:
        Weights: a person with c rows has total weight c min(W, floor(M W / c)) <= M W, whichever cells
        and groups the rows fall into; each row adds at most weight x largest in absolute value, to one
        cell of one group. So L1 <= M W largest, and L2 and Linf are at most L1. Other persons'
        weights do not depend on these rows. Samples: at most G groups keep at most M whole rows each, so
        L1 <= G M largest, L2^2 <= G (M largest)^2, Linf <= M largest. Persons by their number of rows: a
        person is in exactly one class, and whose rows are whose does not depend on anybody else, so adding or
        removing a person moves one class by 1. Several measures: the norms of the concatenated vector.

    Examples:
        >>> from pydplib.schema import Number, Schema
        >>> schema = Schema({"age": Number(18, 100)}, person="id", max_rows_per_person=3)
        >>> sensitivity(Plan(schema, measures=[Measure("count")])).l1 == 3 * 2**16
        True
    """
    if measure is None:
        chosen: tuple[Measure, ...] = plan.measures
    elif isinstance(measure, Measure):
        if measure not in plan.measures:
            raise QuestionError("That measure is no part of the plan.")
        chosen = (measure,)
    else:
        chosen = (plan.measures[measure],)
    single = [_of_measure(plan, part) for part in chosen]
    return Sensitivity(
        sum(part.l1 for part in single),
        sum(part.l2_squared for part in single),
        max(part.linf for part in single),
    )


def _of_measure(plan: Plan, measure: Measure) -> Sensitivity:
    if measure.kind == "persons":
        return Sensitivity(1, 1, 1)
    per_group = plan.bound.max_rows * plan.scale * measure.largest
    groups = plan.bound.max_groups or 1
    if not plan.has_unknown_keys and plan.by:
        groups = min(groups, len(plan.keys))
    return Sensitivity(groups * per_group, groups * per_group**2, per_group)

"""Judging a node: which classes fail the models, and what is suppressed because of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from pydplib.anonymity.models import DeltaPresence, TCloseness
from pydplib.anonymity.search.classes import Classes, ClassEvaluator, Counted, Node, PersonEvaluator
from pydplib.anonymity.search.groups import combine, group
from pydplib.anonymity.search.problem import ModelRule, SearchProblem
from pydplib.anonymity.search.statistics import ClassHistogram, ClassStats, Sensitive
from pydplib.anonymity.tables.columns import Bools, Floats, Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeVerdict:
    """What a node would release.

    Attributes:
        classes: The classes at the node.
        failing: Classes that fail a model that generalization can only help.
        suppressed: Classes that would be suppressed; None where ``failing`` alone exceeds the limit, or nobody asked.
        failing_rows: Rows in failing classes; no node below has fewer.
        suppressed_rows: Rows that would be suppressed.
        judged: Whether all rules were looked at, as far as needed.
    """

    classes: Classes
    failing: Bools
    suppressed: Bools | None
    failing_rows: int
    suppressed_rows: int
    judged: bool = True


class Judge:
    """Evaluates nodes and applies the rules."""

    def __init__(self, problem: SearchProblem) -> None:
        self.problem = problem
        self.checks = 0
        if problem.persons is None:
            self.evaluator: Any = ClassEvaluator(problem)
        else:
            self.evaluator = PersonEvaluator(problem)

    def judge(
        self, node: Node, worth: Callable[[NodeVerdict], bool] | None = None, below: Classes | None = None
    ) -> NodeVerdict:
        """Return what the node would release.

        Args:
            node: The levels.
            worth: Asked once the rules that generalization can only help are counted, where others are left that take
                longer: a node that is not worth it is not judged further.
            below: The classes of a node below it, if at hand: far fewer than the tuples.
        """
        self.checks += 1
        problem = self.problem
        classes: Classes = self.evaluator.evaluate(node, below)
        fine = passing(problem, classes, problem.monotone, np.ones(len(classes.size), dtype=bool))
        failing = ~fine
        failing_rows = int(classes.rows[failing].sum())
        if failing_rows > problem.limit:
            return NodeVerdict(
                classes=classes,
                failing=failing,
                suppressed=None,
                failing_rows=failing_rows,
                suppressed_rows=failing_rows,
            )
        rows = failing_rows
        if problem.other or problem.history is not None:
            if worth is not None and not worth(
                NodeVerdict(
                    classes=classes,
                    failing=failing,
                    suppressed=failing,
                    failing_rows=failing_rows,
                    suppressed_rows=failing_rows,
                )
            ):
                return NodeVerdict(
                    classes=classes,
                    failing=failing,
                    suppressed=None,
                    failing_rows=failing_rows,
                    suppressed_rows=failing_rows,
                    judged=False,
                )
            values = Values(classes)
            surely = failing_rows + self._must_fail(classes, fine, values)
            if surely > problem.limit:
                return NodeVerdict(
                    classes=classes, failing=failing, suppressed=None, failing_rows=surely, suppressed_rows=surely
                )
            fine = settle(problem, classes, problem.other, fine, values)
            rows = int(classes.rows[~fine].sum())
        if not presence_holds(problem, classes, rows):
            rows = problem.rows + 1
        return NodeVerdict(
            classes=classes, failing=failing, suppressed=~fine, failing_rows=failing_rows, suppressed_rows=rows
        )

    def _must_fail(self, classes: Classes, fine: Bools, values: Values) -> int:
        """Return how many rows of the other classes fail t-closeness here and at every node below, at least."""
        problem, most = self.problem, 0
        for rule in problem.other:
            if isinstance(rule.model, TCloseness) and problem.splits and fine.any():
                slack, against = 0.0, {}
                if problem.moves and rule.sensitive is not None:
                    # Leaving out a share of the rows moves what is left by at most that share, and may close gaps.
                    slack = problem.limit / max(problem.rows, 1)
                    column = problem.sensitive[rule.sensitive]
                    against = {rule.sensitive: column.whatever_goes(problem.rows, problem.limit)}
                stats = class_stats(problem, classes, rule, fine, values, against)
                share = rule.model.must_fail(stats, rule.sensitive, slack)
                most = max(most, math.ceil(float((share * classes.rows[fine]).sum()) - 1e-6))
        return most


class Values:
    """The sensitive values of some classes: counted once, narrowed as classes drop out."""

    def __init__(self, classes: Counted) -> None:
        self.classes = classes
        self._found: dict[str, tuple[Bools, ClassHistogram, Bools | None]] = {}

    def of(self, name: str, keep: Bools) -> tuple[ClassHistogram, Bools | None]:
        """Return the histogram of the kept classes, and which of them have a value that everybody has."""
        found = self._found.get(name)
        if found is None:
            histogram, certain = self.classes.histogram(name, keep)
        else:
            before, histogram, certain = found
            part = keep[before]
            histogram, certain = histogram.only(part), None if certain is None else certain[part]
        self._found[name] = (keep.copy(), histogram, certain)
        return histogram, certain

    def among(self, problem: SearchProblem, name: str, keep: Bools) -> Sensitive:
        """Return the distribution of a sensitive column in the kept classes."""
        histogram, _ = self.of(name, keep)
        return problem.sensitive[name].among(self.classes.people(name, keep, histogram))


def settle(
    problem: SearchProblem, classes: Counted, rules: Sequence[ModelRule], fine: Bools, values: Values | None = None
) -> Bools:
    """Return which classes stay: those that fail a rule are left out until all that is left passes.

    Leaving out classes changes the distribution that t-closeness and its kin compare with, so what is left is judged
    again, against itself (or once, against the input, where that is the reference).
    """
    values = values or Values(classes)
    names = {rule.sensitive for rule in rules if rule.model.relative and rule.sensitive is not None}
    while True:
        moves = problem.moves and bool(fine.any())
        against = {name: values.among(problem, name, fine) for name in names} if moves else {}
        left = passing(problem, classes, rules, fine, values, against)
        if problem.history is not None:
            left = problem.history.settle(problem, classes, left)
        if not moves or np.array_equal(left, fine):
            return left
        fine = left
        if int(classes.rows[~fine].sum()) > problem.limit:
            return fine


def passing(
    problem: SearchProblem,
    classes: Counted,
    rules: Sequence[ModelRule],
    among: Bools,
    values: Values | None = None,
    against: Mapping[str, Sensitive] | None = None,
) -> Bools:
    """Return which classes pass all rules; those not ``among`` are not looked at and fail.

    ``against`` holds the distributions to compare with, where they are not the input's.
    """
    out = among.copy()
    values = values or Values(classes)
    for rule in rules:
        if not out.any():
            break
        out[out] = rule.model.passes(class_stats(problem, classes, rule, out, values, against or {}), rule.sensitive)
    return out


def class_stats(
    problem: SearchProblem,
    classes: Counted,
    rule: ModelRule,
    keep: Bools,
    values: Values,
    against: Mapping[str, Sensitive],
) -> ClassStats:
    """Collect what one rule needs to know about the kept classes."""
    size = classes.size[keep]
    population: dict[int, Ints] = {}
    if id(rule.model) in problem.population:
        # Only nodes of the lattice are met with a population; ``find_recoding`` refuses the other methods.
        at_node = cast("Classes", classes)
        population[id(rule.model)] = population_sizes(problem, at_node, id(rule.model))[keep]
    if rule.sensitive is None:
        return ClassStats(size, population=population)
    histogram, certain = values.of(rule.sensitive, keep)
    return ClassStats(
        size,
        histograms={rule.sensitive: histogram},
        sensitive={rule.sensitive: against.get(rule.sensitive) or problem.sensitive[rule.sensitive]},
        population=population,
        certain={} if certain is None else {rule.sensitive: certain},
    )


def population_keys(problem: SearchProblem, classes: Classes, codes: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return keys of the classes and of the population's tuples at the classes' node, in one numbering."""
    parts, cards = [], []
    for a, column in enumerate(problem.columns):
        level = column.levels[classes.node[a]]
        parts.append(np.concatenate((classes.labels(a), level[codes[a]])))
        cards.append(len(column.labels[classes.node[a]]))
    keys, _ = combine(parts, cards, len(parts[0]) if parts else 0)
    into = group(keys).into
    return into[: len(classes.rows)], into[len(classes.rows) :]


def population_sizes(problem: SearchProblem, classes: Classes, model: int) -> Ints:
    """Return how many people of the population share the labels of every class."""
    codes, weight = problem.population[model]
    mine, theirs = population_keys(problem, classes, codes)
    sums = np.bincount(theirs, weights=weight, minlength=int(mine.max(initial=-1)) + 1)
    return sums[mine].astype(np.int64)


def presence_holds(problem: SearchProblem, classes: Classes, suppressed_rows: int) -> bool:
    """Return whether a lower bound of presence can hold: everybody of the population must look present."""
    for rule in problem.rules:
        if isinstance(rule.model, DeltaPresence) and rule.model.lower > 0:
            mine, theirs = population_keys(problem, classes, problem.population[id(rule.model)][0])
            if suppressed_rows or not np.isin(theirs, mine).all():
                return False
    return True


def cost_tables(tables: Sequence[Sequence[Floats]], node: Node) -> list[Floats]:
    """Pick the cost per code of every column at the node's levels."""
    return [column[level] for column, level in zip(tables, node, strict=True)]

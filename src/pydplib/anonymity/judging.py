"""Judging a node: which classes fail the models, and what is suppressed because of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from pydplib.anonymity.classes import Classes, Counted, Evaluator, Node
from pydplib.anonymity.grouping import combine, group
from pydplib.anonymity.models import DeltaPresence
from pydplib.anonymity.problem import Problem, Rule
from pydplib.anonymity.resolved import Bools, Floats, Ints
from pydplib.anonymity.stats import ClassStats


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a node would release.

    Attributes:
        classes: The classes at the node.
        failing: Classes that fail a model that generalization can only mend.
        suppressed: Classes that would be suppressed; None where ``failing`` alone exceeds the limit.
        failing_rows: Rows in failing classes; no node below has fewer.
        suppressed_rows: Rows that would be suppressed.
    """

    classes: Classes
    failing: Bools
    suppressed: Bools | None
    failing_rows: int
    suppressed_rows: int


class Judge:
    """Evaluates nodes and applies the rules."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.checks = 0
        if problem.persons is None:
            self.evaluator: Any = Evaluator(problem)
        else:
            from pydplib.anonymity.person_classes import PersonEvaluator

            self.evaluator = PersonEvaluator(problem)

    def judge(self, node: Node) -> Verdict:
        """Return what the node would release."""
        self.checks += 1
        problem = self.problem
        classes: Classes = self.evaluator.evaluate(node)
        fine = passing(problem, classes, problem.monotone, np.ones(len(classes.size), dtype=bool))
        failing = ~fine
        failing_rows = int(classes.rows[failing].sum())
        if failing_rows > problem.limit:
            return Verdict(classes, failing, None, failing_rows, failing_rows)
        if problem.other:
            fine = fine & passing(problem, classes, problem.other, fine)
        if problem.history is not None:
            fine = problem.history.settle(problem, classes, fine)
        suppressed = ~fine
        rows = int(classes.rows[suppressed].sum()) if problem.other or problem.history is not None else failing_rows
        if not presence_holds(problem, classes, rows):
            rows = problem.rows + 1
        return Verdict(classes, failing, suppressed, failing_rows, rows)


def passing(problem: Problem, classes: Counted, rules: Sequence[Rule], among: Bools) -> Bools:
    """Return which classes pass all rules; those not ``among`` are not looked at and fail."""
    out = among.copy()
    for rule in rules:
        if not out.any():
            break
        out[out] = rule.model.passes(class_stats(problem, classes, rule, out), rule.sensitive)
    return out


def class_stats(problem: Problem, classes: Counted, rule: Rule, keep: Bools) -> ClassStats:
    """Collect what one rule needs to know about the kept classes."""
    size = classes.size[keep]
    population: dict[int, Ints] = {}
    if id(rule.model) in problem.population:
        # Only nodes of the lattice are met with a population; ``find_recoding`` refuses the other methods.
        at_node = cast("Classes", classes)
        population[id(rule.model)] = population_sizes(problem, at_node, id(rule.model))[keep]
    if rule.sensitive is None:
        return ClassStats(size, population=population)
    histogram, certain = classes.histogram(rule.sensitive, keep)
    return ClassStats(
        size,
        {rule.sensitive: histogram},
        {rule.sensitive: problem.sensitive[rule.sensitive]},
        population,
        {} if certain is None else {rule.sensitive: certain},
    )


def population_keys(problem: Problem, classes: Classes, codes: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return keys of the classes and of the population's tuples at the classes' node, in one numbering."""
    parts, cards = [], []
    for a, column in enumerate(problem.columns):
        level = column.levels[classes.node[a]]
        parts.append(np.concatenate((classes.labels(a), level[codes[a]])))
        cards.append(len(column.labels[classes.node[a]]))
    keys, _ = combine(parts, cards, len(parts[0]) if parts else 0)
    into = group(keys).into
    return into[: len(classes.rows)], into[len(classes.rows) :]


def population_sizes(problem: Problem, classes: Classes, model: int) -> Ints:
    """Return how many people of the population share the labels of every class."""
    codes, weight = problem.population[model]
    mine, theirs = population_keys(problem, classes, codes)
    sums = np.bincount(theirs, weights=weight, minlength=int(mine.max(initial=-1)) + 1)
    return sums[mine].astype(np.int64)


def presence_holds(problem: Problem, classes: Classes, suppressed_rows: int) -> bool:
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

"""The certificate across releases: the models measured on what all of them show together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.anonymity.across import compare_releases
from pydplib.anonymity.certificate import TOGETHER, Certificate, Statement, certify_view
from pydplib.anonymity.frames import Coded
from pydplib.anonymity.models import KAnonymity, LDiversity
from pydplib.anonymity.resolved import Ints
from pydplib.anonymity.spellings import SeenFrame
from pydplib.anonymity.view import spread_of, view_of
from pydplib.errors import ParameterError

if TYPE_CHECKING:
    from pydplib.anonymity.prepare import Task


def certify_together(
    certificate: Certificate, task: Task, released: SeenFrame, order: Ints, tables: Sequence[Any]
) -> Certificate:
    """Add what holds for people who look alike in this release and in earlier ones.

    Args:
        certificate: What holds for this release alone.
        task: What was asked.
        released: The output.
        order: The rows of the input in the order of the output.
        tables: Earlier releases of which only the table is known.
    """
    more: list[Statement] = []
    if task.problem.history is not None:
        more += _with_traces(task, released, task.problem.history.signatures[order])
    if tables:
        more += _with_tables(task, released, tables)
    return replace(certificate, statements=(*certificate.statements, *more))


def _with_traces(task: Task, released: SeenFrame, signatures: Ints) -> list[Statement]:
    """Measure the models on classes that are alike here and were alike in every earlier release."""
    numbers, codes = np.unique(signatures, return_inverse=True)
    earlier = Coded("earlier classes", codes.astype(np.int64), tuple(numbers.tolist()))
    view = view_of([*(released.seen(name) for name in task.quasi), earlier], len(released))
    found = certify_view(
        view, task.rules, task.reference, lambda name, against: spread_of(view, released.coded(name), against),
        "one row is one person", list, {},
    )  # fmt: skip
    return [replace(statement, model=statement.model + TOGETHER) for statement in found.statements]


def _with_tables(task: Task, released: SeenFrame, tables: Sequence[Any]) -> list[Statement]:
    across = compare_releases(released, task.quasi, task.sensitive, tables, task.hierarchies)
    if len(released) and across.k == 0:
        raise ParameterError(
            "previous= names a table that can have nobody in common with this release. Has it the same columns, with "
            "labels of the same hierarchies? If the tables have no person in common, leave it out."
        )
    least = max((rule.model.k for rule in task.rules if isinstance(rule.model, KAnonymity)), default=1)
    seen = [number for number in (across.k, across.appeared, across.vanished) if number > 0]
    out = [Statement(f"{least}-anonymity{TOGETHER}", None, min(seen, default=0) >= least, float(min(seen, default=0)))]
    for rule in task.rules:
        if isinstance(rule.model, LDiversity) and rule.sensitive is not None:
            value = across.l_distinct[rule.sensitive]
            out.append(Statement(f"{rule.model}{TOGETHER}", rule.sensitive, value >= rule.model.l, float(value)))
    return out

"""The frontier of risk and utility: what every k costs, from one coded table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pydplib.anonymity.anonymization import find_recoding
from pydplib.anonymity.models import AlphaK, KAnonymity, Model
from pydplib.anonymity.preparation import prepare, read_suppression
from pydplib.anonymity.search.problem import ModelRule, SearchProblem
from pydplib.anonymity.search.recodings import measure_loss
from pydplib.anonymity.search.verdicts import Judge
from pydplib.errors import AnonymityError
from pydplib.schema import Schema


@dataclass(frozen=True, kw_only=True)
class FrontierPoint:
    """One k: what it costs and what risk is left.

    Attributes:
        k: The k of k-anonymity.
        loss: Granularity loss of the optimum.
        highest_risk: The highest chance of re-identification, 1 over the smallest class.
        average_risk: The mean chance.
        suppressed_share: Share of suppressed rows.
    """

    k: int
    loss: float
    highest_risk: float
    average_risk: float
    suppressed_share: float


def frontier(
    table: Any,
    quasi_identifiers: Any,
    sensitive: Any = None,
    *,
    ks: Sequence[int] = (2, 3, 5, 10, 25, 50, 100),
    models: Sequence[Model] = (),
    suppression: float = 0.0,
    person: str | None = None,
    schema: Schema | None = None,
) -> tuple[FrontierPoint, ...]:
    """Return loss and risk for every k; a k that cannot be reached is left out.

    Args:
        table: A data frame.
        quasi_identifiers: As for ``anonymize``.
        sensitive: As for ``anonymize``.
        ks: The k to try.
        models: Further models that hold throughout.
        suppression: The largest share of suppressed rows.
        person: The column that says whose row it is.
        schema: Public facts for automatic hierarchies.

    Examples:
        >>> import pandas as pd
        >>> points = frontier(pd.DataFrame({"age": [30, 31, 32, 40, 41, 42]}), ["age"], ks=[1, 3])
        >>> [(p.k, round(p.highest_risk, 2)) for p in points]
        [(1, 1.0), (3, 0.33)]
    """
    others = [model for model in models if not isinstance(model, KAnonymity)]
    task = prepare(
        table, quasi_identifiers, sensitive, person=person, identifiers=(), insensitive=(),
        models=[KAnonymity(1), *others], suppression=read_suppression(suppression), schema=schema,
    )  # fmt: skip
    out = []
    for k in ks:
        problem = _with_k(task.problem, k)
        try:
            recoding, _ = find_recoding(problem, "optimal", "granularity", "sets", None, None)
        except AnonymityError:
            continue
        loss = measure_loss(problem, recoding)
        sizes = _released_sizes(problem, recoding.suppressed, recoding.suppressed_rows, recoding.levels or {})
        people = max(int(sizes.sum()), 1)
        highest = 1.0 / int(sizes.min()) if len(sizes) else 0.0
        out.append(
            FrontierPoint(
                k=k,
                loss=loss.granularity,
                highest_risk=highest,
                average_risk=len(sizes) / people,
                suppressed_share=loss.suppressed_share,
            )
        )
    return tuple(out)


def _with_k(problem: SearchProblem, k: int) -> SearchProblem:
    rules = [ModelRule(KAnonymity(k)) if isinstance(rule.model, KAnonymity) else rule for rule in problem.rules]
    rules = [replace(r, model=replace(r.model, k=k)) if isinstance(r.model, AlphaK) else r for r in rules]
    return replace(problem, rules=rules)


def _released_sizes(problem: SearchProblem, gone: Any, gone_rows: Any, levels: Any) -> Any:
    classes = Judge(problem).evaluator.evaluate(tuple(levels[column.name] for column in problem.columns))
    if gone_rows is not None:
        kept = np.unique(classes.row_class()[~gone_rows])
    else:
        kept = np.unique(classes.tuple_class()[~gone])
    return classes.size[kept]

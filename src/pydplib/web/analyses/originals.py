"""The exact values behind an analysis, for an owner who asks for them: computed anew, logged, never stored."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.engine.load import load
from pydplib.errors import DataError
from pydplib.release import Count, Question
from pydplib.release.choosing import QuantileNoise
from pydplib.release.group_quantiles import BinnedQuantileNoise
from pydplib.release.noisy import CountNoise, MeanNoise, SumNoise
from pydplib.release.prepare import Prepared, prepare
from pydplib.release.resolved import resolve
from pydplib.schema import Schema
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.seeing import question_of, snapshot_of
from pydplib.web.analyses.sessions import recipient_of
from pydplib.web.auditlog.writing import record
from pydplib.web.intake.snapshots import folder, load_snapshot
from pydplib.web.ledger.database import DatabaseLedger

_ANY = Fraction(1)  # an epsilon to prepare a plan with; no noise is drawn here


def look_at_original(user: Any, analysis: Analysis) -> NDArray[np.float64]:
    """Return the exact values in the shape of the release, after writing down in log and ledger who looks.

    Every record counts whole here: the original is what the snapshot says, not what bounding makes of it.

    Raises:
        DataError: The snapshot is gone (a patient in it was erased, or it was replaced).
    """
    snapshot = snapshot_of(analysis)
    with load_snapshot(snapshot):  # the file is there, and is the one that was published
        pass
    ledger = DatabaseLedger()
    ledger.enter_look(
        lineage=analysis.project.key, recipient=recipient_of(user), role="owner", note=f"analysis {analysis.key}"
    )
    record(user, "analysis.original", analysis.key, project=analysis.project)
    question = question_of(analysis)
    schema = _whole_rows(Schema.from_json(snapshot.schema), question)
    prepared = prepare(resolve(question, schema), _ANY)
    try:
        with load(folder() / snapshot.file, schema) as table:
            return exact_values(prepared, table.aggregate(prepared.plan))
    except DataError:
        raise
    except Exception:
        raise DataError(
            "The original cannot be computed now. The reason is withheld, because it may quote data."
        ) from None


def _whole_rows(schema: Schema, question: Question) -> Schema:
    if isinstance(question, Count) and question.of == "persons":
        return schema
    plain = json.loads(schema.to_json())
    plain.pop("person", None)
    plain.pop("max_rows_per_person", None)
    return Schema.from_dict(plain)


def exact_values(prepared: Prepared, table: Any) -> NDArray[np.float64]:
    """Return a plan's exact integers as the statistic that was asked, in its unit; NaN where there is no record."""
    noise, measures = prepared.noise, prepared.plan.measures
    with np.errstate(invalid="ignore", divide="ignore"):
        if isinstance(noise, CountNoise):
            return np.asarray(table[0] / noise.per_row, dtype=np.float64)
        if isinstance(noise, SumNoise):
            return np.asarray(table[0] / noise.per_row * noise.step, dtype=np.float64)
        if isinstance(noise, QuantileNoise | BinnedQuantileNoise):
            return _quantiles(noise, measures[0], table[0])
        if isinstance(noise, MeanNoise):
            total = measures[0]
            return total.center + _floats(table[0]) / table[1] * total.step
        squares, sums, counts = _floats(table[0]), _floats(table[1]), table[2]
        mean = sums / counts * noise.step
        return np.asarray(squares / counts * noise.square_step - mean**2, dtype=np.float64)


def _floats(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return exact integers of any size as floats: dividing Python's own integers by 0 would be an error."""
    return numbers.astype(np.float64)


def _quantiles(
    noise: QuantileNoise | BinnedQuantileNoise, measure: Any, cells: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the smallest grid point that has at least the share of the records at or below it."""
    groups = cells.reshape(-1, noise.points)
    points = (measure.first_cell + np.arange(noise.points)) * measure.step
    found = np.full((len(groups), len(noise.shares)), np.nan)
    for row, counts in enumerate(groups):
        upto = np.cumsum(counts)
        if upto[-1] == 0:
            continue
        for column, share in enumerate(noise.shares):
            found[row, column] = points[int(np.searchsorted(upto * share.denominator, share.numerator * upto[-1]))]
    return found

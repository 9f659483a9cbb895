"""The exact values behind an analysis, for an owner who asks for them: computed again, logged, never stored."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pydplib.engine.load import load
from pydplib.errors import DataError
from pydplib.policy import OWNER
from pydplib.release import Question
from pydplib.release.facts import Facts
from pydplib.schema import Schema
from pydplib.web.analyses.conclusions import Conclusion, conclusions_of
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.sessions import recipient_of
from pydplib.web.analyses.visibility import question_of, snapshot_of
from pydplib.web.auditlog.log import record
from pydplib.web.intake.snapshots import folder, load_snapshot
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import User

_ANY = Fraction(1)  # an epsilon to prepare a plan with; no noise is drawn here


def look_at_original(user: User, analysis: Analysis) -> NDArray[np.float64]:
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
        lineage=analysis.project.key, recipient=recipient_of(user), role=OWNER, note=f"analysis {analysis.key}"
    )
    record(user, "analysis.original", analysis.key, project=analysis.project)
    question = question_of(analysis)
    schema = _whole_rows(Schema.from_json(snapshot.schema), question)
    purchase = Facts.of(question, schema).at(_ANY)
    try:
        with load(folder() / snapshot.file, schema) as table, np.errstate(invalid="ignore", divide="ignore"):
            return question.exact(purchase.facts, purchase.noise, purchase.count(table))
    except DataError:
        raise
    except Exception:
        raise DataError(
            "The original cannot be computed now. The reason is withheld, because it may quote data."
        ) from None


def look_at_conclusions(user: User, analysis: Analysis, exact: NDArray[np.float64]) -> list[Conclusion]:
    """Return what is left of the order of exact values at each role's noise; logged, for the owner who has them.

    Args:
        user: The owner.
        analysis: What the values belong to.
        exact: What ``look_at_original`` returned.
    """
    snapshot, project = snapshot_of(analysis), analysis.project
    record(user, "analysis.conclusion", analysis.key, project=project)
    schema = Schema.from_json(snapshot.schema)
    try:
        with load(folder() / snapshot.file, schema) as table:
            return conclusions_of(question_of(analysis), schema, table, exact, project.policy, project=project.key)
    except Exception:  # an error's text could quote data; the original is there without it
        return []


def _whole_rows(schema: Schema, question: Question) -> Schema:
    """Return the schema without its limit per person, where the question does not ask for persons."""
    per_person = set(schema.steps) & (question.fields | question.filters)
    if getattr(question, "of", "") == "persons" or question.per_person is not None or per_person:
        return schema
    plain = json.loads(schema.to_json())
    plain.pop("person", None)
    plain.pop("max_rows_per_person", None)
    for name in schema.steps:  # one value of each person: nothing without persons
        plain["columns"].pop(name, None)
    return Schema.from_dict(plain)

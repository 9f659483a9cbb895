"""Handing over single records: the debit comes first, and what was handed over once is handed over again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from pydplib.budget.costs import Cost
from pydplib.budget.keys import ReleaseKey
from pydplib.budget.today import Today
from pydplib.errors import EngineError, ParameterError, PolicyError
from pydplib.guarantee import LocalDP
from pydplib.policy import can_spend
from pydplib.release.public import check_epsilon
from pydplib.release.records import RecordRelease, check_column, first_rows, release_records
from pydplib.release.values import as_values, to_array
from pydplib.schema import Column

if TYPE_CHECKING:
    from pydplib.release.session import Session


def hand_over_records(
    session: Session, values: Any, *, column: str, epsilon: float, persons: Any, budget: LocalDP | None
) -> RecordRelease:
    """Return a column record by record with noise, through a session's ledger (see ``Session.release_records``).

    Proof: ``records.release_records``, after rows of a person beyond the schema's most were replaced by "missing".
    """
    schema = session.table.schema
    declared, loss = schema.column(column), check_epsilon(epsilon)
    total = loss * schema.max_rows_per_person
    if not can_spend(float(total), session.cap):
        raise PolicyError(
            f"Records of '{column}' at epsilon {float(loss):g} each cost a person {float(total):g}; one question may "
            f"cost {session.cap:g} at most in this role. Ask for a table instead: Histogram('{column}')."
        )
    if schema.person is not None and persons is None:
        raise ParameterError(f"persons= is needed: whose record each one is ('{schema.person}').")
    session.check_fields({column}, session.policy.label_of_epsilon(float(total)), float(total))
    check_column(declared)
    owners = None if persons is None else to_array(persons)
    array = to_array(values)
    if owners is not None and len(owners) != len(array):
        raise ParameterError("values and persons need the same length: one person for each record. Nothing was spent.")
    if declared.holds_numbers:
        as_values(array)  # days are no numbers, which their type tells
    cost = Cost.pure(total, mechanism="local_records", relation="local")
    asked = {"ask": "records", "of": column, "recipient": session.recipient}
    declaration = schema.to_dict()["columns"][column]
    key = ReleaseKey(
        lineage=session.lineage,
        snapshot=session.snapshot,
        question=asked,
        cost=cost,
        parameters={"column": declaration},
    )
    session.check_may_release()
    for recipient, limit in ((None, LocalDP(session.policy.data_set_budget)), (session.recipient, budget)):
        if limit is not None and not session.has_account(recipient, "local"):
            session.ledger.open_account(lineage=session.lineage, recipient=recipient, limit=limit)
    today = Today(budget, LocalDP(session.policy.data_set_budget))
    reservation = session.ledger.reserve(
        key, recipient=session.recipient, role=session.role or "unspecified", today=today
    )
    if reservation.payload is not None:
        return RecordRelease.from_json(reservation.payload)
    made = _made_noisy(array, owners, declared, epsilon=epsilon, most=schema.max_rows_per_person)
    if made is None:
        raise EngineError("The records were paid for, but could not be made noisy. The reason is withheld.")
    return RecordRelease.from_json(session.ledger.finish(reservation, made.to_json().encode()))


def _made_noisy(
    array: NDArray[Any], owners: NDArray[Any] | None, column: Column, *, epsilon: float, most: int
) -> RecordRelease | None:
    """Return the records with noise, or nothing where they failed: an error's text or kind could tell of the data."""
    try:
        records = array.tolist()
        if owners is not None:
            kept = first_rows(owners, most)
            records = [record if keep else None for record, keep in zip(records, kept.tolist(), strict=True)]
        return release_records(records, column, epsilon=epsilon, rows_per_person=most)
    except Exception:
        return None

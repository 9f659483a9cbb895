"""Records made noisy one by one (the local model), debited before they are handed over, and stored."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pydplib._shown import Shown
from pydplib.budget.costs import Cost
from pydplib.budget.keys import ReleaseKey
from pydplib.budget.limits import Limits
from pydplib.engine import number_bounds
from pydplib.errors import DataError, EngineError, ParameterError, PolicyError, QuestionError
from pydplib.guarantee import LocalDP
from pydplib.mechanisms import RandomizedResponse
from pydplib.noise.tap import add_laplace
from pydplib.policy import can_spend, parse_noise_factor
from pydplib.release.array_values import Grid, as_values, is_nothing, to_array
from pydplib.release.public import check_epsilon
from pydplib.schema import OTHER, Column

if TYPE_CHECKING:
    from pydplib.release.session import Session


FORMAT = "pydplib-records/1"
"""The first word of stored records."""

_FINE = 12  # binary digits of the grid of single records: far finer than their noise
_REFUSED = "Records of a {kind} column cannot be released: no bounded noise protects them."


@dataclass(frozen=True, repr=False, kw_only=True)
class RecordRelease(Shown):
    """One column, record by record, with what it guarantees about one record and about one person.

    Attributes:
        values: The noisy records, in the order in which they came; None where a record has no value.
        guarantee: What is guaranteed about one person's records together.
        cost: What a ledger must debit for it (local relation).
        record_epsilon: The privacy loss of one record.
        flip_probability: The chance that a category was exchanged; None for numbers.
        scale: The scale of the noise; None for categories.
    """

    values: tuple[Any, ...]
    guarantee: LocalDP
    cost: Cost
    record_epsilon: float
    flip_probability: float | None = None
    scale: float | None = None

    def to_json(self) -> str:
        """Return the records and their guarantee as JSON text."""
        plain = {
            "format": FORMAT,
            "values": list(self.values),
            "epsilon": self.guarantee.epsilon,
            "cost": self.cost.to_dict(),
            "record_epsilon": self.record_epsilon,
            "flip_probability": self.flip_probability,
            "scale": self.scale,
        }
        return json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> RecordRelease:
        """Read records back from ``to_json``'s text."""
        try:
            plain = json.loads(text)
            if plain.pop("format") != FORMAT:
                raise ValueError
            guarantee = LocalDP(plain.pop("epsilon"), unit="person")
            values, cost = tuple(plain.pop("values")), Cost.from_dict(plain.pop("cost"))
            return cls(values=values, guarantee=guarantee, cost=cost, **plain)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError(f"These are not stored records ('{FORMAT}').") from None

    def __str__(self) -> str:
        return f"{len(self.values)} noisy records. {self.sentence}"

    @property
    def sentence(self) -> str:
        """What is guaranteed about one record and about one person, in plain sentences."""
        record = LocalDP(self.record_epsilon).sentence
        if self.guarantee.epsilon == self.record_epsilon:
            return record
        return (
            f"Every record by itself is private with epsilon {self.record_epsilon:g}; all records of one person "
            f"together with epsilon {self.guarantee.epsilon:g}."
        )


def release_records(values: Any, column: Column, *, epsilon: float, rows_per_person: int = 1) -> RecordRelease:
    """Return every record with noise of its own: not even the table's keeper has to be trusted with the output.

    A person's privacy loss is ``rows_per_person`` times ``epsilon``, and adds up over columns. The output must be
    stored and given again: drawn again, the noise averages out.

    Proof: numbers: clamped to the public bounds, rounded to a grid of 2^-12 of the range; two records are at most
    ``top`` steps apart, and exact discrete Laplace noise of scale top / epsilon is epsilon-DP for each. Categories
    and yes/no: ``RandomizedResponse``. Missing records become the middle of the range, or "other": whether a record
    has a value is private, too. Records of one person compose sequentially.

    Args:
        values: The column.
        column: Its declaration: ``Number``, ``Integer``, ``Flag`` or ``Category``.
        epsilon: The privacy loss of one record; there is no default.
        rows_per_person: The most records of one person in it.

    Examples:
        >>> from pydplib import Flag
        >>> released = release_records([True, False, True], Flag(), epsilon=2.51)
        >>> len(released.values), round(released.flip_probability, 3)
        (3, 0.075)
    """
    loss = check_epsilon(epsilon)
    if isinstance(rows_per_person, bool) or not isinstance(rows_per_person, int) or rows_per_person < 1:
        raise ParameterError("rows_per_person is the most records of one person: a whole number of at least 1.")
    total = loss * rows_per_person
    cost = Cost.pure(total, mechanism="local_records", relation="local")
    guarantee = LocalDP(float(total), unit="person")
    if column.holds_numbers:
        noisy, scale = _numbers(values, column, loss)
        return RecordRelease(
            values=noisy, guarantee=guarantee, cost=cost, record_epsilon=float(loss), flip_probability=None, scale=scale
        )
    if column.choices:
        known = list(column.public_keys)
        response = RandomizedResponse(
            known, loss
        )  # the very fraction that the cost is made of, not the float next to it
        codes = _codes(to_array(values), known)
        released = tuple(known[code] for code in response.release_codes(codes).tolist())
        return RecordRelease(
            values=released,
            guarantee=guarantee,
            cost=cost,
            record_epsilon=float(loss),
            flip_probability=response.flip_probability,
        )
    raise QuestionError(_REFUSED.format(kind=column.kind))


def check_column(column: Column) -> None:
    """Raise unless records of such a column can be made noisy one by one."""
    if not (column.holds_numbers or column.choices):
        raise QuestionError(_REFUSED.format(kind=column.kind))


def record_epsilon(column: Column, noise_factor: object) -> float:
    """Return the epsilon of one record at the middle of a noise band, in closed form.

    Numbers: noise of scale tau times the range, 1/tau. Yes/no and categories: a share tau is exchanged,
    ln((1 - tau)(k - 1) / tau). Compare it with the same band for an aggregate, which costs hundreds of times less.

    Examples:
        >>> from pydplib import Flag, Number
        >>> round(record_epsilon(Number(18, 100), "high"), 1), round(record_epsilon(Flag(), "high"), 2)
        (6.7, 1.73)
    """
    tau = parse_noise_factor(noise_factor).target
    if column.holds_numbers:
        return 1 / tau
    if column.choices:
        others = len(column.public_keys) - 1
        return math.log((1 - tau) * others / tau)
    raise QuestionError(_REFUSED.format(kind=column.kind))


def _numbers(values: Any, column: Column, loss: Fraction) -> tuple[tuple[Any, ...], float]:
    low, high = number_bounds(column)
    exponent = 0 if column.is_whole else int(np.frexp(high - low)[1]) - _FINE
    grid = Grid.between(low, high, exponent=exponent)
    array = as_values(values).astype(np.float64)
    middle = (low + high) / 2
    there = np.where(np.isnan(array), middle, array)
    steps = np.floor(np.clip(there, grid.low, grid.high) / grid.step + 0.5).astype(np.int64)
    steps = np.clip(steps, grid.first, grid.last)
    # Each record by itself: the sensitivity is that of one record, and every record pays it.
    noisy = add_laplace(steps, grid.top / loss, sensitivity=grid.top)
    scale = float(grid.top / loss) * grid.step
    if column.is_whole:
        return tuple(noisy.tolist()), scale
    return tuple((noisy * grid.step).tolist()), scale


def _codes(array: NDArray[Any], known: list[Any]) -> NDArray[np.int64]:
    """Return the place of every record among the known values; unknown and missing ones count as "other" or False."""
    places: dict[Any, int] = {(type(value) is bool, value): place for place, value in enumerate(known)}
    if all(type(value) is bool for value in known):  # yes/no is often stored as 1 and 0
        places |= {(False, int(value)): place for place, value in enumerate(known)}
    default = known.index(OTHER) if OTHER in known else 0

    def place(item: Any) -> int:
        try:
            plain = item.item() if hasattr(item, "item") else item
            return places.get((type(plain) is bool, plain), default)
        except Exception:
            return default

    return np.fromiter((place(item) for item in array.tolist()), dtype=np.int64, count=len(array))


def first_rows(persons: NDArray[Any], most: int) -> NDArray[np.bool_]:
    """Return which records are among the first ``most`` of their person; records of nobody are not.

    Examples:
        >>> first_rows(np.array(["a", "b", "a", "a"], dtype=object), 2).tolist()
        [True, True, True, False]
    """
    seen: dict[Any, int] = {}
    kept = np.zeros(len(persons), dtype=np.bool_)
    for place, person in enumerate(persons.tolist()):
        if is_nothing(person):
            continue
        name = str(person)
        seen[name] = seen.get(name, 0) + 1
        kept[place] = seen[name] <= most
    return kept


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
    limits = Limits.of(recipient=budget, data_set=LocalDP(session.policy.data_set_budget))
    reservation = session.ledger.reserve(
        key, recipient=session.recipient, role=session.role or "unspecified", limits=limits
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

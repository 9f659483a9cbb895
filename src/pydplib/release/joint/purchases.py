"""Buying tables together: one price, one debit, one stored release; and answers that bought tables tell for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pydplib.budget.keys import ReleaseKey, canonical_json
from pydplib.budget.rules import Limit
from pydplib.budget.units import ATTO, floor_units
from pydplib.errors import ParameterError
from pydplib.policy import check_spend
from pydplib.release.facts import Facts
from pydplib.release.joint.measured import Measurement, Workload, check_delta, round_up, table_of
from pydplib.release.joint.stored_tables import MeasuredTables
from pydplib.release.prices import Price
from pydplib.release.public import check_epsilon
from pydplib.release.results.release import Release
from pydplib.release.results.words import TOGETHER, words_of
from pydplib.release.statistics.count import Counting
from pydplib.release.statistics.noise import COVERAGE
from pydplib.release.statistics.question import Question

if TYPE_CHECKING:
    from pydplib.release.session import Session


@dataclass(frozen=True, slots=True)
class Together:
    """How much several questions may cost together, as it was said: ``epsilon`` for all, or ``each`` for one alone.

    Args:
        epsilon: What all tables together may cost.
        each: What each question would cost alone, one number or one for each question: all together then cost the
            least at which no margin is larger than alone.
        delta: The chance that epsilon may fail.
        confidence: How often margins and intervals cover.
    """

    epsilon: float | None = None
    each: float | Sequence[float] | None = None
    delta: float | None = None
    confidence: float = COVERAGE

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.each is None):
            raise ParameterError(
                "Choose epsilon=, what all tables together may cost, or each=, what each would cost alone: then all "
                "together cost the least at which no margin is larger. There is no default."
            )
        if self.each is not None and self.delta is not None:
            raise ParameterError("each= is for pure tables: leave delta= out, or say epsilon= and delta=.")

    def of(self, number: int) -> tuple[Fraction, ...]:
        """Return what each of this many questions may cost by the policy: all of epsilon, or its own part."""
        if self.epsilon is not None:
            return (check_epsilon(self.epsilon),) * number
        given = self.each
        several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
        every = tuple(given) if several else (given,) * number  # type: ignore[arg-type]
        if len(every) != number:
            raise ParameterError(f"each= is one number, or one for each of the {number} questions. Got {len(every)}.")
        return tuple(check_epsilon(loss) for loss in every)


def _agreed(session: Session, questions: Iterable[Question], said: Together) -> Measurement:
    """Return questions at a price, if the role's cap and the policy let such answers out; by public facts alone.

    The policy judges a question by what it would cost alone, where that was said, and by all of epsilon elsewhere.
    """
    if said.delta is not None:
        _check_budget_has(session, check_delta(said.delta))
    workload = Workload.of(questions, session.table.schema)
    losses = said.of(len(workload.asked))
    for facts, loss in zip(workload.asked, losses, strict=True):
        check_spend(float(loss), session.cap)
        check_table_policy(session, facts, float(loss))
    if said.epsilon is None:
        return workload.cheapest(losses, confidence=said.confidence)
    return workload.at(losses[0], said.delta, confidence=said.confidence)


def _check_budget_has(session: Session, delta: Fraction) -> None:
    """Refuse a delta that the recipient's budget cannot pay for: a pure one never does."""
    limit = session.remaining.limit
    if limit.is_pure:
        raise ParameterError(
            "This budget is pure: it has no delta, and tables get discrete Laplace noise. Leave delta= out, or open a "
            "budget with a delta: Session(..., budget=dp.ApproxDP(2.0, 1e-6))."
        )
    check_kept_delta(limit, delta)


def check_kept_delta(limit: Limit, delta: Fraction) -> None:
    """Refuse a delta beyond the one that the budget itself converts rho with.

    A larger one would buy more rho for the same epsilon: more than the role's cap and the policy have judged.
    """
    kept = Fraction(limit.atto_conversion, ATTO)
    if floor_units(delta, ATTO) > limit.atto_conversion:
        raise ParameterError(
            f"This budget keeps a delta of {float(kept):g} for Gaussian noise, half of its own unless it was opened "
            f"otherwise. Ask for at most that: delta={float(kept):g}."
        )


def check_table_policy(session: Session, facts: Facts, epsilon: float) -> None:
    """Raise ``PolicyError`` unless the policy lets a table of this privacy loss go to the recipient."""
    label = session.policy.label_of_epsilon(epsilon)
    session.check_fields(facts.question.fields, label, epsilon, facts.question.filters)


def _key(session: Session, measurement: Measurement) -> ReleaseKey:
    return ReleaseKey(
        lineage=session.lineage,
        snapshot=session.snapshot,
        question=measurement.workload.canonical,
        cost=measurement.cost,
        parameters=measurement.parameters,
    )


def buy_tables(session: Session, questions: Iterable[Question], said: Together) -> MeasuredTables:
    """Pay for all questions at once, count, add noise, store; what was stored before is handed out again."""
    measurement = _agreed(session, questions, said)
    key = _key(session, measurement)
    reservation = session.pay(key, measurement.plans)
    payload = reservation.payload
    if payload is None:

        def look() -> MeasuredTables:
            return replace(measurement.answer(measurement.count(session.table)), key=key.digest)

        payload = session.ledger.finish(reservation, session.look(look))
    stored = MeasuredTables.from_json(payload)
    session.remember(stored)
    texts = [canonical_json(facts.canonical) for facts in measurement.workload.distinct]
    order = [texts.index(canonical_json(facts.canonical)) for facts in measurement.workload.asked]
    releases = [
        replace(stored.releases[i], key=key.digest, entry=reservation.entry, backend=session.table.backend)
        for i in order
    ]
    return replace(
        stored,
        releases=tuple(releases),
        remarks=session.remarks_of(reservation),
        entry=reservation.entry,
        backend=session.table.backend,
    )


def price_tables(session: Session, questions: Iterable[Question], said: Together) -> Price:
    """Return what all questions would cost together, and the margin of each; touches no data."""
    measurement = _agreed(session, questions, said)
    free, quote, notes = session.quote_release(_key(session, measurement))
    number = len(measurement.workload.distinct)
    titles = "; ".join(words_of(facts.canonical) for facts in measurement.workload.distinct)
    widest = max(float(measurement.margins_of(facts)[0].max()) for facts in measurement.workload.distinct)
    units = {table_of(facts).unit for facts in measurement.workload.distinct}
    return Price(
        question=titles if number == 1 else f"{number} tables together: {titles}",
        cost=measurement.cost,
        guarantee=measurement.guarantee,
        free=free,
        margin=float(round_up(np.array([widest]))[0]),
        margin_unit="value",
        unit=units.pop() if len(units) == 1 else "",
        noise_percent=None,
        left=quote.left,
        after=quote.after,
        bar=quote.bar,
        confidence=measurement.confidence,
        notes=(*measurement.margin_words(), *notes),
    )


def judged_loss(session: Session, question: Question, release: Release) -> float | None:
    """Return the epsilon by which the policy judges an answer from bought tables; None for a release of its own."""
    if release.mechanism not in TOGETHER:
        return None
    stored = next((tables for tables in session.bought if tables.key == release.key), None)
    made = None if stored is None else Measurement.of_stored(stored, session.table.schema)
    return None if made is None else made.loss_of(session.facts_of(question))


def answer_from_tables(
    session: Session, facts: Facts, *, margin: float | None, confidence: float = COVERAGE
) -> Release | None:
    """Return an answer that this recipient's tables tell for nothing: the first that is accurate enough, or None.

    Proof: a function of a release that this recipient has paid for, and of public facts.

    Args:
        session: Whose tables.
        facts: The question; policy is checked as for a paid one.
        margin: The margin that a purchase would have; None to take what there is.
        confidence: How often the margin covers.
    """
    if not isinstance(facts.question, Counting) or facts.has_unknown_keys:
        return None
    for stored in session.bought:
        made = Measurement.of_stored(stored, session.table.schema)
        if made is None or made.workload.sums(facts) is None:
            continue
        made = replace(made, confidence=confidence)
        if margin is not None and float(made.margins_of(facts)[0].max()) > margin:
            continue
        check_table_policy(session, facts, made.loss_of(facts))
        number = len(made.workload.distinct)
        tables = "a table" if number == 1 else f"{number} tables"
        told = f"Answered from {tables} that you have paid for: nothing was charged, and the data were not looked at."
        found = made.read(facts, *made.estimate(stored.noisy))
        return replace(found, key=stored.key, remarks=(told,), backend=session.table.backend)
    return None

"""Several tables of counts bought as one release, on behalf of an organisation; and those that it has bought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from pydplib.budget.keys import canonical_json
from pydplib.budget.units import NANO
from pydplib.errors import PolicyError, QuestionError
from pydplib.release import Price, Question, Session
from pydplib.release.facts import Facts
from pydplib.release.joint.measured import Measurement
from pydplib.release.joint.purchases import Together, check_table_policy
from pydplib.release.joint.stored_tables import MeasuredTables
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import (
    check_agreed,
    check_questions_today,
    in_whole_steps,
    keep,
    noting_refusals,
    stored_payload,
)
from pydplib.web.analyses.payments.sessions import open_session
from pydplib.web.analyses.receipts.keys import check_can_sign
from pydplib.web.intake.snapshots import published_snapshot
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project


@dataclass(frozen=True, slots=True)
class Bought:
    """What was paid for.

    Attributes:
        payload: The tables, byte for byte as the ledger stores them.
        order: For each question that was asked, the place of its answer among the stored ones.
        analyses: An analysis for each question that was asked.
    """

    payload: bytes
    order: list[int]
    analyses: list[Analysis]


def quote_all(project: Project, user: User, place: Member, questions: Sequence[Question], said: Together) -> Price:
    """Return what several tables would cost the user's organisation together; no row is read, nothing is spent.

    Raises:
        QuestionError: A question is no table of counts, or the price is below the least one.
        PolicyError: The policy does not allow one of them.
    """
    session, _ = open_session(project, user, place, preview=True)
    return _settled(session, questions, said)


def ask_all(
    project: Project,
    user: User,
    place: Member,
    questions: Sequence[Question],
    said: Together,
    *,
    at_most: float | None = None,
) -> Bought:
    """Pay for several tables as one release, look once, keep an analysis for each question; free if asked before.

    Raises:
        BudgetError: The budget cannot pay (the refusal is logged), or it costs more than was agreed; nothing was spent.
        PolicyError: The policy does not allow one of them. The refusal is logged.
        ReceiptError: No receipt could be signed; nothing was spent.
        TooManyQuestionsError: The organisation has asked too many today; nothing was spent.
    """
    with in_whole_steps(settings.CONFIGURATION.answer_seconds):
        check_can_sign(project.hospital)
        with noting_refusals(user, project, place):
            session, snapshot = open_session(project, user, place)
        with session.table:
            with noting_refusals(user, project, place):
                price = _settled(session, questions, said)
                if not price.free:
                    check_questions_today(project, session.recipient, _number(questions))
            if at_most is not None:
                check_agreed(price, at_most)
            with noting_refusals(user, project, place):
                tables = session.release_all(
                    questions, epsilon=said.epsilon, each=said.each, delta=said.delta, confidence=said.confidence
                )
        assert tables.key is not None
        losses = said.of(len(questions))
        made = [
            keep(project, user, session, snapshot, question, release, title="", loss=float(loss))
            for question, release, loss in zip(questions, tables, losses, strict=True)
        ]
        payload = stored_payload(tables.key)
        texts = [canonical_json(dict(release.question)) for release in MeasuredTables.from_json(payload)]
        return Bought(payload, [texts.index(canonical_json(dict(release.question))) for release in tables], made)


def _settled(session: Session, questions: Sequence[Question], said: Together) -> Price:
    """Return the price of several tables, if each gets at least what a question costs on this server."""
    price = session.price_all(
        questions, epsilon=said.epsilon, each=said.each, delta=said.delta, confidence=said.confidence
    )
    least = settings.CONFIGURATION.least_epsilon
    if not price.free and price.total < round(least * NANO) * _number(questions):
        raise QuestionError(
            f"A table costs at least epsilon {least:g} on this server. Smaller ones tell nothing, and many of them "
            "would tell more than they should."
        )
    return price


def _number(questions: Sequence[Question]) -> int:
    """Return how many different questions there are."""
    return len({repr(question) for question in questions})


def bought_tables(project: Project, user: User, place: Member) -> list[MeasuredTables]:
    """Return the tables that the user's organisation has paid for, of the published snapshot.

    Tables with a field that the policy does not open to the user's role today are left out; while nothing is published,
    there are none.
    """
    if published_snapshot(project) is None:
        return []
    session, _ = open_session(project, user, place, preview=True)
    return [tables for tables in session.bought if _is_open(session, tables)]


def _is_open(session: Session, tables: MeasuredTables) -> bool:
    made = Measurement.of_stored(tables, session.table.schema)
    if made is None:
        return False
    try:
        for plain in tables.question["questions"]:
            facts = Facts.of(Question.from_dict(plain), session.table.schema)
            check_table_policy(session, facts, made.loss_of(facts))
    except PolicyError:
        return False
    return True

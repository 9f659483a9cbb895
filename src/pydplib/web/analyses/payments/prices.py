"""The price of a question to an organisation, with what its people can do where it is not known; from public facts."""

from __future__ import annotations

from dataclasses import replace

from pydplib.errors import CalibrationError, QuestionError
from pydplib.release import Price, Question
from pydplib.release.prices import Accuracy
from pydplib.release.session import Session
from pydplib.web.analyses.payments.purchases import settle
from pydplib.web.analyses.payments.sessions import open_session
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project


def quote(
    project: Project, user: User, place: Member, question: Question, noise: Accuracy, *, table: str = ""
) -> Price:
    """Return what a question would cost the user's organisation; no row is read, nothing is spent.

    Raises:
        QuestionError: The question does not fit, or the accuracy cannot be promised; in plain words.
        PolicyError: The policy does not allow it.
    """
    session, _ = open_session(project, user, place, preview=True, table=table)
    return quote_in(session, question, noise)


def quote_in(session: Session, question: Question, noise: Accuracy) -> Price:
    """Return what a question would cost in a session that shows prices."""
    try:
        _, price = settle(session, question, noise)
    except CalibrationError:
        raise QuestionError(_unknown_size(session, noise)) from None
    if price.margin is None:
        price = replace(price, notes=(*price.notes, _unknown_margin(session, question)))
    return price


def _unknown_margin(session: Session, question: Question) -> str:
    """Return what to do where nobody can tell the accuracy beforehand."""
    if question.is_narrowed:
        return "The answer comes with its margin. To see one beforehand, leave out the conditions."
    if session.cap is None:
        return "To see it beforehand, give the number of people, or have a noisy one bought, when you publish."
    return (
        "To see it beforehand, first ask something with your role's usual noise and without conditions: a noisy "
        "number of records is included in the price, once. The answer comes with its margin in any case."
    )


def _unknown_size(session: Session, noise: Accuracy) -> str:
    if noise.margin is not None and session.cap is not None:
        return (
            "This margin cannot be promised: it depends on how many records there are (or meet the conditions), which "
            "is not public. Set a privacy loss instead, or first ask something with your role's usual noise and "
            "without conditions: a noisy number of records is included in the price, once."
        )
    if noise.margin is not None:
        return "This margin depends on how many records answer, which is not public. Set a privacy loss instead."
    return "The noise factor needs the number of records, which is not public. Set a privacy loss instead."

"""Pay for a question and keep the answer: the only way from the data to a page of a partner."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import cast

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from pydplib.budget.keys import canonical_json
from pydplib.budget.units import NANO, floor_units, show_nano
from pydplib.budget.workflow import read_payload
from pydplib.errors import BudgetError, CalibrationError, LedgerError, PolicyError, QuestionError
from pydplib.receipt import Receipt
from pydplib.release import Price, Question, Release, Session
from pydplib.release.joint.purchases import judged_loss
from pydplib.release.prices import Accuracy
from pydplib.release.results.words import TOGETHER, words_of
from pydplib.web.analyses.models import Analysis, nano_of, scope_of
from pydplib.web.analyses.payments.sessions import open_session
from pydplib.web.analyses.question_form.offers import Offer
from pydplib.web.analyses.receipts.keys import check_can_sign, sign
from pydplib.web.auditlog.log import record, recorded
from pydplib.web.intake.models import Snapshot
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.ledger.store import DatabaseStore
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project


def ask(
    project: Project,
    user: User,
    place: Member,
    question: Question,
    noise: Accuracy,
    *,
    title: str = "",
    at_most: float | None = None,
    table: str = "",
    offer: Offer | None = None,
) -> Analysis:
    """Pay for a question, look, keep and return the analysis; free if the organisation has asked it before.

    The debit is committed by the ledger before a row is read, and the answer is stored there before it is
    shown. What happens after that (the analysis's own row, the receipt) can be made again from the ledger.

    Args:
        project: The project.
        user: Who asks.
        place: The user's place in it.
        question: What is asked.
        noise: How accurate the answer should be.
        title: What the asker calls it.
        at_most: The most epsilon that the asker agreed to pay in total; none for whatever it costs.
        table: The repeating group that is asked; empty for reports.
        offer: What this request has offered: its snapshot is asked, by its policy; none for those of this moment.

    Raises:
        BudgetError: The budget cannot pay (the refusal is logged), or it costs more than was agreed; nothing was spent.
        PolicyError: The policy does not allow it. The refusal is logged.
        ReceiptError: No receipt could be signed; nothing was spent.
        TooManyQuestionsError: The organisation has asked too many today; nothing was spent.
    """
    with in_whole_steps(settings.CONFIGURATION.answer_seconds):
        return _ask(project, user, place, question, noise, title=title, at_most=at_most, table=table, offer=offer)


def _ask(
    project: Project,
    user: User,
    place: Member,
    question: Question,
    noise: Accuracy,
    *,
    title: str,
    at_most: float | None,
    table: str,
    offer: Offer | None,
) -> Analysis:
    check_can_sign(project.hospital)
    with noting_refusals(user, project, place):
        pinned, policy = (None, None) if offer is None else (offer.snapshot, offer.policy)
        session, snapshot = open_session(
            project, user, place, table=table, open_late=True, snapshot=pinned, policy=policy
        )
    with session.table:
        with noting_refusals(user, project, place):
            noise, quoted = _settled(session, question, noise, needed=at_most is not None)
            if quoted is None or not quoted.free:
                check_questions_today(project, session.recipient)
        if at_most is not None and quoted is not None:
            check_agreed(quoted, at_most)
        with noting_refusals(user, project, place):
            release = session.release(question, **noise.options())
            loss = judged_loss(session, question, release)
    made = keep(project, user, session, snapshot, question, release, title=title, loss=loss)
    made.was_free, made.told = quoted is not None and quoted.free, release
    return made


def _settled(session: Session, question: Question, noise: Accuracy, *, needed: bool) -> tuple[Accuracy, Price | None]:
    try:
        return settle(session, question, noise)
    except CalibrationError:
        if needed:
            raise
        return noise, None  # no price before the number of records is bought: the release says what is wrong, if it is


@contextmanager
def in_whole_steps(step: float) -> Iterator[None]:
    """Let what is done inside take a whole number of steps of time: how long it took tells nothing finer than that."""
    began = time.monotonic()
    try:
        yield
    finally:
        if step > 0:
            passed = time.monotonic() - began
            time.sleep(max(0.0, math.ceil(passed / step) * step - passed))


class TooManyQuestionsError(PolicyError):
    """The organisation has asked as many paid questions today as the server answers."""

    http_status = 429


def settle(session: Session, question: Question, noise: Accuracy) -> tuple[Accuracy, Price]:
    """Return how a question is asked, with its price: a noise factor or margin below the least price is made finer.

    Raises:
        QuestionError: The privacy loss that was asked for is below the least price.
        CalibrationError: The price is not known: it needs the number of records.
    """
    price = session.price(question, **noise.options())
    least = settings.CONFIGURATION.least_epsilon
    cost = price.cost.nano_epsilon
    if price.free or cost is None or cost >= round(least * NANO):
        return noise, price
    if noise.epsilon is not None:
        raise QuestionError(
            f"A question costs at least epsilon {least:g} on this server. A smaller one tells nothing, and many of "
            "them would tell more than they should."
        )
    finer = Accuracy(epsilon=least, confidence=noise.confidence)
    return finer, session.price(question, **finer.options())


def check_questions_today(project: Project, recipient: str, number: int = 1) -> None:
    """Raise ``TooManyQuestionsError`` if an organisation would ask too many paid questions in 24 hours.

    Args:
        project: The project.
        recipient: The organisation.
        number: How many it asks now.
    """
    most = settings.CONFIGURATION.questions_per_day
    since = timezone.now() - dt.timedelta(days=1)
    asked = Analysis.objects.filter(project=project, recipient=recipient, made__gt=since).count()
    if asked >= most:
        raise TooManyQuestionsError(
            f"Your organisation has asked {most} paid questions in the last 24 hours, which is the most per day. "
            "Questions that were asked before are still free. Go on tomorrow."
        )
    if asked + number > most:
        raise TooManyQuestionsError(
            f"These are {number} questions, and your organisation may ask {most - asked} more today: at most {most} "
            "paid questions in 24 hours. Ask fewer at once, or go on tomorrow."
        )


@contextmanager
def noting_refusals(user: User, project: Project, place: Member) -> Iterator[None]:
    """Write a line for what budget or policy refused."""
    try:
        yield
    except (BudgetError, PolicyError) as refusal:
        record(user, "analysis.refuse", project=project, reason=str(refusal), role=place.role)
        raise


def check_agreed(price: Price, at_most: float) -> None:
    """Raise ``BudgetError`` where something costs more than the asker agreed to."""
    agreed = floor_units(Fraction(str(at_most)), NANO)
    if price.total <= agreed:
        return
    size = f", of which {show_nano(price.size_cost)} buys a noisy number of records" if price.size_cost else ""
    asked = f"epsilon {show_nano(price.total)}"
    raise BudgetError(
        f"The price is {asked} in total{size}: more than the {show_nano(agreed)} that you agreed to (at_most). Nothing "
        "was spent. Look at the price again.",
        asked=asked,
    )


def keep(
    project: Project,
    user: User,
    session: Session,
    snapshot: Snapshot,
    question: Question,
    release: Release,
    *,
    title: str,
    loss: float | None = None,
) -> Analysis:
    """Return the analysis of a release that the session's recipient has paid for; made with its receipt if new.

    Args:
        project: The project.
        user: Who asks.
        session: Whose budget has paid.
        snapshot: What was asked.
        question: The question.
        release: The answer.
        title: What the asker calls it.
        loss: The epsilon by which the policy judges it, where that is not what the whole release cost: tables that
            were bought together at what each would cost alone.
    """
    assert release.key is not None
    own = {"project": project, "recipient": session.recipient, "digest": release.key, "part": part_of(release)}
    found = Analysis.objects.filter(**own).first()
    if found is not None:
        return found
    payload = session.payloads.get(release.key) or stored_payload(release.key)
    template = snapshot.template.template
    answer = "" if not own["part"] else release.to_json()
    if answer:
        payload = answer.encode()
    if own["part"] and loss is None:
        loss = release.epsilon
    judged = release.epsilon if loss is None else loss
    receipt = Receipt.of(
        release,
        payload,
        data=data_words(project, snapshot),
        template=f"{template.id} {template.version}",
        issued=timezone.now().isoformat(timespec="seconds"),
    )
    signed = sign(receipt, project.hospital).to_json()
    try:
        with recorded(user, project=project) as log:
            made = Analysis.objects.create(
                **own,
                asked_by=user,
                role=cast("str", session.role),
                label=session.policy.label_of_epsilon(judged),
                snapshot=snapshot.key,
                question=json.dumps(question.to_dict(), sort_keys=True),
                words=words_of(dict(release.question)),
                title=title,
                receipt=signed,
                answer=answer,
                scope=scope_of(question),
                nano_epsilon=nano_of(signed) if loss is None else math.ceil(loss * NANO),
            )
            log.add("analysis.ask", made.key, role=session.role, cost=str(release.cost))
    except IntegrityError:  # asked twice at once: one row, one answer
        with transaction.atomic():
            made = Analysis.objects.get(**own)
    return made


def part_of(release: Release) -> str:
    """Return which question of tables that were bought together a release answers; empty for a release of its own."""
    if release.mechanism not in TOGETHER:
        return ""
    return part_name(release.question)


def part_name(question: Mapping[str, object]) -> str:
    """Return the name of one question of tables that were bought together."""
    return hashlib.sha256(canonical_json(dict(question)).encode()).hexdigest()


def public_receipt_of(analysis: Analysis) -> Receipt:
    """Return a receipt of an analysis or a synthetic table that is the same whoever asked, however often, and whenever.

    Several organisations may have paid for one release. What anybody can look up by its key must not tell one of them
    that another was there before: no time, the names of today, the key of today.
    """
    project, kept = analysis.project, Receipt.from_json(analysis.receipt)
    snapshot = Snapshot.objects.filter(project=project, key=analysis.snapshot).first()
    data = kept.data if snapshot is None else data_words(project, snapshot)  # an erased one lives on in what was signed
    return sign(replace(kept, data=data, issued=""), project.hospital)


def data_words(project: Project, snapshot: Snapshot) -> str:
    """Return what a receipt says about the data: project, snapshot, table."""
    table = f", {snapshot.table_title}" if snapshot.group else ""
    return f"{project.name}, snapshot {snapshot.number}{table}"


def stored_payload(digest: str) -> bytes:
    """Return the bytes of a release as the ledger keeps them, and as its chain has their hash.

    Raises:
        LedgerError: It is not there, or was changed after it was released.
        PausedLedgerError: The chain is broken, so nobody can say whether it was changed.
    """
    DatabaseLedger().check_answers_stand()
    store = DatabaseStore()
    found = store.get_release(digest)
    payload = None if found is None else read_payload(store, found)
    if payload is None:
        raise LedgerError("This answer is not in the ledger.")
    return payload


def answer_bytes(analysis: Analysis) -> bytes:
    """Return the answer of an analysis as it was signed: the ledger's bytes, or its part of tables bought together.

    Raises:
        LedgerError: The release is not there, or was changed.
        PausedLedgerError: The chain is broken, so nobody can say whether it was changed.
    """
    payload = stored_payload(analysis.digest)
    return analysis.answer.encode() if analysis.part else payload


def release_of(analysis: Analysis) -> Release:
    """Return the released values of an analysis; nothing else of the data is in it."""
    return Release.from_json(answer_bytes(analysis))

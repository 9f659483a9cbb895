"""Pay for a synthetic table, make it in the background, keep it with its receipt; taken up again after a kill."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any, cast

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from pydplib.budget.units import NANO, ceil_units, exact
from pydplib.errors import BudgetError, DataError, LedgerError, ParameterError, PolicyError
from pydplib.receipt import Receipt
from pydplib.release import Session
from pydplib.schema import Schema
from pydplib.synthesis import SyntheticTable
from pydplib.synthesis.purchase import buy_synthetic, design, key_of, pay_synthetic
from pydplib.web import hooks, jobs
from pydplib.web.analyses.payments.purchases import (
    TooManyQuestionsError,
    check_agreed,
    data_words,
    in_whole_steps,
    noting_refusals,
    stored_payload,
)
from pydplib.web.analyses.payments.sessions import open_session
from pydplib.web.analyses.question_form.offers import titles_of
from pydplib.web.analyses.receipts.keys import check_can_sign, sign
from pydplib.web.auditlog.lines import has_line
from pydplib.web.auditlog.log import recorded
from pydplib.web.intake.models import Snapshot
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project
from pydplib.web.synthetic.models import SyntheticPurchase
from pydplib.web.synthetic.offers import Asked, SynthesisOptions, offer_of, price_of

BACKGROUND = True
"""Whether tables are made in a thread of their own; tests let the page wait for them."""

MOST_SECONDS = 3600.0
"""After this time, a table that is still being made has got stuck."""

_State = SyntheticPurchase.State


def buy(
    project: Project, user: User, place: Member, asked: Asked, *, title: str = "", at_most: float | None = None
) -> SyntheticPurchase:
    """Pay for a synthetic table and begin to make it; what the organisation has bought before is free and the same.

    A row says what is wanted before anything is paid, and the ledger is debited before anything is read: killed
    anywhere, the row's page goes on from there, and nothing is paid twice.

    Args:
        project: The project.
        user: Who buys.
        place: The user's place in it.
        asked: What is bought.
        title: What the buyer calls it.
        at_most: The most epsilon that the buyer agreed to; none for whatever it costs.

    Raises:
        BudgetError: The budget cannot pay (the refusal is logged), or it costs more than was agreed; nothing was spent.
        PolicyError: The policy does not allow it. The refusal is logged.
        ParameterError: Public facts say that it would be worthless.
        ReceiptError: No receipt could be signed; nothing was spent.
    """
    with in_whole_steps(settings.CONFIGURATION.answer_seconds):
        check_can_sign(project.hospital)
        with noting_refusals(user, project, place):
            session, snapshot = open_session(project, user, place)
        rules = snapshot.template.template
        with session.table:
            with noting_refusals(user, project, place):
                if asked.noise == "auto":
                    asked = offer_of(session, asked, rules).chosen.asked
                price = price_of(session, asked, rules)
                if not price.free:
                    check_tables_today(project, session.recipient)
            if at_most is not None:
                check_agreed(price, at_most)
            row, is_new = _row(project, user, session, snapshot, asked, title)
            if row.state in (_State.READY, _State.WITHDRAWN):
                return row
            _pay(row, session, user, place, drop=is_new)
    start(row)
    row.refresh_from_db()
    return row


def check_tables_today(project: Project, recipient: str) -> None:
    """Raise ``TooManyQuestionsError`` if an organisation buys more tables in a day than the server allows questions."""
    most = settings.CONFIGURATION.questions_per_day
    since = timezone.now() - dt.timedelta(days=1)
    if SyntheticPurchase.objects.filter(project=project, recipient=recipient, made__gt=since).count() >= most:
        raise TooManyQuestionsError(
            f"Your organisation has bought {most} synthetic tables in the last 24 hours, which is the most per day. "
            "Those are still free. Go on tomorrow."
        )


def _row(
    project: Project, user: User, session: Session, snapshot: Snapshot, asked: Asked, title: str
) -> tuple[SyntheticPurchase, bool]:
    made, _ = design(session, buy=True, **asked.options(snapshot.template.template))
    own = {"project": project, "recipient": session.recipient, "digest": key_of(session, made).digest}
    found = SyntheticPurchase.objects.filter(**own).first()
    if found is not None:
        return found, False
    loss = float(made.epsilon)
    try:
        with transaction.atomic():
            return SyntheticPurchase.objects.create(
                **own,
                asked_by=user,
                role=cast("str", session.role),
                label=session.policy.label_of_epsilon(loss),
                snapshot=snapshot.key,
                asked=asked.to_dict(),
                nano_epsilon=ceil_units(exact(loss), NANO),
                title=title or _words(snapshot, asked),
            ), True
    except IntegrityError:  # bought twice at once: one row, one payment
        return SyntheticPurchase.objects.get(**own), False


def _words(snapshot: Snapshot, asked: Asked) -> str:
    titles = titles_of(Schema.from_json(snapshot.schema))
    words = f"Synthetic table of {', '.join(titles.get(name, name) for name in asked.columns)}"
    return words if len(words) <= 120 else f"{words[:119]}…"


def _pay(row: SyntheticPurchase, session: Session, user: User, place: Member, *, drop: bool) -> None:
    """Debit, unless it was paid before; a refusal leaves no trace but its line in the log."""
    try:
        with noting_refusals(user, row.project, place):
            _check_agreed_table(row, session)
            pay_synthetic(session, **_options(row, session))
    except (BudgetError, PolicyError):
        if drop:
            SyntheticPurchase.objects.filter(pk=row.pk, state=_State.PAYING, worker="").delete()
        raise
    _note_payment(row, user)


def _check_agreed_table(row: SyntheticPurchase, session: Session) -> None:
    """Raise before the debit if somebody else would pay, or today's cap would make another table than was agreed."""
    made, _ = design(session, buy=False, **_options(row, session))
    if session.recipient != row.recipient or key_of(session, made).digest != row.digest:
        raise ParameterError(
            "The terms have changed since this table was agreed: under those of today it would be another one. Nothing "
            "further was spent. Ask the owner of the data, or buy a table under the terms of today."
        )


def _note_payment(row: SyntheticPurchase, user: User) -> None:
    """Write the one line of a purchase, also where the process was killed between the debit and the line."""
    with recorded(user, project=row.project) as log:
        SyntheticPurchase.objects.select_for_update().get(pk=row.pk)
        if not has_line(row.project, "synthetic.buy", row.key):
            log.add("synthetic.buy", row.key, role=row.role, epsilon=row.nano_epsilon / NANO)


def go_on(row: SyntheticPurchase, user: User, place: Member) -> None:
    """Go on after a break: pay what is not paid yet, and make what is not made; nothing is paid twice.

    Raises:
        BudgetError: The budget cannot pay any more.
        PolicyError: The policy has closed it since.
    """
    if row.state == _State.PAYING:
        if not DatabaseLedger().paid_by(row.recipient, [row.digest]):  # who pays now is judged by the role of now
            row.role, row.asked_by = place.role, user
            row.save(update_fields=["role", "asked_by"])
        session = _session(row)
        with session.table:
            _pay(row, session, user, place, drop=False)
    start(row)
    row.refresh_from_db()


def start(row: SyntheticPurchase) -> None:
    """Begin to make a table that is paid, or go on after a break."""
    jobs.start(make, row, take=claim_making, inline=not BACKGROUND, related=("project__hospital", "asked_by__hospital"))


def is_stalled(row: SyntheticPurchase) -> bool:
    """Return whether it should be worked on and nobody does."""
    return jobs.is_stalled(row, (_State.RUNNING, _State.PAYING))


def claim_making(row: SyntheticPurchase) -> jobs.Claim:
    """Claim a table that is paid and not made."""
    among = (_State.PAYING, _State.RUNNING)
    return jobs.Claim(row, _State.RUNNING, among=among, progress=None, progress_words="About to begin")


def make(row: SyntheticPurchase, claim: jobs.Claim | None = None) -> None:
    """Measure, fit and store a table that is paid, then keep its receipt. Killed anywhere, it can be begun again."""
    claim = claim or claim_making(row)
    row.refresh_from_db()
    if not DatabaseLedger().paid_by(row.recipient, [row.digest]):
        claim.release(state=_State.PAYING, heartbeat=None, problem="This table is not paid yet.")
        return
    with claim.beating(most=MOST_SECONDS), in_whole_steps(settings.CONFIGURATION.answer_seconds):
        _note_payment(row, row.asked_by)
        session = _session(row)
        with session.table:
            _check_agreed_table(row, session)
            table = buy_synthetic(session, progress=_teller(claim, row), **_options(row, session))
        if table.key != row.digest:
            raise LedgerError("What was made is another table than the one that was paid. Ask the operator.")
        receipt = _receipt(row, table)
    with recorded(row.asked_by, project=row.project) as log:
        claim.save(state=_State.READY, receipt=receipt.to_json(), progress=100, progress_words="")
        SyntheticPurchase.objects.filter(pk=row.pk).update(worker="")
        log.add("synthetic.make", row.key, relations=len(table.measured), found=len(table.measured) - table.declared)


def _session(row: SyntheticPurchase) -> Session:
    """Return a session on the very snapshot that was agreed, which need not be the published one any more.

    The role is the one in which it was bought; the groups are those of today. What is paid is made as it was agreed,
    also where the role's cap is lower today.
    """
    member = row.project.members.filter(user=row.asked_by).first()
    place = Member.as_role(row.role, groups=() if member is None else member.groups)
    session, _ = open_session(row.project, row.asked_by, place, snapshot=snapshot_of(row))
    if DatabaseLedger().paid_by(row.recipient, [row.digest]):
        session.settle()
    return session


def _options(row: SyntheticPurchase, session: Session) -> SynthesisOptions:
    """Return what was agreed; once it is paid, the price says the accuracy, and no cap of today changes it."""
    asked = Asked.from_dict(row.asked)
    if session.is_settled:
        asked = replace(asked, epsilon=row.nano_epsilon / NANO, noise_factor=None)
    return asked.options(snapshot_of(row).template.template)


def snapshot_of(row: SyntheticPurchase) -> Snapshot:
    """Return the published state that a table is made from; its file may be gone.

    Raises:
        DataError: It is not there any more.
    """
    found = Snapshot.objects.filter(project=row.project, key=row.snapshot).select_related("template").first()
    if found is None:
        raise DataError("The snapshot that this table was bought of is gone. Buy one of the published data.")
    return found


def _receipt(row: SyntheticPurchase, table: SyntheticTable) -> Receipt:
    snapshot = snapshot_of(row)
    template = snapshot.template.template
    receipt = Receipt.of(
        table,
        stored_payload(row.digest),
        data=data_words(row.project, snapshot),
        template=f"{template.id} {template.version}",
        issued=timezone.now().isoformat(timespec="seconds"),
    )
    return sign(receipt, row.project.hospital)


def _teller(claim: jobs.Claim, row: SyntheticPurchase) -> Any:
    """Return what writes down how far the measurement is, by what was agreed alone.

    How long a search goes on depends on its noise, and the noise of a run that was killed is nobody's to see.
    """
    declared = len(row.asked["relations"])

    def tell(what: str, step: int, steps: int) -> None:
        if what == "done":
            claim.tell(progress=99, progress_words="Drawing rows")
        elif what != "relations":
            percent = None if row.asked["find"] else 100 * step // (declared + 1)
            claim.tell(progress=percent, progress_words="Measuring columns and relations")

    return tell


def discard(actor: User, row: SyntheticPurchase) -> None:
    """Forget a table that was never paid.

    Raises:
        ParameterError: It is paid; what is paid is made.
    """
    if DatabaseLedger().paid_by(row.recipient, [row.digest]):
        raise ParameterError("This table is paid: go on with it. Nothing is ever refunded.")
    with recorded(actor, project=row.project) as log:
        if SyntheticPurchase.objects.filter(jobs.is_free(), pk=row.pk, state=_State.PAYING).delete()[0]:
            log.add("synthetic.discard", row.key)


@hooks.purchase_of.register
def purchase_of(digest: str) -> SyntheticPurchase | None:
    """Return the first purchase of a release that has a receipt."""
    return SyntheticPurchase.objects.filter(digest=digest).exclude(receipt="").order_by("id").first()

"""What others paid for and the owner shows: an organisation receives it by paying for it too, once.

A budget is everything that its organisation learns: its own questions, answers that owners share with its role, and
the figures of dashboards. So nobody reads a number that their organisation's account has not paid for; the data set,
which paid when the answer was made, does not pay again. Who sees the rows themselves is left out: no budget protects
data from those who hold it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydplib.budget.ledger import Quote
from pydplib.budget.units import NANO, show_nano, show_short
from pydplib.errors import BudgetError, ParameterError, PolicyError
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import keep, release_of
from pydplib.web.analyses.payments.sessions import open_session, recipient_of
from pydplib.web.analyses.visibility import question_of, snapshot_of
from pydplib.web.auditlog.log import record
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project


@dataclass(frozen=True, slots=True)
class SharedOffer:
    """What an organisation would pay for answers that are there.

    Args:
        digests: The releases that it has not paid for.
        quote: What paying for them means for its budget.
    """

    digests: tuple[str, ...]
    quote: Quote

    @property
    def nano(self) -> int:
        """What they cost together, in nano-epsilon."""
        return self.quote.nano

    @property
    def cost(self) -> str:
        """The price for readers."""
        return show_short(self.nano)

    @property
    def left(self) -> float:
        """What is left of the budget now."""
        return max(0.0, self.quote.bar.total - self.quote.bar.spent)


def offer_for(project: Project, user: User, place: Member, digests: Iterable[str]) -> SharedOffer | None:
    """Return what a user's organisation would pay to receive releases; none if it has paid for all, or pays nothing.

    Args:
        project: The project.
        user: Who wants to see them.
        place: The user's place in it.
        digests: The releases.
    """
    wanted = sorted(set(digests))
    if place.preview or place.can("see_raw"):
        return None
    ledger = DatabaseLedger()
    paid = ledger.paid_by(recipient_of(user), wanted)
    unpaid = tuple(digest for digest in wanted if digest not in paid)
    if not unpaid:
        return None
    session, _ = open_session(project, user, place, preview=True)
    costs = ledger.costs(unpaid)
    return SharedOffer(unpaid, session.quote(*(costs[digest] for digest in unpaid)))


def receive(project: Project, user: User, place: Member, digests: Iterable[str], *, agreed: int, subject: str) -> None:
    """Pay for releases from the budget of the user's organisation; what it has paid for before is free.

    Each is a debit of its own. Should one of them fail, those before it are paid and seen, and the others are offered
    again.

    Args:
        project: The project.
        user: Who wants to see them.
        place: The user's place in it.
        digests: The releases.
        agreed: The price that the user saw, in nano-epsilon; a higher one is refused.
        subject: What they belong to, for the log.

    Raises:
        BudgetError: The budget cannot pay for all of it, and nothing was spent; logged.
        ParameterError: The price is higher than what was agreed to.
    """
    offer = offer_for(project, user, place, digests)
    if offer is None:
        return
    if offer.nano > agreed:
        raise ParameterError(f"The price is epsilon {offer.cost} now, not what you agreed to. Look at it again.")
    try:
        if not offer.quote.affordable:
            left = f"epsilon {show_nano(round(offer.left * NANO))} of {offer.quote.bar.total:g}"
            raise BudgetError(
                f"The budget of your organisation cannot pay for this: asked epsilon {offer.cost}, left {left}. "
                "Nothing was spent. Ask the owner for a larger budget.",
                asked=f"epsilon {offer.cost}",
                left=left,
            )
        session, _ = open_session(project, user, place)
        ledger = DatabaseLedger()
        for digest in offer.digests:
            ledger.hand_on(digest, recipient=session.recipient, role=place.role, limits=session.limits_today)
    except (BudgetError, PolicyError) as refusal:
        record(user, "analysis.refuse", subject, project=project, reason=str(refusal), role=place.role)
        raise
    record(
        user, "analysis.receive", subject, project=project, role=place.role, answers=len(offer.digests), cost=offer.cost
    )


def receive_analysis(user: User, place: Member, analysis: Analysis, *, agreed: int) -> Analysis:
    """Receive an analysis that is shared with a role; return the organisation's own, which it keeps."""
    receive(analysis.project, user, place, [analysis.digest], agreed=agreed, subject=analysis.key)
    session, _ = open_session(analysis.project, user, place)
    return keep(
        analysis.project,
        user,
        session,
        snapshot_of(analysis),
        question_of(analysis),
        release_of(analysis),
        title=analysis.title,
        loss=analysis.nano_epsilon / NANO if analysis.part else None,
    )

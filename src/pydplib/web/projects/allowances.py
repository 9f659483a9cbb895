"""What may a partner spend? The policy of today answers, here and nowhere else; and whether a change would give more.

The ledger knows what was spent and no limit. Sessions, pages, the API, dashboards and synthetic tables take the limit
from here, by a place's role and groups, an audience's dashboards, or the data set as a whole.

Colleagues talk to each other and share one account, so the most generous place of an organisation counts. Places that
see the rows themselves are left out: no budget protects data from those who hold it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils import timezone

from pydplib.budget.rules import Limit
from pydplib.budget.units import NANO
from pydplib.budget.verify import limits_paid_under
from pydplib.errors import PolicyError
from pydplib.guarantee import ApproxDP
from pydplib.policy import Policy, Terms, can_use
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.words import DASHBOARD


def terms_of(
    project: Project,
    role: str,
    groups: Iterable[str] = (),
    *,
    policy: Policy | None = None,
    on: dt.date | None = None,
) -> Terms:
    """Return what the policy gives a place: its noise, the cap of one question, what it may spend in total.

    Args:
        project: The project.
        role: The role of the place.
        groups: Its groups.
        policy: The policy; by default the project's.
        on: The day; by default today.

    Raises:
        PolicyError: No rule lets such a place ask.
    """
    policy = policy or project.policy
    return policy.terms(role, groups=tuple(groups), project=project.key, on=on or timezone.localdate())


def most_of(project: Project, places: Iterable[Member]) -> ApproxDP | None:
    """Return what an organisation may spend in total: the most that one of its places gives; none if nobody may ask."""
    policy, found = project.policy, list[ApproxDP]()
    for place in places:
        try:
            found.append(terms_of(project, place.role, place.groups, policy=policy).own)
        except PolicyError:
            continue
    return max(found, key=lambda budget: budget.epsilon, default=None)


def limit_of(project: Project, recipient: str | None) -> Limit | None:
    """Return what a recipient of the ledger may spend today; none if the policy gives it nothing any more.

    Args:
        project: The project.
        recipient: An organisation's key, the dashboards of an audience, or None for all recipients together.
    """
    if recipient is None:
        return Limit.of(ApproxDP(project.data_set_budget, project.delta))
    if recipient.startswith(DASHBOARD):
        epsilon = project.dashboard_budget(recipient.removeprefix(DASHBOARD))
        return None if epsilon is None else Limit.of(ApproxDP(epsilon, project.delta))
    most = most_of(project, project.members.filter(user__hospital__key=recipient))
    return None if most is None else Limit.of(most)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an organisation gets.

    Args:
        budget: Epsilon in total.
        cap: Epsilon of one question; infinite without a cap.
    """

    budget: float
    cap: float

    def exceeds(self, other: Allowance) -> bool:
        """Return whether it gives more than another one, in total or per question."""
        return self.budget > other.budget or self.cap > other.cap


@dataclass(frozen=True, slots=True)
class Raise:
    """A change that gives an organisation more than it has."""

    organisation: str
    before: Allowance
    after: Allowance

    @property
    def words(self) -> str:
        """What grows, for readers."""
        if self.after.budget > self.before.budget:
            return f"the budget of {self.organisation} from {self.before.budget:g} to {self.after.budget:g}"
        cap = "any price" if math.isinf(self.after.cap) else f"{self.after.cap:g}"
        return f"what one question of {self.organisation} may cost from {self.before.cap:g} to {cap}"


@dataclass(frozen=True, slots=True)
class Seat:
    """A place as it would be: role and groups."""

    role: str
    groups: tuple[str, ...]


def raise_by(
    project: Project, user: User, *, seat: Seat | None = None, policy: Policy | None = None, caps: bool = True
) -> Raise | None:
    """Return what a user's organisation would get more of; none if nothing, or if it has spent nothing yet.

    Rows of the policy end: what counts is every day from now on, not only today.

    Args:
        project: The project, locked by the caller.
        user: Somebody of the organisation.
        seat: The user's place after the change (also if there is none yet); none if it stays.
        policy: The policy after the change; none if it stays.
        caps: Whether more per question counts as well.
    """
    opened = _opened(project, user.hospital.key)
    if opened is None:
        return None
    places = {
        member.user_id: Seat(member.role, tuple(member.groups))
        for member in Member.objects.filter(project=project, user__hospital=user.hospital_id)
    }
    old, new = project.policy, policy or project.policy
    seats = places | ({user.pk: seat} if seat else {})
    for day in _days(old, new):
        before = _allowance(project, old, places.values(), day)
        after = _allowance(project, new, seats.values(), day)
        if after is None:
            continue
        if before is None:  # nobody of it asks then: what it had when it asked counts
            before = Allowance(opened, after.cap)
        if not caps:
            before, after = Allowance(before.budget, 0.0), Allowance(after.budget, 0.0)
        if after.exceeds(before):
            return Raise(user.hospital.name, before, after)
    return None


def _days(*policies: Policy) -> list[dt.date]:
    """Return today, and every day on which a row no longer counts for the first time."""
    today = timezone.localdate()
    ends = {rule.expires for policy in policies for rule in policy.rules if rule.expires is not None}
    return [today, *sorted(end + dt.timedelta(days=1) for end in ends if today <= end < dt.date.max)]


def _allowance(project: Project, policy: Policy, seats: Iterable[Seat], day: dt.date) -> Allowance | None:
    found = []
    for seat in seats:
        if not can_use(seat.role, "ask") or can_use(seat.role, "see_raw"):
            continue
        try:
            terms = terms_of(project, seat.role, seat.groups, policy=policy, on=day)
        except PolicyError:
            continue
        cap = math.inf if terms.epsilon_cap is None else terms.epsilon_cap
        found.append(Allowance(terms.own.epsilon, cap))
    return Allowance(max(one.budget for one in found), max(one.cap for one in found)) if found else None


def _opened(project: Project, organisation: str) -> float | None:
    """Return the largest budget under which the organisation has spent something; none if it spent nothing."""
    entries = DatabaseLedger().entries(lineage=project.key, recipient=organisation)
    used = [limit.nano_epsilon / NANO for limit in limits_paid_under(entries, organisation)]
    return max(used, default=None)

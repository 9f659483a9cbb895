"""Budgets for readers: what was spent and is left, by whom, how long it lasts, and when to worry."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import overload

from django.utils import timezone

from pydplib.budget.chain import Entry
from pydplib.budget.costs import Cost
from pydplib.budget.rules import Limit, State, pay, remaining, spent
from pydplib.budget.store import Account
from pydplib.budget.units import NANO, show_nano, show_short
from pydplib.errors import PolicyError
from pydplib.guarantee import PureDP
from pydplib.policy import ROLES, can_use
from pydplib.release.accounts import find_account
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.sessions import recipient_of
from pydplib.web.analyses.question_form.questions import title_of
from pydplib.web.design.values import epsilon, epsilon_left, points, points_left
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.allowances import limit_of, terms_of
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.words import DASHBOARD

WORRY = 0.8
"""The part of a budget from which on an alert is shown."""
PACE_DAYS = 30
MOST_QUESTIONS = 999
KINDS = {
    "debit": "Paid",
    "share": "Paid",
    "refusal": "Refused",
    "open": "Budget opened",
    "limit": "Budget changed",
    "look": "Looked at the original",
    "no_dp": "Given without a guarantee",
}
"""Entries of the ledger that readers see, in words."""


def recipient_names() -> dict[str, str]:
    """Return recipient -> name for readers: organisations by their key, dashboards by their audience."""
    dashboards = {DASHBOARD + name: f"Dashboards for: {role.title.lower()}" for name, role in ROLES.items()}
    return dashboards | dict(Hospital.objects.values_list("key", "name"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """A budget as it stands.

    Args:
        name: Whose.
        spent: What is used up of it.
        total: All of it, by the policy of today.
        questions: How many questions were paid.
        last: When the last one was.
        account: The sums and the limit behind it; none before the first question.
    """

    name: str
    spent: float
    total: float
    questions: int = 0
    last: dt.datetime | None = None
    account: tuple[State, Limit] | None = None

    @property
    def most(self) -> float:
        """The most expensive single question that it still pays: less than what is left, after many small ones."""
        return self.left if self.account is None else min(self.left, remaining(*self.account).epsilon)

    @property
    def most_words(self) -> str:
        """The most expensive question for readers, in points, rounded down; empty where it is what is left."""
        shown = points_left(self.most, self.total)
        return "" if shown == points_left(self.left, self.total) else f"{shown} points"

    def pays(self, price: float) -> int:
        """Return how many further questions of one price it pays, each as the ledger would; at most 999."""
        state, limit = self.account or (State(), Limit.of(PureDP(max(self.total, 1e-6))))
        cost, count = Cost.pure(price, mechanism="laplace"), 0
        while count < MOST_QUESTIONS and isinstance(after := pay(state, cost, limit), State):
            state, count = after, count + 1
        return count

    @property
    def left(self) -> float:
        """What is left."""
        return max(0.0, self.total - self.spent)

    @property
    def words(self) -> dict[str, str]:
        """The amounts as tables show them."""
        return {"spent": epsilon(self.spent), "left": epsilon_left(self.left), "total": epsilon(self.total)}

    @property
    def percent(self) -> int:
        """How much of it is spent, in percent, rounded down."""
        return math.floor(100 * self.spent / self.total + 1e-9) if self.total else 100

    @property
    def is_low(self) -> bool:
        """Whether it is time to worry."""
        return self.spent >= WORRY * self.total - 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """How long a budget lasts.

    Args:
        until: The day on which it ends at the present pace; none if nothing was asked lately, or it lasts ten years.
        usual: The usual price of a question (the median); none before the first.
        more: How many further questions of that price it pays.
        total: The whole budget.
        left: What is left of it.
    """

    until: dt.date | None = None
    usual: float | None = None
    more: int | None = None
    total: float = 0.0
    left: float = 0.0

    @property
    def small_ones_weigh_less(self) -> bool:
        """Whether it pays more questions than their sum: many small ones together lose less than one by one."""
        return self.usual is not None and self.more is not None and self.more * self.usual > 1.05 * self.left

    @property
    def usual_words(self) -> str:
        """The usual price as a page shows it, in points."""
        return "" if self.usual is None else f"{points(self.usual, self.total)} points"


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """One entry of the ledger for readers."""

    number: int
    time: dt.datetime
    what: str
    who: str
    words: str
    cost: str
    epsilon: float | None
    role: str
    analysis: str
    refused: bool


def own_purse(project: Project, user: User, place: Member) -> BudgetState | None:
    """Return the budget of the user's organisation; none for roles that ask nothing."""
    if not can_use(place.role, "ask"):
        return None
    try:
        own = terms_of(project, place.role, place.groups).own
    except PolicyError:
        return None
    ledger = DatabaseLedger()
    name = recipient_of(user)
    account = find_account(ledger, project.key, name)
    if account is None:
        return BudgetState(name=user.hospital.name, spent=0.0, total=own.epsilon)
    return _purse(user.hospital.name, account, Limit.of(own), ledger.entries(lineage=project.key, recipient=name))


def budget_total(project: Project, place: Member) -> float:
    """Return the whole budget of a member's organisation by the policy of today: what points are parts of."""
    try:
        return terms_of(project, place.role, place.groups).own.epsilon
    except PolicyError:
        return project.data_set_budget


def all_purses(project: Project) -> tuple[list[BudgetState], BudgetState]:
    """Return the budgets of all recipients, and the data set's; for owners and officers alone."""
    ledger = DatabaseLedger()
    entries = ledger.entries(lineage=project.key)
    names = recipient_names()
    whole = BudgetState(name="All recipients together", spent=0.0, total=project.data_set_budget)
    found = []
    for account in ledger.accounts(lineage=project.key):
        if account.relation != "add_remove":
            continue
        limit = limit_for(project, account)
        if account.recipient is None:
            paid = [entry for entry in entries if entry.kind == "debit"]
            whole = _purse(whole.name, account, limit, paid)
        else:
            mine = [entry for entry in entries if entry.recipient == account.recipient]
            found.append(_purse(names.get(account.recipient, account.recipient), account, limit, mine))
    return sorted(found, key=lambda purse: -purse.percent), whole


def limit_for(project: Project, account: Account) -> Limit:
    """Return what an account may spend today; where the policy gives it nothing any more, what it had when it paid."""
    today = limit_of(project, account.recipient) if account.relation == "add_remove" else None
    last = DatabaseLedger().last_limit
    found = today or last(lineage=project.key, recipient=account.recipient, relation=account.relation)
    assert found is not None, "an account is opened with a limit"
    return found


def _purse(name: str, account: Account, limit: Limit, entries: Iterable[Entry]) -> BudgetState:
    paid = [entry for entry in entries if entry.kind in ("debit", "share")]
    last = dt.datetime.fromisoformat(paid[-1].time) if paid else None
    state: State = account.state
    used, total = spent(state, limit) / NANO, limit.nano_epsilon / NANO
    return BudgetState(name=name, spent=used, total=total, questions=len(paid), last=last, account=(state, limit))


def forecast(
    project: Project, purse: BudgetState, *, recipient: str | None = None, now: dt.datetime | None = None
) -> Forecast:
    """Return how long a budget lasts at the pace of the last 30 days, and how many usual questions it pays.

    Args:
        project: The project.
        purse: The budget.
        recipient: Whose questions count; none for everybody's.
        now: The time; now if left out.
    """
    now = now or timezone.now()
    entries = DatabaseLedger().entries(lineage=project.key, recipient=recipient)
    kinds = ("debit",) if recipient is None else ("debit", "share")
    paid = [
        (dt.datetime.fromisoformat(entry.time), entry.cost.nano_epsilon / NANO)
        for entry in entries
        if entry.kind in kinds and entry.cost is not None and entry.cost.nano_epsilon
    ]
    if not paid:
        return Forecast()
    usual = median(cost for _, cost in paid)
    since = max(paid[0][0], now - dt.timedelta(days=PACE_DAYS))
    days = max(7.0, (now - since) / dt.timedelta(days=1))  # one busy first day is no pace
    pace = sum(cost for time, cost in paid if time >= since) / days
    left = purse.left / pace if pace else math.inf
    until = (now + dt.timedelta(days=left)).date() if left < 3652 else None
    return Forecast(until=until, usual=usual, more=purse.pays(usual), total=purse.total, left=purse.left)


class Bookings(Sequence[Booking]):
    """Entries of the ledger for readers, newest first. Questions, answers and names are looked up for a page's alone.

    Args:
        project: The project.
        titles: Field -> how it is called.
        recipient: Whose entries; none for all, for owners and officers.
    """

    def __init__(self, project: Project, *, titles: Mapping[str, str], recipient: str | None = None) -> None:
        found = DatabaseLedger().entries(lineage=project.key, recipient=recipient)
        self._entries = [entry for entry in reversed(found) if entry.kind in KINDS]
        self._project, self._titles, self._recipient = project, titles, recipient

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Booking: ...
    @overload
    def __getitem__(self, index: slice) -> list[Booking]: ...
    def __getitem__(self, index: int | slice) -> Booking | list[Booking]:
        if isinstance(index, int):
            return self._booked([self._entries[index]])[0]
        return self._booked(self._entries[index])

    def _booked(self, entries: list[Entry]) -> list[Booking]:
        digests = {entry.release for entry in entries if entry.release}
        questions = dict(rows.Release.objects.filter(digest__in=digests).values_list("digest", "question"))
        asked = {
            (item.digest, item.recipient): item
            for item in Analysis.objects.filter(project=self._project, digest__in=digests).select_related("asked_by")
        }
        of_boards = {digest for digest, who in asked if who.startswith(DASHBOARD)}
        names = recipient_names() if self._recipient is None else {}
        found = []
        for entry in entries:
            item = asked.get((entry.release or "", entry.recipient or ""))
            words = title_of(json.loads(questions[entry.release]), self._titles) if entry.release in questions else ""
            if self._recipient is None:
                who = names.get(entry.recipient or "", entry.recipient or "All recipients together")
            else:
                who = str(item.asked_by) if item else ""
            found.append(
                Booking(
                    number=entry.number,
                    time=dt.datetime.fromisoformat(entry.time),
                    what=KINDS[entry.kind],
                    who=who,
                    words=words + _along(entry, item, of_boards) if words else _limit_words(entry),
                    cost=""
                    if entry.cost is None or entry.cost.nano_epsilon is None
                    else show_short(entry.cost.nano_epsilon),
                    epsilon=None
                    if entry.cost is None or entry.cost.nano_epsilon is None
                    else entry.cost.nano_epsilon / NANO,
                    role=entry.role or "",
                    analysis=item.key if item else "",
                    refused=entry.kind == "refusal",
                )
            )
        return found


def _along(entry: Entry, item: Analysis | None, of_boards: set[str]) -> str:
    if item is not None or entry.kind not in ("debit", "share"):
        return ""
    return " (on a dashboard)" if entry.release in of_boards else " (included in a price that needs it)"


def _limit_words(entry: Entry) -> str:
    limit = entry.details.get("limit")
    return f"{show_nano(limit['nano_epsilon'])} in total" if isinstance(limit, Mapping) else ""

"""The budgets of audiences' dashboards, for their owner."""

from __future__ import annotations

from dataclasses import dataclass

from pydplib.budget.rules import spent
from pydplib.budget.units import NANO
from pydplib.release.accounts import find_account
from pydplib.web.dashboards.models import AUDIENCES
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.projects.allowances import limit_of
from pydplib.web.projects.models import Project
from pydplib.web.projects.words import DASHBOARD


@dataclass(frozen=True, slots=True)
class DashboardPurse:
    """What the dashboards of an audience may spend together, and what they have spent."""

    audience: str
    title: str
    spent: float
    total: float


def purses(project: Project) -> list[DashboardPurse]:
    """Return the budget of every audience that the policy is about."""
    ledger = DatabaseLedger()
    found = []
    for audience, title in AUDIENCES:
        limit = limit_of(project, f"{DASHBOARD}{audience}")
        if limit is None:
            continue
        account = find_account(ledger, project.key, f"{DASHBOARD}{audience}")
        used = 0 if account is None else spent(account.state, limit)
        found.append(DashboardPurse(audience, title, used / NANO, limit.nano_epsilon / NANO))
    return found

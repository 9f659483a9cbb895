"""From a member of a project to a ``dp.Session``: the published snapshot, the policy of today, the ledger."""

from __future__ import annotations

from typing import Any

from pydplib.budget.store import Account
from pydplib.engine.table import Table
from pydplib.errors import LedgerError, PolicyError, QuestionError
from pydplib.policy import Policy
from pydplib.release import Session
from pydplib.schema import Schema
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.snapshots import load_snapshot, published_snapshot, published_tables
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project


def recipient_of(user: User) -> str:
    """Return whose budget pays: the user's organisation, because colleagues talk to each other."""
    key: str = user.hospital.key
    return key


def asked_snapshot(project: Project, table: str = "") -> Snapshot:
    """Return the snapshot that questions are answered from; raise ``PolicyError`` while nothing is published.

    Args:
        project: The project.
        table: The repeating group whose repetitions are counted; empty for reports.
    """
    snapshot = published_snapshot(project)
    if snapshot is None:
        raise PolicyError("The owner has not published any data of this project yet, so there is nothing to ask.")
    if not table:
        return snapshot
    found = published_snapshot(project, table)
    if found is None:
        known = [each.group for each in published_tables(project) if each.group]
        listed = f" There are: {', '.join(known)}." if known else " It has reports alone."
        raise QuestionError(f"The published data have no table '{table[:80]}'.{listed}")
    return found


def open_session(
    project: Project,
    user: User,
    place: Member,
    *,
    preview: bool = False,
    table: str = "",
    snapshot: Snapshot | None = None,
    policy: Policy | None = None,
    open_late: bool = False,
) -> tuple[Session, Snapshot]:
    """Return a session of the user's organisation on the project's published snapshot.

    Args:
        project: The project.
        user: Who asks.
        place: The user's place in the project: role and groups as they are now.
        preview: Prices only: nothing is opened and nothing is spent.
        table: The repeating group that is asked; empty for reports. All tables have the project's one budget.
        snapshot: The snapshot, where something was agreed on one that is not the published one any more.
        policy: The policy, where this request has read it already.
        open_late: Whether budgets are opened by the first payment.

    Raises:
        PolicyError: If the owner has published nothing yet, or the role may not ask.
        PausedLedgerError: The ledger is not known to be right.
    """
    snapshot = snapshot or asked_snapshot(project, table)
    ledger = PricedLedger() if preview else DatabaseLedger()
    ledger.check_sound()  # a price would be a promise
    schema = snapshot.declared
    if schema.lineage != project.key:
        raise LedgerError("The snapshot does not name its project, so nobody could say whose budget it spends.")
    session = Session(
        Table(schema, NothingToRead(schema) if preview else PinnedRows(snapshot, schema)),
        recipient=recipient_of(user),
        role=place.role,
        ledger=ledger,
        policy=policy or project.policy,
        purpose=project.purpose,
        snapshot=snapshot.key,
        groups=tuple(place.groups),
        size_epsilon=snapshot.size_epsilon,
        limit_epsilon=snapshot.limit_epsilon,
        show_data_set=place.can("read_all_ledgers"),  # it depends on what others asked
        preview=preview,
        open_late=open_late,
    )
    return session, snapshot


class PricedLedger(DatabaseLedger):
    """The ledger for the one price that is made: what was spent is read once."""

    def __init__(self) -> None:
        super().__init__()
        self._read: dict[tuple[str | None, str | None], list[Account]] = {}

    def accounts(self, *, lineage: str | None = None, recipient: str | None = None) -> list[Account]:
        """Return what was spent of the budgets."""
        wanted = (lineage, recipient)
        if wanted not in self._read:
            self._read[wanted] = super().accounts(lineage=lineage, recipient=recipient)
        return self._read[wanted]


class NothingToRead:
    """Stands where a table's engine does when only prices are made: there are no rows behind it."""

    name = "public facts"

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def aggregate(self, plan: Any) -> Any:
        """Refuse: a price touches no data."""
        raise LedgerError("A price is made from public facts: no data are read for it.")

    explain = bounded = tables = aggregate


class PinnedRows(NothingToRead):
    """A snapshot that is opened when a question needs its rows: an answer from the ledger needs none."""

    name = "snapshot"

    def __init__(self, snapshot: Snapshot, schema: Schema) -> None:
        super().__init__(schema)
        self.snapshot = snapshot
        self.table: Table | None = None

    @property
    def engine(self) -> Any:
        """The engine behind it; checks the file the first time."""
        if self.table is None:
            self.table = load_snapshot(self.snapshot)
        return self.table.engine

    def aggregate(self, plan: Any) -> Any:
        """Return the exact integers of a plan."""
        return self.engine.aggregate(plan)

    def tables(self, plans: Any) -> Any:
        """Return the exact integers of several tables of counts, from one scan."""
        return self.engine.tables(plans)

    def explain(self, plan: Any) -> Any:
        """Return how a plan would be answered; a file that is gone or was changed is noticed here, before the debit."""
        return self.engine.explain(plan)

    def bounded(self, *values: object, **options: object) -> Any:
        """Return the rows with bounded persons, as the engine has them."""
        return self.engine.bounded(*values, **options)

    def close(self) -> None:
        """Close what was opened."""
        if self.table is not None:
            self.table.close()


def public_facts(snapshot: Snapshot) -> Table:
    """Return a table that has a snapshot's schema and no rows: its file is not even opened."""
    schema = snapshot.declared
    return Table(schema, NothingToRead(schema))

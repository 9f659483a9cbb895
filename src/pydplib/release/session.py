"""A session: one recipient asks one table, pays before anybody looks, and gets releases."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from pydplib.budget.keys import ReleaseKey, check_name
from pydplib.budget.ledger import Ledger
from pydplib.budget.memory import MemoryLedger
from pydplib.budget.rules import Remaining
from pydplib.budget.today import Today
from pydplib.budget.workflow import Reservation
from pydplib.engine import ExactTable, Table
from pydplib.errors import BudgetError, EngineError, ParameterError, PydplibError
from pydplib.guarantee import ApproxDP, LocalDP, PureDP, Relation
from pydplib.policy import (
    Audience,
    NoiseFactor,
    Output,
    OutputLabel,
    Policy,
    Source,
    Terms,
    check_flow,
    check_use,
    parse_role,
)
from pydplib.release.accounts import Purse, find_account
from pydplib.release.calibration import expect
from pydplib.release.prepare import Prepared, prepare
from pydplib.release.prices import Price
from pydplib.release.public import check_epsilon
from pydplib.release.questions import Count, Question
from pydplib.release.records import RecordRelease
from pydplib.release.release import Release
from pydplib.release.resolved import resolve
from pydplib.release.settled import Asked, Settled, delta_of, settle, telling
from pydplib.release.words import words_of

SIZE_SHARE = Fraction(1, 10)
"""The part of a role's cap per question that the number of rows costs, where it has to be bought for a price."""

Conflict = Literal["privacy", "refuse"]


class Session:
    """One recipient's questions to one table.

    Questions are priced from public facts, debited before a row is read, answered with noise and remembered:
    the same question again costs nothing and gives the same bytes.

    Args:
        table: What ``dp.load`` returned.
        recipient: Who gets the answers.
        role: ``"owner"``, ``"collaborator"`` or ``"third_party"``: noise factor and caps come from the policy.
        budget: What the recipient may spend in all; by default what the policy gives the role.
        ledger: Where it is written down; by default in memory, for this session only: a second session without a
            ledger starts anew. Whoever is asked more than once needs one ledger, e.g. ``dp.SqliteLedger(path)``.
        policy: Who may get what; by default ``dp.Policy()``.
        purpose: What the answers are for, where the policy asks.
        snapshot: The published state of the table. It changes by the owner's act, never by content: answers to
            the same question stay the same until then.
        groups: The recipient's groups, where the policy speaks of them.
        on_conflict: What happens if a noise factor needs more epsilon than the role's cap: ``"privacy"`` (more
            noise, and said so) or ``"refuse"``.
        size_epsilon: What the noisy number of rows costs, where a price needs it and the schema declares none; by
            default, and where the role's cap is smaller, a tenth of that cap. Recipients who pay the same get the
            same number, and the data set pays for it once.
        preview: Prices only: no account is opened, nothing is written, and nothing is released.

    A budget that is open already is kept to the smaller of what was opened and what the policy gives the role today.

    Examples:
        >>> import pandas as pd, pydplib as dp
        >>> schema = dp.Schema({"age": dp.Number(18, 100, unit="years", step=1)}, name="reports")
        >>> table = dp.load(pd.DataFrame({"age": [61, 67, 70] * 300}), schema)
        >>> session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0))
        >>> first = session.release(dp.Mean("age"), epsilon=0.2)
        >>> session.release(dp.Mean("age"), epsilon=0.2) == first, session.remaining.epsilon
        (True, 0.8)
    """

    def __init__(
        self,
        table: Table,
        *,
        recipient: str,
        role: str | None = None,
        budget: PureDP | ApproxDP | None = None,
        ledger: Ledger | None = None,
        policy: Policy | None = None,
        purpose: str = "research",
        snapshot: str = "current",
        groups: tuple[str, ...] = (),
        on_conflict: Conflict = "privacy",
        size_epsilon: float | None = None,
        preview: bool = False,
    ) -> None:
        if not isinstance(table, Table):
            raise ParameterError("Session(table, ...) takes what dp.load returned: a table with its schema.")
        self.table = table
        self.recipient = check_name("recipient", recipient)
        self.role = None if role is None else parse_role(role).name
        self.snapshot = check_name("snapshot", snapshot)
        self.purpose = purpose
        self.groups = tuple(groups)
        self.ledger: Ledger = MemoryLedger() if ledger is None else ledger
        self.policy = Policy() if policy is None else policy
        self.on_conflict: Conflict = on_conflict
        self.preview = preview
        self._size_epsilon = None if size_epsilon is None else check_epsilon(size_epsilon)
        self._terms: Terms | None = None
        if self.role is not None:
            check_use(self.role, "ask")
            self._terms = self.policy.terms(
                self.role, groups=self.groups, project=self.lineage, n=table.schema.size, on=_today()
            )
        self._open(budget)

    @property
    def lineage(self) -> str:
        """The family of tables whose budget is spent."""
        return self.table.schema.lineage

    @property
    def remaining(self) -> Remaining:
        """What is left of the recipient's budget, by what was opened and by the terms of today."""
        return self._purse.left

    @property
    def terms_today(self) -> Today:
        """What the policy gives this recipient and all recipients together today; none where it gives no number."""
        return self._purse.today

    @property
    def size(self) -> float | None:
        """The number of rows as far as it is known: declared, or bought by this recipient. Never the exact one."""
        if self.table.schema.size is not None:
            return float(self.table.schema.size)
        prepared = self._size_question()
        if prepared is None:
            return None
        key = self._key(prepared)
        if not self._is_paid(key):
            return None
        # Paid for; if it was never answered (a crash), nobody looks now: a price touches no data.
        stored = self.ledger.reserve(key, recipient=self.recipient, role=self.role or "unspecified").payload
        return None if stored is None else float(Release.from_json(stored).values[0])

    def buy_size(self, *, epsilon: float | None = None) -> Release:
        """Buy the noisy number of rows, from which prices by noise factor and margin are made.

        Args:
            epsilon: The privacy loss; by default ``size_epsilon``.
        """
        prepared = self._size_question(epsilon)
        if prepared is None:
            raise ParameterError("buy_size needs epsilon=: without a role there is no cap to take a tenth of.")
        if not self.preview:
            self._size_epsilon = prepared.epsilon
        self._check(prepared, self.policy.label_of_epsilon(float(prepared.epsilon)))
        return self._answer(prepared)

    def price(
        self,
        question: Question,
        *,
        epsilon: float | None = None,
        margin: float | None = None,
        noise_factor: str | int | None = None,
        delta: float | None = None,
    ) -> Price:
        """Return what a question would cost and which margin to expect. Touches no data and spends nothing.

        Give one of ``epsilon``, ``margin`` (the accuracy wanted) and ``noise_factor``; with none of them the
        noise factor is the role's.

        Examples:
            >>> import pandas as pd, pydplib as dp
            >>> schema = dp.Schema({"age": dp.Number(18, 100, step=1)}, size=900, name="reports")
            >>> table = dp.load(pd.DataFrame({"age": [61, 67, 70] * 300}), schema)
            >>> session = dp.Session(table, recipient="acme", role="third_party")
            >>> session.price(dp.Count(), noise_factor="high").epsilon
            0.00740733
        """
        settled, prepared = self._agree(question, Asked(epsilon, margin, noise_factor, delta), buy=False)
        quote = self._purse.quote(prepared.cost, free=self._is_paid(self._key(prepared)))
        expected = expect(prepared, settled.size)
        return Price(
            question=words_of(prepared.resolved.canonical),
            cost=prepared.cost,
            guarantee=prepared.guarantee,
            free=quote.free,
            margin95=expected.margin95,
            margin_unit=expected.margin_unit,
            unit=prepared.resolved.unit,
            noise_percent=expected.noise_percent,
            left=quote.left,
            after=quote.after,
            at_most=settled.at_most,
            notes=settled.notes,
        )

    def release(
        self,
        question: Question,
        *,
        epsilon: float | None = None,
        margin: float | None = None,
        noise_factor: str | int | None = None,
        delta: float | None = None,
    ) -> Release:
        """Return the noisy answer: paid first, looked up second; free and identical if asked before.

        Give one of ``epsilon``, ``margin`` (the accuracy wanted) and ``noise_factor``; with none of them the
        noise factor is the role's.

        Proof: ``Prepared.answer`` is (epsilon, delta)-DP under one person added or removed; the ledger debits
        exactly that before the engine runs, and hands out a stored answer otherwise, which is post-processing. Price,
        refusal and control flow depend on public facts and earlier releases alone.

        Raises:
            BudgetError: The budget cannot pay; shows asked and left. Nothing was spent.
            PolicyError: The role may not get this.
        """
        settled, prepared = self._agree(question, Asked(epsilon, margin, noise_factor, delta), buy=True)
        with telling(settled.remarks):
            return self._answer(prepared, settled)

    def release_records(
        self, values: Any, *, column: str, epsilon: float, persons: Any = None, budget: LocalDP | None = None
    ) -> RecordRelease:
        """Return one column record by record, each with noise of its own (the local model); stored and given again.

        The rows of a table never leave it, so the owner hands the column in. A person's privacy loss is the most rows
        per person times ``epsilon``; it is accounted apart from statistics (local relation), and capped by the role.
        The number and the order of the records are public in this model.

        Proof: ``records.release_records``; rows of a person beyond the schema's most are replaced by "missing"
        before the noise, so no person is in more than that many records.

        Args:
            values: The column, in the table's order.
            column: Its name in the schema.
            epsilon: The privacy loss of one record.
            persons: Whose record each one is; needed where the schema has a person column.
            budget: The recipient's budget of local releases, on first use.

        Raises:
            PolicyError: Above the role's cap: a table release is offered instead.
        """
        from pydplib.release.handing import hand_over_records

        return hand_over_records(self, values, column=column, epsilon=epsilon, persons=persons, budget=budget)

    def __repr__(self) -> str:
        who = f"'{self.recipient}'" + (f" ({self.role})" if self.role else "")
        return f"Session of {who} on '{self.table.name}': {self.remaining} left"

    # -- agreeing on a price ---------------------------------------------------------------------

    @property
    def size_epsilon(self) -> Fraction | None:
        """What the noisy number of rows costs this recipient; None where nobody has said so."""
        cap = None if self.cap is None else Fraction(str(self.cap))
        if self._size_epsilon is not None and (cap is None or self._size_epsilon <= cap):
            return self._size_epsilon
        return None if cap is None else cap * SIZE_SHARE

    def _size_question(self, epsilon: float | None = None) -> Prepared | None:
        loss = self.size_epsilon if epsilon is None else check_epsilon(epsilon)
        return None if loss is None else prepare(resolve(Count(), self.table.schema), loss)

    @property
    def cap(self) -> float | None:
        """The most epsilon of one question in this role; None for no cap."""
        return None if self._terms is None else self._terms.epsilon_cap

    @property
    def noise_factor(self) -> NoiseFactor | None:
        """The noise factor of this role; None without a role."""
        return None if self._terms is None else self._terms.noise_factor

    def _agree(self, question: Question, asked: Asked, *, buy: bool) -> tuple[Settled, Prepared]:
        """Return a question's epsilon and all that follows from it, if the policy lets such an answer out."""
        resolved = resolve(question, self.table.schema)
        settled = settle(self, resolved, asked, buy=buy)
        prepared = prepare(resolved, settled.epsilon, delta_of(self, resolved, asked.delta))
        self._check(prepared, settled.label)
        return settled, prepared

    def _check(self, prepared: Prepared, label: OutputLabel) -> None:
        question = prepared.resolved.question
        self.check_fields(question.fields, label, float(prepared.epsilon), question.filters)

    def check_fields(
        self, fields: Iterable[str], label: OutputLabel, epsilon: float, filters: Iterable[str] = ()
    ) -> None:
        """Raise ``PolicyError`` unless the policy lets such an output of these fields go to this recipient."""
        if self.role is None:
            return
        source = Source.of(self.table.schema, project=self.lineage, fields=fields, filters=filters)
        audience, output = Audience(self.role, self.groups), Output(label, epsilon=epsilon)
        check_flow(source, audience, output, self.purpose, policy=self.policy, on=_today())

    def check_may_release(self) -> None:
        """Raise ``ParameterError`` where this session shows prices only."""
        if self.preview:
            raise ParameterError("This session shows prices only (preview=True). Open another one to release.")

    # -- paying and answering --------------------------------------------------------------------

    def _key(self, prepared: Prepared) -> ReleaseKey:
        return ReleaseKey(
            lineage=self.lineage,
            snapshot=self.snapshot,
            question=prepared.resolved.canonical,
            cost=prepared.cost,
            parameters=prepared.parameters,
        )

    def _is_paid(self, key: ReleaseKey) -> bool:
        return self.has_account(self.recipient) and self.ledger.quote(key, recipient=self.recipient).free

    def _answer(self, prepared: Prepared, settled: Settled | None = None) -> Release:
        key = self._key(prepared)
        if not self._is_paid(key):
            self.check_may_release()
            self._check_types(prepared)
        reservation = self.ledger.reserve(
            key, recipient=self.recipient, role=self.role or "unspecified", today=self._purse.today
        )
        payload = reservation.payload
        if payload is None:
            payload = self._look(prepared, key, reservation)
        return self._handed(Release.from_json(payload), prepared, settled, reservation)

    def _check_types(self, prepared: Prepared) -> None:
        """Raise before anything is paid if the stored types, which are public, cannot answer. No row is read."""
        try:
            self.table.engine.explain(prepared.plan)
        except PydplibError:
            raise
        except Exception:  # noqa: S110 - an engine that explains nothing may still answer
            pass

    def _handed(
        self, release: Release, prepared: Prepared, settled: Settled | None, reservation: Reservation
    ) -> Release:
        """Return a stored answer as this recipient gets it.

        What follows from the number of rows that a recipient knows is worked out for that recipient alone and never
        stored: another recipient has not paid for that number.
        """
        size = None if settled is None else settled.size
        remarks = [] if settled is None else list(settled.remarks)
        if not reservation.charged:
            remarks.append("Paid before: nothing was charged.")
        if reservation.payload is not None:
            remarks.append(
                f"Answered from the ledger (snapshot '{self.snapshot}'): the table was not looked at. A new state of "
                "the table needs a new snapshot (--snapshot NAME, snapshot=)."
            )
        return replace(
            release,
            expected_noise=expect(prepared, size).noise_percent,
            notes=(*release.notes, *(() if settled is None else settled.notes)),
            remarks=tuple(remarks),
            entry=reservation.entry,
            backend=self.table.backend,
        )

    def _look(self, prepared: Prepared, key: ReleaseKey, reservation: Reservation) -> bytes:
        """Read the data: the debit is stored. Whatever goes wrong from here on is said without a word of why."""
        found: Release | None = None
        try:
            exact: ExactTable = self.table.aggregate(prepared.plan)
            found = replace(prepared.answer(exact), key=key.digest)
        except Exception:  # noqa: S110 - an error's text or kind could tell of the data
            pass
        if found is None:
            raise EngineError(
                "The question was paid for, but the table could not answer it. The reason is withheld, because it may "
                "quote data. Nothing was shown; ask again when the table is reachable: the same question is free."
            )
        return self.ledger.finish(reservation, found.to_json().encode())

    # -- budgets ---------------------------------------------------------------------------------

    def _open(self, budget: PureDP | ApproxDP | None) -> None:
        if isinstance(budget, LocalDP) or (budget is not None and budget.relation != "add_remove"):
            raise ParameterError("A session's budget is PureDP(epsilon) or ApproxDP(epsilon, delta), add_remove.")
        terms = self._terms
        whole = ApproxDP(self.policy.data_set_budget, self.policy.delta_for(self.table.schema.size))
        known = self.has_account(self.recipient)
        if budget is None and terms is None and not known:
            raise BudgetError(
                f"No budget is open for '{self.recipient}', and none was given: Session(..., "
                "budget=dp.PureDP(1.0)), or a role whose budget the policy knows.",
                left="no budget",
            )
        own = budget if budget is not None or terms is None else terms.budget or terms.data_set_budget
        self._purse = Purse(self.ledger, self.lineage, self.recipient, own, whole)
        if self.preview:
            return
        if not self.has_account(None):
            self.ledger.open_account(lineage=self.lineage, limit=whole)
        if own is not None and (budget is not None or not known):
            self.ledger.open_account(lineage=self.lineage, recipient=self.recipient, limit=own)

    def has_account(self, recipient: str | None, relation: Relation = "add_remove") -> bool:
        """Tell whether a budget is open; without a recipient, the data set's own."""
        wanted = (recipient, relation)
        if wanted not in self._opened and find_account(self.ledger, self.lineage, recipient, relation) is not None:
            self._opened = self._opened | {wanted}  # a budget that was opened is never closed: no need to look again
        return wanted in self._opened

    _opened: frozenset[tuple[str | None, Relation]] = frozenset()


def _today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()

"""A session: one recipient asks one table, pays before anybody looks, and gets releases."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

from pydplib._shown import Shown
from pydplib.budget.costs import Cost
from pydplib.budget.keys import ReleaseKey, check_name
from pydplib.budget.ledger import Ledger, Quote
from pydplib.budget.limits import Limits
from pydplib.budget.memory import MemoryLedger
from pydplib.budget.rules import Limit, Remaining
from pydplib.budget.sqlite import SqliteLedger
from pydplib.budget.store_ledger import UNSPECIFIED
from pydplib.budget.units import NANO
from pydplib.budget.workflow import Reservation
from pydplib.engine import Plan, Table
from pydplib.errors import BudgetError, EngineError, ParameterError, PydplibError, did_you_mean, shown
from pydplib.guarantee import ApproxDP, LocalDP, PureDP, Relation
from pydplib.policy import (
    ROLES,
    FlowAudience,
    FlowSource,
    NoiseFactor,
    Output,
    OutputLabel,
    Policy,
    Terms,
    check_flow,
    check_spend,
    check_use,
    parse_role,
)
from pydplib.release.accounts import SessionAccount, binding, find_account
from pydplib.release.facts import Facts, Purchase
from pydplib.release.joint.measured import GAUSSIAN_WORD, LEDGER_WORD
from pydplib.release.joint.purchases import Together, answer_from_tables, buy_tables, price_tables
from pydplib.release.joint.stored_tables import MeasuredTables
from pydplib.release.prices import LEAST, WEIGHS, Accuracy, Agreement, Price, agree, delta_of, telling
from pydplib.release.public import check_epsilon
from pydplib.release.records import RecordRelease, hand_over_records
from pydplib.release.results.release import Release
from pydplib.release.results.words import words_of
from pydplib.release.statistics.count import Count, Counting
from pydplib.release.statistics.noise import COVERAGE
from pydplib.release.statistics.question import Question
from pydplib.release.statistics.rows_per_person import RowsPerPerson, beyond_words

if TYPE_CHECKING:
    from pydplib.capture import Template
    from pydplib.release.joint.stored_tables import MeasuredTables
    from pydplib.synthesis.rules import Impossible
    from pydplib.synthesis.table import SyntheticTable

SIZE_SHARE = Fraction(1, 10)
"""The part of a role's cap per question that the number of rows costs, where it has to be bought for a price."""

Conflict = Literal["privacy", "refuse"]


class _Written(Protocol):
    def to_json(self) -> str: ...


class Session(Shown):
    """One recipient's questions to one table.

    Questions are priced from public facts, debited before a row is read, answered with noise and remembered:
    the same question again costs nothing and gives the same bytes.

    Args:
        table: What ``dp.load`` returned.
        recipient: Who gets the answers.
        role: ``"owner"``, ``"collaborator"`` or ``"third_party"``: noise factor and caps come from the policy. By
            default the role in which the ledger has entered the recipient before, if any: leaving it out lifts no cap.
        budget: What the recipient may spend in total, ``dp.PureDP(1.0)`` or just ``1.0``: the policy of this session.
            By default what the policy gives the role; without a role, what the ledger was told last.
        ledger: Where it is written down: a ledger, or the path of one, e.g. ``"ledger.db"``. By default in memory, for
            this session only: a second session without a ledger starts with a fresh budget.
        policy: Who may get what, and what all recipients together may spend (``dp.Policy(data_set_budget=20)``); by
            default ``dp.Policy()``.
        purpose: What the answers are for, where the policy asks.
        snapshot: The published state of the table. It changes by the owner's act, never by content: answers to
            the same question stay the same until then.
        groups: The recipient's groups, where the policy names them.
        on_conflict: What happens if a noise factor needs more epsilon than the role's cap: ``"privacy"`` (more
            noise, and said so) or ``"refuse"``.
        size_epsilon: What the noisy number of rows costs, where a price needs it and the schema declares none; by
            default, and where the role's cap is smaller, a tenth of that cap. Recipients who pay the same get the
            same number, and the data set pays for it once.
        limit_epsilon: What the noisy histogram of rows per person cost this recipient (``buy_limit``), in a later
            session: releases then say how many rows are beyond the limit.
        show_data_set: Whether prices and ``remaining`` include what is left of the data set's own budget. It depends on
            what other recipients asked: a platform passes False for everybody but owners.
        preview: Prices only: no account is opened, nothing is written, and nothing is released.
        open_late: Whether budgets are opened by the first payment, in its transaction, and not now: for platforms,
            where every request is a session of its own.

    The ledger knows what was spent; what may be spent is the policy's, at every question: a lower budget binds at once.
    Without a role, more than the ledger was told last takes an act of the owner, ``ledger.change_limit(...)``.

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
        budget: PureDP | ApproxDP | float | None = None,
        ledger: Ledger | str | Path | None = None,
        policy: Policy | None = None,
        purpose: str = "research",
        snapshot: str = "current",
        groups: tuple[str, ...] = (),
        on_conflict: Conflict = "privacy",
        size_epsilon: float | None = None,
        limit_epsilon: float | None = None,
        show_data_set: bool = True,
        preview: bool = False,
        open_late: bool = False,
    ) -> None:
        if not isinstance(table, Table):
            raise ParameterError("Session(table, ...) takes what dp.load returned: a table with its schema.")
        self.table = table
        self.recipient = check_name("recipient", recipient)
        self.snapshot = check_name("snapshot", snapshot)
        given = _budget(budget)
        self.ledger = _ledger(ledger)
        about, today = self.lineage, _today()
        self.purpose = purpose
        self.groups = tuple(groups)
        self.role = self._known_role() if role is None else parse_role(role).name
        self.policy = Policy() if policy is None else policy
        if not isinstance(self.policy, Policy):
            raise ParameterError(f"policy= is a Policy, e.g. dp.Policy(data_set_budget=20). Got {shown(policy)}.")
        if on_conflict not in get_args(Conflict):
            raise ParameterError(f"Unknown on_conflict.{did_you_mean(on_conflict, get_args(Conflict))}")
        self.on_conflict: Conflict = on_conflict
        self.preview = preview
        self._limit_epsilon = None if limit_epsilon is None else check_epsilon(limit_epsilon)
        self._size_epsilon = None if size_epsilon is None else check_epsilon(size_epsilon)
        self._terms: Terms | None = None
        self._is_settled = False
        if self.role is not None:
            check_use(self.role, "ask")
            self._terms = self.policy.terms(self.role, groups=self.groups, project=about, n=table.schema.size, on=today)
        self._bought: list[MeasuredTables] | None = None
        self.payloads: dict[str, bytes] = {}  # the answers that this session has handed out, as the ledger keeps them
        self._asked: Facts | None = None
        self._priced: tuple[object, ...] = ()
        self._unpaid: str | None = None
        self._keyed: tuple[Purchase, ReleaseKey] | None = None
        self._received: dict[str, Release] = {}
        self._unopened: dict[str | None, PureDP | ApproxDP] = {}
        self._open(given, show_data_set, from_policy=role is not None, late=open_late)

    @property
    def lineage(self) -> str:
        """The family of tables whose budget is spent."""
        return self.table.schema.lineage

    @property
    def remaining(self) -> Remaining:
        """What the recipient can still spend: by their own budget and, where it is shown, the data set's."""
        return self._purse.left

    def quote(self, *costs: Cost) -> Quote:
        """Return what paying these costs would mean for the recipient's own budget; nothing is spent."""
        return self._purse.quote(*costs)

    def quote_data_set(self, *costs: Cost) -> Quote:
        """Return what paying these costs would mean for the budget that all recipients share; for the owner's eyes."""
        return self._purse.quote_whole(*costs)

    @property
    def limits_today(self) -> Limits:
        """What the policy lets this recipient, and all recipients together, spend; none where it gives no number."""
        return self._purse.limits

    @property
    def size(self) -> float | None:
        """The number of rows as far as it is known: declared, or bought by this recipient. Never the exact one."""
        if self.table.schema.size is not None:
            return float(self.table.schema.size)
        spent = self.recipient not in self._unopened and self._purse.has_spent
        purchase = self._size_question() if spent else None
        if purchase is None:
            return None
        stored = self._stored(purchase)
        return None if stored is None else float(stored.values[0])

    def buy_size(self, *, epsilon: float | None = None) -> Release:
        """Buy the noisy number of rows, from which prices by noise factor and margin are made.

        Args:
            epsilon: The privacy loss; by default ``size_epsilon``.
        """
        purchase = self._size_question(epsilon)
        if purchase is None:
            raise ParameterError("buy_size needs epsilon=: without a role there is no cap to take a tenth of.")
        if not self.preview:
            self._size_epsilon = purchase.epsilon
        self._check(purchase, self.policy.label_of_epsilon(float(purchase.epsilon)))
        return self._answer(purchase)

    def buy_limit(self, *, epsilon: float | None = None) -> Release:
        """Buy the noisy histogram of persons by number of rows: who has 1, 2, ... rows, up to more than five limits.

        Releases of this session then say which share of rows is, at least, beyond ``max_rows_per_person``. Like any
        other release it is paid once; a later session learns it by ``limit_epsilon=``.

        Proof: ``RowsPerPerson``: one person is in one class, so the sensitivity is 1.

        Args:
            epsilon: The privacy loss; by default ``limit_epsilon``.

        Examples:
            >>> import pandas as pd, pydplib as dp
            >>> schema = dp.Schema({"age": dp.Number(18, 100)}, person="id", max_rows_per_person=2, name="reports")
            >>> rows = pd.DataFrame({"id": [i // 4 for i in range(4000)], "age": 61})
            >>> session = dp.Session(dp.load(rows, schema), recipient="acme", budget=2.0)
            >>> session.buy_limit(epsilon=0.5).axes[0].labels
            ('1', '2', '3 to 4', '5 to 10', 'more than 10')
            >>> "of rows are beyond the limit" in str(session.release(dp.Mean("age"), epsilon=0.5))
            True
        """
        loss = self._limit_epsilon if epsilon is None else check_epsilon(epsilon)
        if loss is None:
            raise ParameterError("buy_limit needs epsilon=: what the histogram of rows per person may cost.")
        purchase = self._limit_question(loss)
        check_spend(float(loss), self.cap)
        self._check(purchase, self.policy.label_of_epsilon(float(loss)))
        bought = self._answer(purchase)
        self._limit_epsilon = loss
        return replace(bought, notes=(*bought.notes, beyond_words(bought)))

    @property
    def limit(self) -> Release | None:
        """The noisy histogram of rows per person, where this recipient has bought it; None otherwise."""
        if self._limit_epsilon is None or self.table.schema.person is None:
            return None
        return self._stored(self._limit_question(self._limit_epsilon))

    def _limit_question(self, epsilon: Fraction) -> Purchase:
        return Facts.of(RowsPerPerson(), self.table.schema).at(epsilon)

    def facts_of(self, question: Question) -> Facts:
        """Return a question against this table's schema; it is checked once while it is priced, paid and answered."""
        if self._asked is None or self._asked.question is not question:
            self._asked = Facts.of(question, self.table.schema)
        return self._asked

    def _stored(self, purchase: Purchase) -> Release | None:
        """Return an answer that this recipient has paid for. If it never came (a crash), nobody looks now."""
        key = self._key(purchase)
        if key.digest not in self._received:
            stored = self.ledger.stored(key, recipient=self.recipient)
            if stored is not None:
                self._received[key.digest] = Release.from_json(stored)
        return self._received.get(key.digest)

    def price(
        self,
        question: Question,
        *,
        epsilon: float | None = None,
        margin: float | None = None,
        noise_factor: str | int | None = None,
        delta: float | None = None,
        confidence: float = COVERAGE,
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
        with self.ledger.reading():
            return self._price(
                question,
                Accuracy(epsilon=epsilon, margin=margin, noise_factor=noise_factor, delta=delta, confidence=confidence),
            )

    def _price(self, question: Question, asked: Accuracy) -> Price:
        known = self._known(question, asked)
        if known is not None:
            return Price.of_known(known, self.remaining, self.quote().bar)
        agreed, purchase = self._agree(question, asked, buy=False)
        size = self._size_question() if agreed.at_most else None
        # At most: the answer that will be paid for has a price, and so a key, that nobody knows yet.
        free, quote, notes = self.quote_release(self._key(purchase), size=size, at_most=agreed.at_most)
        expected = purchase.expect(agreed.size)
        return Price(
            question=words_of(purchase.facts.canonical),
            cost=purchase.cost,
            guarantee=purchase.guarantee,
            free=free,
            margin=expected.margin,
            margin_unit=expected.margin_unit,
            unit=purchase.facts.unit,
            noise_percent=expected.noise_percent,
            left=quote.left,
            after=quote.after,
            bar=quote.bar,
            size_cost=0 if size is None else size.cost.nano_epsilon or 0,
            at_most=agreed.at_most,
            confidence=purchase.confidence,
            notes=(*purchase.question.warnings(purchase.facts, purchase.noise, agreed.size), *agreed.notes, *notes),
        )

    def quote_release(
        self, key: ReleaseKey, *, size: Purchase | None = None, at_most: bool = False
    ) -> tuple[bool, Quote, tuple[str, ...]]:
        """Return whether a release was paid before, what it would leave of the budget, and what else to know.

        Args:
            key: The release.
            size: The number of rows, where it has to be bought first.
            at_most: Whether the cost is only an upper bound: then nobody knows which release it will be.
        """
        free = not at_most and self._is_paid(key)
        self._unpaid = None if free else key.digest
        costs = () if free else (*(() if size is None else (size.cost,)), key.cost)
        quote, notes = self._purse.quote(*costs), list[str]()
        if self._purse.shows_whole:
            shared = self.ledger.is_paid_by_data_set(key if size is None else self._key(size))  # paid once, not twice
            whole = self._purse.quote_whole(*(costs[1:] if shared else costs))
            quote = binding(quote, whole)
            if not whole.affordable:
                notes = [f"The data set's own budget, shared by all recipients, cannot pay. {self._whole_words()}"]
        if round(quote.bar.asked * NANO) > sum(cost.nano_epsilon or 0 for cost in costs):
            notes = [WEIGHS, *notes]
        return free, quote, tuple(notes)

    def _whole_words(self) -> str:
        return "The owner gives the data set more in the policy: Session(..., policy=dp.Policy(data_set_budget=50))."

    def release(
        self,
        question: Question,
        *,
        epsilon: float | None = None,
        margin: float | None = None,
        noise_factor: str | int | None = None,
        delta: float | None = None,
        confidence: float = COVERAGE,
    ) -> Release:
        """Return the noisy answer: paid first, looked up second; free and identical if asked before.

        Give one of ``epsilon``, ``margin`` (the accuracy wanted) and ``noise_factor``; with none of them the
        noise factor is the role's. A count that tables of ``release_all`` tell at least as accurately costs nothing;
        with none of the three, whatever they tell.

        Proof: ``Purchase.answer`` is (epsilon, delta)-DP under one person added or removed; the ledger debits
        exactly that before the engine runs, and hands out a stored answer otherwise, which is post-processing. Price,
        refusal and control flow depend on public facts and earlier releases alone.

        Raises:
            BudgetError: The budget cannot pay; shows asked and left. Nothing was spent.
            PolicyError: The role may not get this.
        """
        asked = Accuracy(epsilon=epsilon, margin=margin, noise_factor=noise_factor, delta=delta, confidence=confidence)
        known = self._known(question, asked)
        if known is not None:
            return known
        agreed, purchase = self._taken_price(question, asked) or self._agree(question, asked, buy=True)
        with telling(agreed.remarks):
            return self._answer(purchase, agreed)

    def loss_of(self, question: Question, asked: Accuracy) -> Fraction:
        """Return the epsilon that a question costs by itself at an accuracy, whatever was bought before.

        Raises:
            PolicyError: The role may not get this.
        """
        return self._agree(question, asked, buy=False)[1].epsilon

    def is_released(self, question: Question, asked: Accuracy) -> bool:
        """Tell whether the data set has paid for this very answer, for whomever; for the owner's eyes."""
        return self.ledger.is_paid_by_data_set(self._key(self._agree(question, asked, buy=False)[1]))

    def release_all(
        self,
        questions: Iterable[Question],
        *,
        epsilon: float | None = None,
        each: float | Sequence[float] | None = None,
        delta: float | None = None,
        confidence: float = COVERAGE,
    ) -> MeasuredTables:
        """Return the tables of several questions as one release: one price, one ledger entry, numbers that agree.

        ``Count``, ``Histogram`` and ``Crosstab`` over public keys. Epsilon is split over the tables so that the largest
        error is smallest; sums that two tables share are made to agree, which makes both more accurate. The same
        questions again, in any order, cost nothing; a question that the tables tell costs nothing in this session.

        Proof: ``measured.Measurement.scales``; with a delta, ``measured.Measurement.squares``.

        Args:
            questions: The questions.
            epsilon: The privacy loss of all of them together.
            each: Instead of epsilon: what each would cost alone, one number or one for each question. All together
                then cost the least at which no margin is larger than alone, and the policy judges each by its own.
            delta: The chance that epsilon may fail, where the budget has one (``ApproxDP``): then the noise is
                discrete Gaussian if that has the smaller margins, which many tables need. None: pure.
            confidence: How often margins and intervals cover.

        Raises:
            BudgetError: The budget cannot pay; shows asked and left. Nothing was spent.
            PolicyError: The role may not get this.
            QuestionError: A question is no table of counts over public keys.
        """
        return buy_tables(self, questions, Together(epsilon, each, delta, confidence))

    def price_all(
        self,
        questions: Iterable[Question],
        *,
        epsilon: float | None = None,
        each: float | Sequence[float] | None = None,
        delta: float | None = None,
        confidence: float = COVERAGE,
    ) -> Price:
        """Return what ``release_all`` would cost, with the margin of every question. Touches no data, spends nothing.

        Args:
            questions: The questions.
            epsilon: The privacy loss of all of them together.
            each: Instead of epsilon: what each would cost alone, as for ``release_all``.
            delta: As for ``release_all``; the margins without it are shown next to the others.
            confidence: How often margins cover.
        """
        return price_tables(self, questions, Together(epsilon, each, delta, confidence))

    def synthesize(
        self,
        columns: Iterable[str] | Mapping[str, Any] | None = None,
        relations: Iterable[Iterable[str]] = (),
        of: Any = "persons",
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        noise_factor: str | int | None = None,
        find: bool = True,
        impossible: Template | Iterable[Impossible] = (),
        progress: Callable[[str, int, int], None] | None = None,
    ) -> SyntheticTable:
        """Return a synthetic table: rows of nobody that show what was measured with noise; one price, one ledger entry.

        Declared ``relations`` are always measured; the rest of the budget searches for further ones. The same purchase
        again costs nothing and gives the same rows.

        Proof: ``synthesis.purchase.buy_synthetic``.

        Args:
            columns: The columns; by default all that can be counted and identify nobody. As a mapping, with the edges
                or the number of bins of numbers and dates.
            relations: Pairs or triples of columns, named before the purchase: tests and intervals hold for them.
            of: ``"persons"`` (one row of each), ``"rows"`` (all rows, with weights), or a rule such as
                ``dp.Person("patient_id").last_row(order="day")``.
            epsilon: The privacy loss; or give ``noise_factor``, by default the role's.
            delta: Of the guarantee; by default that of the budget, and 0 for a pure table (Laplace noise). A pure
                budget refuses one: everything is pure then.
            noise_factor: The noise wanted in the columns.
            find: Whether relations are searched for beyond the declared ones.
            impossible: Rules that rows never break, ``[dp.synthesis.Impossible("gleason", when={"tumour": False})]``,
                or the report template as it was published. People who break one are counted with "missing or other".
            progress: Called with what is being done, the step and the number of steps.

        Raises:
            BudgetError: The budget cannot pay; shows asked and left. Nothing was spent.
            PolicyError: The role may not get this.
            ParameterError: Public facts say that noise would leave nothing to see; the message says what would help.

        Examples:
            >>> import pydplib as dp
            >>> table = dp.load(dp.datasets.pirads(), dp.datasets.pirads_schema())
            >>> session = dp.Session(table, recipient="acme", budget=dp.ApproxDP(2.0, 1e-6))
            >>> asked = dict(columns=["age", "pirads", "bph"], relations=[("age", "pirads")], epsilon=1.0)
            >>> made = session.synthesize(**asked)
            >>> made.measured[0].columns, session.synthesize(**asked) == made
            (('age', 'pirads'), True)
        """
        from pydplib.synthesis.purchase import buy_synthetic

        return buy_synthetic(
            self, columns=columns, relations=relations, of=of, find=find, epsilon=epsilon, delta=delta,
            noise_factor=noise_factor, impossible=impossible, progress=progress,
        )  # fmt: skip

    def price_synthesis(
        self,
        columns: Iterable[str] | Mapping[str, Any] | None = None,
        relations: Iterable[Iterable[str]] = (),
        of: Any = "persons",
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        noise_factor: str | int | None = None,
        find: bool = True,
        impossible: Template | Iterable[Impossible] = (),
    ) -> Price:
        """Return what ``synthesize`` would cost, and how close to expect its columns. Touches no data, spends nothing.

        Args:
            columns: The columns.
            relations: Declared relations.
            of: What one row stands for.
            epsilon: The privacy loss; or ``noise_factor``.
            delta: Of the guarantee.
            noise_factor: The noise wanted in the columns.
            find: Whether relations are searched for.
            impossible: Rules that rows never break, or a report template.
        """
        from pydplib.synthesis.purchase import price_synthetic

        return price_synthetic(
            self, columns=columns, relations=relations, of=of, find=find, epsilon=epsilon, delta=delta,
            noise_factor=noise_factor, impossible=impossible,
        )  # fmt: skip

    @property
    def bought(self) -> tuple[MeasuredTables, ...]:
        """The tables that this recipient has paid for, of this snapshot: Laplace before Gaussian, oldest first."""
        if self._bought is None:
            stored = [
                payload
                for word in (LEDGER_WORD, GAUSSIAN_WORD)
                for payload in self.ledger.received(
                    lineage=self.lineage, snapshot=self.snapshot, recipient=self.recipient, mechanism=word
                )
            ]
            self._bought = [MeasuredTables.from_json(payload) for payload in stored]
        return tuple(self._bought)

    def remember(self, tables: MeasuredTables) -> None:
        """Let later questions of this session be answered from tables that were paid for."""
        if tables.key not in [known.key for known in self.bought]:
            self._bought = [*self.bought, tables]

    def _known(self, question: Question, asked: Accuracy) -> Release | None:
        """Return an answer that this recipient's tables tell for nothing, if it is as accurate as what is asked for."""
        if not isinstance(question, Counting) or asked.delta is not None or not self.bought:
            return None
        facts, margin = self.facts_of(question), None
        if any(said is not None for said in (asked.epsilon, asked.margin, asked.noise_factor)):
            agreed, purchase = self._agree(question, asked, buy=False)
            if self._is_paid(self._key(purchase)):
                return None
            margin = purchase.expect(agreed.size).margin
        return answer_from_tables(self, facts, margin=margin, confidence=asked.confidence)

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
        return hand_over_records(self, values, column=column, epsilon=epsilon, persons=persons, budget=budget)

    def __str__(self) -> str:
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

    def _size_question(self, epsilon: float | None = None) -> Purchase | None:
        loss = self.size_epsilon if epsilon is None else check_epsilon(epsilon)
        return None if loss is None else self._rows.at(loss)

    @cached_property
    def _rows(self) -> Facts:
        return Facts.of(Count(), self.table.schema)

    @property
    def cap(self) -> float | None:
        """The most epsilon of one question in this role; None for no cap."""
        return None if self._terms is None or self._is_settled else self._terms.epsilon_cap

    @property
    def is_settled(self) -> bool:
        """Whether this session makes what is paid already."""
        return self._is_settled

    def settle(self) -> None:
        """Let go of today's cap for one release that the ledger has as paid: it is made as it was agreed, for nothing.

        Which fields may go to the role is still today's policy.
        """
        self._is_settled = True

    @property
    def noise_factor(self) -> NoiseFactor | None:
        """The noise factor of this role; None without a role."""
        return None if self._terms is None else self._terms.noise_factor

    def _agree(self, question: Question, asked: Accuracy, *, buy: bool) -> tuple[Agreement, Purchase]:
        """Return a question's epsilon and all that follows from it, if the policy lets such an answer out."""
        facts = self.facts_of(question)
        agreed = agree(self, facts, asked, buy=buy)
        delta = delta_of(self, facts, asked.delta)
        purchase = facts.at(agreed.epsilon, delta, confidence=asked.confidence)
        self._check(purchase, agreed.label)
        if not buy and not agreed.at_most:
            self._priced = (question, asked, _today(), agreed, purchase)
        return agreed, purchase

    def _taken_price(self, question: Question, asked: Accuracy) -> tuple[Agreement, Purchase] | None:
        """Return what the price agreed on that was shown last, once, if it is this question that is paid for today."""
        priced, self._priced = self._priced, ()
        if not priced or priced[0] is not question or priced[1:3] != (asked, _today()):
            return None
        return cast(tuple[Agreement, Purchase], priced[3:])

    def _check(self, purchase: Purchase, label: OutputLabel) -> None:
        question = purchase.question
        self.check_fields(question.fields, label, float(purchase.epsilon), question.filters)

    def check_fields(
        self,
        fields: Iterable[str],
        label: OutputLabel,
        epsilon: float,
        filters: Iterable[str] = (),
        *,
        synthetic: bool = False,
    ) -> None:
        """Raise ``PolicyError`` unless the policy lets such an output of these fields go to this recipient."""
        if self.role is None:
            return
        about, today = self.lineage, _today()
        source = FlowSource.of(self.table.schema, project=about, fields=fields, filters=filters)
        if self._is_settled:  # what is paid asks whether the fields are open, not what they cost
            label, epsilon = self.policy.label_of_epsilon(LEAST), LEAST
        audience, output = FlowAudience(self.role, self.groups), Output(label, epsilon=epsilon, synthetic=synthetic)
        check_flow(source, audience, output, self.purpose, policy=self.policy, on=today)

    def check_may_release(self) -> None:
        """Raise ``ParameterError`` where this session shows prices only."""
        if self.preview:
            raise ParameterError("This session shows prices only (preview=True). Open another one to release.")

    # -- paying and answering --------------------------------------------------------------------

    def _key(self, purchase: Purchase) -> ReleaseKey:
        if self._keyed is None or self._keyed[0] is not purchase:
            key = ReleaseKey(
                lineage=self.lineage,
                snapshot=self.snapshot,
                question=purchase.facts.canonical,
                cost=purchase.cost,
                parameters=purchase.parameters,
            )
            self._keyed = (purchase, key)
        return self._keyed[1]

    def _is_paid(self, key: ReleaseKey) -> bool:
        opened = self.recipient not in self._unopened  # nobody has paid without a budget
        return opened and self.ledger.is_paid(key, recipient=self.recipient)

    def _answer(self, purchase: Purchase, agreed: Agreement | None = None) -> Release:
        """Pay, count, add noise, store; what was stored before is handed out again, and nobody looks."""
        key = self._key(purchase)
        reservation = self.pay(key, purchase.plans)
        payload = reservation.payload
        if payload is None:

            def look() -> Release:
                return replace(purchase.answer(purchase.count(self.table)), key=key.digest)

            payload = self.ledger.finish(reservation, self.look(look))
        self.payloads[key.digest] = payload
        return self._handed(Release.from_json(payload), purchase, agreed, reservation)

    def pay(self, key: ReleaseKey, plans: Iterable[Plan]) -> Reservation:
        """Debit a release, or find that it was paid before; whatever can be known to fail fails first."""
        known, self._unpaid = self._unpaid == key.digest, None  # the price has looked just now
        new = known or not self._is_paid(key)
        if new:
            self.check_may_release()
            self._check_table(plans)
        opens, self._unopened = self._unopened, {}
        try:
            return self.ledger.reserve(
                key,
                recipient=self.recipient,
                role=self.role or UNSPECIFIED,
                limits=self._purse.limits,
                opens=opens,
                look_first=not new,
            )
        except BudgetError as refusal:
            if refusal.left is not None or not self._purse.shows_whole:
                raise
            raise BudgetError(f"{refusal} {self._whole_words()}", asked=refusal.asked) from None

    def look(self, answer: Callable[[], _Written]) -> bytes:
        """Count, add noise and write the answer: the debit is stored. What goes wrong is said without a word of why."""
        found: bytes | None = None
        try:
            found = answer().to_json().encode()
        except Exception:  # an error's text or kind could tell of the data
            found = None
        if found is None:
            raise EngineError(
                "The question was paid for, but the table could not answer it. The reason is withheld, because it may "
                "quote data. Nothing was shown; ask again when the table is reachable: the same question is free."
            )
        return found

    def _check_table(self, plans: Iterable[Plan]) -> None:
        """Raise before anything is paid if the stored types, which are public, cannot answer. No row is read.

        Or if the table is closed, gone, or not ours to read.
        """
        try:
            for plan in plans:
                self.table.engine.explain(plan)
        except PydplibError:
            raise
        except Exception:  # noqa: S110 - an engine that explains nothing may still answer
            pass
        try:
            self.table.check_ready()
        except EngineError as error:
            raise EngineError(f"{error} Nothing was spent.") from None

    def _handed(
        self, release: Release, purchase: Purchase, agreed: Agreement | None, reservation: Reservation
    ) -> Release:
        """Return a stored answer as this recipient gets it.

        What follows from the number of rows that a recipient knows is worked out for that recipient alone and never
        stored: another recipient has not paid for that number.
        """
        size = None if agreed is None else agreed.size
        remarks = () if agreed is None else agreed.remarks
        return replace(
            release,
            expected_noise=purchase.expect(size).noise_percent,
            notes=(*release.notes, *self._limit_words(purchase), *(() if agreed is None else agreed.notes)),
            remarks=(*remarks, *self.remarks_of(reservation)),
            entry=reservation.entry,
            backend=self.table.backend,
        )

    def remarks_of(self, reservation: Reservation) -> tuple[str, ...]:
        """Return what a recipient must know about one ask: whether it was paid, and whether anybody looked."""
        remarks = [] if reservation.charged else ["Paid before: nothing was charged."]
        if reservation.payload is not None:
            remarks.append(
                f"Answered from the ledger (snapshot '{self.snapshot}'): the table was not looked at. A new state of "
                "the table needs a new snapshot (--snapshot NAME, snapshot=)."
            )
        return tuple(remarks)

    def _limit_words(self, purchase: Purchase) -> tuple[str, ...]:
        """Return what the bought histogram says about rows beyond the limit, for answers that the limit shapes."""
        bound = purchase.facts.bound
        if bound.person is None or (bound.mode != "weight" and bound.max_groups is None):
            return ()
        bought = None if isinstance(purchase.question, RowsPerPerson) else self.limit
        return () if bought is None else (beyond_words(bought),)

    # -- budgets ---------------------------------------------------------------------------------

    def _open(self, budget: PureDP | ApproxDP | None, show_data_set: bool, *, from_policy: bool, late: bool) -> None:
        if isinstance(budget, LocalDP) or (budget is not None and budget.relation != "add_remove"):
            raise ParameterError("A session's budget is PureDP(epsilon) or ApproxDP(epsilon, delta), add_remove.")
        terms = self._terms
        whole = self.policy.shared_budget(self.table.schema.size) if terms is None else terms.data_set_budget
        accounts = self.ledger.accounts(lineage=self.lineage)
        self._opened = frozenset((account.recipient, account.relation) for account in accounts)
        known = (self.recipient, "add_remove") in self._opened
        if budget is None and terms is None and not known:
            raise BudgetError(
                f"No budget is open for '{self.recipient}', and none was given: Session(..., "
                "budget=1.0), or a role whose budget the policy knows.",
                left="no budget",
            )
        own = budget if budget is not None or terms is None else terms.own
        if budget is not None and known and not from_policy:
            self._check_not_raised(budget)
        self._purse = SessionAccount(
            ledger=self.ledger,
            lineage=self.lineage,
            recipient=self.recipient,
            own=own,
            whole=whole,
            shows_whole=show_data_set,
        )
        if self.preview:
            return
        wanted: dict[str | None, PureDP | ApproxDP] = {}
        if (None, "add_remove") not in self._opened:
            wanted[None] = whole
        if own is not None and not known:
            wanted[self.recipient] = own
        if late:
            self._unopened = wanted
        elif wanted:
            self.ledger.open_accounts(lineage=self.lineage, limits=wanted, role=self.role)
            self._opened |= {(name, "add_remove") for name in wanted}

    def _check_not_raised(self, budget: PureDP | ApproxDP) -> None:
        """Raise if a number without a role gives more than the ledger was told last: nobody has said who decided it."""
        last, wanted = self.ledger.last_limit(lineage=self.lineage, recipient=self.recipient), Limit.of(budget)
        if last is not None and wanted.exceeds(last):
            raise BudgetError(
                f"A budget for '{self.recipient}' is open with another limit ({last}). Asked for {wanted}, which is "
                f"more. The owner says so first: ledger.change_limit(lineage={self.lineage!r}, recipient="
                f"{self.recipient!r}, limit=..., by='your name').",
                asked=str(wanted),
            )

    def _known_role(self) -> str | None:
        """Return the role in which the ledger knows this recipient, if the policy has such a role."""
        found = self.ledger.role_of(lineage=self.lineage, recipient=self.recipient)
        return found if found in ROLES else None

    def has_account(self, recipient: str | None, relation: Relation = "add_remove") -> bool:
        """Tell whether a budget is open; without a recipient, the data set's own."""
        wanted = (recipient, relation)
        if wanted not in self._opened and find_account(self.ledger, self.lineage, recipient, relation) is not None:
            self._opened = self._opened | {wanted}  # a budget that was opened is never closed: no need to look again
        return wanted in self._opened

    _opened: frozenset[tuple[str | None, Relation]] = frozenset()


def _budget(budget: Any) -> PureDP | ApproxDP | None:
    """Return a budget; a plain number is a pure epsilon."""
    if isinstance(budget, int | float) and not isinstance(budget, bool):
        return PureDP(float(check_epsilon(budget)))
    if budget is None or isinstance(budget, PureDP | ApproxDP):
        return budget
    raise ParameterError(
        "A session's budget is a number (epsilon in total), PureDP(epsilon) or ApproxDP(epsilon, delta), add_remove. "
        f"Got {shown(budget)}."
    )


def _ledger(ledger: Any) -> Ledger:
    """Return a ledger; a path is that of a ledger file."""
    if ledger is None:
        return MemoryLedger()
    if isinstance(ledger, str | Path):
        return SqliteLedger(ledger)
    if not isinstance(ledger, Ledger):
        raise ParameterError(
            "ledger= is the path of a ledger file, e.g. 'ledger.db', or a ledger, e.g. dp.SqliteLedger('ledger.db'). "
            f"Got {shown(ledger)}."
        )
    return ledger


def _today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()

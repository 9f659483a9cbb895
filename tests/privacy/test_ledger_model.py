"""A second, naive book-keeper walks next to both ledgers: they must agree on every step, whatever the policy says."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pydplib.budget import (
    Cost,
    Head,
    Limit,
    Limits,
    MemoryLedger,
    Refusal,
    ReleaseKey,
    Reservation,
    SqliteLedger,
    State,
    StoreLedger,
    pay,
    workflow,
)
from pydplib.budget.conversion import micro_order, most_nano_rho
from pydplib.errors import BudgetError, LedgerError
from pydplib.guarantee import ApproxDP, PureDP

RECIPIENTS = ("acme", "uni")
COSTS = (
    Cost.pure(0.3, mechanism="laplace"),
    Cost.pure(Fraction(1, 7), mechanism="laplace"),
    Cost.exponential(0.4),
    Cost.approximate(0.05, delta=2e-7, mechanism="unknown_keys"),
    Cost.gaussian(sensitivity_squared=1, variance=400),
    Cost.no_dp(mechanism="paper mode"),
)


class NaiveAccount:
    """All accepted costs in a list; every question is judged from scratch."""

    def __init__(self, limit: PureDP | ApproxDP) -> None:
        self.limit, self.paid = limit, list[Cost]()

    def accepts(self, cost: Cost) -> bool:
        costs = [*self.paid, cost]
        if not cost.is_dp:
            return False
        pure = [c for c in costs if c.nano_epsilon is not None]
        epsilon = sum(Fraction(c.nano_epsilon or 0, 10**9) for c in pure)
        gaussian = sum(c.nano_rho or 0 for c in costs if c.nano_epsilon is None)
        delta = sum(Fraction(c.atto_delta, 10**18) for c in costs)
        if isinstance(self.limit, PureDP):
            return len(pure) == len(costs) and delta == 0 and epsilon <= Fraction(str(self.limit.epsilon))
        half = Fraction(str(self.limit.delta)) / 2
        if delta + half > Fraction(str(self.limit.delta)):
            return False
        if len(pure) == len(costs) and epsilon <= Fraction(str(self.limit.epsilon)):
            return True
        kept = int(half * 10**18)
        most = most_nano_rho(int(Fraction(str(self.limit.epsilon)) * 10**9), kept)
        squares = sum(c.nano_rho or 0 for c in pure)
        plain = math.ceil(epsilon * 10**9 * 10**6 / micro_order(most, kept))
        return gaussian + min(squares, plain) <= most


class LedgerMachine(RuleBasedStateMachine):
    """Asks, repeats, shared answers, crashes, reopened files, refusals and changes of the policy in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.ledgers: list[StoreLedger] = []
        self.accounts: dict[str | None, NaiveAccount] = {}
        self.told: dict[str | None, bool] = {}
        self.payers: dict[str, set[str]] = {}
        self.answers: dict[str, bytes] = {}
        self.pending: list[list[Reservation]] = []
        self.keys: dict[str, ReleaseKey] = {}
        self.heads: list[list[Head]] = [[], []]
        self.draws = 0

    def teardown(self) -> None:
        self.ledgers[1].close()  # type: ignore[attr-defined]
        shutil.rmtree(self.folder)

    @initialize(approx=st.booleans(), lineage=st.sampled_from([0.9, 1.7]), each=st.sampled_from([0.6, 1.2]))
    def open(self, approx: bool, lineage: float, each: float) -> None:
        self.ledgers = [MemoryLedger(), SqliteLedger(self.folder / "ledger.db")]
        for who in (None, *RECIPIENTS):
            epsilon = lineage if who is None else each
            limit = ApproxDP(epsilon, 1e-6) if approx else PureDP(epsilon)
            self.accounts[who] = NaiveAccount(limit)
            self.told[who] = True
            for ledger in self.ledgers:
                ledger.open_account(lineage="reports", recipient=who, limit=limit)

    @rule(who=st.sampled_from((None, *RECIPIENTS)), epsilon=st.sampled_from([0.2, 0.6, 1.2, 1.7]), approx=st.booleans())
    def change_policy(self, who: str | None, epsilon: float, approx: bool) -> None:
        self.accounts[who].limit = ApproxDP(epsilon, 1e-6) if approx else PureDP(epsilon)
        self.told[who] = False

    @rule(
        question=st.integers(0, 7), cost=st.sampled_from(COSTS), who=st.sampled_from(RECIPIENTS), finish=st.booleans()
    )
    def ask(self, question: int, cost: Cost, who: str, finish: bool) -> None:
        key = ReleaseKey(lineage="reports", snapshot="1", question={"number": question}, cost=cost)
        payers = self.payers.get(key.digest)
        free = payers is not None and who in payers
        debtors = [] if free else [who] if payers is not None else [who, None]
        granted = all(self.accounts[name].accepts(cost) for name in debtors)
        reservations = []
        # Whoever brings no limit is bound by the one that the ledger was told last.
        bring = not (self.told[who] and self.told[None]) or question % 2 == 0
        limits = Limits.of(recipient=self.accounts[who].limit, data_set=self.accounts[None].limit) if bring else None
        for ledger in self.ledgers:
            try:
                reservations.append(ledger.reserve(key, recipient=who, role="third_party", limits=limits))
                assert granted
            except BudgetError:
                assert not granted
        if not granted:
            return
        for name in debtors:
            self.accounts[name].paid.append(cost)
            self.told[name] = True
        self.payers.setdefault(key.digest, set()).add(who)
        self.keys[key.digest] = key
        expected = "new" if payers is None else "done" if key.digest in self.answers else "pending"
        for reservation in reservations:
            assert (reservation.state, reservation.charged) == (expected, not free)
            assert reservation.payload == self.answers.get(key.digest)
        if finish:
            self.write(reservations)
        else:
            self.pending.append(reservations)

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def finish_late(self, data: st.DataObject) -> None:
        self.write(self.pending.pop(data.draw(st.integers(0, len(self.pending) - 1))))

    def write(self, reservations: list[Reservation]) -> None:
        self.draws += 1
        payload = b"draw %d" % self.draws
        expected = self.answers.setdefault(reservations[0].digest, payload)
        for ledger, reservation in zip(self.ledgers, reservations, strict=True):
            assert ledger.finish(reservation, payload) == expected

    @rule()
    def reopen(self) -> None:
        self.ledgers[1].close()  # type: ignore[attr-defined]
        self.ledgers[1] = SqliteLedger(self.folder / "ledger.db", create=False)

    @rule()
    def keep_heads(self) -> None:
        for heads, ledger in zip(self.heads, self.ledgers, strict=True):
            heads.append(ledger.head())

    @rule()
    def verify(self) -> None:
        for heads, ledger in zip(self.heads, self.ledgers, strict=True):
            for head in heads or [None]:
                ledger.verify(head)

    @invariant()
    def sums_agree(self) -> None:
        for ledger in self.ledgers:
            for account in ledger.accounts():
                paid = self.accounts[account.recipient].paid
                assert account.state.nano_rho == sum(cost.nano_rho or 0 for cost in paid)
                assert account.state.atto_delta == sum(cost.atto_delta for cost in paid)
                assert account.state.nano_epsilon == sum(cost.nano_epsilon or 0 for cost in paid)
                impure = [cost.nano_rho or 0 for cost in paid if cost.nano_epsilon is None]
                assert account.state.nano_gaussian == sum(impure)


SETTINGS = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestLedgerModel = LedgerMachine.TestCase
TestLedgerModel.settings = SETTINGS


def forgets_rho(state: State, cost: Cost, limit: Limit) -> State | Refusal:
    outcome = pay(state, cost, limit)
    return replace(outcome, nano_rho=state.nano_rho) if isinstance(outcome, State) else outcome


def one_nano_too_strict(state: State, cost: Cost, limit: Limit) -> State | Refusal:
    return pay(state, cost, replace(limit, nano_epsilon=limit.nano_epsilon - 1))


def one_nano_too_generous(state: State, cost: Cost, limit: Limit) -> State | Refusal:
    outcome = pay(state, cost, limit)
    if isinstance(outcome, State) and outcome.nano_epsilon:
        return replace(outcome, nano_epsilon=outcome.nano_epsilon - 1)
    return outcome


def ignores_delta(state: State, cost: Cost, limit: Limit) -> State | Refusal:
    return pay(replace(state, atto_delta=0), cost, limit)


def forgets_gaussian_noise(state: State, cost: Cost, limit: Limit) -> State | Refusal:
    outcome = pay(replace(state, nano_gaussian=0) if limit.is_pure else state, cost, limit)
    return replace(outcome, nano_gaussian=state.nano_gaussian) if isinstance(outcome, State) else outcome


@pytest.mark.parametrize(
    "fault", [forgets_rho, one_nano_too_strict, one_nano_too_generous, ignores_delta, forgets_gaussian_noise]
)
def test_model_finds_a_planted_fault(monkeypatch: pytest.MonkeyPatch, fault: Callable[..., State | Refusal]) -> None:
    monkeypatch.setattr(workflow, "pay", fault)
    seek = settings(
        SETTINGS, max_examples=1000, derandomize=True, database=None, phases=[Phase.generate], print_blob=False
    )
    with pytest.raises((AssertionError, LedgerError)):
        run_state_machine_as_test(LedgerMachine, settings=seek)

"""Many processes at once, and processes that are killed: never overspent, never unpaid, never broken."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from pydplib.budget import Cost, Limits, MemoryLedger, ReleaseKey, SqliteLedger
from pydplib.errors import BudgetError
from pydplib.guarantee import PureDP

COST = Fraction(7_000_001, 10**9)
ALLOWED = 100


def key(question: object, epsilon: Fraction = COST) -> ReleaseKey:
    cost = Cost.pure(epsilon, mechanism="laplace")
    return ReleaseKey(lineage="reports", snapshot="2018", question={"q": question}, cost=cost)


def open_book(path: Path, *, recipient: Fraction, lineage: Fraction = Fraction(10)) -> SqliteLedger:
    ledger = SqliteLedger(path)
    ledger.open_account(lineage="reports", limit=PureDP(float(lineage)))
    for name in ("acme", "uni"):
        ledger.open_account(lineage="reports", recipient=name, limit=PureDP(float(recipient)))
    return ledger


def fire(attack: Callable[[int], int], processes: int = 8) -> int:
    """Run ``attack`` in several processes that start at the same moment; return how many asks were granted."""
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(processes), context.Queue()

    def run(name: int) -> None:
        barrier.wait(timeout=30)
        results.put(attack(name))

    workers = [context.Process(target=run, args=(name,), daemon=True) for name in range(processes)]
    for worker in workers:
        worker.start()
    granted = sum(results.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join(timeout=30)
        assert worker.exitcode == 0
    return granted


def attack_ledger(
    path: Path, recipient: Callable[[int], str], asks: int = 40, limits: Limits | None = None
) -> Callable[[int], int]:
    def attack(name: int) -> int:
        granted = 0
        with SqliteLedger(path, create=False) as ledger:
            for number in range(asks):
                try:
                    paid = ledger.reserve(
                        key([name, number]), recipient=recipient(name), role="third_party", limits=limits
                    )
                    ledger.finish(paid, b"%d" % name)
                    granted += 1
                except BudgetError:
                    pass
        return granted

    return attack


@pytest.mark.parametrize(("spare", "expected"), [(0, ALLOWED), (-1, ALLOWED - 1)])
def test_many_processes_never_overspend_a_recipient_by_one_nano(tmp_path: Path, spare: int, expected: int) -> None:
    path = tmp_path / "ledger.db"
    limit = ALLOWED * COST + Fraction(spare, 10**9)
    open_book(path, recipient=limit).close()
    assert fire(attack_ledger(path, lambda name: "acme")) == expected
    with SqliteLedger(path) as ledger:
        spent = ledger.accounts(recipient="acme")[0].state.nano_epsilon
        assert spent == expected * COST * 10**9 <= limit * 10**9
        ledger.verify()


def test_many_processes_of_two_recipients_never_overspend_the_lineage(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_book(path, recipient=Fraction(5), lineage=ALLOWED * COST).close()
    assert fire(attack_ledger(path, lambda name: ("acme", "uni")[name % 2])) == ALLOWED
    with SqliteLedger(path) as ledger:
        assert ledger.remaining(lineage="reports").nano_epsilon == 0
        ledger.verify()


TODAY = PureDP(float(ALLOWED * COST))


LOWERED = [Limits.of(recipient=TODAY), Limits.of(data_set=TODAY)]


@pytest.mark.parametrize("limits", LOWERED, ids=["recipient", "data set"])
def test_many_processes_never_spend_more_than_a_limit_that_was_lowered(tmp_path: Path, limits: Limits) -> None:
    path = tmp_path / "ledger.db"
    open_book(path, recipient=Fraction(5)).close()
    assert fire(attack_ledger(path, lambda name: "acme", limits=limits)) == ALLOWED
    with SqliteLedger(path) as ledger:
        assert {account.state.nano_epsilon for account in ledger.accounts()} == {0, ALLOWED * COST * 10**9}
        ledger.verify()


def test_many_threads_never_spend_more_than_terms_that_became_stricter() -> None:
    ledger = MemoryLedger()
    ledger.open_account(lineage="reports", limit=PureDP(10.0))
    ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(5.0))

    def ask(number: int) -> int:
        try:
            ledger.reserve(key(number), recipient="acme", role="third_party", limits=Limits.of(recipient=TODAY))
        except BudgetError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(3 * ALLOWED))) == ALLOWED
    ledger.verify()


def test_many_processes_opening_a_new_file_at_once_share_one_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    def attack(name: int) -> int:
        with open_book(path, recipient=Fraction(1)) as ledger:
            return int(ledger.name, 16)

    assert fire(attack) % int(SqliteLedger(path).name, 16) == 0
    assert SqliteLedger(path).verify().entries == 3


def test_many_processes_asking_the_same_question_pay_once_and_see_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_book(path, recipient=Fraction(1)).close()

    def attack(name: int) -> int:
        with SqliteLedger(path) as ledger:
            paid = ledger.reserve(key("same"), recipient="acme", role="third_party")
            shown = ledger.finish(paid, b"noise of process %d" % name)
            (tmp_path / f"shown {name}").write_bytes(shown)
        return int(paid.charged)

    assert fire(attack) == 1
    assert len({file.read_bytes() for file in tmp_path.glob("shown *")}) == 1


def test_fire_finds_a_ledger_that_reads_checks_and_then_writes(tmp_path: Path) -> None:
    """The test of the test: without lock and condition the same attack overspends."""
    path = tmp_path / "naive.db"
    db = sqlite3.connect(path)
    db.executescript("PRAGMA journal_mode = WAL; CREATE TABLE spent (units INTEGER); INSERT INTO spent VALUES (0)")
    db.close()

    def attack(name: int) -> int:
        granted, naive = 0, sqlite3.connect(path, isolation_level=None, timeout=30)
        for _ in range(40):
            units = naive.execute("SELECT units FROM spent").fetchone()[0]
            if units + 1 <= ALLOWED:
                time.sleep(0.001)
                naive.execute("UPDATE spent SET units = ?", (units + 1,))
                granted += 1
        naive.close()
        return granted

    assert fire(attack) > ALLOWED


CHILD = """
import sys, time
from fractions import Fraction
from pydplib.budget import Cost, ReleaseKey, SqliteLedger, workflow

def key(question):
    cost = Cost.pure(Fraction(7_000_001, 10**9), mechanism="laplace")
    return ReleaseKey(lineage="reports", snapshot="2018", question={"q": question}, cost=cost)

ledger = SqliteLedger(sys.argv[1])
"""


def start_child(path: Path, script: str) -> subprocess.Popen[str]:
    """Start a process that says a word and then waits to be killed."""
    child = subprocess.Popen([sys.executable, "-c", CHILD + script, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "now"
    return child


def kill(child: subprocess.Popen[str]) -> None:
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(timeout=30) == -signal.SIGKILL
    assert child.stdout is not None
    child.stdout.close()


def test_kill_between_debit_and_answer_keeps_the_debit_and_the_next_ask_finishes_it_free(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_book(path, recipient=Fraction(1)).close()
    script = (
        "ledger.reserve(key('killed'), recipient='acme', role='third_party'); print('now', flush=True); time.sleep(60)"
    )
    kill(start_child(path, script))
    with SqliteLedger(path) as ledger:
        ledger.verify()
        left = ledger.remaining(lineage="reports", recipient="acme").nano_epsilon
        assert left == 10**9 - 7_000_001
        again = ledger.reserve(key("killed"), recipient="acme", role="third_party")
        assert (again.state, again.charged, again.payload) == ("pending", False, None)
        assert ledger.finish(again, b"answer") == b"answer"
        assert ledger.remaining(lineage="reports", recipient="acme").nano_epsilon == left
        assert ledger.remaining(lineage="reports").nano_epsilon == 10**10 - 7_000_001
        ledger.verify()


def test_kill_inside_the_first_transaction_leaves_neither_debit_nor_release(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_book(path, recipient=Fraction(1)).close()
    script = """
with ledger._transaction() as store:
    workflow.reserve(store, key('half'), recipient='acme', role='third_party', time='now')
    print('now', flush=True)
    time.sleep(60)
"""
    kill(start_child(path, script))
    with SqliteLedger(path) as ledger:
        assert ledger.verify().entries == 3
        assert ledger.remaining(lineage="reports", recipient="acme").epsilon == 1.0
        assert ledger.reserve(key("half"), recipient="acme", role="third_party").state == "new"


def test_kill_inside_the_second_transaction_shows_no_answer_and_keeps_the_debit(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_book(path, recipient=Fraction(1)).close()
    script = """
paid = ledger.reserve(key('half'), recipient='acme', role='third_party')
with ledger._transaction() as store:
    workflow.finish(store, paid, b'never shown', time='now')
    print('now', flush=True)
    time.sleep(60)
"""
    kill(start_child(path, script))
    with SqliteLedger(path) as ledger:
        ledger.verify()
        again = ledger.reserve(key("half"), recipient="acme", role="third_party")
        assert (again.state, again.charged, again.payload) == ("pending", False, None)


def test_kills_at_any_moment_leave_a_sound_ledger_with_every_debit(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_book(path, recipient=Fraction(10), lineage=Fraction(20)).close()
    script = """
print('now', flush=True)
for number in range(10**6):
    paid = ledger.reserve(key([sys.argv[1], time.time_ns(), number]), recipient='acme', role='third_party')
    ledger.finish(paid, b'x' * 5000)
    print(number, flush=True)
"""
    for wait in (0.02, 0.05, 0.083):
        child = start_child(path, script)
        for _ in range(2):  # however slow it is, it has paid twice
            child.stdout.readline()
        time.sleep(wait)
        kill(child)
        with SqliteLedger(path) as ledger:
            ledger.verify()
            debits = sum(entry.kind == "debit" for entry in ledger.entries())
            assert ledger.accounts(recipient="acme")[0].state.nano_epsilon == debits * 7_000_001
    assert debits > 3

"""Many processes at once, and kill -9 between debit and answer: never overspent, never forgotten."""

from __future__ import annotations

import os
import signal

from web_home import WebHome

OPEN = """
from pydplib import PureDP
from pydplib.web.ledger.database import DatabaseLedger
import sys
ledger = DatabaseLedger()
ledger.open_account(lineage=sys.argv[1], limit=PureDP(1.5))
for name in ("acme", "uni"):
    ledger.open_account(lineage=sys.argv[1], recipient=name, limit=PureDP(1.0))
"""

ASK = """
import sys
from ledger_keys import make_release_key
from pydplib.errors import BudgetError
from pydplib.web.ledger.database import DatabaseLedger
lineage, recipient, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
ledger = DatabaseLedger()
granted = 0
print("ready", flush=True); sys.stdin.readline()
for number in range(first, first + 25):
    try:
        key = make_release_key(number, 0.03, lineage=lineage)
        reservation = ledger.reserve(key, recipient=recipient, role="third_party")
        ledger.finish(reservation, b"answer of " + str(number).encode())
        granted += reservation.charged
    except BudgetError:
        pass
print(granted)
"""

DIE = """
import os, signal, sys
from ledger_keys import make_release_key
from pydplib.web.ledger.database import DatabaseLedger
DatabaseLedger().reserve(make_release_key(7, 0.2, lineage=sys.argv[1]), recipient="acme", role="third_party")
os.kill(os.getpid(), signal.SIGKILL)
"""

LOOK = """
import sys
from ledger_keys import make_release_key
from pydplib.web.ledger.database import DatabaseLedger
ledger = DatabaseLedger()
again = ledger.reserve(make_release_key(7, 0.2, lineage=sys.argv[1]), recipient="acme", role="third_party")
print(again.state, again.charged, again.payload, ledger.remaining(lineage=sys.argv[1], recipient="acme").nano_epsilon)
ledger.verify()
"""

SUMS = """
import sys
from pydplib.web.ledger.database import DatabaseLedger
ledger = DatabaseLedger()
for who in ("acme", "uni", None):
    print(ledger.remaining(lineage=sys.argv[1], recipient=who).nano_epsilon)
ledger.verify()
"""


def _run(home: WebHome, code: str, *arguments: str) -> list[str]:
    done = home.python(code, *arguments)
    assert done.returncode == 0, done.stderr[-1500:]
    return done.stdout.split()


def test_many_processes_spend_to_the_last_nano_epsilon_and_never_beyond(web_home: WebHome) -> None:
    home = _with_support(web_home)
    _run(home, OPEN, "fire")
    # 100 different questions at 0.03: each of the two may ask 33, both together only 50.
    asks = [("acme", 0), ("acme", 25), ("uni", 50), ("uni", 75)]
    processes = [home.start(ASK, "fire", who, str(first), stdin=-1) for who, first in asks]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outputs = [process.communicate("go\n", timeout=120) for process in processes]
    assert all(process.returncode == 0 for process in processes), outputs
    granted = [int(output) for output, _ in outputs]
    assert granted[0] + granted[1] <= 33
    assert granted[2] + granted[3] <= 33
    assert sum(granted) == 50, "the data set's budget stops both together, and not one question earlier"
    acme, uni, whole = map(int, _run(home, SUMS, "fire"))
    assert whole == 0
    assert (1_000_000_000 - acme) + (1_000_000_000 - uni) == 50 * 30_000_000


def test_kill_between_debit_and_answer_keeps_the_debit_and_shows_nothing(web_home: WebHome) -> None:
    home = _with_support(web_home)
    _run(home, OPEN, "killed")
    assert home.python(DIE, "killed").returncode == -signal.SIGKILL
    state, charged, payload, left = _run(home, LOOK, "killed")
    assert (state, charged, payload) == ("pending", "False", "None")
    assert int(left) == 800_000_000


def _with_support(home: WebHome) -> WebHome:
    from pathlib import Path

    support = str(Path(__file__).parents[2] / "support")
    path = os.pathsep.join([support, home.environment.get("PYTHONPATH", "")])  # the code under test, not another copy
    return WebHome(home.path, {**home.environment, "PYTHONPATH": path})

"""Many clients at once and kill -9 between debit and answer, through a real server process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from asking_server import DYING, Browser, seed, serving, sums
from web_home import make_web_home


@pytest.fixture
def home(tmp_path: Path, _database: None) -> Iterator[Any]:
    with make_web_home(tmp_path / "home") as made:
        yield made


def _question(edge: int, epsilon: str) -> dict[str, str]:
    bins = f"40, {edge}, 90"
    return {"kind": "histogram", "field": "age", "bins_age": bins, "accuracy": "epsilon", "epsilon": epsilon}


def test_many_clients_at_once_never_overspend_by_a_nano_epsilon(home: Any) -> None:
    # Each organisation may spend 0.35 and both together 0.5: of 24 different questions at 0.05, ten are answered.
    world = seed(home, budget=0.35, data_set=0.5)
    asks = [(name, edge) for edge in range(50, 62) for name in ("tara", "rita")]
    with serving(home) as (port, _), ThreadPoolExecutor(8) as clients:

        def press(job: tuple[str, int]) -> int:
            name, edge = job
            shift = 0 if name == "tara" else 20
            return Browser(port, world["sessions"][name]).pay(_question(edge + shift, "0.05"))[0]

        statuses = list(clients.map(press, asks))
        assert set(statuses) <= {302, 403, 0}, statuses
        again = [Browser(port, world["sessions"]["theo"]).pay(_question(edge, "0.05")) for edge in (50, 50)]
        assert again[0][:2] == again[1][:2] or {got[0] for got in again} <= {0, 403}
    told = sums(home)
    assert statuses.count(302) == 10 == told["debits"] == told["answered"] == told["analyses"]
    acme, rival = (world["organisations"][name] for name in ("tara", "rita"))
    assert told["spent"][""] == 500_000_000, "the data set's budget, to the last nano-epsilon"
    assert told["spent"][acme] + told["spent"][rival] == 500_000_000
    assert max(told["spent"][acme], told["spent"][rival]) <= 350_000_000
    assert told["reserved"] == 0


def test_kill_between_debit_and_answer_keeps_the_debit_and_the_next_ask_finishes_it_free(home: Any) -> None:
    world = seed(home, budget=1.0, data_set=10)
    asked = _question(60, "0.4")
    with serving(home, before=DYING) as (port, process):
        with pytest.raises(OSError):
            Browser(port, world["sessions"]["tara"]).pay(asked)
        assert process.wait(timeout=120) == -signal.SIGKILL
    acme = world["organisations"]["tara"]
    told = sums(home)
    assert told["spent"][acme] == told["spent"][""] == 400_000_000, "the debit stands"
    assert (told["reserved"], told["answered"], told["analyses"]) == (1, 0, 0), "and nothing was answered"
    with serving(home) as (port, _):
        browser = Browser(port, world["sessions"]["tara"])
        status, place, _ = browser.pay(asked)
        assert status == 302 and browser.ask(place)[0] == 200
        assert Browser(port, world["sessions"]["theo"]).pay(asked)[:2] == (302, place), "colleagues get the same"
    told = sums(home)
    assert told["spent"][acme] == told["spent"][""] == 400_000_000
    assert (told["reserved"], told["answered"], told["analyses"]) == (0, 1, 1)

"""Ledgers and keys for the tests of the budget room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ledger_keys import make_release_key

from pydplib.budget import MemoryLedger, ReleaseKey, SqliteLedger, StoreLedger

MakeKey = Callable[..., ReleaseKey]


@pytest.fixture
def make_key() -> MakeKey:
    return make_release_key


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreLedger]:
    if request.param == "memory":
        yield MemoryLedger()
        return
    with SqliteLedger(tmp_path / "ledger.db") as opened:
        yield opened

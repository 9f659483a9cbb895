"""Ledgers and keys for the tests of the budget room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pydplib.budget import Cost, MemoryLedger, ReleaseKey, SqliteLedger, StoreLedger

MakeKey = Callable[..., ReleaseKey]


@pytest.fixture
def make_key() -> MakeKey:
    def make(number: int = 0, epsilon: Any = 0.2, *, lineage: str = "reports", cost: Cost | None = None) -> ReleaseKey:
        return ReleaseKey(
            lineage=lineage,
            snapshot="2018-12",
            question={"ask": "count", "number": number},
            cost=cost or Cost.pure(epsilon, mechanism="laplace"),
        )

    return make


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreLedger]:
    if request.param == "memory":
        yield MemoryLedger()
        return
    with SqliteLedger(tmp_path / "ledger.db") as opened:
        yield opened

"""Seeded noise never ends up in a ledger that is kept."""

from __future__ import annotations

import pytest

import pydplib as dp
from pydplib.noise.testing import seeded

SCHEMA = dp.Schema({"age": dp.Number(18, 100, step=1)}, name="reports")


def _session(ledger) -> dp.Session:
    pd = pytest.importorskip("pandas")
    table = dp.load(pd.DataFrame({"age": [61, 67, 70] * 30}), SCHEMA)
    return dp.Session(table, recipient="acme", role="third_party", ledger=ledger)


def test_release_when_noise_is_seeded_is_refused_by_a_ledger_on_disk(tmp_path) -> None:
    session = _session(dp.SqliteLedger(tmp_path / "ledger.db"))
    before = str(session.remaining)
    with seeded(7), pytest.raises(dp.errors.ParameterError, match="Seeded noise"):
        session.release(dp.Count(), epsilon=0.1)
    assert str(session.remaining) == before
    session.release(dp.Count(), epsilon=0.1)


def test_release_when_noise_is_seeded_works_with_a_ledger_in_memory() -> None:
    with seeded(7):
        first = _session(dp.MemoryLedger()).release(dp.Count(), epsilon=0.1)
    with seeded(7):
        second = _session(dp.MemoryLedger()).release(dp.Count(), epsilon=0.1)
    assert first.value == second.value

"""What a session says it will do, it does: prices, remainders, ledgers, and nothing charged for nothing."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import pydplib as dp
from pydplib.errors import BudgetError, EngineError, LedgerError, ParameterError

SCHEMA = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=2, name="reports")
ROWS = {"id": [i // 4 for i in range(400)], "age": [50.0] * 400}


@pytest.fixture
def table():
    with dp.load(pd.DataFrame(ROWS), SCHEMA) as loaded:
        yield loaded


def test_price_and_remaining_know_the_data_sets_budget(table):
    session = dp.Session(table, recipient="acme", budget=50)
    assert session.remaining.epsilon == dp.Policy().data_set_budget
    for turn in range(20):
        if session.remaining.epsilon >= 1:
            session.release(dp.Mean("age"), epsilon=0.9 + turn / 1000)
    price = session.price(dp.Median("age"), epsilon=1)
    assert not price.affordable and "policy=dp.Policy(data_set_budget=50)" in str(price)
    assert session.remaining.epsilon < 1
    with pytest.raises(BudgetError, match=r"policy=dp\.Policy\(data_set_budget=50\)"):
        session.release(dp.Median("age"), epsilon=1)
    wider = dp.Session(table, recipient="acme", budget=50, policy=dp.Policy(data_set_budget=50))
    assert wider.price(dp.Median("age"), epsilon=20).affordable


def test_remaining_says_when_it_is_the_data_sets_budget_that_binds(table):
    ledger, policy = dp.MemoryLedger(), dp.Policy(data_set_budget=3)
    first = dp.Session(table, recipient="acme", budget=2, ledger=ledger, policy=policy)
    assert str(first.remaining) == "epsilon 2 of 2"
    first.release(dp.Count(), epsilon=1.5)
    other = dp.Session(table, recipient="other", budget=2, ledger=ledger, policy=policy)
    shared = "(the data set's budget, which all recipients share)"
    assert str(other.remaining).startswith("epsilon 1.5 of 3") and str(other.remaining).endswith(shared)
    assert shared in str(other.price(dp.Mean("age"), epsilon=0.5)) and shared not in str(first.remaining)
    hidden = dp.Session(table, recipient="other", ledger=ledger, policy=policy, show_data_set=False)
    assert str(hidden.remaining) == "epsilon 2 of 2"


def test_price_of_what_another_recipient_paid_needs_no_more_of_the_data_set(table):
    ledger, policy = dp.MemoryLedger(), dp.Policy(data_set_budget=1)
    first = dp.Session(table, recipient="acme", budget=5, ledger=ledger, policy=policy)
    first.release(dp.Count(), epsilon=0.9)
    second = dp.Session(table, recipient="other", budget=5, ledger=ledger, policy=policy)
    assert second.price(dp.Count(), epsilon=0.9).affordable
    assert not second.price(dp.Mean("age"), epsilon=0.9).affordable
    assert second.release(dp.Count(), epsilon=0.9)


def test_session_that_does_not_show_the_data_set_says_nothing_of_it(table):
    ledger, policy = dp.MemoryLedger(), dp.Policy(data_set_budget=1)
    dp.Session(table, recipient="acme", budget=5, ledger=ledger, policy=policy).release(dp.Count(), epsilon=0.9)
    hidden = dp.Session(table, recipient="b", budget=5, ledger=ledger, policy=policy, show_data_set=False)
    assert hidden.remaining.epsilon == 5.0
    price = hidden.price(dp.Mean("age"), epsilon=0.9)
    assert price.affordable and price.left.epsilon == 5.0 and "data set" not in str(price)
    with pytest.raises(BudgetError) as caught:
        hidden.release(dp.Mean("age"), epsilon=0.9)
    assert "0.1" not in str(caught.value) and caught.value.left is None and "Policy(" not in str(caught.value)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_closed_table_is_refused_before_anything_is_paid(make):
    table = dp.load(make(ROWS), SCHEMA)
    session = dp.Session(table, recipient="acme", budget=1.0)
    table.close()
    with pytest.raises(EngineError, match=r"This table was closed\. Load it again.*Nothing was spent"):
        session.release(dp.Count(), epsilon=0.5)
    assert session.remaining.epsilon == 1.0


def test_file_that_is_gone_is_refused_before_anything_is_paid(tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame(ROWS).to_parquet(path)
    session = dp.Session(dp.load(path, SCHEMA), recipient="acme", budget=1.0)
    path.unlink()
    with pytest.raises(EngineError, match="Nothing was spent"):
        session.release(dp.Count(), epsilon=0.5)
    assert session.remaining.epsilon == 1.0


def test_paid_answer_needs_no_open_table(table):
    session = dp.Session(table, recipient="acme", budget=1.0)
    first = session.release(dp.Count(), epsilon=0.5)
    table.close()
    assert session.release(dp.Count(), epsilon=0.5) == first


def test_session_takes_a_number_as_budget_and_a_path_as_ledger(table, tmp_path, caplog):
    path = tmp_path / "ledger.db"
    for ledger in (str(path), path):
        session = dp.Session(table, recipient="acme", budget=1.0, ledger=ledger)
    assert session.remaining.limit.is_pure and session.remaining.epsilon == 1.0
    session.release(dp.Count(), epsilon=0.25)
    assert dp.Session(table, recipient="acme", ledger=str(path)).remaining.epsilon == 0.75
    assert [record.message for record in caplog.records if "new ledger was made at" in record.message] == [
        f"A new ledger was made at {path}. Its budgets are whole: check the path if you have one."
    ]


def test_ledger_in_a_folder_that_is_not_there_is_refused_and_makes_nothing(tmp_path):
    with pytest.raises(LedgerError, match="There is no folder"):
        dp.SqliteLedger(tmp_path / "typo" / "ledger.db")
    assert not (tmp_path / "typo").exists()


def test_limit_is_bought_once_and_then_said_in_every_release(table):
    ledger = dp.MemoryLedger()
    session = dp.Session(table, recipient="acme", budget=5, ledger=ledger)
    assert "beyond the limit" not in str(session.release(dp.Count(), epsilon=0.5))
    bought = session.buy_limit(epsilon=2.0)
    assert bought.statistic == "rows_per_person" and bought.sensitivity == 1.0 and bought.epsilon == 2.0
    assert session.buy_limit().values == bought.values and session.remaining.epsilon == 2.5
    assert "of rows are beyond the limit of 2 rows per person" in str(session.release(dp.Count(), epsilon=0.5))
    assert "beyond the limit" not in str(session.release(dp.Count(of="persons"), epsilon=0.5))
    later = dp.Session(table, recipient="acme", ledger=ledger, limit_epsilon=2.0)
    assert later.limit is not None and "beyond the limit" in str(later.release(dp.Count(), epsilon=0.5))
    # Another recipient has not paid for it, and is told nothing.
    other = dp.Session(table, recipient="other", budget=5, ledger=ledger, limit_epsilon=2.0)
    assert other.limit is None and "beyond the limit" not in str(other.release(dp.Count(), epsilon=0.5))


def test_limit_keeps_to_the_roles_cap_and_needs_a_person_and_an_epsilon(table):
    session = dp.Session(table, recipient="acme", role="third_party")
    with pytest.raises(ParameterError, match="buy_limit needs epsilon="):
        session.buy_limit()
    with pytest.raises(PermissionError):
        session.buy_limit(epsilon=1000.0)
    alone = dp.load(pd.DataFrame(ROWS), dp.Schema({"age": dp.Number(0, 100)}, name="alone"))
    with pytest.raises(ValueError, match="each row is one person"):
        dp.Session(alone, recipient="acme", budget=1.0).buy_limit(epsilon=0.1)


def test_release_written_and_read_keeps_what_it_counts(table):
    release = dp.Session(table, recipient="acme", budget=1.0).release(dp.Mean("age"), epsilon=0.5)
    assert dp.Release.from_json(release.to_json()).counted == release.counted != ""
    old = {name: value for name, value in release.to_dict().items() if name != "counted"}
    assert dp.Release.from_dict(old).counted == ""

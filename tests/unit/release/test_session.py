"""Sessions: priced without data, paid before a look, remembered, refused with asked and left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pydplib as dp
from pydplib.errors import BudgetError, CalibrationError, EngineError, ParameterError, PolicyError


def test_release_again_costs_nothing_and_is_byte_identical(session):
    first = session.release(dp.Mean("age", by="pirads"), epsilon=0.5)
    left = session.remaining.epsilon
    second = session.release(dp.Mean("age", by=["pirads"]), epsilon=0.5)
    assert second.to_json() == first.to_json()
    assert session.remaining.epsilon == left == 4.5


def test_notebook_twice_costs_once_even_in_a_new_process(people, schema, tmp_path):
    def notebook() -> tuple[str, float]:
        with dp.load(people, schema) as table, dp.SqliteLedger(tmp_path / "ledger.db") as ledger:
            session = dp.Session(table, recipient="acme", role="third_party", budget=dp.PureDP(1.0), ledger=ledger)
            texts = [session.release(q, epsilon=0.2).to_json() for q in (dp.Mean("age"), dp.Median("age", by="bph"))]
            return "\n".join(texts), session.remaining.epsilon

    assert notebook() == notebook()
    assert notebook()[1] == 0.6


def test_another_recipient_gets_the_same_bytes_and_pays_but_the_data_set_does_not(table):
    ledger = dp.MemoryLedger()
    one = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0), ledger=ledger)
    two = dp.Session(table, recipient="bmed", budget=dp.PureDP(1.0), ledger=ledger)
    first = one.release(dp.Count(), epsilon=0.25)
    whole = ledger.remaining(lineage="reports").epsilon
    assert two.release(dp.Count(), epsilon=0.25).to_json() == first.to_json()
    assert two.remaining.epsilon == 0.75
    assert ledger.remaining(lineage="reports").epsilon == whole


def test_another_snapshot_is_another_release_of_the_same_budget(table):
    ledger = dp.MemoryLedger()
    old = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0), ledger=ledger, snapshot="2018-01")
    new = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0), ledger=ledger, snapshot="2018-02")
    assert old.release(dp.Count(), epsilon=0.25).key != new.release(dp.Count(), epsilon=0.25).key
    assert new.remaining.epsilon == 0.5


def test_release_over_budget_is_refused_with_asked_and_left_and_nobody_looks(untouchable):
    session = dp.Session(untouchable, recipient="acme", budget=dp.PureDP(0.3))
    with pytest.raises(BudgetError, match=r"asked epsilon 0\.5, left epsilon 0\.3 of 0\.3") as caught:
        session.release(dp.Mean("age"), epsilon=0.5)
    assert caught.value.asked == "epsilon 0.5" and "0.3" in caught.value.left
    assert untouchable.engine.looks == 0


@pytest.mark.parametrize("given", [{"epsilon": 0.2}, {"margin": 1000}, {"noise_factor": "high"}, {}])
def test_price_touches_no_data_and_spends_nothing(untouchable, given):
    session = dp.Session(untouchable, recipient="acme", role="third_party")
    before = session.remaining
    for question in (dp.Count(by="pirads"), dp.Median("age"), dp.Quantiles("age"), dp.Sum("psa")):
        price = session.price(question, **given)
        assert 0 < price.epsilon <= 1 and str(price)
    assert session.remaining == before and untouchable.engine.looks == 0


def test_price_tells_what_the_release_then_costs(session):
    price = session.price(dp.Count(by="pirads"), margin=10)
    release = session.release(dp.Count(by="pirads"), margin=10)
    assert release.epsilon == price.epsilon
    assert release.margins95[0] == price.margin95 <= 10
    assert session.price(dp.Count(by="pirads"), margin=10).free


def test_margin_buys_the_smallest_epsilon(session):
    price = session.price(dp.Count(), margin=10)
    tighter = session.price(dp.Count(), epsilon=round(price.epsilon * 0.999, 6))
    assert tighter.margin95 > 10 >= price.margin95


def test_margin_of_a_mean_needs_the_size_and_says_how_to_get_it(session):
    with pytest.raises(CalibrationError, match="buy_size"):
        session.price(dp.Mean("age"), margin=1)
    session.buy_size(epsilon=0.5)
    price = session.price(dp.Mean("age"), margin=1)
    release = session.release(dp.Mean("age"), margin=1)
    assert price.margin95 <= 1
    assert release.margin95 <= 1.2


def test_size_is_bought_once_and_debited(session):
    assert session.size is None
    bought = session.buy_size(epsilon=0.25)
    assert session.size == bought.values[0]
    session.buy_size(epsilon=0.25)
    assert session.remaining.epsilon == 4.75


def test_size_epsilon_is_what_the_number_of_rows_costs_and_recipients_share_it(table):
    ledger = dp.MemoryLedger()
    acme, bmed = (
        dp.Session(table, recipient=name, role="third_party", ledger=ledger, size_epsilon=0.02)
        for name in ("acme", "bmed")
    )
    assert float(acme.size_epsilon) == 0.02
    assert any("epsilon 0.02" in note for note in acme.price(dp.Count()).notes)
    acme.buy_size()
    assert bmed.size is None, "who has not paid does not know it"
    assert bmed.buy_size().values == acme.buy_size().values
    assert (acme.remaining.epsilon, bmed.remaining.epsilon) == (1.98, 1.98)
    (whole,) = [account for account in ledger.accounts(lineage=acme.lineage) if account.recipient is None]
    assert whole.state.nano_epsilon == 20_000_000, "the data set pays once"


def test_size_epsilon_above_the_roles_cap_gives_way_to_a_tenth_of_it(table):
    session = dp.Session(table, recipient="acme", role="third_party", size_epsilon=1.9)
    assert float(session.size_epsilon) == 0.1
    free = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0))
    assert free.size_epsilon is None
    with pytest.raises(ParameterError):
        dp.Session(table, recipient="acme", role="third_party", size_epsilon=0)


def test_declared_size_is_free(people, schema):
    declared = dp.Schema(schema.columns, person="patient", max_rows_per_person=2, size=300, name="reports")
    with dp.load(people, declared) as table:
        session = dp.Session(table, recipient="acme", role="third_party")
        assert session.size == 300
        price = session.price(dp.Count(), noise_factor="high")
        assert price.epsilon == pytest.approx(2 / (0.15 * 300), rel=1e-3)
        assert price.noise_percent == pytest.approx(15, rel=1e-3)
        assert session.release(dp.Count()).epsilon == price.epsilon  # the role's noise factor


@pytest.mark.parametrize("question", [dp.Count(), dp.Sum("age"), dp.Mean("age"), dp.Variance("age"), dp.Median("age")])
@pytest.mark.parametrize(("factor", "percent"), [("low", 2.5), ("medium", 7.5), ("high", 15.0)])
def test_noise_factor_aims_at_the_middle_of_its_band(people, question, factor, percent):
    schema = dp.Schema({"age": dp.Number(18, 100, step=1)}, size=920, name="reports")
    with dp.load(people, schema) as table:
        session = dp.Session(table, recipient="acme", budget=dp.PureDP(9.0))
        assert session.price(question, noise_factor=factor).noise_percent == pytest.approx(percent, rel=2e-3)


def test_noise_factor_without_a_known_size_buys_it_with_the_release(table):
    session = dp.Session(table, recipient="acme", role="third_party")
    price = session.price(dp.Mean("age"))
    assert price.at_most and price.epsilon == 1 and "included in the price" in price.notes[0]
    release = session.release(dp.Mean("age"))
    assert release.epsilon < 1
    assert session.remaining.epsilon == pytest.approx(2 - 0.1 - release.epsilon, abs=1e-9)
    assert not session.price(dp.Mean("age")).at_most


def test_cap_lowers_the_noise_factors_epsilon_and_says_so(people):
    schema = dp.Schema({"age": dp.Number(18, 100, step=1)}, size=20, name="reports")
    with dp.load(people, schema) as table:
        session = dp.Session(table, recipient="acme", role="third_party")
        release = session.release(dp.Histogram("age"), noise_factor="high")
        assert release.epsilon == 1 and any("more noise than the band says" in note for note in release.notes)
        strict = dp.Session(table, recipient="bmed", role="third_party", on_conflict="refuse")
        with pytest.raises(PolicyError, match=r"cap is 1\b"):
            strict.release(dp.Histogram("age"), noise_factor="high")


def test_role_caps_and_labels_refuse_before_anything_is_paid(untouchable):
    session = dp.Session(untouchable, recipient="acme", role="third_party")
    with pytest.raises(PolicyError, match=r"epsilon 1 at most"):
        session.release(dp.Mean("age"), epsilon=1.1)
    with pytest.raises(PolicyError, match="much noise at most"):
        session.price(dp.Mean("age"), noise_factor="low")
    with pytest.raises(PolicyError, match="may not ask"):
        dp.Session(untouchable, recipient="dr", role="radiologist")
    assert session.remaining.epsilon == 2.0


def test_policy_that_closes_a_field_refuses_questions_and_filters_on_it(untouchable):
    rule = dp.policy.PolicyRule(
        "third_party", "dp_high", fields=("age",), filters=("bph",), epsilon_per_question=0.5, budget=2.0
    )
    session = dp.Session(untouchable, recipient="acme", role="third_party", policy=dp.Policy(rules=(rule,)))
    for question in (dp.Mean("psa"), dp.Mean("age", by="pirads"), dp.Mean("age", where=[dp.Where("psa").at_least(3)])):
        with pytest.raises(PolicyError):
            session.price(question, epsilon=0.1)
    assert session.price(dp.Mean("age", where=[dp.Where("bph").eq(True)]), epsilon=0.1).epsilon == 0.1


def test_session_without_price_budget_or_table_says_what_is_missing(table):
    with pytest.raises(BudgetError, match=r"budget=1\.0"):
        dp.Session(table, recipient="acme")
    session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0))
    with pytest.raises(ParameterError, match="no default"):
        session.release(dp.Mean("age"))
    with pytest.raises(ParameterError, match="one of"):
        session.release(dp.Mean("age"), epsilon=0.1, margin=3)
    with pytest.raises(ParameterError, match=r"dp\.load"):
        dp.Session([1, 2, 3], recipient="acme")


def test_session_with_another_limit_for_an_open_budget_is_refused(table):
    ledger = dp.MemoryLedger()
    dp.Session(table, recipient="acme", budget=dp.PureDP(1.0), ledger=ledger)
    with pytest.raises(BudgetError, match="another limit"):
        dp.Session(table, recipient="acme", budget=dp.PureDP(2.0), ledger=ledger)
    assert dp.Session(table, recipient="acme", ledger=ledger).remaining.epsilon == 1.0
    lower = dp.Session(table, recipient="acme", budget=0.3, ledger=ledger)
    assert lower.remaining.epsilon == 0.3
    with pytest.raises(BudgetError, match=r"under today's policy .* left epsilon 0\.3 of 0\.3"):
        lower.release(dp.Count(), epsilon=0.5)
    ledger.change_limit(lineage="reports", recipient="acme", limit=dp.PureDP(2.0), by="ada")
    assert dp.Session(table, recipient="acme", budget=dp.PureDP(2.0), ledger=ledger).remaining.epsilon == 2.0


def test_data_set_budget_binds_all_recipients_together(table):
    ledger, policy = dp.MemoryLedger(), dp.Policy(rules=(), data_set_budget=1.0)
    one = dp.Session(table, recipient="acme", budget=dp.PureDP(0.8), ledger=ledger, policy=policy)
    two = dp.Session(table, recipient="bmed", budget=dp.PureDP(0.8), ledger=ledger, policy=policy)
    one.release(dp.Count(), epsilon=0.8)
    with pytest.raises(BudgetError, match="data set's own budget") as caught:
        two.release(dp.Mean("age"), epsilon=0.5)
    assert str(caught.value).count("shared by all recipients, cannot pay") == 1
    assert caught.value.left is None  # what is left of the data set's budget depends on what others asked


def test_failed_look_keeps_the_debit_and_the_next_ask_is_free(table, monkeypatch):
    session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0))
    with monkeypatch.context() as patch:
        patch.setattr(type(table.engine), "aggregate", lambda *_: 1 / 0)
        with pytest.raises(EngineError, match="paid for"):
            session.release(dp.Count(), epsilon=0.5)
    assert session.remaining.epsilon == 0.5
    session.release(dp.Count(), epsilon=0.5)
    assert session.remaining.epsilon == 0.5


KILLED = """
import os, signal, sys
import pandas as pd, pydplib as dp
schema = dp.Schema({"age": dp.Number(18, 100)}, name="reports")
table = dp.load(pd.DataFrame({"age": [60, 70]}), schema)
session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0), ledger=dp.SqliteLedger(sys.argv[1]))
type(table.engine).aggregate = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
session.release(dp.Count(), epsilon=0.4)
"""


def test_kill_between_debit_and_answer_keeps_the_debit(tmp_path: Path, people):
    path = tmp_path / "ledger.db"
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED))
    done = subprocess.run([sys.executable, str(script), str(path)], capture_output=True, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    schema = dp.Schema({"age": dp.Number(18, 100)}, name="reports")
    with dp.load(people, schema) as table, dp.SqliteLedger(path) as ledger:
        session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0), ledger=ledger)
        assert session.remaining.epsilon == 0.6
        session.release(dp.Count(), epsilon=0.4)  # finishes what was paid
        assert session.remaining.epsilon == 0.6
        ledger.verify()


def test_unknown_keys_need_a_budget_with_delta(people, schema):
    with dp.load(people.assign(name="Oslo"), schema) as table:
        pure = dp.Session(table, recipient="acme", budget=dp.PureDP(2.0))
        with pytest.raises(BudgetError, match="ApproxDP"):
            pure.release(dp.Count(by={"name": None}), epsilon=1.0)
        session = dp.Session(table, recipient="acme", budget=dp.ApproxDP(4.0, 1e-6))
        for question in (
            dp.Count(by={"name": None}),
            dp.Mean("age", by={"name": None}),
            dp.Variance("age", by={"name": None}),
        ):
            release = session.release(question, epsilon=1.0)
            assert release.keys == (("Oslo",),) and release.delta == pytest.approx(1e-7)
            assert "smaller ones stay hidden" in release.notes[0]
        assert session.release(dp.Sum("age", by={"name": None}), epsilon=1.0).margins95[0] > 0


def test_answers_lie_near_the_truth_at_a_high_price(people, schema):
    first = people.groupby("patient").head(2)
    with dp.load(first, schema) as table:
        session = dp.Session(
            table, recipient="owner", budget=dp.PureDP(9000.0), policy=dp.Policy(rules=(), data_set_budget=9000.0)
        )

        def ask(question: dp.release.Question) -> dp.Release:
            return session.release(question, epsilon=400.0)

        assert ask(dp.Count()).value == pytest.approx(len(first), abs=0.1)
        assert ask(dp.Count(of="persons")).value == 300
        assert ask(dp.Sum("psa")).value == pytest.approx(first.psa.sum(), rel=1e-3)
        assert ask(dp.Mean("age")).value == pytest.approx(first.age.mean(), abs=0.01)
        assert ask(dp.Variance("age")).value == pytest.approx(first.age.var(ddof=0), abs=0.2)
        assert ask(dp.Median("age")).value in (64, 65)  # both are medians of these rows
        groups = first.groupby("pirads").age.mean().tolist()
        assert ask(dp.Mean("age", by="pirads")).value[:3] == pytest.approx(groups, abs=0.05)
        table_of = ask(dp.Crosstab("bph", "pirads", where=[dp.Where("age").less_than(60)]))
        truth = first[first.age < 60].groupby(["bph", "pirads"]).size().to_numpy().reshape(2, 3)
        assert table_of.value[:, :3] == pytest.approx(truth, abs=0.2)
        inside = first[(first.age >= 60) & (first.age <= 70)].age.mean()
        assert ask(dp.Mean("age", where=[dp.Where("age").between(60, 70)])).value == pytest.approx(inside, abs=0.01)


def test_stored_bytes_do_not_tell_others_what_one_recipient_bought(table):
    ledger = dp.MemoryLedger()
    one = dp.Session(table, recipient="acme", role="third_party", ledger=ledger)
    bought = one.release(dp.Mean("age"))  # buys the size first
    assert bought.expected_noise == pytest.approx(15, rel=0.01)
    two = dp.Session(table, recipient="bmed", role="third_party", ledger=ledger)
    assert two.size is None
    same = two.release(dp.Mean("age"), epsilon=bought.epsilon)
    assert same.key == bought.key and same.values == bought.values
    assert same.expected_noise is None and all("worth little" in note for note in same.notes)


def test_price_after_a_crash_while_the_size_was_bought_touches_no_data(table, untouchable, monkeypatch):
    ledger = dp.MemoryLedger()
    session = dp.Session(untouchable, recipient="acme", role="third_party", ledger=ledger)
    with pytest.raises(EngineError):
        session.buy_size()
    assert untouchable.engine.looks == 1
    assert session.price(dp.Mean("age")).at_most
    assert untouchable.engine.looks == 1


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_come_back_in_the_library_they_came_in(people, schema, library):
    import polars as pl
    import pyarrow as pa

    frame = {"pandas": lambda: people, "polars": lambda: pl.from_pandas(people), "pyarrow": lambda: pa.table(people)}
    with dp.load(frame[library](), schema) as table:
        release = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0)).release(dp.Count(by="bph"), epsilon=0.5)
        assert type(release.to_frame()).__module__.split(".")[0] == library
        assert type(release.to_frame(backend="polars")).__module__.split(".")[0] == "polars"

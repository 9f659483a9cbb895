"""The leak report at its edges: nothing to attack, no time, one row, yes and no, proofs that are too weak."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

import pydplib as dp
from pydplib.attack import AUDIENCES, leak_report
from pydplib.attack._arguments import TimeUp, check_time, until
from pydplib.attack.leaks.audiences import judge_audience
from pydplib.attack.tables.candidates import join_classes
from pydplib.attack.tables.cells import relate
from pydplib.errors import DataError

RNG = np.random.default_rng(9)
TABLE = pd.DataFrame({"age": RNG.integers(20, 90, 200), "ill": RNG.choice(["flu", "hiv", "burn"], 200)})
COARSE = TABLE.assign(age=(TABLE["age"] // 20 * 20).map(lambda low: f"{low}-{low + 19}"))
ABOUT = {"quasi_identifiers": ["age"], "sensitive": "ill"}


def test_empty_release_exposes_nobody_and_everybody_may_have_it():
    report = leak_report(TABLE, COARSE.head(0), **ABOUT)
    assert report.result("linkage").baseline == 0
    assert {verdict.answer for verdict in report.verdicts} == {"yes"}


def test_empty_original_is_refused():
    with pytest.raises(DataError, match="original has no rows"):
        leak_report(TABLE.head(0), COARSE, **ABOUT)


def test_report_without_a_sensitive_column_says_what_was_not_tried():
    assert any("No sensitive column" in note for note in leak_report(TABLE, COARSE, quasi_identifiers=["age"]).notes)
    assert not any("No sensitive column" in note for note in leak_report(TABLE, COARSE, **ABOUT).notes)


@pytest.mark.parametrize("rows", [1, 2])
def test_noisy_column_of_few_people_is_attacked_as_far_as_it_goes(rows):
    table = pd.DataFrame({"age": [61.0, 72.5][:rows]})
    report = leak_report(table, table, noisy="age")
    assert not report.unfinished
    assert report.answer("public") == "no"


def test_yes_and_no_have_no_ends_that_give_somebody_away():
    flags = pd.Series(RNG.random(400) < 0.3, name="bph")
    report = leak_report(flags, dp.dp_calculate(flags.to_numpy(), "count", "medium"))
    assert [outcome.task.name for outcome in report.outcomes] == ["averaging", "unsorted matching"]
    assert report.answer("third_party") == "no"


def test_noisy_column_with_a_local_proof_is_judged_by_it():
    ages = np.random.default_rng(3).uniform(18, 100, 6_000)
    report = leak_report(ages, dp.dp_calculate(ages, "mean", bounds=(18, 100), record_epsilon=0.5))
    assert report.result("unsorted matching").exposed == 1, "the order alone would have decided otherwise"
    assert [verdict.answer for verdict in report.verdicts] == ["yes", "yes", "yes", "no"]


@pytest.mark.parametrize(("delta", "answer"), [(0.0, "yes"), (1e-6, "yes"), (1e-3, "no"), (0.5, "no")])
def test_proof_that_may_fail_too_often_is_not_enough(delta, answer):
    verdict = judge_audience(AUDIENCES["third_party"], [], [], epsilon=0.2, delta=delta, guaranteed=True)
    assert verdict.answer == answer


def test_attack_that_could_not_be_tried_is_told_from_one_that_was_late():
    public = AUDIENCES["public"]
    late = judge_audience(public, [], ["skewness"])
    stuck = judge_audience(public, [], [], failed=["temporal"])
    assert late.answer == stuck.answer == "open"
    assert "more time" in late.reasons[0]
    assert "Could not be tried: temporal" in stuck.reasons[0]
    assert "more time" not in stuck.reasons[0]
    assert judge_audience(AUDIENCES["collaborator"], [], [], failed=["temporal"]).answer == "yes"


def test_time_limit_ends_the_first_match_and_leaves_all_open(monkeypatch):
    rng = np.random.default_rng(1)
    values = [f"{rng.integers(1e9):010d}" for _ in range(30_000)]
    cells = [value[:5] + "*****" for value in values]
    big, masked = pd.DataFrame({"code": values, "ill": "flu"}), pd.DataFrame({"code": cells, "ill": "flu"})
    looks = []

    def clock():
        looks.append(0.001 * len(looks))  # every look takes a thousandth of a second
        return looks[-1]

    monkeypatch.setattr(time, "monotonic", clock)
    report = leak_report(big, masked, quasi_identifiers=["code"], sensitive="ill", time_limit=0.02, previous=[masked])
    assert 20 < len(looks) < 200, "the match ends soon after its time"
    assert all(outcome.late for outcome in report.outcomes)
    assert report.answer("public") == "open"
    assert report.answer("owner") == "yes"


def test_clock_stops_the_join_and_is_forgotten_afterwards():
    ages = relate([31, 52], ["30-39", "50-59"])
    sides = [np.array([0, 1])], [np.array([0, 1])]
    with until(time.monotonic() - 1), pytest.raises(TimeUp):
        join_classes(*sides, [ages], (2, 2))
    check_time()
    assert len(join_classes(*sides, [ages], (2, 2))[0]) == 2
    with until(time.monotonic() + 60):
        check_time()

"""The leak report as a page: whole in itself, every attack explained, verdicts last, no cell on it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import pydplib as dp
from pydplib.attack import leak_report
from pydplib.attack.kinds import LeakTask
from pydplib.attack.leaks.tasks import Outcome
from pydplib.plot import attacks as figures
from pydplib.report.leak import EXPLAINED, leak_page


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    ills = rng.choice(["CANARYFLU", "CANARYHIV", "burn", "gout"], 200)
    return pd.DataFrame({"age": rng.integers(20, 90, 200), "zip": "CANARYZIP", "ill": ills})


@pytest.fixture(scope="module")
def report(people):
    coarse = people.assign(age=people["age"].map(lambda a: f"{a // 10 * 10}-{a // 10 * 10 + 9}"))
    return leak_report(people, coarse, quasi_identifiers=["age", "zip"], sensitive="ill")


def test_page_says_what_was_tried_what_was_learnt_and_who_may_get_it(report):
    page = leak_page(report, name="out.csv", original="in.csv").to_html()
    heads = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert heads == ["In short", "What was tried", "What was learnt", "Who may get it", "What this cannot show"]
    for result in report.results:
        assert figures.name_of(result) in page
        assert result.sentence.split(":")[0].split("'")[0][:40] in page
    for verdict in report.verdicts:
        assert verdict.audience.title in page
    assert "in.csv" in page and "What leaks from out.csv" in page


def test_page_holds_no_cell(report):
    assert "CANARY" not in leak_page(report).to_html()


def test_every_attack_has_an_explanation(report):
    names = {result.name.split(",")[0] for result in report.results}
    assert names <= set(EXPLAINED)
    assert {"temporal", "complementary release", "minimality", "similarity", "averaging", "membership"} <= set(
        EXPLAINED
    )


def test_figures_show_the_numbers_of_the_results(report):
    exposed = figures.exposed_bars(report.results)
    assert list(exposed.data[0].x) == [100 * result.exposed for result in reversed(report.results)]
    bars = figures.success_bars(report.results)
    drawn = {name: x for trace in bars.data[:2] for name, x in zip(trace.y, trace.x, strict=True)}
    assert drawn == {figures.name_of(result): 100 * result.success for result in report.results}
    assert list(bars.data[2].x) == [100 * result.baseline for result in reversed(report.results)]


def test_page_of_paper_mode_draws_repeated_calls():
    ages = pd.Series(np.random.default_rng(1).normal(65, 8, 120), name="age")
    found = leak_report(ages, dp.dp_calculate(ages, "mean", "low"))
    page = leak_page(found, name="noisy.csv").to_html()
    assert "Asking again for age" in page
    assert found.guarantee in page.replace("&#x27;", "'")


def test_page_of_a_private_release_rests_on_the_proof():
    found = leak_report(None, dp.count([1] * 50, epsilon=0.4))
    page = leak_page(found).to_html()
    assert "A proof bounds every attack" in page
    assert "membership" in page


def test_page_names_attacks_that_were_not_finished(report):
    import dataclasses

    lost = dataclasses.replace(
        report, outcomes=(*report.outcomes, Outcome(LeakTask("temporal", "ill", ""), None, 0, "too slow"))
    )
    assert "too slow" in leak_page(lost).to_html()
    empty = dataclasses.replace(report, outcomes=())
    assert "No attack came to a result" in leak_page(empty).to_html()

"""The leak report: every attack that applies, its verdicts, its limits in time, and nothing private in it."""

from __future__ import annotations

import json
import pickle
import time

import numpy as np
import pandas as pd
import pytest

import pydplib as dp
from pydplib import attack
from pydplib.anonymity import AlphaK, Hierarchy, Intervals, KAnonymity, LDiversity, Masking, TCloseness, anonymize
from pydplib.attack import AUDIENCES, AttackResult, background_knowledge, leak_report
from pydplib.attack.answers.noisy_column import judge_asking_again, judge_extremes, judge_noisy_order, rank_correlation
from pydplib.attack.kinds import LeakTask, Shared
from pydplib.attack.leaks.audiences import judge_audience
from pydplib.attack.leaks.tasks import LATE, RUNS, run_tasks
from pydplib.errors import DataError, ParameterError

STEPS = {"age": Intervals(0, 100, [10, 20]), "zip": Masking(3)}
ABOUT = {"quasi_identifiers": ["age", "zip"], "sensitive": "ill"}


def cohort(n=400, seed=5):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "zip": [str(z) for z in rng.integers(100, 110, n)],
            "ill": rng.choice(["flu", "burn", "hiv", "gout"], n),
        }
    )


def test_report_of_the_raw_table_refuses_everybody_but_the_owner():
    people = cohort()
    report = leak_report(people, people, **ABOUT)
    answers = {verdict.audience.name: verdict.answer for verdict in report.verdicts}
    assert answers == {"owner": "yes", "collaborator": "no", "third_party": "no", "public": "no"}
    assert report.result("unsorted matching").exposed == 1
    assert report.result("linkage").exposed > 0.5
    assert report.worst.exposed == 1


def test_report_runs_every_attack_that_applies_and_equals_the_functions():
    people = cohort()
    kinds = {"ill": Hierarchy.grouping({"a": ["flu", "gout"], "b": ["burn", "hiv"]})}
    first = anonymize(people.iloc[:390], STEPS, sensitive="ill", models=[KAnonymity(3)], suppression=0.05)
    result = anonymize(people, STEPS, sensitive="ill", models=[KAnonymity(3), AlphaK(0.7, 3)], suppression=0.05)
    came = people.iloc[390:]
    report = leak_report(
        people, result, kinds=kinds, population=pd.concat([people, cohort(800, 6)]), previous=[first], came=came
    )
    names = [outcome.task.name for outcome in report.outcomes]
    assert set(names) == {
        "linkage", "linkage, journalist", "linkage, marketer", "unsorted matching", "homogeneity",
        "background knowledge", "background knowledge, 2 pieces", "skewness", "similarity", "minimality",
        "complementary release", "temporal",
    }  # fmt: skip
    assert not report.unfinished
    assert report.result("homogeneity") == attack.homogeneity(result, people)
    assert report.result("skewness") == attack.skewness(result, people)
    assert report.result("linkage") == attack.linkage(result, people)
    assert report.result("similarity") == attack.similarity(result, people, hierarchy=kinds["ill"])
    assert report.result("complementary release") == attack.complementary_release([result, first], people)
    assert report.result("temporal") == attack.temporal(first, result, came)
    assert report.guarantee == result.certificate.guarantee.sentence


def test_report_of_a_strict_release_allows_a_collaborator_and_of_a_stricter_one_the_third_party():
    people = cohort(3000).assign(ill=lambda t: np.where(np.arange(len(t)) % 2, "flu", "burn"))
    five = anonymize(people, STEPS, sensitive="ill", models=[KAnonymity(5), LDiversity(2)], suppression=0.02)
    report = leak_report(people, five)
    assert report.answer("collaborator") == "yes"
    coarse = {"age": Intervals(0, 100, [50]), "zip": Masking(3)}
    models = [KAnonymity(100), LDiversity(2), TCloseness(0.15)]
    strict = leak_report(people, anonymize(people, coarse, sensitive="ill", models=models, suppression=0.0))
    assert strict.result("skewness").exposed == 0
    # Two values: whoever can exclude one knows the other without any release, and the report says so.
    background = strict.result("background knowledge")
    assert (background.exposed, background.details["gained"], background.baseline) == (1.0, 0.0, 1.0)
    assert "without the release" in background.sentence
    assert strict.answer("third_party") == "yes"


def _classes(yes_of_each, size=200):
    """Return a release with one class per entry, this many of whose members have the value 'yes'."""
    people = pd.DataFrame(
        {
            "age": np.repeat([f"{low}-{low + 9}" for low in range(20, 20 + 10 * len(yes_of_each), 10)], size),
            "ill": np.concatenate([["yes"] * yes + ["no"] * (size - yes) for yes in yes_of_each]),
        }
    )
    return leak_report(people, people, quasi_identifiers=["age"], sensitive="ill", audiences=[AUDIENCES["third_party"]])


def test_groups_without_a_rare_value_tell_little_and_groups_of_it_tell_everything():
    rare = _classes([0, 0, 0, 80])  # one in ten has it: three groups in which nobody has
    found = rare.result("homogeneity")
    assert found.exposed == 0.75 and found.details["gained"] == 0.0
    assert not any("Homogeneity" in reason for v in rare.verdicts for reason in v.reasons)
    planted = _classes([0, 0, 0, 200])  # everybody in the last group has it: nobody could have guessed that
    found = planted.result("homogeneity")
    assert found.exposed == 1.0 and found.details["gained"] == 1.0
    assert any("Homogeneity (ill) exposes 100 %" in reason for v in planted.verdicts for reason in v.reasons)
    even = _classes([200, 0])
    assert even.result("homogeneity").details["gained"] == 1.0, "of two common values either is worth knowing"


def test_one_excluded_value_of_three_is_still_the_releases_doing():
    people = pd.DataFrame({"age": ["20"] * 200 + ["30"] * 200, "ill": (["flu", "hiv"] * 100) + (["flu", "gout"] * 100)})
    found = background_knowledge(people, quasi_identifiers=["age"], sensitive="ill")
    # Not flu: hiv or gout, one in two; the release says which.
    assert found.exposed == 1.0 and found.details["gained"] == pytest.approx(1.0)


def test_report_finds_hierarchical_kinds_in_the_recipe():
    people = cohort()
    tree = Hierarchy.grouping({"a": ["flu", "gout"], "b": ["burn", "hiv"]})
    models = [KAnonymity(5), TCloseness(0.4, distance="hierarchical", hierarchy=tree)]
    result = anonymize(people, STEPS, sensitive="ill", models=models, suppression=0.1)
    assert leak_report(people, result).result("similarity").details["kinds"] == 2


def test_report_of_means_instead_of_intervals_takes_the_attacker_to_know_the_class():
    people = cohort().assign(zip="100")
    result = anonymize(
        people, ["age", "zip"], sensitive="ill", models=[KAnonymity(4)], suppression=0.1, method="microaggregation"
    )
    report = leak_report(people, result)
    assert "taken to know which class" in report.notes[0]
    assert report.result("linkage").details["maximum"] == pytest.approx(result.risk.after.prosecutor.maximum)
    assert report.result("homogeneity") == attack.homogeneity(result)
    assert report.answer("third_party") == "no"
    with pytest.raises(DataError, match="hierarchies"):
        leak_report(people, result, previous=[result])


def test_report_in_processes_equals_the_report_in_one():
    people = cohort()
    result = anonymize(people, STEPS, sensitive="ill", models=[KAnonymity(3)], suppression=0.05)
    seen = []
    one = leak_report(people, result)
    two = leak_report(people, result, workers=2, progress=lambda done, total, name: seen.append((done, total)))
    assert one.results == two.results
    assert seen[-1][0] == seen[-1][1] == len(one.outcomes)


def test_report_out_of_time_leaves_verdicts_open_instead_of_saying_yes():
    people = cohort(200)
    result = anonymize(people, STEPS, sensitive="ill", models=[KAnonymity(20), LDiversity(3)], suppression=0.1)
    report = leak_report(people, result, time_limit=1e-9)
    assert all(outcome.problem == LATE for outcome in report.outcomes)
    assert {v.audience.name: v.answer for v in report.verdicts}["third_party"] == "open"


def _pass(shared, clock):
    clock[0] += 2  # seconds, of a clock that only this moves
    return AttackResult.of_tries("slow", hits=1, tries=1, baseline=0.5, sentence="S.")


def test_tasks_in_one_process_stop_between_two_at_the_deadline(monkeypatch):
    clock = [0.0]
    monkeypatch.setitem(RUNS, "slow", _pass)
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    done = run_tasks([LeakTask("slow", "x", "slow", {"clock": clock})] * 3, Shared(), deadline=1.0)
    assert [outcome.problem for outcome in done] == ["", LATE, LATE]


def test_shared_data_can_travel_to_a_process_and_print_nothing():
    people = cohort(50)
    report_data = Shared(people=50, columns={"age": (np.arange(3.0), np.arange(3.0))})
    again = pickle.loads(pickle.dumps(report_data))
    assert repr(again) == "Shared(private)"
    assert len(people) == 50


def test_report_never_quotes_a_cell():
    people = cohort(200).replace({"ill": {"hiv": "CANARYILL"}}).assign(zip="CANARYZIP")
    report = leak_report(people, people.assign(age="*"), **ABOUT, kinds={"ill": Hierarchy.flat(people["ill"].unique())})
    text = f"{report} {report!r} {json.dumps(report.to_dict())}"
    assert "CANARY" not in text
    assert json.loads(json.dumps(report.to_dict()))["verdicts"][0]["audience"] == "owner"


# -- noisy columns ---------------------------------------------------------------------------------


def test_report_of_paper_mode_shows_the_leaks_of_fresh_noise_and_of_the_order():
    ages = pd.Series(np.random.default_rng(1).normal(65, 8, 400).clip(40, 90).round(1), name="age")
    report = leak_report(ages, dp.dp_calculate(ages, "mean", "medium"))
    again = report.result("averaging")
    assert again.details["success_by_calls"][-1] > 0.9 > again.details["success_by_calls"][0]
    assert report.result("unsorted matching").exposed == 1
    assert report.answer("third_party") == report.answer("collaborator") == "no"
    assert "No" in report.guarantee or "no" in report.guarantee


def test_fitted_paper_mode_shows_both_ends_and_unfitted_does_not():
    ages = np.random.default_rng(1).normal(65, 8, 300).clip(40, 90)
    fitted = np.asarray(dp.dp_calculate(ages, "mean", "low", is_range=True).dp_data)
    found = judge_extremes(ages, fitted, "age")
    assert (found.success, found.details["ends_shown"]) == (1.0, 2)
    plain = np.asarray(dp.dp_calculate(ages, "mean", "low").dp_data)
    assert judge_extremes(ages, plain, "age").exposed == 0
    known = judge_asking_again(ages, fitted, "age", factor="low", scale=None)
    assert known.details["success_by_calls"][-1] > known.details["success_by_calls"][0]
    once = judge_asking_again(ages, fitted, "age", factor=None, scale=None)
    assert once.details["calls"] == [1]


def test_shuffled_noisy_column_has_no_order():
    rng = np.random.default_rng(2)
    exact = rng.normal(65, 8, 500)
    noisy = exact + rng.laplace(0, 5, 500)
    assert judge_noisy_order(exact, noisy, "age").exposed == 1
    assert judge_noisy_order(exact, rng.permutation(noisy), "age").exposed == 0


def test_rank_correlation_equals_scipy():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 9, 60).astype(float), rng.integers(0, 9, 60).astype(float)
    assert rank_correlation(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)


def test_noisy_column_beside_quasi_identifiers_is_attacked_as_both():
    people = cohort()
    noisy = people.assign(age=people["age"] + np.random.default_rng(1).laplace(0, 3, len(people)))
    report = leak_report(people, noisy, quasi_identifiers=["zip"], sensitive="ill", noisy={"age": "low"})
    assert {"linkage", "averaging", "extremes"} <= {result.name for result in report.results}
    with pytest.raises(ParameterError, match="carries noise"):
        leak_report(people, noisy, **ABOUT, noisy="age")
    with pytest.raises(DataError, match="as many rows"):
        leak_report(people, noisy.iloc[1:], noisy="age")


def test_column_without_noise_is_told_so():
    exact = np.arange(50.0)
    found = judge_asking_again(exact, exact, "age", factor=None, scale=None)
    assert found.exposed == 1
    assert "no noise" in found.sentence


# -- differentially private releases ---------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "wanted"), [(0.1, "yyyy"), (2.0, "yyyn"), (3.0, "yynn"), (5.0, "ynnn")])
def test_report_of_a_private_release_rests_on_its_epsilon(epsilon, wanted):
    schema = dp.Schema(
        columns={"age": dp.Integer(0, 99), "ill": dp.Category(["flu", "burn", "hiv", "gout"])}, max_rows_per_person=1
    )
    people = cohort()
    session = dp.Session(
        dp.load(people[["age", "ill"]], schema), recipient="x", role="owner", budget=dp.PureDP(5.0),
        ledger=dp.MemoryLedger(),
    )  # fmt: skip
    release = session.release(dp.Crosstab("age", "ill", bins={"age": [0, 30, 60, 90]}), epsilon=epsilon)
    report = leak_report(people, release, quasi_identifiers=["age"], sensitive="ill")
    assert "".join(verdict.answer[0] for verdict in report.verdicts) == wanted
    presence = report.result("membership")
    assert presence.success == pytest.approx(np.exp(epsilon) / (1 + np.exp(epsilon)))
    assert presence.details["most_advantage"] == pytest.approx(np.tanh(epsilon / 2))
    assert report.kind == "counts"
    assert {"homogeneity", "skewness", "background knowledge"} <= {result.name for result in report.results}


def test_report_of_one_private_number_needs_no_columns():
    report = leak_report(None, dp.mean([61, 67, 70] * 50, bounds=(18, 100), epsilon=0.4))
    assert [result.name for result in report.results] == ["membership"]
    assert report.answer("third_party") == "yes"


# -- audiences -------------------------------------------------------------------------------------


def _linked(smallest, chance):
    details = {"attacker": "prosecutor", "smallest_class": smallest, "maximum": chance}
    return AttackResult.of_tries("linkage", hits=1, tries=9, baseline=0.0, sentence="S.", details=details)


@pytest.mark.parametrize(
    ("smallest", "answers"), [(1, "ynnn"), (4, "ynnn"), (5, "yynn"), (11, "yynn"), (12, "yyyn"), (20, "yyyy")]
)
def test_audiences_limit_the_chance_of_being_found(smallest, answers):
    found = [_linked(smallest, 1 / smallest)]
    assert "".join(judge_audience(a, found, []).answer[0] for a in AUDIENCES.values()) == answers


@pytest.mark.parametrize(("exposed", "answers"), [(0.0, "yyyy"), (0.005, "yyyn"), (0.03, "yynn"), (0.2, "ynnn")])
def test_audiences_limit_the_share_of_exposed_people(exposed, answers):
    found = [AttackResult.of_tries("homogeneity", hits=1, tries=9, baseline=0, sentence="S.", exposed=exposed)]
    assert "".join(judge_audience(a, found, []).answer[0] for a in AUDIENCES.values()) == answers


@pytest.mark.parametrize("given", [{"person": "zip"}, {"previous": [1]}, {"hierarchies": {}}, {"noisy": "age"}])
def test_what_only_tables_have_is_refused_for_counts_and_columns(given):
    (name,) = given
    for released in (dp.count([1] * 50, epsilon=0.4), dp.dp_calculate([61.0, 67.0], "mean", "low")):
        with pytest.raises(ParameterError, match=f"{name}= belong"):
            leak_report(None, released, **given)


def test_report_refuses_unknown_names_and_strange_limits():
    people = cohort(30)
    with pytest.raises(ParameterError, match="time_limit"):
        leak_report(people, people, **ABOUT, time_limit=0)
    with pytest.raises(ParameterError, match="Did you mean 'age'"):
        leak_report(people, people, quasi_identifiers=["agee"])
    with pytest.raises(ParameterError, match="earlier release"):
        leak_report(people, people, **ABOUT, came=people)
    report = leak_report(people, people, **ABOUT)
    with pytest.raises(ParameterError, match="No attack 'spying'"):
        report.result("spying")
    with pytest.raises(ParameterError, match="No audience"):
        report.answer("aliens")


def test_tasks_in_processes_are_ended_at_the_deadline():
    began = time.monotonic()
    tasks = [LeakTask("extremes", "age", "extremes", {"column": "age"})] * 4
    shared = Shared(columns={"age": (np.arange(3.0), np.arange(3.0))})
    done = run_tasks(tasks, shared, workers=2, deadline=began)
    assert [outcome.problem for outcome in done] == [LATE] * 4

"""What a recipient could learn: bounds from the ledger, attacks on what it has, results without a cell."""

from __future__ import annotations

import datetime as dt
import json
import math
from typing import Any

import pytest
from export_study import CANARY, make_export, open_to


def ask(study: Any, who: Any, epsilon: float, **where: Any) -> Any:
    import pydplib as dp
    from pydplib.release.prices import Accuracy
    from pydplib.web.analyses.payments.purchases import ask as pay

    return pay(study.project, who.user, who.place, dp.Count(**where), Accuracy(epsilon=epsilon))


def hand_over(study: Any, who: Any, **settings: Any) -> Any:
    from pydplib.web.exports.releases import release

    open_to(study.project, who.place.role)
    export = make_export(study.project, study.owner, **settings)
    assert export.state == "ready", export.problem
    release(study.owner, export, [who.place.role])
    assert who.client.post(f"/anonymize/{export.key}/download/csv").status_code == 200
    return export


def run_for(study: Any, subject: str, data: str = "twin", minutes: int = 1) -> Any:
    from pydplib.web.attacks.models import AttackRun

    answer = study.client.post("/attacks/start", {"subject": subject, "data": data, "minutes": minutes})
    run = AttackRun.objects.latest("id")
    assert answer.url == f"/attacks/{run.key}"
    return run


def test_what_was_given_is_added_up_from_ledger_shares_and_copies(study: Any, partner: Any) -> None:
    from pydplib.attack import most_success
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.attacks.recipients import given_to, given_to_all

    tara, tom = partner(), partner(username="tom", organisation="Other")
    ask(study, tara, 0.2)
    ask(study, tara, 0.3)
    ask(study, tara, 0.3)  # again: free
    shared = ask(study, tom, 0.4)
    assert given_to(study.project, tara.user.hospital.key).epsilon == pytest.approx(0.5)
    Analysis.objects.filter(pk=shared.pk).update(shared_with=["third_party"])
    assert given_to(study.project, tara.user.hospital.key).epsilon == pytest.approx(0.5), "offered is not given"
    assert tara.client.post(f"/analyses/{shared.key}/receive", {"agreed": 400_000_000}).status_code == 302
    given = given_to(study.project, tara.user.hospital.key)
    assert (given.epsilon, given.questions) == (pytest.approx(0.9), 3)
    # The account may fail with delta: no bound is better than with it.
    assert given.bound >= most_success(given.epsilon) and given.bound == pytest.approx(most_success(0.9), abs=1e-4)
    hand_over(study, tara)
    everybody = {each.name: each for each in given_to_all(study.project)}
    assert [e.title for e in everybody["Acme"].exports] == ["Ages and scores"] and not everybody["Other"].exports
    assert everybody["Acme"].unproven == 0  # the table is listed, not counted as something unknown


def test_copy_of_an_owner_does_not_hide_the_partners(study: Any, partner: Any) -> None:
    from pydplib.web.attacks.recipients import given_to

    tara, export = partner(), make_export(study.project, study.owner)
    open_to(study.project, "third_party")
    study.client.post(f"/anonymize/{export.key}/release", {"audience": "third_party"})
    for client in (tara.client, study.client):
        assert client.post(f"/anonymize/{export.key}/download/csv").status_code == 200
    assert given_to(study.project, tara.user.hospital.key).exports == (export,)
    assert given_to(study.project, study.owner.hospital.key).exports == ()


def test_overview_says_what_the_whole_budget_would_allow(study: Any, partner: Any) -> None:
    tara = partner()
    ask(study, tara, 0.25)
    page = study.client.get("/attacks").content.decode()
    assert "Acme" in page and "If the whole budget is spent" in page
    assert "more than 99.9 %" in page  # all recipients together
    for budget in (2.0, 4.0):
        assert most_right(budget) in page
    assert most_right(0.25) in page and CANARY not in page


def most_right(epsilon: float) -> str:
    """Return how often a guess can be right at most, rounded up as the page does."""
    return f"{math.ceil(1000 / (1 + math.exp(-epsilon))) / 10:.1f} %"


def test_officer_runs_attacks_and_partner_finds_nothing(study: Any, partner: Any) -> None:
    officer, tara = partner("data_protection_officer", "dana", "St. Study office"), partner()
    answer = officer.client.post("/attacks/start", {"subject": "audience:third_party", "data": "twin", "minutes": 1})
    assert answer.status_code == 302 and officer.client.get(answer.url).status_code == 200
    assert tara.client.get(answer.url).status_code == 403
    assert tara.client.post("/attacks/start", {"subject": "audience:third_party"}).status_code == 403


def test_run_on_what_a_partner_has_finds_weak_tables_and_holds_no_cell(study: Any, partner: Any) -> None:
    from pydplib.web.auditlog.models import Line
    from pydplib.web.patients.models import Patient

    tara = partner()
    ask(study, tara, 0.3)
    # Two people who look alike, nothing about variety: too weak for a stranger.
    weak = hand_over(study, tara, models=({"model": "KAnonymity", "k": 2},))
    run = run_for(study, tara.user.hospital.key, data="real")
    assert (run.state, run.problem) == ("done", "")
    names = {attack["name"] for attack in run.result["tables"][0]["attacks"]}
    assert {"linkage", "homogeneity", "skewness", "background knowledge"} <= names
    assert {attack["name"] for attack in run.result["simulated"]} == {"differencing", "averaging", "membership"}
    assert run.result["verdict"]["tone"] == "danger" and "chance of 50" in " ".join(run.result["verdict"]["reasons"])
    page = study.client.get(f"/attacks/{run.key}").content.decode()
    report = study.client.get(f"/attacks/{run.key}/report")
    assert "attachment" in report["Content-Disposition"] and weak.title in report.content.decode()
    assert Line.objects.filter(project=study.project.key, action="attack.report").count() == 1
    stored = json.dumps(run.result)
    cells = ["SYN-URO1", "acute on chronic", "prostatectomy", "local recurrence", CANARY]
    cells += Patient.objects.filter(project=study.project).values_list("pseudonym", flat=True)[:50]
    for text in (stored, page, report.content.decode()):
        assert not [cell for cell in cells if cell in text]


def test_noise_hides_what_exact_answers_would_tell(study: Any, partner: Any) -> None:
    tara = partner()
    ask(study, tara, 0.2)
    run = run_for(study, tara.user.hospital.key)
    found = {(a["name"], a["target"].split(",")[0]): a for a in run.result["simulated"]}
    assert found["differencing", "exact answers"]["success"] == 1.0
    assert found["differencing", "statistics with noise"]["success"] < 0.62  # the guarantee allows 55 %, plus chance
    averaged = found["averaging", "statistics with noise"]["details"]
    assert averaged["different_answers"] == 1  # the same question, the same bytes
    assert run.result["verdict"]["tone"] == "good"


def test_second_table_is_attacked_together_with_the_first(study: Any, partner: Any) -> None:
    tara = partner()
    hand_over(study, tara)
    hand_over(study, tara, title="Second")
    run = run_for(study, tara.user.hospital.key)
    first, second = run.result["tables"]
    assert (first["compared"], second["compared"]) == (0, 1)
    assert "complementary release" in {attack["name"] for attack in second["attacks"]}


def test_time_that_is_over_is_said_and_not_taken_for_safety(
    study: Any, partner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.web.attacks import runs

    tara = partner()
    hand_over(study, tara)
    clock = iter(range(0, 10**6, 61))
    monkeypatch.setattr(runs.time, "monotonic", lambda: float(next(clock)))
    run = run_for(study, tara.user.hospital.key)
    assert run.state == "done" and not run.result["simulated"]
    assert run.result["verdict"]["tone"] == "warning"
    assert "time was over" in study.client.get(f"/attacks/{run.key}").content.decode()


def test_table_whose_original_was_erased_is_said_to_be_open(study: Any, partner: Any) -> None:
    from pydplib.web.intake.rights.erasure import erase
    from pydplib.web.patients.models import Patient

    tara = partner()
    hand_over(study, tara)
    erase(Patient.objects.filter(project=study.project).first(), actor=study.owner)
    run = run_for(study, tara.user.hospital.key)
    assert "Not attacked" in run.result["tables"][0]["unfinished"][0] and run.result["verdict"]["tone"] == "warning"


def test_unknown_recipient_is_not_attacked_and_runs_can_be_discarded(study: Any) -> None:
    from pydplib.web.attacks.models import AttackRun

    study.client.post("/attacks/start", {"subject": "nobody", "data": "twin", "minutes": 1})
    assert not AttackRun.objects.exists()
    run = run_for(study, "audience:*")
    study.client.post(f"/attacks/{run.key}/discard")
    assert not AttackRun.objects.exists()


def test_no_more_than_two_runs_go_on_at_once_and_broken_ones_do_not_count(study: Any, partner: Any) -> None:
    from django.utils import timezone

    from pydplib.web.attacks.models import AttackRun

    tara = partner()
    asked = {"subject": tara.user.hospital.key, "data": "twin", "minutes": 1}
    for worker, heartbeat in (("a", timezone.now()), ("b", timezone.now()), ("c", None)):
        long_ago = timezone.now() - dt.timedelta(hours=1)
        begun = {"state": "running", "worker": worker, "heartbeat": heartbeat, "made": long_ago}
        AttackRun.objects.create(project=study.project, by=study.owner, subject="x", **begun)
    answer = study.client.post("/attacks/start", asked)
    assert answer.status_code == 422 and "are going on" in answer.content.decode()
    assert AttackRun.objects.count() == 3
    AttackRun.objects.filter(worker="b").delete()
    assert study.client.post("/attacks/start", asked).status_code == 302


def test_made_up_people_need_no_data(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydplib.web.intake import snapshots

    def fail(*args: Any) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(snapshots, "load_snapshot", fail)
    assert run_for(study, "audience:third_party").state == "done"


def test_attacks_on_a_project_without_data_say_so(study: Any, partner: Any) -> None:
    from pydplib.web.intake.models import Snapshot

    Snapshot.objects.filter(project=study.project).update(published=None)
    run = run_for(study, "audience:third_party", data="real")
    assert "Nothing is published" in " ".join(run.result["verdict"]["reasons"])


def test_heads_of_losses_are_words_with_a_hint(study: Any, partner: Any) -> None:
    ask(study, partner(), 0.25)
    page = study.client.get("/attacks").content.decode()
    assert "ε (epsilon) is the privacy loss" in page
    for head in ("In total (ε)", "Best guess right"):
        assert f">{head}</abbr></th>" in page and f'data-head="{head}"' in page


@pytest.mark.parametrize("role", ["third_party", "collaborator"])
def test_verdict_on_what_the_default_policy_lets_somebody_spend_is_never_too_much(study: Any, role: str) -> None:
    from pydplib.policy import DEFAULT_BUDGETS
    from pydplib.web.attacks.recipients import subject_of
    from pydplib.web.attacks.verdicts import verdict_of

    given = subject_of(study.project, f"audience:{role}")
    verdict = verdict_of(given, {"tables": [], "missed": []})
    assert given.epsilon == DEFAULT_BUDGETS[role].total and verdict["tone"] == "good"
    bound = {"third_party": "88.1 %", "collaborator": "98.3 %"}[role]
    assert f"from 50 % to at most {bound}" in " ".join(verdict["reasons"])


@pytest.mark.parametrize(
    ("epsilon", "allowed", "tone", "words"),
    [
        (1.0, 2.0, "good", "from 50 % to at most 73.2 %"),
        (2.0, 2.0, "good", "within the 2 that the policy allows"),
        (3.0, 6.0, "warning", "within the 6 that the policy allows, but more than the 2"),
        (3.0, 2.5, "danger", "the policy allows 2.5"),
        (20.0, 50.0, "warning", "from 50 % to more than 99.9 %"),
        (3.0, None, "danger", "the policy allows 2"),
    ],
)
def test_verdict_follows_the_policy_and_says_how_much_surer_somebody_gets(
    epsilon: float, allowed: float | None, tone: str, words: str
) -> None:
    from pydplib.web.attacks.recipients import Given
    from pydplib.web.attacks.verdicts import verdict_of

    given = Given("acme", "Acme", ("third_party",), epsilon=epsilon, allowed=allowed)
    verdict = verdict_of(given, {"tables": [], "missed": []})
    assert verdict["tone"] == tone and words in " ".join(verdict["reasons"])


def test_verdict_on_a_raised_budget_follows_the_raise(study: Any, partner: Any) -> None:
    from pydplib.web.attacks.recipients import given_to
    from pydplib.web.attacks.verdicts import verdict_of

    tara = partner()
    study.project.rules.filter(audience="third_party").update(budget=6.0, epsilon_per_question=4.0)
    ask(study, tara, 3.0)
    given = given_to(study.project, tara.user.hospital.key)
    assert given.allowed == 6.0
    assert verdict_of(given, {"tables": [], "missed": []})["tone"] == "warning"

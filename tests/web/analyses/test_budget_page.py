"""The page of the budget: own organisation's for partners, everything for owners and officers; forecast and alerts."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

import pydplib as dp
from pydplib.budget.chain import Head
from pydplib.budget.keys import ReleaseKey
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.payments import budgets
from pydplib.web.analyses.payments.budgets import Bookings, all_purses, forecast, own_purse
from pydplib.web.analyses.payments.purchases import ask
from pydplib.web.auditlog.models import Line
from pydplib.web.design.values import epsilon_left
from pydplib.web.ledger.database import DatabaseLedger


@pytest.fixture
def spent(study: Any, tara: Any, partner: Any) -> Any:
    """Acme has paid 1.7 of 2, Rival 0.5."""
    rita = partner("rita", organisation="Rival")
    for edge in (50, 60, 70):
        ask(study.project, tara.user, tara.place, dp.Histogram("age", edges=[40, edge, 90]), Accuracy(epsilon=0.5))
    ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.2))
    ask(study.project, rita.user, rita.place, dp.Histogram("age", edges=[40, 50, 90]), Accuracy(epsilon=0.5))
    return rita


def test_partners_see_their_own_budget_and_nothing_of_others(study: Any, spent: Any, tara: Any, sign_in: Any) -> None:
    page = tara.get("/budget").content.decode()
    assert "<strong>85</strong> spent" in page and "<strong>15</strong> of 100 points left" in page
    assert "Running low" in page and "/requests/ask/budget" in page
    assert page.count("Distribution of Age") == 3 and "tara" in page
    assert "Rival" not in page and "All recipients" not in page and "Verify the ledger" not in page
    theirs = sign_in(spent.user).get("/budget").content.decode()
    assert "<strong>25</strong> spent" in theirs and "ε 0.5 spent" in theirs and "Running low" not in theirs
    assert "Acme" not in theirs and theirs.count("Distribution of Age") == 1


def test_owners_and_officers_see_all_recipients_the_data_set_and_refusals(
    study: Any, spent: Any, tara: Any, owner: Any, partner: Any, sign_in: Any
) -> None:
    with pytest.raises(dp.BudgetError):
        ask(study.project, tara.user, tara.place, dp.Count(by="year"), Accuracy(epsilon=0.5))
    officer = sign_in(partner("dana", "data_protection_officer", "St. Example").user)
    for client in (owner, officer):
        page = client.get("/budget").content.decode()
        assert "Acme" in page and "Rival" in page and "Refused lately" in page
        assert "ε 1.7 spent" in page, "Rival's answer was paid by Acme: the data set pays once"
        assert "Verify the ledger" in page and "85 %" in page
    assert "Propose a larger budget" in owner.get("/budget").content.decode()
    home = owner.get("/").content.decode()
    assert "A budget runs low" in home and "Acme" in home
    assert "A budget runs low" in tara.get("/").content.decode()


def test_questions_of_entries_are_looked_up_for_the_page_that_is_shown_alone(
    study: Any, spent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(budgets, "title_of", lambda question, titles: asked.append(question) or "A question")
    booked = Bookings(study.project, titles={})
    assert len(booked) > 5 and not asked
    page = booked[0:2]
    assert len(page) == 2 and len(asked) <= 2
    whole = list(booked)
    assert whole[:2] == page and [each.number for each in whole] == sorted((e.number for e in whole), reverse=True)


def test_who_asks_nothing_has_no_budget(study: Any, partner: Any, sign_in: Any) -> None:
    page = sign_in(partner("rosa", "radiologist").user).get("/budget").content.decode()
    assert "No budget of your own" in page


def test_forecast_counts_pace_and_usual_price(study: Any, spent: Any, tara: Any) -> None:
    purse = own_purse(study.project, tara.user, tara.place)
    assert purse is not None and purse.questions == 4 and purse.percent == 85 and purse.is_low
    told = forecast(study.project, purse, recipient=tara.user.hospital.key)
    assert told.usual == pytest.approx(0.5) and told.more == 0
    # 1.7 in a week, 0.3 left: a little more than a day.
    assert told.until == (dt.datetime.now(dt.UTC) + dt.timedelta(days=0.3 / (1.7 / 7))).date()
    _, whole = all_purses(study.project)
    assert whole.questions == 4 and whole.left == pytest.approx(8.3)
    later = forecast(study.project, whole, now=dt.datetime.now(dt.UTC) + dt.timedelta(days=90))
    assert later.until is None, "nothing was asked lately"


def test_after_many_small_questions_the_page_says_what_a_large_one_may_cost(study: Any, tara: Any, button: Any) -> None:
    ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.05))
    ledger, whom = DatabaseLedger(), tara.user.hospital.key
    [paid] = [entry for entry in ledger.entries(lineage=study.project.key, recipient=whom) if entry.kind == "debit"]
    assert paid.cost is not None
    for number in range(41):  # 42 of them are more than 2 by the sum, less by the better rule
        key = ReleaseKey(lineage=study.project.key, snapshot="s", question={"number": number}, cost=paid.cost)
        ledger.reserve(key, recipient=whom, role="third_party")
    purse = own_purse(study.project, tara.user, tara.place)
    assert purse is not None and purse.most < purse.left
    page = tara.get("/budget").content.decode()
    assert f"may cost at most {purse.most_words} now" in page
    asked = {"kind": "count", "by1": "year", "accuracy": "epsilon"}
    dear = tara.get("/analyses/new", asked | {"epsilon": f"{purse.left - 0.001:.6f}"}).content.decode()
    assert "The budget cannot pay for this" in dear and "a large one takes more of the budget" in dear
    told = forecast(study.project, purse, recipient=tara.user.hospital.key)
    assert told.more == purse.pays(0.05) > purse.left / 0.05, "the ledger pays as many"
    assert "lose less than the sum of their prices" in page, "why more are paid than the points add up to"
    fits = tara.get("/analyses/new", asked | {"epsilon": epsilon_left(purse.most)}).content.decode()
    assert tara.post("/analyses/new", button(fits)).status_code == 302


def test_a_budget_that_was_lowered_shows_what_holds_today(study: Any, spent: Any, tara: Any) -> None:
    study.project.rules.filter(audience="third_party").update(budget=1.0)
    purse = own_purse(study.project, tara.user, tara.place)
    assert purse is not None and purse.total == 1.0 and purse.left == 0


def test_verifying_says_sound_and_the_head_can_be_kept(study: Any, spent: Any, owner: Any) -> None:
    answer = owner.post("/budget/verify", {"project": study.project.key}, follow=True)
    assert "The ledger is sound" in answer.content.decode()
    head = owner.get("/budget/head")
    assert Head.from_json(head.content.decode()) == DatabaseLedger().head()
    assert list(Line.objects.filter(action__startswith="ledger.").values_list("action", flat=True)) == [
        "ledger.verify",
        "ledger.head",
    ]


def test_the_server_finds_changed_sums_by_itself_and_the_owner_reads_it(
    study: Any, spent: Any, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import connection

    from pydplib.web.ledger import checks
    from pydplib.web.ledger import models as rows

    monkeypatch.setattr(checks, "_looked", {})
    assert checks.tidy(today=dt.date(2026, 1, 1)) and not Line.objects.filter(action="ledger.verify").exists()
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER ledger_account_stays")
        else:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # else the table counts as in use
            cursor.execute("ALTER TABLE ledger_account DISABLE TRIGGER ALL")
    true = dict(rows.Account.objects.values_list("pk", "nano_epsilon"))
    rows.Account.objects.update(nano_epsilon=0)
    assert checks.tidy(today=dt.date(2026, 1, 1)), "once a day"
    assert "does not agree with itself" not in owner.get("/budget").content.decode()
    assert not checks.tidy(today=dt.date(2026, 1, 2))
    assert Line.objects.get(action="ledger.verify").facts["sound"] is False
    assert "does not agree with itself" in owner.get("/budget").content.decode()
    for pk, sum_ in true.items():
        rows.Account.objects.filter(pk=pk).update(nano_epsilon=sum_)
    assert checks.tidy(today=dt.date(2026, 1, 2))
    assert "does not agree with itself" not in owner.get("/budget").content.decode()


def test_a_ledger_that_was_rolled_back_is_said_and_stops_questions(
    study: Any, spent: Any, owner: Any, tara: Any, settings_home: Any, pay: Any
) -> None:
    file = settings_home / "ledger.head.json"
    known = json.loads(file.read_text())
    file.write_text(json.dumps({**known, "entries": known["entries"] + 1}))
    page = owner.get("/budget")
    assert page.status_code == 503 and "The ledger cannot be trusted now" in page.content.decode()
    theirs = tara.get("/budget")
    assert theirs.status_code == 503 and "entries" not in theirs.content.decode().split("trusted now")[1][:300]
    assert tara.get("/analyses/new", {"kind": "count", "accuracy": "epsilon", "epsilon": "0.1"}).status_code == 503
    assert owner.get("/").status_code == 200, "everything else goes on"


def test_ledger_accept_goes_on_with_what_is_there(
    study: Any, spent: Any, owner: Any, settings_home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from pydplib.cli import cli
    from pydplib.cli.answers import ledger

    monkeypatch.setattr(ledger, "open_platform", lambda home: None)
    file = settings_home / "ledger.head.json"
    known = json.loads(file.read_text())
    file.write_text(json.dumps({**known, "entries": known["entries"] + 2}))
    refused = CliRunner().invoke(cli, ["ledger", "accept"], input="n\n")
    assert refused.exit_code != 0 and "2 entries that this server remembers are not in the database" in refused.output
    assert owner.get("/budget").status_code == 503
    said = CliRunner().invoke(cli, ["ledger", "accept", "--yes"])
    assert said.exit_code == 0 and f"Accepted: {known['entries']} entries" in said.output
    assert owner.get("/budget").status_code == 200
    assert Line.objects.get(action="ledger.accept").facts == {"entries": known["entries"], "missing": 2}
    file.unlink()
    assert owner.get("/budget").status_code == 503
    assert "is missing" in CliRunner().invoke(cli, ["ledger", "accept", "--yes"]).output
    assert owner.get("/budget").status_code == 200

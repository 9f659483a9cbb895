"""A budget is everything that an organisation learns: own questions, shared answers and dashboards, added up."""

from __future__ import annotations

from typing import Any

import pytest

import pydplib as dp
from pydplib.budget.units import NANO
from pydplib.errors import BudgetError, LedgerError
from pydplib.policy import DEFAULT_BUDGETS
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import ask
from pydplib.web.analyses.shared_answers import offer_for, receive
from pydplib.web.analyses.visibility import share
from pydplib.web.auditlog.models import Line
from pydplib.web.dashboards import plans
from pydplib.web.dashboards.editions import publish
from pydplib.web.dashboards.panels import releases_for
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.projects.models import Member

COLUMNS = ("pirads", "bph", "year", "prostatitis", "turp", "follow_up")


@pytest.fixture
def defaults(study: Any) -> Any:
    """The study under the budgets that a new project starts with."""
    for role in ("third_party", "collaborator"):
        terms = DEFAULT_BUDGETS[role]
        study.project.rules.filter(audience=role).update(epsilon_per_question=terms.per_question, budget=terms.total)
    return study


def learnt(user: Any) -> float:
    """Return what an organisation has paid for."""
    account = rows.Account.objects.filter(recipient=user.hospital.key).first()
    return 0.0 if account is None else account.nano_epsilon / NANO


def put_up(study: Any, audience: str, *prices: float) -> Any:
    """Return a published dashboard with one figure per price."""
    made = plans.make_dashboard(study.owner, study.project, title="Board", audience=audience)
    for column, epsilon in zip(COLUMNS, prices, strict=False):
        question = dp.Mode(column)  # no table of counts, so each figure has a price of its own
        plans.add_question(study.owner, made, question, title=column, nano_epsilon=round(epsilon * NANO))
    publish(study.owner, made, agreed=bill_for(made).nano)
    return made


def open_board(study: Any, user: Any, role: str, board: Any) -> None:
    found = releases_for(board.edition, Member.as_role(role))
    receive(study.project, user, Member.as_role(role), found, agreed=10 * NANO, subject=board.key)


@pytest.mark.parametrize("role", ["third_party", "collaborator"])
def test_questions_shared_answers_and_dashboards_never_add_up_to_more_than_the_budget(
    defaults: Any, partner: Any, role: str
) -> None:
    study, total = defaults, DEFAULT_BUDGETS[role].total
    study.project.data_set_budget = 60
    study.project.save(update_fields=["data_set_budget"])
    user, place = partner("tom", role=role, organisation="Other").user, Member.as_role(role)
    each = total / 4
    shared = ask(study.project, study.owner, Member.as_role("owner"), dp.Count(by="gleason"), Accuracy(epsilon=each))
    share(study.owner, shared, [role])
    board = put_up(study, role, each, each)
    second = put_up(study, role, each * 0.9)
    ask(study.project, user, place, dp.Mean("age"), Accuracy(epsilon=each))
    open_board(study, user, role, board)
    receive(study.project, user, place, [shared.digest], agreed=10 * NANO, subject=shared.key)
    assert learnt(user) == pytest.approx(total)
    for more in (
        lambda: ask(study.project, user, place, dp.Median("age"), Accuracy(epsilon=0.5)),
        lambda: open_board(study, user, role, second),
    ):
        with pytest.raises(BudgetError):
            more()
    assert learnt(user) == pytest.approx(total)
    DatabaseLedger().verify()


def test_page_shows_the_price_first_and_the_numbers_after_paying_once(
    defaults: Any, tara: Any, partner: Any, sign_in: Any
) -> None:
    board = put_up(defaults, "third_party", 0.5, 0.25)
    address = f"/dashboards/{board.key}"
    whole = rows.Account.objects.get(recipient="").nano_epsilon
    for _ in range(2):
        page = tara.get(address).content.decode()
        assert "points (ε 0.75), once for your whole organisation" in page
        assert "data-figure" not in page and "<table" not in page and page.count("not received this figure") == 2
    assert tara.post(f"{address}/receive", {"agreed": 749_999_999}).status_code == 422, "not what was agreed to"
    assert tara.post(f"{address}/receive", {}).status_code == 422
    assert not rows.Payment.objects.exclude(recipient__startswith="dashboard:").exists()
    assert tara.post(f"{address}/receive", {"agreed": 750_000_000}).status_code == 302
    paid = rows.Payment.objects.count()
    for client in (tara, sign_in(partner("theo").user)):  # a colleague of the same organisation
        page = client.get(address).content.decode()
        assert page.count("data-figure=") == 2 and "looking again is free" in page
        assert client.post(f"{address}/receive", {"agreed": 0}).status_code == 302
    assert rows.Payment.objects.count() == paid
    assert rows.Account.objects.get(recipient="").nano_epsilon == whole, "the data set has paid already"
    assert Line.objects.filter(action="analysis.receive", subject=board.key).count() == 1
    budget = tara.get("/budget").content.decode()
    assert budget.count("(on a dashboard)") == 2
    rival = sign_in(partner("rita", organisation="Rival").user)
    assert "points (ε 0.75)" in rival.get(address).content.decode(), "another organisation pays for itself"
    DatabaseLedger().verify()


def test_what_an_organisation_cannot_pay_stays_closed_and_is_logged(defaults: Any, tara: Any) -> None:
    defaults.project.rules.filter(audience="third_party").update(budget=0.6)
    board = put_up(defaults, "third_party", 0.5)
    defaults.project.dashboard_budgets = {"third_party": 2.0}
    defaults.project.save(update_fields=["dashboard_budgets"])
    dear = put_up(defaults, "third_party", 0.4, 0.35)
    assert tara.post(f"/dashboards/{board.key}/receive", {"agreed": 500_000_000}).status_code == 302
    page = tara.get(f"/dashboards/{dear.key}").content.decode()
    assert "The budget cannot pay for it" in page and "/requests/ask/budget" in page and "data-figure" not in page
    refused = tara.post(f"/dashboards/{dear.key}/receive", {"agreed": 10**9})
    assert refused.status_code == 403 and "Nothing was spent" in refused.content.decode()
    assert Line.objects.filter(action="analysis.refuse", subject=dear.key).count() == 1
    assert learnt(refused.wsgi_request.user) == 0.5


def test_question_that_was_received_is_free_and_one_that_was_asked_is_received(defaults: Any, partner: Any) -> None:
    tom = partner("tom", organisation="Other").user
    board, place = put_up(defaults, "third_party", 0.5, 0.25), Member.as_role("third_party")
    ask(defaults.project, tom, place, dp.Mode(COLUMNS[0]), Accuracy(epsilon=0.5))
    offer = offer_for(defaults.project, tom, place, releases_for(board.edition, place))
    assert offer is not None and offer.nano == 250_000_000
    open_board(defaults, tom, "third_party", board)
    ask(defaults.project, tom, place, dp.Mode(COLUMNS[1]), Accuracy(epsilon=0.25))
    assert learnt(tom) == pytest.approx(0.75)


def test_number_of_records_that_a_dashboard_bought_is_part_of_what_its_readers_pay(defaults: Any, partner: Any) -> None:
    from pydplib.web.dashboards.editions import count_records

    tom, place = partner("tom", organisation="Other").user, Member.as_role("third_party")
    made = plans.make_dashboard(defaults.owner, defaults.project, title="Board", audience="third_party")
    plans.add_question(defaults.owner, made, dp.Count(by="pirads"), title="", nano_epsilon=None)
    count_records(defaults.owner, made)
    publish(defaults.owner, made, agreed=bill_for(made).nano)
    offer = offer_for(defaults.project, tom, place, releases_for(made.edition, place))
    paid = rows.Account.objects.get(recipient="dashboard:third_party").nano_epsilon
    assert offer is not None and offer.nano == paid, "its figures' prices tell of it"


def test_shared_answer_is_received_once_and_stays_when_it_is_shared_no_more(
    defaults: Any, tara: Any, partner: Any, sign_in: Any
) -> None:
    other = partner("rita", organisation="Rival")
    made = ask(
        defaults.project, other.user, Member.as_role("third_party"), dp.Count(by="pirads"), Accuracy(epsilon=0.5)
    )
    share(defaults.owner, made, ["third_party"])
    address = f"/analyses/{made.key}"
    assert "points (ε 0.5), once" in tara.get(address).content.decode()
    for kind in ("csv", "json", "receipt"):
        assert tara.get(f"{address}/download/{kind}").status_code == 403, "nothing leaves unpaid"
    answer = tara.post(f"{address}/receive", {"agreed": 500_000_000})
    mine = Analysis.objects.get(key=answer.url.rsplit("/", 1)[-1])
    assert mine.digest == made.digest and mine.pk != made.pk
    assert tara.get(f"/analyses/{mine.key}/download/csv").status_code == 200
    listed = tara.get("/analyses").content.decode()
    assert f'"/analyses/{mine.key}"' in listed and f'"{address}"' not in listed, "listed once"
    share(defaults.owner, made, [])
    assert tara.get(address).status_code == 404 and tara.get(f"/analyses/{mine.key}").status_code == 200
    rival = sign_in(partner("ron", organisation="Third").user)
    assert rival.post(f"{address}/receive", {"agreed": 500_000_000}).status_code == 404, "not shared any more"


def test_role_change_counts_what_was_received_in_the_role_before(defaults: Any, partner: Any) -> None:
    tom = partner("tom", organisation="Other")
    first, friends = put_up(defaults, "third_party", 0.5), put_up(defaults, "collaborator", 1.5, 1.2, 1.1)
    open_board(defaults, tom.user, "third_party", first)
    with pytest.raises(BudgetError):  # 0.5 + 3.8 are more than a collaborator's 4
        open_board(defaults, tom.user, "collaborator", friends)
    assert learnt(tom.user) == 0.5


def test_owners_and_their_previews_read_without_paying(defaults: Any, owner: Any) -> None:
    board = put_up(defaults, "third_party", 0.5)
    address, payments = f"/dashboards/{board.key}", rows.Payment.objects.count()
    assert "data-figure=" in owner.get(address).content.decode()
    owner.post("/policy/preview", {"project": defaults.project.key, "role": "third_party", "next": address})
    page = owner.get(address).content.decode()
    assert "data-figure=" in page and "Pay and see" not in page
    assert rows.Payment.objects.count() == payments


def test_field_that_is_closed_to_a_reader_is_not_paid_for(defaults: Any, partner: Any) -> None:
    board, place = put_up(defaults, "third_party", 0.5, 0.25), Member.as_role("third_party")
    tom = partner("tom", organisation="Other").user
    defaults.project.rules.filter(audience="third_party").update(fields=[COLUMNS[1]])
    offer = offer_for(defaults.project, tom, place, releases_for(board.edition, place))
    assert offer is not None and offer.nano == 250_000_000


def test_release_that_nobody_made_cannot_be_received(defaults: Any, partner: Any) -> None:
    tom = partner("tom", organisation="Other").user
    with pytest.raises(LedgerError):
        receive(defaults.project, tom, Member.as_role("third_party"), ["0" * 64], agreed=NANO, subject="x")


def test_program_receives_a_dashboard_and_a_shared_answer(defaults: Any, partner: Any) -> None:
    from django.test import Client

    from pydplib.web.api.tokens import make_token

    tom = partner("tom", organisation="Other").user
    board = put_up(defaults, "third_party", 0.5, 0.25)
    made = ask(defaults.project, defaults.owner, Member.as_role("owner"), dp.Count(by="gleason"), Accuracy(epsilon=0.5))
    share(defaults.owner, made, ["third_party"])

    def client(*scopes: str) -> Any:
        token = make_token(tom, name="-".join(scopes), scopes=scopes, days=1, second_factor=True)[1]
        return Client(headers={"authorization": f"Bearer {token}"})

    def send(path: str, at_most: float, by: Any) -> Any:
        return by.post(f"/api/v1/{path}/receive", {"at_most": at_most}, content_type="application/json")

    reader, asker = client("read"), client("read", "ask")
    before = reader.get(f"/api/v1/dashboards/{board.key}").json()
    assert (before["to_pay"], before["shown"]) == (0.75, [])
    refused = reader.get(f"/api/v1/analyses/{made.key}")
    assert refused.status_code == 403 and "costs epsilon 0.5" in refused.json()["error"]
    assert send(f"dashboards/{board.key}", 1, reader).status_code == 403, "a token for reading spends nothing"
    assert send(f"dashboards/{board.key}", 0.7, asker).status_code == 422
    after = send(f"dashboards/{board.key}", 0.75, asker).json()
    assert after["to_pay"] == 0 and [len(figure["releases"]) for figure in after["shown"]] == [1, 1]
    got = send(f"analyses/{made.key}", 0.5, asker).json()
    assert got["release_key"] == made.digest and got["organisation"] == "Other"
    assert learnt(tom) == pytest.approx(1.25)

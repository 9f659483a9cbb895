"""The page of a new analysis: fields by the policy, the price from public facts, the button that pays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import stored_payload
from pydplib.web.auditlog.models import Line
from pydplib.web.ledger import models as rows

COUNT = {"kind": "count", "accuracy": "epsilon", "epsilon": "0.2"}
MEAN = {"kind": "mean", "field": "age", "by1": "pirads", "accuracy": "epsilon", "epsilon": "0.4"}


def _price(page: str) -> str:
    return page[page.index('id="price"') :]


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens the snapshot's file, or asks an engine anything, fails the test."""
    from pydplib.engine.table import Table
    from pydplib.web.analyses.payments import sessions

    def look(*arguments: Any) -> None:
        pytest.fail("a price looked at the data")

    monkeypatch.setattr(sessions, "load_snapshot", look)
    monkeypatch.setattr(Table, "aggregate", look)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        COUNT,
        MEAN,
        {"kind": "median", "field": "age", "accuracy": "margin", "margin": "60"},
        {"kind": "sum", "field": "age", "accuracy": "high"},
        {"kind": "variance", "field": "age", "accuracy": "epsilon", "epsilon": "0.5"},
        {"kind": "deviation", "field": "age", "by1": "bph", "accuracy": "epsilon", "epsilon": "0.5"},
        {"kind": "mode", "field": "pirads", "by1": "bph", "accuracy": "epsilon", "epsilon": "0.5"},
        {"kind": "mode", "field": "age", "bins_age": "40, 60, 80", "accuracy": "margin", "margin": "20"},
        {"kind": "histogram", "field": "age", "by1": "bph", "bins_age": "40, 60, 80"},
        {"kind": "crosstab", "field": "age", "by1": "pirads"},
        {"kind": "quantiles", "field": "age", "by1": "bph", "accuracy": "epsilon", "epsilon": "0.5"},
        {**COUNT, "where1": "prostatitis", "op1": "is_in", "values1": ["0", "1"], "where2": "age", "op2": "at_least"}
        | {"low2": "60", "where3": "last_modified", "op3": "between", "low3": "2017-02-01", "high3": "2018-03-01"},
        {**COUNT, "where1": "bph", "op1": "is_in", "values1": ["1"], "where2": "age", "op2": "is_missing"}
        | {"match": "any"},
        {**MEAN, "rule": "first", "order": "last_modified", "where_after": "bph", "op_after": "is_present"},
        {**COUNT, "by1": "pirads", "rule": "highest", "order": "pirads"},
    ],
    ids=lambda asked: asked.get("kind", "nothing chosen"),
)
def test_price_of_every_kind_touches_no_data_and_spends_nothing(tara: Any, no_data: None, asked: Any) -> None:
    answer = tara.get("/analyses/new", asked)
    page = _price(answer.content.decode())
    assert answer.status_code == 200
    assert "Ask and pay" in page and "Budget of your organisation" in page and "of 100 points left" in page
    assert not rows.Account.objects.exists() and not rows.Entry.objects.exists()
    assert not Line.objects.filter(action__startswith="analysis").exists()


def test_paying_shows_the_answer_and_the_same_question_is_free_and_identical(tara: Any, pay: Any) -> None:
    first = pay(tara, **MEAN)
    made = Analysis.objects.get()
    assert first.url == f"/analyses/{made.key}"
    payload = stored_payload(made.digest)
    spent = rows.Account.objects.get(recipient=made.recipient).nano_epsilon
    assert spent == 400_000_000
    price = _price(tara.get("/analyses/new", MEAN).content.decode())
    assert "Nothing" in price and "Show the answer" in price
    assert pay(tara, **MEAN).url == first.url
    assert stored_payload(made.digest) == payload == tara.get(f"{first.url}/download/json").content
    assert rows.Account.objects.get(recipient=made.recipient).nano_epsilon == spent
    assert Analysis.objects.count() == 1


def test_a_price_by_the_roles_noise_factor_says_what_is_bought_along(tara: Any, pay: Any) -> None:
    asked = {"kind": "histogram", "field": "pirads", "accuracy": "high"}
    page = _price(tara.get("/analyses/new", asked).content.decode())
    assert "at most 0.55" in page and "once, for epsilon 0.05" in page
    pay(tara, **asked)
    made = Analysis.objects.get()
    assert rows.Account.objects.get(recipient=made.recipient).nano_epsilon <= 550_000_000
    assert rows.Payment.objects.count() == 2
    next_one = _price(tara.get("/analyses/new", {"kind": "mean", "field": "age", "accuracy": "high"}).content.decode())
    assert "at most 0." not in next_one and "included in the price" not in next_one, (
        "the number of records is known now"
    )


def test_a_price_at_most_is_never_below_the_charge_not_by_one_nano(study: Any, tara: Any, pay: Any) -> None:
    study.project.rules.filter(audience="third_party").update(epsilon_per_question=0.123456789)
    asked = {
        "kind": "mean",
        "field": "age",
        "by1": "therapy",
        "accuracy": "high",
    }  # so many groups: the cap
    page = tara.get("/analyses/new", asked).content.decode()
    assert "at most 0.135802468" in page
    assert pay(tara, **asked).status_code == 302
    assert rows.Account.objects.get(recipient=tara.user.hospital.key).nano_epsilon <= 135_802_468


def test_at_the_end_of_the_budget_the_refusal_says_asked_left_and_the_next_step(
    tara: Any, pay: Any, button: Any
) -> None:
    for bins in ("40, 60, 80", "40, 61, 80", "40, 62, 80"):
        pay(tara, kind="histogram", field="age", bins_age=bins, accuracy="epsilon", epsilon="0.5")
    ready = button(tara.get("/analyses/new", {**COUNT, "epsilon": "0.4"}).content.decode())
    pay(tara, kind="histogram", field="age", bins_age="40, 63, 80", accuracy="epsilon", epsilon="0.5")
    assert rows.Account.objects.get(recipient=tara.user.hospital.key).nano_epsilon == 2_000_000_000
    refused = tara.post("/analyses/new", ready)
    words = _price(refused.content.decode())
    assert refused.status_code == 403
    assert "asked epsilon 0.4, left epsilon 0 of 2" in words
    assert tara.user.hospital.key not in words and "your organisation" in words
    assert "/requests/ask/budget?project=" in words and "budget=3" in words
    assert Line.objects.filter(action="analysis.refuse").count() == 1
    assert Analysis.objects.count() == 4
    before = _price(tara.get("/analyses/new", COUNT).content.decode())
    assert "The budget cannot pay for this" in before and "Ask and pay" not in before
    request = tara.get(f"/requests/ask/budget?project={Analysis.objects.first().project.key}&budget=3")
    assert 'value="3"' in request.content.decode()


def test_a_dearer_price_than_the_one_shown_is_not_paid(tara: Any, button: Any) -> None:
    sent = button(tara.get("/analyses/new", COUNT).content.decode())
    answer = tara.post("/analyses/new", {**sent, "epsilon": "0.5"})
    assert answer.status_code == 422 and "The price has changed" in answer.content.decode()
    assert tara.post("/analyses/new", {**sent, "agreed": "-1"}).status_code == 422
    assert tara.post("/analyses/new", {**sent, "agreed": ""}).status_code == 422
    assert not rows.Entry.objects.filter(body__contains='"debit"').exists()


def test_spending_needs_the_token_of_the_form(tara: Any, button: Any) -> None:
    from django.test import Client

    sent = button(tara.get("/analyses/new", COUNT).content.decode())
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = tara.cookies
    token = sent.pop("csrfmiddlewaretoken")
    assert strict.post("/analyses/new", sent).status_code == 403
    assert strict.post("/analyses/new", {**sent, "csrfmiddlewaretoken": token[0][::-1]}).status_code == 403
    assert not rows.Account.objects.exists()


def test_fields_that_the_policy_closes_are_neither_offered_nor_answered(study: Any, tara: Any) -> None:
    study.project.rules.filter(audience="third_party").update(fields=["age", "pirads"], filters=["year"])
    page = tara.get("/analyses/new", {"kind": "histogram"}).content.decode()
    offered = page[page.index('id="id_field"') : page.index('id="id_by1"')]
    assert 'value="age"' in offered and 'value="gleason"' not in offered
    conditions = page[page.index('id="id_where1"') :]
    assert 'value="year"' in conditions and 'value="age"' not in conditions
    sent = {"kind": "histogram", "field": "gleason", "accuracy": "epsilon", "epsilon": "0.1", "agreed": "900000000"}
    assert tara.post("/analyses/new", sent).status_code == 422
    assert not rows.Account.objects.exists()


DAYS = [f"{year}-{month:02d}-{day:02d}" for year in (2017, 2018) for month in range(1, 13) for day in (1, 16)]
# 82 ages x 47 half months x 7 numbers of lesions
FINE = {"bins_last_modified": ",".join(DAYS), "bins_age": ",".join(map(str, range(18, 101)))}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind": "mean", "field": "patient_id"}, "Choose a field"),
        ({"kind": "mean", "field": "pirads"}, "Choose a field"),
        ({"kind": "crosstab", "field": "age"}, "Choose a field"),
        ({"kind": "histogram", "field": "age", "bins_age": "80, 60"}, "ascending"),
        ({"kind": "histogram", "field": "age", "bins_age": "1; DROP TABLE"}, "Give a number"),
        ({"kind": "histogram", "field": "age", "bins_age": ",".join(map(str, range(300)))}, "from 2 to 201"),
        ({"kind": "crosstab", "field": "age", "by1": "last_modified", "by2": "lesions", **FINE}, "at most 10000"),
        ({"where1": "age", "op1": "between", "low1": "70", "high1": "60"}, "must not be above"),
        ({"where1": "age", "op1": "at_least", "low1": "__import__('os')"}, "Give a number"),
        ({"where1": "age", "op1": "at_least", "low1": "1e400"}, "Give a number"),
        ({"where1": "age", "op1": "at_least", "low1": "nan"}, "Give a number"),
        ({"where1": "pirads", "op1": "is_in"}, "Choose at least one value"),
        ({"where1": "last_modified", "op1": "at_least", "low1": "yesterday"}, "A day is written"),
        ({"accuracy": "epsilon", "epsilon": ""}, "required"),
        ({"accuracy": "epsilon", "epsilon": "-1"}, "greater than"),
        ({"accuracy": "epsilon", "epsilon": "inf"}, "number"),
        ({"accuracy": "margin", "margin": "2", "kind": "mean", "field": "age"}, "This margin cannot be promised"),
    ],
)
def test_questions_outside_the_closed_schema_are_said_in_place(tara: Any, changed: Any, said: str) -> None:
    answer = tara.post("/analyses/new", {**COUNT, "agreed": "900000000", **changed})
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not rows.Account.objects.exists()


def test_more_epsilon_than_the_roles_cap_is_refused_in_words(tara: Any) -> None:
    answer = tara.post("/analyses/new", {**COUNT, "epsilon": "0.9", "agreed": "900000000"})
    assert answer.status_code == 403
    assert "One question may cost epsilon 0.5 at most" in answer.content.decode()
    assert not rows.Account.objects.exists()


def test_what_no_longer_fits_after_a_choice_is_dropped_and_gaps_are_no_errors(tara: Any) -> None:
    asked = {"kind": "mean", "field": "", "where1": "pirads", "op1": "between", "values1": "99", "low1": "60"}
    page = tara.get("/analyses/new", asked).content.decode()
    assert "error-summary" not in page and "Still to fill in" in page
    assert 'value="is_in" selected' in page


def test_collaborators_may_ask_for_more_noise_third_parties_not_for_less(partner: Any, sign_in: Any, tara: Any) -> None:
    carl = sign_in(partner("carl", "collaborator", "University").user)
    page = carl.get("/analyses/new").content.decode()
    assert "Medium noise" in page and "Much noise" in page and "Little noise" not in page
    assert "Medium noise" not in tara.get("/analyses/new").content.decode()


def test_owners_set_the_privacy_loss_themselves(owner: Any, pay: Any) -> None:
    page = owner.get("/analyses/new", {"accuracy": "epsilon"}).content.decode()
    assert "Still to fill in" in page and "Ask and pay" not in page, "a loss that they set has no default"
    assert pay(owner, **COUNT).status_code == 302


def test_a_preview_shows_the_price_and_cannot_pay(study: Any, owner: Any) -> None:
    session = owner.session
    session["preview"] = {"project": study.project.key, "role": "third_party"}
    session.save()
    page = owner.get("/analyses/new", COUNT).content.decode()
    assert "In a preview nothing can be asked" in page and "Ask and pay" not in page
    assert owner.post("/analyses/new", {**COUNT, "agreed": "900000000"}).status_code == 403


def test_without_published_data_the_page_says_so(study: Any, tara: Any) -> None:
    study.project.snapshots.update(published=None)
    assert "has not published any data" in tara.get("/analyses/new").content.decode()
    assert tara.post("/analyses/new", COUNT).status_code == 200
    assert not rows.Account.objects.exists()


def test_an_engine_that_fails_after_the_debit_is_said_and_the_next_ask_is_free(
    tara: Any, pay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.engine.table import Table

    def fail(self: Any, plan: Any) -> Any:
        raise RuntimeError("ZZCANARY in row 7")

    with monkeypatch.context() as broken:
        broken.setattr(Table, "aggregate", fail)
        answer = pay(tara, **COUNT)
    assert answer.status_code == 503
    assert "Paid, but not answered yet" in answer.content.decode() and "ZZCANARY" not in answer.content.decode()
    assert rows.Account.objects.get(recipient=tara.user.hospital.key).nano_epsilon == 200_000_000
    assert pay(tara, **COUNT).status_code == 302
    assert rows.Account.objects.get(recipient=tara.user.hospital.key).nano_epsilon == 200_000_000
    assert json.loads(stored_payload(Analysis.objects.get().digest))["values"]


def test_a_title_of_any_signs_is_kept_as_plain_words(tara: Any, button: Any) -> None:
    from pydplib.web.analyses.models import Analysis

    page = tara.get("/analyses/new", COUNT).content.decode()
    answer = tara.post("/analyses/new", button(page) | {"title": "My\x00 \x1b[31mfirst\u202e\r\n question\ufeff  "})
    assert answer.status_code == 302
    assert Analysis.objects.get().title == "My [31mfirst question"


def test_a_mean_whose_accuracy_is_unknown_says_why_and_what_to_do(tara: Any, owner: Any, pay: Any) -> None:
    words = tara.get("/analyses/new", MEAN).content.decode()
    assert "which is not public" in words and "first ask something with your role&#x27;s usual noise" in words
    assert "when you publish" in _price(owner.get("/analyses/new", MEAN).content.decode())
    pay(tara, kind="count", accuracy="high")  # buys the number of records along
    words = tara.get("/analyses/new", MEAN).content.decode()
    assert "± " in words and " years" in words and "first ask something" not in words
    filtered = {**MEAN, "where1": "bph", "op1": "is", "values1": ["0"]}
    assert "leave out the conditions" in _price(tara.get("/analyses/new", filtered).content.decode())


def test_a_figure_that_nobody_could_read_is_warned_of_before_it_is_paid(study: Any, tara: Any) -> None:
    snapshot = study.project.snapshots.get()
    snapshot.schema = json.dumps({**json.loads(snapshot.schema), "size": 100})
    snapshot.save(update_fields=["schema"])
    boxes = {"kind": "quantiles", "field": "age", "by1": "pirads", "accuracy": "epsilon"}
    words = tara.get("/analyses/new", {**boxes, "epsilon": "0.4"}).content.decode()
    assert "This answer would not be useful" in words
    rough = {"kind": "mean", "field": "age", "by1": "pirads", "accuracy": "epsilon", "epsilon": "0.1"}
    words = tara.get("/analyses/new", rough).content.decode()
    assert "This answer would not be useful" in words and "Without the groups of PI-RADS score" in words
    words = tara.get("/analyses/new", {**COUNT, "epsilon": "0.4"}).content.decode()
    assert "would not be useful" not in words and "What would help" not in words

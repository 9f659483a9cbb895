"""Prices, questions and answers by API: closed schema, nothing spent by a price, the same bytes again for nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import pydplib as dp
from pydplib.receipt import Receipt

QUESTIONS = [
    dp.Count(),
    dp.Count(of="persons", by="pirads"),
    dp.Sum("age", by="year"),
    dp.Mean("age", by="pirads", where=[dp.Where("age").between(50, 80), dp.Where("pirads").is_in([4, 5])]),
    dp.Variance("age"),
    dp.StandardDeviation("age", by="pirads"),
    dp.Mode("pirads"),
    dp.Mode("age", edges=[20, 40, 60, 80]),
    dp.Histogram("age", bins=4),
    dp.Median("age", by=["bph"]),
    dp.Quantiles("age", [0.25, 0.5, 0.75]),
    dp.Histogram("age", edges=[20, 40, 60, 80]),
    dp.Histogram("prostatitis"),
    dp.Crosstab("age", "pirads", bins={"age": [40, 60, 80]}),
]


def body(question: dp.Count | Any, **more: Any) -> dict[str, Any]:
    return {"question": question.to_dict()} | (more or {"epsilon": 0.1})


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_every_question_survives_the_way_and_is_priced(question: Any, world: Any, program: Any) -> None:
    from pydplib.web.api.questions import AskIn, read_question

    assert read_question(AskIn.model_validate(body(question)).question) == question
    answer = program("collaborator").post(f"projects/{world.project.key}/price", body(question))
    assert answer.status_code == 200, answer.content
    assert answer.json()["cost"]["nano_epsilon"] == 100_000_000


def test_a_price_spends_nothing_and_writes_nothing(world: Any, program: Any) -> None:
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.ledger import models as rows

    answer = program("third_party").post(f"projects/{world.project.key}/price", body(dp.Count())).json()
    assert answer["affordable"] and not answer["free"]
    assert answer["left"]["nano_epsilon"] - answer["after"]["nano_epsilon"] <= 100_000_000
    for model in (rows.Account, rows.Entry, rows.Release, Analysis):
        assert not model.objects.exists()


def test_asking_twice_is_free_and_byte_identical(world: Any, program: Any) -> None:
    from pydplib.web.auditlog.models import Line
    from pydplib.web.ledger import models as rows

    caller, path = program("third_party"), f"projects/{world.project.key}"
    first = caller.post(f"{path}/analyses", body(dp.Count(by="pirads")))
    spent = rows.Account.objects.get(recipient=world.people["third_party"].hospital.key).nano_epsilon
    again = caller.post(f"{path}/analyses", body(dp.Count(by="pirads")))
    assert first.status_code == 200 and again.content == first.content
    assert rows.Account.objects.get(recipient=world.people["third_party"].hospital.key).nano_epsilon == spent
    assert Line.objects.filter(action="analysis.ask").count() == 1
    assert caller.post(f"{path}/price", body(dp.Count(by="pirads"))).json()["free"]
    listed = caller.get(f"{path}/analyses").json()
    assert listed["count"] == 1 and "release" not in listed["items"][0]


def test_the_release_is_what_the_ledger_stores_and_the_receipt_fits_it(world: Any, program: Any) -> None:
    from pydplib.web.analyses.payments.purchases import stored_payload
    from pydplib.web.analyses.receipts.keys import issuer_keys

    caller = program("third_party")
    made = caller.post(f"projects/{world.project.key}/analyses", body(dp.Mean("age", by="pirads"))).json()
    payload = caller.get(f"analyses/{made['key']}/release").content
    assert payload == stored_payload(made["release_key"])
    assert dp.Release.from_dict(made["release"]) == dp.Release.from_json(payload)
    keys = issuer_keys()
    own = Receipt.from_json(caller.get(f"analyses/{made['key']}/receipt").content.decode())
    found = Receipt.from_json(program(None).get(f"receipts/{made['release_key']}").content.decode())
    assert own.verify(keys).matches(payload) and found.verify(keys).matches(payload)
    assert found.issued == "", "anybody can look it up: it says nothing about who asked, or when"
    assert replace(own, issued="", signature="") == replace(found, signature="")
    shown = program(None).get("receipts/keys").json()["keys"]
    assert [key["current"] for key in shown] == [True] and shown[0]["key_id"] == own.key_id


def test_the_budget_ends_with_asked_and_left_and_the_refusal_is_written_down(world: Any, program: Any) -> None:
    from pydplib.web.auditlog.models import Line

    caller, path = program("third_party"), f"projects/{world.project.key}"
    for year in (2017, 2018):
        for question in (dp.Count, dp.Histogram):
            where = [dp.Where("year").is_in([year])]
            asked = question(where=where) if question is dp.Count else question("pirads", where=where)
            assert caller.post(f"{path}/analyses", body(asked, epsilon=0.5)).status_code == 200
    refused = caller.post(f"{path}/analyses", body(dp.Count(), epsilon=0.4))
    values = refused.json()
    assert (refused.status_code, values["kind"]) == (403, "BudgetError")
    assert values["asked"].startswith("epsilon 0.4") and values["left"].startswith("epsilon")
    assert Line.objects.filter(action="analysis.refuse").count() == 1


def test_the_project_says_what_the_policy_opens_and_no_more(world: Any, program: Any) -> None:
    world.project.rules.filter(audience="third_party").update(fields=["age", "pirads"], filters=["year"])
    offer = program("third_party").get(f"projects/{world.project.key}").json()["offer"]
    assert offer["fields"] == ["age", "pirads"] and offer["filters"] == ["year"]
    schema = dp.Schema.from_dict(offer["schema"])
    assert set(schema.columns) == {"patient_id", "age", "pirads", "year"}
    assert offer["noise_factors"][0] == "high" and offer["snapshot"] == 1
    refused = program("third_party").post(f"projects/{world.project.key}/analyses", body(dp.Count(by="lesions")))
    assert (refused.status_code, refused.json()["kind"]) == (403, "PolicyError")
    wrong = program("third_party").post(f"projects/{world.project.key}/price", body(dp.Count(by="lesion")))
    assert wrong.status_code == 422 and "lesions" not in wrong.json()["error"], "closed fields are not suggested"


def test_without_published_data_there_is_no_offer_and_nothing_to_ask(world: Any, program: Any) -> None:
    world.project.snapshots.update(published=None)
    caller, path = program("owner"), f"projects/{world.project.key}"
    assert caller.get(path).json()["offer"] is None
    assert caller.post(f"{path}/price", body(dp.Count())).status_code == 403
    assert caller.post(f"{path}/analyses", body(dp.Count())).status_code == 403


def test_budgets_of_all_are_for_those_who_watch_over_them(world: Any, program: Any) -> None:
    path = f"projects/{world.project.key}"
    program("third_party").post(f"{path}/analyses", body(dp.Count()))
    own = program("third_party").get(f"{path}/budget").json()
    assert own["own"]["nano_epsilon"] > 0 and own["accounts"] is None
    for role in ("owner", "data_protection_officer"):
        accounts = program(role).get(f"{path}/budget").json()["accounts"]
        assert {row["organisation"] for row in accounts} == {None, "Acme"}
    assert program("radiologist").get(f"{path}/budget").json() == {"own": None, "accounts": None}


def test_a_shared_analysis_is_seen_by_the_role_and_no_other(world: Any, program: Any) -> None:
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.analyses.visibility import share

    made = program("third_party").post(f"projects/{world.project.key}/analyses", body(dp.Count())).json()
    assert program("collaborator").get(f"analyses/{made['key']}").status_code == 404
    share(world.people["owner"], Analysis.objects.get(), ["collaborator"])
    reader = program("collaborator")
    refused = reader.get(f"analyses/{made['key']}")
    assert refused.status_code == 403 and "release" not in refused.json(), "the organisation has not paid for it"
    received = reader.post(f"analyses/{made['key']}/receive", {"at_most": 0.1}).json()
    assert received["release"] == made["release"]
    assert reader.get(f"analyses/{received['key']}").json()["release"] == made["release"]


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"question": {"ask": "count"}, "sql": "SELECT 1"},
        {"question": {"ask": "count", "sql": "1"}, "epsilon": 0.1},
        {"question": {"ask": "eval", "of": "age"}, "epsilon": 0.1},
        {"question": {"ask": "mean"}, "epsilon": 0.1},
        {"question": {"ask": "count", "of": "bytes"}, "epsilon": 0.1},
        {"question": {"ask": "count", "by": "pirads"}, "epsilon": 0.1},
        {"question": {"ask": "count", "by": [{"column": "pirads", "unknown": True}]}, "epsilon": 0.1},
        {"question": {"ask": "count", "by": [{"column": "pirads"}] * 2}, "epsilon": 0.1},
        {"question": {"ask": "count", "by": [{"column": "age", "edges": [3, 2, 1]}]}, "epsilon": 0.1},
        {"question": {"ask": "count", "by": [{"column": "age", "edges": [1, 2], "keys": [1]}]}, "epsilon": 0.1},
        {"question": {"ask": "histogram", "of": "age", "edges": list(range(300))}, "epsilon": 0.1},
        {"question": {"ask": "count", "where": [{"column": "age", "op": "like", "values": ["%"]}]}, "epsilon": 0.1},
        {"question": {"ask": "count", "where": [{"column": "age", "op": "between", "values": [1]}]}, "epsilon": 0.1},
        {"question": {"ask": "count", "where": [{"column": "age", "op": "is_in", "values": [2**70]}]}, "epsilon": 0.1},
        {"question": {"ask": "mean", "of": "no_such_field"}, "epsilon": 0.1},
        {"question": {"ask": "mean", "of": "age\x00"}, "epsilon": 0.1},
        {"question": {"ask": "count", "where": [{"column": "prostatitis", "op": "is_in", "values": ["\ud800"]}]}},
        {"question": {"ask": "quantiles", "of": "age", "quantiles": [2]}, "epsilon": 0.1},
        {"question": {"ask": "count"}, "epsilon": 0},
        {"question": {"ask": "count"}, "epsilon": -1},
        {"question": {"ask": "count"}, "epsilon": "0.1"},
        {"question": {"ask": "count"}, "epsilon": True},
        {"question": {"ask": "count"}, "epsilon": 0.1, "margin": 3},
        {"question": {"ask": "count"}, "noise_factor": "none"},
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(wrong: Any, world: Any, program: Any) -> None:
    from pydplib.web.ledger import models as rows

    for path in ("price", "analyses"):
        answer = program("third_party").post(f"projects/{world.project.key}/{path}", wrong)
        assert answer.status_code == 422, answer.content
    assert not rows.Entry.objects.filter(body__contains='"debit"').exists()


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'{"question": {"ask": "count"}, "epsilon": NaN}', 400),
        (b'{"question": {"ask": "count"}, "epsilon": 1e999}', 422),
        (b'{"question": {"ask": "count"}, "epsilon": 0.1, "epsilon": 0.2}', 400),
        (b"[" * 100_000, 413),
        (b"[" * 20_000 + b"]" * 20_000, 400),
        (b'{"a":' * 12 + b"1" + b"}" * 12, 400),
        (b" " * 70_000, 413),
        (b"1" * 5_000, 400),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_body_that_cannot_be_read_is_refused(raw: bytes, status: int, world: Any, program: Any) -> None:
    assert program("third_party").post(f"projects/{world.project.key}/analyses", raw=raw).status_code == status


def test_too_many_cells_are_refused(world: Any, program: Any) -> None:
    edges = [number / 2 for number in range(201)]
    wide = {"ask": "crosstab", "by": [{"column": "age", "edges": edges}, {"column": "year"}, {"column": "gleason"}]}
    wide["by"].append({"column": "pirads"})
    answer = program("owner").post(f"projects/{world.project.key}/price", {"question": wide, "epsilon": 1})
    assert answer.status_code == 422 and "cells" in answer.json()["error"]


def test_an_error_never_repeats_what_was_sent(world: Any, program: Any) -> None:
    canary = "Doe, John 1950-01-01"
    for wrong in (
        {"question": {"ask": canary}},
        {"question": {"ask": "count", canary: 1}},
        {canary: 1},
        {"question": {"ask": "count"}, "epsilon": canary},
        {"question": {"ask": "count"}, "noise_factor": canary},
    ):
        answer = program("third_party").post(f"projects/{world.project.key}/price", wrong)
        assert answer.status_code == 422 and "Doe" not in answer.content.decode()


def test_a_fault_is_said_without_a_word_about_it(world: Any, program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydplib.web.api.routers import analyses

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the canary of the database")

    monkeypatch.setattr(analyses, "quote", fail)
    answer = program("third_party").post(f"projects/{world.project.key}/price", body(dp.Count()))
    assert answer.status_code == 500 and "canary" not in answer.content.decode()
    monkeypatch.setattr("pydplib.web.api.permissions.tokens.use", fail)
    assert program("third_party").get("token").status_code == 500


def test_wrong_methods_and_addresses_are_answered_in_json(world: Any, program: Any) -> None:
    caller = program("third_party")
    assert caller.post("projects", {}).status_code == 405
    answer = caller.get(f"projects/{world.project.key}/price")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert caller.get("no/such/address").status_code == caller.post("no-such-address", {}).status_code == 404


def test_a_refused_question_costs_nothing_and_tells_no_value_of_a_closed_field(world: Any, program: Any) -> None:
    from pydplib.web.auditlog.models import Line
    from pydplib.web.ledger import models as rows

    world.project.rules.filter(audience="third_party").update(fields=["age"], filters=["year"])
    caller, path = program("third_party"), f"projects/{world.project.key}"
    closed = [
        dp.Count(by="lesions"),
        dp.Count(by={"department_code": ["zzz"]}),
        dp.Count(where=[dp.Where("department_code").is_in(["zzz"])]),
        dp.Count(where=[dp.Where("age").at_least(50)]),
    ]
    for number, question in enumerate(closed, start=1):
        refused = caller.post(f"{path}/analyses", body(question, noise_factor="high"))
        assert (refused.status_code, refused.json()["kind"]) == (403, "PolicyError")
        assert "SYN-" not in refused.json()["error"]
        assert Line.objects.filter(action="analysis.refuse").count() == number
    world.project.rules.filter(audience="third_party").update(fields=["*"], filters=["*"], purpose="something else")
    refused = caller.post(f"{path}/analyses", body(dp.Count(by="lesions"), noise_factor="high"))
    assert "purpose" in refused.json()["error"], "the door's own reason"
    world.project.rules.filter(audience="third_party").update(purpose="*")
    for margin in (0.001, 5.0):  # depends on a number of records that was not bought: said, not bought
        refused = caller.post(f"{path}/analyses", body(dp.Mean("age"), margin=margin))
        priced = caller.post(f"{path}/price", body(dp.Mean("age"), margin=margin))
        assert refused.status_code == priced.status_code == 422 and refused.json() == priced.json()
    assert not rows.Account.objects.filter(nano_epsilon__gt=0).exists()


def test_a_question_that_costs_more_than_was_agreed_is_refused_and_nothing_is_spent(world: Any, program: Any) -> None:
    from pydplib.web.auditlog.models import Line
    from pydplib.web.ledger import models as rows

    caller, path = program("third_party"), f"projects/{world.project.key}"
    refused = caller.post(f"{path}/analyses", body(dp.Count(), epsilon=0.2, at_most=0.199999999))
    said = refused.json()
    assert (refused.status_code, said["kind"], said["asked"]) == (403, "BudgetError", "epsilon 0.2")
    assert "more than the 0.199999999 that you agreed to" in said["error"]
    assert not rows.Entry.objects.filter(body__contains='"debit"').exists()
    assert not Line.objects.filter(action="analysis.refuse").exists(), "the caller's own limit, not the platform's"
    assert caller.post(f"{path}/analyses", body(dp.Count(), epsilon=0.2, at_most=0.2)).status_code == 200
    again = caller.post(f"{path}/analyses", body(dp.Count(), epsilon=0.2, at_most=0))
    assert again.status_code == 200, "paid before: costs nothing"


def test_what_is_agreed_to_includes_the_number_of_records_that_is_bought_along(world: Any, program: Any) -> None:
    from pydplib.web.ledger import models as rows

    caller, path = program("third_party"), f"projects/{world.project.key}"
    asked = body(dp.Count(by="pirads"), noise_factor="high")
    price = caller.post(f"{path}/price", asked).json()
    assert price["nano_epsilon_in_all"] > price["cost"]["nano_epsilon"]
    refused = caller.post(f"{path}/analyses", asked | {"at_most": price["cost"]["nano_epsilon"] / 1e9})
    assert refused.status_code == 403 and "buys a noisy number of records" in refused.json()["error"]
    assert not rows.Entry.objects.filter(body__contains='"debit"').exists(), "not even the number was bought"
    assert caller.post(f"{path}/analyses", asked | {"at_most": price["nano_epsilon_in_all"] / 1e9}).status_code == 200


@pytest.mark.parametrize("who", ["third_party", "collaborator", "owner"])
def test_body_of_a_price_is_the_price_that_pages_and_clients_have(world: Any, program: Any, who: str) -> None:
    from pydplib.release.prices import Accuracy
    from pydplib.web.analyses.payments.prices import quote
    from pydplib.web.api.values import PriceOut
    from pydplib.web.projects.models import Member

    caller, user = program(who), world.people[who]
    asked = [
        (dp.Mean("age", by="pirads"), {"epsilon": 0.2}),
        (dp.Median("age"), {"epsilon": 0.1, "confidence": 0.99}),
        (dp.Count(by="pirads"), {"margin": 20.0}),
        *([] if who == "owner" else [(dp.Count(by="pirads"), {"noise_factor": "high"})]),
    ]
    for question, noise in asked:
        body = {"question": question.to_dict(), **noise}
        told = caller.post(f"projects/{world.project.key}/price", body).json()
        price = quote(world.project, user, Member.as_role(who), question, Accuracy(**noise))
        assert told == price.to_dict() and dp.release.Price.from_dict(told) == price
        assert set(told) == set(PriceOut.model_fields), "the OpenAPI document names every key"
        assert told["left"]["is_shared"] is False or who == "owner"


def test_an_answer_at_the_cap_makes_no_later_price_free(world: Any, program: Any) -> None:
    caller, path = program("third_party"), f"projects/{world.project.key}"
    assert caller.post(f"{path}/analyses", body(dp.Count(), epsilon=1.0)).status_code == 200, "the cap"
    asked = body(dp.Count(), noise_factor="high")
    price = caller.post(f"{path}/price", asked).json()
    assert not price["free"] and price["at_most"] and price["nano_epsilon_in_all"] == 1_100_000_000
    refused = caller.post(f"{path}/analyses", asked | {"at_most": 0})
    assert (refused.status_code, refused.json()["kind"]) == (403, "BudgetError"), "nothing was agreed to"


@pytest.mark.parametrize("agreed", [-1, "much", 1e9, True])
def test_an_agreed_price_that_is_none_does_not_fit(world: Any, program: Any, agreed: Any) -> None:
    caller, path = program("third_party"), f"projects/{world.project.key}"
    assert caller.post(f"{path}/analyses", body(dp.Count(), epsilon=0.2, at_most=agreed)).status_code == 422
    assert caller.post(f"{path}/price", body(dp.Count(), epsilon=0.2, at_most=0.2)).status_code == 422


def test_the_agreed_price_is_in_the_openapi_text(program: Any) -> None:
    schema = program(None).get("openapi.json").json()
    assert "at_most" in schema["components"]["schemas"]["PayIn"]["properties"]
    assert "at_most" not in schema["components"]["schemas"]["AskIn"]["properties"]


def test_a_confidence_widens_the_margin_and_makes_another_release(world: Any, program: Any) -> None:
    caller, path = program("third_party"), f"projects/{world.project.key}"
    usual = caller.post(f"{path}/price", body(dp.Count())).json()
    sure = caller.post(f"{path}/price", body(dp.Count(), epsilon=0.1, confidence=0.99)).json()
    assert usual["margin"] == usual["margin95"] < sure["margin"] and usual["confidence"] == 0.95
    assert sure["margin95"] is None and sure["confidence"] == 0.99
    made = caller.post(f"{path}/analyses", body(dp.Count(), epsilon=0.1, confidence=0.99)).json()
    assert dp.Release.from_dict(made["release"]).confidence == 0.99
    assert not caller.post(f"{path}/price", body(dp.Count())).json()["free"]
    for wrong in (0.2, 1.0, "0.9"):
        assert caller.post(f"{path}/price", body(dp.Count(), epsilon=0.1, confidence=wrong)).status_code == 422


# -- tables bought together ------------------------------------------------------------------------

PAGE = [
    dp.Crosstab("age", "pirads", bins={"age": [18, 60, 70, 100]}),
    dp.Count(by="pirads"),
    dp.Histogram("age", bins=4),
]


def together(*questions: Any, **more: Any) -> dict[str, Any]:
    return {"questions": [question.to_dict() for question in questions]} | (more or {"epsilon": 0.3})


def test_tables_are_priced_and_bought_as_one_release_and_answer_later_questions(world: Any, program: Any) -> None:
    from pydplib.release import MeasuredTables
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.analyses.payments.purchases import stored_payload
    from pydplib.web.ledger import models as rows

    caller, path = program("third_party"), f"projects/{world.project.key}"
    price = caller.post(f"{path}/tables/price", together(*PAGE)).json()
    assert price["cost"]["nano_epsilon"] == 300_000_000 and not price["free"] and len(price["notes"]) >= 3
    assert not rows.Release.objects.exists()
    refused = caller.post(f"{path}/tables", together(*PAGE, epsilon=0.3, at_most=0.2))
    assert refused.status_code == 403 and not rows.Release.objects.exists()
    made = caller.post(f"{path}/tables", together(*PAGE))
    assert made.status_code == 200, made.content
    found = made.json()
    tables = MeasuredTables.from_json(json.dumps(found["tables"]))
    assert rows.Release.objects.count() == 1 and stored_payload(tables.key or "") in made.content
    assert [dict(tables[place].question)["ask"] for place in found["order"]] == ["crosstab", "count", "histogram"]
    spent = rows.Account.objects.get(recipient=world.people["third_party"].hospital.key).nano_epsilon
    assert spent == 300_000_000 and len(found["analyses"]) == 3 == Analysis.objects.exclude(part="").count()
    for brief, place in zip(found["analyses"], found["order"], strict=True):
        answer = caller.get(f"analyses/{brief['key']}").json()["release"]
        assert answer["values"] == list(tables[place].values)
        payload = caller.get(f"analyses/{brief['key']}/release").content
        assert Receipt.from_json(caller.get(f"analyses/{brief['key']}/receipt").content.decode()).matches(payload)
    assert caller.post(f"{path}/tables", together(*PAGE)).content == made.content
    # What the tables tell costs nothing, and becomes an analysis of its own.
    wider = caller.post(f"{path}/analyses", {"question": dp.Count(by={"age": dp.Bins([18, 60, 100])}).to_dict(),
                                             "epsilon": 0.01})  # fmt: skip
    assert wider.status_code == 200, wider.content
    known = wider.json()["release"]
    assert "measured together" in known["mechanism"] and rows.Release.objects.count() == 1
    assert rows.Account.objects.get(recipient=world.people["third_party"].hospital.key).nano_epsilon == spent
    assert [item["format"] for item in caller.get(f"{path}/tables").json()["items"]] == ["pydplib-tables/1"]
    # Per recipient: another organisation has bought nothing, and pays.
    other = program("collaborator")
    assert other.get(f"{path}/tables").json()["items"] == []
    assert not other.post(f"{path}/price", body(dp.Count(by="pirads"))).json()["free"]
    whole = rows.Account.objects.get(recipient="").nano_epsilon
    same = other.post(f"{path}/tables", together(*PAGE))
    assert same.json()["tables"] == found["tables"], "the same release"
    assert rows.Account.objects.get(recipient="").nano_epsilon == whole, "the data set is not charged twice"
    assert rows.Account.objects.get(recipient=world.people["collaborator"].hospital.key).nano_epsilon == spent


def test_each_makes_the_price_of_a_page_and_wrong_bodies_are_refused(world: Any, program: Any) -> None:
    caller, path = program("third_party"), f"projects/{world.project.key}"
    price = caller.post(f"{path}/tables/price", together(*PAGE, each=[0.2])).json()
    assert 0.2 < price["epsilon"] < 0.6
    for wrong in (
        together(*PAGE, confidence=0.9), together(*PAGE, epsilon=0.1, each=[0.1]), together(*PAGE, each=[0.1, 0.1]),
        {"questions": [], "epsilon": 0.1}, together(dp.Mean("age"), epsilon=0.1), together(*PAGE, epsilon=1e-6),
    ):  # fmt: skip
        answer = caller.post(f"{path}/tables/price", wrong)
        assert answer.status_code in (400, 422), (wrong, answer.content)
    closed = together(dp.Count(by="pirads"), dp.Count(by="bph"), epsilon=0.1)
    world.project.rules.filter(audience="third_party").update(fields=["pirads"])
    assert caller.post(f"{path}/tables", closed).status_code == 403

"""Clinical statistics on the platform: the form asks for them, the page shows both intervals, API and client follow."""

from __future__ import annotations

import re
from typing import Any

import pytest
from connected_client import connected

import pydplib as dp


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"kind": "odds ratio", "field": "bph", "by1": "pirads"}, "Odds ratio"),
        ({"kind": "odds ratio", "field": "bph", "by1": "pirads", "reference": "3"}, "PI-RADS score = 3"),
        ({"kind": "roc", "field": "pirads", "by1": "bph"}, "area under the curve"),
        ({"kind": "association", "field": "bph", "by1": "pirads"}, "chi-squared test"),
        ({"kind": "top", "field": "pirads", "places": "2"}, "most frequent"),
        ({"kind": "series", "field": "last_modified", "every": "year"}, "over time"),
        ({"kind": "logistic", "field": "bph", "by1": "pirads"}, "Logistic regression"),
    ],
)
def test_form_prices_pays_and_shows_it(asked: dict[str, str], words: str, tara: Any, pay: Any) -> None:
    paid = pay(tara, **asked, accuracy="epsilon", epsilon="0.5")
    shown = tara.get(paid.url).content.decode()
    assert words.lower() in shown.lower()
    assert tara.get(f"{paid.url}/download/csv").status_code == 200


def test_page_shows_the_interval_for_the_population(tara: Any, pay: Any) -> None:
    paid = pay(tara, kind="odds ratio", field="bph", by1="pirads", accuracy="epsilon", epsilon="0.5")
    shown = tara.get(paid.url).content.decode()
    assert "population" in shown.lower()


@pytest.mark.parametrize("groups", [{}, {"by1": "pirads"}])
def test_medians_of_persons_have_an_interval_for_the_population(groups: dict[str, str], tara: Any, pay: Any) -> None:
    asked = {"kind": "median", "field": "age", "rule": "first", "order": "last_modified", **groups}
    paid = pay(tara, **asked, accuracy="epsilon", epsilon="0.5")
    answer = tara.get(paid.url)  # a group that noise alone could have made is not drawn, and the page still stands
    assert answer.status_code == 200 and "Population (95 %)" in answer.content.decode()
    assert "population_low95" in tara.get(f"{paid.url}/download/csv").content.decode().splitlines()[0]
    assert dp.Release.from_json(tara.get(f"{paid.url}/download/json").content).population is not None


def test_table_one_is_asked_by_form_api_and_client_alike(tara: Any, pay: Any, study: Any) -> None:
    from pydplib.web.api.tokens import make_token

    asked = {"kind": "table one", "variables": ["age", "prostatitis"], "by1": "bph", "rule": "first"}
    paid = pay(tara, **asked, order="last_modified", accuracy="epsilon", epsilon="0.5")
    page = tara.get(paid.url).content.decode()
    assert 'class="printed"' in page and "mean (SD)" in page and "chronic" in page  # the template's words, not codes
    assert page.count("n ≈") == 2 and "2 tests" in page and "p (Holm)" in page
    table = tara.get(f"{paid.url}/download/html")
    assert table.status_code == 200 and b"<table style=" in table.content and b"chronic" in table.content
    assert "attachment" in table["Content-Disposition"]
    assert "Age (years)" in tara.get(f"{paid.url}/download/csv").content.decode()
    token = make_token(tara.user, name="test", scopes=["read", "ask"], days=1, second_factor=False)[1]
    project = connected(token).project(study.project.key)
    stored = dp.Release.from_json(tara.get(f"{paid.url}/download/json").content)
    again = project.ask(type(dp.clinic.TableOne(["age"])).from_dict(dict(stored.question)), epsilon=0.5)
    assert again.printed.rows == stored.printed.rows  # the same entry of the ledger: nothing was charged
    fine = dp.clinic.TableOne(["age"], bins={"age": 4}, per_person=dp.Person().first_row(order="last_modified"))
    assert project.price(fine, epsilon=0.4).cost.epsilon == 0.4
    assert "mean (SD)" in str(project.ask(fine, epsilon=0.4))


def test_other_answers_are_no_printed_table(tara: Any, pay: Any) -> None:
    paid = pay(tara, kind="count", by1="bph", accuracy="epsilon", epsilon="0.5")
    assert tara.get(f"{paid.url}/download/html").status_code == 404


@pytest.mark.parametrize(
    ("entry", "kind"), [("table-one", "table one"), ("survival", "survival"), ("compare", "trend")]
)
def test_pages_of_their_own_offer_what_they_are_for(entry: str, kind: str, tara: Any) -> None:
    page = tara.get(f"/analyses/ask/{entry}").content.decode()
    assert f'value="{kind}"' in page and 'value="mode"' not in page
    assert (
        f'action="/analyses/ask/{entry}"' in page
        and f'href="/analyses/ask/{entry}"' in tara.get("/analyses").content.decode()
    )
    assert '<option value="first" selected>' in page  # papers count patients, each once
    assert tara.get("/analyses/ask/nothing").status_code == 404


def test_form_offers_times_events_and_references_only_where_they_fit(tara: Any) -> None:
    page = tara.get("/analyses/ask/survival").content.decode()
    assert "age" in _options(page, "field") and not {"bph", "pirads", "last_modified"} & _options(page, "field")
    assert "bph" in _options(page, "by1") and not {"age", "pirads", "last_modified"} & _options(page, "by1")
    asked = "/analyses/ask/compare?kind=odds+ratio&field=bph"
    assert "bph" in _options(tara.get(asked).content.decode(), "field")
    assert "reference" not in tara.get(asked).content.decode()
    page = tara.get(f"{asked}&by1=pirads").content.decode()
    assert _options(page, "reference") == {"", "2", "3", "4", "5"} and "The first: 1" in page
    assert "reference" not in tara.get(f"{asked}&by1=age").content.decode()  # bins have no list


def _options(page: str, name: str) -> set[str]:
    [chosen] = re.findall(rf'<select name="{name}".*?</select>', page, re.S)
    return set(re.findall(r'<option value="([^"]*)"', chosen))


def test_form_says_what_each_field_is_for(tara: Any) -> None:
    page = tara.get("/analyses/new", {"kind": "survival"}).content.decode()
    assert "Time to the event or the last contact" in page and "Which field says that the event happened?" in page


def test_api_and_client_ask_them(tara: Any, study: Any) -> None:
    from pydplib.web.api.api import openapi_document
    from pydplib.web.api.tokens import make_token

    token = make_token(tara.user, name="test", scopes=["read", "ask"], days=1, second_factor=False)[1]
    project = connected(token).project(study.project.key)
    question = dp.clinic.Association("bph", "pirads")
    assert project.price(question, epsilon=0.4).question == "association of bph and pirads"
    release = project.ask(question, epsilon=0.4)
    assert release.findings[0].p is not None
    ratios = project.ask(dp.clinic.OddsRatio("bph", by="pirads"), epsilon=0.4)
    assert ratios.population is not None and ratios.plot().data
    known = openapi_document()["components"]["schemas"]
    assert {"SurvivalIn", "OddsRatioIn", "RocIn", "LogisticIn", "TopIn", "SeriesIn"} <= known.keys()


def test_planner_works_out_the_third_of_three_and_touches_no_table(tara: Any) -> None:
    asked = {"kind": "odds ratio", "baseline": "0.3", "effect": "2", "epsilon": "1", "power": "0.8"}
    page = tara.get("/analyses/plan", asked).content.decode()
    assert "296" in page and "80 %" in page
    empty = tara.get("/analyses/plan").content.decode()
    assert "Work it out" in empty and "The plan" not in empty
    wrong = tara.get("/analyses/plan", asked | {"n": "300"}).content.decode()
    assert "two of the three" in wrong
    assert "Odds ratio, e.g. 2" in page and "Standard deviation" not in page

"""Computed columns in the browser: declared with a live check, pinned by snapshots, asked in form, API and grammar."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

import pydplib as dp
from pydplib.release.grammar import parse_question
from pydplib.web.analyses.models import Analysis
from pydplib.web.api.tokens import make_token
from pydplib.web.intake.snapshots import make_snapshot, publish, published_snapshot
from pydplib.web.tables.declared import computed_columns, joins_of, newest
from pydplib.web.tables.models import Declarations


def check(study: Any, formula: str, table: str = "follow_up", **more: str) -> str:
    asked = {"project": study.project.key, "table": table, "formula": formula, **more}
    return str(study.owner.get("/columns/check", asked).content.decode())


@pytest.mark.parametrize(
    ("table", "formula", "words"),
    [
        ("follow_up", "change(psa by visit_date)", "the last PSA minus the first, in the order of Visit"),
        ("follow_up", "change(psa by visit_date)", "-100 to 100 ng/ml"),
        ("follow_up", "count_of(psa &gt;= 10)", "the number of records where PSA is at least 10"),
        ("follow_up", "days_between(visit_date)", "the days from the first to the last Visit"),
        ("follow_up", "days_to_next(visit_date)", "to the next later one"),
        ("follow_up", "highest(psa)", "the highest PSA"),
        ("follow_up", "last(recurrence by visit_date)", "the last Recurrence"),
        ("follow_up", "psa / months", "where it would be divided by 0"),
        ("follow_up", "psa * 2", "With PSA 50: 100."),
        ("follow_up", "cut(psa, 4, 10)", "below 4, 4 to below 10, 10 and more"),
        ("reports", "year(last_modified)", "2017 to 2018"),
        ("reports_follow_up", "days_between(last_modified, visit_date)", "to the first Visit"),
    ],
)
def test_the_check_says_what_a_formula_means(study: Any, table: str, formula: str, words: str) -> None:
    more = {"facts": "0 to 10"} if "/" in formula else {}
    assert words in check(study, formula.replace("&gt;", ">"), table, **more)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("psa /", "is needed here"),
        ("psas * 2", "Did you mean"),
        ("mean(psa)", "there is no function"),
        ("change(psa)", "&#x27;by&#x27; is needed here"),
        ("arm * 2", "holds no numbers"),
        ("patient_id * 2", "persons have no value"),
        ("__import__(1)", "no function"),
    ],
)
def test_the_check_says_what_is_wrong_with_a_formula(study: Any, formula: str, words: str) -> None:
    page = check(study, formula)
    assert "Not yet" in page and words in page


def declare_one(study: Any, **fields: str) -> Any:
    return study.owner.post(f"/columns?project={study.project.key}", fields, follow=True)


def test_declared_column_is_versioned_pinned_and_asked(study: Any) -> None:
    sent = {"table": "follow_up", "formula": "psa/months", "title": "PSA per month", "facts": "0 to 5", "unit": "ng/ml"}
    page = declare_one(study, **sent).content.decode()
    assert "is declared" in page and "In the next snapshot" in page
    assert newest(study.project).number == 2 and Declarations.objects.count() == 2
    assert [each.name for each in computed_columns(study.project)][-1] == "psa_per_month"
    asked = {"project": study.project.key, "kind": "mean", "table": "follow_up", "field": "psa_per_month"}
    # The published snapshot is what partners ask: it does not have the column yet.
    assert "PSA per month" not in study.owner.get("/analyses/new", asked).content.decode()
    publish(make_snapshot(study.project, actor=study.owner.user), actor=study.owner.user)
    assert "PSA per month" in study.owner.get("/analyses/new", asked).content.decode()
    assert "Published" in study.owner.get(f"/columns?project={study.project.key}").content.decode()
    again = declare_one(study, **sent)
    assert again.status_code == 422 and "already" in again.content.decode()
    removed = study.owner.post("/columns/remove", {"name": "psa_per_month"}, follow=True).content.decode()
    assert "not in the next snapshot" in removed and newest(study.project).number == 3


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"formula": "psa / months", "title": "Ratio"}, "Type the bounds"),
        ({"formula": "psa * 2", "title": "Twice", "label": "public"}, "cannot be less strict"),
        ({"formula": "psa * 2", "title": "Twice", "facts": "5 to 1"}, "low"),
        ({"formula": "psa * 2", "title": "Twice", "name": "Two Words"}, "small letters"),
        ({"formula": "psa * 2", "title": "Arm", "name": "arm"}, "already"),
    ],
)
def test_what_cannot_be_declared_is_said(study: Any, fields: dict[str, str], words: str) -> None:
    page = declare_one(study, table="follow_up", **fields)
    assert page.status_code == 422 and words in page.content.decode()
    assert newest(study.project).number == 1


def test_joins_are_chosen_by_the_owner(study: Any) -> None:
    assert [each.keep for each in joins_of(study.project)] == ["both"]
    study.owner.post(f"/columns/joins?project={study.project.key}", {"follow_up": "alone"})
    assert joins_of(study.project) == ()
    study.owner.post(f"/columns/joins?project={study.project.key}", {"follow_up": "all"})
    assert [each.keep for each in joins_of(study.project)] == ["all"] and newest(study.project).number == 3


CASES = [
    # words of the grammar, and the fields of the form
    ("mean psa_change by first_arm", {"kind": "mean", "field": "psa_change", "by1": "first_arm"}),
    ("mean high_psa", {"kind": "mean", "field": "high_psa"}),
    (
        "count where psa is missing or arm not in standard",
        {"kind": "count", "where1": "psa", "op1": "is_missing", "where2": "arm", "op2": "not_in", "values2": "0",
         "match": "any"},
    ),
    (
        "mean psa per person last by visit_date after arm in intensified",
        {"kind": "mean", "field": "psa", "rule": "last", "order": "visit_date", "where_after": "arm",
         "op_after": "is_in", "values_after": "1"},
    ),
    (
        "count by arm where psa_change > 2 per person first by visit_date",
        {"kind": "count", "by1": "arm", "where1": "psa_change", "op1": "more_than", "low1": "2", "rule": "first",
         "order": "visit_date"},
    ),
    ("count by arm per person highest psa", {"kind": "count", "by1": "arm", "rule": "highest", "order": "psa"}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "fields"), CASES, ids=[words for words, _ in CASES])
def test_grammar_form_and_api_ask_the_same_question(study: Any, words: str, fields: dict[str, str]) -> None:
    snapshot = published_snapshot(study.project, "follow_up")
    schema = dp.Schema.from_json(snapshot.schema)
    question = parse_question(words, schema)
    sent = {"project": study.project.key, "table": "follow_up", "accuracy": "epsilon", "epsilon": "0.5", **fields}
    page = study.owner.get("/analyses/new", sent)
    assert page.context["form"].question is not None, page.context["form"].errors
    assert page.context["form"].question.canonical(schema) == question.canonical(schema)
    _, token = make_token(study.owner.user, name="notebook", scopes=("read", "ask"), days=1, second_factor=True)
    body = {"question": question.to_dict(), "epsilon": 0.5, "table": "follow_up"}
    answer = Client(headers={"authorization": f"Bearer {token}"}).post(
        f"/api/v1/projects/{study.project.key}/analyses", json.dumps(body), content_type="application/json"
    )
    assert answer.status_code == 200, answer.content
    paid = study.owner.post("/analyses/new", {**sent, "agreed": str(10**12)})
    assert paid.status_code == 302 and Analysis.objects.count() == 1  # one question, one answer


def test_client_knows_the_tables_and_asks_them(study: Any) -> None:
    from connected_client import connected

    _, token = make_token(study.partner, name="notebook", scopes=("read", "ask"), days=1, second_factor=True)
    project = connected(token).project(study.project.key)
    assert list(project.data_tables) == ["", "follow_up", "reports_follow_up"]
    visits = project.data_tables["follow_up"]
    assert str(visits.column("psa_change").formula) == "change(psa by visit_date)"
    question = dp.Mean("psa_change", by="first_arm", where=[dp.Where("arm").not_in(["standard"])])
    assert project.price(question, epsilon=0.25, table="follow_up").epsilon == 0.25
    assert project.ask(question, epsilon=0.25, table="follow_up").cost.nano_epsilon == 250_000_000
    joined = project.ask(dp.Mean("psa_change", by="first_score"), epsilon=0.25, table="reports_follow_up")
    assert len(joined.to_frame()["value"]) >= 5
    # Opened by its own name alone, a computed column shows its bounds and not what it is computed from.
    study.project.rules.filter(audience="collaborator").update(fields=["psa_change"], filters=[])
    facts = connected(token).project(study.project.key).data_tables["follow_up"]
    assert "psa" not in facts.columns and facts.column("psa_change").formula is None
    assert facts.column("psa_change").high == 20

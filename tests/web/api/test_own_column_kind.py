"""A column kind that a test defines: its form, its price, its answer, its figure, and the same through the API."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from connected_client import connected
from own_kinds import Score, TimeOfDay, own_kinds

import pydplib as dp


@pytest.fixture
def visits(world: Any) -> Iterator[Any]:
    """The world's published snapshot with two more columns: when a patient was seen, and a score."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pydplib.web.intake.snapshots import folder, published_snapshot

    snapshot = published_snapshot(world.project)
    path = folder() / snapshot.file
    table = pq.read_table(path)
    times = [f"{7 + i % 12:02}:{i % 60:02}" for i in range(table.num_rows)]
    scores = [f"{1 + i % 5}/5" for i in range(table.num_rows)]
    pq.write_table(table.append_column("seen", pa.array(times)).append_column("score", pa.array(scores)), path)
    schema = dp.Schema.from_json(snapshot.schema)
    columns: dict[str, Any] = {
        **schema.columns,
        "seen": TimeOfDay("07:00", "19:00", title="Seen at"),
        "score": Score(5, label="quasi", title="Score"),
    }
    limits = {"person": schema.person, "max_rows_per_person": schema.max_rows_per_person}
    with own_kinds():
        snapshot.schema = dp.Schema(columns, name=schema.name, lineage=schema.lineage, **limits).to_json()
        snapshot.sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        snapshot.save()
        yield world


CONDITIONS = {
    "where1": "seen", "op1": "between", "low1": "08:00", "high1": "12:30",
    "where2": "score", "op2": "is_in", "values2": ["0", "2"],
}  # fmt: skip
PRICE = {"accuracy": "epsilon", "epsilon": "0.3"}


def test_form_asks_the_kind_for_widget_operators_values_and_bins(visits: Any, sign_in: Any) -> None:
    client = sign_in(visits.people["third_party"])
    page = client.get("/analyses/new", {"kind": "histogram", "field": "seen", **CONDITIONS, **PRICE}).content.decode()
    assert re.search(r'<input type="time" name="low1" value="08:00"', page)
    assert "07:00 to 19:00" in page and "07:00, 08:00, 09:00" in page, "the public ends, and the default bins"
    assert page.count('type="checkbox" name="values2"') == 5 and "3/5" in page
    averages = client.get("/analyses/new", {"kind": "mean"}).content.decode()
    assert '<option value="seen">Seen at</option>' in averages and '<option value="score">Score</option>' in averages
    wrong = client.get("/analyses/new", {"kind": "count", **CONDITIONS, "low1": "noon", **PRICE}).content.decode()
    assert "A time is written like 08:30." in wrong


@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "histogram", "field": "seen", "bins_seen": "07:00, 10:00, 13:00, 19:00"},
        {"kind": "mean", "field": "seen", "by1": "score"},
        {"kind": "crosstab", "field": "score", "by1": "seen"},
        {"kind": "count", **CONDITIONS},
    ],
    ids=lambda asked: asked["kind"],
)
def test_question_about_an_own_kind_is_priced_paid_drawn_and_shown(visits: Any, sign_in: Any, asked: Any) -> None:
    client = sign_in(visits.people["third_party"])
    page = client.get("/analyses/new", {**asked, **PRICE}).content.decode()
    form = re.search(r'<form method="post" action="/analyses/new".*?</form>', page, re.S)
    assert form, re.sub(r"<[^>]+>|\s+", " ", page)[:2000]
    sent: dict[str, Any] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0]):
        sent.setdefault(name, []).append(unescape(value))
    paid = client.post("/analyses/new", sent)
    assert paid.status_code == 302, paid.content.decode()[:500]
    shown = client.get(paid.url)
    assert shown.status_code == 200 and "Seen at" in shown.content.decode()
    release = dp.Release.from_json(client.get(f"{paid.url}/download/json").content)
    assert release.plot().data
    again = client.get("/analyses/new", {**asked, **PRICE}).content.decode()
    assert "Show the answer" in again, "the same question again is free"


def _questions() -> list[Any]:
    return [
        dp.Histogram("seen", edges=["07:00", "12:00", "19:00"]),
        dp.Mean("score", by="seen"),
        dp.Count(by="score", where=[dp.Where("seen").at_least("12:00"), dp.Where("score").is_in(["3/5"])]),
        dp.Crosstab("seen", "score"),
    ]


def test_api_prices_and_answers_questions_about_an_own_kind(visits: Any, program: Any) -> None:
    caller, path = program("third_party"), f"projects/{visits.project.key}"
    for question in _questions():
        body = {"question": question.to_dict(), "epsilon": 0.2}
        price = caller.post(f"{path}/price", body)
        assert price.status_code == 200, price.content
        assert price.json()["cost"]["nano_epsilon"] == 200_000_000
        made = caller.post(f"{path}/analyses", body)
        assert made.status_code == 200, made.content
        assert dp.Release.from_dict(made.json()["release"]).plot().data
    wrong = {"ask": "histogram", "of": "seen", "edges": ["07:00", "noon"]}
    assert caller.post(f"{path}/price", {"question": wrong, "epsilon": 0.2}).status_code == 422


def test_client_reads_the_kind_and_asks_about_it(visits: Any, make_token: Any) -> None:
    project = connected(make_token("third_party")).project(visits.project.key)
    assert project.schema.column("seen") == TimeOfDay("07:00", "19:00", title="Seen at")
    assert project.schema.column("score") == Score(5, label="quasi", title="Score")
    assert {"seen", "score"} <= {*project.fields} & {*project.filters}
    for question in _questions():
        price = project.price(question, epsilon=0.2)
        assert price.affordable and not price.free and price.total == 200_000_000
        release = project.ask(question, epsilon=0.2, at_most=0.2)
        assert release == dp.Release.from_json(release.to_json()) and release.plot().data
        assert project.price(question, epsilon=0.2).free
    assert [analysis.words for analysis in project.analyses()][-1] == "histogram of seen"

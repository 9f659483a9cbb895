"""Every clinical statistic can be had in every way: read off the registry, so that a new one is held to all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from neighbours import CLINICAL

import pydplib as dp
from pydplib.attack.audits.subjects import subjects
from pydplib.cli.answers.release import command
from pydplib.clinic.question import Clinical, PersonCounts
from pydplib.errors import QuestionError
from pydplib.plot.clinic import PICTURES
from pydplib.release.facts import Facts
from pydplib.release.grammar import parse_question
from pydplib.release.statistics import offered_statistics
from pydplib.release.statistics.question import Question

KINDS = {ask: kind for ask, kind in offered_statistics().items() if kind.__module__.startswith("pydplib.clinic")}
DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "clinical-statistics.md"
JOURNAL = {
    "survival": "curves", "roc": "roc", "odds ratio": "forest", "risk ratio": "forest", "logistic": "forest",
    "difference": "forest", "table one": "table",
}  # fmt: skip


def whole_schema(**more: Any) -> dp.Schema:
    """Return one table with the columns of all examples."""
    columns = {**dp.datasets.pirads_schema().columns, **dp.datasets.follow_up_schema().columns}
    return dp.Schema(columns, person="patient_id", max_rows_per_person=1, name="whole", **more)


@pytest.fixture(scope="module")
def rows() -> Any:
    reports = dp.datasets.pirads(backend="pandas").drop_duplicates("patient_id").reset_index(drop=True)
    visits = dp.datasets.follow_up(backend="pandas").drop_duplicates("patient_id").reset_index(drop=True)
    together = visits.drop(columns=["patient_id"]).iloc[: len(reports)].reset_index(drop=True)
    for name in together.columns:
        if name not in reports.columns:
            reports[name] = together[name]
    return reports.iloc[: len(together)]


@pytest.fixture(scope="module")
def session(rows: Any) -> Any:
    with dp.load(rows, whole_schema()) as table:
        yield dp.Session(table, recipient="acme", budget=500.0, policy=dp.Policy(data_set_budget=1000.0))


def test_the_registry_has_all_that_papers_print() -> None:
    assert set(KINDS) == {
        "table one", "difference", "risk ratio", "odds ratio", "standard error", "association", "trend", "correlation",
        "logistic", "survival", "roc", "series", "top",
    }  # fmt: skip


@pytest.mark.parametrize("ask", list(KINDS))
def test_it_is_read_priced_released_stored_drawn_and_told(ask: str, session: dp.Session) -> None:
    kind = KINDS[ask]
    question = parse_question(kind.example, session.table.schema)
    assert type(question) is kind and Question.from_dict(question.to_dict()) == question
    assert session.price(question, epsilon=1.0).cost.epsilon == 1.0
    release = session.release(question, epsilon=1.0)
    assert dp.Release.from_json(release.to_json()) == release
    assert release.plot().data and str(release) and release.to_frame(backend="pandas").shape[0] == len(release.values)
    assert JOURNAL.get(ask, "points") == (kind.picture if kind.picture in PICTURES else "points")


@pytest.mark.parametrize("ask", list(KINDS))
def test_it_has_help_an_example_a_proof_a_replay_and_an_audit(ask: str) -> None:
    kind = KINDS[ask]
    assert "Proof:" in (kind.__doc__ or "") and "Examples:" in (kind.__doc__ or "")
    assert f"dp.clinic.{kind.__name__}(" in DOCUMENT.read_text(encoding="utf-8") or ask == "table one"
    assert any(kind.example == example for example, _ in command.statistics())  # pydplib release --help
    replayed = {type(question) for question in CLINICAL} | {dp.clinic.TableOne}  # test_table_one_replay
    assert kind in replayed
    assert ask.replace(" ", "-") in {subject.name for subject in subjects()}


@pytest.mark.parametrize("ask", [ask for ask, kind in KINDS.items() if issubclass(kind, PersonCounts)])
def test_noise_that_would_hide_it_is_refused_before_paying_with_the_way_out(ask: str, rows: Any) -> None:
    with dp.load(rows, whole_schema(size=652)) as table:
        session = dp.Session(table, recipient="acme", budget=8.0)
        question = parse_question(KINDS[ask].example, table.schema)
        for buy in (session.price, session.release):
            with pytest.raises(QuestionError, match=r"noise would hide.*Nothing was spent.*at least") as way:
                buy(question, epsilon=0.001)
        assert session.remaining.epsilon == 8.0
        enough = float(str(way.value).rsplit(" ", 1)[1].rstrip("."))
        assert session.price(question, epsilon=1.1 * enough).cost.epsilon > 0


@pytest.mark.parametrize("ask", [ask for ask in KINDS if issubclass(KINDS[ask], Clinical)])
def test_a_form_offers_the_columns_that_can_be_asked_for_and_no_others(ask: str) -> None:
    kind, schema = KINDS[ask], whole_schema()
    plain = parse_question(kind.example, schema).to_dict()
    groups = [entry["column"] for entry in plain.get("by", ())]
    for place in range(1 + min(len(groups), 1)):
        for name, column in schema.columns.items():
            if not column.can_be_asked or name in (plain["of"] if place else "", *groups[place:]):
                continue
            changed = plain | ({"of": name} if place == 0 else {"by": [{"column": name}, *plain["by"][1:]]})
            try:
                Facts.of(Question.from_dict(changed), schema)
            except QuestionError:
                assert not kind.fits(column, place), (name, place)
            else:
                assert kind.fits(column, place), (name, place)

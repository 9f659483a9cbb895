"""What is kept between reports changes none of them: the same evaluations and texts as one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pydplib.capture import Condition, Evaluator, Option, Question, Template, Writer, builtin, evaluate, report_text
from pydplib.capture.model import Group
from pydplib.capture.plan import sections_of

WORDS = ["", " ", "yes", "no", "1", "2", "3", "4", "5", "64", "640", "6.5", "2018-03-01", "n", "chr", "x" * 70, "\x00"]


def answers_of(template: Template, choose: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place, question in template.index.questions():
        if not place.loops and choose.random() < 0.9:
            options = [str(option.value) for option in question.options]
            found[question.id] = choose.choice(options if options and choose.random() < 0.8 else WORDS)
    return found


@pytest.mark.parametrize("name", ["pirads-paper", "pirads-2.1"])
@pytest.mark.parametrize("purpose", ["import", "draft", "save"])
def test_evaluator_says_of_every_report_what_evaluate_says(name: str, purpose: Any) -> None:
    template, choose = builtin(name), random.Random(7)
    evaluator = Evaluator(template, purpose=purpose)
    reports = [answers_of(template, choose) for _ in range(300)]
    for report in reports + reports[:50]:
        ours, other = evaluator(report), evaluate(template, report, purpose=purpose)
        assert (ours.answers, ours.problems) == (other.answers, other.problems)


@pytest.mark.parametrize("name", ["pirads-paper", "pirads-2.1"])
def test_writer_writes_of_every_report_what_report_text_writes(name: str) -> None:
    template, choose = builtin(name), random.Random(8)
    writer = Writer(template)
    for _ in range(300):
        clean = evaluate(template, answers_of(template, choose), purpose="draft").answers
        assert writer.write(clean) == report_text(template, clean)


def test_sentence_that_speaks_of_another_answer_or_of_its_number_is_made_each_time() -> None:
    zone = Question(id="zone", kind="choice", title="Zone", options=(Option("PZ"), Option("TZ")), sentence="In {zone}.")
    size = Question(
        id="size", kind="integer", title="Size", low=1, high=90, sentence="Lesion {number}: {value} mm[ in {zone}]."
    )
    flag = Question(id="flag", kind="boolean", title="Flag", enable_when=(Condition("size", ">", 10),))
    template = Template(
        id="t",
        version="1",
        title="T",
        items=(Group(id="lesion", title="L", items=(zone, size, flag), repeats=True, max_repeats=3),),
    )
    writer = Writer(template)
    for zones in (["PZ", "TZ"], ["TZ", "PZ"]):
        clean = evaluate(template, {"lesion": [{"zone": each, "size": 12, "flag": True} for each in zones]}).answers
        text = writer.write(clean)
        assert text == report_text(template, clean)
        assert f"Lesion 1: 12 mm in {zones[0]}." in text and f"Lesion 2: 12 mm in {zones[1]}." in text


def test_equal_values_of_two_kinds_are_not_mixed_up() -> None:
    template = Template(
        id="t", version="1", title="T",
        items=(Question(id="a", kind="boolean", title="A"), Question(id="b", kind="integer", title="B", low=0, high=9)),
    )  # fmt: skip
    evaluator, writer = Evaluator(template), Writer(template)
    assert evaluator({"a": "1", "b": "1"}).answers == {"a": True, "b": 1}
    assert writer.write({"a": True, "b": 1}).endswith("A: yes. B: 1.")


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    module = importlib.import_module("pydplib.capture.evaluation")
    monkeypatch.setattr(module, "MOST_READS", 10)
    template = Template(
        id="t", version="1", title="T", items=(Question(id="b", kind="integer", title="B", low=0, high=999),)
    )
    evaluator = Evaluator(template)
    assert [evaluator({"b": str(i)}).answers["b"] for i in range(100)] == list(range(100))
    assert len(evaluator.reads) + sum(map(len, evaluator._clean.values())) == 10


def two_sections(**conditions: Any) -> Template:
    """Return a template whose second section has a question with a condition."""
    flag = Question(id="flag", kind="boolean", title="Flag", required=True)
    size = Question(id="size", kind="integer", title="Size", low=1, high=90)
    late = Question(id="late", kind="boolean", title="Late", **conditions)
    return Template(
        id="t", version="1", title="T",
        items=(Group(id="one", title="One", items=(flag,)), Group(id="two", title="Two", items=(size, late))),
    )  # fmt: skip


def test_a_section_that_looks_at_another_one_is_not_kept_by_its_own_answers() -> None:
    template = two_sections(enable_when=(Condition("flag", "=", True),))
    assert [section.is_closed for section in sections_of(template.plan)] == [True, False]
    evaluator, writer = Evaluator(template, purpose="import"), Writer(template)
    for flag in ("yes", "no", "yes"):
        report = {"flag": flag, "size": "5", "late": "yes" if flag == "yes" else ""}
        ours, other = evaluator(report), evaluate(template, report, purpose="import")
        assert (ours.answers, ours.problems) == (other.answers, other.problems)
        assert writer.write(ours.answers) == report_text(template, ours.answers)
    hidden = {"flag": "no", "size": "5", "late": "yes"}  # the second section is as in a report that was fine
    assert [problem.code for problem in evaluator(hidden).problems] == ["hidden"]


def test_an_answer_in_two_reports_of_a_section_is_no_shared_table() -> None:
    evaluator = Evaluator(two_sections())
    first, second = evaluator({"flag": "yes", "size": "5"}).answers, evaluator({"flag": "yes", "size": "5"}).answers
    first["size"] = 6
    assert second == evaluator({"flag": "yes", "size": "5"}).answers == {"flag": True, "size": 5}


def test_combinations_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    for name in ("evaluation", "report_text"):
        monkeypatch.setattr(importlib.import_module(f"pydplib.capture.{name}"), "MOST_COMBINATIONS", 7)
    template = two_sections()
    evaluator, writer = Evaluator(template), Writer(template)
    for size in range(1, 60):
        clean = evaluator({"flag": "yes", "size": str(size)}).answers
        assert clean == {"flag": True, "size": size} and f"Size: {size}." in writer.write(clean)
    for keeper in (evaluator, writer):
        assert [len(known or ()) for _, _, known in keeper._sections or ()] == [1, 7]

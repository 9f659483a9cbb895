"""What is kept between reports changes none of them: the same evaluations and texts as one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pydplib.capture import Condition, Evaluator, Option, Question, Template, Writer, builtin, evaluate, report_text
from pydplib.capture.model import Group

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

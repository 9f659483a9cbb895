"""Evaluation: branching, repetition, computed fields, purposes; malformed answers come back as problems."""

from __future__ import annotations

import datetime as dt
import decimal
import math

import numpy as np
import pandas as pd
import pytest

from pydplib.capture import Check, Computed, Condition, Group, Option, Question, Template, builtin, evaluate
from pydplib.capture.values import Unreadable, is_empty, read_value, show_value

CANARY = "CANARY-7731"


def codes(evaluation):
    return [(problem.code, problem.item) for problem in evaluation.problems]


def full(**more):
    lesions = [{"zone": "CZ", "origin": "TZ", "size": 12}, {"zone": "PZ", "size": "7"}]
    return {"patient": "17", "seen": True, "lesion": lesions, "psa": "7.5"} | more


def test_answers_that_fit_come_back_clean_and_computed(scan):
    result = evaluate(scan, full(), purpose="import")
    assert result.ok and not result.problems
    assert result.answers == {
        "patient": "17",
        "seen": True,
        "lesion": [{"zone": "CZ", "origin": "TZ", "size": 12}, {"zone": "PZ", "size": 7}],
        "count": 2,
        "largest": 12,
        "psa": 7.5,
    }


def test_condition_inside_a_repetition_looks_there_first(scan):
    answers = full(lesion=[{"zone": "PZ", "origin": "TZ"}, {"zone": "CZ"}])
    result = evaluate(scan, answers, purpose="import")
    assert [(p.code, p.place) for p in result.problems] == [
        ("hidden", "lesion 1, origin"),
        ("required", "lesion 2, origin"),
    ]
    assert result.answers["lesion"] == [{"zone": "PZ"}, {"zone": "CZ"}]


def test_condition_from_outside_a_repetition_holds_if_one_repetition_fits(scan):
    assert "biopsy" in evaluate(scan, full(biopsy="2020-01-01")).answers
    small = full(lesion=[{"zone": "PZ", "size": 9}], biopsy="2020-01-01")
    assert "biopsy" not in evaluate(scan, small).answers
    assert codes(evaluate(scan, small, purpose="import")) == [("hidden", "biopsy")]


@pytest.mark.parametrize(("purpose", "found"), [("draft", []), ("save", []), ("import", [("hidden", "lesion")])])
def test_hidden_answers_are_dropped_on_save_and_rejected_on_import(scan, purpose, found):
    result = evaluate(scan, full(seen=False), purpose=purpose)
    assert codes(result) == found
    assert result.answers == {"patient": "17", "seen": False, "count": 0, "psa": 7.5}


def test_hidden_answers_do_not_show_others():
    chain = Template(
        id="t",
        version="1",
        title="T",
        items=(
            Question(id="a", kind="boolean", title="A"),
            Question(id="b", kind="boolean", title="B", enable_when=(Condition("a", "=", True),)),
            Question(id="c", kind="boolean", title="C", enable_when=(Condition("b", "=", True),)),
        ),
    )
    assert evaluate(chain, {"a": False, "b": True, "c": True}).answers == {"a": False}
    assert evaluate(chain, {"a": "perhaps", "b": True, "c": True}).answers == {}


@pytest.mark.parametrize(
    ("purpose", "found"), [("draft", []), ("save", ["patient", "seen"]), ("import", ["patient", "seen"])]
)
def test_gaps_are_fine_in_drafts_only(scan, purpose, found):
    assert [problem.item for problem in evaluate(scan, {}, purpose=purpose).problems] == found


def test_required_inside_an_empty_repetition_is_not_missed(scan):
    result = evaluate(scan, full(lesion=[{}, {"zone": "", "size": None}, {"zone": "PZ"}]))
    assert result.ok and result.answers["count"] == 1


def test_repetition_with_only_hidden_answers_does_not_count(scan):
    result = evaluate(scan, full(lesion=[{"origin": "PZ"}, {"zone": "PZ"}]))
    assert result.ok and result.answers["lesion"] == [{"zone": "PZ"}]


def test_repetitions_beyond_the_limits_are_problems(scan):
    lesions = [{"zone": "PZ"}] * 4
    assert codes(evaluate(scan, full(lesion=lesions))) == [("repetitions", "lesion")]
    group = Group(
        id="g",
        title="G",
        repeats=True,
        min_repeats=2,
        max_repeats=3,
        items=(Question(id="a", kind="boolean", title="A"),),
    )
    template = Template(id="t", version="1", title="T", items=(group,))
    assert codes(evaluate(template, {"g": [{"a": True}]})) == [("repetitions", "g")]
    assert codes(evaluate(template, {"g": [{"a": True}]}, purpose="draft")) == []


def test_computed_values_are_never_taken_from_the_client(scan):
    lies = full(count=9, largest=1)
    assert evaluate(scan, lies).answers["count"] == 2
    assert codes(evaluate(scan, lies)) == []
    assert codes(evaluate(scan, lies, purpose="import")) == [("computed", "count"), ("computed", "largest")]
    assert codes(evaluate(scan, full(count="2", largest=12.0), purpose="import")) == []


def test_computed_value_that_cannot_be_is_a_problem_of_its_inputs():
    template = Template(
        id="t",
        version="1",
        title="T",
        items=(
            Question(id="a", kind="integer", title="A", low=0, high=90),
            Question(id="b", kind="integer", title="B", low=0, high=90),
            Question(
                id="s", kind="integer", title="S", low=0, high=100, read_only=True, computed=Computed("sum", ("a", "b"))
            ),
        ),
    )
    result = evaluate(template, {"a": 80, "b": 80})
    assert codes(result) == [("value", "s")]
    assert "worked out from" in result.problems[0].message


@pytest.mark.parametrize(
    ("function", "inputs", "expected"),
    [
        ("sum", ("x", "y"), 11.5),
        ("mean", ("x", "y"), 5.75),
        ("minimum", ("x", "y"), 4.0),
        ("maximum", ("x", "y"), 7.5),
        ("difference", ("y", "x"), 3.5),
        ("product", ("x", "y"), 30.0),
        ("ratio", ("y", "x"), 1.875),
        ("ratio", ("y", "zero"), None),
        ("psa_density", ("y", "zero"), None),
        ("sum", ("missing",), None),
        ("difference", ("x", "missing"), None),
    ],
)
def test_function_of_numbers_gives_what_it_says(function, inputs, expected):
    numbers = [Question(id=n, kind="decimal", title=n, low=-1e6, high=1e6) for n in ("x", "y", "zero", "missing")]
    made = Question(
        id="m", kind="decimal", title="M", low=-1e9, high=1e9, read_only=True, computed=Computed(function, inputs)
    )
    template = Template(id="t", version="1", title="T", items=(*numbers, made))
    assert evaluate(template, {"x": 4, "y": 7.5, "zero": 0}).answers.get("m") == expected


@pytest.mark.parametrize(
    ("function", "answers", "expected"),
    [
        ("any_yes", {"a": False, "b": True}, True),
        ("any_yes", {"a": False}, False),
        ("all_yes", {"a": False, "b": True}, False),
        ("all_yes", {"a": True, "b": True}, True),
        ("any_yes", {}, None),
    ],
)
def test_function_of_flags_gives_what_it_says(function, answers, expected):
    flags = [Question(id=n, kind="boolean", title=n) for n in "ab"]
    made = Question(id="m", kind="boolean", title="M", read_only=True, computed=Computed(function, ("a", "b")))
    assert (
        evaluate(Template(id="t", version="1", title="T", items=(*flags, made)), answers).answers.get("m") is expected
    )


@pytest.mark.parametrize(
    ("birth", "exam", "years"),
    [("1950-03-02", "2018-03-01", 67), ("1950-03-01", "2018-03-01", 68), ("2019-01-01", "2018-01-01", None)],
)
def test_years_between_days_counts_full_years(birth, exam, years):
    days = [Question(id=n, kind="date", title=n, low="1900-01-01", high="2040-12-31") for n in ("birth", "exam")]
    made = [
        Question(
            id="age",
            kind="integer",
            title="Age",
            low=0,
            high=130,
            read_only=True,
            computed=Computed("years_between", ("birth", "exam")),
        ),
        Question(
            id="year",
            kind="choice",
            title="Year",
            options=(Option(2017), Option(2018)),
            read_only=True,
            computed=Computed("year_of", ("exam",)),
        ),
    ]
    template = Template(
        id="t", version="1", title="T", items=(*days, *made), checks=(Check("days_in_order", ("birth", "exam")),)
    )
    result = evaluate(template, {"birth": birth, "exam": exam})
    assert result.answers.get("age") == years
    assert result.answers["year"] == 2018
    assert bool(result.warnings) == (years is None)


def test_unknown_and_misplaced_answers_are_named_by_their_id(scan):
    result = evaluate(scan, full(colour="red", size=4, lesions_group={"x": 1}))
    assert sorted(codes(result)) == [("place", "lesions_group"), ("place", "size"), ("unknown", "colour")]


@pytest.mark.parametrize(
    "answers",
    [None, 3, "text", [], [1], {"lesion": 5}, {"lesion": {"zone": "PZ"}}, {"lesion": [3]}, {"lesion": [[1]]}, {3: 4}],
    ids=repr,
)
def test_answers_of_the_wrong_shape_are_problems(scan, answers):
    evaluate(scan, answers)
    assert not evaluate(scan, {"patient": "1", "seen": True} | answers).ok if isinstance(answers, dict) else True


def test_answers_nested_without_end_are_problems(scan):
    deep: object = 1
    for _ in range(20_000):
        deep = [deep]
    for answers in (deep, {"psa": deep}, {"seen": True, "lesion": deep}, {"seen": True, "lesion": [{"size": deep}]}):
        assert not evaluate(scan, answers).ok
        assert is_empty(deep) is False


VALUES = [
    ("integer", {"low": 0, "high": 10}, ["", None, "  ", math.nan, pd.NA, pd.NaT], None),
    ("integer", {"low": 0, "high": 10}, ["7", 7, 7.0, "7.0", " 7 ", np.int64(7), np.float32(7), "+7"], 7),
    (
        "integer",
        {"low": 0, "high": 10},
        [11, -1, "7.5", 7.5, True, "seven", [7], {"a": 7}, math.inf, 10**400, "9" * 40],
        Unreadable,
    ),
    ("decimal", {"low": 0, "high": 10}, ["7.5", 7.5, np.float64(7.5), decimal.Decimal("7.5"), "75e-1"], 7.5),
    ("decimal", {"low": 0, "high": 10}, ["7,5", "nan", "inf", True, math.inf, 10**400, "1e999", "0x1"], Unreadable),
    ("decimal", {"decimals": 1}, [7.55, "7.55", 1e16], Unreadable),
    ("boolean", {}, [True, "yes", "TRUE", 1, "1", "on", 1.0, np.bool_(True)], True),
    ("boolean", {}, [False, "No", "false", 0, "off"], False),
    ("boolean", {}, [2, "perhaps", "t", [True]], Unreadable),
    (
        "date",
        {"low": "2010-01-01", "high": "2020-12-31"},
        ["2018-03-31", dt.date(2018, 3, 31), dt.datetime(2018, 3, 31, 9)],
        "2018-03-31",
    ),
    (
        "date",
        {"low": "2010-01-01"},
        ["2009-12-31", "31.3.2018", "2018-02-30", "20180331", "2018-W13-6", 2018, True],
        Unreadable,
    ),
    ("text", {"max_length": 5}, ["abc", " abc ", "abc\n"], "abc"),
    ("text", {"max_length": 5}, ["abcdef", "a\x00b", "\ud800", "a\nb", True, ["a"], "a\x9bb"], Unreadable),
    ("text", {}, [17, 17.0, np.int64(17)], "17"),
]


@pytest.mark.parametrize(
    ("kind", "more", "raw", "expected"),
    [(kind, more, raw, expected) for kind, more, raws, expected in VALUES for raw in raws],
    ids=lambda v: repr(v)[:20],
)
def test_value_of_any_shape_is_read_or_refused(kind, more, raw, expected):
    question = Question(id="a", kind=kind, title="A", **more)
    if expected is Unreadable:
        with pytest.raises(Unreadable):
            read_value(question, raw)
    else:
        value = read_value(question, raw)
        assert value == expected and type(value) is type(expected)


def test_choice_is_read_by_value_never_by_likeness():
    score = Question(id="a", kind="choice", options=(Option(1, "one"), Option(2)))
    assert [read_value(score, raw) for raw in ("1", 1, 1.0, " 2 ")] == [1, 1, 1, 2]
    for raw in ("one", 1.5, True, "01", 10**400, math.inf, [1], {"a": 1}):
        with pytest.raises(Unreadable):
            read_value(score, raw)


def test_empty_is_only_what_holds_no_answer():
    assert all(is_empty(raw) for raw in (None, "", " \n", [], {}, [{}, ""], {"a": [None]}, math.nan, pd.NA))
    assert not any(is_empty(raw) for raw in (0, False, "0", [0], {"a": False}, 0.0))


def test_values_are_shown_as_people_read_them():
    assert show_value(Question(id="a", kind="choice", options=(Option("PZ", "peripheral"),)), "PZ") == "peripheral"
    assert show_value(Question(id="a", kind="decimal"), 0.25) == "0.25"
    assert show_value(Question(id="a", kind="boolean"), False) == "no"


def test_problems_and_representations_never_quote_an_answer(scan):
    answers = {
        "patient": [CANARY],
        "seen": CANARY,
        "lesion": [{"zone": CANARY, "size": CANARY}, CANARY],
        "psa": CANARY,
        "biopsy": CANARY,
        "notes": CANARY + "\x00",
        "count": CANARY,
    }
    for purpose in ("draft", "save", "import"):
        for tried in (answers, answers | {"seen": True}):
            result = evaluate(scan, tried, purpose=purpose)
            assert result.problems
            assert CANARY not in repr(result) + "".join(map(repr, result.problems)) + str(result.answers)


def test_numbers_out_of_bounds_are_not_quoted(scan):
    result = evaluate(scan, full(psa=777.7))
    assert "777" not in result.problems[0].message and "500" in result.problems[0].message


def pirads_answers(**more):
    return {
        "patient_id": "17",
        "exam_date": "2018-03-01",
        "age": 64,
        "histology": False,
        "prostate_volume": 40,
        "image_quality": "optimal",
        "category_without_lesion": 1,
    } | more


LESION = {"sector": "mid-PZpl-R", "zone": "PZ", "size": 9, "t2w": "3", "dwi": "3", "dce": "pos", "extension": "none"}


def test_pirads_report_works_out_every_category():
    stroma = LESION | {"sector": "mid-AFS-L", "zone": "AFS", "origin": "TZ", "t2w": "3", "dwi": "4"}
    staging = LESION | {"dwi": "X", "dce": "X"}
    answers = pirads_answers(lesion=[LESION, stroma, staging], psa=6)
    del answers["category_without_lesion"]
    result = evaluate(builtin("pirads-2.1"), answers, purpose="import")
    assert result.problems == ()
    assert [lesion.get("category") for lesion in result.answers["lesion"]] == [4, 3, None]
    assert [lesion["staging_only"] for lesion in result.answers["lesion"]] == [False, False, True]
    assert result.answers["pirads"] == 4
    assert result.answers["psa_density"] == 0.15
    assert (result.answers["year"], result.answers["lesions"], result.answers["largest_lesion"]) == (2018, 3, 9)


def test_pirads_report_without_a_lesion_asks_for_its_category():
    template = builtin("pirads-2.1")
    assert evaluate(template, pirads_answers()).answers["pirads"] == 1
    missing = pirads_answers()
    del missing["category_without_lesion"]
    assert codes(evaluate(template, missing)) == [("required", "category_without_lesion")]
    with_lesion = pirads_answers(lesion=[LESION])
    assert codes(evaluate(template, with_lesion, purpose="import")) == [("hidden", "category_without_lesion")]


def test_pirads_report_warns_of_contradictions_in_their_lesion():
    wrong = LESION | {"dwi": "5", "sector": "base-TZa-R"}
    answers = pirads_answers(lesion=[LESION, wrong])
    del answers["category_without_lesion"]
    result = evaluate(builtin("pirads-2.1"), answers)
    assert result.ok
    assert [(w.code, w.place) for w in result.warnings] == [
        ("pirads_scores", "lesion 2, dwi"),
        ("pirads_sector", "lesion 2, sector"),
    ]


def test_pirads_report_grades_the_cancer_and_judges_its_significance():
    template = builtin("pirads-2.1")
    known = {"histology": True, "gleason_primary": 3, "gleason_secondary": 3}
    result = evaluate(template, pirads_answers(**known, lesion=[LESION | {"lesion_volume": 0.3}]))
    assert (result.answers["gleason"], result.answers["isup"], result.answers["significant"]) == (6, 1, False)
    result = evaluate(template, pirads_answers(**known, lesion=[LESION | {"extension": "possible"}]))
    assert "significant" not in result.answers
    result = evaluate(template, pirads_answers(**known | {"gleason_secondary": 4}))
    assert (result.answers["gleason"], result.answers["isup"], result.answers["significant"]) == (7, 2, True)
    assert "gleason" not in evaluate(template, pirads_answers(gleason_primary=4, gleason_secondary=4)).answers


def test_pirads_lesion_of_the_central_zone_needs_its_origin():
    lesion = LESION | {"zone": "CZ", "sector": "base-CZ-R"}
    result = evaluate(builtin("pirads-2.1"), pirads_answers(lesion=[lesion]))
    assert ("required", "origin") in codes(result)
    assert "category" not in result.answers["lesion"][0]

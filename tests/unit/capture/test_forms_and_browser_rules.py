"""What a form shows, how its fields are read back, and rules that a browser script can evaluate."""

from __future__ import annotations

import json

import pytest

from pydplib.capture import (
    Condition,
    Group,
    Question,
    Template,
    answers_from_fields,
    browser_rules,
    builtin,
    evaluate,
    field_name,
    visible_items,
)


def test_visible_items_leave_out_what_is_hidden(scan, names):
    assert names(visible_items(scan, {})) == ["patient", "seen", "count", "largest", "psa", "notes"]
    shown = visible_items(scan, {"seen": True, "lesion": [{"zone": "CZ"}, {}]})
    assert names(shown) == [
        "patient",
        "seen",
        "lesion/0/zone",
        "lesion/0/origin",
        "lesion/0/size",
        "lesion/1/zone",
        "lesion/1/size",
        "count",
        "largest",
        "psa",
        "notes",
    ]


def test_visible_items_are_plain_values(scan, names):
    shown = visible_items(scan, {"seen": True, "lesion": [{"zone": "CZ", "size": 12}]})
    assert json.loads(json.dumps(shown)) == shown


def test_visible_items_carry_value_choice_and_problems(scan, names):
    shown = visible_items(scan, {"seen": True, "lesion": [{"zone": "CZ", "size": "900"}]}, purpose="save")
    assert shown[0]["problems"] == [{"severity": "error", "message": "Patient is missing."}]
    loop = shown[2]["items"][0]
    assert (loop["kind"], loop["can_add"], loop["max_repeats"]) == ("loop", True, 3)
    zone, origin, size = loop["repetitions"][0]["items"]
    assert [option["chosen"] for option in zone["options"]] == [False, True]
    assert origin["problems"][0]["message"] == "Origin is missing."
    assert size["value"] == "900" and "between 1 and 150 mm" in size["problems"][0]["message"]
    assert shown[3]["computed"] and shown[3]["value"] == 1


def test_visible_items_show_the_fewest_repetitions_blank(names):
    group = Group(
        id="g",
        title="G",
        repeats=True,
        min_repeats=2,
        max_repeats=3,
        items=(Question(id="a", kind="boolean", title="A", required=True),),
    )
    shown = visible_items(Template(id="t", version="1", title="T", items=(group,)), {})
    assert names(shown) == ["g/0/a", "g/1/a"]
    assert shown[0]["can_add"]
    full = visible_items(Template(id="t", version="1", title="T", items=(group,)), {"g": [{}, {}, {}, {}]})
    assert names(full) == ["g/0/a", "g/1/a", "g/2/a"] and not full[0]["can_add"]


def test_visible_items_agree_with_evaluation(scan, names):
    answers = {
        "patient": "1",
        "seen": True,
        "lesion": [{"zone": "PZ", "origin": "TZ", "size": 30}],
        "biopsy": "2020-01-01",
    }
    shown = names(visible_items(scan, answers))
    assert "lesion/0/origin" not in shown and "biopsy" in shown
    assert set(evaluate(scan, answers).answers) - {"lesion"} <= set(shown)


def test_fields_of_a_form_become_answers_and_back(scan):
    fields = {
        "patient": "17",
        "seen": "on",
        "lesion/0/zone": "PZ",
        "lesion/10/zone": "CZ",
        "lesion/2/zone": "PZ",
        "lesion/2/size": "4",
        "lesion/x/zone": "PZ",
        "lesion/zone": "PZ",
        "zone": "PZ",
        "lesion/0/patient": "18",
        "csrfmiddlewaretoken": "secret",
        "": "x",
    }
    assert answers_from_fields(scan, fields) == {
        "patient": "17",
        "seen": "on",
        "lesion": [{"zone": "PZ"}, {"zone": "PZ", "size": "4"}, {"zone": "CZ"}],
    }


def test_fields_with_unusual_ids_come_back():
    odd = Question(id="/29463-7 é%2F", kind="boolean", title="Odd")
    inner = Group(id="a/b", title="Inner", repeats=True, max_repeats=2, items=(odd,))
    outer = Group(id="1.1", title="Outer", repeats=True, max_repeats=2, items=(inner,))
    template = Template(id="t", version="1", title="T", items=(outer,))
    name = field_name(("1.1", 1, "a/b", 0, odd.id))
    assert name.count("/") == 4
    fields = {name: "yes", field_name(("1.1", 0, "a/b", 1, odd.id)): "no"}
    assert answers_from_fields(template, fields) == {"1.1": [{"a/b": [{odd.id: "no"}]}, {"a/b": [{odd.id: "yes"}]}]}


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"seen": True},
        {"seen": True, "lesion": [{"zone": "CZ", "size": 3}, {"zone": "PZ", "size": 12}]},
        {"seen": True, "lesion": [{"size": 9}]},
        {"seen": False, "psa": 3.0},
    ],
)
def test_rules_in_a_browser_show_what_the_server_shows(scan, answers, browser, names):
    rules = json.loads(json.dumps(browser_rules(scan)))
    clean = evaluate(scan, answers, purpose="draft").answers
    assert browser(rules, clean) == set(names(visible_items(scan, clean)))


def test_rules_of_the_pirads_template_name_the_repetition():
    rules = {item["id"]: item for item in browser_rules(builtin("pirads-2.1"))["items"]}
    assert rules["origin"]["behaviour"] == "any"
    assert [c["level"] for c in rules["origin"]["conditions"]] == [1, 1]
    assert rules["lesion"]["kind"] == "loop" and rules["category"]["computed"]


def test_rules_of_nested_repetitions_share_what_they_can():
    deep = Question(id="deep", kind="boolean", title="D", enable_when=(Condition("flag", "=", True),))
    inner = Group(id="inner", title="I", repeats=True, max_repeats=2, items=(deep,))
    outer = Group(
        id="outer",
        title="O",
        repeats=True,
        max_repeats=2,
        items=(Question(id="flag", kind="boolean", title="F"), inner),
    )
    last = Question(id="last", kind="boolean", title="L", enable_when=(Condition("deep", "exists", True),))
    template = Template(id="t", version="1", title="T", items=(outer, last))
    rules = {item["id"]: item for item in browser_rules(template)["items"]}
    assert (rules["deep"]["conditions"][0]["level"], rules["deep"]["conditions"][0]["loops"]) == (1, [])
    assert (rules["last"]["conditions"][0]["level"], rules["last"]["conditions"][0]["loops"]) == (0, ["outer", "inner"])
    answers = {"outer": [{"flag": False, "inner": [{"deep": True}]}, {"flag": True, "inner": [{"deep": False}]}]}
    clean = evaluate(template, answers | {"last": True}).answers
    assert clean == {"outer": [{"flag": False}, {"flag": True, "inner": [{"deep": False}]}], "last": True}

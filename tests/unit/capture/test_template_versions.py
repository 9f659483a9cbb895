"""The difference of two versions of a template."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pydplib.capture import Computed, Condition, Group, Option, Question, Template, builtin, compare

AGE = Question(id="age", kind="integer", title="Age", low=18, high=100)
ZONE = Question(id="zone", kind="choice", title="Zone", options=(Option("PZ"), Option("TZ")))
NOTE = Question(id="note", kind="text", title="Note", max_length=100)


def template(*items, **more):
    return Template(**{"id": "t", "version": "1", "title": "T", "items": items} | more)


def lines(old, new):
    return [str(change) for change in compare(old, new)]


def test_same_template_has_no_difference():
    assert compare(builtin("pirads-2.1"), builtin("pirads-2.1")) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"title": "Age at scan"}, "changed 'age', title: Age -> Age at scan"),
        ({"low": 0}, "changed 'age', low: 18 -> 0"),
        ({"low": 40}, "changed 'age', low: 18 -> 40 (breaking)"),
        ({"high": None}, "changed 'age', high: 100 -> nothing"),
        ({"high": 90}, "changed 'age', high: 100 -> 90 (breaking)"),
        ({"required": True}, "changed 'age', required: no -> yes (breaking)"),
        ({"unit": "years"}, "changed 'age', unit: nothing -> years (breaking)"),
        ({"label": "public"}, "changed 'age', label: sensitive -> public (breaking)"),
        ({"label": "identifier"}, "changed 'age', label: sensitive -> identifier"),
        ({"computed": Computed("sum", ("a", "b"))}, "changed 'age', computed: nothing -> sum(a, b) (breaking)"),
        (
            {"enable_when": (Condition("zone", "=", "PZ"),)},
            "changed 'age', enable_when: nothing -> zone = PZ (breaking)",
        ),
        ({"kind": "decimal"}, "changed 'age', kind: integer -> decimal (breaking)"),
    ],
)
def test_changed_property_is_said_with_old_and_new(change, said):
    assert lines(template(AGE), template(replace(AGE, **change))) == [said]


def test_options_added_removed_renamed_and_reordered():
    new = replace(ZONE, options=(Option("CZ"), Option("PZ", "peripheral")), ordered=True)
    assert lines(template(ZONE), template(new)) == [
        "changed 'zone', ordered: no -> yes",
        "changed 'zone', options: nothing -> 'CZ' added",
        "changed 'zone', option 'PZ', title: nothing -> peripheral",
        "changed 'zone', options: 'TZ' -> removed (breaking)",
    ]
    turned = replace(ZONE, options=(Option("TZ"), Option("PZ")))
    assert lines(template(ZONE), template(turned)) == ["changed 'zone', order of options: PZ; TZ -> TZ; PZ"]


def test_items_added_removed_and_moved():
    old = template(AGE, ZONE, NOTE)
    group = Group(id="g", title="G", items=(NOTE,), repeats=True, max_repeats=2)
    new = template(ZONE, AGE, group, replace(AGE, id="again", required=True), version="2")
    assert lines(old, new) == [
        "changed template, version: 1 -> 2",
        "moved 'age': from its old place to another place in the top",
        "added 'g': repeating group",
        "moved 'note': from the top to 'g' (breaking)",
        "added 'again': integer (breaking)",
    ]
    assert lines(new, old)[-2:] == ["removed 'g': repeating group", "removed 'again': integer (breaking)"]


def test_moved_group_does_not_count_its_questions():
    first = Group(id="g", title="G", items=(AGE, ZONE))
    old, new = template(first, NOTE), template(NOTE, first)
    assert len(compare(old, new)) == 1

"""The linter: one broken template per rule; each finding names the item and the fix."""

from __future__ import annotations

import pytest

from pydplib.capture import (
    Check,
    Code,
    Computed,
    Condition,
    Group,
    Option,
    Question,
    Template,
    builtin,
    builtin_names,
    check_template,
    evaluate,
    lint,
)
from pydplib.errors import TemplateError

YES = Question(id="yes", kind="boolean", title="Yes?")
ZONE = Question(id="zone", kind="choice", title="Zone", options=(Option("PZ"), Option("TZ")))
AGE = Question(id="age", kind="integer", title="Age", low=18, high=100)
PSA = Question(id="psa", kind="decimal", title="PSA", low=0, high=500)
DAY = Question(id="day", kind="date", title="Day", low="2010-01-01", high="2020-12-31")
NOTE = Question(id="note", kind="text", title="Note")


def shown(*conditions, behaviour="", **more):
    """A last question with conditions."""
    values = {"id": "last", "kind": "boolean", "title": "Last"} | more
    return Question(enable_when=conditions, enable_behaviour=behaviour, **values)


def made(function, *inputs, kind="integer", **more):
    values = {"id": "made", "title": "Made", "kind": kind, "read_only": True}
    if kind in ("integer", "decimal"):
        values |= {"low": 0, "high": 1000}
    return Question(**values | more, computed=Computed(function, inputs))


def template(*items, **head):
    return Template(**{"id": "t", "version": "1", "title": "T", "items": items} | head)


def loop(*items, **more):
    return Group(**{"id": "loop", "title": "Loop", "items": items, "repeats": True, "max_repeats": 3} | more)


SIZE = Question(id="size", kind="integer", title="Size", low=1, high=150)

ERRORS = [
    # unique ids
    (template(YES, YES), "unique-id", "yes", "Rename"),
    (template(YES, Group(id="g", title="G", items=(YES,))), "unique-id", "yes", "Rename"),
    (template(Question(id="a{b}", kind="boolean", title="A")), "id", "a{b}", "braces"),
    # targets exist, come earlier, no cycle
    (template(YES, shown(Condition("yse", "=", True))), "target", "last", "Did you mean 'yes'"),
    (template(shown(Condition("nowhere", "=", True))), "target", "last", "earlier question"),
    (template(loop(SIZE), shown(Condition("loop", "exists", True))), "target", "last", "is a group"),
    (template(shown(Condition("yes", "=", True)), YES), "earlier", "last", "Move 'yes' before it"),
    (template(shown(Condition("last", "=", True))), "cycle", "last", "'last' -> 'last'"),
    (
        template(
            Question(id="a", kind="boolean", title="A", enable_when=(Condition("b", "=", True),)),
            Question(id="b", kind="boolean", title="B", enable_when=(Condition("a", "=", True),)),
        ),
        "cycle",
        "a",
        "'a' -> 'b' -> 'a'",
    ),
    (
        template(Group(id="g", title="G", items=(YES,), enable_when=(Condition("yes", "=", True),))),
        "cycle",
        "g",
        "depends on itself",
    ),
    # operator fits the type
    (template(ZONE, shown(Condition("zone", ">", "PZ"))), "operator", "last", "exists, =, !="),
    (template(YES, shown(Condition("yes", "<", True))), "operator", "last", "is a boolean"),
    (template(NOTE, shown(Condition("note", ">=", "a"))), "operator", "last", "is a text"),
    # the answer is one of the options, or of the right kind
    (template(ZONE, shown(Condition("zone", "=", "CZ"))), "answer", "last", "Use one of: PZ, TZ"),
    (template(ZONE, shown(Condition("zone", "exists", "PZ"))), "answer", "last", "true or false"),
    (template(AGE, shown(Condition("age", ">", "60"))), "answer", "last", "Write it as 15"),
    (template(AGE, shown(Condition("age", "=", 60.5))), "answer", "last", "Write it as 15"),
    (template(AGE, shown(Condition("age", "=", True))), "answer", "last", "another kind"),
    (template(AGE, shown(Condition("age", "=", 17))), "answer", "last", "between 18 and 100"),
    (template(YES, shown(Condition("yes", "=", "true"))), "answer", "last", "Write it as true"),
    (template(DAY, shown(Condition("day", "=", "31.3.2018"))), "answer", "last", "2018-03-31"),
    (template(NOTE, shown(Condition("note", "=", " "))), "answer", "last", "exists"),
    # every leaf reachable
    (
        template(ZONE, shown(Condition("zone", "=", "PZ"), Condition("zone", "=", "TZ"), behaviour="all")),
        "reach",
        "last",
        "can never be shown",
    ),
    (template(AGE, shown(Condition("age", ">", 100))), "reach", "last", "Loosen"),
    (
        template(AGE, shown(Condition("age", ">", 60), Condition("age", "<", 61), behaviour="all")),
        "reach",
        "last",
        "can never be shown",
    ),
    (
        template(
            YES,
            Question(id="a", kind="boolean", title="A", enable_when=(Condition("yes", "=", True),)),
            Group(
                id="g",
                title="G",
                enable_when=(Condition("yes", "=", False),),
                items=(shown(Condition("a", "=", True)),),
            ),
        ),
        "reach",
        "last",
        "can never be shown",
    ),
    (
        template(YES, shown(Condition("yes", "exists", False), Condition("yes", "=", True), behaviour="all")),
        "reach",
        "last",
        "can never be shown",
    ),
    # all or any is given if more than one
    (
        template(YES, AGE, shown(Condition("yes", "=", True), Condition("age", ">", 60))),
        "all-any",
        "last",
        'enable_behaviour = "all" or "any"',
    ),
    # computed fields: read-only, known, fitting, earlier
    (template(AGE, made("sum", "age", read_only=False)), "read-only", "made", "read_only = true"),
    (template(AGE, made("sum", "age", required=True)), "read-only", "made", "Remove required"),
    (template(Question(id="a", kind="boolean", title="A", read_only=True)), "read-only", "a", "Remove read_only"),
    (template(AGE, made("eval", "age")), "function", "made", "unknown function 'eval'"),
    (template(AGE, made("maximun", "age")), "function", "made", "Did you mean 'maximum'"),
    (template(AGE, made("mean", "age")), "function", "made", "gives a decimal"),
    (template(PSA, made("maximum", "psa")), "function", "made", "Change the kind to decimal"),
    (template(made("sum", "age"), AGE), "earlier", "made", "Move 'age' before it"),
    (template(AGE, made("sum", "agee")), "inputs", "made", "Did you mean 'age'"),
    (template(AGE, made("sum")), "inputs", "made", "numbers"),
    (template(AGE, made("difference", "age")), "inputs", "made", "first, second"),
    (template(YES, made("sum", "yes")), "inputs", "made", "that is a boolean"),
    (template(loop(SIZE), made("difference", "size", "size")), "inputs", "made", "once per 'loop'"),
    (template(loop(SIZE), made("sum", "loop")), "inputs", "made", "Name a question"),
    (template(Group(id="g", title="G", items=(AGE,)), made("count", "g")), "inputs", "made", "does not repeat"),
    (
        template(
            Question(id="z", kind="choice", title="Z", options=(Option("PZ"), Option("elsewhere"))),
            Question(id="s", kind="choice", title="S", options=(Option("1"),)),
            Question(id="d", kind="choice", title="D", options=(Option("neg"),)),
            made("pirads_category", "z", "s", "s", "d"),
        ),
        "inputs",
        "made",
        "'elsewhere' the function does not know",
    ),
    # checks
    (template(DAY, checks=(Check("days_in_order", ("day", "age")),)), "inputs", "", "does not exist"),
    (template(DAY, checks=(Check("days_in_ordr", ("day", "day")),)), "check", "", "Did you mean 'days_in_order'"),
    (template(loop(SIZE, checks=(Check("pirads_sector", ("size", "size")),))), "inputs", "loop", "needed is a choice"),
    # options
    (template(Question(id="a", kind="choice", title="A")), "options", "a", "Add the permitted answers"),
    (
        template(Question(id="a", kind="choice", title="A", options=(Option("x"), Option("x")))),
        "options",
        "a",
        "2 times",
    ),
    (template(Question(id="a", kind="choice", title="A", options=(Option(1), Option("X")))), "options", "a", "texts"),
    (template(Question(id="a", kind="choice", title="A", options=(Option("a  b"),))), "options", "a", "title"),
    (template(Question(id="a", kind="choice", title="A", options=(Option(2**40),))), "options", "a", "beyond"),
    (template(Question(id="a", kind="boolean", title="A", options=(Option("x"),))), "options", "a", "only a choice"),
    (template(Question(id="a", kind="boolean", title="A", ordered=True)), "options", "a", "only a choice"),
    # bounds and other properties of a kind
    (template(Question(id="a", kind="integer", title="A", low=5, high=5)), "bounds", "a", "low < high"),
    (template(Question(id="a", kind="integer", title="A", low=0.5, high=5)), "bounds", "a", "such as 18"),
    (template(Question(id="a", kind="decimal", title="A", low=0, high=float("inf"))), "bounds", "a", "0.5"),
    (
        template(Question(id="a", kind="date", title="A", low="1.1.2017", high="2018-01-01")),
        "bounds",
        "a",
        "2017-01-01",
    ),
    (template(Question(id="a", kind="text", title="A", low=0)), "bounds", "a", "only numbers and days"),
    (template(Question(id="a", kind="text", title="A", unit="mm")), "unit", "a", "only numbers"),
    (
        template(Question(id="a", kind="integer", title="A", low=0, high=9, decimals=1)),
        "decimals",
        "a",
        "decimals only",
    ),
    (template(Question(id="a", kind="boolean", title="A", max_length=5)), "max-length", "a", "texts only"),
    (template(Question(id="a", kind="boolean", title="A", multiline=True)), "multiline", "a", "only texts"),
    (template(Question(id="a", kind="text", title="A", sentence_no="No.")), "sentence", "a", "yes/no"),
    (template(Question(id="a", kind="boolean", title="A", codes=(Code("http://x", ""),))), "code", "a", "without code"),
    # groups and head
    (template(Group(id="g", title="G")), "empty", "g", "remove the group"),
    (template(loop(SIZE, max_repeats=None)), "repetitions", "loop", "Add max_repeats"),
    (template(loop(SIZE, min_repeats=4)), "repetitions", "loop", "min_repeats <= max_repeats"),
    (template(Group(id="g", title="G", items=(AGE,), max_repeats=3)), "repetitions", "g", "repeats = true"),
    (template(), "empty", "", "Add a question"),
    (template(AGE, id="my template"), "head", "", "letters, digits"),
    (template(AGE, version=""), "head", "", "version"),
    (template(AGE, version="1|2"), "head", "", "version"),
    (template(AGE, title=" "), "head", "", "title"),
    (template(AGE, url="http://a b"), "head", "", "url"),
    (template(AGE, person="patient"), "person", "", "is no question"),
    (template(NOTE, person="note"), "person", "note", "make it required"),
    (template(loop(NOTE), person="note"), "person", "note", "once and always"),
    (template(AGE, max_reports_per_person=3), "person", "", "needs person"),
    # texts
    (template(Question(id="a", kind="boolean", title="A\x07")), "text", "a", "control characters"),
    (template(AGE, description="\x00"), "text", "", "control characters"),
    (template(Question(id="a", kind="boolean", title="A", sentence="{value")), "sentence", "a", "braces"),
    (template(Question(id="a", kind="boolean", title="A", sentence="a ] b [")), "sentence", "a", "square brackets"),
    (template(Question(id="a", kind="boolean", title="A", sentence="[a")), "sentence", "a", "closing"),
    (
        template(AGE, Question(id="a", kind="boolean", title="A", sentence="{aeg}")),
        "sentence",
        "a",
        "Did you mean 'age'",
    ),
    (template(loop(SIZE), Question(id="a", kind="boolean", title="A", sentence="{size}")), "sentence", "a", "once per"),
    (template(loop(SIZE, sentence="{value}")), "sentence", "loop", "a group has none"),
]


@pytest.mark.parametrize(("broken", "code", "item", "fix"), ERRORS, ids=lambda v: v if isinstance(v, str) else "")
def test_linter_on_a_broken_template_names_item_and_fix(broken, code, item, fix):
    found = [problem for problem in lint(broken) if problem.severity == "error"]
    assert (code, item) in [(problem.code, problem.item) for problem in found]
    assert any(problem.code == code and fix in problem.message for problem in found), [p.message for p in found]
    with pytest.raises(TemplateError):
        check_template(broken)
    with pytest.raises(TemplateError):
        evaluate(broken, {})


@pytest.mark.parametrize("name", builtin_names())
def test_linter_on_builtin_templates_finds_nothing(name):
    assert lint(builtin(name)) == ()


def test_linter_on_the_small_template_finds_nothing(scan):
    assert lint(scan) == ()


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (Question(id="a", kind="integer", title="A"), "bounds"),
        (Question(id="a", kind="date", title="A", low="2010-01-01"), "bounds"),
        (Question(id="a", kind="text", title="A", label="public"), "label"),
        (Question(id="a", kind="boolean"), "title"),
    ],
)
def test_linter_on_a_doubtful_question_warns_and_lets_it_pass(question, code):
    problems = lint(template(question))
    assert [(problem.code, problem.severity) for problem in problems] == [(code, "warning")]
    check_template(template(question))


REACHABLE = [
    (AGE, shown(Condition("age", ">", 60), Condition("age", "<", 62), behaviour="all")),
    (ZONE, shown(Condition("zone", "=", "PZ"), Condition("zone", "=", "TZ"), behaviour="any")),
    (ZONE, shown(Condition("zone", "!=", "PZ"), Condition("zone", "!=", "TZ"), behaviour="all")),  # unanswered
    (PSA, shown(Condition("psa", ">", 0.1), Condition("psa", "<", 0.2), behaviour="all")),
    (DAY, shown(Condition("day", ">", "2010-01-01"), Condition("day", "<", "2010-01-03"), behaviour="all")),
    (NOTE, shown(Condition("note", "!=", "a"), Condition("note", "exists", True), behaviour="all")),
    # several repetitions can give different answers
    (loop(SIZE), shown(Condition("size", "=", 5), Condition("size", "=", 9), behaviour="all")),
    (
        YES,
        Question(id="a", kind="boolean", title="A", enable_when=(Condition("yes", "=", True),)),
        shown(Condition("yes", "=", True), Condition("a", "exists", False), behaviour="all"),
    ),
]


@pytest.mark.parametrize("items", REACHABLE, ids=range(len(REACHABLE)))
def test_linter_on_conditions_that_can_be_met_finds_no_error(items):
    assert [problem for problem in lint(template(*items)) if problem.severity == "error"] == []


def test_linter_on_entangled_conditions_gives_up_with_a_warning():
    questions = [Question(id=f"q{n}", kind="boolean", title="Q") for n in range(36)]
    pairs = []
    for n in range(0, 36, 2):
        either = (Condition(f"q{n}", "=", True), Condition(f"q{n + 1}", "=", True))
        pairs.append(Group(id=f"g{n}", title="G", enable_when=either, enable_behaviour="any", items=()))
    # Contradicts the last pair only, so that the search has to try every way through the others.
    inner = shown(Condition("q34", "=", False), Condition("q35", "=", False), behaviour="all")
    for group in pairs:
        inner = Group(id=group.id, title="G", enable_when=group.enable_when, enable_behaviour="any", items=(inner,))
    found = lint(template(*questions, inner))
    assert [(problem.code, problem.severity) for problem in found] == [("reach", "warning")]


def test_error_lists_every_mistake_once():
    broken = template(Question(id="a", kind="choice", title="A"), Question(id="b", kind="choice", title="B"))
    with pytest.raises(TemplateError, match="2 errors") as caught:
        check_template(broken)
    assert "'a'" in str(caught.value) and "'b'" in str(caught.value)

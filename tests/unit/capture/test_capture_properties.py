"""Random templates and random answers: nothing is lost, nothing crashes, hidden answers never survive."""

from __future__ import annotations

import copy
import datetime as dt
import json
import math

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from pydplib.capture import (
    CHECKS,
    FUNCTIONS,
    Check,
    Code,
    Computed,
    Condition,
    Group,
    Option,
    Question,
    Template,
    answers_from_fields,
    browser_rules,
    compare,
    evaluate,
    lint,
    questionnaire_from_fhir,
    questionnaire_to_fhir,
    report_text,
    response_from_fhir,
    response_to_fhir,
    to_schema,
    visible_items,
)
from pydplib.capture.model import OPERATORS_OF_KIND
from pydplib.errors import PydplibError, SchemaError, TemplateError

# Shrinking a random template takes minutes; the printed blob repeats the failure.
FEW = settings(max_examples=25, phases=[Phase.explicit, Phase.reuse, Phase.generate])
FUZZ = settings(FEW, max_examples=60)

letters = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs"))
words = st.text(letters, min_size=1, max_size=8)
texts = st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\n\t"), max_size=12)
plain = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="{}[]"), max_size=12)
ids = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), exclude_characters="{}[]"), min_size=1, max_size=6
)
days = st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)).map(dt.date.isoformat)
systems = st.sampled_from(["", "http://loinc.org", "http://snomed.info/sct"])
codes = st.builds(Code, systems, words, texts)


@st.composite
def questions(draw, name, inside, earlier):
    """A valid question; ``earlier`` are those that conditions may look at."""
    kind = draw(st.sampled_from(["choice", "integer", "decimal", "boolean", "date", "text"]))
    values = {
        "id": name,
        "kind": kind,
        "title": draw(texts),
        "help": draw(texts),
        "required": draw(st.booleans()),
        "reported": draw(st.booleans()),
        "label": draw(st.sampled_from(["identifier", "sensitive", "quasi", "public"])),
        "codes": draw(st.lists(codes, max_size=2)),
        "sentence": draw(plain) + draw(st.sampled_from(["", "{value}", "[ {unit}]", "{title} {number}"])),
    }
    if kind == "choice":
        numbers = draw(st.booleans())
        stored = st.integers(-999, 999) if numbers else words
        found = draw(st.lists(stored, min_size=1, max_size=4, unique_by=str))
        values["options"] = [
            Option(
                value,
                draw(texts),
                help=draw(texts),
                sentence=draw(plain),
                system=draw(systems),
                code=draw(st.just("") | words),
            )
            for value in found
        ]
        # The pair of system and code tells options apart in FHIR.
        assume(len({(o.system, o.code or str(o.value)) for o in values["options"]}) == len(found))
        values["ordered"] = draw(st.booleans())
    elif kind in ("integer", "decimal"):
        number = st.integers(-1000, 1000) if kind == "integer" else st.floats(-1e6, 1e6)
        low, high = draw(number), draw(number)
        if low < high:
            values |= {"low": low, "high": high}
        values["unit"] = draw(st.sampled_from(["", "mm", "ng/mL", "10*3/uL"]))
        if kind == "decimal":
            values["decimals"] = draw(st.none() | st.integers(0, 9))
    elif kind == "date":
        low, high = draw(days), draw(days)
        if low < high:
            values |= {"low": low, "high": high}
    elif kind == "text":
        values |= {"multiline": draw(st.booleans()), "max_length": draw(st.none() | st.integers(1, 50))}
    else:
        values["sentence_no"] = draw(plain)
    values |= draw(computed(values, earlier))
    return Question(**values | draw(conditions(earlier)))


@st.composite
def computed(draw, values, earlier):
    """Sometimes a function over earlier answers."""
    numbers = [q.id for q in earlier if q.kind == "integer"]
    flags = [q.id for q in earlier if q.kind == "boolean"]
    if values["kind"] == "decimal" and numbers and draw(st.booleans()):
        call = Computed(
            draw(st.sampled_from(["mean", "sum", "maximum"])),
            tuple(draw(st.lists(st.sampled_from(numbers), min_size=1, max_size=3))),
        )
    elif values["kind"] == "boolean" and flags and draw(st.booleans()):
        call = Computed(draw(st.sampled_from(["any_yes", "all_yes"])), (draw(st.sampled_from(flags)),))
    else:
        return {}
    return {"computed": call, "read_only": True, "required": False}


@st.composite
def conditions(draw, earlier):
    """Up to two conditions on earlier questions, with answers that these can have."""
    found = []
    for _ in range(draw(st.sampled_from([0, 0, 1, 2])) if earlier else 0):
        target = draw(st.sampled_from(earlier))
        operator = draw(st.sampled_from(OPERATORS_OF_KIND[target.kind]))
        if operator == "exists":
            found.append(Condition(target.id, "exists", draw(st.booleans())))
        else:
            found.append(Condition(target.id, operator, draw(good_answers(target))))
    behaviour = draw(st.sampled_from(["all", "any"])) if len(found) > 1 else draw(st.sampled_from(["", "all"]))
    return {"enable_when": found, "enable_behaviour": behaviour if found else ""}


def good_answers(question):
    """Answers that fit a question."""
    if question.kind == "choice":
        return st.sampled_from([option.value for option in question.options])
    if question.kind == "boolean":
        return st.booleans()
    if question.kind == "integer":
        low, high = (-1000, 1000) if question.low is None else (question.low, question.high)
        return st.integers(low, high)
    if question.kind == "decimal":
        low, high = (-1e6, 1e6) if question.low is None else (question.low, question.high)
        digits = question.decimals
        numbers = st.floats(low, high).map(lambda x: x + 0.0 if digits is None else round(x, digits) + 0.0)
        return (
            numbers.filter(lambda x: low <= x <= high)
            if digits is None
            else (numbers | st.just(low)).filter(lambda x: low <= x <= high and round(x, digits) == x)
        )
    if question.kind == "date":
        low, high = (question.low or "1900-01-01"), (question.high or "2100-01-01")
        return st.dates(dt.date.fromisoformat(low), dt.date.fromisoformat(high)).map(dt.date.isoformat)
    return st.text(letters, min_size=1, max_size=min(question.max_length or 8, 8))


@st.composite
def templates(draw):
    """A valid template: nested and repeating groups, conditions, computed fields, checks."""
    names = iter(draw(st.lists(ids, min_size=14, max_size=14, unique=True)))
    earlier: list[Question] = []

    def item(level):
        name = next(names, None)
        if name is None:
            return None
        if level < 3 and draw(st.sampled_from([False, False, True])):
            shown = draw(conditions(list(earlier)))
            inside = [child for child in (item(level + 1) for _ in range(draw(st.integers(1, 3)))) if child is not None]
            if not inside:
                return None
            repeats = draw(st.booleans())
            limits = {"min_repeats": draw(st.integers(0, 1)), "max_repeats": draw(st.integers(1, 3))} if repeats else {}
            return Group(
                id=name,
                title=draw(texts),
                help=draw(texts),
                items=inside,
                repeats=repeats,
                sentence=draw(plain),
                codes=draw(st.lists(codes, max_size=1)),
                **limits,
                **shown,
            )
        question = draw(questions(name, level, list(earlier)))
        earlier.append(question)
        return question

    items = [found for found in (item(0) for _ in range(draw(st.integers(1, 5)))) if found is not None]
    days_asked = [q.id for q in items if isinstance(q, Question) and q.kind == "date"]
    template = Template(
        id=draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9.\-]{0,20}", fullmatch=True)),
        version=draw(words.filter(lambda w: "|" not in w)),
        title=draw(texts.filter(str.strip)),
        description=draw(texts),
        publisher=draw(texts),
        url=draw(st.sampled_from(["", "http://hospital.example/Questionnaire/x"])),
        checks=[Check("days_in_order", (days_asked[0], days_asked[-1]))] if days_asked else [],
        items=items,
    )
    assume(not [problem for problem in lint(template) if problem.severity == "error"])
    return template


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(
        ["\ud800", "a\x00", 10**400, -0.0, math.inf, "2018-02-30", b"bytes", {1, 2}, object(), dt.date.min]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def answers(draw, template):
    """Answers to all questions, shown or not: mostly good, some junk, some missing, some in the wrong place."""

    def level(items):
        table = {}
        for entry in items:
            if isinstance(entry, Group) and not entry.repeats:
                table |= level(entry.items)
            elif draw(st.integers(0, 9)) == 0:
                table[entry.id] = draw(junk)
            elif isinstance(entry, Group):
                table[entry.id] = [level(entry.items) for _ in range(draw(st.integers(0, 3)))]
            elif draw(st.integers(0, 3)):
                table[entry.id] = draw(good_answers(entry))
        return table

    table = level(template.items)
    if draw(st.booleans()):
        table |= draw(st.dictionaries(st.text(max_size=4), junk, max_size=2))
    return table


def paths(answers, path=()):
    """All places of a set of answers, as field paths."""
    for key, value in answers.items():
        if isinstance(value, list):
            for number, inner in enumerate(value):
                yield from paths(inner, (*path, key, number))
        else:
            yield "/".join(map(str, (*path, key)))


@given(templates())
@FEW
def test_any_template_saved_and_loaded_is_the_same(template):
    assert Template.from_json(template.to_json()) == template
    assert Template.from_toml(template.to_toml()) == template
    assert compare(template, template) == ()


@pytest.mark.parametrize("version", ["R4", "R5"])
def test_any_template_through_fhir_loses_nothing(version, check_fhir):
    @given(templates())
    @FEW
    def run(template):
        resource = json.loads(json.dumps(questionnaire_to_fhir(template, version=version)))
        check_fhir(resource, version)
        imported = questionnaire_from_fhir(resource)
        assert imported.notes == ()
        assert imported.template == template

    run()


@given(st.data())
@FEW
def test_any_answers_are_evaluated_without_a_crash_and_only_once(data):
    template = data.draw(templates())
    given_answers = data.draw(answers(template) | junk)
    for purpose in ("draft", "save", "import"):
        result = evaluate(template, given_answers, purpose=purpose)
        json.dumps(result.answers, allow_nan=False)
        # What was accepted is accepted again, and unchanged.
        again = evaluate(template, result.answers, purpose=purpose)
        assert again.answers == result.answers
        assert not {p.code for p in again.problems} & {"hidden", "unknown", "place", "shape"}
    visible_items(template, given_answers)
    report_text(template, given_answers)


def test_hidden_answers_never_survive(browser, names):
    @given(st.data())
    @FEW
    def run(data):
        template = data.draw(templates())
        given_answers = data.draw(answers(template))
        clean = evaluate(template, given_answers).answers
        # The rules as a browser would apply them, by a second implementation that knows only their JSON.
        shown = browser(json.loads(json.dumps(browser_rules(template))), clean)
        assert set(paths(clean)) <= shown

    run()


def test_hidden_answers_that_survive_would_be_found(browser, scan):
    clean = {"patient": "1", "seen": False, "lesion": [{"zone": "PZ"}]}  # as a careless save would keep them
    assert not set(paths(clean)) <= browser(browser_rules(scan), clean)


@given(st.data())
@FEW
def test_every_hidden_answer_is_rejected_on_import(data):
    template = data.draw(templates())
    given_answers = data.draw(answers(template))
    result = evaluate(template, given_answers, purpose="import")
    if result.ok:  # then everything that was answered is still there
        kept = set(paths(result.answers))
        asked = set(paths(_without_gaps(given_answers)))
        assert asked <= kept | {path for path in asked if path.split("/")[-1] in template.plan.computed}


def _without_gaps(table):
    """Leave out what holds no answer, as an empty repetition does."""
    clean = {}
    for key, value in table.items():
        if isinstance(value, list):
            inner = [found for found in (_without_gaps(each) for each in value if isinstance(each, dict)) if found]
            if inner:
                clean[key] = inner
        elif isinstance(value, dict) or value is None or value == "" or value != value:
            continue
        elif not (isinstance(value, str) and not value.strip()):
            clean[key] = value
    return clean


@pytest.mark.parametrize("version", ["R4", "R5"])
def test_any_answers_through_fhir_are_the_same(version, check_fhir):
    @given(st.data())
    @FEW
    def run(data):
        template = data.draw(templates())
        clean = evaluate(template, data.draw(answers(template)), purpose="draft").answers
        resource = response_to_fhir(template, clean, version=version, status="in-progress")
        check_fhir(resource, version)
        back = response_from_fhir(template, json.loads(json.dumps(resource)))
        assert back.answers == clean
        assert not {problem.code for problem in back.problems} - {"required", "repetitions", "value", "days_in_order"}

    run()


@given(st.data())
@FEW
def test_form_fields_of_any_answers_come_back(data):
    template = data.draw(templates())
    clean = evaluate(template, data.draw(answers(template)), purpose="draft").answers
    fields = {}

    def collect(items):
        for item in items:
            if item["kind"] == "group":
                collect(item["items"])
            elif item["kind"] == "loop":
                for repetition in item["repetitions"]:
                    collect(repetition["items"])
            elif item["value"] is not None and not item["computed"]:
                fields[item["name"]] = str(item["value"])

    collect(visible_items(template, clean))
    assert evaluate(template, answers_from_fields(template, fields), purpose="draft").answers == clean


@given(templates())
@FEW
def test_any_template_declares_a_schema(template):
    try:
        schema = to_schema(template, skip_unbounded=True)
    except SchemaError:
        assume(False)  # every question is repeated or without bounds
    for name, column in schema.columns.items():
        assert column.label == template.question(name).label


def places_in(value, path=()):
    """All places in a resource where something can be broken."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places_in(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places_in(inner, (*path, number))


plain_junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.data())
@FUZZ
def test_any_broken_questionnaire_is_read_or_refused(data):
    resource = copy.deepcopy(
        questionnaire_to_fhir(data.draw(templates()), version=data.draw(st.sampled_from(["R4", "R5"])))
    )
    for _ in range(data.draw(st.integers(1, 4))):
        path = data.draw(st.sampled_from([p for p in places_in(resource) if p]))
        holder = resource
        for step in path[:-1]:
            holder = holder[step]
        if data.draw(st.booleans()):
            holder[path[-1]] = data.draw(plain_junk)
        else:
            del holder[path[-1]]
    try:
        imported = questionnaire_from_fhir(resource)
    except TemplateError:
        return
    if imported.ok:
        evaluate(imported.template, {})
        again = questionnaire_from_fhir(questionnaire_to_fhir(imported.template, version="R5"))
        assert again.template == imported.template and again.notes == ()


@given(st.data())
@FEW
def test_whatever_is_planted_into_a_questionnaire_is_noted(data):
    resource = copy.deepcopy(questionnaire_to_fhir(data.draw(templates()), version="R4"))
    tables = [path for path in places_in(resource["item"]) if path and isinstance(_at(resource["item"], path), dict)]
    items = [path for path in tables if "linkId" in _at(resource["item"], path)]
    target = _at(resource["item"], data.draw(st.sampled_from(items)))
    if data.draw(st.booleans()):
        target["surprise"] = data.draw(plain_junk)
    else:
        extension = {"url": "http://elsewhere.example/surprise", "valueString": "x"}
        target["extension"] = [*target.get("extension", []), extension]
    imported = questionnaire_from_fhir(resource)
    assert [note.what for note in imported.notes] == ["surprise"]


def _at(value, path):
    for step in path:
        value = value[step]
    return value


@given(st.data())
@FUZZ
def test_any_broken_response_is_read_or_refused(data):
    template = data.draw(templates())
    clean = evaluate(template, data.draw(answers(template)), purpose="draft").answers
    resource = copy.deepcopy(response_to_fhir(template, clean, version="R4", status="in-progress"))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([p for p in places_in(resource) if p and p[0] != "resourceType"]))
        holder = resource
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = data.draw(junk)
    try:
        back = response_from_fhir(template, resource)
    except PydplibError:
        return
    json.dumps(back.answers, allow_nan=False)


def test_every_function_and_check_says_what_it_does():
    for call in (*FUNCTIONS.values(), *CHECKS.values()):
        assert call.summary.endswith(".") and call.parameters

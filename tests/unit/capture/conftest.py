"""What the tests of templates share: small templates, and a structural checker of FHIR resources."""

from __future__ import annotations

import re

import pytest

from pydplib.capture import Computed, Condition, Group, Option, Question, Template


@pytest.fixture
def scan() -> Template:
    """A small template with branching inside a repetition, computed fields and all kinds."""
    lesion = Group(
        id="lesion",
        title="Lesion",
        repeats=True,
        max_repeats=3,
        items=(
            Question(id="zone", kind="choice", title="Zone", options=(Option("PZ"), Option("CZ")), required=True),
            Question(
                id="origin",
                kind="choice",
                title="Origin",
                options=(Option("PZ"), Option("TZ")),
                required=True,
                enable_when=(Condition("zone", "=", "CZ"),),
            ),
            Question(id="size", kind="integer", title="Size", unit="mm", low=1, high=150),
        ),
    )
    return Template(
        id="scan",
        version="1",
        title="Scan",
        person="patient",
        max_reports_per_person=2,
        items=(
            Question(id="patient", kind="text", title="Patient", required=True),
            Question(id="seen", kind="boolean", title="Lesion seen", required=True),
            Group(
                id="lesions_group",
                title="Lesions",
                enable_when=(Condition("seen", "=", True),),
                items=(lesion,),
            ),
            Question(
                id="count",
                kind="integer",
                title="Number",
                low=0,
                high=3,
                read_only=True,
                computed=Computed("count", ("lesion",)),
            ),
            Question(
                id="largest",
                kind="integer",
                title="Largest",
                unit="mm",
                low=1,
                high=150,
                read_only=True,
                computed=Computed("maximum", ("size",)),
            ),
            Question(
                id="biopsy",
                kind="date",
                title="Biopsy on",
                low="2010-01-01",
                high="2030-12-31",
                label="quasi",
                enable_when=(Condition("size", ">=", 10),),
            ),
            Question(id="psa", kind="decimal", title="PSA", unit="ng/mL", low=0, high=500, decimals=1),
            Question(id="notes", kind="text", title="Notes", multiline=True, max_length=200),
        ),
    )


# What FHIR says a resource may hold: field -> kind of value; "!" marks what is needed, "*" a list.
_PRIMITIVES = {
    "string": lambda v: isinstance(v, str) and re.fullmatch(r"[ \r\n\t\S]+", v, re.ASCII),
    "code": lambda v: isinstance(v, str) and re.fullmatch(r"\S+( \S+)*", v, re.ASCII),
    "id": lambda v: isinstance(v, str) and re.fullmatch(r"[A-Za-z0-9\-.]{1,64}", v),
    "uri": lambda v: isinstance(v, str) and re.fullmatch(r"\S+", v, re.ASCII),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool) and abs(v) < 2**31,
    "decimal": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "date": lambda v: isinstance(v, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", v),
    "dateTime": lambda v: isinstance(v, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)", v),
}
_VALUES = {
    "Boolean": "boolean",
    "Integer": "integer",
    "Decimal": "decimal",
    "Date": "date",
    "String": "string",
    "Code": "code",
    "Coding": "Coding",
    "CodeableConcept": "CodeableConcept",
}
_TYPES = {
    "Questionnaire": {
        "resourceType": "!code",
        "id": "id",
        "extension": "*Extension",
        "url": "uri",
        "version": "string",
        "name": "string",
        "title": "string",
        "publisher": "string",
        "status": "!code",
        "subjectType": "*code",
        "description": "string",
        "item": "*Item",
    },
    "Item": {
        "extension": "*Extension",
        "linkId": "!string",
        "code": "*Coding",
        "text": "string",
        "type": "!code",
        "enableWhen": "*EnableWhen",
        "enableBehavior": "code",
        "required": "boolean",
        "repeats": "boolean",
        "readOnly": "boolean",
        "maxLength": "integer",
        "answerOption": "*AnswerOption",
        "item": "*Item",
    },
    "EnableWhen": {"question": "!string", "operator": "!code"}
    | {f"answer{k}": v for k, v in _VALUES.items() if k not in ("Code", "CodeableConcept")},
    "AnswerOption": {"extension": "*Extension", "valueCoding": "!Coding"},
    "Coding": {"system": "uri", "code": "code", "display": "string"},
    "CodeableConcept": {"coding": "*Coding"},
    "Extension": {"url": "!uri", "extension": "*Extension"} | {f"value{k}": v for k, v in _VALUES.items()},
    "QuestionnaireResponse": {
        "resourceType": "!code",
        "questionnaire": "!uri",
        "status": "!code",
        "subject": "Reference",
        "authored": "dateTime",
        "item": "*ResponseItem",
    },
    "Reference": {"reference": "string"},
    "ResponseItem": {"linkId": "!string", "text": "string", "answer": "*Answer", "item": "*ResponseItem"},
    "Answer": {f"value{k}": v for k, v in _VALUES.items() if k not in ("Code", "CodeableConcept")},
}
_ITEM_TYPES = {
    "R4": {"group", "display", "choice", "integer", "decimal", "boolean", "date", "string", "text"},
    "R5": {"group", "display", "coding", "integer", "decimal", "boolean", "date", "string", "text"},
}
_OPERATORS = {"exists", "=", "!=", ">", "<", ">=", "<="}


def _check(kind, value, where):
    if kind in _PRIMITIVES:
        assert _PRIMITIVES[kind](value), f"{where} is no {kind}"
        return
    assert isinstance(value, dict) and value, f"{where} is no table"
    fields = _TYPES[kind]
    for name, wanted in fields.items():
        assert not wanted.startswith("!") or name in value, f"{where} has no {name}"
    for name, inner in value.items():
        assert name in fields, f"{where} has an unknown {name}"
        wanted = fields[name].lstrip("!")
        if wanted.startswith("*"):
            assert isinstance(inner, list) and inner, f"{where}.{name} is no list, or empty"
            for number, each in enumerate(inner):
                _check(wanted[1:], each, f"{where}.{name}[{number}]")
        else:
            _check(wanted, inner, f"{where}.{name}")
    values = [name for name in value if re.match(r"(value|answer)[A-Z]", name) and name != "answerOption"]
    if kind == "Extension":
        assert len(values) + ("extension" in value) == 1, f"{where} must have one value or inner extensions"
    if kind in ("EnableWhen", "Answer"):
        assert len(values) == 1, f"{where} must have exactly one value"
    if kind == "EnableWhen":
        assert value["operator"] in _OPERATORS
        assert value["operator"] != "exists" or values == ["answerBoolean"], f"{where}: exists needs a boolean (que-7)"


def _check_invariants(resource, version):
    """The rules of FHIR about items, by their names in the specification."""
    seen = []

    def walk(items):
        for item in items:
            seen.append(item["linkId"])
            where = item["linkId"]
            assert item["type"] in _ITEM_TYPES[version], f"{where}: type {item['type']} in {version}"
            if item["type"] == "group":
                assert item.get("item"), f"{where}: que-1, a group has items"
                assert not {"maxLength", "readOnly", "answerOption"} & set(item)
            if item["type"] == "display":
                assert not {"item", "code", "required", "repeats", "readOnly"} & set(item), f"{where}: que-1/3/6/9"
            if "answerOption" in item:
                assert item["type"] in ("choice", "coding"), f"{where}: que-5"
            if "maxLength" in item:
                assert item["type"] in ("string", "text"), f"{where}: que-10"
            if len(item.get("enableWhen", [])) > 1:
                assert item.get("enableBehavior") in ("all", "any"), f"{where}: que-12"
            walk(item.get("item", []))

    walk(resource["item"])
    assert len(seen) == len(set(seen)), "que-2: linkIds are unique"
    assert re.fullmatch(r"[A-Z][A-Za-z0-9_]{0,254}", resource["name"]), "que-0"
    for condition in _conditions(resource["item"]):
        assert condition["question"] in seen


def _conditions(items):
    for item in items:
        yield from item.get("enableWhen", [])
        yield from _conditions(item.get("item", []))


@pytest.fixture(scope="session")
def check_fhir():
    """Return a function that raises AssertionError for a resource that breaks FHIR's structure."""

    def check(resource, version):
        kind = resource["resourceType"]
        assert kind in ("Questionnaire", "QuestionnaireResponse")
        _check(kind, resource, kind)
        if kind == "Questionnaire":
            assert resource["status"] in ("draft", "active", "retired", "unknown")
            _check_invariants(resource, version)

    return check


def _names(items):
    """All field names that a tree shows, in order."""
    found = []
    for item in items:
        if item["kind"] == "group":
            found += _names(item["items"])
        elif item["kind"] == "loop":
            for repetition in item["repetitions"]:
                found += _names(repetition["items"])
        else:
            found.append(item["name"])
    return found


@pytest.fixture(scope="session")
def names():
    """Return a function that lists the field names of a visible tree."""
    return _names


def _browser(rules, answers):
    """A stand-in for the script: it knows the JSON rules and nothing else. Returns the shown paths."""
    shown = set()

    def walk(position, level, scopes, path):
        """Show the items of one level of repetition, each after its parents."""
        visible = {}
        for item in rules["items"]:
            if item["loops"] != level:
                continue
            around = [parent for parent in item["parents"] if parent in visible]
            if not all(visible[parent] for parent in around):
                visible[item["id"]] = False
                continue
            results = []
            for condition in item["conditions"]:
                holders = [scopes[condition["level"]]]
                for loop in condition["loops"]:
                    holders = [repetition for holder in holders for repetition in holder.get(loop, [])]
                found = [holder[condition["question"]] for holder in holders if condition["question"] in holder]
                operator, answer = condition["operator"], condition["answer"]
                if operator == "exists":
                    results.append(bool(found) == answer)
                elif operator == "!=":
                    results.append(all(value != answer for value in found))
                else:
                    compare = {"=": "__eq__", ">": "__gt__", "<": "__lt__", ">=": "__ge__", "<=": "__le__"}[operator]
                    results.append(any(getattr(value, compare)(answer) is True for value in found))
            ok = not results or (any(results) if item["behaviour"] == "any" else all(results))
            visible[item["id"]] = ok
            if ok and item["kind"] == "loop":
                for number, repetition in enumerate(scopes[-1].get(item["id"], [])):
                    inner = [*path, item["id"], number]
                    walk(position, [*level, item["id"]], [*scopes, repetition], inner)
            elif ok and item["kind"] != "group":
                shown.add("/".join(map(str, [*path, item["id"]])))

    walk(0, [], [answers], [])
    return shown


@pytest.fixture(scope="session")
def browser():
    """Return a function that evaluates JSON rules as a script in a browser would."""
    return _browser

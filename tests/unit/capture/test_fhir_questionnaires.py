"""Templates as FHIR Questionnaire, both ways; foreign questionnaires, and the notes about what does not come over."""

from __future__ import annotations

import copy

import pytest

from pydplib.capture import (
    Code,
    Condition,
    Option,
    Question,
    Template,
    builtin,
    builtin_names,
    evaluate,
    questionnaire_from_fhir,
    questionnaire_to_fhir,
)
from pydplib.errors import ParameterError, TemplateError

HL7 = "http://hl7.org/fhir/StructureDefinition/"
SDC = "http://hl7.org/fhir/uv/sdc/StructureDefinition/"
LOINC = "http://loinc.org"


def questionnaire(*items, **head):
    return {
        "resourceType": "Questionnaire",
        "id": "q",
        "url": "http://hospital.example/Questionnaire/q",
        "version": "3",
        "title": "Q",
        "status": "active",
        "item": list(items),
    } | head


def item(link, kind, **more):
    return {"linkId": link, "text": f"Text of {link}", "type": kind} | more


def read(*items, **head):
    imported = questionnaire_from_fhir(questionnaire(*items, **head))
    return imported.template, {(note.item, note.what): note.outcome for note in imported.notes}, imported


@pytest.mark.parametrize("version", ["R4", "R5"])
@pytest.mark.parametrize("name", builtin_names())
def test_builtin_template_through_fhir_loses_nothing(name, version, check_fhir):
    resource = questionnaire_to_fhir(builtin(name), version=version)
    check_fhir(resource, version)
    imported = questionnaire_from_fhir(resource)
    assert imported.template == builtin(name)
    assert imported.notes == () and imported.ok


def test_choice_is_called_coding_in_r5(scan):
    def types(version):
        found = set()

        def walk(items):
            for entry in items:
                found.add(entry["type"])
                walk(entry.get("item", []))

        walk(questionnaire_to_fhir(scan, version=version)["item"])
        return found

    assert types("R4") - types("R5") == {"choice"}
    assert types("R5") - types("R4") == {"coding"}


def test_structural_checker_finds_planted_faults(scan, check_fhir):
    good = questionnaire_to_fhir(scan, version="R4")
    check_fhir(good, "R4")

    def broken(change):
        resource = copy.deepcopy(good)
        change(resource)
        with pytest.raises(AssertionError):
            check_fhir(resource, "R4")

    broken(lambda r: r.pop("status"))
    broken(lambda r: r["item"][0].pop("linkId"))
    broken(lambda r: r["item"].append(r["item"][0]))
    broken(lambda r: r["item"][0].update(colour="red"))
    broken(lambda r: r["item"][1].update(required="yes"))
    broken(lambda r: r["item"][2].pop("item"))
    broken(lambda r: r["item"][2]["enableWhen"][0].update(answerInteger=1))
    broken(lambda r: r["item"][2]["enableWhen"][0].update(question="nowhere"))
    broken(lambda r: r["item"][0]["extension"].append({"url": "http://x"}))
    with pytest.raises(AssertionError):
        check_fhir(good, "R5")  # choice is not a type of R5


def test_codes_units_bounds_and_help_stand_where_fhir_has_them():
    question = Question(
        id="psa",
        kind="decimal",
        title="PSA",
        unit="ng/mL",
        low=0,
        high=500,
        decimals=2,
        help="Total PSA.",
        codes=(Code(LOINC, "2857-1", "PSA"),),
    )
    entry = questionnaire_to_fhir(Template(id="t", version="1", title="T", items=(question,)), version="R4")["item"][0]
    values = {extension["url"]: extension for extension in entry["extension"]}
    assert values[HL7 + "questionnaire-unit"]["valueCoding"]["code"] == "ng/mL"
    assert values[HL7 + "minValue"]["valueDecimal"] == 0
    assert values[HL7 + "maxDecimalPlaces"]["valueInteger"] == 2
    assert entry["code"] == [{"system": LOINC, "code": "2857-1", "display": "PSA"}]
    assert entry["item"][0]["type"] == "display" and entry["item"][0]["text"] == "Total PSA."


def test_conditions_on_a_choice_are_codings_with_their_system():
    zone = Question(
        id="z", kind="choice", title="Z", options=(Option("PZ", system="http://snomed.info/sct", code="279706003"),)
    )
    last = Question(id="l", kind="boolean", title="L", enable_when=(Condition("z", "=", "PZ"),))
    template = Template(id="t", version="1", title="T", items=(zone, last))
    entry = questionnaire_to_fhir(template, version="R5")["item"][1]["enableWhen"][0]
    assert entry["answerCoding"] == {"system": "http://snomed.info/sct", "code": "279706003"}
    assert questionnaire_from_fhir(questionnaire_to_fhir(template, version="R5")).template == template


def test_unknown_version_is_refused(scan):
    with pytest.raises(ParameterError, match="R4"):
        questionnaire_to_fhir(scan, version="R3")  # type: ignore[arg-type]


@pytest.mark.parametrize("resource", [None, [], "x", {}, {"resourceType": "Patient"}, {"resourceType": "Bundle"}])
def test_something_else_is_not_a_questionnaire(resource):
    with pytest.raises(TemplateError, match="not a FHIR Questionnaire"):
        questionnaire_from_fhir(resource)


def test_modifiers_of_the_whole_are_refused_unless_they_only_point_at_extensions():
    with pytest.raises(TemplateError, match="modifierExtension"):
        read(item("a", "boolean"), modifierExtension=[{"url": "http://x", "valueBoolean": True}])
    with pytest.raises(TemplateError, match="implicitRules"):
        read(item("a", "boolean"), implicitRules="http://x")
    critical = {"url": SDC + "sdc-rendering-criticalExtension", "valueCanonical": SDC + "sdc-questionnaire-entryMode"}
    _, notes, _ = read(item("a", "boolean"), modifierExtension=[critical])
    assert notes == {("", "sdc-questionnaire-entryMode"): "left out"}


def test_questionnaire_without_anything_to_ask_is_refused():
    with pytest.raises(TemplateError, match="no item"):
        read()
    with pytest.raises(TemplateError, match="no item"):
        read(item("a", "display"), item("b", "attachment"))


# Each foreign piece: what becomes of it, and the note that says so.
FOREIGN = [
    (item("a", "boolean", initial=[{"valueBoolean": True}]), ("a", "initial"), "left out"),
    (item("a", "string", definition="http://x#y"), ("a", "definition"), "left out"),
    (item("a", "string", _text={"extension": []}), ("a", "_text"), "left out"),
    (item("a", "string", flavour="x"), ("a", "flavour"), "left out"),
    (item("a", "string", readOnly=True), ("a", "readOnly"), "left out"),
    (item("a", "boolean", maxLength=3), ("a", "maxLength"), "left out"),
    (item("a", "string", prefix="1."), ("a", "prefix"), "adapted"),
    (item("a", "dateTime"), ("a", "dateTime"), "adapted"),
    (item("a", "time"), ("a", "time"), "adapted"),
    (item("a", "url"), ("a", "url"), "adapted"),
    (item("a", "quantity"), ("a", "quantity"), "adapted"),
    (item("a", "choice"), ("a", "choice"), "adapted"),
    (item("a", "choice", answerValueSet="http://vs"), ("a", "answerValueSet"), "left out"),
    (
        item("a", "coding", disabledDisplay="protected", answerOption=[{"valueCoding": {"code": "x"}}]),
        ("a", "disabledDisplay"),
        "left out",
    ),
    (item("a", "string", repeats=True), ("a", "repeats"), "adapted"),
    (item("a", "string", item=[item("a.1", "boolean")]), ("a", "item"), "adapted"),
    (item("a", "group", repeats=True, item=[item("a.1", "boolean")]), ("a", "repeats"), "adapted"),
    (item("a", "group", required=True, item=[item("a.1", "boolean")]), ("a", "required"), "left out"),
    (item("a", "group", item=[item("a.1", "display"), item("a.2", "boolean")]), ("a.1", "display"), "adapted"),
    (item("a", "group", item=[item("a.1", "attachment"), item("a.2", "boolean")]), ("a.1", "item"), "left out"),
    (
        item("a", "boolean", extension=[{"url": HL7 + "questionnaire-hidden", "valueBoolean": True}]),
        ("a", "questionnaire-hidden"),
        "left out",
    ),
    (
        item(
            "a", "decimal", extension=[{"url": SDC + "sdc-questionnaire-calculatedExpression", "valueExpression": {}}]
        ),
        ("a", "sdc-questionnaire-calculatedExpression"),
        "left out",
    ),
    (item("a", "boolean", extension=[{"url": HL7 + "minValue", "valueInteger": 3}]), ("a", "minValue"), "left out"),
    (
        item("a", "choice", answerOption=[{"valueCoding": {"code": "x", "version": "2"}}]),
        ("a", "answerOption.version"),
        "left out",
    ),
    (
        item("a", "choice", answerOption=[{"valueCoding": {"code": "x"}, "initialSelected": True}]),
        ("a", "answerOption.initialSelected"),
        "left out",
    ),
    (
        item(
            "a",
            "choice",
            answerOption=[
                {"valueCoding": {"code": "x"}, "extension": [{"url": HL7 + "itemWeight", "valueDecimal": 1}]}
            ],
        ),
        ("a", "itemWeight"),
        "left out",
    ),
    (
        item("a", "choice", answerOption=[{"valueReference": {}}, {"valueString": "x"}]),
        ("a", "answerOption.valueReference"),
        "left out",
    ),
    (item("a", "choice", answerOption=[{"valueInteger": 1}, {"valueString": "x"}]), ("a", "answerOption"), "adapted"),
    (
        item(
            "a",
            "choice",
            answerOption=[
                {"valueCoding": {"system": "s1", "code": "x"}},
                {"valueCoding": {"system": "s2", "code": "x"}},
            ],
        ),
        ("a", "answerOption"),
        "adapted",
    ),
    (item("a", "integer", answerOption=[{"valueInteger": 1}, {"valueInteger": 2}]), ("a", "answerOption"), "adapted"),
    (item("a", "boolean", code=[{"display": "no code"}]), ("a", "code"), "left out"),
    (
        item("a", "boolean", enableWhen=[{"question": "none", "operator": "=", "answerBoolean": True}]),
        ("a", "enableWhen on 'none'"),
        "left out",
    ),
    (item("a", "boolean", enableWhen="x"), ("a", "enableWhen"), "left out"),
    (item("a", "open-choice", answerOption=[{"valueString": "x"}]), ("a", "open choice"), "adapted"),
    (
        item("a", "coding", answerConstraint="optionsOrType", answerOption=[{"valueString": "x"}]),
        ("a", "answerConstraint"),
        "adapted",
    ),
]


@pytest.mark.parametrize(
    ("entry", "place", "outcome"), FOREIGN, ids=lambda v: "-".join(v) if isinstance(v, tuple) else ""
)
def test_foreign_piece_is_noted_and_the_rest_can_be_used(entry, place, outcome):
    template, notes, imported = read(entry, item("z", "boolean"))
    assert notes.get(place) == outcome, notes
    assert imported.ok, [problem.message for problem in imported.problems]
    assert evaluate(template, {"z": True}, purpose="draft").answers == {"z": True}


@pytest.mark.parametrize("kind", ["attachment", "reference", "question", "sausage", None])
def test_item_of_an_unknown_type_is_left_out_with_a_note(kind):
    template, notes, _ = read(item("a", kind), item("z", "boolean"))
    assert notes == {("a", "item"): "left out"}
    assert list(template.index.by_id) == ["z"]


def test_item_with_a_modifier_is_left_out():
    _, notes, _ = read(item("a", "boolean", modifierExtension=[{"url": "x"}]), item("z", "boolean"))
    assert notes == {("a", "item"): "left out"}


@pytest.mark.parametrize("key", ["date", "copyright", "text", "meta", "code", "jurisdiction", "surprise"])
def test_entry_of_the_head_that_templates_lack_is_noted(key):
    _, notes, _ = read(item("z", "boolean"), **{key: "x"})
    assert notes == {("", key): "left out"}


def test_links_that_are_missing_twice_or_unusual_are_renamed_and_noted():
    template, notes, imported = read(
        item("a", "boolean"), item("a", "boolean"), {"type": "boolean"}, item("b{c}", "boolean"), {"type": "boolean"}
    )
    assert imported.ok and len(template.index.by_id) == 5
    assert list(template.index.by_id)[1] == "a-2"
    assert sum(what == "linkId" for _, what in notes) == 4


def test_conditions_refer_to_the_first_of_two_equal_links():
    asks = {"question": "a", "operator": "=", "answerBoolean": True}
    template, _, _ = read(item("a", "boolean"), item("a", "string"), item("z", "boolean", enableWhen=[asks]))
    assert template.question("z").enable_when == (Condition("a", "=", True),)


def test_condition_that_looks_forward_is_left_out_and_nothing_is_required_for_it():
    asks = {"question": "z", "operator": "=", "answerBoolean": True}
    template, notes, imported = read(item("a", "boolean", enableWhen=[asks], required=True), item("z", "boolean"))
    assert notes[("a", "enableWhen on 'z'")] == "left out"
    assert notes[("a", "required")] == "adapted"
    assert imported.ok and not template.question("a").required


def test_conditions_without_all_or_any_become_all():
    asks = [
        {"question": "a", "operator": "=", "answerBoolean": True},
        {"question": "b", "operator": "exists", "answerBoolean": True},
    ]
    template, notes, _ = read(item("a", "boolean"), item("b", "string"), item("z", "boolean", enableWhen=asks))
    assert template.question("z").enable_behaviour == "all"
    assert notes == {("z", "enableBehavior"): "adapted"}


def test_condition_compared_with_a_plain_code_finds_the_option():
    choice = item("a", "choice", answerOption=[{"valueCoding": {"code": "1", "display": "One"}}])
    asks = {"question": "a", "operator": "=", "answerString": "1"}
    template, notes, _ = read(choice, item("z", "boolean", enableWhen=[asks]))
    assert template.question("z").enable_when == (Condition("a", "=", "1"),)
    assert notes == {("z", "enableWhen on 'a'"): "adapted"}


def test_value_set_inside_the_questionnaire_gives_the_options():
    concept = [{"code": "LA6752-5", "display": "Mild"}, {"code": "LA6751-7", "display": "Moderate"}]
    value_set = {
        "resourceType": "ValueSet",
        "id": "vs",
        "compose": {"include": [{"system": LOINC, "concept": concept}]},
    }
    expanded = {"resourceType": "ValueSet", "id": "ex", "expansion": {"contains": [{"system": LOINC, "code": "LA1"}]}}
    unused = {"resourceType": "Patient", "id": "p"}
    template, notes, _ = read(
        item("a", "choice", answerValueSet="#vs"),
        item("b", "choice", answerValueSet="#ex"),
        contained=[value_set, expanded, unused],
    )
    assert template.question("a").options == (
        Option("LA6752-5", "Mild", system=LOINC),
        Option("LA6751-7", "Moderate", system=LOINC),
    )
    assert template.question("b").options == (Option("LA1", system=LOINC),)
    assert notes[("", "contained #p")] == "left out"


def test_texts_of_a_group_that_cannot_be_asked_are_kept():
    footer = item("f", "group", item=[item("f.1", "display")])
    template, notes, _ = read(
        item("g", "group", item=[item("z", "boolean"), footer]), item("h", "group", item=[item("h.1", "display")])
    )
    assert "Text of f.1" in template.item("g").help
    assert "Text of h.1" in template.description
    assert notes[("f", "group")] == "left out" and notes[("f", "text")] == "adapted"


def test_question_with_several_answers_becomes_a_repeating_group():
    options = [{"valueCoding": {"code": code}} for code in "xyz"]
    asks = {"question": "a", "operator": "=", "answerCoding": {"code": "y"}}
    template, _, imported = read(
        item("a", "choice", repeats=True, required=True, answerOption=options), item("z", "boolean", enableWhen=[asks])
    )
    group = template.item("a.answers")
    assert (group.repeats, group.min_repeats, group.max_repeats) == (True, 1, 3)
    assert imported.ok
    answers = {"a.answers": [{"a": "x"}, {"a": "y"}], "z": True}
    assert evaluate(template, answers, purpose="import").answers == answers
    assert not evaluate(template, {"a.answers": [{"a": "x"}], "z": True}, purpose="import").ok


def test_unit_of_a_quantity_is_taken_if_there_is_one_and_noted_if_there_are_several():
    def unit(*codes):
        return [{"url": HL7 + "questionnaire-unitOption", "valueCoding": {"code": code}} for code in codes]

    template, notes, _ = read(
        item("a", "quantity", extension=unit("kg")), item("b", "quantity", extension=unit("kg", "g"))
    )
    assert template.question("a").unit == "kg" and template.question("b").unit == ""
    assert notes[("b", "unit")] == "left out"


def test_lists_texts_and_flags_of_the_wrong_shape_are_noted():
    wrong = {"item": 3, "answerOption": 7, "code": 5, "extension": 4, "enableWhen": {}, "required": "yes", "prefix": 1}
    template, notes, _ = read(
        "nonsense",
        item("g", "group", item="x"),
        item("z", "boolean", **wrong),
        item("y", "string", text="a\x07b"),
        publisher=4,
    )
    assert notes[("", "item")] == "left out" and notes[("", "publisher")] == "left out"
    assert notes[("g", "item")] == "left out"
    for key in wrong:
        assert notes[("z", key)] == "left out"
    assert template.question("z").kind == "boolean"
    assert template.question("y").title == "ab" and notes[("y", "text")] == "adapted"


def test_depth_and_number_of_items_are_limited():
    deep = item("x", "boolean")
    for number in range(20_000):
        deep = item(f"g{number}", "group", item=[deep])
    with pytest.raises(TemplateError, match="20 levels"):
        read(deep)
    hidden = item("t", "display", item=[deep])
    value_set = {"resourceType": "ValueSet", "id": "vs"}
    _, notes, imported = read(item("z", "boolean"), hidden, contained=[value_set])
    assert imported.ok and notes[("t", "item")] == "left out"
    with pytest.raises(TemplateError, match="5000 items"):
        read(*[item(f"q{number}", "boolean") for number in range(5001)])


def test_head_is_taken_from_what_there_is():
    template, notes, _ = read(item("z", "boolean"), id="A b/c", version="", title="", name="VisitForm", url="")
    assert (template.id, template.version, template.title) == ("A-b-c", "1", "VisitForm")
    assert notes[("", "id")] == "adapted" and notes[("", "version")] == "adapted"


def weight_height():
    """A form in the manner of LHC-Forms: LOINC links, units, a computed index, drop-downs, several answers."""
    drop_down = {
        "coding": [{"system": "http://hl7.org/fhir/questionnaire-item-control", "code": "drop-down"}],
        "text": "Drop down",
    }
    help_control = {"coding": [{"code": "help"}]}
    return questionnaire(
        item(
            "/29463-7",
            "decimal",
            required=False,
            code=[{"system": LOINC, "code": "29463-7", "display": "Weight"}],
            extension=[
                {
                    "url": HL7 + "questionnaire-unit",
                    "valueCoding": {"system": "http://unitsofmeasure.org", "code": "kg"},
                },
                {"url": SDC + "sdc-questionnaire-observationLinkPeriod", "valueDuration": {"value": 1, "code": "a"}},
            ],
            item=[
                {
                    "linkId": "/29463-7-help",
                    "type": "display",
                    "text": "Without shoes.",
                    "extension": [{"url": HL7 + "questionnaire-itemControl", "valueCodeableConcept": help_control}],
                }
            ],
        ),
        item(
            "/8352-7",
            "choice",
            extension=[{"url": HL7 + "questionnaire-itemControl", "valueCodeableConcept": drop_down}],
            answerOption=[
                {"valueCoding": {"system": LOINC, "code": "LA11871-3", "display": "Underwear"}},
                {"valueCoding": {"system": LOINC, "code": "LA11872-1", "display": "Street clothes"}},
            ],
        ),
        item(
            "/39156-5",
            "decimal",
            readOnly=True,
            extension=[
                {"url": SDC + "sdc-questionnaire-calculatedExpression", "valueExpression": {"expression": "%a/%b"}}
            ],
        ),
        extension=[{"url": HL7 + "variable", "valueExpression": {"name": "a", "expression": "1"}}],
        meta={"tag": [{"code": "lformsVersion: 34.0.0"}]},
    )


def test_form_in_the_manner_of_lhc_forms_comes_over_with_every_loss_listed():
    imported = questionnaire_from_fhir(weight_height())
    weight = imported.template.question("/29463-7")
    assert (weight.unit, weight.help, weight.codes[0].code) == ("kg", "Without shoes.", "29463-7")
    assert [option.text for option in imported.template.question("/8352-7").options] == ["Underwear", "Street clothes"]
    assert imported.ok
    assert {(note.item, note.what) for note in imported.left_out} == {
        ("/29463-7", "sdc-questionnaire-observationLinkPeriod"),
        ("/8352-7", "questionnaire-itemControl"),
        ("/39156-5", "sdc-questionnaire-calculatedExpression"),
        ("/39156-5", "readOnly"),
        ("", "variable"),
        ("", "meta"),
    }


@pytest.mark.parametrize("version", ["R4", "R5"])
def test_foreign_form_once_imported_goes_out_and_back_unchanged(version, check_fhir):
    template = questionnaire_from_fhir(weight_height()).template
    resource = questionnaire_to_fhir(template, version=version)
    check_fhir(resource, version)
    again = questionnaire_from_fhir(resource)
    assert again.template == template and again.notes == ()

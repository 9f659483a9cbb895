"""Answers as FHIR QuestionnaireResponse, both ways; foreign responses; nothing of an answer in a message."""

from __future__ import annotations

import datetime as dt

import pytest

from pydplib.capture import builtin, evaluate, questionnaire_from_fhir, response_from_fhir, response_to_fhir
from pydplib.errors import DataError, ParameterError

CANARY = "CANARY-7731"
ANSWERS = {
    "patient": "p-17",
    "seen": True,
    "lesion": [{"zone": "CZ", "origin": "TZ", "size": 12}, {"zone": "PZ"}],
    "psa": 7.5,
    "notes": "two\nlines",
}


def response(*items, **head):
    return {"resourceType": "QuestionnaireResponse", "status": "completed", "item": list(items)} | head


def answer(link, *values, **more):
    return {"linkId": link, "answer": list(values)} | more


@pytest.mark.parametrize("version", ["R4", "R5"])
def test_answers_through_fhir_are_the_same(scan, version, check_fhir):
    resource = response_to_fhir(scan, ANSWERS, version=version, subject="Patient/17", authored=dt.datetime.now(dt.UTC))
    check_fhir(resource, version)
    back = response_from_fhir(scan, resource)
    assert back.ok and back.problems == () and back.status == "completed"
    assert back.answers == evaluate(scan, ANSWERS).answers
    assert {note.what for note in back.notes} == {"subject", "authored"}


def test_response_names_its_questionnaire_and_nests_its_groups(scan):
    resource = response_to_fhir(scan, ANSWERS, version="R4")
    assert resource["questionnaire"] == "https://pydplib.example/fhir/Questionnaire/scan|1"
    group = next(entry for entry in resource["item"] if entry["linkId"] == "lesions_group")
    assert [entry["linkId"] for entry in group["item"]] == ["lesion", "lesion"]
    assert group["item"][0]["item"][0]["answer"] == [{"valueCoding": {"code": "CZ"}}]


def test_hidden_answers_are_not_exported(scan):
    resource = response_to_fhir(scan, ANSWERS | {"seen": False}, version="R5")
    assert "lesions_group" not in [entry["linkId"] for entry in resource["item"]]


def test_incomplete_answers_are_exported_as_drafts_only(scan):
    with pytest.raises(DataError, match="in-progress") as caught:
        response_to_fhir(scan, {"psa": CANARY}, version="R4")
    assert CANARY not in str(caught.value)
    assert response_to_fhir(scan, {"psa": 3}, version="R4", status="in-progress")["status"] == "in-progress"
    with pytest.raises(ParameterError, match="Did you mean 'completed'"):
        response_to_fhir(scan, ANSWERS, version="R4", status="complete")
    with pytest.raises(ParameterError, match="time zone"):
        response_to_fhir(scan, ANSWERS, version="R4", authored=dt.datetime(2018, 1, 1))


def test_hidden_answers_are_rejected_on_import(scan):
    resource = response_to_fhir(scan, ANSWERS, version="R4")
    for entry in resource["item"]:
        if entry["linkId"] == "seen":
            entry["answer"] = [{"valueBoolean": False}]
    back = response_from_fhir(scan, resource)
    assert sorted(problem.code for problem in back.problems) == ["computed", "computed", "hidden"]
    assert "lesion" not in back.answers


@pytest.mark.parametrize("resource", [None, [], {"resourceType": "Questionnaire"}, {}])
def test_something_else_is_not_a_response(scan, resource):
    with pytest.raises(DataError, match="not a FHIR QuestionnaireResponse"):
        response_from_fhir(scan, resource)


@pytest.mark.parametrize(
    ("resource", "code"),
    [
        (response(questionnaire="http://other.example/Questionnaire/x"), "questionnaire"),
        (response(questionnaire="https://pydplib.example/fhir/Questionnaire/scan|2"), "version"),
        (response(status="entered-in-error"), "status"),
        (response(modifierExtension=[{"url": "x"}]), "modifier"),
        (response(answer("colour", {"valueString": CANARY})), "unknown"),
        (response(answer("zone", {"valueCoding": {"code": "PZ"}})), "place"),
        (
            response(
                {"linkId": "lesions_group", "item": [{"linkId": "lesion", "item": [{"linkId": "lesion", "item": [1]}]}]}
            ),
            "place",
        ),
        (response(answer("psa", {"valueDecimal": 1}, {"valueDecimal": 2})), "several"),
        (response(answer("psa", {"valueDecimal": 1}), answer("psa", {"valueDecimal": 2})), "several"),
        (response(answer("psa", {"valueQuantity": {"value": 1, "code": "mg/L"}})), "unit"),
        (response(answer("psa", {"valueQuantity": {"value": 1, "comparator": "<"}})), "value"),
        (response(answer("psa", {"valueAttachment": {"title": CANARY}})), "value"),
        (response(answer("psa", {"valueDecimal": CANARY})), "value"),
        (response(answer("biopsy", {"valueDate": [CANARY]})), "value"),
        (response({"linkId": "psa", "answer": CANARY}), "shape"),
        (response(CANARY), "shape"),
    ],
)
def test_response_that_does_not_fit_says_why_without_quoting(scan, resource, code):
    back = response_from_fhir(scan, resource)
    assert code in [problem.code for problem in back.problems]
    assert CANARY not in "".join(map(repr, back.problems)) + repr(back.notes) + repr(back)


def test_code_outside_the_options_is_a_problem(scan):
    zone = answer("zone", {"valueCoding": {"code": CANARY}})
    items = [answer("seen", {"valueBoolean": True}), {"linkId": "lesion", "item": [zone]}]
    back = response_from_fhir(scan, response(*items))
    assert any(problem.item == "zone" and problem.code == "value" for problem in back.problems)
    assert CANARY not in repr(back.problems)


def test_response_nested_without_end_is_a_problem(scan):
    entry: dict = {"linkId": "lesions_group"}
    for _ in range(20_000):
        entry = {"linkId": "lesions_group", "item": [entry]}
    assert "shape" in [problem.code for problem in response_from_fhir(scan, response(entry)).problems]


def test_quantity_in_the_right_unit_is_taken(scan):
    back = response_from_fhir(scan, response(answer("psa", {"valueQuantity": {"value": 7.5, "code": "ng/mL"}})))
    assert back.answers["psa"] == 7.5


def foreign_template():
    codes = [
        {"valueCoding": {"system": "http://loinc.org", "code": code, "display": code.lower()}}
        for code in ("LA1", "LA2")
    ]
    return questionnaire_from_fhir(
        {
            "resourceType": "Questionnaire",
            "id": "f",
            "url": "http://hospital.example/f",
            "version": "1",
            "title": "F",
            "status": "active",
            "item": [
                {"linkId": "many", "type": "choice", "text": "Many", "repeats": True, "answerOption": codes},
                {"linkId": "open", "type": "open-choice", "text": "Open", "answerOption": codes},
                {"linkId": "when", "type": "dateTime", "text": "When"},
                {"linkId": "what", "type": "choice", "text": "What", "answerValueSet": "http://elsewhere"},
                {
                    "linkId": "ill",
                    "type": "boolean",
                    "text": "Ill",
                    "item": [{"linkId": "since", "type": "integer", "text": "Since"}],
                },
            ],
        }
    ).template


def test_response_to_a_foreign_questionnaire_is_understood():
    loinc = {"system": "http://loinc.org"}
    back = response_from_fhir(
        foreign_template(),
        response(
            answer("many", {"valueCoding": loinc | {"code": "LA1"}}, {"valueCoding": {"code": "LA2"}}),
            answer("open", {"valueString": "own words"}),
            answer("when", {"valueDateTime": "2018-03-31T10:00:00Z"}),
            answer("what", {"valueCoding": {"code": "c", "display": "A thing"}}),
            answer("ill", {"valueBoolean": True, "item": [answer("since", {"valueInteger": 3})]}),
            questionnaire="http://hospital.example/f|1",
        ),
    )
    assert back.ok, back.problems
    assert back.answers == {
        "many.answers": [{"many": "LA1"}, {"many": "LA2"}],
        "open.other": "own words",
        "when": "2018-03-31",
        "what": "A thing",
        "ill": True,
        "since": 3,
    }
    assert {note.what for note in back.notes} == {"dateTime", "valueCoding"}


def test_code_of_another_system_is_not_taken_for_ours():
    other = {"system": "http://snomed.info/sct", "code": "LA1"}
    back = response_from_fhir(foreign_template(), response(answer("open", {"valueCoding": other})))
    assert [problem.code for problem in back.problems] == ["value"]


def test_pirads_report_through_fhir_keeps_its_lesions():
    lesion = {"sector": "mid-PZpl-R", "zone": "PZ", "size": 18, "t2w": "5", "dwi": "5", "dce": "X", "extension": "none"}
    answers = {
        "patient_id": "17",
        "exam_date": "2018-03-01",
        "age": 64,
        "histology": False,
        "prostate_volume": 40,
        "image_quality": "optimal",
        "lesion": [lesion, lesion | {"size": 20}],
    }
    template = builtin("pirads-2.1")
    for version in ("R4", "R5"):
        back = response_from_fhir(template, response_to_fhir(template, answers, version=version))
        assert back.ok and back.answers["pirads"] == 5 and len(back.answers["lesion"]) == 2

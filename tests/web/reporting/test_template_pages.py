"""Template pages: the tree in words, differences, uploads shown before they count, downloads."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pydplib.capture import Condition, Question, Template, builtin, questionnaire_from_fhir, questionnaire_to_fhir
from pydplib.errors import TemplateError
from pydplib.web.auditlog.models import Line
from pydplib.web.reporting.models import TemplateVersion
from pydplib.web.reporting.report_templates.versions import add_template


@pytest.fixture
def owner(member: Any, template: Any) -> Any:
    return member("owner", "olga")


def _newer(**more: Any) -> Template:
    old = builtin("pirads-2.1")
    return dataclasses.replace(old, version="2", **more)


def _look(client: Any, text: str, **more: Any) -> Any:
    return client.post("/templates/new", {"text": text, **more})


def _accept(client: Any, page: str) -> Any:
    import html

    definition = html.unescape(page.split('name="accept" value="')[1].split('"')[0])
    return client.post("/templates/new", {"accept": definition, "note": "new"})


def test_the_tree_says_conditions_labels_and_limits_in_words(owner, template) -> None:
    page = owner.get(f"/templates/{template.key}").content.decode()
    assert "asked if Zone is central zone or Zone is anterior fibromuscular stroma" in page
    for words in ("Identifier", "Sensitive", "Quasi-identifier", "Computed", "must lie between 18 and 100 years"):
        assert words in page
    assert "Nothing to correct" in page and "Overall PI-RADS category" in page


@pytest.mark.parametrize("role", ["radiologist", "collaborator"])
def test_readers_see_templates_and_cannot_change_them(member, template, role) -> None:
    client = member(role)
    page = client.get("/templates").content.decode()
    assert "MRI of the prostate" in page and "/templates/new" not in page
    assert client.get(f"/templates/{template.key}").status_code == 200
    assert client.get("/templates/new").status_code == 403
    assert _look(client, builtin("pirads-paper").to_toml()).status_code == 403
    assert client.post(f"/templates/{template.key}/use").status_code == 403


def test_an_upload_is_shown_before_anything_is_kept_and_counts_when_accepted(owner, project) -> None:
    shown = _look(owner, _newer(title="MRI of the prostate, shorter").to_toml())
    page = shown.content.decode()
    assert shown.status_code == 200 and "MRI of the prostate, shorter" in page and "<del>1</del>" in page
    assert TemplateVersion.objects.count() == 1
    assert _accept(owner, page).status_code == 302
    newest, oldest = TemplateVersion.objects.filter(project=project)
    assert (newest.number, newest.is_current, newest.made_by, newest.note) == (2, True, "olga", "new")
    assert not oldest.is_current
    assert Line.objects.get(action="template.add", actor="olga").facts["number"] == 2
    difference = owner.get(f"/templates/{newest.key}/difference").content.decode()
    assert "from version 1 to version 2" in difference and "<ins>MRI of the prostate, shorter</ins>" in difference


def test_a_file_may_be_uploaded_and_its_version_named(owner) -> None:
    file = SimpleUploadedFile("t.json", builtin("pirads-2.1").to_json().encode())
    page = owner.post("/templates/new", {"file": file, "version": "2026-11"}).content.decode()
    assert "version 2026-11, not kept yet" in page
    assert _accept(owner, page).status_code == 302


def test_the_same_version_name_twice_is_refused(owner) -> None:
    refused = _accept(owner, _look(owner, builtin("pirads-2.1").to_toml()).content.decode())
    assert refused.status_code == 422 and "another version" in refused.content.decode()
    assert TemplateVersion.objects.count() == 1


@pytest.mark.parametrize("version", ["R4", "R5"])
def test_a_foreign_questionnaire_lists_item_by_item_what_is_not_supported(owner, version) -> None:
    resource = questionnaire_to_fhir(_newer(), version=version)
    resource["item"].append({"linkId": "photo", "text": "Photograph", "type": "attachment"})
    page = _look(owner, json.dumps(resource)).content.decode()
    assert "What does not come over as it was" in page and "<code>photo</code>" in page
    assert _accept(owner, page).status_code == 302


def test_linter_errors_name_the_item_and_nothing_can_be_accepted(owner) -> None:
    packs = Question(id="packs", kind="integer", title="Packs", enable_when=(Condition("smokr", "=", True),))
    broken = Template(id="visit", version="1", title="Visit", items=(packs,))
    page = _look(owner, broken.to_json()).content.decode()
    assert "It cannot be used as it is" in page and "smokr" in page and 'name="accept"' not in page
    refused = owner.post("/templates/new", {"accept": broken.to_json()})
    assert refused.status_code == 422 and TemplateVersion.objects.count() == 1


@pytest.mark.parametrize(
    "text",
    ["", "id = 3", "{", "[[[", '{"resourceType": "Patient"}', "x" * 1_000_100, '{"a":' * 3000 + "1" + "}" * 3000],
)
def test_what_is_no_template_is_refused_in_words(owner, text) -> None:
    refused = _look(owner, text)
    assert refused.status_code == 422 and "error-summary" in refused.content.decode()


def test_a_template_in_which_something_depends_on_the_person_is_refused(project) -> None:
    who = Question(id="who", kind="text", title="Who", required=True)
    more = Question(id="age", kind="integer", low=1, high=99, enable_when=(Condition("who", "exists", True),))
    dependent = Template(id="visit", version="1", title="Visit", items=(who, more), person="who")
    with pytest.raises(TemplateError, match="stored apart"):
        add_template(project, dependent, actor="system")


@pytest.mark.parametrize("name", ["toml", "json", "fhir-r4", "fhir-r5"])
def test_downloads_read_back_as_the_same_template(member, template, name) -> None:
    client = member("collaborator")
    answer = client.get(f"/templates/{template.key}/download?format={name}")
    text = answer.content.decode()
    assert answer.status_code == 200 and "attachment" in answer["Content-Disposition"]
    if name == "toml":
        assert tomllib.loads(text) and Template.from_toml(text) == builtin("pirads-2.1")
    elif name == "json":
        assert Template.from_json(text) == builtin("pirads-2.1")
    else:
        assert questionnaire_from_fhir(json.loads(text)).template == builtin("pirads-2.1")
    assert client.get(f"/templates/{template.key}/download?format=exe").status_code == 404


def test_an_older_version_can_be_used_again_and_reports_keep_theirs(owner, reader, template, write, answers) -> None:
    first = write(reader, answers)
    _accept(owner, _look(owner, _newer().to_toml()).content.decode())
    second = write(reader, answers, patient="B 2")
    assert owner.post(f"/templates/{template.key}/use").status_code == 302
    third = write(reader, answers, patient="C 3")
    assert [report.template.number for report in (first, second, third)] == [1, 2, 1]
    assert TemplateVersion.objects.filter(is_current=True).count() == 1


def test_a_project_without_template_says_what_to_do(member, project) -> None:
    owner, reader = member("owner"), member("radiologist")
    assert "No template yet" in owner.get("/templates").content.decode()
    assert "No template yet" in reader.get("/reports/new").content.decode()
    assert reader.post("/reports/new", {"identifier": "A"}).status_code == 200
    page = owner.post("/templates/new", {"builtin": "pirads-paper"}).content.decode()
    assert _accept(owner, page).status_code == 302


def test_text_of_a_file_with_an_error_stays_to_be_corrected(owner) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    file = SimpleUploadedFile("t.toml", b'id = "lung"\nversion = "1"\ntitle = "Lung\n')
    page = owner.post("/templates/new", {"file": file, "note": "why"})
    text = page.content.decode()
    assert page.status_code == 422 and "at line 3" in text
    assert "id = &quot;lung&quot;" in text and 'value="why"' in text, "nothing has to be typed again"


FAULTY = """id = "lung"
version = "1"
title = "Lung"

[[items]]
id = "size"
kind = "integer"
titel = "Size"
required = "yes"

[[items]]
id = "nodule"
kind = "group"

[[items.items]]
id = "side"
kind = "chioce"
"""


def test_every_fault_of_a_file_is_told_at_once_with_its_line(owner) -> None:
    page = _look(owner, FAULTY)
    text = unescape(page.content.decode())
    assert page.status_code == 422 and "id = " in text
    for words in (
        "Line 8: Item 'size' has the unknown entry 'titel'",
        "Line 9: Item 'size': 'required'",
        "Line 16: Item",
    ):
        assert words in text, words
    broken = _look(owner, '{"id": "lung",\n "version": }').content.decode()
    assert "line 2" in broken

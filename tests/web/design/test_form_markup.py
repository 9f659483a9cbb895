"""Forms: the same accessible markup for every form, whatever its texts say."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from django.template import Context, Template
from page_markup import Page, broken_references, unlabelled_controls

EVIL = "<img src=x onerror=alert(1)>"


class Lesion(forms.Form):
    size = forms.IntegerField(label=f"Size {EVIL}", help_text=f"In mm {EVIL}", min_value=1)
    zone = forms.ChoiceField(label="Zone", choices=[("pz", f"Peripheral {EVIL}")], widget=forms.RadioSelect)
    note = forms.CharField(label="Note", required=False, widget=forms.Textarea)
    sure = forms.BooleanField(label="Sure", help_text="Tick it.")
    secret = forms.CharField(widget=forms.HiddenInput, required=False)


def page_of(form: Any) -> Page:
    return Page(f"<form>{form}</form>")


def test_form_without_data_has_labels_help_and_no_errors() -> None:
    page = page_of(Lesion())
    assert unlabelled_controls(page) == [] and broken_references(page) == []
    size = page.by_id("id_size")
    assert size is not None and size.attributes["aria-describedby"] == "id_size_helptext"
    assert "aria-invalid" not in page.html and "error-summary" not in page.html


def test_refused_form_names_every_error_at_the_field_and_in_the_summary() -> None:
    form = Lesion({"size": "0"})
    form.add_error(None, "Two lesions cannot be in one place.")
    page = page_of(form)
    assert unlabelled_controls(page) == [] and broken_references(page) == []
    size = page.by_id("id_size")
    assert size is not None and size.attributes["aria-invalid"] == "true"
    assert size.attributes["aria-describedby"] == "id_size_helptext id_size_error"
    summary = next(element for element in page.all("div") if "error-summary" in element.attributes.get("class", ""))
    assert summary.attributes["role"] == "alert"
    links = [link.attributes["href"] for link in summary.walk() if link.tag == "a"]
    assert links == ["#id_size", "#id_zone", "#id_sure"]
    assert "Two lesions cannot be in one place." in summary.text and "4 things" in summary.text


def test_group_of_choices_is_a_fieldset_with_a_legend() -> None:
    page = page_of(Lesion({"size": "3"}))
    (group,) = page.all("fieldset")
    assert "id_zone_error" in group.attributes["aria-describedby"]
    assert next(element.text for element in group.walk() if element.tag == "legend") == "Zone"


def test_unit_stands_behind_the_control_and_is_read_with_its_label() -> None:
    source = '{% load design %}{% field form.size unit="mm" %}'
    page = Page(Template(source).render(Context({"form": Lesion()})))
    assert page.all("label")[0].text.endswith(", in mm")
    assert [element.text for element in page.all("span") if element.attributes.get("class") == "unit"] == ["mm"]


def test_optional_fields_are_said_to_be_optional() -> None:
    page = page_of(Lesion())
    texts = {label.attributes.get("for"): label.text for label in page.all("label")}
    assert texts["id_note"].endswith("optional") and not texts["id_size"].endswith("optional")


@pytest.mark.parametrize("data", [None, {"size": EVIL}])
def test_texts_of_a_form_are_escaped(data: dict[str, str] | None) -> None:
    page = page_of(Lesion(data))
    assert page.all("img") == []
    assert EVIL in page.root.text

"""The form renderer: ``{{ form }}`` gives every form the same accessible markup; and what buttons carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypedDict

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict

from pydplib.errors import ParameterError

Posted: TypeAlias = Mapping[str, object] | None
"""What was sent to a form; none before anything was."""
Files: TypeAlias = MultiValueDict[str, UploadedFile] | None
"""The files that were sent along."""


class FormOptions(TypedDict, total=False):
    """What every form takes besides what was sent to it."""

    auto_id: bool | str
    initial: dict[str, object]
    prefix: str


class Renderer(TemplatesSetting):
    """Renders forms and fields with our templates, widgets with Django's.

    Errors stand in a summary on top, linked to the fields, and at each field, named by ``aria-describedby``.
    Help texts are escaped unless the author marked them safe: they may come from a report template.
    """

    form_template_name = "design/form.html"
    field_template_name = "design/field.html"


def choice_field(form: forms.BaseForm, name: str) -> forms.ChoiceField:
    """Return a field of a form that offers choices, to set them."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    return field


def seen(request: HttpRequest, name: str) -> int:
    """Return a number that the page with the button has put there, such as the price that it showed."""
    word = request.POST.get(name, "")
    if not (word.isascii() and word.isdigit()) or len(word) > 15:  # "²" is a digit too, but no number
        raise ParameterError("This needs the price that you agree to: go back and click the button there.")
    return int(word)

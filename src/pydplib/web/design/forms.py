"""The form renderer: ``{{ form }}`` gives every form the same accessible markup; and what buttons carry."""

from __future__ import annotations

from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest

from pydplib.errors import ParameterError


class Renderer(TemplatesSetting):
    """Renders forms and fields with our templates, widgets with Django's.

    Errors stand in a summary on top, linked to the fields, and at each field, named by ``aria-describedby``.
    Help texts are escaped unless the author marked them safe: they may come from a report template.
    """

    form_template_name = "design/form.html"
    field_template_name = "design/field.html"


def seen(request: HttpRequest, name: str) -> int:
    """Return a number that the page with the button has put there, such as the price that it showed."""
    word = request.POST.get(name, "")
    if not (word.isascii() and word.isdigit()) or len(word) > 15:  # "²" is a digit too, but no number
        raise ParameterError("This needs the price that you agree to: go back and click the button there.")
    return int(word)

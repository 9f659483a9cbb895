"""The form renderer: ``{{ form }}`` gives every form the same accessible markup."""

from __future__ import annotations

from django.forms.renderers import TemplatesSetting


class Renderer(TemplatesSetting):
    """Renders forms and fields with our templates, widgets with Django's.

    Errors stand in a summary on top, linked to the fields, and at each field, named by ``aria-describedby``.
    Help texts are escaped unless the author marked them safe: they may come from a report template.
    """

    form_template_name = "design/form.html"
    field_template_name = "design/field.html"

"""Forms of the policy: one row, the data set's budget, the role to look through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from django import forms

from pydplib.errors import PydplibError
from pydplib.policy import ALL, ANY, LABEL_WORDS, LABELS, ROLES, PolicyRule
from pydplib.web.design.forms import Files, FormOptions, Posted, choice_field
from pydplib.web.projects.forms import day_field
from pydplib.web.projects.models import Project
from pydplib.web.projects.policy.fields import openable_fields

EVERY, SOME, NONE = "every", "some", "none"
_EXTENT = [(EVERY, "All but identifiers"), (SOME, "Only those ticked below"), (NONE, "None")]
_NUMBER = {"step": "any", "class": "short", "inputmode": "decimal"}


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the two lists of fields of a row, and the two form fields that ask for it."""

    extent: str
    names: str


_PARTS = {"fields": _Part("fields_extent", "open_fields"), "filters": _Part("filters_extent", "open_filters")}


class RuleForm(forms.Form):
    """What an audience gets: the terms of one row."""

    label = forms.ChoiceField(label="Gets at most")
    fields_extent = forms.ChoiceField(label="Fields in results", widget=forms.RadioSelect, choices=_EXTENT)
    open_fields = forms.MultipleChoiceField(label="Ticked fields", required=False, widget=forms.CheckboxSelectMultiple)
    filters_extent = forms.ChoiceField(
        label="Fields in conditions",
        widget=forms.RadioSelect,
        choices=_EXTENT,
        help_text="A condition narrows who is counted, such as “aged 60 to 70”.",
    )
    open_filters = forms.MultipleChoiceField(
        label="Ticked fields for conditions", required=False, widget=forms.CheckboxSelectMultiple
    )
    epsilon_per_question = forms.FloatField(
        label="Most epsilon for one question",
        required=False,
        min_value=0.00001,  # a tenth of it must still be a question: the number of records
        max_value=1000,
        widget=forms.NumberInput(attrs=_NUMBER),
        help_text="Epsilon measures how much an answer gives away: smaller is safer. Empty: no limit.",
    )
    budget = forms.FloatField(
        label="Budget: epsilon of all questions together",
        required=False,
        min_value=0.000001,
        max_value=1000,
        widget=forms.NumberInput(attrs=_NUMBER),
        help_text="Per recipient. Smaller counts at once; a larger one takes two owners, under Requests.",
    )
    expires = day_field(label="Holds until", required=False, help_text="The last day. Empty: no end.")
    purpose = forms.CharField(
        max_length=120, required=False, help_text="What results may be used for. Empty: anything."
    )
    synthetic = forms.BooleanField(
        label="Allow synthetic tables",
        required=False,
        help_text="Rows of nobody for any plotting software, of these fields and within these limits.",
    )
    paper_mode = forms.BooleanField(
        label="Allow paper mode",
        required=False,
        help_text="Noise as in the PyDPLib paper: it carries no formal guarantee. Leave it off if in doubt.",
    )

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        project: Project,
        audience: str,
        rule: PolicyRule | None = None,
        **kw: Unpack[FormOptions],
    ) -> None:
        self.audience = audience
        if rule is not None:
            kw.setdefault("initial", _initial(rule))
        super().__init__(data, files, **kw)
        may_be_raw = audience in ROLES and "see_raw" in ROLES[audience].powers
        choice_field(self, "label").choices = [
            (label, LABEL_WORDS[label].capitalize()) for label in LABELS if label != "raw" or may_be_raw
        ]
        known = [(field.name, f"{field.title} ({field.label_words.lower()})") for field in openable_fields(project)]
        for column, part in _PARTS.items():
            # A name that the template has no longer stays choosable, so that saving does not drop it in silence.
            gone = [] if rule is None else [name for name in getattr(rule, column) if name != "*"]
            listed = {name for name, _ in known}
            extra = [(name, f"{name} (not in the template any more)") for name in gone if name not in listed]
            choice_field(self, part.names).choices = [*known, *extra]

    def clean(self) -> dict[str, object]:
        """Build the row; what ``PolicyRule`` does not accept is an error of the form."""
        values = super().clean() or {}
        if self.errors:
            return values
        for part in _PARTS.values():
            if values[part.extent] == SOME and not values[part.names]:
                self.add_error(part.names, "Tick at least one field, or choose “None” above.")
        if self.errors:
            return values
        for column, part in _PARTS.items():
            values[column] = {EVERY: ALL, SOME: tuple(values[part.names]), NONE: ()}[values[part.extent]]
        try:
            values["rule"] = PolicyRule(
                self.audience,
                values["label"],
                fields=values["fields"],
                filters=values["filters"],
                epsilon_per_question=values["epsilon_per_question"],
                budget=values["budget"],
                expires=values["expires"],
                purpose=values["purpose"].strip() or ANY,
                paper_mode=values["paper_mode"],
                synthetic=values["synthetic"],
            )
        except PydplibError as error:
            raise forms.ValidationError(str(error)) from None
        return values


class GroupForm(RuleForm):
    """A row for a new group."""

    name = forms.RegexField(
        r"^[a-z0-9][a-z0-9-]{0,39}$",
        label="Name of the group",
        help_text="Small letters, digits and hyphens: acme-research.",
        error_messages={"invalid": "Small letters, digits and hyphens, such as acme-research."},
    )
    field_order = ("name",)


class DataSetBudgetForm(forms.Form):
    """What all recipients together may learn."""

    budget = forms.FloatField(
        label="Budget of the whole data set",
        min_value=0.000001,
        widget=forms.NumberInput(attrs=_NUMBER),
        help_text="The epsilon of all recipients together. Smaller counts at once; a larger one takes two owners.",
    )


def _initial(rule: PolicyRule) -> dict[str, object]:
    values: dict[str, object] = {
        name: getattr(rule, name)
        for name in ("label", "epsilon_per_question", "budget", "expires", "paper_mode", "synthetic")
    }
    for name in ("epsilon_per_question", "budget"):
        values[name] = None if values[name] is None else f"{values[name]:g}"
    values["purpose"] = "" if rule.purpose == ANY else rule.purpose
    for column, part in _PARTS.items():
        names = getattr(rule, column)
        values[part.extent] = EVERY if names == ALL else SOME if names else NONE
        values[part.names] = [] if names == ALL else list(names)
    return values

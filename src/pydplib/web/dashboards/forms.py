"""Forms of dashboards: make one, put figures on it, its audience's budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from django import forms

from pydplib.errors import QuestionError
from pydplib.release import Question
from pydplib.schema import Schema
from pydplib.web.analyses.question_form.offers import titles_of
from pydplib.web.analyses.question_form.questions import build_question, check_cells, kind_choices
from pydplib.web.dashboards.models import AUDIENCES
from pydplib.web.dashboards.plans import FigureChoice
from pydplib.web.design.forms import Files, FormOptions, Posted, choice_field

_NUMBER = {"step": "any", "class": "short", "inputmode": "decimal"}


class DashboardForm(forms.Form):
    """A new dashboard."""

    title = forms.CharField(label="Title", max_length=120)
    audience = forms.ChoiceField(
        label="For whom",
        choices=AUDIENCES,
        widget=forms.RadioSelect,
        help_text="It decides the noise and whose budget pays, and stays as it is.",
    )
    intro = forms.CharField(
        label="Introduction",
        max_length=400,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One or two sentences for its readers.",
    )


class WordsForm(forms.Form):
    """Title and introduction."""

    title = forms.CharField(label="Title", max_length=120)
    intro = forms.CharField(
        label="Introduction", max_length=400, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )


class PickForm(forms.Form):
    """Figures to put on the plan."""

    ready = forms.MultipleChoiceField(label="Ready-made", required=False, widget=forms.CheckboxSelectMultiple)
    paper = forms.MultipleChoiceField(label="Paper mode", required=False, widget=forms.CheckboxSelectMultiple)
    analysis = forms.ChoiceField(label="An analysis of your organisation", required=False)

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        ready: Sequence[FigureChoice],
        paper: Sequence[FigureChoice],
        analyses: Sequence[tuple[str, str]],
        **kwargs: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **kwargs)
        for name, choices in (("ready", ready), ("paper", paper)):
            if choices:
                choice_field(self, name).choices = [(c.name, f"{c.label}: {c.title}. {c.hint}") for c in choices]
            else:
                del self.fields[name]
        if analyses:
            choice_field(self, "analysis").choices = [("", "None"), *((key, words) for key, words in analyses)]
        else:
            del self.fields["analysis"]
        if "paper" in self.fields:
            self.fields["paper"].help_text = "Noisy records without a guarantee; shown with a warning."


class FigureQuestionForm(forms.Form):
    """A question of the owner's own."""

    kind = forms.ChoiceField(label="What", choices=kind_choices)
    field = forms.ChoiceField(label="Of which field", required=False)
    by1 = forms.ChoiceField(label="By", required=False)
    by2 = forms.ChoiceField(label="And by", required=False)
    title = forms.CharField(label="Title", max_length=120, required=False)

    def __init__(
        self, data: Posted = None, files: Files = None, *, schema: Schema, **kwargs: Unpack[FormOptions]
    ) -> None:
        super().__init__(data, files, **kwargs)
        self.schema = schema
        titles = titles_of(schema)
        fields = [("", "–")] + [
            (name, titles[name])
            for name, column in schema.columns.items()
            if column.can_be_asked and name != schema.person
        ]
        for name in ("field", "by1", "by2"):
            choice_field(self, name).choices = fields

    def clean(self) -> dict[str, object]:
        """Make the question; what does not fit together is said in words."""
        values = super().clean() or {}
        if self.errors:
            return values
        by = [values[name] for name in ("by1", "by2") if values.get(name)]
        try:
            made: Question = build_question(values["kind"], field=values.get("field") or None, by=by)
            check_cells(made, self.schema)
        except QuestionError as error:
            raise forms.ValidationError(str(error)) from None
        values["question"] = made
        return values


class PriceForm(forms.Form):
    """What each question of a figure costs."""

    epsilon = forms.FloatField(min_value=0.000001, max_value=1000, required=False)


class BudgetForm(forms.Form):
    """What the dashboards of an audience may spend together."""

    budget = forms.FloatField(
        label="Budget (epsilon)",
        min_value=0.000001,
        max_value=1000,
        widget=forms.NumberInput(attrs=_NUMBER),
        help_text="Smaller counts at once. Larger is a proposal: it counts when a second owner agrees.",
    )
    reason = forms.CharField(
        label="Reason",
        max_length=1000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Needed for a larger budget: the other owners read it.",
    )

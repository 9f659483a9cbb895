"""Forms of requests: ask for budget, fields or a role; propose; decide."""

from __future__ import annotations

from typing import Unpack

from django import forms

from pydplib.policy import ANY, OWNER, ROLES
from pydplib.web.design.forms import Files, FormOptions, Posted, choice_field
from pydplib.web.people.models import User
from pydplib.web.projects.members.memberships import roles_for
from pydplib.web.projects.models import Project
from pydplib.web.projects.requests.submissions import closed_fields
from pydplib.web.projects.words import audience_words


def _budget() -> forms.FloatField:
    widget = forms.NumberInput(attrs={"step": "any", "class": "short", "inputmode": "decimal"})
    return forms.FloatField(label="New budget (epsilon)", min_value=0.000001, max_value=1000, widget=widget)


def _reason(help_text: str) -> forms.CharField:
    return forms.CharField(
        label="Reason", max_length=1000, widget=forms.Textarea(attrs={"rows": 3}), help_text=help_text
    )


class AskBudgetForm(forms.Form):
    """A larger budget for the asker's audience."""

    budget = _budget()
    reason = _reason("What you want to find out with it. Two owners decide.")

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        project: Project,
        user: User,
        role: str,
        **kwargs: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **kwargs)


class AskFieldsForm(forms.Form):
    """More fields for the asker's role."""

    names = forms.MultipleChoiceField(label="Fields", widget=forms.CheckboxSelectMultiple)
    conditions = forms.BooleanField(label="Also in conditions", required=False)
    reason = _reason("What you want to find out with them. An owner decides.")

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        project: Project,
        user: User,
        role: str,
        **kwargs: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **kwargs)
        choice_field(self, "names").choices = closed_fields(project, role)


class AskRoleForm(forms.Form):
    """Another role."""

    role = forms.ChoiceField(widget=forms.RadioSelect)
    reason = _reason("Why this role fits what you do. An owner decides.")

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        project: Project,
        user: User,
        role: str,
        **kwargs: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **kwargs)
        choice_field(self, "role").choices = [
            (name, f"{ROLES[name].title}: {ROLES[name].description}")
            for name in roles_for(project, user)
            if name != role
        ]


ASKING: dict[str, type[AskBudgetForm | AskFieldsForm | AskRoleForm]] = {
    "budget": AskBudgetForm,
    "fields": AskFieldsForm,
    "role": AskRoleForm,
}


class ProposeForm(forms.Form):
    """An owner proposes a larger budget."""

    audience = forms.ChoiceField(label="For whom")
    budget = _budget()
    reason = _reason("The other owners read it. Your proposal is the first of the two votes it takes.")

    def __init__(
        self, data: Posted = None, files: Files = None, *, project: Project, **kwargs: Unpack[FormOptions]
    ) -> None:
        super().__init__(data, files, **kwargs)
        rows = [row for row in project.rules.all() if row.budget is not None and row.audience != OWNER]
        choice_field(self, "audience").choices = [
            *((row.audience, f"{audience_words(row.audience)} (now {row.budget:g})") for row in rows),
            (ANY, f"{audience_words(ANY)} (now {project.data_set_budget:g})"),
        ]


class DecisionForm(forms.Form):
    """An owner's word."""

    decision = forms.ChoiceField(
        widget=forms.RadioSelect, choices=[("approve", "Approve"), ("refuse", "Refuse")], label="Your decision"
    )
    reason = _reason("The one who asked reads this.")

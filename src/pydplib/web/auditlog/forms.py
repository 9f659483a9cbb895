"""The filter above the log."""

from __future__ import annotations

from typing import Any

from django import forms

from pydplib.web.auditlog.reading import HOSPITAL, PROJECT, Filter
from pydplib.web.auditlog.words import words_of


class FilterForm(forms.Form):
    """What to show of the log; unknown words show nothing rather than everything."""

    scope = forms.ChoiceField(
        required=False, choices=[(PROJECT, "This project"), (HOSPITAL, "This project and the hospital's own")]
    )
    action = forms.ChoiceField(required=False, label="What")
    actor = forms.CharField(
        required=False, max_length=150, label="Who", widget=forms.TextInput(attrs={"class": "short"})
    )
    since = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, actions: list[str], with_hospital: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        listed = sorted((words_of(action), action) for action in actions)
        self.fields["action"].choices = [("", "Everything"), *((action, words) for words, action in listed)]
        if not with_hospital:
            del self.fields["scope"]

    def wanted(self) -> Filter:
        """Return the filter; of a faulty form, what is valid of it."""
        values = self.cleaned_data if self.is_valid() else getattr(self, "cleaned_data", {})
        return Filter(
            action=values.get("action") or "",
            actor=(values.get("actor") or "").strip(),
            since=values.get("since"),
            until=values.get("until"),
        )

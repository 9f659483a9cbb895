"""The form of a new token."""

from __future__ import annotations

from django import forms

from pydplib.web.api.tokens import SCOPES

DAYS = {7: "A week", 30: "30 days", 90: "90 days", 365: "A year"}


class TokenForm(forms.Form):
    """Name, scopes and how long it works."""

    name = forms.CharField(max_length=80, label="Name", help_text="What it is for: a notebook, a nightly job.")
    scopes = forms.MultipleChoiceField(
        choices=list(SCOPES.items()),
        widget=forms.CheckboxSelectMultiple,
        label="It may",
        initial=["read", "ask"],
        help_text="Never more than your own role allows at that moment.",
    )
    days = forms.TypedChoiceField(choices=list(DAYS.items()), coerce=int, initial=90, label="It works for")

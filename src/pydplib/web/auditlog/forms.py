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
    on = forms.CharField(
        required=False,
        max_length=150,
        label="On what",
        widget=forms.TextInput(attrs={"class": "short", "placeholder": "Id or name"}),
    )
    since = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, actions: list[str], with_hospital: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        listed = sorted((words_of(action), action) for action in actions)
        self.fields["action"].choices = [("", "Everything"), *((action, words) for words, action in listed)]
        if not with_hospital:
            del self.fields["scope"]

    def wanted(self, project: Any = None) -> Filter:
        """Return the filter; of a faulty form, what is valid of it.

        Args:
            project: The project whose patients are known: the id of one stands for all that is about them.
        """
        values = self.cleaned_data if self.is_valid() else getattr(self, "cleaned_data", {})
        word = (values.get("on") or "").strip()
        return Filter(
            about=_about(project, word) if word else (),
            action=values.get("action") or "",
            actor=(values.get("actor") or "").strip(),
            since=values.get("since"),
            until=values.get("until"),
        )


def _about(project: Any, word: str) -> tuple[str, ...]:
    from pydplib.web.intake.access import keys_of
    from pydplib.web.intake.erasing import by_short_id
    from pydplib.web.intake.models import Patient

    patient = by_short_id(project, word)
    if patient is not None and Patient.objects.filter(pk=patient.pk, key__startswith=word.lower()).exists():
        return tuple(keys_of(patient))
    return (word,)

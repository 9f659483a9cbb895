"""The form that begins a run of attacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from django import forms

from pydplib.web.attacks.models import AttackRun
from pydplib.web.attacks.recipients import Given
from pydplib.web.attacks.runs import MINUTES
from pydplib.web.design.forms import Files, FormOptions, Posted, choice_field


class StartForm(forms.Form):
    """On whose behalf, on which data, for how long."""

    subject = forms.ChoiceField(label="On behalf of")
    data = forms.ChoiceField(  # type: ignore[assignment]  # a field of this name hides nothing: Django takes it away
        label="People",
        choices=AttackRun.Data.choices,
        initial=AttackRun.Data.TWIN,
        widget=forms.RadioSelect,
        help_text="For attacks on statistics. Attacks on tables always use the table that was given, and its original.",
    )
    minutes = forms.TypedChoiceField(
        label="It may take",
        coerce=int,
        choices=[(each, f"{each} minute{'s' if each > 1 else ''}") for each in MINUTES],
        initial=5,
    )

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        given: Sequence[Given],
        whole: Sequence[Given],
        **more: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **more)
        subject = choice_field(self, "subject")
        subject.choices = [
            ("What was given so far", [(each.subject, each.name) for each in given]),
            ("If the whole budget is spent", [(each.subject, each.name) for each in whole]),
        ]

"""Forms of intake: upload, matching of columns, filters, snapshots, privacy rights."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Unpack

from django import forms

from pydplib.capture import Template
from pydplib.errors import DataError
from pydplib.web.design.forms import Files, FormOptions, Posted
from pydplib.web.intake.imports.columns import DEPARTMENT, check_mapping, targets_of
from pydplib.web.intake.models import SnapshotSchedule
from pydplib.web.intake.snapshots import SaidNumbers
from pydplib.web.patients.models import Patient

_FAR = 2
"""How many times a declared number of people may be off: further, and prices and the room for sums would be wrong."""


class UploadForm(forms.Form):
    """The file, and what cannot be read from it."""

    file = forms.FileField(
        label="File",
        help_text="CSV (any separator, decimal comma and encoding), Excel (.xlsx), or FHIR QuestionnaireResponse.",
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.txt,.tsv,.xlsx,.json,.ndjson,.jsonl"}),
    )
    sheet = forms.CharField(
        label="Sheet", required=False, max_length=100, help_text="Only for workbooks with several sheets."
    )
    department = forms.CharField(
        label="Department",
        required=False,
        max_length=80,
        help_text="Whose reports these are, where the file does not say it.",
    )

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        own_department: str | None = None,
        **more: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **more)
        if own_department is not None:
            del self.fields["department"]  # a radiologist imports into their own department


class MappingForm(forms.Form):
    """One field per column: where it goes."""

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        template: Template,
        columns: list[str],
        own_department: bool,
        **more: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **more)
        self.template, self.columns = template, columns
        choices: list[Any] = [("", "Ignore this column")]
        groups: dict[str, list[tuple[str, str]]] = {}
        for target in targets_of(template):
            if own_department and target.name == DEPARTMENT:
                continue
            group = target.group or ("Template" if target.question else "Besides the template")
            groups.setdefault(group, []).append((target.name, target.title))
        choices += list(groups.items())
        for place, column in enumerate(columns):
            self.fields[f"column{place}"] = forms.ChoiceField(
                label=column or "(no name)", choices=choices, required=False
            )

    def clean(self) -> dict[str, object]:
        """Refuse a mapping that cannot work."""
        cleaned: dict[str, object] = super().clean() or {}
        if not self.errors:
            try:
                check_mapping(self.template, self.columns, self.mapping)
            except DataError as error:
                raise forms.ValidationError(str(error)) from None
        return cleaned

    @property
    def mapping(self) -> list[str]:
        """Field per column."""
        return [self.cleaned_data[f"column{place}"] for place in range(len(self.columns))]


class ScheduleForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """How often snapshots are published by themselves."""

    class Meta:
        model = SnapshotSchedule
        fields = ("every",)
        labels = {"every": "Publish by itself"}  # noqa: RUF012
        help_texts = {  # noqa: RUF012
            "every": "Partners may know the schedule: a new snapshot then says nothing about single patients."
        }


class SizeForm(forms.Form):
    """What prices may know of the number of people in a snapshot."""

    size = forms.ChoiceField(
        label="The number of people",
        choices=[
            ("noisy", "is given out with noise, once, for a price"),
            ("declared", "is public: I declare it"),
            ("private", "stays private"),
        ],
        initial="noisy",
        widget=forms.RadioSelect,
        help_text="With it, everybody sees before paying how accurate an answer will be. As long as it is private, "
        "prices say 'at most', and the first question of every organisation also buys a noisy number.",
    )
    people = forms.IntegerField(
        label="Public number of people",
        required=False,
        min_value=1,
        max_value=10**9,
        help_text="Only if anybody may know it, as from a paper or rounded to hundreds. Two exact numbers of two "
        "snapshots would tell that somebody came or left.",
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    epsilon = forms.DecimalField(
        label="Epsilon of the noisy number",
        required=False,
        min_value=Decimal("0.000001"),
        max_value=Decimal(1),
        help_text="The data set pays it once, and so does the budget of every organisation that may ask: each of them "
        "learns the number from its prices.",
        widget=forms.NumberInput(attrs={"class": "short", "step": "any"}),
    )

    limit_epsilon = forms.DecimalField(
        label="Epsilon of the noisy rows per person",
        required=False,
        min_value=Decimal("0.000001"),
        max_value=Decimal(1),
        help_text="Empty: not given out. Otherwise a noisy histogram of people by number of reports is bought once, by "
        "the data set and by every organisation that may ask, and answers say which share of reports is beyond the "
        "limit per person.",
        widget=forms.NumberInput(attrs={"class": "short", "step": "any"}),
    )

    def __init__(
        self, data: Posted = None, files: Files = None, *, counted: Callable[[], int], **more: Unpack[FormOptions]
    ) -> None:
        super().__init__(data, files, **more)
        self.counted = counted

    def clean(self) -> dict[str, object]:
        """Ask for the number that belongs to the choice, and for none else."""
        values = super().clean() or {}
        choice, people = values.get("size"), values.get("people")
        if choice == "declared" and "people" not in self.errors:
            if people is None:
                self.add_error("people", "Type the public number of people.")
            elif not 1 / _FAR <= people / max(self.counted(), 1) <= _FAR:
                self.add_error("people", f"More than {_FAR} times off the data: prices would mean nothing.")
        if choice == "noisy" and "epsilon" not in self.errors and values.get("epsilon") is None:
            self.add_error("epsilon", "Type what the number may cost: there is no default.")
        return values

    @property
    def said(self) -> SaidNumbers:
        """What ``publish`` takes."""
        choice, limit = self.cleaned_data["size"], self.cleaned_data.get("limit_epsilon")
        return {
            "size": self.cleaned_data["people"] if choice == "declared" else None,
            "size_epsilon": float(self.cleaned_data["epsilon"]) if choice == "noisy" else None,
            "limit_epsilon": None if limit is None else float(limit),
        }


class FindPatientForm(forms.Form):
    """Find one person by exactly what names them. Posted, so that it is in no address and no log."""

    identifier = forms.CharField(
        label="Patient's identifier, or short id",
        max_length=400,
        help_text="The identifier exactly as it was recorded, or the 8 characters that stand for a patient or a report "
        "on every page and printout. The search is logged, what you typed is not.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class ConsentForm(forms.Form):
    """Whether the person's data may enter new snapshots."""

    consent = forms.ChoiceField(label="Consent", choices=Patient.Consent.choices)

"""Forms of the exports: the data, the fields, the models, hierarchies, release and recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from django import forms

from pydplib.anonymity import AlphaK, BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness
from pydplib.anonymity.models import Model
from pydplib.errors import ParameterError
from pydplib.schema import Schema
from pydplib.web.design.forms import Files, FormOptions, Posted, choice_field
from pydplib.web.exports.plans import MINUTES, ROWS, TREATMENTS, ExportPlan, fields_offered

SOURCES = [
    ("published", "The published snapshot: what partners' analyses run on"),
    ("current", "The data as they are now: a new snapshot is pinned for it"),
]


class NewExportForm(forms.Form):
    """What is exported, and how it is called."""

    title = forms.CharField(label="Title", max_length=120, help_text="Those who get the export see it.")
    source = forms.ChoiceField(label="Data", choices=SOURCES, widget=forms.RadioSelect)
    rows = forms.ChoiceField(
        label="Rows",
        choices=list(ROWS.items()),
        widget=forms.RadioSelect,
        initial="latest",
        help_text="With all reports, people are counted once per group of people who look alike. But then no further "
        "export of this project can be made: one row per person is what makes several exports safe together.",
    )

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        published: bool,
        groups: Mapping[str, str] | None = None,
        **more: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **more)
        rows = choice_field(self, "rows")
        more_rows = [(group, f"{title}: all of every person") for group, title in (groups or {}).items()]
        rows.choices = [*ROWS.items(), *more_rows]
        source = choice_field(self, "source")
        source.choices = SOURCES if published else SOURCES[1:]
        source.initial = source.choices[0][0]


class FieldsForm(forms.Form):
    """One choice per field: what becomes of it."""

    def __init__(
        self, data: Posted = None, files: Files = None, *, schema: Schema, plan: ExportPlan, **more: Unpack[FormOptions]
    ) -> None:
        super().__init__(data, files, **more)
        for name, allowed in fields_offered(schema).items():
            self.fields[name] = forms.ChoiceField(
                label=schema.columns[name].title or name,
                choices=[(each, TREATMENTS[each]) for each in allowed],
                initial=plan.fields.get(name, allowed[0]),
            )

    @property
    def treatments(self) -> dict[str, str]:
        """Field -> treatment."""
        return {name: self.cleaned_data[name] for name in self.fields}


class ModelsForm(forms.Form):
    """The models, each with its meaning in plain words; empty means not asked for."""

    k = forms.IntegerField(
        label="People who must look alike (k)",
        min_value=2,
        max_value=10_000,
        initial=5,
        help_text="Nobody can be narrowed down to fewer people. 5 is usual among partners, 11 and more for strangers.",
    )
    l_kind = forms.ChoiceField(
        label="Variety of what is protected (l-diversity)",
        choices=[
            ("", "Not asked for"),
            ("distinct", "At least l different values"),
            ("entropy", "As mixed as l equally frequent values"),
            ("recursive", "The most frequent value is not too frequent"),
        ],
        required=False,
        help_text="Without it, people who look alike may all have the same diagnosis, and then it is known.",
    )
    mixed = forms.MultipleChoiceField(
        label="For these fields",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Proposed are protected fields with few values. Every yes/no field more makes the table much "
        "coarser: a rare yes must then be in every group. That nobody of a group has it says little; choose it if it "
        "does.",
    )
    l_value = forms.FloatField(label="l", min_value=1, max_value=100, required=False, initial=2)
    c = forms.FloatField(
        label="c",
        min_value=0.01,
        max_value=1000,
        required=False,
        help_text="Only for the last kind: the most frequent value is rarer than c times the rest.",
    )
    t_kind = forms.ChoiceField(
        label="As in the whole table (t-closeness)",
        choices=[
            ("", "Not asked for"),
            ("equal", "Values are just different"),
            ("ordered", "Values have an order, such as scores"),
        ],
        required=False,
        help_text="Bounds how far a group may differ from everybody: the strictest model, and the costliest.",
    )
    t = forms.FloatField(label="t", min_value=0.01, max_value=1, required=False, help_text="0.2 to 0.4 is usual.")
    alpha = forms.FloatField(
        label="Most frequent value at most (α)",
        min_value=0.01,
        max_value=1,
        required=False,
        help_text="No protected value may have more than this share of a group, such as 0.8.",
    )
    beta = forms.FloatField(
        label="Gain of belief at most (β)",
        min_value=0.01,
        max_value=1000,
        required=False,
        help_text="No protected value may be more than 1 + β times as frequent in a group as overall.",
    )
    delta = forms.FloatField(
        label="Change of belief at most (δ)",
        min_value=0.01,
        max_value=100,
        required=False,
        help_text="Neither more nor less likely than by δ, in powers of two; every value must occur in every group.",
    )
    suppression = forms.FloatField(
        label="Rows that may be left out",
        min_value=0,
        max_value=50,
        initial=5,
        help_text="Leaving out a few unusual people keeps the others more detailed. In percent.",
    )
    minutes = forms.TypedChoiceField(
        label="The search may take",
        coerce=int,
        choices=[(each, f"{each} minute{'s' if each > 1 else ''}") for each in MINUTES],
        initial=5,
        help_text="Then the best so far is taken, and it is said how far from the best possible it can be.",
    )

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        plan: ExportPlan,
        titles: Mapping[str, str],
        **more: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **more)
        mixed = choice_field(self, "mixed")
        mixed.choices = [(name, titles.get(name, name)) for name in plan.named("sensitive")]

    @classmethod
    def of(cls, plan: ExportPlan, titles: Mapping[str, str]) -> ModelsForm:
        """Return the form as the plan has it."""
        values: dict[str, object] = {
            "suppression": 100 * plan.suppression,
            "minutes": plan.minutes,
            "l_kind": "",
            "mixed": list(plan.watched),
        }
        for model in plan.rules:
            if isinstance(model, KAnonymity):
                values["k"] = model.k
            elif isinstance(model, LDiversity):
                values |= {"l_kind": model.kind, "l_value": model.l, "c": model.c}
            elif isinstance(model, TCloseness):
                values |= {"t_kind": model.distance, "t": model.t}
            elif isinstance(model, AlphaK):
                values["alpha"] = model.alpha
            elif isinstance(model, BetaLikeness):
                values["beta"] = model.beta
            elif isinstance(model, DeltaDisclosure):
                values["delta"] = model.delta
        return cls(initial=values, plan=plan, titles=titles)

    def clean(self) -> dict[str, object]:
        """Refuse half of a model."""
        cleaned: dict[str, object] = super().clean() or {}
        if cleaned.get("l_kind") and cleaned.get("l_value") is None:
            self.add_error("l_value", "Say how many values: 2 is the least that helps.")
        if cleaned.get("l_kind") == "recursive" and cleaned.get("c") is None:
            self.add_error("c", "This kind needs c, such as 3.")
        if cleaned.get("t_kind") and cleaned.get("t") is None:
            self.add_error("t", "Say how far: 0.2 to 0.4 is usual.")
        speaks = any(cleaned.get(name) for name in ("l_kind", "t_kind", "alpha", "beta", "delta"))
        if speaks and not cleaned.get("mixed") and "mixed" not in self.errors:
            self.add_error("mixed", "Choose at least one field that must stay mixed, or ask for no such model.")
        if not self.errors:
            try:
                self.models = self._models(cleaned)
            except ParameterError as problem:
                self.add_error(None, str(problem))
        return cleaned

    @staticmethod
    def _models(values: dict[str, Any]) -> list[Model]:
        k = values["k"]
        found: list[Model] = [KAnonymity(k)]
        if kind := values["l_kind"]:
            l_value = values["l_value"] if kind == "entropy" else _whole(values["l_value"])
            found.append(LDiversity(l_value, kind=kind, c=values["c"] if kind == "recursive" else None))
        if values["t_kind"]:
            found.append(TCloseness(values["t"], distance=values["t_kind"]))
        if values["alpha"] is not None:
            found.append(AlphaK(values["alpha"], k))
        if values["beta"] is not None:
            found.append(BetaLikeness(values["beta"]))
        if values["delta"] is not None:
            found.append(DeltaDisclosure(values["delta"]))
        return found


def _whole(value: float) -> int:
    if not float(value).is_integer():
        raise ParameterError("l counts values: a whole number.")
    return int(value)


class TreeUploadForm(forms.Form):
    """A hierarchy file for one field."""

    field = forms.ChoiceField(label="Field")
    file = forms.FileField(
        label="File",
        help_text="One value per line, its labels from fine to coarse, semicolons between, no header (as ARX writes).",
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.txt"}),
    )

    def __init__(
        self, data: Posted = None, files: Files = None, *, fields: list[tuple[str, str]], **more: Unpack[FormOptions]
    ) -> None:
        super().__init__(data, files, **more)
        choice_field(self, "field").choices = fields


class WithdrawForm(forms.Form):
    """Why an export is taken back."""

    reason = forms.CharField(
        label="Reason",
        max_length=400,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Those who have a copy read it. No word about a patient.",
    )

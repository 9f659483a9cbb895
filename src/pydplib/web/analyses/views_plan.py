"""Page: plan a study before any data. Looked at by GET; it touches no table and spends nothing."""

from __future__ import annotations

from typing import cast

from django import forms
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pydplib.clinic import StudyPlan, plan
from pydplib.errors import ParameterError
from pydplib.web.projects.permissions import ProjectRequest, requires

_KINDS = [
    ("proportion", "One share"),
    ("proportions", "Two shares"),
    ("odds ratio", "An odds ratio"),
    ("mean", "One average"),
    ("means", "Two averages"),
    ("survival", "Two survival curves"),
]
_OWN = {
    "proportion": ("baseline",),
    "proportions": ("baseline", "effect", "split"),
    "odds ratio": ("baseline", "effect", "split"),
    "mean": ("deviation", "range", "bins"),
    "means": ("effect", "deviation", "range", "bins", "split"),
    "survival": ("baseline", "effect", "bins", "lost", "split"),
}
_EFFECTS = {
    "proportions": "Difference of the shares, e.g. 0.1",
    "odds ratio": "Odds ratio, e.g. 2",
    "means": "Difference of the averages",
    "survival": "Hazard ratio, e.g. 0.6",
}
_NUMBERS: dict[str, tuple[str, object, float, float]] = {
    "baseline": ("Share in the first group", 0.3, 0.001, 0.999),
    "effect": ("Effect", None, -1e6, 1e6),
    "deviation": ("Standard deviation of the values", None, 1e-6, 1e9),
    "range": ("Public range of the values (high minus low)", None, 1e-6, 1e9),
    "bins": ("Bins", 10, 2, 1000),
    "split": ("The second group's part of all persons", 0.5, 0.01, 0.99),
    "lost": ("Part that is lost before the horizon", 0.2, 0.0, 0.9),
    "n": ("Persons, both groups together", None, 2, 10_000_000),
    "epsilon": ("Privacy loss (epsilon)", None, 0.001, 50),
    "power": ("Power, e.g. 0.8", None, 0.06, 0.9999),
    "margin": ("Margin of the interval (±)", None, 1e-9, 1e9),
}


class PlanForm(forms.Form):
    """What is planned: two of persons, epsilon and a goal."""

    use_required_attribute = False

    kind = forms.ChoiceField(
        label="What do you want to compare?", choices=_KINDS, widget=forms.RadioSelect(attrs={"class": "pills"})
    )

    data: QueryDict

    def __init__(self, data: QueryDict) -> None:
        values = data.copy()
        if values.get("kind") not in _OWN:
            values["kind"] = "proportions"
        super().__init__(values)
        kind = values.get("kind", "")
        goals = ("power", "margin") if kind in _EFFECTS else ("margin",)
        for name in (*_OWN[kind], "n", "epsilon", *goals):
            label, initial, low, high = _NUMBERS[name]
            if name == "baseline" and kind == "survival":
                label = "Share without an event at the horizon, first group"
            whole = name in ("n", "bins")
            made: forms.Field = (forms.IntegerField if whole else forms.FloatField)(
                label=_EFFECTS[kind] if name == "effect" else label,
                required=False,
                min_value=cast("int", low),  # whole for whole numbers
                max_value=cast("int", high),
                widget=forms.TextInput(attrs={"class": "short", "inputmode": "decimal"}),
            )
            self.fields[name] = made
            if initial is not None and not self.data.get(name, "").strip():
                self.data[name] = f"{initial:g}"

    @property
    def design_fields(self) -> list[object]:
        """The fields of the design."""
        return [self[name] for name in _OWN[self.data.get("kind", "")]]

    @property
    def goal_fields(self) -> list[object]:
        """Persons, epsilon and the goal."""
        return [self[name] for name in ("n", "epsilon", "power", "margin") if name in self.fields]

    @property
    def is_begun(self) -> bool:
        """Whether somebody filled in persons, epsilon or a goal."""
        return any(self.data.get(name, "").strip() for name in ("n", "epsilon", "power", "margin"))


@requires("ask")
@require_safe
def study_plan(request: ProjectRequest) -> HttpResponse:
    """Plan a study: effect, power or margin in; persons, epsilon and the expected interval out."""
    form = PlanForm(request.GET)
    found: StudyPlan | None = None
    if not form.is_begun:
        form.is_bound = False
        form.initial = {name: form.data.get(name) for name in form.fields}
    elif form.is_valid():
        said = {name: value for name, value in form.cleaned_data.items() if value is not None}
        try:
            found = plan(said.pop("kind"), **said)
        except ParameterError as error:
            form.add_error(None, str(error))
    values = {"project": request.project, "form": form, "plan": found, "facts": [] if found is None else _facts(found)}
    return render(request, "analyses/plan.html", values)


def _facts(found: StudyPlan) -> list[tuple[str, str]]:
    facts = [
        ("Persons", f"{found.n:,}".replace(",", " ")),
        ("Epsilon", f"{found.epsilon:.3g}"),
        ("Expected interval", f"{found.interval_words}, for the population (sampling and noise)"),
    ]
    if found.power is not None:
        facts.append(("Power", f"{100 * found.power:.0f} %, without noise {100 * found.without_privacy:.0f} %"))
    else:
        facts.append(("Without noise", f"± {found.without_privacy:.3g}"))
    return facts

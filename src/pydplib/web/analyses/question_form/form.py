"""The form of a new analysis: a closed question in plain words; fields by the policy, values from the schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from django import forms
from django.conf import settings
from django.forms import BoundField
from django.http import QueryDict

from pydplib.engine import Bins, OneRow, RowCondition
from pydplib.engine.persons import orderable_columns
from pydplib.errors import PydplibError
from pydplib.release import Question
from pydplib.release.grids import nice_edges
from pydplib.release.prices import Accuracy
from pydplib.release.statistics import Part, offered_statistics
from pydplib.schema import Column
from pydplib.web.analyses.question_form.offers import Offer
from pydplib.web.analyses.question_form.questions import (
    AFTER,
    MOST_CONDITIONS,
    OPERATORS,
    build_question,
    check_cells,
    edges_text,
    kind_choices,
    make_condition,
    operators_for,
    own_parts,
    parse_edges,
    parse_value,
    values_of,
)
from pydplib.web.design.forms import choice_field

_FACTOR_WORDS = {
    "low": "Little noise: up to 5 %",
    "medium": "Medium noise: 5 to 10 %",
    "high": "Much noise: 10 to 20 %",
}
SLIDER = "slider"
"""The accuracy that is set by the slider."""
# What asking.js looks for: a choice can change what else is to be filled in; a number changes the price alone.
_CHOICE = {"data-live": "form"}
_TYPED = {"data-live": "price"}
# A column kind's widget -> what that is in HTML; a name that is not here is a text.
_WIDGETS = {
    "number": {"inputmode": "decimal"},
    "date": {"inputmode": "text", "type": "date"},
    "time": {"inputmode": "text", "type": "time"},
}


class QuestionForm(forms.Form):
    """What, of which field, by which group, of which records, how accurate.

    The form is looked at by GET, so its fields are those of the address. What does not fit any more after a choice
    was changed (a condition's value, the bins of another field) is dropped, not complained about.

    Args:
        data: The fields, as a ``QueryDict``.
        offer: What may be asked.
        kinds: The statistics that are offered, the usual one first; by default all.
    """

    data: QueryDict
    use_required_attribute = False  # a choice may be changed while another is still open

    kind = forms.ChoiceField(
        label="What do you want to know?",
        choices=kind_choices,
        widget=forms.RadioSelect(attrs={"class": "pills", **_CHOICE}),
    )

    def __init__(self, data: QueryDict, *, offer: Offer, kinds: Sequence[str] = ()) -> None:
        self.offer = offer
        self.gaps: list[str] = []
        self.titles = offer.titles
        values = data.copy()
        every = offered_statistics()
        known = {ask: every[ask] for ask in kinds} if kinds else every
        if values.get("kind") not in known:
            values["kind"] = kinds[0] if kinds else "count"
        super().__init__(values)
        self.has_one_kind = len(kinds) == 1
        if kinds:
            choice_field(self, "kind").choices = [choice for choice in kind_choices() if choice[0] in known]
        self.shape = known[self.data.get("kind", "")]
        self.fields["kind"].help_text = self.shape.hint
        self._add_table()
        self._add_subject()
        self._add_groups()
        self._add_bins()
        self.conditions = [self._add_condition(place) for place in range(1, MOST_CONDITIONS + 1)]
        self._add_match()
        self.after = self._add_person()
        self._add_accuracy()

    # -- what is asked ---------------------------------------------------------------------------

    def _add_table(self) -> None:
        """Add the choice between reports and repeating groups, where there are any."""
        if len(self.offer.tables) > 1:
            self._choose("table", "Which table?", list(self.offer.tables.items()))
            self.data["table"] = self.offer.snapshot.group
            self.fields["table"].has_answer = True  # type: ignore[attr-defined]  # the empty value is the reports

    def _add_subject(self) -> None:
        if self.shape.about is not None:
            fitting = [name for name, column in self.offer.fields.items() if self.shape.fits(column)]
            choices = [("", "Choose a field"), *self._named(fitting)]
            self._choose("field", self.shape.field_label, choices, required=True)
        for part in own_parts(self.shape):
            self._add_part(part)

    def _add_part(self, part: Part) -> None:
        """Add what only this statistic asks for: a choice, or a number."""
        if part.kind == "choice":
            choices, default = list(part.choices.items()), "" if part.required else part.default
            self._choose(part.form, part.label, choices, required=True, radio=True, default=default)
            return
        if part.kind == "columns":
            self._add_columns(part)
            return
        if part.kind == "key":
            return  # it is asked once the group is chosen
        number = forms.IntegerField if part.kind == "whole" else forms.FloatField
        self.fields[part.form] = number(
            label=part.label,
            required=part.required,
            initial=None if part.required else part.default,
            error_messages={"required": "Give the value."},
            widget=forms.TextInput(attrs={"class": "short", "inputmode": "decimal", **_TYPED}),
            help_text=part.help,
        )

    def _add_columns(self, part: Part) -> None:
        """Add a choice of several fields; one that is not open any more is dropped."""
        fitting = [name for name, column in self.offer.fields.items() if column.holds_numbers or not column.is_binned]
        known = self._named(fitting)
        self.data.setlist(part.form, [name for name in self.data.getlist(part.form) if name in dict(known)])
        self.fields[part.form] = forms.MultipleChoiceField(
            label=part.label,
            choices=known,
            widget=forms.CheckboxSelectMultiple(attrs={"class": "pills", **_CHOICE}),
            error_messages={"required": "Choose at least one field."},
            help_text=part.help,
        )

    def _several(self) -> list[str]:
        """Return the fields that are chosen where a statistic takes several."""
        chosen = [self.data.getlist(part.form) for part in own_parts(self.shape) if part.kind == "columns"]
        return [name for names in chosen for name in names]

    def _add_groups(self) -> None:
        own = self.data.get("field") if "field" in self.fields else None
        table, labels = self.shape.needs_group, self.shape.group_labels
        chosen: list[str] = []
        for place in range(1, self.shape.most_groups + 1):
            if place > 1 and not chosen:
                return  # the second group is asked for once there is a first one
            name = f"by{place}"
            taken = (own, *self._several(), *chosen)
            fitting = [
                other
                for other, column in self.offer.fields.items()
                if other not in taken and self.shape.fits(column, place)
            ]
            none = ("", "Choose a field" if table and place == 1 else "All together" if place == 1 else "Nothing else")
            self._choose(name, labels[place - 1], [none, *self._named(fitting)], required=table and place == 1)
            if self.data.get(name):
                chosen.append(self.data.get(name, ""))
                self._add_key(place)

    def _add_key(self, place: int) -> None:
        """Add the choice of one value of the first group, where a statistic asks for it and the group has a list."""
        column = self.offer.fields.get(self.data.get("by1", ""))
        listed = [] if column is None or column.is_binned else [(str(v), column.write(v)) for v in column.listed]
        for part in own_parts(self.shape):
            if part.kind == "key" and place == 1 and listed:
                self._choose(part.form, part.label, [("", f"The first: {listed[0][1]}"), *listed[1:]])

    def _add_bins(self) -> None:
        for name in self._grouped():
            column = self.offer.fields.get(name)
            if column is None or not column.is_binned:
                continue
            key = f"bins_{name}"
            if not self.data.get(key, "").strip():
                self.data[key] = edges_text(nice_edges(column))
            unit = column.bin_unit
            field = forms.CharField(
                label=f"Bins of {self.titles[name]}{f' ({unit})' if unit else ''}",
                max_length=2000,
                required=False,
                widget=forms.TextInput(attrs=dict(_TYPED)),
                help_text="Where one bin ends and the next begins. Wider bins are more accurate.",
            )
            self.fields[key] = field

    def _grouped(self) -> list[str]:
        groups = [self.data.get(f"by{place}", "") for place in (1, 2) if f"by{place}" in self.fields]
        own = [self.data.get("field", "")] if self.shape.is_binned else []
        return [name for name in (*own, *self._several(), *groups) if name]

    # -- of which records ------------------------------------------------------------------------

    def _add_condition(self, place: int) -> dict[str, list[str]] | None:
        """Add one condition; the next is offered once this one is chosen. Returns its fields' names for the page."""
        if not self.offer.filters or (place > 1 and not self.data.get(f"where{place - 1}")):
            return None
        label = "Only records where" if place == 1 else "or where" if self.data.get("match") == "any" else "and where"
        return self._add_test(str(place), label, "All records" if place == 1 else "Nothing else")

    def _add_match(self) -> None:
        """Ask whether all conditions must hold, once there are two."""
        if self.data.get("where1") and self.data.get("where2"):
            choices = [("all", "All of them must hold"), ("any", "One of them is enough")]
            self._choose("match", "Of these conditions", choices, required=True, radio=True, default="all")

    def _add_person(self) -> dict[str, list[str]] | None:
        """Ask which record of each person counts, and for a condition on it."""
        schema = self.offer.schema
        fit = orderable_columns(schema) if schema.person is not None else ()
        order = [name for name in fit if name in self.offer.filters]
        if not order:
            return None
        rules = [("", "All records, each person limited"), ("first", "The first"), ("last", "The last"),
                 ("highest", "The one with the highest value")]  # fmt: skip
        self._choose("rule", "Which records of each person?", rules)
        if not self.data.get("rule"):
            return {"names": ["rule"]}
        label = "Highest value of" if self.data["rule"] == "highest" else "In the order of"
        by_day = [name for name in order if self.offer.filters[name].widget == "date"]
        usual = by_day[0] if by_day and self.data["rule"] != "highest" else ""
        choices = [("", "Choose a field"), *self._named(order)]
        self._choose("order", label, choices, required=True, default=usual)
        after = self._add_test(AFTER, "Only if that record has", "Any record")
        return {"names": ["rule", "order", *after["names"]]}

    def _add_test(self, place: str, label: str, all_of_them: str) -> dict[str, list[str]]:
        """Add a column, a condition on it and its values."""
        first, op = f"where{place}", f"op{place}"
        self._choose(first, label, [("", all_of_them), *self._named(self.offer.filters)])
        column = self.offer.filters.get(self.data.get(first, ""))
        if column is None:
            return {"names": [first]}
        operators = operators_for(column)
        choices: list[tuple[str, str]] = [(name, OPERATORS[name]) for name in operators]
        self._choose(op, "Condition", choices, required=True, default=operators[0])
        return {"names": [first, op, *self._add_values(place, column, self.data.get(op, ""))]}

    def _add_values(self, place: str, column: Column, operator: str) -> list[str]:
        listed = values_of(column)
        if listed and operator in ("is_in", "not_in"):
            key, known = f"values{place}", [(name, words) for name, _, words in listed]
            self.data.setlist(key, [value for value in self.data.getlist(key) if value in dict(known)])
            widget = forms.CheckboxSelectMultiple(attrs={"class": "pills", **_CHOICE})
            self.fields[key] = forms.MultipleChoiceField(
                label="Values", choices=known, widget=widget, error_messages={"required": "Choose at least one value."}
            )
            return [key]
        if listed or operator in ("is_present", "is_missing"):
            return []
        ends = {"between": ("low", "high")}.get(operator, ("low",))
        attrs = {"class": "short", **_WIDGETS.get(column.widget, {"inputmode": "text"}), **_TYPED}
        for end in ends:
            self.fields[f"{end}{place}"] = forms.CharField(
                label={"low": "From" if len(ends) == 2 else "Value", "high": "To"}[end],
                max_length=24,
                error_messages={"required": "Give the value."},
                widget=forms.TextInput(attrs=dict(attrs)),
                help_text=column.facts,
            )
        return [f"{end}{place}" for end in ends]

    # -- how accurate ----------------------------------------------------------------------------

    def _add_accuracy(self) -> None:
        share = "of the range of values" if self.shape.needs_size else "of a group of average size"
        choices = [
            (SLIDER, "By the slider"),
            *(
                (factor.name, f"{_FACTOR_WORDS[factor.name]} {share}")
                for factor in self.offer.factors
                if self.offer.cap is not None
            ),
            ("epsilon", "A privacy loss that I set"),
            ("margin", "A margin that I need"),
        ]
        self._choose("accuracy", "How do you want to set it?", choices, required=True, radio=True, default=SLIDER)
        self.fields["accuracy"].help_text = (
            f"Percentages are the expected noise, {share}. Your role's usual noise is {self.offer.factors[0].name}. "
            "More noise costs less of the budget."
        )
        if self.data["accuracy"] == SLIDER:
            self.fields["precision"] = forms.IntegerField(
                label="How precise?", required=False, min_value=0, max_value=99
            )
            self.fields["proposed"] = forms.IntegerField(required=False, min_value=0, max_value=99)
        attrs = {"class": "short", "inputmode": "decimal", **_TYPED}
        if self.data["accuracy"] == "epsilon":
            cap = "" if self.offer.cap is None else f" At most {self.offer.cap:g} for one question."
            limits = settings.CONFIGURATION
            least = (
                f" A question costs at least {limits.least_epsilon:g}, and an organisation may pay for "
                f"{limits.questions_per_day} in 24 hours."
            )
            self.fields["epsilon"] = forms.FloatField(
                label="Privacy loss (epsilon)",
                min_value=0.000001,
                max_value=1000,
                widget=forms.TextInput(attrs=attrs),
                help_text=f"Smaller is more private and less accurate, for example 0.1.{cap}{least}",
            )
        elif self.data["accuracy"] == "margin":
            self.fields["margin"] = forms.FloatField(
                label="Margin (±, 95 %)",
                min_value=0.000001,
                max_value=1e12,
                widget=forms.TextInput(attrs=attrs),
                help_text="How far the noise may move a number, in its own unit; for medians and boxes, in ranks.",
            )

    def _choose(
        self,
        name: str,
        label: str,
        choices: list[tuple[str, str]],
        *,
        required: bool = False,
        radio: bool = False,
        default: str = "",
    ) -> None:
        """Add a choice; what is not among the choices any more becomes the default."""
        if self.data.get(name, "") not in {value for value, _ in choices if value or not default}:
            self.data[name] = default
        widget = forms.RadioSelect(attrs={"class": "pills", **_CHOICE}) if radio else forms.Select(attrs=dict(_CHOICE))
        message = {"required": "Choose a field."}
        self.fields[name] = forms.ChoiceField(
            label=label, choices=choices, widget=widget, required=required, error_messages=message
        )

    def _named(self, names: Iterable[str]) -> list[tuple[str, str]]:
        steps = self.offer.schema.steps
        return [(name, self.titles[name] + (" (of each person)" if name in steps else "")) for name in names]

    # -- what comes of it ------------------------------------------------------------------------

    question: Question | None = None
    noise = Accuracy()
    bins: Mapping[str, Bins] = MappingProxyType({})

    def clean(self) -> dict[str, object]:
        """Make the question; whatever does not fit is said next to its field."""
        values = super().clean() or {}
        bins = {name: made for name in self._grouped() if (made := self._bins_of(name)) is not None}
        self.bins = bins
        places = [str(place) for place in range(1, MOST_CONDITIONS + 1)]
        where = [found for place in places if (found := self._condition_of(place)) is not None]
        after = self._condition_of(AFTER)
        self._check_one_record(values)
        if self.errors:
            return values
        rule = values.get("rule")
        try:
            self.question = build_question(
                self.shape.ask,
                field=values.get("field") or None,
                by=[values[f"by{place}"] for place in (1, 2) if values.get(f"by{place}")],
                bins=bins,
                where=where,
                own={
                    part.name: found
                    for part in own_parts(self.shape)
                    if (found := values.get(part.form)) not in (None, "")
                },
                any_of=values.get("match") == "any",
                per_person=OneRow(rule, (values["order"],)) if rule else None,
                after=() if after is None else (after,),
            )
            check_cells(self.question, self.offer.schema)
        except PydplibError as error:
            self.question = None
            self.add_error(None, str(error))
        accuracy = values["accuracy"]
        if accuracy in ("epsilon", "margin"):
            self.noise = Accuracy(**{accuracy: values[accuracy]})
        elif accuracy != SLIDER:
            self.noise = Accuracy(noise_factor=accuracy)
        return values

    @property
    def has_slider(self) -> bool:
        """Whether the accuracy is set by the slider."""
        return self.data["accuracy"] == SLIDER

    def chosen_step(self) -> int | None:
        """Return the place of the slider; none where nobody moved it from the place that was proposed."""
        chosen: int | None = self.cleaned_data.get("precision")
        return None if chosen == self.cleaned_data.get("proposed") else chosen

    def set_step(self, place: int, epsilon: float, *, proposed: bool) -> None:
        """Settle the accuracy: the step of the slider and what it costs."""
        self.noise = Accuracy(epsilon=epsilon)
        self.data["precision"] = str(place)
        if proposed:
            self.data["proposed"] = str(place)
        else:
            self.data.pop("proposed", None)

    def _check_one_record(self, values: dict[str, Any]) -> None:
        """Ask which record counts where one value of each person meets a field of records."""
        named = [values.get(name) for name in ("field", "by1", "by2")]
        told = [name for name in named if name]
        steps = [name for name in told if name in self.offer.schema.steps]
        others = [name for name in told if name not in steps]
        if steps and others and "rule" in self.fields and not values.get("rule"):
            self.add_error(
                "rule",
                f"{self.titles[steps[0]]} is one value of each person, and {self.titles[others[0]]} may differ between "
                "the records of one person: choose which record counts.",
            )

    def _bins_of(self, name: str) -> Bins | None:
        key = f"bins_{name}"
        if key not in self.fields:
            return None
        try:
            return parse_edges(self.cleaned_data.get(key) or "", self.offer.fields[name])
        except PydplibError as error:
            self.add_error(key, str(error))
            return None

    def _condition_of(self, place: str) -> RowCondition | None:
        name, op = self.cleaned_data.get(f"where{place}"), self.cleaned_data.get(f"op{place}")
        if not name or not op or any(key in self.errors for key in self._condition_keys(place)):
            return None
        column = self.offer.filters[name]
        known = {key: value for key, value, _ in values_of(column)}
        typed = [end for end in (f"low{place}", f"high{place}") if end in self.fields]
        try:
            values = [known[key] for key in self.cleaned_data.get(f"values{place}") or ()]
            values += [parse_value(self.cleaned_data.get(end) or "", column) for end in typed]
            return make_condition(name, column, op, values)
        except PydplibError as error:
            fields = [f"values{place}"] if f"values{place}" in self.fields else typed
            self.add_error(fields[0] if fields else f"op{place}", str(error))
            return None

    def _condition_keys(self, place: str) -> list[str]:
        return [key for key in (f"values{place}", f"low{place}", f"high{place}") if key in self.fields]

    def forgive_gaps(self) -> None:
        """Turn errors of fields that are still empty into ``gaps``: while somebody chooses, nothing is wrong yet."""
        for name in list(self.errors):
            if name in self.fields and not any(value.strip() for value in self.data.getlist(name)):
                del self.errors[name]
                self.gaps.append(str(self[name].label).rstrip("?: "))

    # -- parts of the page -----------------------------------------------------------------------

    @property
    def table_fields(self) -> list[BoundField]:
        """Which table: first of all, because it says which fields there are."""
        return [self["table"]] if "table" in self.fields else []

    @property
    def subject_fields(self) -> list[BoundField]:
        """What and of which field, by which group."""
        own = [part.form for part in own_parts(self.shape) if part.kind != "columns"]
        return [self[name] for name in self.fields if name in ("field", "by1", "by2", *own)]

    @property
    def several_fields(self) -> list[BoundField]:
        """Choices of several fields."""
        own = [part.form for part in own_parts(self.shape) if part.kind == "columns"]
        return [self[name] for name in self.fields if name in own]

    @property
    def bin_fields(self) -> list[BoundField]:
        """Which bins."""
        return [self[name] for name in self.fields if name.startswith("bins_")]

    @property
    def condition_rows(self) -> list[list[BoundField]]:
        """The conditions, one list of fields each."""
        rows = [[self[name] for name in row["names"]] for row in self.conditions if row]
        return [*rows, [self["match"]]] if "match" in self.fields else rows

    @property
    def person_fields(self) -> list[BoundField]:
        """Which record of each person counts, and the condition on it."""
        return [self[name] for name in self.after["names"]] if self.after else []

    @property
    def accuracy_fields(self) -> list[BoundField]:
        """How accurate, set in another way than by the slider."""
        return [self[name] for name in ("accuracy", "epsilon", "margin") if name in self.fields]

    @property
    def sent(self) -> list[tuple[str, str]]:
        """All fields as name and value, to be sent once more when the question is paid for.

        A step of the slider is sent as what it costs: where the steps lie may change before somebody pays.
        """
        if self.has_slider and self.noise.epsilon is not None:
            settled = {"accuracy": "epsilon", "epsilon": repr(self.noise.epsilon)}
        else:
            settled = {}
        left_out = {"accuracy", "precision", "proposed"} if settled else set()
        kept = [(name, value) for name in self.fields if name not in left_out for value in self.data.getlist(name)]
        return [*kept, *settled.items()]

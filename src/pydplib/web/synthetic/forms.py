"""The form of a synthetic table: columns that the policy opens, relations between them, noise and price."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from pydplib.schema import Column
from pydplib.web.analyses.question_form.offers import Offer
from pydplib.web.design.forms import Posted, choice_field
from pydplib.web.synthetic.offers import Asked

MOST_RELATIONS = 4
MOST_COLUMNS = 20

_FACTORS = {
    "low": "Little noise: up to 5 % of a column",
    "medium": "Medium noise: 5 to 10 % of a column",
    "high": "Much noise: 10 to 20 % of a column",
}
_NOISES = [
    ("auto", "Whichever leaves us more at equal accuracy"),
    ("laplace", "Laplace noise (no delta)"),
    ("gaussian", "Gaussian noise (with a delta)"),
]


def fits(column: Column) -> bool:
    """Return whether a column can be part of a synthetic table."""
    return column.can_be_asked


class SyntheticForm(forms.Form):
    """What to buy. Looked at by GET, so that its price can be seen before it is paid.

    Args:
        data: The fields, as a ``QueryDict``.
        offer: What the policy opens.
    """

    use_required_attribute = False

    columns = forms.MultipleChoiceField(
        label="Columns",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one column."},
        help_text="Fewer columns are more accurate: all of them share the price.",
    )
    find = forms.BooleanField(
        label="Search for further relations",
        required=False,
        help_text="Useful if you do not know yet what you will plot. It is paid from the same price: the relations "
        "that you name become less accurate.",
    )
    accuracy = forms.ChoiceField(label="How much noise?", widget=forms.RadioSelect(attrs={"class": "pills"}))
    epsilon = forms.FloatField(
        label="Privacy loss (epsilon)",
        required=False,
        min_value=0.001,
        max_value=100,
        widget=forms.TextInput(attrs={"class": "short", "inputmode": "decimal"}),
    )
    noise = forms.ChoiceField(
        label="Kind of noise", choices=_NOISES, required=False, widget=forms.RadioSelect, initial="auto"
    )

    data: QueryDict

    def __init__(self, data: QueryDict, *, offer: Offer) -> None:
        values = data.copy()
        self.titles = offer.titles
        self.is_begun = "columns" in values
        open_columns = {name: column for name, column in offer.fields.items() if fits(column)}
        factors = [(factor.name, _FACTORS[factor.name]) for factor in offer.factors]
        if values.get("accuracy") not in {"epsilon", *(name for name, _ in factors)}:
            values["accuracy"] = "epsilon"
        if values.get("noise") not in dict(_NOISES):
            values["noise"] = "auto"
        if not values.get("epsilon", "").strip() and values["accuracy"] == "epsilon" and offer.cap is not None:
            values["epsilon"] = f"{offer.cap:g}"
        super().__init__(values)
        named = [(name, self.titles[name]) for name in open_columns]
        choice_field(self, "columns").choices = named
        choice_field(self, "accuracy").choices = [("epsilon", "I set the privacy loss"), *factors]
        self.fields["accuracy"].help_text = "Percentages say how much of a column the noise moves to other values."
        if offer.cap is not None:
            self.fields["epsilon"].help_text = f"At most {offer.cap:g} for your role."
        self.relation_rows = [self._add_relation(place, named) for place in range(1, MOST_RELATIONS + 1)]

    def _add_relation(self, place: int, named: list[tuple[str, str]]) -> tuple[str, str]:
        names = (f"relation{place}_one", f"relation{place}_other")
        for name, word in zip(names, ("Relation", "with"), strict=True):
            self.fields[name] = forms.ChoiceField(
                label=f"{word} {place}" if word == "Relation" else f"{word}",
                choices=[("", "–"), *named],
                required=False,
            )
        return names

    @property
    def relation_fields(self) -> list[list[object]]:
        """The pairs of fields of relations."""
        return [[self[name] for name in names] for names in self.relation_rows]

    def clean(self) -> dict[str, object]:
        """Check that relations are between chosen columns; the price is asked elsewhere."""
        values = super().clean() or {}
        chosen = values.get("columns", [])
        if len(chosen) > MOST_COLUMNS:
            self.add_error("columns", f"At most {MOST_COLUMNS} columns: more share the price too thinly.")
        for one, other in self.relation_rows:
            pair = [values.get(one), values.get(other)]
            if not any(pair):
                continue
            if not all(pair) or pair[0] == pair[1]:
                self.add_error(one, "A relation is between two different columns.")
            elif not set(pair) <= set(chosen):
                self.add_error(one, "Choose both columns above as well.")
        if values.get("accuracy") == "epsilon" and values.get("epsilon") is None and "epsilon" not in self.errors:
            self.add_error("epsilon", "Say what the table may cost. There is no default.")
        return values

    @property
    def asked(self) -> Asked:
        """What the form asks for; valid forms only."""
        values = self.cleaned_data
        pairs = [(values[one], values[other]) for one, other in self.relation_rows if values[one]]
        by_epsilon = values["accuracy"] == "epsilon"
        return Asked(
            columns=tuple(values["columns"]),
            relations=tuple(dict.fromkeys(pairs)),
            find=values["find"],
            epsilon=values["epsilon"] if by_epsilon else None,
            noise_factor=None if by_epsilon else values["accuracy"],
            noise=values["noise"] or "auto",
        )

    @property
    def sent(self) -> list[tuple[str, str]]:
        """The fields as they came, for the button that pays."""
        return [(name, value) for name in self.fields for value in self.data.getlist(name) if value]


class AskForm(forms.Form):
    """A question that a synthetic table answers for nothing."""

    use_required_attribute = False

    what = forms.ChoiceField(
        label="What",
        choices=[("share", "How many persons"), ("average", "The average of")],
        required=False,
    )
    column = forms.ChoiceField(label="Column", required=False)
    by = forms.ChoiceField(label="by", required=False)

    def __init__(self, data: Posted, *, columns: list[tuple[str, str]]) -> None:
        super().__init__(data or None)
        choice_field(self, "column").choices = [("", "Choose a column"), *columns]
        choice_field(self, "by").choices = [("", "–"), *columns]

    @property
    def names(self) -> list[str]:
        """The columns that were chosen."""
        return [self.cleaned_data[name] for name in ("column", "by") if self.cleaned_data.get(name)]


class WithdrawTableForm(forms.Form):
    """Why a synthetic table is taken back."""

    reason = forms.CharField(
        label="Reason",
        max_length=400,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Those who have a copy read it. No word about a patient.",
    )

"""Forms of further tables: the file, what its columns are, computed columns, tables that are asked together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from django import forms
from django.utils.text import slugify

from pydplib._names import person_column
from pydplib.errors import PydplibError, SchemaError
from pydplib.schema import Column, Schema
from pydplib.web.design.forms import Files, FormOptions, Posted, choice_field
from pydplib.web.projects.policy.fields import FIELD_LABEL_WORDS
from pydplib.web.tables.declared import REPORTS, ComputedColumn, PersonJoin
from pydplib.web.tables.facts import facts_text, kind_choices, read_column
from pydplib.web.tables.models import PersonTable
from pydplib.web.tables.proposals import STRICTEST, Proposal, propose_column

_LABELS = [(name, FIELD_LABEL_WORDS[name]) for name in ("sensitive", "quasi", "public")]
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_NAME_RULE = "A name has small letters, digits and underscores, and begins with a letter."


def plain_name(text: str) -> str:
    """Return a name for questions and the API from what a file or a person calls something.

    Examples:
        >>> plain_name("Follow-up visits"), plain_name("PSA (ng/ml)"), plain_name("2nd")
        ('follow_up_visits', 'psa_ng_ml', 'c_2nd')
    """
    word = slugify(re.sub(r"[^\w]+", " ", text)).replace("-", "_")[:40].strip("_") or "column"
    return word if word[0].isalpha() else f"c_{word}"[:40]


class TableFileForm(forms.Form):
    """The file, and which table it belongs to."""

    table = forms.ChoiceField(label="Table")
    title = forms.CharField(
        label="Title of a new table",
        max_length=80,
        required=False,
        help_text="What a row is, such as Follow-up visits.",
    )
    file = forms.FileField(
        label="File",
        help_text="CSV (any separator, decimal comma and encoding), Excel (.xlsx), NDJSON or Parquet.",
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.txt,.tsv,.xlsx,.ndjson,.jsonl,.parquet,.pq"}),
    )
    sheet = forms.CharField(
        label="Sheet", required=False, max_length=100, help_text="Only for workbooks with several sheets."
    )
    schema = forms.CharField(
        label="Schema",
        required=False,
        max_length=100_000,
        strip=False,
        help_text="If you have one, paste it here (TOML or JSON), as pydplib schema init proposes it.",
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )

    def __init__(
        self, data: Posted = None, files: Files = None, *, tables: Sequence[PersonTable], **more: Unpack[FormOptions]
    ) -> None:
        super().__init__(data, files, **more)
        self.tables = {table.key: table for table in tables}
        choice = choice_field(self, "table")
        choice.choices = [
            ("new", "A new table"),
            *((key, f"{table.title}: new rows") for key, table in self.tables.items()),
        ]
        if not self.tables:
            del self.fields["table"]

    def clean(self) -> dict[str, object]:
        """A new table needs a title; a schema must be one."""
        values = super().clean() or {}
        if values.get("table", "new") == "new" and not (values.get("title") or "").strip():
            self.add_error("title", "Type what a row is, such as Follow-up visits.")
        values["declared"], text = None, (values.get("schema") or "").strip()
        if text:
            try:
                values["declared"] = (Schema.from_json if text.startswith("{") else Schema.from_toml)(text)
            except PydplibError as error:
                self.add_error("schema", str(error))
        return values


class TableColumnsForm(forms.Form):
    """What every column of a file is, whose rows they are, and how many of one person count.

    Args:
        columns: The columns of the file.
        guessed: Column of the file -> kind, by how its cells look.
        declared: What is known already: the table's schema, or an uploaded one.
    """

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        columns: Sequence[str],
        guessed: Mapping[str, str],
        declared: Schema | None = None,
        **more: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **more)
        self.columns = list(columns)
        person = declared.person if declared is not None and declared.person in columns else person_column(columns)
        self.fields["person"] = forms.ChoiceField(
            label="Column that says whose row it is",
            choices=[("", "Choose a column"), *((column, column) for column in columns)],
            initial=person or "",
            error_messages={"required": "Choose the column that names the patient."},
            help_text="The same identifiers as in the reports. They are replaced by pseudonyms.",
        )
        self.fields["most"] = forms.IntegerField(
            label="Rows of one patient that count in full",
            min_value=1,
            max_value=10_000,
            initial=declared.max_rows_per_person if declared is not None else None,
            widget=forms.NumberInput(attrs={"class": "short"}),
            help_text="What is usual, such as 12 planned visits; not what the file shows. Of somebody with more rows, "
            "each weighs less.",
        )
        for place, column in enumerate(columns):
            known = self._known(column, declared)
            kind = known.kind if known is not None else guessed.get(column, "") if column != person else ""
            self._add(f"kind{place}", forms.ChoiceField(choices=[("", "Leave out"), *kind_choices()], initial=kind))
            facts = "" if known is None else facts_text(known)
            self._add(f"facts{place}", forms.CharField(max_length=2000, initial=facts))
            self._add(f"unit{place}", forms.CharField(max_length=20, initial=getattr(known, "unit", "")), short=True)
            title = known.title if known is not None and known.title else column
            self._add(f"title{place}", forms.CharField(max_length=80, initial=title))
            name = column if known is not None else plain_name(column)
            self._add(f"name{place}", forms.CharField(max_length=40, initial=name))
            label = "sensitive" if known is None else known.label
            self._add(f"label{place}", forms.ChoiceField(choices=_LABELS, initial=label))

    def _add(self, name: str, field: forms.Field, *, short: bool = False) -> None:
        field.required = False
        if short:
            field.widget.attrs["class"] = "short"
        self.fields[name] = field

    @staticmethod
    def _known(column: str, declared: Schema | None) -> Column | None:
        found = None if declared is None else declared.columns.get(column)
        return found if found is not None and found.can_be_asked and found.formula is None else None

    def clean(self) -> dict[str, object]:
        """Make the schema; what is wrong is said next to the column."""
        values = super().clean() or {}
        made: dict[str, Column] = {}
        self.names: dict[str, str] = {}
        person = values.get("person")
        for place, column in enumerate(self.columns):
            kind = values.get(f"kind{place}")
            if not kind or column == person:
                continue
            name = (values.get(f"name{place}") or "").strip()
            if not _NAME.fullmatch(name) or name in made:
                self.add_error(f"name{place}", "Two columns have this name." if name in made else _NAME_RULE)
                continue
            try:
                made[name] = read_column(
                    name,
                    kind,
                    values.get(f"facts{place}") or "",
                    label=values.get(f"label{place}") or "sensitive",
                    title=values.get(f"title{place}") or "",
                    unit=values.get(f"unit{place}") or "",
                )
                self.names[name] = column
            except PydplibError as error:
                self.add_error(f"facts{place}", str(error))
        if not self.errors and not made:
            self.add_error(None, "All columns are left out: choose what at least one of them is.")
        if not self.errors:
            self.made = made
        return values

    def schema_for(self, name: str, person: str) -> Schema:
        """Return the schema of the table as it was declared."""
        return Schema(self.made, person=person, max_rows_per_person=self.cleaned_data["most"], name=name)

    @property
    def rows(self) -> list[dict[str, object]]:
        """The columns of the file with their fields, for the page."""
        parts = ("kind", "facts", "unit", "title", "name", "label")
        return [
            {"column": column, **{part: self[f"{part}{place}"] for part in parts}}
            for place, column in enumerate(self.columns)
        ]


class ComputedForm(forms.Form):
    """A computed column: its table, its formula, its public bounds."""

    table = forms.ChoiceField(label="Table")
    formula = forms.CharField(
        label="Formula",
        max_length=400,
        help_text="Such as psa / volume, cut(psa, 4, 10), change(psa by visit_date) or count_of(psa >= 10).",
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    title = forms.CharField(label="Title", max_length=80, help_text="Its words for readers, such as PSA density.")
    name = forms.CharField(
        label="Name in questions", max_length=40, required=False, help_text="Empty: made from the title."
    )
    facts = forms.CharField(
        label="Bounds or values",
        max_length=2000,
        required=False,
        help_text="Such as 0 to 1. Results beyond are clamped; narrow bounds need less noise. Choose them by what is "
        "possible, not by looking at the data. Empty: what follows from the inputs.",
    )
    unit = forms.CharField(
        label="Unit", max_length=20, required=False, widget=forms.TextInput(attrs={"class": "short"})
    )
    label = forms.ChoiceField(
        label="Label",
        required=False,
        choices=[("", "As strict as its inputs"), *_LABELS],
        help_text="Never less strict than what it is computed from.",
    )

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        tables: Mapping[str, tuple[str, Schema]],
        **more: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **more)
        self.tables = tables
        choice = choice_field(self, "table")
        choice.choices = [(name or REPORTS, title) for name, (title, _) in tables.items()]
        self.proposal: Proposal | None = None
        self.column: Column | None = None

    @property
    def chosen(self) -> str:
        """The table that is chosen; empty for reports."""
        name = self.data.get("table", "")
        return name if name in self.tables else ""

    @property
    def schema(self) -> Schema:
        """What is public about it."""
        return self.tables[self.chosen][1]

    def clean(self) -> dict[str, object]:
        """Read the formula, and make the column that follows from it and from what was typed."""
        values = super().clean() or {}
        if "formula" in self.errors or "table" in self.errors:
            return values
        try:
            self.proposal = propose_column(values["formula"], self.schema)
        except PydplibError as error:
            self.add_error("formula", str(error))
            return values
        try:
            self.column = self._column(values, self.proposal)
        except PydplibError as error:
            self.add_error("facts", str(error))
        name = (values.get("name") or "").strip() or plain_name(values.get("title") or "")
        values["name"] = name
        if not _NAME.fullmatch(name):
            self.add_error("name", _NAME_RULE)
        return values

    def _column(self, values: Mapping[str, Any], proposal: Proposal) -> Column:
        label = values.get("label") or proposal.label
        if STRICTEST.index(label) < STRICTEST.index(proposal.label):
            words = FIELD_LABEL_WORDS[proposal.label].lower()
            raise SchemaError(f"It is computed from something {words}: its label cannot be less strict.")
        facts, title, unit = values.get("facts") or "", values.get("title") or "", values.get("unit") or ""
        found: Any = proposal.column
        if not facts.strip():
            if found is None:
                raise SchemaError("Type the bounds: they do not follow from the inputs, such as where it divides by 0.")
            more = {"unit": unit} if unit and hasattr(found, "unit") else {}
            return replace(found, label=label, title=title, **more)  # type: ignore[no-any-return]
        kind = "number" if found is None else found.kind
        unit = unit or getattr(found, "unit", "")
        return read_column("It", kind, facts, label=label, title=title, unit=unit, derived=str(proposal.formula))

    @property
    def computed(self) -> ComputedColumn:
        """The column as it was declared."""
        assert self.column is not None
        return ComputedColumn(table=self.chosen, name=self.cleaned_data["name"], column=self.column)


class JoinsForm(forms.Form):
    """Which further tables are asked together with the reports."""

    KEEPS = (
        ("alone", "On its own only"),
        ("both", "Together too: patients that both tables have"),
        ("all", "Together too: everybody with a report"),
    )

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        tables: Sequence[PersonTable],
        joins: Sequence[PersonJoin],
        **more: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **more)
        self.listed = [table.name for table in tables]
        now = {join.table: join.keep for join in joins}
        for table in tables:
            self.fields[table.name] = forms.ChoiceField(
                label=table.title,
                choices=self.KEEPS,
                initial=now.get(table.name, "alone"),
                help_text="Together, every report meets every row about the same patient: ask values of each patient, "
                "such as the change of PSA by the first score.",
            )

    @property
    def joins(self) -> list[PersonJoin]:
        """What was chosen."""
        chosen = self.cleaned_data
        return [PersonJoin(table=name, keep=chosen[name]) for name in self.listed if chosen[name] != "alone"]

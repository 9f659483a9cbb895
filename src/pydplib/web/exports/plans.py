"""The plan of an export: what becomes of every field, which models hold, how much may be left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pydplib.anonymity import Hierarchy, Intervals, KAnonymity, LDiversity
from pydplib.anonymity.hierarchies.base import hierarchy_of
from pydplib.anonymity.models import Model, model_from_dict
from pydplib.errors import ParameterError
from pydplib.schema import Column, Schema

TREATMENTS: Mapping[str, str] = MappingProxyType(
    {
        "quasi": "Make coarser",
        "sensitive": "Protect",
        "keep": "Keep as it is",
        "drop": "Leave out",
    }
)
"""What can become of a field, in words."""

ALLOWED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "quasi": ("quasi", "drop"),
        "sensitive": ("sensitive", "quasi", "drop"),
        "public": ("keep", "quasi", "sensitive", "drop"),
    }
)
"""Label of a field -> what may become of it, the proposal first: never less than the label asks for."""

ROWS: Mapping[str, str] = MappingProxyType(
    {
        "latest": "The latest report of every person",
        "all": "All reports of every person",
    }
)
"""Which rows are exported."""

MINUTES = (1, 5, 15, 60)
MOST_FEW = 20
"""Up to this many declared values a protected field has few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """Everything that ``anonymize`` is told.

    Args:
        fields: Field -> its treatment. Identifiers are never among them.
        rows: ``"latest"`` (one row per person) or ``"all"``.
        models: The models as plain values.
        suppression: The largest share of rows that may be left out.
        hierarchies: Field -> its hierarchy as plain values, where it is not the automatic one.
        minutes: How long the search may take.
        mixed: The protected fields that l-diversity and its kin are about; None for all of them.

    Examples:
        >>> from pydplib.schema import Category, Flag, Integer, Text
        >>> schema = Schema({"who": Text(label="identifier"), "age": Integer(0, 99, label="quasi"),
        ...     "ill": Category(["a", "b", "c"], label="sensitive"), "smokes": Flag(label="sensitive")}, person="who",
        ...     max_rows_per_person=3)
        >>> propose(schema).fields
        {'age': 'quasi', 'ill': 'sensitive', 'smokes': 'sensitive'}
        >>> propose(schema).watched
        ('ill',)
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    rows: str = "latest"
    models: tuple[Mapping[str, object], ...] = (KAnonymity(5).to_dict(), LDiversity(2).to_dict())
    suppression: float = 0.05
    hierarchies: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    minutes: int = 5
    mixed: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the plan as plain values; the fields as pairs, because PostgreSQL sorts the keys of an object."""
        return {
            "fields": [[name, treatment] for name, treatment in self.fields.items()],
            "rows": self.rows,
            "models": [dict(model) for model in self.models],
            "suppression": self.suppression,
            "hierarchies": dict(self.hierarchies),
            "minutes": self.minutes,
            "mixed": None if self.mixed is None else list(self.mixed),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ExportPlan:
        """Read a plan."""
        mixed = values.get("mixed")
        read = {
            "fields": dict(values["fields"]),
            "models": tuple(values["models"]),
            "mixed": None if mixed is None else tuple(mixed),
        }
        return cls(**{**values, **read})

    def named(self, treatment: str) -> tuple[str, ...]:
        """Return the fields with a treatment, in the order of the schema."""
        return tuple(name for name, given in self.fields.items() if given == treatment)

    @property
    def rules(self) -> tuple[Model, ...]:
        """The models."""
        return tuple(model_from_dict(model) for model in self.models)

    @property
    def watched(self) -> tuple[str, ...]:
        """The protected fields whose values must stay mixed among people who look alike."""
        return tuple(name for name in self.named("sensitive") if self.mixed is None or name in self.mixed)

    @property
    def own_rules(self) -> dict[str, list[Model]]:
        """Protected field -> the models that are about it: what ``anonymize`` takes as ``sensitive``."""
        kin = [model for model in self.rules if model.needs_sensitive]
        return {name: kin if name in self.watched else [] for name in self.named("sensitive")}

    @property
    def columns(self) -> tuple[str, ...]:
        """What the output will hold."""
        return tuple(name for name, given in self.fields.items() if given != "drop")

    def hierarchy(self, name: str, schema: Schema) -> Hierarchy:
        """Return the hierarchy of a field: the owner's, or the automatic one from the public schema."""
        if name in self.hierarchies:
            return Hierarchy.from_dict(self.hierarchies[name])
        return hierarchy_of(schema.columns[name])

    def hierarchies_for(self, schema: Schema, *, bands: bool) -> dict[str, Hierarchy]:
        """Return the hierarchies of all fields that are made coarser.

        Args:
            schema: The public schema.
            bands: Whether numbers stay in bands of some width: a table without any age is of little use, even where
                it keeps more detail of all other fields.
        """
        trees = {name: self.hierarchy(name, schema) for name in self.named("quasi")}
        return {name: _in_bands(tree) if bands else tree for name, tree in trees.items()}

    def with_fields(self, fields: Mapping[str, str]) -> ExportPlan:
        """Return the plan with other treatments; hierarchies of fields that need none are forgotten.

        A field that the owner protects beyond its label is one to keep mixed, until the owner says otherwise.
        """
        kept = {name: tree for name, tree in self.hierarchies.items() if fields.get(name) == "quasi"}
        mixed = self.mixed
        if mixed is not None:
            new = [n for n, given in fields.items() if given == "sensitive" and self.fields.get(n) != "sensitive"]
            mixed = tuple(dict.fromkeys([*mixed, *new]))
        return replace(self, fields=dict(fields), hierarchies=kept, mixed=mixed)


def _in_bands(tree: Hierarchy) -> Hierarchy:
    if not isinstance(tree, Intervals) or not tree.widths:
        return tree
    return Hierarchy.from_dict({**tree.to_dict(), "root": False})


def fields_offered(schema: Schema) -> dict[str, tuple[str, ...]]:
    """Return every field that may leave at all, with the treatments that its label allows.

    Identifiers, free text, computed columns and the person's own column never leave.
    """
    return {
        name: ALLOWED[column.label]
        for name, column in schema.stored.items()
        if name != schema.person and column.label in ALLOWED and column.can_be_asked
    }


def propose(schema: Schema) -> ExportPlan:
    """Return the plan that the template's labels suggest.

    Kept mixed are protected fields with few values, three or more. A yes that few people have could be mixed into
    every group only by throwing very different people together, and that a group has nobody with it is hardly news;
    numbers with many values differ anyway. Where there is no such field, all protected ones are kept mixed.
    """
    fields = {name: allowed[0] for name, allowed in fields_offered(schema).items()}
    few = tuple(n for n, given in fields.items() if given == "sensitive" and _has_few_values(schema.columns[n]))
    return ExportPlan(fields=fields, mixed=few or None)


def _has_few_values(column: Column) -> bool:
    # "unknown" next to yes and no does not make a third finding.
    values = column.choices
    return 3 <= len(values) <= MOST_FEW and not set(values) <= {"yes", "no", "unknown"}


def check_plan(plan: ExportPlan, schema: Schema) -> None:
    """Raise ``ParameterError`` where a plan cannot be carried out or asks for less than a label does."""
    offered = fields_offered(schema)
    for name, treatment in plan.fields.items():
        if name not in offered:
            raise ParameterError("A field of the plan is not in the data, or may never leave.")
        if treatment not in offered[name]:
            words = " or ".join(f"'{TREATMENTS[each]}'" for each in offered[name])
            raise ParameterError(f"'{name}' is labelled {schema.columns[name].label}: choose {words}.")
    if plan.rows not in ROWS or not 0 <= plan.suppression <= 1 or plan.minutes not in MINUTES:
        raise ParameterError("The plan has a setting that is not offered.")
    if not plan.named("quasi"):
        raise ParameterError("Choose at least one field that is made coarser: nobody is protected by k otherwise.")
    if not any(isinstance(model, KAnonymity) for model in plan.rules):
        raise ParameterError("An export needs k: the number of people who must look alike.")
    if any(model.needs_sensitive for model in plan.rules) and not plan.watched:
        raise ParameterError(
            "A model needs protected fields that stay mixed, and none is chosen. Choose one, or leave it out."
        )
    for name in plan.named("quasi"):
        plan.hierarchy(name, schema)

"""Recipes: the chosen transformation as a file, to apply to another table of the same kind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from pydplib._shown import Shown
from pydplib.anonymity import models as model_module
from pydplib.anonymity.files import write_whole
from pydplib.anonymity.frames import Frame
from pydplib.anonymity.hierarchies import Hierarchy
from pydplib.anonymity.models import Model
from pydplib.anonymity.plain import from_plain, to_plain
from pydplib.anonymity.problem import Rule
from pydplib.errors import ParameterError, did_you_mean

VERSION = 1
_MODELS = {
    name: getattr(model_module, name)
    for name in (
        "KAnonymity",
        "AlphaK",
        "LDiversity",
        "TCloseness",
        "BetaLikeness",
        "DeltaDisclosure",
        "KMap",
        "DeltaPresence",
        "AverageRisk",
        "PopulationUniqueness",
    )
}


def model_to_dict(model: Model) -> dict[str, Any]:
    """Return a model as plain values; a population table is not stored, only that there was one."""
    out: dict[str, Any] = {"model": type(model).__name__}
    for spec in fields(model):
        value = getattr(model, spec.name)
        if spec.name == "population":
            if value is not None:
                out["population"] = "given"
        elif isinstance(value, Hierarchy):
            out[spec.name] = value.to_dict()
        elif isinstance(value, tuple):
            out[spec.name] = [to_plain(item) for item in value]
        elif value is not None:
            out[spec.name] = value
    return out


def model_from_dict(values: Mapping[str, Any], *, population: Any = None) -> Model:
    """Read a model from plain values; one that needs a population gets it from the caller."""
    values = dict(values)
    kind = values.pop("model", None)
    if kind not in _MODELS:
        raise ParameterError(f"Unknown model '{kind}'.{did_you_mean(kind, _MODELS)}")
    if values.pop("population", None) is not None:
        values["population"] = population
    if "hierarchy" in values:
        values["hierarchy"] = Hierarchy.from_dict(values["hierarchy"])
    if "order" in values:
        values["order"] = tuple(from_plain(item) for item in values["order"])
    try:
        model: Model = _MODELS[kind](**values)
    except TypeError:
        raise ParameterError(f"The saved model '{kind}' has unknown or missing entries.") from None
    return model


@dataclass(frozen=True, repr=False)
class Recipe(Shown):
    """The transformation that was chosen: hierarchies, levels, models. It carries no guarantee by itself.

    Applied to another table it gives a table that still has to be verified there.

    Attributes:
        method: How it was found.
        hierarchies: Per quasi-identifier, its hierarchy. One made from the data lists only values that the release
            shows; ``from_data`` names those columns.
        levels: Per quasi-identifier, its level; None where levels differ between rows.
        models: The models with their sensitive columns.
        sensitive: Sensitive columns.
        identifiers: Identifiers, which are dropped.
        insensitive: Columns kept as they are.
        suppression: The largest share of suppressed rows.
        loss: The loss that was minimized.
        stages: For local recoding: nodes and the classes released at each.
        tree: For Mondrian: the cuts.
        person: The column that says whose row it is, where people are counted instead of rows.
        lacking: Models whose population table was not given when the recipe was read.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import KAnonymity, anonymize
        >>> table = pd.DataFrame({"sex": ["f", "f", "m", "m"]})
        >>> recipe = anonymize(table, quasi_identifiers=["sex"], models=[KAnonymity(2)]).recipe
        >>> Recipe.from_json(recipe.to_json()) == recipe
        True
    """

    method: str
    hierarchies: Mapping[str, Hierarchy]
    levels: Mapping[str, int] | None
    models: tuple[Rule, ...]
    sensitive: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    suppression: float = 0.0
    loss: str = "granularity"
    stages: tuple[Any, ...] = field(default=(), repr=False)
    tree: Any = field(default=None, repr=False)
    person: str | None = None
    lacking: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", MappingProxyType(dict(self.hierarchies)))
        if self.levels is not None:
            object.__setattr__(self, "levels", MappingProxyType(dict(self.levels)))

    def __str__(self) -> str:
        rows = [
            f"  {name}  {'level differs between rows' if self.levels is None else f'level {self.levels[name]}'}"
            for name in self.hierarchies
        ]
        models = ", ".join(map(str, self.models)) or "no model"
        return "\n".join([f"Recipe ({self.method}) for {models}; it carries no guarantee by itself.", *rows])

    @property
    def from_data(self) -> tuple[str, ...]:
        """Columns whose hierarchies were made from the data: their bounds and values come from the table."""
        return tuple(name for name, hierarchy in self.hierarchies.items() if hierarchy.from_data)

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as plain values."""
        return {
            "version": VERSION,
            "method": self.method,
            "hierarchies": {name: h.to_dict() for name, h in self.hierarchies.items()},
            "levels": None if self.levels is None else dict(self.levels),
            "models": [{**model_to_dict(rule.model), "sensitive": rule.sensitive} for rule in self.models],
            "sensitive": list(self.sensitive),
            "identifiers": list(self.identifiers),
            "insensitive": list(self.insensitive),
            "suppression": self.suppression,
            "loss": self.loss,
            "stages": _lists(self.stages),
            "tree": _lists(self.tree),
            "person": self.person,
        }

    def to_json(self) -> str:
        """Return the recipe as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the recipe to a JSON file that its owner alone can read: hierarchies and cuts can list values.

        Args:
            path: The file; one that exists is not replaced.
            overwrite: Replace it after all.
        """
        write_whole(path, self.to_json().encode(), private=True, overwrite=overwrite)

    @classmethod
    def from_json(cls, text: str, *, population: Any = None) -> Recipe:
        """Read a recipe from JSON text; models with a population table get the one given here."""
        try:
            values = json.loads(text)
            if values["version"] != VERSION:
                raise ParameterError(
                    f"This recipe has version {values['version']}; this pydplib reads version {VERSION}."
                )
            rules, lacking = [], []
            for entry in values["models"]:
                entry = dict(entry)
                column = entry.pop("sensitive", None)
                if entry.get("population") is not None and population is None:
                    # Kept in the file only as a remark; the model cannot be rebuilt without its table.
                    lacking.append(str(entry.get("model")))
                    continue
                rules.append(Rule(model_from_dict(entry, population=population), column))
            return cls(
                method=values["method"],
                hierarchies={name: Hierarchy.from_dict(h) for name, h in values["hierarchies"].items()},
                levels=values["levels"],
                models=tuple(rules),
                sensitive=tuple(values["sensitive"]),
                identifiers=tuple(values["identifiers"]),
                insensitive=tuple(values["insensitive"]),
                suppression=values["suppression"],
                loss=values["loss"],
                stages=_tuples(values["stages"]),
                tree=_tuples(values["tree"]),
                person=values.get("person"),
                lacking=tuple(lacking),
            )
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
            raise ParameterError("The recipe file is damaged: it is not a recipe as pydplib writes them.") from None

    @classmethod
    def load(cls, path: str | Path, *, population: Any = None) -> Recipe:
        """Read a recipe from a JSON file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ParameterError(f"The recipe file '{path}' cannot be read.") from None
        return cls.from_json(text, population=population)

    def apply(self, table: Any) -> Any:
        """Transform another table of the same kind, shuffled, without identifiers.

        All models of the recipe are held on the new table: rows are left out whose class fails one of them, judged
        against the distribution of what is left (people are counted where the recipe knows a person column). Rows are
        left out, too, that fit no released class of a local recoding or no box of a Mondrian partition, or that have a
        value unknown to a hierarchy made from data. There is no limit for what is left out, and nothing is compared
        with earlier releases: run ``verify`` on the result, and count it.
        """
        from pydplib.anonymity.applying import apply_recipe

        return apply_recipe(self, Frame(table))


def _lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _lists(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_lists(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return to_plain(value)


def _tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        plain = from_plain(value)
        return plain if plain is not value else {key: _tuples(item) for key, item in value.items()}
    return (
        tuple(_tuples(item) for item in value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    )

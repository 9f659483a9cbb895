"""The configuration of ``pydplib anonymize``: which column is what, its hierarchy in words, and what must hold."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import click

from pydplib.anonymity import (
    Codes,
    Cuts,
    Dates,
    Hierarchy,
    Intervals,
    Masking,
    Model,
    Pseudonym,
    TableHierarchy,
    TopBottom,
)
from pydplib.anonymity.models import MODELS as BY_NAME
from pydplib.errors import HierarchyError, ParameterError, PydplibError, SchemaError, did_you_mean
from pydplib.schema import Schema

# Kind -> entries that it must have, entries that it may have.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "automatic": ((), ()),
    "file": (("path",), ("separator",)),
    "intervals": (("low", "high", "widths"), ("outside", "whole", "from_data")),
    "cuts": (("edges",), ("outside", "from_data")),
    "codes": (("system",), ()),
    "masking": (("length",), ("step", "side", "character", "alphabet")),
    "dates": ((), ("low", "high", "units", "outside", "order", "from_data")),
    "order": (("values",), ("group",)),
    "grouping": (("groups",), ()),
    "flat": (("values",), ()),
    "top-bottom": ((), ("top", "bottom", "inner")),
}


def read_hierarchy_spec(name: str, spec: Any, folder: Path) -> Hierarchy | None:
    """Return the hierarchy that a configuration describes for a column; None for an automatic one.

    Args:
        name: The column, for errors.
        spec: ``"automatic"``, the path of a CSV file, or a table with a ``kind``.
        folder: Where relative paths begin.
    """
    if isinstance(spec, str):
        spec = {"kind": "automatic"} if spec == "automatic" else {"kind": "file", "path": spec}
    if not isinstance(spec, Mapping):
        raise ParameterError(f"Quasi-identifier '{name}' needs a table with a kind, e.g. kind = \"automatic\".")
    values = dict(spec)
    kind = values.pop("kind", None)
    if kind not in KINDS:
        raise ParameterError(f"Quasi-identifier '{name}' has the unknown kind '{kind}'.{did_you_mean(kind, KINDS)}")
    needed, allowed = KINDS[kind]
    for key in values:
        if key not in (*needed, *allowed):
            raise ParameterError(f"Column '{name}', {kind}: unknown '{key}'.{did_you_mean(key, (*needed, *allowed))}")
    lost = [key for key in needed if key not in values]
    if lost:
        raise ParameterError(f"Column '{name}', {kind}: '{lost[0]}' is missing.")
    if not isinstance(values.get("from_data", False), bool):
        raise ParameterError(f"Column '{name}', {kind}: from_data is true or false.")
    try:
        return _build(name, kind, values, folder)
    except HierarchyError as error:
        raise type(error)(f"Column '{name}': {error}") from None
    except PydplibError as error:
        raise ParameterError(f"Column '{name}': {error}") from None
    except TypeError:
        raise ParameterError(f"Column '{name}', {kind}: an entry has the wrong type.") from None


def _build(name: str, kind: str, values: dict[str, Any], folder: Path) -> Hierarchy | None:
    if kind == "automatic":
        return None
    if kind == "file":
        return Hierarchy.from_csv(folder / str(values["path"]), separator=values.get("separator"))
    if kind == "intervals":
        return Intervals(values.pop("low"), values.pop("high"), values.pop("widths"), **values)
    if kind == "cuts":
        return Cuts(values.pop("edges"), **values)
    if kind == "codes":
        return Codes(**values)
    if kind == "masking":
        return Masking(values.pop("length"), **values)
    if kind == "dates":
        return Dates(values.pop("low", None), values.pop("high", None), **values)
    if kind == "order":
        return Hierarchy.order(values["values"], group=values.get("group", 2))
    if kind == "grouping":
        return Hierarchy.grouping(values["groups"])
    if kind == "flat":
        return Hierarchy.flat(values["values"])
    inner = values.pop("inner", None)
    return TopBottom(**values, inner=None if inner is None else read_hierarchy_spec(name, inner, folder))


def to_table(hierarchy: Hierarchy, values: Sequence[Any]) -> TableHierarchy:
    """Return any hierarchy as a table with one row per value, which a CSV file can hold.

    Examples:
        >>> to_table(Intervals(0, 3, [2]), [0, 1, 2, 3]).rows[2]
        (2, '2-3', '*')
    """
    found = hierarchy.resolve("value", list(values))
    rows = [
        [value, *(found.labels[level][found.levels[level][i]] for level in range(1, found.height + 1))]
        for i, value in enumerate(values)
    ]
    return TableHierarchy(rows, from_data=hierarchy.from_data)


MODELS: dict[str, type[Model]] = {model.word: model for model in BY_NAME.values()}
"""The models by their words in configuration files."""
_ENTRIES = (
    "checked", "sheet", "schema", "person", "identifiers", "keep", "sensitive", "suppression", "method", "loss",
    "reference", "labels", "quasi_identifiers", "pseudonyms", "models",
)  # fmt: skip

OpenTable = Callable[[Path], Any]


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a configuration file says.

    Attributes:
        checked: Whether a person has looked at guesses; ``--init`` writes false.
        quasi_identifiers: Column -> hierarchy, or None for an automatic one.
        sensitive: Column -> models of its own.
        models: Models for the whole table and for every sensitive column.
        identifiers: Column -> pseudonym, or None where it is dropped.
        keep: Columns that are handed over as they are.
        person: The column that says whose row it is.
        options: Suppression, method, loss, reference and labels, as ``anonymize`` takes them.
        schema: Public facts for automatic hierarchies.
        sheet: The sheet of a workbook.
    """

    quasi_identifiers: Mapping[str, Hierarchy | None]
    models: tuple[Model, ...]
    sensitive: Mapping[str, tuple[Model, ...]] = field(default_factory=dict)
    identifiers: Mapping[str, Pseudonym | None] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    person: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema | None = None
    sheet: str | None = None
    checked: bool = True

    @property
    def needs_memory(self) -> bool:
        """Whether the table has to be loaded: consistent pseudonyms make classes of persons' whole sets of rows."""
        return any(pseudonym is not None and pseudonym.consistent for pseudonym in self.identifiers.values())


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Which column of a table is what, from options and, where they are silent, from a configuration.

    Identifiers that it replaces by pseudonyms are apart: these may be in a release, the original's values may not.
    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    person: str | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    pseudonyms: tuple[str, ...] = ()

    def filled(self, config: Path | None, open_table: OpenTable, columns: Collection[str], *, whole: bool) -> Roles:
        """Return the roles with those of a configuration added, for columns that no option names.

        Args:
            config: The configuration, if there is one.
            open_table: Loads a population table.
            columns: The columns of the table that is looked at.
            whole: Whether it is the original, which has every quasi-identifier. A release may have left some out.
        """
        if config is None:
            return self
        said = read_config(config, open_table)
        absent = [name for name in (*said.quasi_identifiers, *said.sensitive) if name not in columns]
        if absent and whole:
            raise ParameterError(
                f"'{config.name}' names '{absent[0]}', which the table does not have.{did_you_mean(absent[0], columns)}"
            )
        if absent:
            click.echo(f"Of the columns that '{config.name}' names, the table has no {', '.join(absent)}.", err=True)
        named = {*self.quasi, *self.sensitive, *self.insensitive, *self.identifiers}

        def rest(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(name for name in names if name in columns and name not in named)

        person = said.person if self.person is None and said.person in columns else self.person
        replaced = rest(name for name, pseudonym in said.identifiers.items() if pseudonym is not None)
        return Roles(
            quasi=self.quasi + rest(said.quasi_identifiers),
            sensitive=self.sensitive + rest(said.sensitive),
            insensitive=self.insensitive + rest(said.keep),
            identifiers=self.identifiers + rest(name for name in said.identifiers if name not in replaced),
            person=person,
            hierarchies={name: tree for name, tree in said.quasi_identifiers.items() if tree is not None},
            pseudonyms=tuple(name for name in replaced if name != person),
        )


def read_config(path: Path, open_table: OpenTable) -> Config:
    """Read a configuration file; errors name the entry that is wrong.

    Args:
        path: The file.
        open_table: Loads a population table, whose path is relative to the configuration.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"The configuration '{path}' cannot be read. Write one with --init.") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"The configuration '{path.name}' is not valid TOML: {error}.") from None
    try:
        return _read(values, path.parent, open_table)
    except (ParameterError, HierarchyError, SchemaError) as error:
        raise type(error)(f"In '{path.name}': {error}") from None


def _read(values: Mapping[str, Any], folder: Path, open_table: OpenTable) -> Config:
    for key in values:
        if key not in _ENTRIES:
            raise ParameterError(f"Unknown entry '{key}'.{did_you_mean(key, _ENTRIES)}")
    quasi = values.get("quasi_identifiers")
    if isinstance(quasi, list):
        quasi = dict.fromkeys(quasi, "automatic")
    if not isinstance(quasi, Mapping) or not quasi:
        raise ParameterError("Name at least one quasi-identifier: [quasi_identifiers.age].")
    sensitive: dict[str, list[Model]] = {name: [] for name in _names(values, "sensitive")}
    models: list[Model] = []
    entries = values.get("models")
    if not isinstance(entries, list) or not entries:
        raise ParameterError('Name at least one model: [[models]] with model = "k-anonymity" and k = 5.')
    for entry in entries:
        model, columns = _read_model(entry, folder, open_table)
        for column in columns:
            if column not in sensitive:
                raise ParameterError(f"{model} is about '{column}', which is not among the sensitive columns.")
            sensitive[column].append(model)
        if not columns:
            if model.needs_sensitive and not sensitive:
                raise ParameterError(f'{model} needs a sensitive column: sensitive = ["diagnosis"].')
            models.append(model)
    identifiers: dict[str, Pseudonym | None] = dict.fromkeys(_names(values, "identifiers"))
    for name, entry in dict(values.get("pseudonyms") or {}).items():
        identifiers[name] = _read_pseudonym(name, entry, folder)
    person, schema, sheet, checked = (values.get(key) for key in ("person", "schema", "sheet", "checked"))
    for key, value in (("person", person), ("schema", schema), ("sheet", sheet)):
        if value is not None and not (isinstance(value, str) and value):
            raise ParameterError(f"{key} must be a text in quotes.")
    if checked is not None and not isinstance(checked, bool):
        raise ParameterError("checked must be true or false.")
    return Config(
        quasi_identifiers={name: read_hierarchy_spec(name, spec, folder) for name, spec in quasi.items()},
        models=tuple(models),
        sensitive={name: tuple(own) for name, own in sensitive.items()},
        identifiers=identifiers,
        keep=_names(values, "keep"),
        person=person,
        options={key: values[key] for key in ("suppression", "method", "loss", "reference", "labels") if key in values},
        schema=None if schema is None else Schema.load(folder / schema),
        sheet=sheet,
        checked=checked is not False,
    )


def _names(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    given = values.get(key, [])
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f'{key} is a list of columns: {key} = ["name", ...].')
    return tuple(names)


def _read_model(entry: Any, folder: Path, open_table: OpenTable) -> tuple[Model, tuple[str, ...]]:
    """Return a model, and the sensitive columns that it is about, if it names some."""
    if not isinstance(entry, Mapping):
        raise ParameterError('A model is a table: [[models]] with model = "k-anonymity" and k = 5.')
    values = dict(entry)
    name = values.pop("model", None)
    if name not in MODELS:
        raise ParameterError(f"Unknown model '{name}'.{did_you_mean(name, MODELS)}")
    kind = MODELS[name]
    columns = _names(values, "sensitive")
    values.pop("sensitive", None)
    if columns and not kind.needs_sensitive:
        raise ParameterError(f"{name} is about the whole table: leave 'sensitive' out.")
    known = [spec.name for spec in fields(kind)]
    for key in values:
        if key not in known:
            raise ParameterError(f"{name}: unknown '{key}'.{did_you_mean(key, known)}")
    if "population" in values:
        values["population"] = open_table(folder / str(values["population"]))
    if "hierarchy" in values:
        values["hierarchy"] = read_hierarchy_spec(name, values["hierarchy"], folder)
    if "order" in values:
        values["order"] = tuple(values["order"])
    try:
        return kind(**values), columns
    except TypeError:
        needed = [spec.name for spec in fields(kind) if spec.default is MISSING and spec.default_factory is MISSING]
        raise ParameterError(f"{name}: needs {', '.join(needed)}.") from None
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None


def _read_pseudonym(name: str, entry: Any, folder: Path) -> Pseudonym:
    if not isinstance(entry, Mapping):
        raise ParameterError(f"Pseudonyms of '{name}' need a table: [pseudonyms.{name}].")
    known = ("consistent", "key_file", "prefix")
    for key in entry:
        if key not in known:
            raise ParameterError(f"Pseudonyms of '{name}': unknown '{key}'.{did_you_mean(key, known)}")
    secret = None
    if "key_file" in entry:
        # The key stays out of the configuration, which is shown to others.
        try:
            secret = (folder / str(entry["key_file"])).read_bytes()
        except OSError:
            raise ParameterError(
                f"The key file of '{name}' cannot be read. Make one: openssl rand -out pseudonyms.key 32"
            ) from None
    elif entry.get("consistent"):
        raise ParameterError(
            f"Consistent pseudonyms of '{name}' need key_file, a file with a secret of 16 bytes or more."
        )
    return Pseudonym(key=secret, consistent=bool(entry.get("consistent", False)), prefix=str(entry.get("prefix", "")))

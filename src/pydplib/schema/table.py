"""The schema of a table: its columns, who is a person, how many rows of a person count; to and from TOML and JSON."""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydplib._shown import Shown
from pydplib._toml import toml_key, toml_value
from pydplib.errors import SchemaError, did_you_mean, shown
from pydplib.schema.cells import Cell
from pydplib.schema.columns.base import COLUMN_KINDS, Column, Label, column_from_dict, plain_value
from pydplib.schema.derived import check_formula
from pydplib.schema.formulas import Formula

_LIMITS = {
    "max_rows_per_person": "Write how many rows of one person count in full, e.g. 3: what is usual, not what the data "
    "show. Of somebody with more rows, each row weighs less.",
    "max_groups_per_person": "Write in how many groups one person may count, e.g. 1.",
}
"""What to write into an entry that is still empty."""


def rows_words(most: int) -> str:
    """Return a limit of rows in words.

    Examples:
        >>> rows_words(1), rows_words(3)
        ('at most 1 row', 'at most 3 rows')
    """
    return f"at most {most} row{'' if most == 1 else 's'}"


@dataclass(frozen=True, repr=False)
class Schema(Shown):
    """The public facts about a table.

    Args:
        person: The column that says whose row it is; None if every row is another person.
        columns: Name -> kind, with bounds or categories.
        max_rows_per_person: Most rows of one person that count in full; where somebody has more, each of those rows
            weighs less. Needed with a person column: nothing but the owner's knowledge can choose it.
        max_groups_per_person: Most groups one person may appear in, for questions with unknown keys.
        size: The number of persons, where the owner declares it public; None where it is private. Prices by noise
            factor count a row for each: with several rows per person there is less noise than the factor says.
        name: What the table is called in reports.
        lineage: The family of tables that may share persons; budgets are counted per lineage.
            By default the name.

    Examples:
        >>> from pydplib.schema import Flag, Number
        >>> schema = Schema(person="patient_id", max_rows_per_person=3,
        ...                 columns={"age": Number(18, 100, unit="years"), "bph": Flag()})
        >>> schema.column("age").high
        100
    """

    columns: Mapping[str, Column]
    person: str | None = None
    max_rows_per_person: int = 1
    max_groups_per_person: int = 1
    size: int | None = None
    name: str = "table"
    lineage: str = field(default="")

    def __init__(
        self,
        columns: Mapping[str, Column],
        *,
        person: str | None = None,
        max_rows_per_person: int | None = None,
        max_groups_per_person: int = 1,
        size: int | None = None,
        name: str = "table",
        lineage: str = "",
    ) -> None:
        if not isinstance(columns, Mapping):
            raise SchemaError(f"A schema needs its columns: Schema({{'age': Number(18, 100)}}). Got {shown(columns)}.")
        if max_rows_per_person is None:
            if person is not None:
                raise SchemaError(
                    "A schema with a person column needs max_rows_per_person: the most rows of one person that count "
                    f"in full, e.g. Schema(..., person={shown(person)}, max_rows_per_person=3). Choose it by what is "
                    "usual, not by looking at the data."
                )
            max_rows_per_person = 1
        for key, value in {
            "columns": MappingProxyType(dict(columns)),
            "person": person,
            "max_rows_per_person": max_rows_per_person,
            "max_groups_per_person": max_groups_per_person,
            "size": size,
            "name": name,
            "lineage": lineage or name,
        }.items():
            object.__setattr__(self, key, plain_value(value))
        self._check()

    def _check(self) -> None:
        if not self.columns:
            raise SchemaError("A schema needs at least one column.")
        declared: Mapping[Any, Any] = self.columns  # whatever the caller gave
        for name, column in declared.items():
            if not isinstance(name, str) or not name:
                raise SchemaError("Column names are non-empty texts.")
            if not isinstance(column, Column):
                *kinds, last = [kind.example for kind in COLUMN_KINDS.values()]
                raise SchemaError(
                    f"Column '{name}' needs a kind: {', '.join(kinds)} or {last}. Got {type(column).__name__}."
                )
            if column.formula is not None:
                check_formula(name, column, self)
        for key in ("name", "lineage", "person"):
            value = getattr(self, key)
            if not (isinstance(value, str) and value) and not (key == "person" and value is None):
                raise SchemaError(f"{key} must be a non-empty text. Got {shown(value)}.")
        for key in ("max_rows_per_person", "max_groups_per_person"):
            value = getattr(self, key)
            if value == "":
                raise SchemaError(f"{key} is not filled in. {_LIMITS[key]}")
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SchemaError(f"{key} must be a whole number of at least 1. Got {shown(value)}.")
        if self.person is None and self.max_rows_per_person != 1:
            raise SchemaError(
                "Without a person column every row is another person, so max_rows_per_person is 1. "
                "Name the person column: Schema(person='patient_id', ...)."
            )
        if self.size is not None and (isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1):
            raise SchemaError(f"size is the declared public number of persons, or None. Got {shown(self.size)}.")

    def column(self, name: str) -> Column:
        """Return the declaration of a column, or raise ``SchemaError`` with a suggestion."""
        try:
            return self.columns[name]
        except KeyError:
            raise SchemaError(f"The schema has no column '{name}'.{did_you_mean(name, self.columns)}") from None

    @cached_property
    def stored(self) -> Mapping[str, Column]:
        """The columns that the table holds: all but those that are computed from others."""
        return MappingProxyType({name: column for name, column in self.columns.items() if name not in self.formulas})

    @cached_property
    def formulas(self) -> Mapping[str, Formula]:
        """How the columns are computed that are computed from others."""
        named = ((name, column.formula) for name, column in self.columns.items())
        return MappingProxyType({name: formula for name, formula in named if formula is not None})

    @cached_property
    def cells(self) -> Mapping[str, Cell]:
        """The cells of each column as a neutral expression, from which engines make their own."""
        return MappingProxyType({name: column.cell for name, column in self.columns.items()})

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The columns that tell one value of each person, computed from that person's rows."""
        return tuple(name for name, formula in self.formulas.items() if formula.is_step)

    def labelled(self, *labels: Label) -> tuple[str, ...]:
        """Return the names of the columns that carry one of ``labels``."""
        return tuple(name for name, column in self.columns.items() if column.label in labels)

    def __hash__(self) -> int:
        return hash((self.name, self.lineage, self.person, frozenset(self.columns.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.from_dict, (self.to_dict(),)  # a read-only mapping cannot be pickled as it is

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values, ready for JSON or TOML."""
        table: dict[str, Any] = {"name": self.name, "lineage": self.lineage}
        for key in ("person", "max_rows_per_person", "max_groups_per_person", "size"):
            if getattr(self, key) is not None:
                table[key] = getattr(self, key)
        table["columns"] = {name: column.to_dict() for name, column in self.columns.items()}
        return table

    def declared(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the declarations of some columns as plain values."""
        return {name: self.columns[name].to_dict() for name in names}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Schema:
        """Build a schema from plain values; errors name the entry that is wrong."""
        if not isinstance(values, Mapping):
            raise SchemaError(f"A schema is made of a table of entries. Got {shown(values)}.")
        values = dict(values)
        columns = values.pop("columns", None)
        if not isinstance(columns, Mapping) or not columns:
            raise SchemaError("The schema needs a table [columns.NAME] for every column.")
        known = [f.name for f in fields(cls) if f.name != "columns"]
        for key in values:
            if key not in known:
                raise SchemaError(f"Unknown entry '{key}' in the schema.{did_you_mean(key, known)}")
        if values.get("person") is not None and "max_rows_per_person" not in values:
            warnings.warn(
                "The schema names a person column but not max_rows_per_person: 1 row of each person counts in full. "
                "Write the limit into the schema, e.g. max_rows_per_person = 3.",
                UserWarning,
                stacklevel=2,
            )
            values["max_rows_per_person"] = 1
        return cls({name: column_from_dict(name, entry) for name, entry in columns.items()}, **values)

    def to_json(self) -> str:
        """Return the schema as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read a schema from JSON text."""
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise SchemaError(f"The schema is not valid JSON (line {error.lineno}).") from None
        except (TypeError, RecursionError, UnicodeDecodeError):
            raise SchemaError("The schema is not valid JSON: it must be a text, and not nested without end.") from None
        if not isinstance(values, dict):
            raise SchemaError("The schema must be a JSON object.")
        return cls.from_dict(values)

    def to_toml(self) -> str:
        """Return the schema as TOML text, the form in which owners keep it."""
        table = self.to_dict()
        columns = table.pop("columns")
        lines = [f"{key} = {toml_value(value)}" for key, value in table.items()]
        for name, entry in columns.items():
            lines.append(f"\n[columns.{toml_key(name)}]")
            lines.extend(f"{key} = {toml_value(value)}" for key, value in entry.items())
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """Read a schema from TOML text."""
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"The schema is not valid TOML: {error}.") from None
        except (TypeError, AttributeError, RecursionError):
            raise SchemaError("The schema is not valid TOML: it must be a text, and not nested without end.") from None
        return cls.from_dict(values)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a ``.toml`` or ``.json`` file."""
        if not isinstance(path, str | Path):
            raise SchemaError(f"Schema.load takes the path of a file, e.g. 'schema.toml'. Got {shown(path)}.")
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise SchemaError(
                f"There is no schema file '{path}'. Check its name; `pydplib schema init` proposes one for a table."
            ) from None
        except (OSError, UnicodeDecodeError):
            raise SchemaError(f"The schema file '{path}' cannot be read: it must be a file of UTF-8 text.") from None
        return cls.from_json(text) if path.suffix == ".json" else cls.from_toml(text)

    def save(self, path: str | Path) -> None:
        """Write the schema to a ``.toml`` or ``.json`` file, which ``load`` reads; an existing file is replaced.

        Examples:
            >>> import tempfile
            >>> from pydplib.schema import Flag
            >>> schema = Schema({"bph": Flag()})
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     schema.save(f"{folder}/schema.toml")
            ...     Schema.load(f"{folder}/schema.toml") == schema
            True
        """
        path = Path(path)
        text = f"{self.to_json()}\n" if path.suffix == ".json" else self.to_toml()
        try:
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError:
            raise SchemaError(f"The schema cannot be written to '{path}'. Check the folder and its rights.") from None

    def described(self, title: str) -> str:
        """Return the public facts in words, a line per column, under a title."""
        who = "one row per person"
        if self.person is not None:
            who = f"person '{self.person}', {rows_words(self.max_rows_per_person)} each count in full"
        lines = [f"{title}, {who}"]
        width = max(len(name) for name in self.columns)
        for name, column in self.columns.items():
            computed = f" = {column.formula}" if column.formula is not None else ""
            lines.append(f"  {name:<{width}}  {column.kind:<8}  {column.facts}{computed}".rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        size = "" if self.size is None else f" of {self.size} persons"
        return self.described(f"Schema '{self.name}'{size}")

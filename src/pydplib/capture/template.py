"""The template: a versioned decision tree of groups and questions, its files, and the ones that come with pydplib."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache, cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from pydplib._toml import toml_key, toml_value
from pydplib.capture.model import Check, Code, Computed, Condition, Group, Item, Option, Question, shorten
from pydplib.capture.plan import TemplatePlan, build_plan
from pydplib.capture.structure import MOST_LEVELS, Index, build_index
from pydplib.errors import TemplateError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class Template:
    """A versioned decision tree from which forms, checks, report texts, FHIR and the public schema are made.

    Args:
        id: Short name: letters, digits, ``-`` and ``.``.
        version: The version's name; a change of the tree is a new version.
        title: What people read.
        items: Questions and groups, in the order in which they are asked.
        description: What the template is for.
        url: Its canonical address in FHIR; by default one made from the id.
        publisher: Who answers for it.
        person: The question that says whose report it is.
        max_reports_per_person: Most reports of one person that count in releases.
        checks: Warnings that are looked for in the whole report.
        report_title: What stands over a patient's report; by default the title.

    Examples:
        >>> age = Question(id="age", kind="integer", title="Age", unit="years", low=18, high=100, label="quasi")
        >>> template = Template(id="visit", version="1", title="Visit", items=(age,))
        >>> template.question("age").high
        100
    """

    id: str
    version: str
    title: str
    items: tuple[Item, ...]
    description: str = ""
    url: str = ""
    publisher: str = ""
    person: str = ""
    max_reports_per_person: int = 1
    checks: tuple[Check, ...] = ()
    report_title: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(self.items))
        object.__setattr__(self, "checks", tuple(self.checks))

    @property
    def heading(self) -> str:
        """What stands over a patient's report.

        A template that came with pydplib takes it from today's version, where an earlier one had only a working title.
        """
        if not self.report_title and self.id in builtin_names():
            return builtin(self.id).report_title or self.title
        return self.report_title or self.title

    @cached_property
    def index(self) -> Index:
        """Where each item stands."""
        return build_index(self)

    @cached_property
    def plan(self) -> TemplatePlan:
        """The tree made ready for evaluation; raises ``TemplateError`` if the linter finds errors."""
        return build_plan(self)

    def item(self, item_id: str) -> Item:
        """Return an item, or raise ``TemplateError`` with a suggestion."""
        place = self.index.by_id.get(item_id)
        if place is None:
            raise TemplateError(f"The template has no item '{item_id}'.{did_you_mean(item_id, self.index.by_id)}")
        return place.item

    def question(self, item_id: str) -> Question:
        """Return a question, or raise ``TemplateError``."""
        item = self.item(item_id)
        if isinstance(item, Group):
            raise TemplateError(f"'{item_id}' is a group, not a question.")
        return item

    def to_json(self) -> str:
        """Return the template as JSON text."""
        return to_json(self)

    def to_toml(self) -> str:
        """Return the template as TOML text, the form in which people write it."""
        return to_toml(self)

    @classmethod
    def from_json(cls, text: str) -> Template:
        """Read a template from JSON text."""
        return from_json(text)

    @classmethod
    def from_toml(cls, text: str) -> Template:
        """Read a template from TOML text."""
        return from_toml(text)

    @classmethod
    def load(cls, path: str | Path) -> Template:
        """Read a template from a ``.toml`` or ``.json`` file."""
        return load(path)

    def save(self, path: str | Path) -> None:
        """Write the template to a ``.toml`` or ``.json`` file."""
        save(self, path)


T = TypeVar("T")
MOST_FAULTS = 50
"""How many faults of a file are told at once."""
_ID_LINE = re.compile(r"""^\s*(?:\{\s*)?"?id"?\s*[=:]\s*["']([^"']+)["']""")
_ABOUT = re.compile("(?:Item|Group) '([^']+)'")
_ENTRY = re.compile("unknown entry '([^']+)'|: '([^']+)' must be")
_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "yes/no": (bool,),
    "whole number": (int,),
    "number": (int, float),
    "number or day": (int, float, str),
    "text, number or yes/no": (str, int, float, bool),
    "text or whole number": (str, int),
}
_SHAPES: dict[str, str] = {
    **dict.fromkeys(("required", "read_only", "repeats", "ordered", "multiline", "reported"), "yes/no"),
    **dict.fromkeys(("decimals", "max_length", "min_repeats", "max_repeats", "max_reports_per_person"), "whole number"),
    **dict.fromkeys(("low", "high"), "number or day"),
    "step": "number",
    "answer": "text, number or yes/no",
    "value": "text or whole number",
}


def to_dict(template: Template) -> dict[str, Any]:
    """Return a template as plain values, without what is at its default.

    Examples:
        >>> age = Question(id="age", kind="integer", title="Age", low=18, high=100)
        >>> to_dict(Template(id="visit", version="1", title="Visit", items=(age,)))["items"]
        [{'id': 'age', 'kind': 'integer', 'title': 'Age', 'low': 18, 'high': 100}]
    """
    table: dict[str, Any] = _plain(template)
    return table


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if not hasattr(value, "__dataclass_fields__"):
        return value
    table: dict[str, Any] = {}
    for spec in fields(value):
        found = getattr(value, spec.name)
        if spec.name == "label" and found == ("identifier" if value.kind == "text" else "sensitive"):
            continue  # what the kind of question has by default
        if spec.default is MISSING or found != spec.default:
            table[spec.name] = _plain(found)
        if isinstance(value, Group) and spec.name == "id":
            table["kind"] = "group"
    return table


def from_dict(values: object) -> Template:
    """Build a template from plain values; errors name the entry and suggest the nearest known one.

    Examples:
        >>> from_dict({"id": "visit", "version": "1", "title": "Visit",
        ...            "items": [{"id": "age", "kind": "integer", "titel": "Age"}]})
        Traceback (most recent call last):
        ...
        pydplib.errors.TemplateError: Item 'age' has the unknown entry 'titel'. Did you mean 'title'?
    """
    if not isinstance(values, Mapping):
        raise TemplateError("A template is a table with id, version, title and items.")
    table = dict(values)
    faults: list[str] = []
    items: tuple[Item, ...] = ()
    try:
        items = _items(table.pop("items", None), "The template", level=0)
    except TemplateError as error:
        faults.append(str(error))
    try:
        checks = _list(table.pop("checks", []), "The template: checks", partial(_call, Check))
        made = _build(Template, table, "The template", items=items, checks=checks)
    except TemplateError as error:
        faults.insert(0, str(error))
    _raise(faults)
    return made


def _raise(faults: Iterable[str]) -> None:
    """Raise one ``TemplateError`` with a line for each fault; there is none where there are no faults."""
    lines = [line for fault in faults for line in fault.splitlines()]
    if lines:
        rest = [f"There are {len(lines) - MOST_FAULTS} more."] if len(lines) > MOST_FAULTS else []
        raise TemplateError("\n".join([*lines[:MOST_FAULTS], *rest]))


def _items(values: object, where: str, level: int) -> tuple[Item, ...]:
    if level > MOST_LEVELS:
        raise TemplateError(f"The template is nested more than {MOST_LEVELS} levels deep. Flatten its groups.")
    if not isinstance(values, list):
        raise TemplateError(f"{where} needs a list of items.")
    found, faults = [], []
    for value in values:
        try:
            found.append(_item(value, where, level))
        except TemplateError as error:
            faults.append(str(error))
    _raise(faults)
    return tuple(found)


def _item(value: object, where: str, level: int) -> Item:
    if not isinstance(value, Mapping):
        raise TemplateError(f"{where}: each item is a table with id, kind and title.")
    table = dict(value)
    name = table.get("id")
    if not isinstance(name, str) or not name:
        raise TemplateError(f'{where} has an item without an id. Add one, e.g. id = "age".')
    is_group = table.get("kind") == "group"
    here = f"{'Group' if is_group else 'Item'} '{shorten(name)}'"
    parts: dict[str, Any] = {
        "enable_when": _list(table.pop("enable_when", []), f"{here}: enable_when", partial(_build, Condition)),
        "codes": _list(table.pop("codes", []), f"{here}: codes", partial(_build, Code)),
    }
    if is_group:
        del table["kind"]
        parts["items"] = _items(table.pop("items", None), here, level + 1)
        parts["checks"] = _list(table.pop("checks", []), f"{here}: checks", partial(_call, Check))
        return _build(Group, table, here, **parts)
    parts["options"] = _list(table.pop("options", []), f"{here}: options", _option)
    if "computed" in table:
        parts["computed"] = _call(Computed, table.pop("computed"), f"{here}: computed")
    return _build(Question, table, here, **parts)


def _list(values: object, where: str, build: Callable[[Any, str], T]) -> tuple[T, ...]:
    if not isinstance(values, list):
        raise TemplateError(f"{where} must be a list.")
    return tuple(build(value, where) for value in values)


def _option(value: object, where: str) -> Option:
    if isinstance(value, str | int) and not isinstance(value, bool):  # short form: options = [1, 2, 3]
        return Option(value)
    return _build(Option, value, where)


def _call(cls: type[T], value: object, where: str) -> T:
    """Read a computed field or a check: a function, and the ids of its inputs."""
    table = dict(value) if isinstance(value, Mapping) else value
    inputs = _list(table.pop("inputs", []), f"{where}: inputs", _text) if isinstance(table, dict) else ()
    return _build(cls, table, where, inputs=inputs)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise TemplateError(f"{where} must be a list of ids.")
    return value


def _build(cls: type[T], values: object, where: str, **parts: Any) -> T:
    """Make a value from a table: known names, right types, everything needed."""
    if not isinstance(values, Mapping):
        raise TemplateError(f"{where} must be a table.")
    specs = {spec.name: spec for spec in fields(cls)}  # type: ignore[arg-type]
    faults = []
    for key, value in values.items():
        shape = _SHAPES.get(key, "text")
        if key not in specs:
            faults.append(f"{where} has the unknown entry '{shorten(key)}'.{did_you_mean(key, specs)}")
        elif not isinstance(value, _TYPES[shape]) or (isinstance(value, bool) and "yes/no" not in shape):
            faults.append(f"{where}: '{key}' must be a {shape}.")
    for name, spec in specs.items():
        if spec.default is MISSING and name not in values and name not in parts:
            faults.append(f"{where} needs '{name}'.")
    _raise(faults)
    try:
        return cls(**values, **parts)
    except TemplateError as error:
        message = str(error)
        raise TemplateError(message if message.startswith(where) else f"{where}: {message}") from None


def to_json(template: Template) -> str:
    """Return a template as JSON text."""
    return json.dumps(to_dict(template), indent=2, ensure_ascii=False) + "\n"


def from_json(text: str) -> Template:
    """Read a template from JSON text."""
    values = read_json(text, "The template")
    try:
        return from_dict(values)
    except TemplateError as error:
        raise TemplateError(with_lines(str(error), text)) from None


def with_lines(message: str, text: str) -> str:
    r"""Return what is wrong with a template, line by line, with the line of the file that each is about.

    Examples:
        >>> with_lines("Item 'age' needs 'kind'.", '[[items]]\nid = "age"')
        "Line 2: Item 'age' needs 'kind'."
    """
    places: dict[str, list[int]] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines):
        named = _ID_LINE.search(line)
        if named:
            places.setdefault(named[1], []).append(number)
    return "\n".join(_with_line(fault, lines, places) for fault in message.splitlines())


def _with_line(fault: str, lines: list[str], places: Mapping[str, list[int]]) -> str:
    about, entry = _ABOUT.match(fault), _ENTRY.search(fault)
    found = places.get(about[1], []) if about else []
    if len(lines) < 2 or len(found) != 1:
        return fault  # nobody counts lines in a file of one, and of two that are named alike either may be meant
    start = stop = found[0]
    while stop + 1 < len(lines) and not _ID_LINE.search(lines[stop + 1]) and not lines[stop + 1].startswith("[["):
        stop += 1
    key = entry and (entry[1] or entry[2])
    inside = [
        number
        for number in range(start, stop + 1)
        if key and re.match(rf'\s*"?{re.escape(key)}"?\s*[=:]', lines[number])
    ]
    return f"Line {(inside or [start])[0] + 1}: {fault}"


def read_json(text: str, what: str) -> Any:
    """Read JSON text; errors name the line."""

    def refuse(word: str) -> float:
        raise TemplateError(f"{what} has the number {word}, which JSON does not know.")

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise TemplateError(f"{what} is not valid JSON (line {error.lineno}, column {error.colno}).") from None
    except RecursionError:
        raise TemplateError(f"{what} is nested too deep.") from None
    except ValueError:  # a whole number of thousands of digits
        raise TemplateError(f"{what} has a number that is too long.") from None


def to_toml(template: Template) -> str:
    """Return a template as TOML text."""
    return write_toml(to_dict(template))


def from_toml(text: str) -> Template:
    """Read a template from TOML text."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TemplateError(f"The template is not valid TOML: {error}.") from None
    except RecursionError:
        raise TemplateError("The template is nested too deep.") from None
    try:
        return from_dict(values)
    except TemplateError as error:
        raise TemplateError(with_lines(str(error), text)) from None


def read_text(path: str | Path, what: str) -> str:
    """Read a text file, or raise ``TemplateError`` that names it."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TemplateError(f"{what} '{path}' does not exist.") from None
    except (OSError, UnicodeDecodeError):
        raise TemplateError(f"{what} '{path}' cannot be read as text.") from None


def load(path: str | Path) -> Template:
    """Read a template from a ``.toml`` or ``.json`` file."""
    text = read_text(path, "The template file")
    return from_json(text) if Path(path).suffix.lower() == ".json" else from_toml(text)


def save(template: Template, path: str | Path) -> None:
    """Write a template to a ``.toml`` or ``.json`` file."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".toml"):
        raise TemplateError(f"A template is saved as .toml or .json. Got '{path}'.")
    Path(path).write_text(template.to_json() if suffix == ".json" else template.to_toml(), encoding="utf-8")


_WIDTH = 110


def write_toml(table: Mapping[str, Any]) -> str:
    """Return a table as TOML: items as nested ``[[items]]``, everything else in place.

    Examples:
        >>> print(write_toml({"id": "visit", "items": [{"id": "age", "low": 18}]}), end="")
        id = "visit"
        <BLANKLINE>
        [[items]]
        id = "age"
        low = 18
    """
    return "\n".join(_table(table, "items")) + "\n"


def _table(table: Mapping[str, Any], name: str) -> list[str]:
    lines = [f"{toml_key(key)} = {_entry(value)}" for key, value in table.items() if key != "items"]
    items = table.get("items")
    if items is None:
        return lines
    if not items:
        return [*lines, "items = []"]
    for item in items:
        lines += ["", f"[[{name}]]", *_table(item, f"{name}.items")]
    return lines


def _entry(value: Any) -> str:
    """Write a value; a long list goes on several lines."""
    line = toml_value(value)
    if isinstance(value, list) and value and len(line) > _WIDTH:
        return "[\n" + "".join(f"  {toml_value(each)},\n" for each in value) + "]"
    return line


_NAMES = ("pirads-2.1", "pirads-paper")


def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in templates.

    Examples:
        >>> builtin_names()
        ('pirads-2.1', 'pirads-paper')
    """
    return _NAMES


@cache
def builtin(name: str) -> Template:
    """Return a built-in template: ``pirads-2.1`` or ``pirads-paper``.

    Examples:
        >>> builtin("pirads-2.1").title
        'MRI of the prostate, PI-RADS 2.1'
    """
    if name not in _NAMES:
        raise TemplateError(f"There is no built-in template '{name}'.{did_you_mean(name, _NAMES)}")
    text = (files("pydplib.capture") / "templates" / f"{name}.toml").read_text(encoding="utf-8")
    return Template.from_toml(text)

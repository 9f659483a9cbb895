"""The items of a foreign questionnaire, one by one: groups, questions of every type, and what to do about the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydplib.capture.fhir import _names as names
from pydplib.capture.fhir._conditions import Pending
from pydplib.capture.fhir._options import take_options
from pydplib.capture.fhir._question import QUESTION_TYPES, build_question
from pydplib.capture.fhir._read import (
    Notes,
    extensions_of,
    is_help,
    note_shapes,
    tables,
    tail,
    take_checks,
    take_codes,
    text_of,
    value_of,
)
from pydplib.capture.lint._items import MOST_REPEATS
from pydplib.capture.model import Condition, Group, Item, Question
from pydplib.capture.problems import shorten
from pydplib.capture.structure import MOST_LEVELS
from pydplib.errors import TemplateError

MOST_ITEMS = 5_000
DEFAULT_REPEATS = 20
"""How often a foreign group may repeat that sets no limit of its own."""

_KEPT = {
    "id",
    "extension",
    "linkId",
    "code",
    "prefix",
    "text",
    "type",
    "enableWhen",
    "enableBehavior",
    "required",
    "repeats",
    "readOnly",
    "maxLength",
    "answerOption",
    "answerValueSet",
    "answerConstraint",
    "item",
}
_REASONS = {
    "initial": "answers are never filled in beforehand",
    "definition": "templates do not refer to data elements",
    "disabledDisplay": "hidden questions are not shown here",
    "designNote": "templates do not have it",
}


_NOT_OF_TEXTS = {
    "enableWhen": "texts are always shown",
    "item": "a display item has no items below it",
    **dict.fromkeys(("code", "prefix", "answerOption", "answerValueSet", "maxLength"), "a text has none"),
}


class ItemReader:
    """One import: ids given so far, conditions to be translated later, texts that stand alone."""

    def __init__(self, notes: Notes, contained: Mapping[str, Mapping[str, Any]]) -> None:
        self.notes = notes
        self.contained = contained
        self.taken: set[str] = set()
        self.names: dict[str, str] = {}
        self.pending: dict[str, Pending] = {}
        self.texts: list[str] = []
        self.orphans: dict[str, list[str]] = {}
        self.count = 0

    def read(self, entries: object, parent: str, level: int) -> tuple[Item, ...]:
        """Read a list of items; display items become texts of their parent, see ``help_of``."""
        if level > MOST_LEVELS:
            raise TemplateError(f"The questionnaire is nested more than {MOST_LEVELS} levels deep.")
        items: list[Item] = []
        for entry in tables(entries):
            self.count += 1
            if self.count > MOST_ITEMS:
                raise TemplateError(f"The questionnaire has more than {MOST_ITEMS} items.")
            items.extend(self.item(entry, parent, level))
        return tuple(items)

    def item(self, entry: Mapping[str, Any], parent: str, level: int) -> list[Item]:
        link = text_of(entry.get("linkId"))
        kind = text_of(entry.get("type"))
        if kind == "display":
            if not parent:  # at the top there is no group whose help it could be
                self.texts.append(text_of(entry.get("text")))
                self.notes.adapted(link or "text", "display", "the text became part of the description")
                self.note_display(entry, link or "text")
            return []
        if entry.get("modifierExtension"):
            self.notes.left_out(link, "item", "a modifierExtension changes its meaning in a way not known here")
            return []
        if kind != "group" and kind not in QUESTION_TYPES:
            below = f", and the {len(tables(entry.get('item')))} items below it" if entry.get("item") else ""
            self.notes.left_out(link, "item", f"questions of type '{shorten(kind)}' cannot be asked{below}")
            return []
        name = self.new_id(link, parent)
        self.note_rest(entry, name)
        return self.group(entry, name, parent, level) if kind == "group" else self.question(entry, name, level)

    def new_id(self, link: str, parent: str) -> str:
        """Return an id for an item: its linkId, made unique and free of braces."""
        clean = "".join("_" if c in "{}[]\n\t" else c for c in link).strip()[:190]
        name, number = clean or f"{parent}item"[-190:], 2
        while name in self.taken or (not clean and number == 2):
            name, number = f"{clean or 'item'}-{number}", number + 1
        self.taken.add(name)
        if name != link:
            reason = "is used before" if clean == link and link else "is missing or has unusual characters"
            self.notes.adapted(name, "linkId", f"'{shorten(link)}' {reason}; the id is '{shorten(name)}' here")
        self.names.setdefault(link, name)
        return name

    def group(self, entry: Mapping[str, Any], name: str, parent: str, level: int) -> list[Item]:
        extra: dict[str, Any] = {}
        repeats = entry.get("repeats") is True
        for url, extension in extensions_of(entry):
            value = value_of(extension)[1]
            whole = isinstance(value, int) and not isinstance(value, bool)
            if url == names.MIN_OCCURS and whole and repeats:
                extra["min_repeats"] = value
            elif url == names.MAX_OCCURS and whole and repeats:
                extra["max_repeats"] = value
            elif url == names.SENTENCE:
                extra["sentence"] = text_of(value)
            elif url != names.CHECK:
                self.notes.left_out(name, tail(url), "an extension of groups that is not known here")
        if repeats and "max_repeats" not in extra:
            extra["max_repeats"] = DEFAULT_REPEATS
            self.notes.adapted(name, "repeats", f"no limit is given; at most {DEFAULT_REPEATS} times here")
        if entry.get("required") is True:
            if repeats:
                extra.setdefault("min_repeats", 1)
            else:
                self.notes.left_out(name, "required", "a group is not required; mark its questions instead")
        for key in ("answerOption", "answerValueSet", "maxLength", "readOnly", "answerConstraint"):
            if key in entry:
                self.notes.left_out(name, key, "groups do not have it")
        codes = take_codes(entry, name, self.notes)
        help_text = self.help_of(entry, name)
        items = self.read(entry.get("item"), name, level + 1)
        help_text = "\n".join(text for text in (help_text, *self.orphans.pop(name, [])) if text)
        if not items:
            self.notes.left_out(name, "group", "nothing in it can be asked")
            if help_text or entry.get("text"):
                where = f"help of '{shorten(parent)}'" if parent else "part of the description"
                self.notes.adapted(name, "text", f"the texts in it became {where}")
                texts = self.orphans.setdefault(parent, []) if parent else self.texts
                texts.extend(text for text in (self.title_of(entry, name), help_text) if text)
            return []
        self.wait(name, entry)
        return [
            Group(
                id=name,
                title=self.title_of(entry, name),
                items=items,
                repeats=repeats,
                help=help_text,
                checks=take_checks(entry),
                codes=codes,
                **extra,
            )
        ]

    def question(self, entry: Mapping[str, Any], name: str, level: int) -> list[Item]:
        options = take_options(entry, name, self.contained, self.notes)
        built = build_question(entry, name, options, self.notes)
        question = built.question
        if built.is_open:
            self.notes.adapted(name, "open choice", "own words go into a text question of their own")
        children = self.read(
            [child for child in tables(entry.get("item")) if child.get("type") != "display"], name, level + 1
        )
        help_text = "\n".join(text for text in (self.help_of(entry, name), *self.orphans.pop(name, [])) if text)
        values: dict[str, Any] = {
            "title": self.title_of(entry, name),
            "help": help_text,
            "codes": take_codes(entry, name, self.notes),
        }
        items: list[Item] = [Question(**question | values)]
        if built.is_open:
            other = self.fixed_id(name + names.OTHER_SUFFIX)
            title = f"{values['title'] or name}: other, in own words"
            items.append(Question(id=other, kind="text", title=title))
            if question.get("required"):
                self.notes.adapted(name, "required", "either answer would do in FHIR; neither is required here")
                items[0] = Question(**question | values | {"required": False})
        if children:
            details = self.fixed_id(name + names.DETAILS_SUFFIX)
            self.notes.adapted(name, "item", f"the questions below it became the group '{shorten(details)}'")
            shown = (Condition(name, "exists", True),)
            items.append(Group(id=details, title=values["title"] or name, items=children, enable_when=shown))
        if entry.get("repeats") is not True:
            self.wait(name, entry)
            if built.is_open:
                self.wait(items[1].id, entry)
            return items
        return [self.repeated(entry, name, items, built.fewest_answers, built.most_answers)]

    def repeated(self, entry: Mapping[str, Any], name: str, items: list[Item], fewest: int, most: int | None) -> Group:
        """Wrap a question that takes several answers into a repeating group."""
        around = self.fixed_id(name + names.ANSWERS_SUFFIX)
        question = items[0]
        most = max(1, min(most or len(getattr(question, "options", ())) or DEFAULT_REPEATS, MOST_REPEATS))
        fewest = max(fewest, 1) if entry.get("required") is True else fewest
        self.notes.adapted(name, "repeats", f"several answers became the repeating group '{shorten(around)}'")
        self.wait(around, entry)
        return Group(
            id=around,
            title=question.text,
            items=tuple(items),
            repeats=True,
            min_repeats=max(0, min(fewest, most)),
            max_repeats=most,
        )

    def fixed_id(self, name: str) -> str:
        """Return an id that the import makes itself."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def wait(self, name: str, entry: Mapping[str, Any]) -> None:
        """Keep the conditions until all questions are known."""
        conditions = entry.get("enableWhen")
        if isinstance(conditions, list) and conditions:
            self.pending[name] = Pending(tuple(conditions), entry.get("enableBehavior"))

    def title_of(self, entry: Mapping[str, Any], name: str) -> str:
        """Return the title; a prefix such as "1.2" goes before it."""
        text, prefix = text_of(entry.get("text")), text_of(entry.get("prefix"))
        if prefix:
            self.notes.adapted(name, "prefix", "it became the start of the title")
        return f"{prefix} {text}".strip() if prefix else text

    def help_of(self, entry: Mapping[str, Any], name: str) -> str:
        """Join the display items below an item to its help text."""
        found = []
        for child in tables(entry.get("item")):
            if child.get("type") != "display":
                continue
            link = text_of(child.get("linkId")) or f"text in {name}"
            found.append(text_of(child.get("text")))
            if not is_help(child):
                self.notes.adapted(link, "display", f"the text became help of '{shorten(name)}'")
            self.note_display(child, link)
        return "\n".join(text for text in found if text)

    def note_display(self, entry: Mapping[str, Any], link: str) -> None:
        """Note what a display item has beside its text."""
        for key, reason in _NOT_OF_TEXTS.items():
            if entry.get(key):
                self.notes.left_out(link, key, reason)
        self.note_rest(entry, link)

    def note_rest(self, entry: Mapping[str, Any], name: str) -> None:
        """Note the entries of an item that nobody looks at."""
        for key in entry:
            if key.startswith("_"):
                self.notes.left_out(name, key, "extensions of plain values, such as formatted text, are not kept")
            elif key not in _KEPT:
                self.notes.left_out(name, key, _REASONS.get(key, "not known here"))
        note_shapes(entry, name, self.notes)
        if entry.get("type") == "display":
            for url, _ in extensions_of(entry):
                if url != names.ITEM_CONTROL:
                    self.notes.left_out(name, tail(url), "an extension of texts that is not known here")

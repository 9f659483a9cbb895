"""The items of a foreign questionnaire: groups, questions, options, conditions; and notes about the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydplib.capture.fhir import _names as names
from pydplib.capture.fhir._names import (
    Notes,
    extensions_of,
    is_help,
    note_shapes,
    tables,
    tail,
    take_checks,
    take_codes,
    take_computed,
    text_of,
    value_of,
)
from pydplib.capture.linter import MOST_REPEATS
from pydplib.capture.model import (
    LABELS,
    OPERATORS,
    OPERATORS_OF_KIND,
    Behaviour,
    Condition,
    Group,
    Item,
    Kind,
    Option,
    Question,
    shorten,
)
from pydplib.capture.structure import MOST_LEVELS
from pydplib.capture.values import BIGGEST_INTEGER, Unreadable, read_value
from pydplib.errors import TemplateError


@dataclass(frozen=True, slots=True)
class Pending:
    """The conditions of an item as they came, to be translated once all questions are known."""

    conditions: tuple[Any, ...]
    behaviour: Any


def attach_conditions(
    items: tuple[Item, ...], pending: Mapping[str, Pending], known: Mapping[str, str], notes: Notes
) -> tuple[Item, ...]:
    """Give each item its conditions.

    Args:
        items: The tree without conditions (but those that the import made itself).
        pending: Id -> conditions as they came.
        known: Foreign linkId -> id of the item that it became.
        notes: Where to write what does not fit.
    """
    return _Attach(pending, known, notes).walk(items)


class _Attach:
    """One pass in the order of the form, so that only earlier questions can be referred to."""

    def __init__(self, pending: Mapping[str, Pending], known: Mapping[str, str], notes: Notes) -> None:
        self.pending = pending
        self.known = known
        self.notes = notes
        self.asked: dict[str, Question] = {}

    def walk(self, items: tuple[Item, ...], *, loose: bool = False) -> tuple[Item, ...]:
        """Walk the tree; ``loose`` inside of what is shown more often than it was meant to be."""
        result: list[Item] = []
        for item in items:
            changes: dict[str, Any] = {}
            too_often = loose
            if item.id in self.pending:
                conditions, behaviour = self.translate(item.id)
                changes = {"enable_when": conditions, "enable_behaviour": behaviour}
                too_often |= len(conditions) < len(self.pending[item.id].conditions) and behaviour != "any"
            if isinstance(item, Group):
                if too_often and item.min_repeats:
                    self.notes.adapted(item.id, "required", "not required here, since a condition did not come over")
                    changes["min_repeats"] = 0
                result.append(replace(item, items=self.walk(item.items, loose=too_often), **changes))
                continue
            if too_often and item.required:
                self.notes.adapted(item.id, "required", "not required here, since a condition did not come over")
                changes["required"] = False
            question = replace(item, **changes)
            self.asked[question.id] = question
            result.append(question)
        return tuple(result)

    def translate(self, item: str) -> tuple[tuple[Condition, ...], Behaviour]:
        raw = self.pending[item]
        conditions = []
        for entry in raw.conditions:
            condition = self.condition(item, entry) if isinstance(entry, Mapping) else None
            if condition is not None:
                conditions.append(condition)
        behaviour: Behaviour = raw.behaviour if raw.behaviour in ("all", "any") else ""
        if len(conditions) > 1 and not behaviour:
            self.notes.adapted(item, "enableBehavior", "it does not say all or any; all must hold here")
            behaviour = "all"
        if raw.conditions and not conditions:
            self.notes.left_out(item, "enableWhen", "no condition came over, so the item is always shown")
            behaviour = ""
        return tuple(conditions), behaviour

    def condition(self, item: str, entry: Mapping[str, Any]) -> Condition | None:
        link = text_of(entry.get("question"))
        name = f"enableWhen on '{shorten(link)}'"
        operator = entry.get("operator")
        for key in entry:
            if key not in ("question", "operator", "id") and not key.startswith("answer"):
                self.notes.left_out(item, f"{name}, {key}", "not known here")
        target = self.asked.get(self.known.get(link, ""))
        if target is None:
            where = "comes later or is itself below" if link in self.known else "is not in the template"
            self.notes.left_out(item, name, f"the question {where}; conditions look back only")
            return None
        if operator not in OPERATORS or operator not in OPERATORS_OF_KIND[target.kind]:
            self.notes.left_out(item, name, f"the operator does not fit a {target.kind}")
            return None
        kind, answer = value_of(entry, "answer")
        if operator == "exists":
            if isinstance(answer, bool):
                return Condition(target.id, "exists", answer)
            self.notes.left_out(item, name, "'exists' is compared with true or false")
            return None
        value = self.answer(item, name, target, kind, answer)
        return None if value is None else Condition(target.id, operator, value)

    def answer(self, item: str, name: str, target: Question, kind: str, answer: Any) -> Any:
        """Translate the answer that a condition compares with."""
        if target.kind == "choice":
            option = find_by_coding(target, answer) if isinstance(answer, Mapping) else None
            if option is None and isinstance(answer, str | int) and not isinstance(answer, bool):
                option = next((o for o in target.options if str(o.value) == str(answer)), None)
                if option is not None and kind in ("String", "Integer") and isinstance(option.value, str):
                    self.notes.adapted(item, name, "compared with a plain value; it is the option of that code")
            if option is None:
                self.notes.left_out(item, name, "it is compared with something that is not one of the options")
                return None
            return option.value
        if kind == "Quantity" and isinstance(answer, Mapping):
            unit = answer.get("code") or answer.get("unit")
            if unit and target.unit and unit != target.unit:
                self.notes.left_out(item, name, "it is compared in another unit")
                return None
            answer = answer.get("value")
        if kind == "DateTime" and isinstance(answer, str) and target.kind == "date":
            self.notes.adapted(item, name, "the time of day does not count")
            answer = answer[:10]
        try:
            value = read_value(target, answer) if isinstance(answer, str | int | float) else None
        except Unreadable:
            value = None
        if value is None:
            self.notes.left_out(item, name, f"it is compared with a value that this {target.kind} cannot have")
        return value


def find_by_coding(question: Question, coding: Mapping[str, Any]) -> Option | None:
    """Return the option that a Coding stands for: same system and code, or same code where one has no system."""
    system, code = text_of(coding.get("system")).strip(), text_of(coding.get("code")).strip()
    if not code:
        display = text_of(coding.get("display")).strip()
        return next((option for option in question.options if display and option.text == display), None)
    for option in question.options:
        if (option.code or str(option.value)) == code and option.system == system:
            return option
    loose = [
        option
        for option in question.options
        if (option.code or str(option.value)) == code and (not system or not option.system)
    ]
    return loose[0] if len(loose) == 1 else None


def take_options(
    entry: Mapping[str, Any], item: str, contained: Mapping[str, Mapping[str, Any]], notes: Notes
) -> tuple[Option, ...]:
    """Return the options of an item; each piece that does not come over is noted."""
    options: list[Option] = []
    given = entry.get("answerOption", [])
    for answer in tables(given):
        option = _option(answer, item, notes)
        if option is not None:
            options.append(option)
    if "answerValueSet" in entry:
        options += _value_set(entry["answerValueSet"], item, contained, notes)
    return _unique(options, item, notes)


def _option(answer: Mapping[str, Any], item: str, notes: Notes) -> Option | None:
    kind, value = value_of(answer)
    system = code = title = ""
    stored: str | int | None = None
    if kind == "Coding" and isinstance(value, Mapping):
        system, title = "".join(text_of(value.get("system")).split()), text_of(value.get("display"))
        for key in value:
            if key not in ("system", "code", "display"):
                notes.left_out(item, f"answerOption.{key}", "only system, code and display are kept")
        code = " ".join(text_of(value.get("code")).split())
        stored = code or " ".join(title.split())
    elif kind == "Integer" and isinstance(value, int) and not isinstance(value, bool) and abs(value) <= BIGGEST_INTEGER:
        stored = value
    elif kind in ("String", "Date", "Time"):
        stored = " ".join(text_of(value).split())
    if stored is None or stored == "":
        notes.left_out(item, f"answerOption.value{kind}", "an option needs a code, a text or a whole number")
        return None
    extra: dict[str, Any] = {}
    for url, extension in extensions_of(answer):
        inner = value_of(extension)[1]
        if url == names.OPTION_VALUE and isinstance(inner, str | int):
            stored = inner
        elif url in (names.OPTION_HELP, names.SENTENCE):
            extra["help" if url == names.OPTION_HELP else "sentence"] = text_of(inner)
        else:
            notes.left_out(item, tail(url), "an extension of options that is not known here")
    for key in answer:
        if key not in ("id", "extension") and not key.startswith("value"):
            reason = "answers are never filled in beforehand" if key == "initialSelected" else "not known here"
            notes.left_out(item, f"answerOption.{key}", reason)
    return Option(stored, title, system=system, code=code, **extra)


def _value_set(reference: object, item: str, contained: Mapping[str, Mapping[str, Any]], notes: Notes) -> list[Option]:
    value_set = contained.get(reference[1:]) if isinstance(reference, str) and reference.startswith("#") else None
    if value_set is None:
        notes.left_out(
            item, "answerValueSet", "the value set is not inside the questionnaire. Add its values as options."
        )
        return []
    options = []
    compose, expansion = value_set.get("compose"), value_set.get("expansion")
    if isinstance(expansion, Mapping):
        found = [(entry, entry.get("system")) for entry in tables(expansion.get("contains"))]
    else:
        includes = tables(compose.get("include")) if isinstance(compose, Mapping) else []
        found = [(entry, include.get("system")) for include in includes for entry in tables(include.get("concept"))]
        rules = [key for include in includes for key in include if key not in ("system", "version", "concept")]
        if rules or (isinstance(compose, Mapping) and "exclude" in compose):
            notes.left_out(item, "answerValueSet", "only values that the value set lists one by one are taken")
    for entry, system in found:
        code, title = " ".join(text_of(entry.get("code")).split()), text_of(entry.get("display")).strip()
        for key in entry:
            if key not in ("system", "code", "display"):
                notes.left_out(item, f"answerValueSet, {key}", "only system, code and display are kept")
        if code:
            options.append(Option(code, title, system="".join(text_of(system).split())))
    notes.adapted(item, "answerValueSet", f"the {len(options)} values of the value set became options")
    return options


def _unique(options: list[Option], item: str, notes: Notes) -> tuple[Option, ...]:
    """Give each option a value of its own; if some are texts, all are."""
    if len({isinstance(option.value, str) for option in options}) > 1:
        notes.adapted(item, "answerOption", "numbers and texts are mixed; all values became texts")
        options = [_with_value(option, str(option.value)) for option in options]
    seen: set[str | int] = set()
    result = []
    for option in options:
        value, number = option.value, 2
        while value in seen and isinstance(option.value, str):
            value, number = f"{option.value}-{number}", number + 1
        if value in seen:
            notes.left_out(item, "answerOption", "an option that was listed before")
            continue
        if value != option.value:
            notes.adapted(item, "answerOption", "options with the same code got a number to tell them apart")
            option = _with_value(option, value)
        seen.add(value)
        result.append(option)
    return tuple(result)


def _with_value(option: Option, value: str | int) -> Option:
    code = option.code or str(option.value)
    return Option(value, option.title, help=option.help, sentence=option.sentence, system=option.system, code=code)


QUESTION_TYPES: Mapping[str, Kind] = {
    "boolean": "boolean",
    "integer": "integer",
    "decimal": "decimal",
    "quantity": "decimal",
    "date": "date",
    "dateTime": "date",
    "time": "text",
    "string": "text",
    "text": "text",
    "url": "text",
    "choice": "choice",
    "coding": "choice",
    "open-choice": "choice",
}
"""FHIR's type -> our kind; the types that are not here cannot be asked."""

_ADAPTED = {
    "quantity": "asked as a decimal in one unit",
    "dateTime": "asked as a day, without the time",
    "time": "asked as a text",
    "url": "asked as a text",
}
_EXPRESSIONS = ("calculatedExpression", "initialExpression", "answerExpression", "enableWhenExpression", "variable")


@dataclass
class Built:
    """The entries of a question, and what its surroundings need to know."""

    question: dict[str, Any]
    is_open: bool
    fewest_answers: int
    most_answers: int | None


def build_question(entry: Mapping[str, Any], name: str, options: tuple[Option, ...], notes: Notes) -> Built:
    """Return the entries of the question that a foreign item becomes."""
    foreign = str(entry.get("type"))
    kind = QUESTION_TYPES[foreign]
    constraint = entry.get("answerConstraint")
    is_open = foreign == "open-choice" or constraint in ("optionsOrString", "optionsOrType")
    if constraint == "optionsOrType":
        notes.adapted(name, "answerConstraint", "answers next to the options are asked as text")
    if foreign in _ADAPTED:
        notes.adapted(name, foreign, _ADAPTED[foreign])
    if options and kind != "choice":
        notes.adapted(name, "answerOption", f"a {foreign} with options is asked as a choice")
        kind = "choice"
    if kind == "choice" and not options:
        notes.adapted(name, foreign, "no options are known; asked as a text until you add them")
        kind, is_open = "text", False
    question: dict[str, Any] = {
        "id": name,
        "kind": kind,
        "options": options,
        "required": entry.get("required") is True,
        "multiline": foreign == "text",
    }
    if "maxLength" in entry:
        length = entry["maxLength"]
        if kind == "text" and isinstance(length, int) and not isinstance(length, bool):
            question["max_length"] = max(1, min(length, 20_000))
        else:
            notes.left_out(name, "maxLength", f"a {kind} has none")
    fewest, most = _take_extensions(entry, question, notes)
    computed = take_computed(entry)
    if computed is not None:
        question |= {"computed": computed, "read_only": entry.get("readOnly") is True}
    elif entry.get("readOnly") is True:
        notes.left_out(name, "readOnly", "only computed fields are read-only; people answer it here")
    return Built(question, is_open, fewest, most)


def _take_extensions(entry: Mapping[str, Any], question: dict[str, Any], notes: Notes) -> tuple[int, int | None]:
    """Read the extensions that we know; return the fewest and the most answers, where it is said."""
    name, kind = question["id"], question["kind"]
    units: list[str] = []
    fewest: int = 0
    most: int | None = None
    for url, extension in extensions_of(entry):
        value = value_of(extension)[1]
        whole = isinstance(value, int) and not isinstance(value, bool)
        taken = True
        if url == names.MAX_OCCURS and whole and entry.get("repeats") is True:
            most = value
        elif url == names.MIN_OCCURS and whole and entry.get("repeats") is True:
            fewest = value
        elif url in (names.UNIT, names.UNIT_OPTION) and kind in ("integer", "decimal"):
            units.append(_unit(value))
        elif url in (names.MIN_VALUE, names.MAX_VALUE):
            taken = _take_bound("low" if url == names.MIN_VALUE else "high", value, question)
        elif url == names.MAX_DECIMALS and kind == "decimal" and whole and 0 <= value <= 9:
            question["decimals"] = value
        elif url == names.STEP and kind == "decimal" and isinstance(value, int | float) and value > 0:
            question["step"] = value
        elif url == names.LABEL and value in LABELS:
            question["label"] = value
        elif url in (names.SENTENCE, names.SENTENCE_NO):
            question["sentence" if url == names.SENTENCE else "sentence_no"] = text_of(value)
        elif url == names.REPORTED and isinstance(value, bool):
            question["reported"] = value
        elif url == names.ORDERED and isinstance(value, bool):
            question["ordered"] = value and kind == "choice"
        else:
            taken = url == names.COMPUTED
        if not taken:
            notes.left_out(name, tail(url), _why(url))
    if len(set(units)) == 1:
        question["unit"] = units[0]
    elif units:
        notes.left_out(name, "unit", "several units are possible. Choose one and add it.")
    return fewest, most


def _why(url: str) -> str:
    if any(url.endswith(word) for word in _EXPRESSIONS):
        return "expressions are never run; the question is asked instead, or name a function of the closed set"
    if url == names.ITEM_CONTROL:
        return "how a question looks is decided by the form"
    return "an extension of questions that is not known here, or that does not fit"


def _unit(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    return " ".join((text_of(value.get("code")) or text_of(value.get("display"))).split())


def _take_bound(which: str, value: object, question: dict[str, Any]) -> bool:
    """Set a bound if it fits the kind; say whether it did."""
    fits: Mapping[str, Callable[[Any], bool]] = {
        "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
        "decimal": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
        "date": lambda v: isinstance(v, str) and len(v) == 10,
    }
    if isinstance(value, Mapping):  # R5 allows a quantity
        value = value.get("value")
    if question["kind"] not in fits or not fits[question["kind"]](value):
        return False
    question[which] = value
    return True


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
        """Note what a display item has next to its text."""
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

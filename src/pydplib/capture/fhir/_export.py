"""From a template to a FHIR Questionnaire, R4 or R5."""

from __future__ import annotations

import re
from typing import Any

from pydplib.capture.fhir import _names as names
from pydplib.capture.fhir._names import Version
from pydplib.capture.linter import check_template
from pydplib.capture.model import Check, Code, Computed, Condition, Group, Item, Option, Question
from pydplib.capture.template import Template


def questionnaire_to_fhir(template: Template, *, version: Version) -> dict[str, Any]:
    """Return a template as a FHIR Questionnaire; nothing of it is lost.

    What FHIR has no place for (privacy labels, sentences, computed fields, checks) is in extensions of
    our own, which other systems may ignore.

    Args:
        template: A template without linter errors.
        version: ``"R4"`` or ``"R5"``.

    Examples:
        >>> from pydplib.capture import builtin
        >>> resource = questionnaire_to_fhir(builtin("pirads-2.1"), version="R5")
        >>> resource["resourceType"], resource["title"]
        ('Questionnaire', 'MRI of the prostate, PI-RADS 2.1')
    """
    names.check_version(version)
    check_template(template)
    return _Exporter(template, version).resource()


def _extension(url: str, key: str, value: Any) -> dict[str, Any]:
    return {"url": url, f"value{key}": value}


def _call_extension(url: str, call: Computed | Check) -> dict[str, Any]:
    inside = [_extension("function", "String", call.function)]
    inside += [_extension("input", "String", name) for name in call.inputs]
    return {"url": url, "extension": inside}


class _Exporter:
    """One export: the template, the version, and the link ids taken so far."""

    def __init__(self, template: Template, version: Version) -> None:
        self.template = template
        self.version: Version = version
        self.taken = set(template.index.by_id)

    def resource(self) -> dict[str, Any]:
        template = self.template
        extensions = [_call_extension(names.CHECK, check) for check in template.checks]
        if template.person:
            extensions.append(_extension(names.PERSON, "String", template.person))
            extensions.append(_extension(names.MAX_REPORTS, "Integer", template.max_reports_per_person))
        if template.report_title:
            extensions.append(_extension(names.REPORT_TITLE, "String", template.report_title))
        resource: dict[str, Any] = {"resourceType": "Questionnaire", "id": template.id}
        if extensions:
            resource["extension"] = extensions
        resource["url"] = names.canonical(template)
        resource["version"] = template.version
        resource["name"] = _machine_name(template.id)
        resource |= {key: getattr(template, key) for key in ("title", "publisher") if getattr(template, key)}
        resource["status"] = "active"
        resource["subjectType"] = ["Patient"]
        if template.description:
            resource["description"] = template.description
        resource["item"] = [self.item(item) for item in template.items]
        return resource

    def item(self, item: Item) -> dict[str, Any]:
        entry: dict[str, Any] = {}
        extensions = self.group_extensions(item) if isinstance(item, Group) else _question_extensions(item)
        if extensions:
            entry["extension"] = extensions
        entry["linkId"] = item.id
        if item.codes:
            entry["code"] = [_code(code) for code in item.codes]
        if item.title:
            entry["text"] = item.title
        entry["type"] = "group" if isinstance(item, Group) else names.item_type(item, self.version)
        if item.enable_when:
            entry["enableWhen"] = [self.condition(condition) for condition in item.enable_when]
        if item.enable_behaviour:
            entry["enableBehavior"] = item.enable_behaviour
        children: list[dict[str, Any]] = [self.help_item(item)] if item.help else []
        if isinstance(item, Group):
            if item.min_repeats:
                entry["required"] = True
            if item.repeats:
                entry["repeats"] = True
            children += [self.item(child) for child in item.items]
        else:
            self.question(entry, item)
        if children:
            entry["item"] = children
        return entry

    def question(self, entry: dict[str, Any], question: Question) -> None:
        if question.required:
            entry["required"] = True
        if question.read_only:
            entry["readOnly"] = True
        if question.max_length is not None:
            entry["maxLength"] = question.max_length
        if question.options:
            entry["answerOption"] = [_answer_option(option) for option in question.options]

    def group_extensions(self, group: Group) -> list[dict[str, Any]]:
        extensions = [_call_extension(names.CHECK, check) for check in group.checks]
        if group.min_repeats:
            extensions.append(_extension(names.MIN_OCCURS, "Integer", group.min_repeats))
        if group.max_repeats is not None:
            extensions.append(_extension(names.MAX_OCCURS, "Integer", group.max_repeats))
        if group.sentence:
            extensions.append(_extension(names.SENTENCE, "String", group.sentence))
        return extensions

    def condition(self, condition: Condition) -> dict[str, Any]:
        entry = {"question": condition.question, "operator": condition.operator}
        if condition.operator == "exists":
            return entry | {"answerBoolean": condition.answer}
        target = self.template.question(condition.question)
        return entry | names.value_entry(target, condition.answer, prefix="answer")

    def help_item(self, item: Item) -> dict[str, Any]:
        """Return the help text as FHIR has it: a display item below, marked as help."""
        link_id = f"{item.id}.help"
        while link_id in self.taken:
            link_id += "_"
        self.taken.add(link_id)
        control = {"coding": [{"system": names.ITEM_CONTROL_SYSTEM, "code": "help"}]}
        return {
            "extension": [_extension(names.ITEM_CONTROL, "CodeableConcept", control)],
            "linkId": link_id,
            "text": item.help,
            "type": "display",
        }


def _question_extensions(question: Question) -> list[dict[str, Any]]:
    extensions = [_extension(names.LABEL, "Code", question.label)]
    if question.computed:
        extensions.append(_call_extension(names.COMPUTED, question.computed))
    if question.unit:
        extensions.append(_extension(names.UNIT, "Coding", {"system": names.UCUM, "code": question.unit}))
    if question.kind in ("integer", "decimal", "date"):
        key = names.VALUE_KEYS[question.kind]
        for url, bound in ((names.MIN_VALUE, question.low), (names.MAX_VALUE, question.high)):
            if bound is not None:
                extensions.append(_extension(url, key, bound))
    if question.decimals is not None:
        extensions.append(_extension(names.MAX_DECIMALS, "Integer", question.decimals))
    if question.step is not None:
        extensions.append(_extension(names.STEP, "Decimal", question.step))
    if question.ordered:
        extensions.append(_extension(names.ORDERED, "Boolean", True))
    if not question.reported:
        extensions.append(_extension(names.REPORTED, "Boolean", False))
    for url, text in ((names.SENTENCE, question.sentence), (names.SENTENCE_NO, question.sentence_no)):
        if text:
            extensions.append(_extension(url, "String", text))
    return extensions


def _answer_option(option: Option) -> dict[str, Any]:
    extensions = []
    if isinstance(option.value, int):
        extensions.append(_extension(names.OPTION_VALUE, "Integer", option.value))
    elif option.code:
        extensions.append(_extension(names.OPTION_VALUE, "String", option.value))
    for url, text in ((names.OPTION_HELP, option.help), (names.SENTENCE, option.sentence)):
        if text:
            extensions.append(_extension(url, "String", text))
    entry: dict[str, Any] = {"extension": extensions} if extensions else {}
    return entry | {"valueCoding": names.coding(option)}


def _code(code: Code) -> dict[str, str]:
    entry = {"system": code.system, "code": code.code, "display": code.display}
    return {key: value for key, value in entry.items() if value}


def _machine_name(name: str) -> str:
    """Return a name as FHIR wants it: a capital, then letters, digits and underscores."""
    words = re.findall(r"[A-Za-z0-9]+", name)
    joined = "".join(word[:1].upper() + word[1:] for word in words)
    return (joined if joined[:1].isalpha() else f"T{joined}")[:255]

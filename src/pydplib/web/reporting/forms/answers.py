"""A report form without a page: from posted fields to a draft, and from a draft to what the form shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast

from pydplib.capture import (
    Evaluation,
    Group,
    Problem,
    Question,
    Template,
    answers_from_fields,
    evaluate,
    field_name,
    pirads,
    report_text,
    visible_items,
)
from pydplib.capture.functions import CHECKS
from pydplib.capture.model import Check, Item
from pydplib.errors import ParameterError
from pydplib.web.reporting.differences import answer_in_words, singular

_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_MOST_PILLS, _LONGEST_PILL = 6, 32
_SCORES = ("pirads_category", "pirads_overall")

Draft = dict[str, object]
"""Answers as typed: what is visible and not computed; also what still has to be corrected."""


@dataclass(frozen=True, slots=True)
class FormResult:
    """A computed answer that is worth a place of its own.

    Args:
        title: What it is.
        value: The answer in words; empty while it cannot be worked out.
        score: The bare category of a PI-RADS result.
        phrase: What the category means (Table 1).
    """

    title: str
    value: str
    score: str = ""
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to correct or to look at, with the field it belongs to."""

    target: str
    label: str
    message: str
    severity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormState:
    """All that a page shows of a draft."""

    answers: Draft
    items: list[dict[str, object]] = field(repr=False)
    results: list[FormResult] = field(repr=False)
    text: str = field(repr=False)
    errors: list[Remark]
    warnings: list[Remark]
    scored: bool
    """Whether the template works a score out."""

    @property
    def seen_mark(self) -> str:
        """Name the warnings: whoever signs in spite of them says which ones were seen."""
        words = "\n".join(f"{remark.target} {remark.message}" for remark in self.warnings)
        return sha256(words.encode()).hexdigest()[:16] if words else ""


def element_id(path: tuple[str | int, ...]) -> str:
    """Return the id of a field's element in the page."""
    return f"f:{field_name(path)}"


def read_fields(template: Template, posted: Mapping[str, str]) -> Draft:
    """Return a posted form as answers: a decimal comma is understood, what no database can hold is taken out."""
    decimals = {question.id for _, question in template.index.questions() if question.kind == "decimal"}
    values: dict[str, object] = {}
    for name, value in posted.items():
        text = str(value).replace("\x00", "").encode("utf-8", "ignore").decode()
        if name.rsplit("/", 1)[-1] in decimals and _DECIMAL_COMMA.fullmatch(text):
            text = text.replace(",", ".")
        values[name] = text
    return answers_from_fields(template, values)


def tidy(template: Template, answers: object) -> Draft:
    """Return the draft that is kept: hidden and computed answers dropped, wrong ones kept to be corrected.

    Examples:
        >>> from pydplib.capture import builtin
        >>> tidy(builtin("pirads-2.1"), {"age": "abc", "histology": "no", "gleason_primary": "3", "year": "2018"})
        {'age': 'abc', 'histology': False}
    """
    return _collect(visible_items(template, answers))


def _collect(items: list[dict[str, Any]]) -> Draft:
    draft: Draft = {}
    for item in items:
        if item["kind"] == "group":
            draft |= _collect(item["items"])
        elif item["kind"] == "loop":
            if item["repetitions"]:
                draft[item["id"]] = [_collect(repetition["items"]) for repetition in item["repetitions"]]
        elif not item["computed"] and item["value"] is not None:
            draft[item["id"]] = item["value"]
    return draft


def take_step(template: Template, draft: Draft, step: str) -> Draft:
    """Add or remove a repetition: ``add:lesion``, ``remove:lesion/1``; any other step changes nothing.

    Examples:
        >>> from pydplib.capture import builtin
        >>> take_step(builtin("pirads-2.1"), {"lesion": [{"size": 9}]}, "add:lesion")
        {'lesion': [{'size': 9}, {}]}
    """
    verb, _, name = step.partition(":")
    if verb not in ("add", "remove") or not name:
        return draft
    steps = name.split("/")
    number = int(steps.pop()) if verb == "remove" and _is_number(steps[-1]) else None
    found = template.index.by_id.get(steps[-1]) if steps else None
    if found is None or not isinstance(found.item, Group) or not found.item.repeats:
        return draft
    level: Any = draft
    for outer, index in zip(steps[:-1:2], steps[1:-1:2], strict=False):
        repetitions = level.get(outer, [])
        if not _is_number(index) or int(index) >= len(repetitions):
            return draft
        level = repetitions[int(index)]
    repetitions = level.setdefault(steps[-1], [])
    if verb == "add" and len(repetitions) < (found.item.max_repeats or 1):
        repetitions.append({})
    elif number is not None and number < len(repetitions):
        del repetitions[number]
    if not repetitions:
        del level[steps[-1]]
    return draft


def fill_gaps(template: Template, draft: Draft) -> Draft:
    """Fill in what earlier answers tell and nobody has answered, such as the zone in which a lesion's sector lies.

    Examples:
        >>> from pydplib.capture import builtin
        >>> fill_gaps(builtin("pirads-2.1"), {"lesion": [{"sector": "mid-PZpl-R"}, {"sector": "US"}]})
        {'lesion': [{'sector': 'mid-PZpl-R', 'zone': 'PZ'}, {'sector': 'US'}]}
    """
    _fill_level(template.checks, template.items, draft)
    return draft


def _fill_level(checks: Sequence[Check], items: Sequence[Item], level: Draft) -> None:
    for check in checks:
        proposes = CHECKS[check.function].proposes if check.function in CHECKS else None
        *given, last = check.inputs
        if proposes is not None and level.get(last) is None and all(level.get(name) is not None for name in given):
            try:
                found = proposes(*(level[name] for name in given))
            except ParameterError:  # an answer that is still to be corrected
                found = None
            if found is not None:
                level[last] = found
    for item in items:
        if isinstance(item, Group):
            inner = level.get(item.id, []) if item.repeats else [level]
            for repetition in inner if isinstance(inner, list) else []:
                _fill_level(item.checks, item.items, repetition)


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 6


def form_state(template: Template, answers: object, *, complete: bool = False) -> FormState:
    """Return what the form shows for these answers.

    Args:
        template: The template as forms use it.
        answers: The draft.
        complete: Whether gaps are errors: after somebody tried to sign.
    """
    items = visible_items(template, answers, purpose="save" if complete else "draft")
    draft = _collect(items)
    evaluation = evaluate(template, draft, purpose="save" if complete else "draft")
    remarks = [remark_on(template, problem) for problem in evaluation.problems]
    return FormState(
        answers=draft,
        items=_dress(template, items, _branching(template)),
        results=results_of(template, evaluation),
        text=report_text(template, draft),
        errors=[remark for remark in remarks if remark.severity == "error"],
        warnings=[remark for remark in remarks if remark.severity == "warning"],
        scored=any(q.computed is not None and q.computed.function in _SCORES for _, q in template.index.questions()),
    )


def remark_on(template: Template, problem: Problem) -> Remark:
    """Return a problem with the id of its field and the repetition it is in."""
    words = []
    for step, number in zip(problem.path, problem.path[1:], strict=False):
        if isinstance(number, int) and isinstance(step, str):
            found = template.index.by_id.get(step)
            name = singular(found.item) if found and isinstance(found.item, Group) else step
            words.append(f"{name} {number + 1}")
    return Remark(element_id(problem.path), ", ".join(words), problem.message, problem.severity)


def results_of(template: Template, evaluation: Evaluation) -> list[FormResult]:
    """Return the scores of a report: the overall one first, then those of each repetition."""
    found: list[FormResult] = []
    for question, value, prefix in _computed_answers(template, evaluation.answers):
        function = question.computed.function if question.computed else ""
        if function not in _SCORES:
            continue
        shown = pirads.PHRASES.get(value, "") if isinstance(value, int) else ""
        result = FormResult(
            prefix + question.text, answer_in_words(question, value), str(value) if shown else "", shown
        )
        found.insert(0, result) if function == "pirads_overall" else found.append(result)
    return found


def _computed_answers(template: Template, answers: Draft) -> Iterator[tuple[Question, Any, str]]:
    def walk(items: Any, table: Draft, prefix: str) -> Iterator[tuple[Question, Any, str]]:
        for item in items:
            if isinstance(item, Group):
                if not item.repeats:
                    yield from walk(item.items, table, prefix)
                for number, repetition in enumerate(
                    cast("list[Draft]", table.get(item.id, [])) if item.repeats else [], start=1
                ):
                    yield from walk(item.items, repetition, f"{singular(item)} {number}: ")
            elif item.computed is not None and item.id in table:
                yield item, table[item.id], prefix

    yield from walk(template.items, answers, "")


def headline(template: Template) -> Question | None:
    """Return the question whose answer stands for a report in lists: its overall score.

    Examples:
        >>> from pydplib.capture import builtin
        >>> headline(builtin("pirads-paper")).id
        'pirads'
    """
    outer = [question for place, question in template.index.questions() if not place.loops]
    for question in outer:
        if question.computed and question.computed.function == "pirads_overall":
            return question
    named = [question for question in outer if question.id == "pirads"]
    computed = [question for question in outer if question.computed and question.kind == "choice"]
    return next(iter([*named, *reversed(computed)]), None)


def _branching(template: Template) -> frozenset[str]:
    """Return the questions on which others depend, or that fill in others: after these the form may change."""
    groups = [place.item for place in template.index.places if isinstance(place.item, Group)]
    checks = [*template.checks, *(check for group in groups for check in group.checks)]
    filling = {name for check in checks if CHECKS[check.function].proposes for name in check.inputs[:-1]}
    shown = {condition.question for place in template.index.places for condition in place.item.enable_when}
    return frozenset(filling | shown)


def _dress(template: Template, items: list[dict[str, Any]], branching: frozenset[str]) -> list[dict[str, Any]]:
    """Add what only a page needs: ids, the kind of control, keys for choices."""
    for item in items:
        if item["kind"] == "group":
            item["items"] = _dress(template, item["items"], branching)
            continue
        item["element"] = element_id(tuple(item["path"]))
        if item["kind"] == "loop":
            group = template.item(item["id"])
            item["one"] = singular(group) if isinstance(group, Group) else item["title"]
            for repetition in item["repetitions"]:
                repetition["name"] = field_name(tuple(repetition["path"]))
                repetition["items"] = _dress(template, repetition["items"], branching)
            continue
        item["branches"] = item["id"] in branching
        item["errors"] = [each for each in item["problems"] if each["severity"] == "error"]
        item["warnings"] = [each for each in item["problems"] if each["severity"] == "warning"]
        item["defined"] = any(option["help"] for option in item["options"])
        _choose_control(template, item)
    return items


def _choose_control(template: Template, item: dict[str, Any]) -> None:
    kind, value = item["kind"], item["value"]
    if item["computed"]:
        item["control"] = "computed"
        item["shown"] = "" if value is None else answer_in_words(template.question(item["id"]), value)
        return
    if kind == "boolean":
        item["options"] = [
            {"value": word, "title": word, "help": "", "chosen": value is truth}
            for word, truth in (("yes", True), ("no", False))
        ]
    options = item["options"]
    few = len(options) <= _MOST_PILLS and all(len(option["title"]) <= _LONGEST_PILL for option in options)
    if kind == "boolean" or (kind == "choice" and few):
        item["control"] = "pills"
        for option, key in zip(options, _keys(options), strict=True):
            option["key"] = key
            option["key_shown"] = not option["title"].lower().startswith(key)
        item["unanswered"] = not any(option["chosen"] for option in options)
    elif kind == "choice":
        item["control"] = "select"
    elif kind == "text":
        item["control"] = "textarea" if item["multiline"] else "text"
    else:
        item["control"] = "date" if kind == "date" else "number"


def _keys(options: list[dict[str, Any]]) -> list[str]:
    """Return one key per option: its first letter or digit, or its number where these are not all different."""
    firsts = [next((c for c in option["title"].lower() if c.isalnum()), "") for option in options]
    if len(set(firsts)) == len(firsts) and all(c.isascii() and c for c in firsts):
        return firsts
    return [str(number) for number in range(1, len(options) + 1)]

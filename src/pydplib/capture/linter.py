"""The template linter: every rule of a well-formed template; each finding names the item and the fix."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pydplib.capture.functions import CHECKS, FUNCTIONS, Function, Parameter
from pydplib.capture.model import (
    OPERATORS_OF_KIND,
    Check,
    Condition,
    Group,
    Item,
    Problem,
    Question,
    Value,
    errors_of,
    holds,
    shorten,
)
from pydplib.capture.patterns import PatternError, parse_pattern
from pydplib.capture.structure import Index, ItemPlace
from pydplib.capture.values import (
    BIGGEST_DECIMAL,
    BIGGEST_INTEGER,
    MOST_CHARACTERS,
    Unreadable,
    is_clean_text,
    read_value,
)
from pydplib.errors import TemplateError, did_you_mean

if TYPE_CHECKING:
    from pydplib.capture.template import Template


_TEMPLATE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9.\-]{0,63}")
_CODE = re.compile(r"\S+( \S+)*")  # FHIR's codes: single blanks inside, none at the ends
_ADDRESS = re.compile(r"[^\s|]*")
MOST_REPEATS = 1000


def lint_items(template: Template) -> Iterator[Problem]:
    """Look at each item by itself, and at the head of the template."""
    yield from _lint_head(template)
    for name in dict.fromkeys(template.index.duplicates):
        yield Problem("unique-id", name, f"The id '{shorten(name)}' is used more than once. Rename all but one item.")
    for place in template.index.places:
        item = place.item
        if not item.id or item.id != item.id.strip() or len(item.id) > 200 or set(item.id) & set("{}[]\n\t"):
            yield Problem(
                "id",
                item.id,
                f"The id '{shorten(item.id)}' must be a text of 1 to 200 characters without braces, brackets or "
                "blanks at the ends.",
            )
        if any(not _CODE.fullmatch(code.code) or not _ADDRESS.fullmatch(code.system) for code in item.codes):
            yield Problem(
                "code", item.id, f"Item '{shorten(item.id)}' has a code or system with blanks, or without code."
            )
        if isinstance(item, Group):
            yield from _lint_group(item)
        else:
            yield from _lint_question(item)


def _lint_head(template: Template) -> Iterator[Problem]:
    if not _TEMPLATE_ID.fullmatch(template.id):
        yield Problem("head", "", f"The template's id '{shorten(template.id)}' may have letters, digits, '-' and '.'.")
    if not template.version or not _ADDRESS.fullmatch(template.version):
        yield Problem("head", "", 'The template needs a version without blanks and "|", e.g. version = "1".')
    if not template.title.strip():
        yield Problem("head", "", "The template has no title. Add one: it heads the form and the report.")
    if not _ADDRESS.fullmatch(template.url):
        yield Problem("head", "", 'The url of the template has blanks or "|". Remove them.')
    if not template.items:
        yield Problem("empty", "", "The template has no items. Add a question.")
    if template.max_reports_per_person < 1:
        yield Problem("head", "", "max_reports_per_person must be at least 1.")
    if template.person:
        place = template.index.by_id.get(template.person)
        if place is None or isinstance(place.item, Group):
            hint = did_you_mean(template.person, [question.id for _, question in template.index.questions()])
            yield Problem("person", "", f"person names '{shorten(template.person)}', which is no question.{hint}")
        elif place.loops or place.item.enable_when or any(parent.enable_when for parent in place.parents):
            yield Problem(
                "person", place.item.id, f"Item '{place.item.id}' says whose report it is: ask it once and always."
            )
        elif not place.item.required:
            yield Problem("person", place.item.id, f"Item '{place.item.id}' says whose report it is: make it required.")
    elif template.max_reports_per_person != 1:
        yield Problem(
            "person", "", "max_reports_per_person needs person: name the question that says whose report it is."
        )


def _lint_group(group: Group) -> Iterator[Problem]:
    where = f"Group '{shorten(group.id)}'"
    if not group.items:
        yield Problem("empty", group.id, f"{where} has no items. Add a question or remove the group.")
    if group.repeats:
        if group.max_repeats is None:
            yield Problem(
                "repetitions",
                group.id,
                f"{where} repeats without a limit. Add max_repeats: it is public and bounds"
                " what one report can contribute.",
            )
        elif not 1 <= group.max_repeats <= MOST_REPEATS or not 0 <= group.min_repeats <= group.max_repeats:
            yield Problem("repetitions", group.id, f"{where} needs 0 <= min_repeats <= max_repeats <= {MOST_REPEATS}.")
    elif group.min_repeats or group.max_repeats is not None:
        yield Problem("repetitions", group.id, f"{where} has limits of repetition. Add repeats = true or remove them.")


def _lint_question(question: Question) -> Iterator[Problem]:
    where = f"Item '{shorten(question.id)}'"
    yield from _lint_options(question, where)
    yield from _lint_bounds(question, where)
    kind = question.kind
    if question.unit and kind not in ("integer", "decimal"):
        yield Problem("unit", question.id, f"{where} is a {kind}: only numbers have a unit. Remove it.")
    elif question.unit and not _CODE.fullmatch(question.unit):
        yield Problem("unit", question.id, f"{where} has a unit with blanks at its ends or in a row. Write it as UCUM.")
    if question.decimals is not None and not (kind == "decimal" and 0 <= question.decimals <= 9):
        yield Problem("decimals", question.id, f"{where}: decimals is a number from 0 to 9, for decimals only.")
    if question.step is not None and not (kind == "decimal" and 0 < question.step <= _width(question)):
        yield Problem("step", question.id, f"{where}: step is positive, at most the range, for decimals only.")
    if question.max_length is not None and not (kind == "text" and 1 <= question.max_length <= MOST_CHARACTERS):
        yield Problem(
            "max-length", question.id, f"{where}: max_length is a number from 1 to {MOST_CHARACTERS}, for texts only."
        )
    if question.multiline and kind != "text":
        yield Problem("multiline", question.id, f"{where} is a {kind}: only texts have several lines.")
    if question.sentence_no and kind != "boolean":
        yield Problem("sentence", question.id, f"{where} is a {kind}: sentence_no is for yes/no questions.")
    if kind == "text" and question.label != "identifier":
        yield Problem(
            "label",
            question.id,
            f"{where} is a free text labelled '{question.label}', but people write names into texts. "
            "Label it 'identifier', or make it a choice.",
            severity="warning",
        )
    if not question.title:
        yield Problem("title", question.id, f"{where} has no title, so forms show its id. Add one.", severity="warning")


def _lint_options(question: Question, where: str) -> Iterator[Problem]:
    if question.kind != "choice":
        if question.options:
            yield Problem("options", question.id, f"{where} is a {question.kind}: only a choice has options.")
        if question.ordered:
            yield Problem("options", question.id, f"{where} is a {question.kind}: only a choice is ordered or not.")
        return
    if not question.options:
        yield Problem("options", question.id, f"{where} is a choice without options. Add the permitted answers.")
    for value, times in Counter(str(option.value) for option in question.options).items():
        if times > 1:
            yield Problem("options", question.id, f"{where} lists the option '{shorten(value)}' {times} times.")
    if len({isinstance(option.value, str) for option in question.options}) > 1:
        yield Problem(
            "options",
            question.id,
            f"{where} mixes texts and numbers as option values. Make all of them texts, e.g. '3' next to 'X'.",
        )
    for option in question.options:
        if isinstance(option.value, int) and abs(option.value) > BIGGEST_INTEGER:
            yield Problem("options", question.id, f"{where} has an option beyond {BIGGEST_INTEGER}.")
        words = (option.code or str(option.value), str(option.value))
        if not all(_CODE.fullmatch(word) for word in words) or not _ADDRESS.fullmatch(option.system):
            yield Problem(
                "options",
                question.id,
                f"{where} has an option whose value, code or system is empty or has blanks at its ends or in a row. "
                "Use short values and put the words into the title.",
            )


def _width(question: Question) -> float:
    low, high = question.low, question.high
    return high - low if isinstance(low, int | float) and isinstance(high, int | float) else math.inf


def _lint_bounds(question: Question, where: str) -> Iterator[Problem]:
    low, high, kind = question.low, question.high, question.kind
    if kind not in ("integer", "decimal", "date"):
        if low is not None or high is not None:
            yield Problem("bounds", question.id, f"{where} is a {kind}: only numbers and days have bounds.")
        return
    broken = False
    for name, bound in (("low", low), ("high", high)):
        if bound is not None and not _fits(kind, bound):
            broken = True
            example = {"integer": "18", "decimal": "0.5", "date": '"2017-01-01"'}[kind]
            yield Problem("bounds", question.id, f"{where}: {name} must be a {kind} such as {example}.")
    if not broken and low is not None and high is not None and not low < high:  # type: ignore[operator]
        yield Problem("bounds", question.id, f"{where} needs low < high. Swap or widen them.")
    if low is None or high is None:
        yield Problem(
            "bounds",
            question.id,
            f"{where} has no bounds, so nothing can be released about it. Add low and high: what is possible in "
            "the real world, never what the data show.",
            severity="warning",
        )


def _fits(kind: str, bound: object) -> bool:
    if kind == "date":
        try:
            return isinstance(bound, str) and dt.date.fromisoformat(bound).isoformat() == bound
        except ValueError:
            return False
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
        return False
    if kind == "integer":
        return isinstance(bound, int) and abs(bound) <= BIGGEST_INTEGER
    return abs(bound) <= BIGGEST_DECIMAL


def lint_conditions(template: Template) -> Iterator[Problem]:
    """Look at the conditions of every item."""
    index = template.index
    in_cycle = _find_cycles(index)
    for place in index.places:
        item = place.item
        where = f"{'Group' if isinstance(item, Group) else 'Item'} '{shorten(item.id)}'"
        if len(item.enable_when) > 1 and not item.enable_behaviour:
            yield Problem(
                "all-any",
                item.id,
                f"{where} has {len(item.enable_when)} conditions. Say whether all or any must hold: "
                'enable_behaviour = "all" or "any".',
            )
        if item.id in in_cycle:
            chain = " -> ".join(f"'{shorten(step)}'" for step in in_cycle[item.id])
            yield Problem("cycle", item.id, f"{where} depends on itself: {chain}. Remove one of these conditions.")
        for condition in item.enable_when:
            yield from _lint_condition(index, place, condition, where, cyclic=item.id in in_cycle)


def _lint_condition(
    index: Index, place: ItemPlace, condition: Condition, where: str, *, cyclic: bool
) -> Iterator[Problem]:
    name = shorten(condition.question)
    target = index.by_id.get(condition.question)
    if target is None:
        hint = did_you_mean(condition.question, [question.id for _, question in index.questions()])
        if not hint.startswith(" Did"):
            hint = " Name an earlier question."
        yield Problem("target", place.item.id, f"{where} is shown depending on '{name}', which does not exist.{hint}")
        return
    if isinstance(target.item, Group):
        yield Problem(
            "target", place.item.id, f"{where} is shown depending on '{name}', which is a group. Name a question."
        )
        return
    if not index.is_earlier(condition.question, place) and not cyclic:
        yield Problem(
            "earlier",
            place.item.id,
            f"{where} is shown depending on '{name}', which is asked later. Move '{name}' before it.",
        )
    yield from _lint_answer(place.item, target.item, condition, where)


def _lint_answer(item: Item, target: Question, condition: Condition, where: str) -> Iterator[Problem]:
    name = shorten(target.id)
    fitting = OPERATORS_OF_KIND[target.kind]
    if condition.operator not in fitting:
        yield Problem(
            "operator",
            item.id,
            f"{where} compares '{name}' by '{condition.operator}', but '{name}' is a {target.kind}. "
            f"Use one of: {', '.join(fitting)}.",
        )
        return
    answer = condition.answer
    if condition.operator == "exists":
        if not isinstance(answer, bool):
            yield Problem("answer", item.id, f"{where}: 'exists' on '{name}' is compared with true or false.")
        return
    if target.kind == "choice":
        if all(answer != option.value or isinstance(answer, bool) for option in target.options):
            values = ", ".join(str(option.value) for option in target.options[:12])
            yield Problem(
                "answer",
                item.id,
                f"{where} compares '{name}' with '{shorten(answer)}', which is not one of its options. "
                f"Use one of: {values}.",
            )
        return
    example = {"integer": "15", "decimal": "0.15", "boolean": "true", "date": '"2018-03-31"', "text": '"..."'}
    types: dict[str, tuple[type, ...]] = {
        "integer": (int,),
        "decimal": (int, float),
        "boolean": (bool,),
        "date": (str,),
        "text": (str,),
    }
    if not isinstance(answer, types[target.kind]) or (isinstance(answer, bool) and target.kind != "boolean"):
        yield Problem(
            "answer",
            item.id,
            f"{where} compares '{name}', a {target.kind}, with another kind of value. "
            f"Write it as {example[target.kind]}.",
        )
        return
    try:
        if read_value(target, answer) is None:
            raise Unreadable("cannot be empty; use the operator exists")
    except Unreadable as error:
        yield Problem("answer", item.id, f"{where} compares '{name}' with a value that it can never have: it {error}.")


def _find_cycles(index: Index) -> dict[str, tuple[str, ...]]:
    """Return for each item that depends on itself the chain of ids that leads back to it."""

    def needs(place: ItemPlace) -> list[str]:
        targets = [condition.question for condition in place.item.enable_when]
        if isinstance(place.item, Question) and place.item.computed:
            targets += place.item.computed.inputs
        # An item inside a group is shown only if the group is.
        return [name for name in [*targets, *(parent.id for parent in place.parents)] if name in index.by_id]

    edges = {place.item.id: needs(place) for place in index.places}
    cycles: dict[str, tuple[str, ...]] = {}
    for start in edges:
        path = _way_back(edges, start)
        if path:
            cycles[start] = path
    return cycles


def _way_back(edges: dict[str, list[str]], start: str) -> tuple[str, ...]:
    """Return a shortest chain from ``start`` to itself, or nothing."""
    came_from: dict[str, str] = {}
    front = [start]
    while front:
        following = []
        for name in front:
            for target in edges[name]:
                if target == start:
                    chain = [start, name]
                    while chain[-1] != start:
                        chain.append(came_from[chain[-1]])
                    return tuple(reversed(chain))
                if target not in came_from:
                    came_from[target] = name
                    following.append(target)
        front = following
    return ()


def lint_functions(template: Template) -> Iterator[Problem]:
    """Look at every computed field and every check."""
    index = template.index
    for place, question in index.questions():
        yield from _lint_read_only(question)
        if question.computed:
            yield from _lint_computed(index, place, question)
    yield from _lint_checks(index, template.checks, "", ())
    for place, group in index.groups():
        yield from _lint_checks(index, group.checks, group.id, place.inner_loops)


def _lint_read_only(question: Question) -> Iterator[Problem]:
    where = f"Item '{shorten(question.id)}'"
    if question.computed and not question.read_only:
        yield Problem("read-only", question.id, f"{where} is computed, so nobody may type it. Add read_only = true.")
    if question.computed and question.required:
        yield Problem(
            "read-only", question.id, f"{where} is computed, so nobody can supply it. Remove required from it."
        )
    if question.read_only and not question.computed:
        yield Problem(
            "read-only",
            question.id,
            f"{where} is read-only but not computed, so it can never be answered. Remove read_only.",
        )


def value_kind(question: Question) -> str:
    """Return the kind of a question's answers; a choice among whole numbers is an ``integer choice``."""
    whole = question.kind == "choice" and all(isinstance(option.value, int) for option in question.options)
    return "integer choice" if whole and question.options else question.kind


def _lint_computed(index: Index, place: ItemPlace, question: Question) -> Iterator[Problem]:
    computed = question.computed
    if computed is None:
        return
    where = f"Item '{shorten(question.id)}'"
    function = FUNCTIONS.get(computed.function)
    if function is None:
        hint = did_you_mean(computed.function, FUNCTIONS)
        yield Problem(
            "function",
            question.id,
            f"{where} is computed by the unknown function '{shorten(computed.function)}'.{hint}",
        )
        return
    if value_kind(question) not in function.result:
        kinds = " or ".join(sorted(function.result))
        yield Problem(
            "function", question.id, f"{where} is a {value_kind(question)}, but '{function.name}' gives a {kinds}."
        )
    for name in computed.inputs:
        if name in index.by_id and not index.is_earlier(name, place):
            yield Problem(
                "earlier",
                question.id,
                f"{where} is computed from '{shorten(name)}', which comes later. Move '{shorten(name)}' before it.",
            )
    findings = list(_lint_inputs(index, function.parameters, computed.inputs, question.id, where, place.loops))
    yield from findings
    if not findings and "decimal" not in value_kind(question) and _may_be_decimal(index, function, computed.inputs):
        yield Problem(
            "function", question.id, f"{where}: '{function.name}' of decimals is a decimal. Change the kind to decimal."
        )


def _may_be_decimal(index: Index, function: Function, inputs: Sequence[str]) -> bool:
    passes_on = function.name in ("sum", "minimum", "maximum", "difference", "product")
    return passes_on and any(index.by_id[name].item.kind == "decimal" for name in inputs)


def _lint_checks(index: Index, checks: tuple[Check, ...], group: str, loops: tuple[str, ...]) -> Iterator[Problem]:
    where = f"Group '{shorten(group)}'" if group else "The template"
    for check in checks:
        function = CHECKS.get(check.function)
        if function is None:
            hint = did_you_mean(check.function, CHECKS)
            yield Problem("check", group, f"{where} names the unknown check '{shorten(check.function)}'.{hint}")
            continue
        yield from _lint_inputs(index, function.parameters, check.inputs, group, where, loops)


def _lint_inputs(
    index: Index,
    parameters: tuple[Parameter, ...],
    inputs: tuple[str, ...],
    item: str,
    where: str,
    loops: tuple[str, ...],
) -> Iterator[Problem]:
    pooled = len(parameters) == 1 and parameters[0].many
    needed = sum(not parameter.optional for parameter in parameters)
    if not inputs or (not pooled and not needed <= len(inputs) <= len(parameters)):
        names = ", ".join(f"[{p.name}]" if p.optional else p.name for p in parameters)
        yield Problem("inputs", item, f"{where} gives {len(inputs)} inputs; the function reads: {names}.")
        return
    for position, name in enumerate(inputs):
        parameter = parameters[0] if pooled else parameters[position]
        place = index.by_id.get(name)
        if place is None:
            hint = did_you_mean(name, index.by_id)
            yield Problem("inputs", item, f"{where} reads '{shorten(name)}', which does not exist.{hint}")
            continue
        yield from _lint_input(place, parameter, item, where)
        repeated = index.is_repeated_for(name, loops)
        if repeated and not parameter.many and "group" not in parameter.kinds:
            yield Problem(
                "inputs",
                item,
                f"{where} reads '{shorten(name)}', which is answered once per '{place.loops[-1]}'. "
                "Use a function over all repetitions, such as maximum, sum or any_yes.",
            )


def _lint_input(place: ItemPlace, parameter: Parameter, item: str, where: str) -> Iterator[Problem]:
    target = place.item
    name = shorten(target.id)
    if isinstance(target, Group):
        if "group" not in parameter.kinds:
            yield Problem("inputs", item, f"{where} reads '{name}', which is a group. Name a question.")
        elif not target.repeats:
            yield Problem("inputs", item, f"{where} counts '{name}', which does not repeat. Name a repeating group.")
        return
    kind = value_kind(target)
    if kind not in parameter.kinds and not (kind == "integer choice" and "choice" in parameter.kinds):
        kinds = " or ".join(sorted(parameter.kinds))
        yield Problem(
            "inputs", item, f"{where} reads '{name}' as {parameter.name}: that is a {kind}, needed is a {kinds}."
        )
    elif parameter.values:
        strange = [str(option.value) for option in target.options if str(option.value) not in parameter.values]
        if strange:
            known = ", ".join(sorted(parameter.values)[:8])
            yield Problem(
                "inputs",
                item,
                f"{where} reads '{name}' as {parameter.name}, whose option '{shorten(strange[0])}' the function does "
                f"not know. It knows: {known}.",
            )


MOST_STEPS = 20_000
"""Beyond this the search gives up and says so; hand-written templates need some dozens."""


class _TooHard(Exception):
    """The search gave up."""


@dataclass
class _Search:
    """What is known about answers so far: conditions that one answer must meet, and questions left open."""

    index: Index
    must: dict[str, list[Condition]] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    steps: int = 0

    def show(self, goals: tuple[tuple[ItemPlace, Condition | None], ...]) -> bool:
        """Whether answers exist that meet all goals: an item shown (no condition), or a condition met."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _TooHard
        if not goals:
            return True
        (place, condition), rest = goals[0], goals[1:]
        if condition is not None:
            return self._meet(place, condition, rest)
        parents = tuple((self.index.by_id[parent.id], None) for parent in place.parents[-1:])
        own: tuple[Condition, ...] = place.item.enable_when
        if place.item.enable_behaviour == "any" and own:
            return any(self.show(((place, one), *parents, *rest)) for one in own)
        return self.show((*((place, one) for one in own), *parents, *rest))

    def _meet(
        self, asker: ItemPlace, condition: Condition, rest: tuple[tuple[ItemPlace, Condition | None], ...]
    ) -> bool:
        """Try to meet a condition by leaving its question open, then by answering it."""
        target = self.index.by_id[condition.question]
        name = target.item.id
        # Several repetitions of another group can give different answers, so they do not bind each other.
        several = self.index.is_repeated_for(name, asker.loops)
        if holds(condition, ()) and (several or name not in self.must):
            new = name not in self.empty and not several
            if new:
                self.empty.add(name)
            found = self.show(rest)
            if new and not found:
                self.empty.discard(name)
            if found:
                return True
        if (condition.operator == "exists" and not condition.answer) or (name in self.empty and not several):
            return False
        if several:
            return can_meet(target.item, [condition]) and self.show(((target, None), *rest))
        first = name not in self.must
        self.must.setdefault(name, []).append(condition)
        goals = ((target, None), *rest) if first else rest
        if can_meet(target.item, self.must[name]) and self.show(goals):
            return True
        self.must[name].pop()
        if not self.must[name]:
            del self.must[name]
        return False


def lint_reach(template: Template) -> Iterator[Problem]:
    """Find the leaves that no answers can show."""
    for place, question in template.index.questions():
        search = _Search(template.index)
        name = shorten(question.id)
        try:
            if search.show(((place, None),)):
                continue
        except _TooHard:
            yield Problem(
                "reach",
                question.id,
                f"Item '{name}' has conditions too entangled to prove that it can be shown. Simplify them.",
                severity="warning",
            )
            continue
        around: tuple[Item, ...] = (*place.parents, question)
        conditions = [c for item in around for c in item.enable_when]
        words = ", ".join(f"'{shorten(c.question)}' {c.operator} {shorten(c.answer, 20)}" for c in conditions[:4])
        yield Problem(
            "reach",
            question.id,
            f"Item '{name}' can never be shown: no answers meet its conditions ({words}) together. "
            "Loosen or remove one of them.",
        )


def can_meet(item: Item, conditions: list[Condition]) -> bool:
    """Whether one possible answer of a question meets all conditions.

    Examples:
        >>> age = Question(id="age", kind="integer", low=18, high=100)
        >>> can_meet(age, [Condition("age", ">", 60), Condition("age", "<", 62)])
        True
        >>> can_meet(age, [Condition("age", ">", 100)])
        False
    """
    if not isinstance(item, Question):
        return False
    return any(all(holds(condition, (value,)) for condition in conditions) for value in _candidates(item, conditions))


def _candidates(question: Question, conditions: list[Condition]) -> Iterator[Value]:
    """Go through answers, one from each stretch between the values that the conditions mention."""
    if question.kind == "choice":
        yield from (option.value for option in question.options)
        return
    if question.kind == "boolean":
        yield from (True, False)
        return
    known = [c.answer for c in conditions if c.operator != "exists"]
    if question.kind == "text":
        texts = {str(value) for value in known}
        yield from texts
        yield "x" + "".join(texts)  # longer than each of them, so different
        return
    low, high = question.low, question.high
    if question.kind == "date":
        days = [dt.date.fromisoformat(str(value)) for value in [*known, *(b for b in (low, high) if b is not None)]]
        near = {day.toordinal() + step for day in days or [dt.date(2000, 1, 1)] for step in (-1, 0, 1)}
        found: list[Value] = [dt.date.fromordinal(min(max(n, 1), dt.date.max.toordinal())).isoformat() for n in near]
    else:
        points = sorted({float(v) for v in [0, *known, *(b for b in (low, high) if b is not None)]})
        middles = [(a + b) / 2 for a, b in pairwise(points)]
        steps = [point + step for point in points for step in (-1, 0, 1)]
        whole = question.kind == "integer"
        found = [int(x) if whole else x for x in [*steps, *([] if whole else middles)]]
    for value in found:
        inside = (low is None or value >= low) and (high is None or value <= high)  # type: ignore[operator]
        if inside:
            yield value


OWN_PLACEHOLDERS = ("value", "unit", "title", "number")


def lint_texts(template: Template) -> Iterator[Problem]:
    """Look at every text of the template."""
    if not all(_is_fit(text) for text in _texts_of(template, skip="items")):
        yield Problem("text", "", f"A text of the template has control characters or more than {MOST_CHARACTERS}.")
    for place in template.index.places:
        item = place.item
        if not all(_is_fit(text) for text in _texts_of(item, skip="items")):
            yield Problem(
                "text", item.id, f"Item '{shorten(item.id)}' has a text with control characters or too many letters."
            )
        for pattern in _patterns_of(item):
            yield from _lint_pattern(template.index, place, pattern)


def _is_fit(text: str) -> bool:
    return is_clean_text(text) and len(text) <= MOST_CHARACTERS


def _texts_of(value: Any, skip: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _texts_of(each)
    elif is_dataclass(value):
        for field in fields(value):
            if field.name != skip:
                yield from _texts_of(getattr(value, field.name))


def _patterns_of(item: Item) -> list[str]:
    options = getattr(item, "options", ())
    found = [item.sentence, getattr(item, "sentence_no", ""), *(option.sentence for option in options)]
    return [pattern for pattern in found if pattern]


def _lint_pattern(index: Index, place: ItemPlace, pattern: str) -> Iterator[Problem]:
    where = f"The sentence of '{shorten(place.item.id)}'"
    try:
        parts = parse_pattern(pattern)
    except PatternError as error:
        yield Problem("sentence", place.item.id, f"{where} {error}")
        return
    is_group = place.item.kind == "group"
    for name in (name for part in parts for name in part.placeholders):
        if name in OWN_PLACEHOLDERS:
            if is_group and name in ("value", "unit"):
                yield Problem("sentence", place.item.id, f"{where} uses {{{name}}}, but a group has none.")
            continue
        target = index.by_id.get(name)
        if target is None or target.item.kind == "group":
            hint = did_you_mean(name, [*OWN_PLACEHOLDERS, *(question.id for _, question in index.questions())])
            yield Problem("sentence", place.item.id, f"{where} uses {{{shorten(name)}}}, which is no question.{hint}")
        elif index.is_repeated_for(name, place.inner_loops):
            yield Problem(
                "sentence",
                place.item.id,
                f"{where} uses {{{shorten(name)}}}, which is answered once per '{target.loops[-1]}'. "
                "Use a computed field over all repetitions.",
            )


__all__ = ["check_template", "lint"]


def lint(template: Template) -> tuple[Problem, ...]:
    """Return everything that is wrong with a template, errors and warnings, in the order of the form.

    Examples:
        >>> from pydplib.capture import Condition, Question, Template
        >>> packs = Question(id="packs", kind="integer", title="Packs", low=0, high=10,
        ...                  enable_when=(Condition("smokr", "=", True),))
        >>> smoker = Question(id="smoker", kind="boolean", title="Smoker")
        >>> for problem in lint(Template(id="visit", version="1", title="Visit", items=(smoker, packs))):
        ...     print(problem.message)
        Item 'packs' is shown depending on 'smokr', which does not exist. Did you mean 'smoker'?
    """
    findings = [*lint_items(template), *lint_conditions(template), *lint_functions(template), *lint_texts(template)]
    if not errors_of(findings):  # reachability can only be judged where the conditions make sense
        findings.extend(lint_reach(template))
    order = {place.item.id: place.order for place in reversed(template.index.places)}
    findings.sort(key=lambda problem: order.get(problem.item, -1))
    return tuple(findings)


def check_template(template: Template) -> None:
    """Raise ``TemplateError`` with every error that the linter finds; warnings pass.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> check_template(Template(id="visit", version="1", title="Visit", items=(
        ...     Question(id="zone", kind="choice", title="Zone"),)))
        Traceback (most recent call last):
        ...
        pydplib.errors.TemplateError: The template 'visit' has one error:
          - Item 'zone' is a choice without options. Add the permitted answers.
    """
    errors = errors_of(lint(template))
    if errors:
        lines = "\n".join(f"  - {problem.message}" for problem in errors)
        count = "one error" if len(errors) == 1 else f"{len(errors)} errors"
        raise TemplateError(f"The template '{template.id}' has {count}:\n{lines}")

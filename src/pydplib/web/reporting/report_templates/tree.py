"""The decision tree for readers: what is asked, when, within which limits, and how much an answer gives away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydplib.capture import Condition, Group, Problem, Question, Template, show_value
from pydplib.capture.model import Item
from pydplib.capture.values import bounds_in_words

_WORDS = {"=": "is", "!=": "is not", ">": "is above", "<": "is below", ">=": "is at least", "<=": "is at most"}
_KINDS = {
    "choice": "one of",
    "integer": "whole number",
    "decimal": "number",
    "boolean": "yes or no",
    "date": "day",
    "text": "text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One node of the tree as a page shows it."""

    id: str
    title: str
    kind: str
    facts: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    condition: str
    help: str
    label: str
    required: bool
    computed: str
    problems: tuple[Problem, ...]
    children: tuple[Branch, ...]


def build_tree(template: Template, problems: Iterable[Problem] = ()) -> tuple[Branch, ...]:
    """Return the tree of a template, what the linter found at its place.

    Examples:
        >>> from pydplib.capture import builtin
        >>> [branch.title for branch in build_tree(builtin("pirads-2.1"))][:2]
        ['Examination', 'Clinical facts']
    """
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        found.setdefault(problem.item, []).append(problem)

    def branch(item: Item) -> Branch:
        return Branch(
            id=item.id,
            title=item.text,
            kind=_kind(item),
            facts=tuple(_facts(item)),
            options=() if isinstance(item, Group) else tuple((str(o.value), o.text) for o in item.options),
            condition=in_words(template, item.enable_when, item.enable_behaviour),
            help=item.help,
            label="" if isinstance(item, Group) else item.label,
            required=not isinstance(item, Group) and item.required,
            computed=_computed(template, item),
            problems=tuple(found.get(item.id, ())),
            children=tuple(branch(child) for child in item.items) if isinstance(item, Group) else (),
        )

    return tuple(branch(item) for item in template.items)


def in_words(template: Template, conditions: Iterable[Condition], behaviour: str = "all") -> str:
    """Say when an item is shown.

    Examples:
        >>> from pydplib.capture import builtin
        >>> template = builtin("pirads-2.1")
        >>> in_words(template, template.question("gleason").enable_when)
        'Is a Gleason score known? is yes'
    """
    joined = " or " if behaviour == "any" else " and "
    return joined.join(_one(template, condition) for condition in conditions)


def _one(template: Template, condition: Condition) -> str:
    place = template.index.by_id.get(condition.question)
    title = place.item.text if place else condition.question
    if condition.operator == "exists":
        return f"{title} is {'answered' if condition.answer else 'not answered'}"
    item = place.item if place else None
    shown = show_value(item, condition.answer) if isinstance(item, Question) else str(condition.answer)
    return f"{title} {_WORDS[condition.operator]} {shown}"


def _kind(item: Item) -> str:
    if isinstance(item, Group):
        return f"repeats, up to {item.max_repeats or 1} times" if item.repeats else "group"
    return _KINDS[item.kind]


def _facts(item: Item) -> Iterable[str]:
    if isinstance(item, Group):
        return
    if item.low is not None or item.high is not None:
        yield bounds_in_words(item)
    elif item.unit:
        yield item.unit
    if item.decimals:
        yield f"{item.decimals} decimals"
    if item.max_length is not None:
        yield f"at most {item.max_length} characters"


def _computed(template: Template, item: Item) -> str:
    if isinstance(item, Group) or item.computed is None:
        return ""
    names = [template.index.by_id[name].item.text for name in item.computed.inputs if name in template.index.by_id]
    return f"{item.computed.function.replace('_', ' ')} from {', '.join(names)}" if names else item.computed.function

"""A template made ready for evaluation: every reference resolved once, so that a report takes microseconds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pydplib.capture.functions import CHECKS, FUNCTIONS, CheckFunction, Function
from pydplib.capture.linter import check_template
from pydplib.capture.model import Check, Computed, Condition, Group, Item, Question, Value, holds, join
from pydplib.capture.patterns import parse_pattern
from pydplib.capture.structure import Index, ItemPlace

if TYPE_CHECKING:
    from pydplib.capture.template import Template

Scope: TypeAlias = list[dict[str, Any]]
"""The answers accepted so far: those of the report, then those of each repetition being walked, inwards."""


@dataclass(frozen=True, slots=True)
class Reference:
    """How to find the answers of another item: how many levels are shared, then which loops to go through.

    Sharing as many levels as possible is what makes a condition look within its own repetition first.
    """

    item: str
    level: int
    loops: tuple[str, ...]
    counts: bool = False

    def find(self, scope: Scope) -> Sequence[Value]:
        """Return the answers: none, one, or one per repetition; for a group, its number of repetitions."""
        holder = scope[self.level]
        if not self.loops:
            value = holder.get(self.item)
            if self.counts:
                return (len(value) if value else 0,)
            return () if value is None else (value,)
        holders: list[Mapping[str, Any]] = [holder]
        for loop in self.loops:
            holders = [repetition for each in holders for repetition in each.get(loop, ())]
        if self.counts:
            return (sum(len(each.get(self.item, ())) for each in holders),)
        return tuple(each[self.item] for each in holders if self.item in each)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One item with its references resolved."""

    item: Item
    question: Question | None
    group: Group | None
    conditions: tuple[tuple[Condition, Reference], ...]
    function: Function | None
    inputs: tuple[Reference, ...]
    checks: tuple[tuple[Check, CheckFunction, tuple[Reference, ...]], ...]
    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplatePlan:
    """The whole template made ready, with the ids that belong to each level of repetition."""

    nodes: tuple[Node, ...]
    checks: tuple[tuple[Check, CheckFunction, tuple[Reference, ...]], ...]
    loops_of: Mapping[str, tuple[str, ...]]
    computed: frozenset[str]
    index: Index
    referred: frozenset[str] = frozenset()
    """Ids that a condition, a computed field, a check or a sentence of another item is about."""


@dataclass(frozen=True, slots=True)
class TemplateSection:
    """A group of the top level, or the questions between two groups: in many reports it is answered alike.

    Attributes:
        nodes: Its items.
        names: What stands in the answers for them: questions, and groups that repeat, in the order of the form.
        is_closed: Whether its answers alone say what is made of it: no condition or check looks at another section,
            nothing repeats, and no question takes free text.
    """

    nodes: tuple[Node, ...]
    names: tuple[str, ...]
    is_closed: bool


MOST_COMBINATIONS = 10_000
"""Combinations of a closed section's answers whose outcome is kept for later reports; further ones are worked out."""


def sections_of(plan: TemplatePlan, *, leave_out: Collection[str] = ()) -> tuple[TemplateSection, ...]:
    """Return the sections of a template, in the order of the form.

    Args:
        plan: The template, made ready.
        leave_out: Questions that play no part in what is made of the sections.
    """
    runs: list[list[Node]] = []
    for node in plan.nodes:
        if node.group is None and runs and runs[-1][0].group is None:
            runs[-1].append(node)
        else:
            runs.append([node])
    return tuple(_section(tuple(run), leave_out) for run in runs)


def _section(nodes: tuple[Node, ...], leave_out: Collection[str]) -> TemplateSection:
    names: list[str] = []
    looked_at: set[str] = set()
    is_plain = True

    def walk(below: tuple[Node, ...]) -> None:
        nonlocal is_plain
        for node in below:
            if node.item.id in leave_out:
                continue
            looked_at.update(reference.item for _, reference in node.conditions)
            looked_at.update(reference.item for reference in node.inputs)
            looked_at.update(reference.item for _, _, references in node.checks for reference in references)
            if node.question is not None:
                names.append(node.question.id)
                is_plain = is_plain and node.question.kind != "text"
            elif node.group is not None and node.group.repeats:
                names.append(node.group.id)
                is_plain = False
            else:
                walk(node.children)

    walk(nodes)
    return TemplateSection(nodes, tuple(names), is_plain and looked_at <= set(names))


def is_shown(node: Node, scope: Scope) -> bool:
    """Whether the conditions of an item hold for the answers accepted so far."""
    results = [holds(condition, reference.find(scope)) for condition, reference in node.conditions]
    return join(node.item.enable_behaviour, results)


def refer(index: Index, asker_loops: tuple[str, ...], target: str) -> Reference:
    """Resolve a reference from inside ``asker_loops`` to ``target``."""
    place = index.by_id[target]
    shared = 0
    while shared < min(len(asker_loops), len(place.loops)) and asker_loops[shared] == place.loops[shared]:
        shared += 1
    return Reference(target, shared, place.loops[shared:], counts=isinstance(place.item, Group))


def build_plan(template: Template) -> TemplatePlan:
    """Check the template, then resolve it."""
    check_template(template)
    index = template.index

    def checks(found: tuple[Check, ...], loops: tuple[str, ...]) -> Any:
        return tuple(
            (check, CHECKS[check.function], tuple(refer(index, loops, name) for name in check.inputs))
            for check in found
        )

    def node(item: Item) -> Node:
        place: ItemPlace = index.by_id[item.id]
        computed: Computed | None = item.computed if isinstance(item, Question) else None
        group = item if isinstance(item, Group) else None
        return Node(
            item=item,
            question=item if isinstance(item, Question) else None,
            group=group,
            conditions=tuple((c, refer(index, place.loops, c.question)) for c in item.enable_when),
            function=FUNCTIONS[computed.function] if computed else None,
            inputs=tuple(refer(index, place.loops, name) for name in computed.inputs) if computed else (),
            checks=checks(group.checks, place.inner_loops) if group else (),
            children=tuple(node(child) for child in group.items) if group else (),
        )

    # Groups that do not repeat add no level: their answers stand next to the others.
    loops_of = {
        place.item.id: place.loops for place in index.places if isinstance(place.item, Question) or place.item.repeats
    }
    computed = frozenset(question.id for _, question in index.questions() if question.computed)
    return TemplatePlan(
        nodes=tuple(map(node, template.items)),
        checks=checks(template.checks, ()),
        loops_of=loops_of,
        computed=computed,
        index=index,
        referred=_referred(template),
    )


def _referred(template: Template) -> frozenset[str]:
    found = {name for check in template.checks for name in check.inputs}
    for place in template.index.places:
        item = place.item
        found |= {condition.question for condition in item.enable_when}
        patterns = [item.sentence]
        if isinstance(item, Group):
            found |= {name for check in item.checks for name in check.inputs}
        else:
            found |= set(item.computed.inputs) if item.computed else set()
            patterns += [item.sentence_no, *(option.sentence for option in item.options)]
        found |= {
            name for pattern in patterns if pattern for part in parse_pattern(pattern) for name in part.placeholders
        }
    return frozenset(found)

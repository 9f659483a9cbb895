"""Rules about enableWhen: targets exist, come earlier, no cycle; operator and answer fit; all or any is said."""

from __future__ import annotations

from collections.abc import Iterator

from pydplib.capture.conditions import OPERATORS_OF_KIND
from pydplib.capture.model import Condition, Group, Item, Question, Template
from pydplib.capture.problems import Problem, shorten
from pydplib.capture.structure import Index, Place
from pydplib.capture.values import Unreadable, read_value
from pydplib.errors import did_you_mean


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


def _lint_condition(index: Index, place: Place, condition: Condition, where: str, *, cyclic: bool) -> Iterator[Problem]:
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

    def needs(place: Place) -> list[str]:
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

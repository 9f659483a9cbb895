"""What a form shows: the visible tree as plain values, names of fields, and the rules for a browser script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from pydplib.capture.evaluation import Answers, Purpose, Walk
from pydplib.capture.model import Group, Path, Problem, Question
from pydplib.capture.plan import Node, Scope, TemplatePlan, is_shown
from pydplib.capture.template import Template
from pydplib.capture.values import find_option, is_empty


def field_name(path: Path) -> str:
    """Return the name of a form field: its path, percent-encoded and joined by slashes.

    Examples:
        >>> field_name(("lesion", 0, "size"))
        'lesion/0/size'
    """
    return "/".join(quote(str(step), safe="") for step in path)


def answers_from_fields(template: Template, fields: Mapping[str, object]) -> Answers:
    """Turn a posted form (``lesion/0/size`` -> text) into nested answers; foreign fields are ignored.

    Repetitions are taken in the order of their numbers, gaps closed.

    Examples:
        >>> from pydplib.capture import Group, Question, Template
        >>> size = Question(id="size", kind="integer", title="Size", low=1, high=150)
        >>> lesion = Group(id="lesion", title="Lesion", items=(size,), repeats=True, max_repeats=4)
        >>> template = Template(id="scan", version="1", title="Scan", items=(lesion,))
        >>> answers_from_fields(template, {"lesion/0/size": "9", "lesion/3/size": "12", "csrf": "x"})
        {'lesion': [{'size': '9'}, {'size': '12'}]}
    """
    loops_of = template.plan.loops_of
    levels: dict[Path, Answers] = {(): {}}

    for name, value in fields.items():
        steps = [unquote(step) for step in name.split("/")]
        loops, numbers, key = tuple(steps[:-1:2]), steps[1::2], steps[-1]
        fits = len(steps) % 2 == 1 and all(n.isascii() and n.isdigit() and len(n) < 6 for n in numbers)
        if not fits or key not in loops_of or loops_of[key] != loops:
            continue
        path: Path = tuple(part for pair in zip(loops, map(int, numbers), strict=True) for part in pair)
        for end in range(2, len(path) + 1, 2):
            levels.setdefault(path[:end], {})
        levels[path][key] = value
    # Inner levels first, so that each is complete when it is put into its parent.
    for path in sorted(levels, key=lambda p: (-len(p), *(str(s).zfill(8) for s in p))):
        if path:
            levels[path[:-2]].setdefault(str(path[-2]), []).append(levels[path])
    return levels[()]


class _FormWalk(Walk):
    """A walk that also writes down what it showed."""

    def __init__(self, plan: TemplatePlan, purpose: Purpose) -> None:
        super().__init__(plan, purpose)
        self.levels: dict[Path, list[dict[str, Any]]] = {}
        self.shown: list[dict[str, Any]] = []

    def walk_level(
        self, nodes: tuple[Node, ...], raw: Mapping[str, Any], path: Path, loops: tuple[str, ...], scope: Scope
    ) -> None:
        outer, self.shown = self.shown, []
        self.levels[path] = self.shown
        super().walk_level(nodes, raw, path, loops, scope)
        self.shown = outer

    def walk(self, nodes: tuple[Node, ...], raw: Mapping[str, Any], path: Path, scope: Scope, seen: set[str]) -> None:
        for node in nodes:
            plain_group = node.group is not None and not node.group.repeats
            if not plain_group:
                super().walk((node,), raw, path, scope, seen)
            elif is_shown(node, scope):
                outer, self.shown = self.shown, []
                self.walk(node.children, raw, path, scope, seen)
                self.look(node.checks, scope, path)
                outer.append(_group_values(node.item, "group") | {"items": self.shown})
                self.shown = outer

    def answer(self, node: Node, question: Question, raw: object, path: Path, scope: Scope) -> None:
        super().answer(node, question, raw, path, scope)
        value = scope[-1].get(question.id)
        if value is None and node.function is None and not is_empty(raw):
            value = raw if isinstance(raw, str | int | float) else None  # shown again, to be corrected
        self.shown.append(_question_values(question, value, (*path, question.id)))

    def repeat(self, node: Node, group: Group, raw: object, path: Path, scope: Scope) -> None:
        super().repeat(node, group, raw, path, scope)
        most = group.max_repeats or 1
        given = min(len(raw), most) if isinstance(raw, list | tuple) else 0
        repetitions = []
        for number in range(max(given, min(group.min_repeats, most))):
            where: Path = (*path, group.id, number)
            if where not in self.levels:  # blank: what a new repetition would ask
                mark = len(self.problems)
                loops = (*self.plan.loops_of[group.id], group.id)
                self.walk_level(node.children, {}, where, loops, [*scope, {}])
                del self.problems[mark:]
            repetitions.append({"number": number + 1, "path": list(where), "items": self.levels[where]})
        self.shown.append(
            _group_values(group, "loop")
            | {
                "path": [*path, group.id],
                "name": field_name((*path, group.id)),
                "min_repeats": group.min_repeats,
                "max_repeats": most,
                "can_add": len(repetitions) < most,
                "problems": [],
                "repetitions": repetitions,
            }
        )


def _group_values(group: Any, kind: str) -> dict[str, Any]:
    return {"kind": kind, "id": group.id, "title": group.text, "help": group.help}


def _question_values(question: Question, value: Any, path: Path) -> dict[str, Any]:
    chosen = find_option(question, value) if question.kind == "choice" else None
    return {
        "kind": question.kind,
        "id": question.id,
        "path": list(path),
        "name": field_name(path),
        "title": question.text,
        "help": question.help,
        "unit": question.unit,
        "low": question.low,
        "high": question.high,
        "decimals": question.decimals,
        "max_length": question.max_length,
        "multiline": question.multiline,
        "required": question.required,
        "computed": question.computed is not None,
        "label": question.label,
        "value": value,
        "options": [
            {"value": option.value, "title": option.text, "help": option.help, "chosen": option is chosen}
            for option in question.options
        ],
        "problems": [],
    }


def visible_items(template: Template, answers: object, *, purpose: Purpose = "draft") -> list[dict[str, Any]]:
    """Return what the form shows for these answers, as plain values ready for a page or JSON.

    A question has its path, field name, value, bounds, options (``chosen`` marks the answer) and
    problems; a group has ``items``; a repeating group (kind ``loop``) has ``repetitions``, each with
    its own ``items``, blank ones included. What is hidden is not there.

    Args:
        template: A template without linter errors.
        answers: As for ``evaluate``.
        purpose: With ``draft``, gaps are no problems; with ``save``, they are.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> age = Question(id="age", kind="integer", title="Age", low=18, high=100)
        >>> shown = visible_items(Template(id="visit", version="1", title="Visit", items=(age,)), {"age": 17})
        >>> shown[0]["name"], shown[0]["value"], shown[0]["problems"]
        ('age', 17, [{'severity': 'error', 'message': 'Age must lie between 18 and 100.'}])
    """
    walk = _FormWalk(template.plan, purpose)
    evaluation = walk.run(answers)
    by_path: dict[Path, list[Problem]] = {}
    for problem in evaluation.problems:
        by_path.setdefault(problem.path, []).append(problem)
    _attach(walk.levels[()], by_path)
    return walk.levels[()]


def _attach(items: list[dict[str, Any]], by_path: dict[Path, list[Problem]]) -> None:
    for item in items:
        if "path" in item:
            found = by_path.get(tuple(item["path"]), [])
            item["problems"] = [{"severity": p.severity, "message": p.message} for p in found]
        _attach(item.get("items", []), by_path)
        for repetition in item.get("repetitions", []):
            _attach(repetition["items"], by_path)


def browser_rules(template: Template) -> dict[str, Any]:
    """Return the rules of branching as JSON-ready values that a small script can evaluate.

    An item is shown if every group in ``parents`` is shown and its own ``conditions`` hold, joined by
    ``behaviour``. A condition reads the answers of ``question``: keep the first ``level`` repetitions
    of the asking item, then go through all repetitions of ``loops``. ``exists`` compares whether there
    is an answer; ``!=`` holds if no answer is equal; the others hold if one answer fits. Hidden and
    empty answers do not count. Items come in the order of the form, so one pass is enough.

    Examples:
        >>> from pydplib.capture import Condition, Question, Template
        >>> template = Template(id="visit", version="1", title="Visit", items=(
        ...     Question(id="smoker", kind="boolean", title="Smoker"),
        ...     Question(id="packs", kind="integer", title="Packs", enable_when=(Condition("smoker", "=", True),)),
        ... ))
        >>> browser_rules(template)["items"][1]["conditions"]
        [{'question': 'smoker', 'kind': 'boolean', 'operator': '=', 'answer': True, 'level': 0, 'loops': []}]
    """
    plan = template.plan
    nodes: dict[str, Node] = {}

    def collect(found: tuple[Node, ...]) -> None:
        for node in found:
            nodes[node.item.id] = node
            collect(node.children)

    collect(plan.nodes)
    items = []
    for place in plan.index.places:
        item = place.item
        items.append(
            {
                "id": item.id,
                "kind": "loop" if isinstance(item, Group) and item.repeats else item.kind,
                "parents": [parent.id for parent in place.parents],
                "loops": list(place.loops),
                "computed": isinstance(item, Question) and item.computed is not None,
                "behaviour": item.enable_behaviour or "all",
                "conditions": [
                    {
                        "question": condition.question,
                        "kind": plan.index.by_id[condition.question].item.kind,
                        "operator": condition.operator,
                        "answer": condition.answer,
                        "level": reference.level,
                        "loops": list(reference.loops),
                    }
                    for condition, reference in nodes[item.id].conditions
                ],
            }
        )
    return {"template": template.id, "version": template.version, "items": items}

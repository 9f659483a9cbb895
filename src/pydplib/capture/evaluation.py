"""Evaluating answers: branching, repetition, computed fields, checks; hidden answers never survive."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydplib.capture.functions import compute, run_check
from pydplib.capture.model import Group, Path, Problem, Question, Value, errors_of, shorten
from pydplib.capture.plan import MOST_COMBINATIONS, Node, Scope, TemplatePlan, is_shown, sections_of
from pydplib.capture.template import Template
from pydplib.capture.values import Unreadable, is_empty, read_value

Purpose: TypeAlias = Literal["draft", "save", "import"]
"""``draft``: gaps are fine. ``save``: gaps are errors, hidden answers are dropped.
``import``: hidden answers and wrong computed values are errors too."""

Answers: TypeAlias = dict[str, Any]
"""Id -> plain value; a repeating group's id -> a list of such tables. Other groups add no level."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What became of a set of answers.

    Attributes:
        answers: Only what is visible and valid, with computed fields filled in.
        problems: What is wrong, as values that do not quote answers.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> age = Question(id="age", kind="integer", title="Age", low=18, high=100)
        >>> evaluate(Template(id="visit", version="1", title="Visit", items=(age,)), {"age": 17})
        Evaluation(1 errors, 0 warnings)
    """

    answers: Answers
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that stop signing or import."""
        return errors_of(self.problems)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems that ask for a second look."""
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    @property
    def ok(self) -> bool:
        """Whether nothing stops signing or import."""
        return not self.errors

    def __repr__(self) -> str:
        """Say how many, never what: answers are private."""
        return f"Evaluation({len(self.errors)} errors, {len(self.warnings)} warnings)"


def evaluate(template: Template, answers: object, *, purpose: Purpose = "save") -> Evaluation:
    """Evaluate answers against a template: branching, bounds, options, computed fields, checks.

    The server calls this on everything it receives. Whatever comes in, malformed as it may be,
    comes back as clean answers and a list of problems.

    Args:
        template: A template without linter errors.
        answers: Id -> answer (plain values, or texts as a form or a CSV file has them); a repeating
            group's id -> list of such tables.
        purpose: What the answers are for: ``draft``, ``save`` or ``import``.

    Raises:
        TemplateError: The template itself is not well formed.

    Examples:
        >>> from pydplib.capture import Condition, Question, Template
        >>> template = Template(id="visit", version="1", title="Visit", items=(
        ...     Question(id="smoker", kind="boolean", title="Smoker", required=True),
        ...     Question(id="packs", kind="integer", title="Packs per day", low=0, high=10,
        ...              enable_when=(Condition("smoker", "=", True),)),
        ... ))
        >>> evaluate(template, {"smoker": "no", "packs": 3}).answers
        {'smoker': False}
        >>> [p.code for p in evaluate(template, {"smoker": "no", "packs": 3}, purpose="import").problems]
        ['hidden']
    """
    return Walk(template.plan, purpose).run(answers)


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """Questions whose outcome depends on their own answers alone.

    Attributes:
        section: The number of the section that they stand in.
        names: Their ids, in the order of the form.
        steps: How they are read, for ``Evaluator.read_part``.
        is_whole: Whether it is the whole section; otherwise it is a single question of one.
    """

    section: int
    names: tuple[str, ...]
    steps: tuple[Any, ...]
    is_whole: bool


class Evaluator:
    """Evaluates many reports of one template as ``evaluate`` does; a text is read once per question.

    A report whose texts were all read before, and that has nothing to remark on, takes one pass over the questions;
    every other one is walked in full.

    Args:
        template: A template without linter errors.
        purpose: What the answers are for.
        spellings: Id -> how a text is brought into the form that ``evaluate`` reads, for files with other spellings.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> age = Question(id="age", kind="integer", title="Age", low=18, high=100)
        >>> evaluator = Evaluator(Template(id="a", version="1", title="A", items=(age,)), purpose="import")
        >>> evaluator({"age": "64"}).answers, evaluator({"age": "640"}).ok
        ({'age': 64}, False)
    """

    def __init__(
        self, template: Template, *, purpose: Purpose = "save", spellings: Mapping[str, Spelling] | None = None
    ) -> None:
        self.plan, self.purpose = template.plan, purpose
        self.spellings = spellings or {}
        self.reads: dict[tuple[str, str], Value | Unreadable | None] = {}
        self._clean: dict[str, dict[str, Value | None]] = {}  # id -> text as it came -> answer, where it has one
        self._kept = 0
        self._sections = self._sections_of(self.plan)
        self._names = {name for names, _, _ in self._sections or () for name in names}

    def __call__(self, answers: object) -> Evaluation:
        """Evaluate one report."""
        if self._sections is not None and type(answers) is dict and answers.keys() <= self._names:
            clean: Answers = {}
            if self._reads_all(self._sections, answers, clean) and not self._warns(self.plan.checks, [clean]):
                return Evaluation(clean, ())
        if self.spellings and isinstance(answers, Mapping):
            answers = {name: self._spelled(name, raw) for name, raw in answers.items()}
        return Walk(self.plan, self.purpose, self.reads).run(answers)

    def parts(self) -> tuple[TemplatePart, ...] | None:
        """Return the parts of the template that are answered independently; none if it is not made of such parts."""
        if self._sections is None or self.plan.checks:
            return None
        found: list[TemplatePart] = []
        for number, (names, steps, known) in enumerate(self._sections):
            if known is not None:
                found.append(TemplatePart(number, names, steps, is_whole=True))
                continue
            inside = steps
            if len(steps) == 1 and steps[0][4] is None and steps[0][0] is None and not steps[0][6]:
                inside = steps[0][5]
            if any(conditional is not None or question is None for conditional, _, _, _, question, _, _ in inside):
                return None
            found += [TemplatePart(number, (step[1],), (step,), is_whole=False) for step in inside]
        return tuple(found)

    def read_part(self, part: TemplatePart, texts: Mapping[str, str]) -> Answers | None:
        """Return the answers of one part; none if something about it needs a remark, which ``__call__`` makes.

        Args:
            part: One of ``parts``.
            texts: Id -> text as it came, of its questions.
        """
        found: Answers = {}
        return found if self._pass(part.steps, dict(texts), found, [found]) else None

    def _spelled(self, name: str, raw: object) -> object:
        spelling = self.spellings.get(name)
        return raw if spelling is None or type(raw) is not str else spelling(raw)

    def _sections_of(self, plan: TemplatePlan) -> list[_Section] | None:
        """Return the sections of a template; none if one of them needs more than one pass."""
        found: list[_Section] = []
        for section in sections_of(plan):
            steps = self._steps_of(section.nodes)
            if steps is None:
                return None
            found.append((section.names, steps, {} if section.is_closed else None))
        return found

    def _reads_all(self, sections: list[_Section], raw: dict[Any, Any], clean: Answers) -> bool:
        """Answer the questions; returns whether nothing needs a remark. A combination of texts is read once."""
        for names, steps, known in sections:
            if known is None:
                if not self._pass(steps, raw, clean, [clean]):
                    return False
                continue
            texts = tuple(map(raw.get, names))
            try:
                found = known.get(texts)
            except TypeError:  # a list, where a text should be
                return False
            if found is None:
                found = {}
                if not self._pass(steps, raw, found, [found]):
                    return False
                if len(known) < MOST_COMBINATIONS and all(len(text or "") <= _LONGEST_READ for text in texts):
                    known[texts] = found
            clean.update(found)
        return True

    def _steps_of(self, nodes: tuple[Node, ...]) -> tuple[_Step, ...] | None:
        """Return the questions of a section in the order of the form; none if it needs more than one pass."""
        steps: list[_Step] = []
        for node in nodes:
            if node.function is not None or (node.group is not None and node.group.repeats):
                return None
            inside = self._steps_of(node.children)
            if inside is None:
                return None
            question = node.question
            known = {} if question is None else self._clean.setdefault(question.id, {})
            name = "" if question is None else question.id
            is_needed = question is not None and question.required and self.purpose != "draft"
            steps.append((node if node.conditions else None, name, known, is_needed, question, inside, node.checks))
        return tuple(steps)

    def _pass(self, steps: tuple[_Step, ...], raw: dict[Any, Any], clean: Answers, scope: Scope) -> bool:
        """Answer the questions; returns whether nothing needs a remark."""
        for conditional, name, known, is_needed, question, inside, checks in steps:
            if conditional is not None and not is_shown(conditional, scope):
                if not _is_blank(name, inside, raw):
                    return False
                continue
            if question is None:
                if not self._pass(inside, raw, clean, scope) or (checks and self._warns(checks, scope)):
                    return False
                continue
            text = raw.get(name)
            try:
                value = known.get(text, _UNREAD) if text is not None else None
            except TypeError:
                return False
            if value is _UNREAD:
                if type(text) is not str:
                    return False
                try:
                    value = read_value(question, self._spelled(name, text))
                except Unreadable:
                    return False
                if self._kept < MOST_READS and question.kind != "text" and len(text) <= _LONGEST_READ:
                    known[text] = value
                    self._kept += 1
            if value is not None:
                clean[name] = value
            elif is_needed:
                return False
        return True

    def _warns(self, checks: Any, scope: Scope) -> bool:
        return any(
            run_check(function, [reference.find(scope) for reference in references])
            for _, function, references in checks
        )


def _is_blank(name: str, inside: tuple[_Step, ...], raw: Mapping[str, Any]) -> bool:
    """Return whether nothing was answered to an item that is not shown, and to the items in it."""
    return raw.get(name, "") == "" and all(_is_blank(below, further, raw) for _, below, _, _, _, further, _ in inside)


Spelling: TypeAlias = Callable[[str], str]
_Step: TypeAlias = tuple[Node | None, str, dict[str, "Value | None"], bool, Question | None, tuple[Any, ...], Any]
"""An item: its conditions, id, known texts, whether it is needed, its question, the items in it, its checks."""
_Section: TypeAlias = tuple[tuple[str, ...], tuple[_Step, ...], dict[tuple[Any, ...], Answers] | None]
"""The ids of a section, its items, and texts as they came -> answers, where a combination is worth keeping."""
_UNREAD: Any = object()
_LONGEST_READ = 60
MOST_READS = 50_000
"""Texts whose reading an evaluator keeps, of all questions together; further ones are read each time."""


class Walk:
    """One pass over the tree in the order of the form; conditions only look back, so one pass is enough."""

    def __init__(
        self,
        plan: TemplatePlan,
        purpose: Purpose,
        reads: dict[tuple[str, str], Value | Unreadable | None] | None = None,
    ) -> None:
        self.plan = plan
        self.reads = reads
        self.purpose: Purpose = purpose
        self.problems: list[Problem] = []

    def run(self, answers: object) -> Evaluation:
        """Evaluate the whole report."""
        clean: Answers = {}
        raw = self.as_table(answers, (), "The report")
        self.walk_level(self.plan.nodes, raw, (), (), [clean])
        self.look(self.plan.checks, [clean], ())
        return Evaluation(clean, tuple(self.problems))

    def as_table(self, raw: object, path: Path, what: str) -> Mapping[str, Any]:
        """Return a table of answers, or an empty one and a problem."""
        if isinstance(raw, Mapping):
            return raw
        if not is_empty(raw):
            self.add("shape", "", f"{what} must be a table of id and answer.", path)
        return {}

    def add(self, code: str, item: str, message: str, path: Path, *, warning: bool = False) -> None:
        """Note a problem."""
        self.problems.append(Problem(code, item, message, path, severity="warning" if warning else "error"))

    def walk_level(
        self, nodes: tuple[Node, ...], raw: Mapping[str, Any], path: Path, loops: tuple[str, ...], scope: Scope
    ) -> None:
        """Evaluate one level of repetition, then look at what was answered without being asked."""
        seen: set[str] = set()
        self.walk(nodes, raw, path, scope, seen)
        if len(seen) < len(raw) or not seen.issuperset(raw):
            self.look_at_rest(raw, path, loops, seen)

    def walk(self, nodes: tuple[Node, ...], raw: Mapping[str, Any], path: Path, scope: Scope, seen: set[str]) -> None:
        """Evaluate items in order; groups that do not repeat share the level of their parent."""
        for node in nodes:
            if node.conditions and not is_shown(node, scope):
                continue
            if node.question is not None:
                seen.add(node.question.id)
                self.answer(node, node.question, raw.get(node.question.id), path, scope)
            elif node.group is not None and node.group.repeats:
                seen.add(node.group.id)
                self.repeat(node, node.group, raw.get(node.group.id), path, scope)
            else:
                self.walk(node.children, raw, path, scope, seen)
                self.look(node.checks, scope, path)

    def answer(self, node: Node, question: Question, raw: object, path: Path, scope: Scope) -> None:
        """Read or compute one answer."""
        if self.reads is not None and node.function is None and type(raw) is str:
            known = self.reads.get((question.id, raw), _UNREAD)
            if known is not _UNREAD and type(known) is not Unreadable:
                if known is not None:
                    scope[-1][question.id] = known
                    return
                if not question.required:
                    return
        where = (*path, question.id)
        try:
            if node.function is not None:
                value = self.compute(node, question, scope)
                if self.purpose == "import":
                    self.compare(question, raw, value, where)
            else:
                value = read_value(question, raw) if self.reads is None else self.read(question, raw, self.reads)
        except Unreadable as error:
            hint = "; look at the answers it is worked out from" if node.function else ""
            self.add("value", question.id, f"{question.text} {error}{hint}.", where)
            return
        if value is not None:
            scope[-1][question.id] = value
        elif question.required and self.purpose != "draft":
            self.add("required", question.id, f"{question.text} is missing.", where)

    def read(self, question: Question, raw: object, reads: dict[Any, Any]) -> Value | None:
        """Read an answer as ``read_value`` does; of a text that was read before, the result is known."""
        if type(raw) is not str or len(raw) > _LONGEST_READ or question.kind == "text":
            return read_value(question, raw)
        key = (question.id, raw)
        if key in reads:
            found = reads[key]
        else:
            try:
                found = read_value(question, raw)
            except Unreadable as error:
                found = Unreadable(str(error))
            if len(reads) < MOST_READS:
                reads[key] = found
        if isinstance(found, Unreadable):
            raise Unreadable(*found.args)
        value: Value | None = found
        return value

    def compute(self, node: Node, question: Question, scope: Scope) -> Value | None:
        """Work out a computed field; the result passes the same checks as a typed answer."""
        if node.function is None:
            return None
        value = compute(node.function, [reference.find(scope) for reference in node.inputs])
        if isinstance(value, float) and question.kind == "decimal" and question.decimals is not None:
            value = round(value, question.decimals)
        return read_value(question, value)

    def compare(self, question: Question, raw: object, value: Value | None, where: Path) -> None:
        """Refuse an imported value of a computed field that differs from our own."""
        try:
            given = read_value(question, raw)
        except Unreadable:
            given = math.nan
        if given is None or given == value:
            return
        if isinstance(given, float) and isinstance(value, float) and math.isclose(given, value, rel_tol=1e-6):
            return
        self.add(
            "computed",
            question.id,
            f"{question.text} is worked out from other answers, and these give something else. "
            "Leave it out or correct the others.",
            where,
        )

    def repeat(self, node: Node, group: Group, raw: object, path: Path, scope: Scope) -> None:
        """Evaluate the repetitions of a group; those without any answer do not count."""
        repetitions: list[Answers] = []
        for number, each in enumerate(self.as_list(group, raw, path)):
            where: Path = (*path, group.id, number)
            if is_empty(each):
                continue
            mark = len(self.problems)
            table = self.as_table(each, where, f"{group.text} {number + 1}")
            clean: Answers = {}
            self.walk_level(node.children, table, where, (*self.plan.loops_of[group.id], group.id), [*scope, clean])
            if not any(key not in self.plan.computed for key in clean):
                # Nothing in it survives: as good as empty, so that what is required is not missed.
                self.problems[mark:] = [problem for problem in self.problems[mark:] if problem.code != "required"]
                continue
            self.look(node.checks, [*scope, clean], where)
            repetitions.append(clean)
        if repetitions:
            scope[-1][group.id] = repetitions
        if len(repetitions) < group.min_repeats and self.purpose != "draft":
            message = f"{group.text} is needed at least {group.min_repeats} times."
            self.add("repetitions", group.id, message, (*path, group.id))

    def as_list(self, group: Group, raw: object, path: Path) -> list[Any]:
        """Return the repetitions, at most as many as the template allows."""
        if is_empty(raw):
            return []
        if not isinstance(raw, list | tuple):
            self.add("shape", group.id, f"{group.text} must be a list, one table per repetition.", (*path, group.id))
            return []
        most = group.max_repeats or 1
        if len(raw) > most:
            self.add("repetitions", group.id, f"{group.text} is possible at most {most} times.", (*path, group.id))
        return list(raw[:most])

    def look(self, checks: Any, scope: Scope, path: Path) -> None:
        """Run checks; each warning stands at the item that it is about."""
        for check, function, references in checks:
            for place, message in run_check(function, [reference.find(scope) for reference in references]):
                item = check.inputs[place]
                self.add(check.function, item, message, (*path, item), warning=True)

    def look_at_rest(self, raw: Mapping[str, Any], path: Path, loops: tuple[str, ...], seen: set[str]) -> None:
        """Note answers that nobody asked for: hidden, in the wrong place, or unknown."""
        for key, value in raw.items():
            if key in seen or is_empty(value):
                continue
            name = shorten(key)
            home = self.plan.loops_of.get(key) if isinstance(key, str) else None
            if home == loops:
                if self.purpose == "import":
                    text = self.plan.index.by_id[key].item.text
                    self.add("hidden", key, f"{text} is not asked because of other answers. Remove it.", (*path, key))
            elif home is not None:
                inside = f"inside '{home[-1]}'" if home else "at the top"
                self.add("place", name, f"'{name}' belongs {inside}.", (*path, name))
            elif isinstance(key, str) and key in self.plan.index.by_id:
                self.add(
                    "place", name, f"'{name}' is a group that does not repeat: its answers stand next to it.", path
                )
            else:
                self.add("unknown", name, f"The template has no question '{name}'.", (*path, name))

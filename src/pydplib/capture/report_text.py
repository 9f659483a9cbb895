"""The report text: sentences made from the answers by the template's patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pydplib.capture.evaluation import Answers, TemplatePart, evaluate
from pydplib.capture.model import Group, Question, Value
from pydplib.capture.patterns import fill_pattern, parse_pattern
from pydplib.capture.plan import MOST_COMBINATIONS, Node, Scope, is_shown, sections_of
from pydplib.capture.template import Template
from pydplib.capture.values import find_option, show_value


def report_text(template: Template, answers: object) -> str:
    """Return the report as plain text: a heading per group, a paragraph per group or repetition.

    A question says its ``sentence`` (an option its own, a yes/no question ``sentence_no`` for no), or
    "title: value unit." where it has none; ``reported = false`` keeps it out. In a pattern, ``{value}``,
    ``{unit}``, ``{title}`` and ``{number}`` (of the repetition) stand for the answer at hand, and the id
    of another question for that one's answer; a part in square brackets is left out if an answer in it
    is missing. Hidden and invalid answers are never said.

    Args:
        template: A template without linter errors.
        answers: As for ``evaluate``; they are evaluated again here.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> psa = Question(id="psa", kind="decimal", title="PSA", unit="ng/mL", low=0, high=5000,
        ...                sentence="PSA was {value} {unit}.")
        >>> print(report_text(Template(id="lab", version="1", title="Laboratory", items=(psa,)), {"psa": 7.2}))
        Laboratory
        <BLANKLINE>
        PSA was 7.2 ng/mL.
    """
    return Writer(template).write(evaluate(template, answers, purpose="draft").answers)


class Writer:
    """Writes many reports of one template.

    A sentence that is about one answer alone is made once, the text of a section once for a combination of answers.

    Args:
        template: A template without linter errors.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> bph = Question(id="bph", kind="boolean", title="BPH")
        >>> writer = Writer(Template(id="mri", version="1", title="MRI", items=(bph,)))
        >>> writer.write({"bph": True}).splitlines()[-1]
        'BPH: yes.'
    """

    def __init__(self, template: Template) -> None:
        self.template = template
        self.said: dict[tuple[str, type, Value], str] = {}
        self._heading = [template.heading] if template.heading else []
        self._sentences: dict[str, dict[Value, str]] = {}
        self._kept = 0
        self._sections = self._sections_of()

    def write(self, clean: Answers) -> str:
        """Return the text of clean answers, as ``evaluate`` returns them."""
        texts = None if self._sections is None else self._texts(self._sections, clean)
        if texts is None:
            texts = _write(self.template.plan.nodes, [clean], "", dict, self.said)
        return "\n\n".join(self._heading + texts)

    def part(self, part: TemplatePart, clean: Answers) -> str | None:
        """Return the text of a part of the report: of a section, or the sentence of a question.

        None if that is about other answers. ``join_parts`` makes a report of them.

        Args:
            part: One of ``Evaluator.parts``.
            clean: Its answers.
        """
        if self._sections is None:
            return None
        _, steps, _ = self._sections[part.section]
        if not part.is_whole:
            inside = steps[0][4] if len(steps) == 1 and steps[0][1] is None else steps
            steps = tuple(step for step in inside if step[1] is not None and step[1].id in part.names)
        blocks = self._blocks(steps, clean, [clean])
        return None if blocks is None else "\n\n".join(blocks)

    def join_parts(self, parts: Sequence[TemplatePart]) -> Callable[[Sequence[str]], str]:
        """Return what makes a report of the texts of its parts.

        Args:
            parts: All parts of the template, as ``Evaluator.parts`` returns them.
        """
        places: dict[int, list[int]] = {}
        for place, part in enumerate(parts):
            places.setdefault(part.section, []).append(place)
        titles = [nodes[0].group.title if nodes[0].group else "" for nodes in self._nodes_of_sections()]
        sections = [
            (found[0], found[-1] + 1, "" if parts[found[0]].is_whole else titles[number])
            for number, found in places.items()
        ]

        def join(texts: Sequence[str]) -> str:
            said = list(self._heading)
            for begin, end, title in sections:
                text = texts[begin] if end == begin + 1 else " ".join(filter(None, texts[begin:end]))
                if text:
                    said.append(f"{title}\n{text}" if title else text)
            return "\n\n".join(said)

        return join

    def _nodes_of_sections(self) -> list[tuple[Node, ...]]:
        return [section.nodes for section in sections_of(self.template.plan)]

    def _sections_of(self) -> list[_Section] | None:
        """Return the sections of the template; none if one of them cannot be written in one pass."""
        found: list[_Section] = []
        silent = {question.id for _, question in self.template.index.questions() if not question.reported}
        for section in sections_of(self.template.plan, leave_out=silent):
            steps = self._steps_of(section.nodes)
            if steps is None:
                return None
            found.append((section.names, steps, {} if section.is_closed else None))
        return found

    def _texts(self, sections: list[_Section], clean: Answers) -> list[str] | None:
        """Return the text of each section that has one; none if a sentence is about more than its own answer."""
        texts: list[str] = []
        for names, steps, known in sections:
            answers = tuple(map(clean.get, names)) if known is not None else ()
            text = known.get(answers) if known is not None else None
            if text is None:
                blocks = self._blocks(steps, clean, [clean])
                if blocks is None:
                    return None
                text = "\n\n".join(blocks)
                if known is not None and len(known) < MOST_COMBINATIONS:
                    known[answers] = text
            if text:
                texts.append(text)
        return texts

    def _steps_of(self, nodes: tuple[Node, ...]) -> tuple[_Step, ...] | None:
        """Return the questions whose sentences are about their own answer alone; none if others are among them."""
        steps: list[_Step] = []
        for node in nodes:
            conditional = node if node.conditions else None
            if node.question is not None:
                if not node.question.reported:
                    continue
                steps.append((conditional, node.question, self._sentences.setdefault(node.question.id, {}), "", ()))
                continue
            inside = self._steps_of(node.children)
            if inside is None or node.group is None or node.group.repeats or node.group.sentence:
                return None
            steps.append((conditional, None, {}, node.group.title, inside))
        return tuple(steps)

    def _blocks(self, steps: tuple[_Step, ...], clean: Answers, scope: Scope) -> list[str] | None:
        """Return what ``_write`` does, in one pass over known sentences; none if one is not of that kind."""
        blocks: list[str] = []
        sentences: list[str] = []
        for conditional, question, known, title, inside in steps:
            if conditional is not None and not is_shown(conditional, scope):
                continue
            if question is None:
                if sentences:
                    blocks.append(" ".join(sentences))
                    sentences = []
                more = self._blocks(inside, clean, scope)
                if more is None:
                    return None
                if more and title:
                    more[0] = f"{title}\n{more[0]}"
                blocks += more
                continue
            value = clean.get(question.id)
            if value is None:
                continue
            text = known.get(value)
            if text is None:
                text = _alone(question, value)
                if text is None or "\n" in text:
                    return None
                if self._kept < _MOST_SAID and len(text) < _LONGEST_SAID:
                    known[value] = text
                    self._kept += 1
            if text:
                sentences.append(text)
        if sentences:
            blocks.append(" ".join(sentences))
        return blocks


_Section: TypeAlias = tuple[tuple[str, ...], tuple["_Step", ...], dict[tuple[Any, ...], str] | None]
"""The ids of a section, its items, and answers -> text, where a combination is worth keeping."""
_Step: TypeAlias = tuple[Node | None, Question | None, dict[Value, str], str, tuple[Any, ...]]
"""An item: its conditions, its question and the sentences of that, or else a group's title and the items in it."""


def _alone(question: Question, value: Value) -> str | None:
    """Return the sentence of an answer; none if it is about another one, or about the repetition it stands in."""
    pattern, own = _pattern(question, value, "")
    names = _names(pattern)
    return _say(question, pattern, own) if "number" not in names and names <= own.keys() else None


Words: TypeAlias = Callable[[], dict[str, str]]
"""Answers of the levels around as people read them, by id; asked for only where a sentence is about one."""

_MOST_SAID = 20_000
"""Sentences that a writer keeps."""
_LONGEST_SAID = 200


def _write(nodes: tuple[Node, ...], scope: Scope, number: str, outer: Words, said: dict[Any, str]) -> list[str]:
    """Write the items of one level: sentences run together, groups stand apart."""
    blocks: list[str] = []
    sentences: list[str] = []
    known: dict[str, str] | None = None

    def words() -> dict[str, str]:
        nonlocal known
        if known is None:  # most sentences are about their own answer alone
            known = outer() | _values_in_words(nodes, scope)
        return known

    def close() -> None:
        if sentences:
            blocks.append(" ".join(sentences))
            sentences.clear()

    for node in nodes:
        if node.conditions and not is_shown(node, scope):
            continue
        if node.question is not None:
            value = scope[-1].get(node.question.id)
            if value is None:
                continue
            key = (node.question.id, type(value), value)
            found = said.get(key)
            if found is None:
                found = _alone(node.question, value)
                if found is None:
                    pattern, own = _pattern(node.question, value, number)
                    found = _say(node.question, pattern, words() | own)
                elif len(said) < _MOST_SAID and len(found) < _LONGEST_SAID:
                    said[key] = found
            text = found
            if "\n" in text:
                close()
                blocks.append(text)
            elif text:
                sentences.append(text)
        elif node.group is not None:
            close()
            blocks.extend(_write_group(node, node.group, scope, number, words, said))
    close()
    return blocks


def _write_group(node: Node, group: Group, scope: Scope, number: str, known: Words, said: dict[Any, str]) -> list[str]:
    blocks: list[str] = []
    if group.repeats:
        for count, repetition in enumerate(scope[-1].get(group.id, []), start=1):
            inner = [*scope, repetition]
            blocks.extend(_with_opening(node, group, inner, str(count), known, said))
    else:
        blocks.extend(_with_opening(node, group, scope, number, known, said))
    if blocks and group.title:
        blocks[0] = f"{group.title}\n{blocks[0]}"
    return blocks


def _with_opening(node: Node, group: Group, scope: Scope, number: str, known: Words, said: dict[Any, str]) -> list[str]:
    """Write the inside of a group after its own sentence, on the same line."""
    blocks = _write(node.children, scope, number, known, said)
    if not group.sentence or (not blocks and not group.repeats):
        return blocks
    words = known() | _values_in_words(node.children, scope)
    opening = _tidy(fill_pattern(group.sentence, words | {"title": group.text, "number": number}))
    if blocks and "\n" not in blocks[0]:
        return [f"{opening} {blocks[0]}", *blocks[1:]]
    return [opening, *blocks]


def _values_in_words(nodes: tuple[Node, ...], scope: Scope) -> dict[str, str]:
    """Return the answers of this level as people read them, by id."""
    words: dict[str, str] = {}
    for node in nodes:
        if node.question is not None:
            value: Any = scope[-1].get(node.question.id)
            if value is not None:
                words[node.question.id] = show_value(node.question, value)
        elif node.group is not None and not node.group.repeats:
            words |= _values_in_words(node.children, scope)
    return words


def _pattern(question: Question, value: Value, number: str) -> tuple[str, dict[str, str]]:
    """Return the pattern of an answer's sentence, and what its own placeholders stand for; none if it is not told."""
    if not question.reported:
        return "", {}
    shown = show_value(question, value)
    option = find_option(question, value) if question.kind == "choice" else None
    if option is not None and option.sentence:
        pattern = option.sentence
    elif question.kind == "boolean" and (question.sentence or question.sentence_no):
        pattern = question.sentence if value else question.sentence_no
    else:
        pattern = question.sentence or _default_pattern(question, shown)
    return pattern, {"value": shown, "unit": question.unit, "title": question.text, "number": number}


def _names(pattern: str) -> set[str]:
    return {name for part in parse_pattern(pattern) for name in part.placeholders}


def _say(question: Question, pattern: str, words: Mapping[str, str]) -> str:
    text = fill_pattern(pattern, words)
    return text.strip() if question.multiline else _tidy(text)


def _default_pattern(question: Question, shown: str) -> str:
    if "\n" in shown:
        return "{title}:\n{value}"
    colon = "" if question.text.endswith(("?", ":")) else ":"
    stop = "" if shown.endswith((".", "!", "?")) and not question.unit else "."
    return f"{{title}}{colon} {{value}}[ {{unit}}]{stop}"


def _tidy(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()

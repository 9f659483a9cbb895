"""The report text: sentences made from the answers by the template's patterns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydplib.capture.evaluate import evaluate
from pydplib.capture.model import Group, Question, Template, Value
from pydplib.capture.patterns import fill_pattern
from pydplib.capture.plan import Node, Scope, is_shown
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
    clean = evaluate(template, answers, purpose="draft").answers
    blocks = [template.heading] if template.heading else []
    blocks.extend(_write(template.plan.nodes, [clean], "", {}))
    return "\n\n".join(blocks)


def _write(nodes: tuple[Node, ...], scope: Scope, number: str, outer: Mapping[str, str]) -> list[str]:
    """Write the items of one level: sentences run together, groups stand apart."""
    blocks: list[str] = []
    sentences: list[str] = []
    known = dict(outer) | _values_in_words(nodes, scope)

    def close() -> None:
        if sentences:
            blocks.append(" ".join(sentences))
            sentences.clear()

    for node in nodes:
        if not is_shown(node, scope):
            continue
        if node.question is not None:
            value = scope[-1].get(node.question.id)
            text = "" if value is None else _say(node.question, value, number, known)
            if "\n" in text:
                close()
                blocks.append(text)
            elif text:
                sentences.append(text)
        elif node.group is not None:
            close()
            blocks.extend(_write_group(node, node.group, scope, number, known))
    close()
    return blocks


def _write_group(node: Node, group: Group, scope: Scope, number: str, known: Mapping[str, str]) -> list[str]:
    blocks: list[str] = []
    if group.repeats:
        for count, repetition in enumerate(scope[-1].get(group.id, []), start=1):
            inner = [*scope, repetition]
            blocks.extend(_with_opening(node, group, inner, str(count), known))
    else:
        blocks.extend(_with_opening(node, group, scope, number, known))
    if blocks and group.title:
        blocks[0] = f"{group.title}\n{blocks[0]}"
    return blocks


def _with_opening(node: Node, group: Group, scope: Scope, number: str, known: Mapping[str, str]) -> list[str]:
    """Write the inside of a group after its own sentence, on the same line."""
    blocks = _write(node.children, scope, number, known)
    if not group.sentence or (not blocks and not group.repeats):
        return blocks
    words = dict(known) | _values_in_words(node.children, scope)
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


def _say(question: Question, value: Value, number: str, known: Mapping[str, str]) -> str:
    if not question.reported:
        return ""
    shown = show_value(question, value)
    option = find_option(question, value) if question.kind == "choice" else None
    if option is not None and option.sentence:
        pattern = option.sentence
    elif question.kind == "boolean" and (question.sentence or question.sentence_no):
        pattern = question.sentence if value else question.sentence_no
    else:
        pattern = question.sentence or _default_pattern(question, shown)
    own = {"value": shown, "unit": question.unit, "title": question.text, "number": number}
    text = fill_pattern(pattern, dict(known) | own)
    return text.strip() if question.multiline else _tidy(text)


def _default_pattern(question: Question, shown: str) -> str:
    if "\n" in shown:
        return "{title}:\n{value}"
    colon = "" if question.text.endswith(("?", ":")) else ":"
    stop = "" if shown.endswith((".", "!", "?")) and not question.unit else "."
    return f"{{title}}{colon} {{value}}[ {{unit}}]{stop}"


def _tidy(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()

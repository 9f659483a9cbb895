"""A signed report for readers: its groups and answers in words, its score with its phrase, its history."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydplib.capture import Group, Template, evaluate
from pydplib.capture.model import Item
from pydplib.web.reporting.differences import AnswerDifference, answer_in_words, differences, singular
from pydplib.web.reporting.forms.answers import FormResult, results_of
from pydplib.web.reporting.models import Report, ReportVersion
from pydplib.web.reporting.report_templates.versions import capturing_template


@dataclass(frozen=True, slots=True)
class FormSection:
    """A group with its answers in words."""

    title: str
    answers: list[tuple[str, str]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class FormWords:
    """A report as pages show it."""

    text: str = field(repr=False)
    results: list[FormResult] = field(repr=False)
    sections: list[FormSection] = field(repr=False)


@dataclass(frozen=True, slots=True)
class FormStep:
    """One version of the history, with what it changed."""

    version: ReportVersion
    changes: list[AnswerDifference] = field(repr=False)


def report_words(report: Report, version: ReportVersion | None = None) -> FormWords:
    """Return a signed report in words: the given version, or the latest."""
    shown = version or report.versions.select_related("template").first()
    assert shown is not None  # a signed report has a version
    template = capturing_template(shown.template)
    evaluation = evaluate(template, shown.answers, purpose="draft")
    return FormWords(shown.text, results_of(template, evaluation), sections(template, evaluation.answers))


def sections(template: Template, answers: dict[str, object]) -> list[FormSection]:
    """Return the answers of a report by group; repetitions are groups of their own.

    Examples:
        >>> from pydplib.capture import builtin
        >>> [part.title for part in sections(builtin("pirads-2.1"), {"age": 64, "lesion": [{"size": 9}]})]
        ['Clinical facts', 'Lesion 1']
    """
    found: list[FormSection] = []

    def walk(items: tuple[Item, ...], table: dict[str, Any], title: str) -> None:
        own = [
            (item.text, answer_in_words(item, table[item.id]))
            for item in items
            if not isinstance(item, Group) and table.get(item.id) is not None
        ]
        if own:
            found.append(FormSection(title, own))
        for item in items:
            if isinstance(item, Group):
                if not item.repeats:
                    walk(item.items, table, item.text)
                for number, repetition in enumerate(table.get(item.id, []) if item.repeats else [], start=1):
                    walk(item.items, repetition, f"{singular(item)} {number}")

    walk(template.items, answers, template.heading)
    return found


def history(report: Report) -> list[FormStep]:
    """Return all signed versions, the latest first, each with its differences to the one before."""
    versions = list(report.versions.select_related("author", "template").order_by("number"))
    steps = []
    for before, version in zip([None, *versions], versions, strict=False):
        template = capturing_template(version.template)
        changes = differences(template, before.answers, version.answers) if before else []
        steps.append(FormStep(version, changes))
    return steps[::-1]

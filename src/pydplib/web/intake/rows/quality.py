"""How good the data are: gaps, values outside the template, repeated reports, contradictions; found in one pass."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Any

from pydplib.capture import Question, Template
from pydplib.capture.evaluation import Walk
from pydplib.capture.model import Path
from pydplib.capture.plan import Node, Scope
from pydplib.web.intake.imports.duplicates import day_field
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report, TemplateVersion
from pydplib.web.reporting.report_templates.versions import value_columns


@dataclass(slots=True)
class FieldQuality:
    """What was found in one field."""

    title: str
    _: KW_ONLY
    present: int = 0
    missing: int = 0
    hidden: int = 0  # not asked because of other answers: no gap
    outside: int = 0
    unknown: int = 0
    by_period: Counter[str] = field(default_factory=Counter)  # missing, per quarter

    @property
    def share(self) -> float:
        """Missing answers among those that were asked for, in percent."""
        asked = self.present + self.missing
        return 100 * self.missing / asked if asked else 0.0

    @property
    def tone(self) -> str:
        """How the share looks."""
        return "danger" if self.share > 20 else "warning" if self.share > 5 else "good"


@dataclass(slots=True, kw_only=True)
class Quality:
    """What was found in all reports of a project."""

    reports: int = 0
    patients: int = 0
    fields: dict[str, FieldQuality] = field(default_factory=dict)
    duplicates: list[tuple[str, str]] = field(default_factory=list)  # (report, the one before)
    contradictions: Counter[str] = field(default_factory=Counter)  # message -> how often
    examples: dict[str, list[str]] = field(default_factory=dict)  # message -> keys of some reports
    periods: Counter[str] = field(default_factory=Counter)

    @property
    def quarters(self) -> list[str]:
        """The periods in order, the last twelve."""
        return sorted(self.periods)[-12:]

    @property
    def over_time(self) -> list[tuple[FieldQuality, list[float]]]:
        """Per field the share of gaps in each period, in percent; fields without any are left out."""
        return [
            (each, [100 * each.by_period[period] / self.periods[period] for period in self.quarters])
            for each in self.fields.values()
            if each.missing
        ]

    @property
    def faults(self) -> int:
        """Values that do not fit the template."""
        return sum(each.outside + each.unknown for each in self.fields.values())


def quality_of(project: Project) -> Quality:
    """Return the quality of a project's current data version; measured once per version."""
    current = project.template_version
    if current is None:
        return Quality()
    return _measured(project.key, project.data_version, current.key)


@lru_cache(maxsize=8)
def _measured(project: str, data_version: int, template: str) -> Quality:
    reports = Report.objects.filter(project__key=project, state=Report.State.SIGNED).order_by("id")
    rows = reports.values_list("key", "patient_id", "signed", "answers", "values").iterator(chunk_size=1000)
    return measure(TemplateVersion.objects.get(key=template).template, rows)


def measure(template: Template, rows: Iterable[tuple[str, int, dt.datetime | None, Any, Any]]) -> Quality:
    """Go once through reports (key, patient, signed, answers, values) and note what is wrong with them."""
    found = Quality()
    columns = [template.question(name) for name in value_columns(template)]
    for question in columns:
        found.fields[question.id] = FieldQuality(question.text)
    day, people, seen = day_field(template), set[int](), dict[tuple[int, str], str]()
    for key, patient, signed, answers, values in rows:
        found.reports += 1
        people.add(patient)
        period = _period(values.get(day) if day else None, signed)
        found.periods[period] += 1
        walk = _QualityColumn(template.plan, "save")
        evaluation = walk.run(answers)
        wrong = {problem.path[0] for problem in evaluation.errors if problem.code == "value" and len(problem.path) == 1}
        for question in columns:
            _note(found.fields[question.id], question, evaluation.answers, wrong, walk.asked, period)
        for problem in evaluation.warnings:
            found.contradictions[problem.message] += 1
            some = found.examples.setdefault(problem.message, [])
            if len(some) < 5:
                some.append(key)
        when = values.get(day) if day else None
        if when is not None and (first := seen.setdefault((patient, when), key)) != key:
            found.duplicates.append((key, first))
    found.patients = len(people)
    return found


class _QualityColumn(Walk):
    """An evaluation that also notes which questions of the report itself were asked at all."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: set[str] = set()

    def answer(self, node: Node, question: Question, raw: object, path: Path, scope: Scope) -> None:
        if not path:
            self.asked.add(question.id)
        super().answer(node, question, raw, path, scope)


def _note(
    each: FieldQuality,
    question: Question,
    clean: dict[str, object],
    wrong: set[str | int],
    asked: set[str],
    period: str,
) -> None:
    name = question.id
    if name in clean:
        each.present += 1
    elif name in wrong:
        each.present += 1
        if question.kind == "choice":
            each.unknown += 1
        else:
            each.outside += 1
    elif name in asked:
        each.missing += 1
        each.by_period[period] += 1
    else:
        each.hidden += 1


def _period(day: object, signed: dt.datetime | None) -> str:
    if isinstance(day, str) and len(day) == 10:
        text = day
    else:
        assert signed is not None
        text = signed.date().isoformat()
    return f"{text[:4]} Q{(int(text[5:7]) - 1) // 3 + 1}"

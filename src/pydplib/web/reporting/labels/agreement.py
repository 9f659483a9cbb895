"""How well the readers of the labelling queue agree: Cohen's kappa per question."""

from __future__ import annotations

from dataclasses import dataclass

from pydplib.capture import Agreement, Question, Template, reader_agreement
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Reading, TemplateVersion


@dataclass(frozen=True, slots=True)
class QuestionAgreement:
    """The agreement on one question."""

    question: Question
    agreement: Agreement


def agreement_of(project: Project) -> list[tuple[TemplateVersion, int, list[QuestionAgreement]]]:
    """Return per template version how many texts two readers finished with it, and their agreement per question."""
    readings = (
        Reading.objects.filter(text__project=project, text__readers=2)
        .exclude(finished=None)
        .exclude(number=Reading.JUDGE)
        .select_related("template")
        .order_by("text_id", "number")
    )
    pairs: dict[int, dict[int, Reading]] = {}
    for reading in readings:
        pairs.setdefault(reading.text_id, {})[reading.number] = reading
    by_template: dict[TemplateVersion, list[tuple[Reading, Reading]]] = {}
    for pair in pairs.values():
        if len(pair) == 2 and pair[1].template_id == pair[2].template_id:
            by_template.setdefault(pair[1].template, []).append((pair[1], pair[2]))
    found = []
    for version, both in sorted(by_template.items(), key=lambda entry: -entry[0].number):
        template: Template = version.template
        result = reader_agreement(template, [one.answers for one, _ in both], [other.answers for _, other in both])
        questions = [QuestionAgreement(template.question(name), value) for name, value in result.items() if value.n]
        found.append((version, len(both), questions))
    return found

"""The owner's exact view: counts and simple charts of the live data, with filters.

What is chosen is sent in the body of a form and kept in the owner's session, so that no value stands in an address or a
log; the audit line names columns, never values.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from pydplib.capture import Template
from pydplib.schema import Column
from pydplib.web.auditlog.log import record
from pydplib.web.intake.rows.exact import (
    MOST_FILTERS,
    ExactCondition,
    ExactQuestion,
    bad_parts,
    columns_for,
    count,
    departments_of,
    drawing,
    exact_rows,
    value_words,
    with_condition,
    without_condition,
    words_of,
)
from pydplib.web.projects.permissions import ProjectRequest, requires

_HELD = "exact_view"
_LONGEST = 40


@requires("manage_data")
@require_http_methods(["GET", "HEAD", "POST"])
def exact_view(request: ProjectRequest) -> HttpResponse:
    """Show counts of the project's reports; a POST changes what is shown."""
    current = request.project.template_version
    if current is None:
        return render(request, "intake/exact.html", {"template": None})
    columns = columns_for(current.template, departments_of(request.project))
    if request.method == "POST":
        held = request.session.get(_HELD, {})
        asked = _changed(request.POST, ExactQuestion.from_dict(held.get(request.project.key, {}), columns), columns)
        request.session[_HELD] = {**held, request.project.key: asked.to_dict()}
        return redirect("exact_view")
    asked = ExactQuestion.from_dict(request.session.get(_HELD, {}).get(request.project.key, {}), columns)
    named = {"by": asked.by, "split": asked.split, "filters": [each.column for each in asked.conditions]}
    record(request.user, "data.count", request.project.key, project=request.project, **named)
    found = count(current.template, exact_rows(request.project), asked, columns)
    used = {each.column for each in asked.conditions}
    context = {
        "template": current.template,
        "asked": asked,
        "columns": [(name, column.title or name) for name, column in columns.items()],
        "more_filters": [(name, column.title or name) for name, column in columns.items() if name not in used],
        "is_full": len(used) >= MOST_FILTERS,
        "filters": [
            _filter(current.template, place, each, columns[each.column]) for place, each in enumerate(asked.conditions)
        ],
        "found": found,
        "share": 100 * found.reports / found.all_reports if found.all_reports else 0,
        "drawn": drawing(current.template, found, asked, columns) if asked.by and found.series else None,
    }
    return render(request, "intake/exact.html", context)


def _changed(sent: QueryDict, before: ExactQuestion, columns: Mapping[str, Column]) -> ExactQuestion:
    """Return what is asked after a form was sent."""
    if sent.get("do") == "clear":
        return ExactQuestion()
    conditions = [
        {
            "column": each.column,
            "low": sent.get(f"low{place}", "")[:_LONGEST],
            "high": sent.get(f"high{place}", "")[:_LONGEST],
            "chosen": [text[:200] for text in sent.getlist(f"chosen{place}")][:200],
            "gaps": sent.get(f"gaps{place}", "") if sent.get(f"gaps{place}") in ("without", "only") else "",
        }
        for place, each in enumerate(before.conditions)
    ]
    said = {"by": sent.get("by", ""), "split": sent.get("split", ""), "unit": sent.get("unit", "")}
    asked = ExactQuestion.from_dict({**said, "conditions": conditions}, columns)
    if sent.get("remove") in columns:
        asked = without_condition(asked, sent.get("remove", ""))
    return with_condition(asked, sent.get("add", "")) if sent.get("add") in columns else asked


def _filter(template: Template, place: int, condition: ExactCondition, column: Column) -> dict[str, object]:
    """Return a filter for the page: its inputs are those of the column's kind."""
    words = value_words(template, condition.column, column)
    return {
        "place": place,
        "condition": condition,
        "title": column.title or condition.column,
        "words": words_of(condition, column),
        "bad": bad_parts(condition, column),
        "is_ranged": column.is_ranged,
        "input": "date" if column.widget == "date" else "text",
        "facts": column.facts,
        "choices": [
            (column.write(value), word, column.write(value) in condition.chosen)
            for value, word in zip(column.choices, words, strict=True)
        ],
    }

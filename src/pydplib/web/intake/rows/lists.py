"""Looking at rows: which reports a member may see, filters, pages, and what a look leaves in the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.db.models.fields.json import KeyTransform

from pydplib.capture import Question, Template, show_value
from pydplib.capture.values import Unreadable, read_value
from pydplib.web.patients.models import Patient
from pydplib.web.projects.models import Member, Project
from pydplib.web.reporting.models import Report
from pydplib.web.reporting.report_templates.versions import value_columns

PER_PAGE = 50
FIRST_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class RowFilter:
    """One condition on the rows: a field of the template and one of its possible values."""

    field: str
    value: object


def signed_reports_for(project: Project, member: Member) -> QuerySet[Report]:
    """Return the signed reports that a member may look at: owners all, radiologists those of their own department."""
    found = Report.objects.filter(project=project, state=Report.State.SIGNED)
    if member.can("manage_data"):
        return found
    return found.filter(department=member.department) if member.department else found.none()


def reports_about(patient: Patient, member: Member) -> list[Report]:
    """Return the signed reports about a patient that a member may see."""
    found = signed_reports_for(patient.project, member).filter(patient=patient)
    return list(found.select_related("author", "template"))


def departments_in(reports: QuerySet[Report]) -> list[str]:
    """Return the departments of reports, in order."""
    return [name for name in reports.order_by("department").values_list("department", flat=True).distinct() if name]


def questions_of(template: Template) -> dict[str, Question]:
    """Return the columns of the browser."""
    return {name: template.question(name) for name in value_columns(template)}


def read_filter(questions: Mapping[str, Question], field: str, text: str) -> RowFilter | None:
    """Return a condition, or none if the field or value is not one of the template's."""
    question = questions.get(field)
    if question is None or question.kind == "text" or not text.strip():
        return None
    try:
        value = read_value(question, text)
    except Unreadable:
        return None
    return None if value is None else RowFilter(field, value)


def filtered(reports: QuerySet[Report], chosen: RowFilter | None, department: str = "") -> QuerySet[Report]:
    """Apply the filters."""
    if chosen is not None:
        reports = reports.annotate(cell=KeyTransform(chosen.field, "values")).filter(cell=chosen.value)
    return reports.filter(department=department) if department else reports


def page_of(reports: QuerySet[Report], number: str | None) -> Page[Report]:
    """Return one page of reports, newest first."""
    ordered = reports.select_related("patient").order_by("-signed", "-id")
    return Paginator(ordered, PER_PAGE).get_page(number)


def rows_of(
    reports: Iterable[Report], questions: Mapping[str, Question], columns: Sequence[str]
) -> list[dict[str, object]]:
    """Return reports as rows for a table: each cell in words, with the class of its column."""
    shown = [(questions[name], _cell_class(questions[name])) for name in columns]
    return [
        {
            "report": report,
            "cells": [(cell_words(question, report.values.get(question.id)), kind) for question, kind in shown],
        }
        for report in reports
    ]


def cell_words(question: Question, value: object) -> str:
    """Return a cell as people read it, short."""
    if value is None:
        return ""
    words = show_value(question, cast("str | float", value))
    # Titles such as "4 (high: ...)" are for forms; a table has little room.
    return str(value) if question.kind == "choice" and len(words) > 30 else words


def _cell_class(question: Question) -> str:
    """Return the class of a column's cells: numbers stand right, days stay on one line."""
    return "num" if question.kind in ("integer", "decimal") else "nowrap" if question.kind == "date" else ""


def chosen_columns(asked: Sequence[str], questions: Mapping[str, Question]) -> list[str]:
    """Return the columns to show: those asked for that exist, or the first few."""
    known = [name for name in questions if name in set(asked)]
    return known or list(questions)[:FIRST_COLUMNS]

"""Structured reporting: templates, their linter, evaluation of answers, report text, FHIR, public schema, PI-RADS."""

from __future__ import annotations

from pydplib.capture import pirads
from pydplib.capture.agreement import ReaderAgreement as Agreement
from pydplib.capture.agreement import cohens_kappa, reader_agreement
from pydplib.capture.difference import Change, compare
from pydplib.capture.evaluation import Evaluation, Evaluator, evaluate
from pydplib.capture.fhir import (
    ImportedResponse,
    ImportedTemplate,
    Note,
    questionnaire_from_fhir,
    questionnaire_to_fhir,
    response_from_fhir,
    response_to_fhir,
)
from pydplib.capture.forms import answers_from_fields, browser_rules, field_name, visible_items
from pydplib.capture.functions import CHECKS, FUNCTIONS
from pydplib.capture.linter import check_template, lint
from pydplib.capture.model import Check, Code, Computed, Condition, Group, Option, Problem, Question
from pydplib.capture.report_text import Writer, report_text
from pydplib.capture.tables import Row, columns_of, evaluate_rows, to_row, to_rows, to_schema
from pydplib.capture.template import Template, builtin, builtin_names
from pydplib.capture.values import show_value

__all__ = [
    "CHECKS",
    "FUNCTIONS",
    "Agreement",
    "Change",
    "Check",
    "Code",
    "Computed",
    "Condition",
    "Evaluation",
    "Evaluator",
    "Group",
    "ImportedResponse",
    "ImportedTemplate",
    "Note",
    "Option",
    "Problem",
    "Question",
    "Row",
    "Template",
    "Writer",
    "answers_from_fields",
    "browser_rules",
    "builtin",
    "builtin_names",
    "check_template",
    "cohens_kappa",
    "columns_of",
    "compare",
    "evaluate",
    "evaluate_rows",
    "field_name",
    "lint",
    "pirads",
    "questionnaire_from_fhir",
    "questionnaire_to_fhir",
    "reader_agreement",
    "report_text",
    "response_from_fhir",
    "response_to_fhir",
    "show_value",
    "to_row",
    "to_rows",
    "to_schema",
    "visible_items",
]

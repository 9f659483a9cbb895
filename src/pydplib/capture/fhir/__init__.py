"""FHIR R4 and R5: templates as Questionnaire, answers as QuestionnaireResponse, both ways."""

from __future__ import annotations

from pydplib.capture.fhir._export import questionnaire_to_fhir
from pydplib.capture.fhir._import import ImportedTemplate, questionnaire_from_fhir
from pydplib.capture.fhir._items import QUESTION_TYPES
from pydplib.capture.fhir._names import CORE_EXTENSIONS, OWN_EXTENSIONS, Note, Version
from pydplib.capture.fhir._responses import ImportedResponse, response_from_fhir, response_to_fhir

__all__ = [
    "CORE_EXTENSIONS",
    "OWN_EXTENSIONS",
    "QUESTION_TYPES",
    "ImportedResponse",
    "ImportedTemplate",
    "Note",
    "Version",
    "questionnaire_from_fhir",
    "questionnaire_to_fhir",
    "response_from_fhir",
    "response_to_fhir",
]

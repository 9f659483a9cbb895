"""What is held about one person, and who looked at it: the answer to a patient who asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from pydplib.capture import Question, Template, show_value
from pydplib.web.auditlog.lines import naming
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.words import words_of
from pydplib.web.intake.snapshots import snapshots_with
from pydplib.web.patients.models import Patient
from pydplib.web.projects.models import Project
from pydplib.web.projects.policy.fields import current_template
from pydplib.web.reporting.models import FreeText, Report, ReportVersion
from pydplib.web.tables.models import PersonRow

_LOOKS = ("look", "find", "export", "identifiers", "access", "show", "read", "open", "fhir", "print")


def count_reports(patient: Patient) -> int:
    """Return how many reports there are about a patient."""
    return Report.objects.filter(patient=patient).count()


def access_report(patient: Patient, *, with_values: bool) -> dict[str, Any]:
    """Return everything that is held about a person, as plain values for a page and for JSON.

    Args:
        patient: The person.
        with_values: Whether identifiers and answers are part of it; else only what there is and who looked.
    """
    project = patient.project
    reports = list(Report.all_objects.filter(patient=patient).order_by("id").select_related("batch"))
    texts = FreeText.objects.filter(patient=patient).order_by("id")
    keys = keys_of(patient)
    content: dict[str, Any] = {
        "made": timezone.now().isoformat(timespec="seconds"),
        "controller": project.hospital.name,
        "project": project.name,
        "purpose": project.purpose,
        "legal_basis": project.legal_basis,
        "kept_until": project.retention_until.isoformat(),
        "patient": patient.key,
        "pseudonym": patient.pseudonym,
        "since": patient.created.isoformat(timespec="seconds"),
        "consent": patient.get_consent_display(),
        "reports": [_report(report, with_values=with_values) for report in reports],
        "tables": _tables(patient, with_values=with_values),
        "free_texts": [{"key": text.key, "added": text.added.isoformat(timespec="seconds")} for text in texts],
        "snapshots": [
            {
                "number": each.number,
                "table": each.table_title,
                "data_version": each.data_version,
                "published": each.published is not None,
            }
            for each in snapshots_with(project, patient.pseudonym)
        ],
        "history": history_of(project, keys),
    }
    if with_values:
        found = dict(patient.identifiers.values_list("field", "value"))
        template = current_template(project)
        content["identifiers"] = found
        content["identifiers_in_words"] = list(found.items()) if template is None else in_words(template, found)
        for held, text in zip(content["free_texts"], texts, strict=True):
            held["text"] = text.text
    return content


def _tables(patient: Patient, *, with_values: bool) -> list[dict[str, Any]]:
    """Return the further tables that hold rows of a person: which, how many, and the rows if they are asked for."""
    held: dict[int, dict[str, Any]] = {}
    for row in PersonRow.objects.filter(patient=patient).select_related("table").order_by("table_id", "id"):
        entry = held.setdefault(row.table_id, {"title": row.table.title, "rows": 0})
        entry["rows"] += 1
        if with_values:
            columns = row.table.schema.columns
            words = [
                [column.title or name, column.write(row.values[name])]
                for name, column in columns.items()
                if name in row.values
            ]
            entry.setdefault("values", []).append({"values": row.values, "in_words": words})
    return list(held.values())


def _report(report: Report, *, with_values: bool) -> dict[str, object]:
    held: dict[str, object] = {
        "key": report.key,
        "state": report.get_state_display(),
        "origin": report.get_origin_display(),
        "department": report.department,
        "created": report.created.isoformat(timespec="seconds"),
        "versions": [
            {
                "number": version.number,
                "time": version.time.isoformat(timespec="seconds"),
                "author": version.author.username,
                "reason": version.reason,
                **(_values(version) if with_values else {}),
            }
            for version in report.versions.order_by("number").select_related("author", "template")
        ],
    }
    if with_values and not held["versions"]:
        held["answers"] = report.answers
    return held


def _values(version: ReportVersion) -> dict[str, object]:
    template = version.template.template
    return {"answers": version.answers, "in_words": in_words(template, version.answers), "text": version.text}


def in_words(template: Template, answers: Mapping[str, Any], where: str = "") -> list[list[str]]:
    """Return answers as people read them: title and value, repetitions counted.

    Examples:
        >>> from pydplib.capture import builtin
        >>> in_words(builtin("pirads-paper"), {"bph": True, "prostatitis": "chr"})
        [['BPH', 'yes'], ['Prostatitis', 'chronic']]
    """
    pairs: list[list[str]] = []
    for name, value in answers.items():
        place = template.index.by_id.get(name)
        title = place.item.text if place is not None else name
        if isinstance(value, list):
            for number, table in enumerate(value, start=1):
                pairs += in_words(template, table, f"{title} {number}: ")
        elif place is not None and isinstance(place.item, Question):
            pairs.append([where + title, show_value(place.item, value)])
        else:
            pairs.append([where + title, str(value)])
    return pairs


def keys_of(patient: Patient) -> list[str]:
    """Return the keys of everything that is about a person: the patient, reports, texts, imports they came by."""
    reports = Report.all_objects.filter(patient=patient).order_by("id")
    batches = set(reports.exclude(batch=None).values_list("batch__key", flat=True))
    texts = FreeText.objects.filter(patient=patient).order_by("id").values_list("key", flat=True)
    return [patient.key, *reports.values_list("key", flat=True), *texts, *sorted(batches)]


def history_of(project: Project, keys: list[str]) -> list[dict[str, object]]:
    """Return the log lines about these keys: what was done with them, and every page that showed one of them."""
    lines = Line.objects.filter(naming(keys), project=project.key).order_by("number")
    return [
        {
            "time": line.time,
            "who": line.actor,
            "what": line.action,
            "in_words": words_of(line.action),
            "look": line.action.rpartition(".")[2] in _LOOKS,
        }
        for line in lines
    ]

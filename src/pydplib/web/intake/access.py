"""What is held about one person, and who looked at it: the answer to a patient who asks."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.utils import timezone

from pydplib.web.auditlog.models import Line
from pydplib.web.intake.models import Patient
from pydplib.web.intake.snapshots import snapshots_with
from pydplib.web.reporting.models import FreeText, Report

_LOOKS = ("look", "export", "identifiers", "access", "show", "read", "open", "fhir", "print")


def access_report(patient: Patient, *, with_values: bool) -> dict[str, Any]:
    """Return everything that is held about a person, as plain values for a page and for JSON.

    Args:
        patient: The person.
        with_values: Whether identifiers and answers are part of it; else only what there is and who looked.
    """
    project = patient.project
    reports = list(Report.all_objects.filter(patient=patient).order_by("id").prefetch_related("versions__author"))
    keys = [patient.key, *(report.key for report in reports)]
    texts = FreeText.objects.filter(patient=patient).order_by("id")
    keys += [text.key for text in texts]
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
        "free_texts": [{"key": text.key, "added": text.added.isoformat(timespec="seconds")} for text in texts],
        "snapshots": [
            {"number": each.number, "data_version": each.data_version, "published": each.published is not None}
            for each in snapshots_with(project, patient.pseudonym)
        ],
        "history": history_of(project, keys),
    }
    if with_values:
        content["identifiers"] = dict(patient.identifiers.values_list("field", "value"))
        for held, text in zip(content["free_texts"], texts, strict=True):
            held["text"] = text.text
    return content


def _report(report: Report, *, with_values: bool) -> dict[str, Any]:
    held: dict[str, Any] = {
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
                **({"answers": version.answers, "text": version.text} if with_values else {}),
            }
            for version in report.versions.order_by("number")
        ],
    }
    if with_values and not held["versions"]:
        held["answers"] = report.answers
    return held


def history_of(project: Any, keys: list[str]) -> list[dict[str, Any]]:
    """Return the log lines about these keys: what was done with them, and every page that showed one of them."""
    about = Q(subject__in=keys)
    for key in keys:
        about |= Q(details__contains=f'"{key}"')  # keys are random: no other text contains them
    lines = Line.objects.filter(about, project=project.key).order_by("number")
    return [
        {
            "time": line.time,
            "who": line.actor,
            "what": line.action,
            "look": line.action.rpartition(".")[2] in _LOOKS,
        }
        for line in lines
    ]

"""Complete answers to the PI-RADS 2.1 template, and how a browser without script posts them."""

from __future__ import annotations

from typing import Any

LESION = {
    "sector": "mid-PZpl-L",
    "zone": "PZ",
    "size": 12,
    "t2w": "4",
    "dwi": "4",
    "dce": "neg",
    "extension": "none",
}
COMPLETE = {
    "exam_date": "2018-03-31",
    "age": 64,
    "histology": "no",
    "prostate_volume": 45.5,
    "image_quality": "optimal",
    "lesion": [LESION],
    "other_findings": "Canary-7731 in the bladder.",
}


def as_fields(answers: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return answers as a form posts them."""
    fields: dict[str, Any] = {}
    for name, value in answers.items():
        if isinstance(value, list):
            for number, repetition in enumerate(value):
                fields |= as_fields(repetition, f"{prefix}{name}/{number}/")
        else:
            fields[prefix + name] = value
    return fields


def post(client: Any, report: Any, answers: dict[str, Any], *, do: str = "update", **more: Any) -> Any:
    """Post the form of a report as a browser without script does."""
    report.refresh_from_db()
    kind = "report" if report.state == "draft" else "correction"
    values = {"revision": report.revision, "kind": kind, "do": do, **as_fields(answers), **more}
    return client.post(f"/reports/{report.key}/edit", values)

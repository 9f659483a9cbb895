"""The record of processing that the law asks for (GDPR Art. 30), filled in from what the project already says."""

from __future__ import annotations

from django.utils import timezone

from pydplib.policy import LABEL_MEANINGS, ROLES
from pydplib.web.intake.models import SnapshotSchedule
from pydplib.web.projects.models import Project
from pydplib.web.projects.policy.fields import current_template

MEASURES = (
    "Identifiers in a table of their own; all other tables know a keyed pseudonym (HMAC-SHA-256, key outside the "
    "database).",
    "Access by role, denied unless the policy allows it; a second factor for owners; sessions end when left alone.",
    "Every look at rows, every change and every refusal in an append-only log whose lines are chained by hashes.",
    "Partners get differentially private statistics within a budget, computed on pinned snapshots, never rows.",
    "Erasure takes records, identifiers and snapshots; uploads are deleted when imported, at the latest after a day.",
    "Backups in one file, encrypted if the operator gives a passphrase; restore verifies sums and the log's chain.",
)
"""What protects the data, in words (Art. 30 (1) g, Art. 32)."""


def record_of_processing(project: Project) -> dict[str, object]:
    """Return the record as plain values; numbers of patients are not part of it."""
    template = current_template(project)
    questions = [question for _, question in template.index.questions()] if template is not None else []
    schedule = SnapshotSchedule.objects.filter(project=project).first()
    return {
        "made": timezone.now().isoformat(timespec="seconds"),
        "controller": project.hospital.name,
        "contacts": [
            {"name": member.user.full_name or member.user.username, "role": ROLES[member.role].title}
            for member in project.members.select_related("user")
            if member.can("erase")
        ],
        "activity": project.name,
        "purpose": project.purpose,
        "legal_basis": project.legal_basis,
        "data_subjects": "Patients whose reports are recorded in this project; the staff who record them.",
        "template": f"{template.title} (version {template.version})" if template is not None else "",
        "categories_of_data": [
            {"field": question.text, "label": question.label, "kind": question.kind} for question in questions
        ],
        "recipients": [
            {
                "audience": ROLES[rule.audience].title if rule.audience in ROLES else rule.audience,
                "gets": rule.label,
                "meaning": LABEL_MEANINGS[rule.label],
                "purpose": "any" if rule.purpose == "*" else rule.purpose,
                "until": rule.expires.isoformat() if rule.expires else "",
            }
            for rule in project.rules.all()
        ],
        "transfers": "None by this system: partners sign in here, no data are sent to other countries by it.",
        "kept_until": project.retention_until.isoformat(),
        "snapshots": schedule.get_every_display() if schedule is not None else "Only when an owner publishes",
        "measures": list(MEASURES),
        "is_synthetic": project.is_synthetic,
    }

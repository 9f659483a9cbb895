"""Patients under pseudonyms, and their identifiers in a table of their own."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from pydplib.web.people.models import new_key


class Patient(models.Model):
    """A person, known to all other tables by a keyed pseudonym alone."""

    class Consent(models.TextChoices):
        """Whether the person's data may enter new releases."""

        GIVEN = "given", "Given"
        NOT_NEEDED = "not_needed", "Not needed on this legal basis"
        WITHDRAWN = "withdrawn", "Withdrawn"

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="patients")
    pseudonym = models.CharField(max_length=64)  # HMAC of the identifier; its key is outside the database
    consent = models.CharField(max_length=12, choices=Consent.choices, default=Consent.NOT_NEEDED)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        app_label = "intake"  # its tables and migrations
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "pseudonym"], name="one_patient_per_pseudonym")
        ]


class Identifier(models.Model):
    """What names a patient: read by owners alone, every look is logged, gone with an erasure."""

    patient = models.ForeignKey(Patient, on_delete=models.CASCADE, related_name="identifiers")
    field = models.CharField(max_length=80)  # the column it came from
    value = models.CharField(max_length=400)

    class Meta:
        app_label = "intake"
        constraints: ClassVar = [models.UniqueConstraint(fields=["patient", "field"], name="one_identifier_per_field")]

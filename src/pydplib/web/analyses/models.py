"""An analysis: who asked which question of which snapshot; the answer itself is in the ledger."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.web.people.models import new_key


class Analysis(models.Model):
    """A question that an organisation has paid for. All its members in the project see the same answer."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="analyses")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="analyses")
    recipient = models.CharField(max_length=64)  # the organisation's key: whose budget paid
    role = models.CharField(max_length=40)
    label = models.CharField(max_length=20)  # the output label: dp_low, dp_medium, dp_high
    snapshot = models.CharField(max_length=16)  # the snapshot's key
    digest = models.CharField(max_length=64)  # the release in the ledger
    question = models.TextField()  # Question.to_dict() as JSON
    words = models.TextField()  # the question for readers
    title = models.CharField(max_length=120, blank=True)
    receipt = models.TextField(blank=True)  # Receipt.to_json()
    # Whom the owner shows it to besides the organisation that asked: roles, by the policy's door.
    shared_with = models.JSONField(default=list, blank=True)
    made = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "recipient", "digest"], name="one_analysis_per_answer")
        ]
        ordering = ("-made", "-id")

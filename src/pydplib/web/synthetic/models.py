"""A synthetic table that an organisation buys: what was asked, where it stands, who has a copy."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.budget.units import show_nano
from pydplib.web.jobs import Work
from pydplib.web.people.models import new_key


class SyntheticPurchase(Work):
    """A synthetic table from the agreement on. What was measured is in the ledger; rows are drawn from that."""

    class State(models.TextChoices):
        """Where it stands."""

        PAYING = "paying", "Not paid yet"
        RUNNING = "running", "Being made"
        READY = "ready", "Ready"
        WITHDRAWN = "withdrawn", "Withdrawn"

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="synthetic_tables")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="synthetic_tables")
    recipient = models.CharField(max_length=64)  # the organisation's key: whose budget pays
    role = models.CharField(max_length=40)
    label = models.CharField(max_length=20)  # the output label: dp_low, dp_medium, dp_high
    snapshot = models.CharField(max_length=16)  # the snapshot's key
    digest = models.CharField(max_length=64)  # the release in the ledger
    asked = models.JSONField(default=dict)  # Asked.to_dict()
    nano_epsilon = models.BigIntegerField(default=0)  # what the policy asks about
    title = models.CharField(max_length=120, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PAYING)
    receipt = models.TextField(blank=True)  # Receipt.to_json()
    made = models.DateTimeField(default=timezone.now, editable=False)
    withdrawn = models.DateTimeField(null=True)
    reason = models.CharField(max_length=400, blank=True)  # why it was withdrawn, for those who have it

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "recipient", "digest"], name="one_synthetic_table_each")
        ]
        ordering = ("-made", "-id")

    @property
    def epsilon_words(self) -> str:
        """The privacy loss as an exact decimal."""
        return show_nano(self.nano_epsilon)

    def __str__(self) -> str:
        return self.title or f"Synthetic table of {', '.join(self.asked['columns'])}"


class SyntheticCopy(models.Model):
    """Somebody has a copy: whom to tell when the table is withdrawn."""

    table = models.ForeignKey(SyntheticPurchase, on_delete=models.CASCADE, related_name="copies")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="synthetic_copies")
    recipient = models.CharField(max_length=64)  # the organisation's key
    kind = models.CharField(max_length=12)
    time = models.DateTimeField(default=timezone.now, editable=False)
    deleted = models.DateTimeField(null=True)  # when the holder of the copy said that it is gone

    class Meta:
        ordering = ("-time", "-id")

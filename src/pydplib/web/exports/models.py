"""An anonymized export: what was planned, what came out, to whom it was released, who has it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.policy import roles_with
from pydplib.web.jobs import Work
from pydplib.web.people.models import new_key


class Export(Work):
    """A table that may leave: from the plan to the recall."""

    class State(models.TextChoices):
        """Where it stands."""

        DRAFT = "draft", "Being planned"
        RUNNING = "running", "Being made"
        READY = "ready", "Made, not released"
        RELEASED = "released", "Released"
        WITHDRAWN = "withdrawn", "Withdrawn"
        DISCARDED = "discarded", "Discarded"

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="exports")
    snapshot = models.ForeignKey("intake.Snapshot", on_delete=models.PROTECT, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="exports")
    title = models.CharField(max_length=120)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    plan = models.JSONField(default=dict)  # Plan.to_dict()
    result = models.JSONField(default=dict)  # numbers about the output, see results.py; never a cell
    columns = models.JSONField(default=list)  # what the files hold
    file = models.CharField(max_length=60, blank=True)  # stem of the files under the server's home; empty once gone
    sha256 = models.JSONField(default=dict)  # kind of file -> digest
    traced = models.BooleanField(default=False)  # whether later exports can be made to hold together with this one
    audiences = models.JSONField(default=list, blank=True)  # roles and "group:name"
    made = models.DateTimeField(default=timezone.now, editable=False)
    released = models.DateTimeField(null=True)
    withdrawn = models.DateTimeField(null=True)
    reason = models.CharField(max_length=400, blank=True)  # why it was withdrawn, for those who have it

    class Meta:
        ordering = ("-made", "-id")

    @property
    def has_left(self) -> bool:
        """Whether somebody may have it."""
        return self.released is not None

    def partner_copies(self) -> models.QuerySet[Download]:
        """Return the copies that others than the owners have."""
        return self.downloads.exclude(role__in=roles_with("edit_policy"))


class Download(models.Model):
    """Somebody has a copy: the recall list."""

    export = models.ForeignKey(Export, on_delete=models.CASCADE, related_name="downloads")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="export_downloads")
    recipient = models.CharField(max_length=64)  # the organisation's key
    role = models.CharField(max_length=40)
    kind = models.CharField(max_length=12)
    time = models.DateTimeField(default=timezone.now, editable=False)
    deleted = models.DateTimeField(null=True)  # when the holder of the copy said that it is gone

    class Meta:
        ordering = ("-time", "-id")
        indexes: ClassVar = [models.Index(fields=["user", "deleted"], name="copies_of_user")]

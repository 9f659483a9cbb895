"""Template versions, reports and their history."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.capture import Template
from pydplib.web.people.models import new_key


class TemplateVersion(models.Model):
    """A template as a project uses it; never changed once a report was written with it."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="templates")
    number = models.PositiveIntegerField()
    definition = models.TextField()  # Template.to_json()
    is_current = models.BooleanField(default=True)
    made = models.DateTimeField(default=timezone.now, editable=False)
    made_by = models.CharField(max_length=80)
    note = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["project", "number"], name="one_template_per_number")]
        ordering = ("-number",)

    @property
    def template(self) -> Template:
        """The template as ``pydplib.capture`` knows it."""
        return Template.from_json(self.definition)


class Report(models.Model):
    """A report: a draft until it is signed; afterwards every change is a new version with a reason."""

    class State(models.TextChoices):
        """Where it stands."""

        DRAFT = "draft", "Draft"
        SIGNED = "signed", "Signed"

    class Origin(models.TextChoices):
        """How it came here."""

        FORM = "form", "Written here"
        IMPORT = "import", "Imported"
        LABEL = "label", "Labelled from free text"

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="reports")
    patient = models.ForeignKey("intake.Patient", on_delete=models.CASCADE, related_name="reports")
    template = models.ForeignKey(TemplateVersion, on_delete=models.PROTECT, related_name="reports")
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.FORM)
    department = models.CharField(max_length=80, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reports")
    answers = models.JSONField(default=dict)  # the draft, or the signed state of `version`
    values = models.JSONField(default=dict)  # the flat row of a signed report (capture.to_row), for data and snapshots
    version = models.PositiveIntegerField(default=0)  # 0: never signed
    created = models.DateTimeField(default=timezone.now, editable=False)
    changed = models.DateTimeField(default=timezone.now)
    signed = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-changed", "-id")
        indexes: ClassVar = [
            models.Index(fields=["project", "state", "-changed"], name="reports_of_project"),
            models.Index(fields=["project", "department"], name="reports_of_department"),
        ]


class ReportVersion(models.Model):
    """A signed state of a report; never changed."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    template = models.ForeignKey(TemplateVersion, on_delete=models.PROTECT, related_name="+")
    answers = models.JSONField()
    text = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    time = models.DateTimeField(default=timezone.now, editable=False)
    reason = models.CharField(max_length=400, blank=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["report", "number"], name="one_version_per_number")]
        ordering = ("-number",)

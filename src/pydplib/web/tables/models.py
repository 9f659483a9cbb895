"""Further tables about a project's patients, and what the owner declares beyond tables: computed columns, joins."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.schema import Schema
from pydplib.web.people.models import new_key


class PersonTable(models.Model):
    """A further table about the patients of a project, such as visits: brought in by an owner from a file."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="person_tables")
    name = models.CharField(max_length=40)  # in questions and in the API
    title = models.CharField(max_length=80)
    declared = models.TextField()  # Schema.to_json(): columns and limit, as the owner declared them; never from data
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made = models.DateTimeField(default=timezone.now, editable=False)
    changed = models.DateTimeField(default=timezone.now)  # when its rows came in

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["project", "name"], name="one_person_table_per_name")]
        ordering = ("id",)

    @property
    def schema(self) -> Schema:
        """What is public about it."""
        return Schema.from_json(self.declared)


class PersonRow(models.Model):
    """One row of a further table. It belongs to a patient, and goes with the patient."""

    table = models.ForeignKey(PersonTable, on_delete=models.CASCADE, related_name="rows")
    patient = models.ForeignKey("intake.Patient", on_delete=models.CASCADE, related_name="table_rows")
    values = models.JSONField(default=dict)


class TableUpload(models.Model):
    """A file on its way into a further table; its cells are in the private folder of uploads alone."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="table_uploads")
    table = models.ForeignKey(PersonTable, on_delete=models.CASCADE, null=True, related_name="uploads")  # none: new
    title = models.CharField(max_length=80)
    columns = models.JSONField(default=list)  # the names in the file's first line
    comma = models.BooleanField(default=False)  # whether a comma may stand before decimals
    rows = models.PositiveIntegerField(default=0)
    # What the owner has said of the columns so far, as the form sends it.
    said = models.JSONField(default=dict)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-made", "-id")


class Declarations(models.Model):
    """A version of what a project declares beyond its tables; snapshots pin the newest one."""

    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="declarations")
    number = models.PositiveIntegerField()
    # [{"table": "", "name": "psa_density", "column": {"kind": "number", "derived": "psa / volume", ...}}, ...]
    columns = models.JSONField(default=list)
    # [{"table": "follow_up", "keep": "both"}, ...]: tables that are asked together with the reports.
    joins = models.JSONField(default=list)
    by = models.CharField(max_length=150)
    made = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["project", "number"], name="one_declaration_number")]
        ordering = ("-number",)

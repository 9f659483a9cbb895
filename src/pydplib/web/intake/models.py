"""Imports, and snapshots for partners; the tables of patients are in ``patients.models``."""

from __future__ import annotations

import json
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.capture import Template
from pydplib.schema import Schema
from pydplib.web.jobs import Work
from pydplib.web.patients import models as _patients  # noqa: F401 - tables of this app
from pydplib.web.people.models import new_key


def group_title(template: Template, group: str) -> str:
    """Return the words of a template for a repeating group."""
    place = template.index.by_id.get(group)
    return group if place is None else str(place.item.title or group)


def is_group(template: Template, name: str) -> bool:
    """Return whether a table is a repeating group of a template, and not one that the owner added."""
    place = template.index.by_id.get(name)
    return place is not None and getattr(place.item, "repeats", False)


class Snapshot(models.Model):
    """A pinned state of a project's data, as a Parquet file that only the server's owner can read."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="snapshots")
    number = models.PositiveIntegerField()
    # The table: a repeating group, e.g. lesions, or one that the owner added; empty where a row is a report.
    group = models.CharField(max_length=80, blank=True, default="")
    data_version = models.PositiveBigIntegerField()
    template = models.ForeignKey("reporting.TemplateVersion", on_delete=models.PROTECT, related_name="+")
    schema = models.TextField()  # Schema.to_json(): the public schema that the template declares
    file = models.CharField(max_length=200)  # under the server's home; empty once erased
    sha256 = models.CharField(max_length=64)
    published = models.DateTimeField(null=True)
    # What a noisy number of records costs each recipient once, if the owner set it; a declared one is in the schema.
    size_nano_epsilon = models.PositiveBigIntegerField(null=True)
    # What the noisy histogram of rows per person costs, where the owner lets it be bought when publishing.
    limit_nano_epsilon = models.PositiveBigIntegerField(null=True)
    made = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "number", "group"], name="one_snapshot_per_number_and_table")
        ]
        ordering = ("-number",)

    @property
    def declared(self) -> Schema:
        """The public schema, read from its text once."""
        if self._declared is None or self._declared[0] != self.schema:
            self._declared = (self.schema, Schema.from_json(self.schema))
        return self._declared[1]

    _declared: tuple[str, Schema] | None = None

    @property
    def size_epsilon(self) -> float | None:
        """What the noisy number of records costs, if the owner set it."""
        return None if self.size_nano_epsilon is None else self.size_nano_epsilon / 10**9

    @property
    def limit_epsilon(self) -> float | None:
        """What the noisy histogram of rows per person costs, if the owner set it."""
        return None if self.limit_nano_epsilon is None else self.limit_nano_epsilon / 10**9

    @property
    def declared_size(self) -> int | None:
        """The number of people that the owner declared public, or none."""
        size: int | None = json.loads(self.schema).get("size")
        return size

    @property
    def words(self) -> str:
        """Which state of the data it is."""
        return f"data version {self.data_version}"

    @property
    def table_title(self) -> str:
        """What its rows are, for readers."""
        if not self.group:
            return "Reports"
        template = self.template.template
        if is_group(template, self.group):
            return group_title(template, self.group)
        title: str = json.loads(self.schema)["name"]  # a table that the owner added: its schema has its title
        return title


class SnapshotJob(Work):
    """A snapshot on its way: it is made, published, or both; its page shows how far that is."""

    class State(models.TextChoices):
        """Where it stands."""

        WAITING = "waiting", "About to begin"
        MAKING = "making", "Making the snapshot"
        PUBLISHING = "publishing", "Publishing the snapshot"
        DONE = "done", "Done"

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="snapshot_jobs")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, null=True, related_name="+")  # none: to be made
    publishes = models.BooleanField(default=False)
    # What prices may know of the number of people, as the owner said it.
    size = models.PositiveIntegerField(null=True)
    size_nano_epsilon = models.PositiveBigIntegerField(null=True)
    limit_nano_epsilon = models.PositiveBigIntegerField(null=True)
    refused = models.PositiveIntegerField(default=0)  # budgets that could not pay for a noisy number of records
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    made = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-made", "-id")


class SnapshotSchedule(models.Model):
    """When snapshots are made and published by themselves; the schedule is public, so a new one tells nothing."""

    class Every(models.TextChoices):
        """How often."""

        NEVER = "never", "Only when an owner publishes"
        MONTH = "month", "On the first day of every month"
        QUARTER = "quarter", "On the first day of every quarter"

    project = models.OneToOneField("projects.Project", on_delete=models.CASCADE, related_name="snapshot_schedule")
    every = models.CharField(max_length=10, choices=Every.choices, default=Every.NEVER)
    next_day = models.DateField(null=True)


class ImportBatch(models.Model):
    """A file on its way in: looked at, mapped, tried, and accepted as a whole or not at all."""

    class State(models.TextChoices):
        """Where it stands."""

        UPLOADED = "uploaded", "Columns to be matched"
        CHECKING = "checking", "Being checked"
        CHECKED = "checked", "Checked"
        ACCEPTING = "accepting", "Being imported"
        ACCEPTED = "accepted", "Imported"
        DISCARDING = "discarding", "Being removed"
        DISCARDED = "discarded", "Discarded"

    class Format(models.TextChoices):
        """How the file is written."""

        CSV = "csv", "CSV"
        EXCEL = "excel", "Excel"
        FHIR = "fhir", "FHIR"

    ENDED: ClassVar = (State.ACCEPTED, State.DISCARDED)

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="imports")
    template = models.ForeignKey("reporting.TemplateVersion", on_delete=models.PROTECT, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="imports")
    department = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.UPLOADED)
    format = models.CharField(max_length=10, choices=Format.choices)
    columns = models.JSONField(default=list)  # the names in the file's first line
    comma = models.BooleanField(default=False)  # whether a comma may stand before decimals
    mapping = models.JSONField(default=list)  # per column: the field it goes to, or "" for none
    # Field -> text of a cell -> {"new": the text that is read instead, "rows": how many rows have it}.
    replacements = models.JSONField(default=dict)
    # What is wrong, by column and value (intake.groups); holds cells of the file, and is emptied when the import ends.
    groups = models.JSONField(default=list)
    data_version = models.PositiveBigIntegerField(null=True)  # of the project, once it was taken in
    rows = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)  # rows that the running step is through with
    good = models.PositiveIntegerField(default=0)
    bad = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=400, blank=True)  # why a step ended early, in words without data
    worker = models.CharField(max_length=16, blank=True)  # who works on it; one at a time
    heartbeat = models.DateTimeField(null=True)
    made = models.DateTimeField(default=timezone.now, editable=False)
    ended = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-made", "-id")

    @property
    def progress_words(self) -> str:
        """How far the running step is."""
        return f"{self.done} of {self.rows} rows"

    @property
    def is_open(self) -> bool:
        """Whether it is neither taken in nor discarded."""
        return self.state not in self.ENDED


class ImportRow(models.Model):
    """A row that needs a decision; gone when its import ends."""

    class Decision(models.TextChoices):
        """What becomes of it."""

        LEAVE_OUT = "leave_out", "Leave out"
        FIXED = "fixed", "Corrected"
        KEEP = "keep", "Import it anyway"

    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE, related_name="problem_rows")
    number = models.PositiveIntegerField()  # as people count in their file
    fields = models.JSONField(default=dict)  # field -> text, as in the file or as corrected
    problems = models.JSONField(default=list)
    decision = models.CharField(max_length=10, choices=Decision.choices, default=Decision.LEAVE_OUT)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["batch", "number"], name="one_problem_row_per_number")]
        ordering = ("number",)


class ImportMemory(models.Model):
    """How the columns and values of earlier files were matched, for the next file of the project."""

    project = models.OneToOneField("projects.Project", on_delete=models.CASCADE, related_name="import_memory")
    columns = models.JSONField(default=dict)  # a column's name without blanks and case -> the field it goes to
    values = models.JSONField(default=dict)  # field -> text of a cell -> the text that is read instead

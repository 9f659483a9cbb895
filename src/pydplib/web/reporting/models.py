"""Template versions, reports and their history, drafts of corrections."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.capture import Template
from pydplib.web.people.models import new_key
from pydplib.web.projects.models import Project


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
        return _template(self.definition)


@lru_cache(maxsize=64)
def _template(definition: str) -> Template:
    """Read a definition once per process: requests ask for the same few templates again and again."""
    return Template.from_json(definition)


class VisibleReports(models.Manager["Report"]):
    """All reports but those of an import that nobody has accepted yet: they are there for the import alone."""

    def get_queryset(self) -> models.QuerySet[Report]:
        """Leave out what is staged."""
        return super().get_queryset().exclude(state=Report.State.STAGED)


class Report(models.Model):
    """A report: a draft until it is signed; afterwards every change is a new version with a reason."""

    class State(models.TextChoices):
        """Where it stands."""

        DRAFT = "draft", "Draft"
        SIGNED = "signed", "Signed"
        STAGED = "staged", "Being imported"  # seen by nobody until its import is accepted

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
    # The draft, or the signed state of `version`; never the person's identifier (patients.pseudonyms.set_apart).
    answers = models.JSONField(default=dict)
    # The flat row of a signed report without identifiers (intake.recording.row_values), for data and snapshots.
    values = models.JSONField(default=dict)
    batch = models.ForeignKey("intake.ImportBatch", on_delete=models.SET_NULL, null=True, related_name="reports")
    number_hash = models.CharField(max_length=64, blank=True, db_index=True)  # keyed report number, against duplicates
    version = models.PositiveIntegerField(default=0)  # 0: never signed
    created = models.DateTimeField(default=timezone.now, editable=False)
    changed = models.DateTimeField(default=timezone.now)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    revision = models.PositiveIntegerField(default=0)  # counts saved drafts: who saves says which one was edited
    signed = models.DateTimeField(null=True)

    objects = VisibleReports()
    all_objects = models.Manager()

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


class Correction(models.Model):
    """A draft of the next version of a signed report, one per person; the report itself stays as it was signed."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="corrections")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    base_version = models.PositiveIntegerField()  # the signed version that is being corrected
    answers = models.JSONField(default=dict)
    reason = models.CharField(max_length=400, blank=True)
    changed = models.DateTimeField(default=timezone.now)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+")
    revision = models.PositiveIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["report", "author"], name="one_correction_per_person")]


class FreeText(models.Model):
    """A report in free text that waits for its label. Raw data: read by its readers and owners, and by nobody else."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="texts")
    patient = models.ForeignKey("intake.Patient", on_delete=models.CASCADE, related_name="texts")
    department = models.CharField(max_length=80, blank=True)  # empty: for readers of every department
    text = models.TextField()
    readers = models.PositiveSmallIntegerField(default=1)  # how many read it blind of each other: 1 or 2
    report = models.OneToOneField(Report, on_delete=models.SET_NULL, null=True, related_name="free_text")
    added = models.DateTimeField(default=timezone.now, editable=False)
    added_by = models.CharField(max_length=80)

    class Meta:
        ordering = ("id",)
        indexes: ClassVar = [models.Index(fields=["project", "report", "id"], name="texts_that_wait")]


class Reading(models.Model):
    """How one reader filled in the template for a free text; number 1 and 2 are readers, 3 decides between them."""

    JUDGE = 3

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    text = models.ForeignKey(FreeText, on_delete=models.CASCADE, related_name="readings")
    number = models.PositiveSmallIntegerField()
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="readings")
    template = models.ForeignKey(TemplateVersion, on_delete=models.PROTECT, related_name="+")
    answers = models.JSONField(default=dict)
    changed = models.DateTimeField(default=timezone.now)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    revision = models.PositiveIntegerField(default=0)
    claimed = models.DateTimeField(default=timezone.now, editable=False)
    finished = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            # Two readers can never hold the same place, whatever the timing; the database says so.
            models.UniqueConstraint(fields=["text", "number"], name="one_reading_per_place"),
        ]
        ordering = ("text_id", "number")

    @property
    def project(self) -> Project:
        """The project of the text; permissions ask for it."""
        return self.text.project


class SavedFilter(models.Model):
    """Filters and order of the list of reports under a name; a member's own, for one project."""

    MOST = 20
    """How many one member may keep in a project."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="saved_filters")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_filters")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=400)  # what stands behind the address of the list

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "user", "name"], name="one_filter_per_name")
        ]
        ordering = ("name",)

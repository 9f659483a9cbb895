"""A dashboard as its owner plans it, and the editions that its audience sees."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.policy import ROLES
from pydplib.web.people.models import new_key
from pydplib.web.projects.models import Project
from pydplib.web.projects.words import DASHBOARD

AUDIENCES = [(role.name, role.title) for role in ROLES.values() if "ask" in role.powers]
"""Roles that get statistics, and so can have dashboards."""


class Dashboard(models.Model):
    """A set of figures for one audience. What is planned here is not seen before it is published."""

    class State(models.TextChoices):
        """Where it stands."""

        DRAFT = "draft", "Draft"
        PUBLISHED = "published", "Published"
        WITHDRAWN = "withdrawn", "Withdrawn"

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="dashboards")
    title = models.CharField(max_length=120)
    intro = models.CharField(max_length=400, blank=True)
    audience = models.CharField(max_length=40, choices=AUDIENCES)  # never changes: others paid for nothing of it
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("title", "id")

    @property
    def recipient(self) -> str:
        """The account in the ledger that pays: one per audience."""
        return f"{DASHBOARD}{self.audience}"

    @property
    def edition(self) -> Edition | None:
        """What the audience sees; none unless it is published."""
        if self.state != self.State.PUBLISHED:
            return None
        newest: Edition | None = self.editions.order_by("-number").first()
        return newest


class Kind(models.TextChoices):
    """Where a figure comes from."""

    READY = "ready", "Ready-made"
    QUESTION = "question", "Question"
    PAPER = "paper", "Paper mode"


class Figure(models.Model):
    """A figure of the plan."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    dashboard = models.ForeignKey(Dashboard, on_delete=models.CASCADE, related_name="figures")
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    name = models.CharField(max_length=40, blank=True)  # of a ready-made or a paper-mode figure
    title = models.CharField(max_length=120, blank=True)
    question = models.JSONField(null=True)  # Question.to_dict()
    nano_epsilon = models.BigIntegerField(null=True)  # that of the analysis it was taken from; none: the noise factor

    class Meta:
        ordering = ("position", "id")

    @property
    def project(self) -> Project:
        """The project, for the permission."""
        return self.dashboard.project


class Edition(models.Model):
    """What was published at a time, of one snapshot. It never changes; the next one takes its place."""

    dashboard = models.ForeignKey(Dashboard, on_delete=models.CASCADE, related_name="editions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=120)
    intro = models.CharField(max_length=400, blank=True)
    snapshot = models.ForeignKey("intake.Snapshot", on_delete=models.RESTRICT, related_name="+")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["dashboard", "number"], name="one_edition_per_number")]
        ordering = ("-number",)


class Shown(models.Model):
    """A figure of an edition: which paid answers it is drawn from."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    edition = models.ForeignKey(Edition, on_delete=models.CASCADE, related_name="shown")
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    name = models.CharField(max_length=40, blank=True)
    title = models.CharField(max_length=120, blank=True)
    answers = models.JSONField(default=list)  # keys of analyses: their values are in the ledger
    # Paper mode alone has no ledger to keep its noise: drawn again it could be averaged away, so it is kept here.
    paper = models.JSONField(null=True)

    class Meta:
        ordering = ("position", "id")

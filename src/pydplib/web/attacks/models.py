"""A run of attacks on what somebody was given: who, on which data, how far it is, what it found."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.web.jobs import Work
from pydplib.web.people.models import new_key


class AttackRun(Work):
    """Attacks on behalf of one recipient, or of an audience that spends its whole budget. Results hold no cell."""

    class State(models.TextChoices):
        """Where it stands."""

        WAITING = "waiting", "Not begun"
        RUNNING = "running", "Running"
        DONE = "done", "Done"

    class Data(models.TextChoices):
        """What the simulated attacks run on."""

        TWIN = "twin", "Made-up people with the same fields"
        REAL = "real", "The published snapshot"

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="attack_runs")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    subject = models.CharField(max_length=100)  # an organisation's key, or "audience:third_party"
    name = models.CharField(max_length=160)  # the subject for readers
    data = models.CharField(max_length=6, choices=Data.choices, default=Data.TWIN)
    minutes = models.PositiveSmallIntegerField(default=5)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    result = models.JSONField(default=dict)  # see running.py: numbers and words
    made = models.DateTimeField(default=timezone.now, editable=False)
    ended = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-made", "-id")

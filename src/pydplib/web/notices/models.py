"""Where somebody wants notices, and notices on their way."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.web.people.models import new_key


class NoticePreference(models.Model):
    """Whether and where one user is told; without such a row, nothing is sent."""

    class Every(models.TextChoices):
        """How often at most."""

        HOUR = "hour", "Once an hour at most"
        DAY = "day", "Once a day at most"

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notice_preference")
    mail = models.EmailField(max_length=200, blank=True)  # empty: no mail
    webhook = models.BooleanField(default=False)
    every = models.CharField(max_length=4, choices=Every.choices, default=Every.DAY)
    told = models.JSONField(default=dict)  # project and kind -> how many waited when the last notice was written
    last = models.DateTimeField(null=True)  # when that was


class Notice(models.Model):
    """One message that something waits. It says nothing else, so it holds nothing else."""

    class Channel(models.TextChoices):
        """The way it goes."""

        MAIL = "mail", "Mail"
        WEBHOOK = "webhook", "Webhook"

    class State(models.TextChoices):
        """Where it stands."""

        WAITING = "waiting", "Waiting"
        SENT = "sent", "Sent"
        GIVEN_UP = "given_up", "Given up"

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    channel = models.CharField(max_length=8, choices=Channel.choices)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    made = models.DateTimeField(default=timezone.now, editable=False)
    tries = models.PositiveSmallIntegerField(default=0)
    due = models.DateTimeField(default=timezone.now)  # not before; whoever sends it moves this first
    sent = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["state", "due"], name="notices_that_are_due")]
        ordering = ("due", "id")

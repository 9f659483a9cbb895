"""Tokens: what a program shows instead of a password; the database holds a hash."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.web.people.models import new_key


class ApiToken(models.Model):
    """A token of one user. It opens what the user's role opens at that moment, cut down to its scopes."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)  # for addresses and the log
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    token_hash = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    # A mark of the password at the time: when that changes, tokens end as sessions do.
    password_mark = models.CharField(max_length=64)
    second_factor = models.BooleanField(default=False)  # whether it was made in a session with a second factor
    made = models.DateTimeField(default=timezone.now, editable=False)
    expires = models.DateTimeField()
    revoked = models.DateTimeField(null=True)
    last_used = models.DateTimeField(null=True)
    # The running minute and how often the token was shown in it.
    minute = models.DateTimeField(default=timezone.now)
    uses = models.PositiveIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ("-made", "-id")

    def __str__(self) -> str:
        return self.name

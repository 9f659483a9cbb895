"""One line of the log, and the head of the chain that writers take turns at."""

from __future__ import annotations

import json
from typing import ClassVar

from django.db import models

from pydplib.budget.chain import GENESIS
from pydplib.budget.keys import canonical_json, sha256_hex


class Line(models.Model):
    """What somebody did. Never changed, never deleted: a trigger of the database refuses both.

    Hospital and project are plain texts, not foreign keys: a line outlives what it is about.
    """

    number = models.PositiveBigIntegerField(primary_key=True)
    time = models.CharField(max_length=32)  # ISO 8601 in UTC, exactly as hashed
    hospital = models.CharField(max_length=64, blank=True, db_index=True)  # the hospital's key
    project = models.CharField(max_length=64, blank=True)  # the project's key
    actor = models.CharField(max_length=150)  # a user name, or "system"
    action = models.CharField(max_length=64)  # "report.sign": thing.verb
    subject = models.CharField(max_length=200, blank=True)  # what it was done to: a key, never a patient's name
    details = models.TextField(default="{}")  # canonical JSON; never a cell of data
    previous = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ("number",)
        indexes: ClassVar = [
            models.Index(fields=["project", "number"], name="lines_of_project"),
            models.Index(fields=["project", "action"], name="actions_of_project"),
        ]

    @property
    def body(self) -> str:
        """What is hashed: everything but the hash itself."""
        return canonical_json(
            {
                "number": self.number,
                "time": self.time,
                "hospital": self.hospital,
                "project": self.project,
                "actor": self.actor,
                "action": self.action,
                "subject": self.subject,
                "details": self.details,
                "previous": self.previous,
            }
        )

    def seal(self) -> str:
        """Return the hash that this line must have."""
        return sha256_hex(self.body)

    @property
    def facts(self) -> dict[str, object]:
        """The details as values."""
        values: dict[str, object] = json.loads(self.details)
        return values


class Head(models.Model):
    """The end of the chain: one row, locked by whoever appends, so that lines never fork."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    number = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default=GENESIS)

"""An analysis: who asked which question of which snapshot; the answer itself is in the ledger."""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction
from typing import ClassVar, Unpack

from django.conf import settings
from django.db import models
from django.utils import timezone

from pydplib.release import Question, Release
from pydplib.web.people.models import SaveOptions, new_key


class Analysis(models.Model):
    """A question that an organisation has paid for. All its members in the project see the same answer."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="analyses")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="analyses")
    recipient = models.CharField(max_length=64)  # the organisation's key: whose budget paid
    role = models.CharField(max_length=40)
    label = models.CharField(max_length=20)  # the output label: dp_low, dp_medium, dp_high
    snapshot = models.CharField(max_length=16)  # the snapshot's key
    digest = models.CharField(max_length=64)  # the release in the ledger
    question = models.TextField()  # Question.to_dict() as JSON
    # Of tables that were bought together: which question of them this is, and its answer as JSON. The ledger keeps all
    # tables as one release; other answers are the release itself.
    part = models.CharField(max_length=64, blank=True, default="", editable=False)
    answer = models.TextField(blank=True, default="", editable=False)
    words = models.TextField()  # the question for readers
    title = models.CharField(max_length=120, blank=True)
    receipt = models.TextField(blank=True)  # Receipt.to_json()
    # Whom the owner shows it to besides the organisation that asked: roles, if the policy lets them.
    shared_with = models.JSONField(default=list, blank=True)
    made = models.DateTimeField(default=timezone.now, editable=False)
    # What the policy asks about, so that lists are filtered and paged by the database; see ``facts_of``.
    scope = models.CharField(max_length=64, blank=True, editable=False)  # digest of fields and conditions
    nano_epsilon = models.BigIntegerField(default=0, editable=False)

    was_free = False
    """Whether the organisation had paid for it before it was asked just now; see ``purchases.ask``."""

    told: Release | None = None
    """The answer, where it was asked just now; see ``purchases.ask``."""

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "recipient", "digest", "part"], name="one_analysis_per_part")
        ]
        ordering = ("-made", "-id")
        indexes: ClassVar = [models.Index(fields=["project", "-made", "-id"], name="analyses_newest_first")]

    def save(self, **options: Unpack[SaveOptions]) -> None:
        """Note what the policy asks about along with the rest."""
        if not self.scope:
            self.scope, self.nano_epsilon = facts_of(self.question, self.receipt)
        super().save(**options)


UNKNOWN = 2**62
"""The privacy loss in nano-epsilon of an answer whose receipt does not say it: within no cap."""


def facts_of(question: str, receipt: str) -> tuple[str, int]:
    """Return what the policy asks about a question: a digest of its fields and conditions, and its nano-epsilon.

    Examples:
        >>> one, two = (facts_of('{"ask": "count", "by": []}', '{"epsilon": "0.5"}') for _ in range(2))
        >>> one == two, one[1]
        (True, 500000000)
    """
    return scope_of(Question.from_dict(json.loads(question))), nano_of(receipt)


def nano_of(receipt: str) -> int:
    """Return the privacy loss that a receipt says, in nano-epsilon."""
    told = json.loads(receipt or "{}").get("epsilon")
    return UNKNOWN if told is None else min(UNKNOWN, math.ceil(Fraction(str(told)) * 10**9))


def scope_of(question: Question) -> str:
    """Return a digest of what a question is about: its fields and conditions."""
    scope = json.dumps([sorted(question.fields), sorted(question.filters)])
    return hashlib.sha256(scope.encode()).hexdigest()

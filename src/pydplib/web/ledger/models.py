"""The rows of the ledger: entries chained by hashes, accounts, releases, payments."""

from __future__ import annotations

import secrets
from typing import ClassVar

from django.db import models

from pydplib.budget.chain import GENESIS


def new_name() -> str:
    """Return the ledger's own random name, by which a replaced ledger is noticed."""
    return secrets.token_hex(16)


class Head(models.Model):
    """The end of the chain: one row, locked by whoever pays, so that debits happen one after another."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    name = models.CharField(max_length=32, default=new_name)
    number = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default=GENESIS)


class Entry(models.Model):
    """One entry; ``body`` is the canonical text that is hashed, the other columns are for finding it."""

    number = models.PositiveBigIntegerField(primary_key=True)
    body = models.TextField()
    hash = models.CharField(max_length=64)
    lineage = models.CharField(max_length=200)
    recipient = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["lineage", "recipient", "number"], name="entries_by_who")]


class Account(models.Model):
    """What was spent of a budget, in whole nano-epsilon, nano-rho and 1e-18 of delta; the policy says what may be."""

    lineage = models.CharField(max_length=200)
    recipient = models.CharField(max_length=200, blank=True)  # empty: the data set's own, over all recipients
    relation = models.CharField(max_length=20)
    nano_epsilon = models.BigIntegerField(null=True)  # of what has a pure one; none: not known, from earlier versions
    nano_rho = models.BigIntegerField()
    atto_delta = models.BigIntegerField()
    version = models.BigIntegerField()
    nano_gaussian = models.BigIntegerField(null=True)  # the part of nano_rho without a pure epsilon; none: 0

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lineage", "recipient", "relation"], name="one_budget_each")
        ]


class Release(models.Model):
    """A paid release; its answer is written once."""

    digest = models.CharField(max_length=64, primary_key=True)
    lineage = models.CharField(max_length=200)
    snapshot = models.CharField(max_length=200)
    question = models.TextField()
    payload = models.BinaryField(null=True)  # none: reserved
    answer = models.BigIntegerField(null=True)  # the entry that finished it

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(payload__isnull=True, answer__isnull=True)
                | models.Q(payload__isnull=False, answer__isnull=False),
                name="answered_or_reserved",
            )
        ]


class Payment(models.Model):
    """Who paid for a release, by which entry."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="payments")
    recipient = models.CharField(max_length=200)
    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["release", "recipient"], name="one_payment_each")]

"""The ledger's guards, and the row that payers take turns at."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from pydplib.web.ledger.triggers import add_head, add_triggers


class Migration(migrations.Migration):
    """Triggers and the head of the chain."""

    dependencies: ClassVar = [("ledger", "0001_initial")]
    operations: ClassVar = [migrations.RunPython(add_head), migrations.RunPython(add_triggers)]

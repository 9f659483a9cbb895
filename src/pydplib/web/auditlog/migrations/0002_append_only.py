"""The log becomes append-only, and gets the row that writers take turns at."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from pydplib.web.auditlog.triggers import add_head, add_triggers


class Migration(migrations.Migration):
    """Triggers and the head of the chain."""

    dependencies: ClassVar = [("auditlog", "0001_initial")]
    operations: ClassVar = [migrations.RunPython(add_head), migrations.RunPython(add_triggers)]

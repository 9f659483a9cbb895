"""Signed versions of reports become final."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from pydplib.web.reporting.triggers import add_triggers


class Migration(migrations.Migration):
    """A trigger against changes."""

    dependencies: ClassVar = [("reporting", "0002_imports")]
    operations: ClassVar = [migrations.RunPython(add_triggers)]

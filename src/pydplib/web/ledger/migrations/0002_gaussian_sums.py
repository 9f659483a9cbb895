"""The sum of rho of what has no pure epsilon, next to the sum of the pure epsilons."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

from pydplib.web.ledger.triggers import guard_gaussian


class Migration(migrations.Migration):
    """Adds one column, which is 0 where it is empty, and its trigger."""

    dependencies: ClassVar = [("ledger", "0001_initial")]

    operations: ClassVar = [
        migrations.AddField("account", "nano_gaussian", models.BigIntegerField(null=True)),
        migrations.RunPython(guard_gaussian, migrations.RunPython.noop),
    ]

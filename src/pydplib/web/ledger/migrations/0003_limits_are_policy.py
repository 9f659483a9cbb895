"""Limits leave the ledger: the policy of the day says what may be spent, at every debit."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from pydplib.web.ledger.triggers import drop_guard_of_sums, guard_sums, keep_deltas


class Migration(migrations.Migration):
    """Drops the three columns of the limit; the entries keep what was in force at each debit."""

    dependencies: ClassVar = [("ledger", "0002_gaussian_sums"), ("projects", "0001_initial")]

    operations: ClassVar = [
        migrations.RunPython(keep_deltas, migrations.RunPython.noop),
        migrations.RunPython(drop_guard_of_sums, migrations.RunPython.noop),
        migrations.RemoveField("account", "limit_nano_epsilon"),
        migrations.RemoveField("account", "limit_atto_delta"),
        migrations.RemoveField("account", "limit_atto_conversion"),
        migrations.RunPython(guard_sums, migrations.RunPython.noop),
    ]

"""Snapshots of repeating groups, such as lesions, beside that of the reports."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("intake", "0004_values_and_undo_of_imports")]

    operations = [
        migrations.AddField("snapshot", "group", models.CharField(blank=True, default="", max_length=80)),
        migrations.RemoveConstraint("snapshot", "one_snapshot_per_number"),
        migrations.AddConstraint(
            "snapshot",
            models.UniqueConstraint(fields=["project", "number", "group"], name="one_snapshot_per_number_and_table"),
        ),
    ]

"""The audit log: its lines, the row that writers take turns at, and the triggers that make it append-only."""

from django.db import migrations, models

from pydplib.web.auditlog.triggers import add_head, add_triggers


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Head",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("number", models.PositiveBigIntegerField(default=0)),
                (
                    "hash",
                    models.CharField(
                        default="0000000000000000000000000000000000000000000000000000000000000000", max_length=64
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Line",
            fields=[
                ("number", models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ("time", models.CharField(max_length=32)),
                ("hospital", models.CharField(blank=True, db_index=True, max_length=64)),
                ("project", models.CharField(blank=True, max_length=64)),
                ("actor", models.CharField(max_length=150)),
                ("action", models.CharField(max_length=64)),
                ("subject", models.CharField(blank=True, max_length=200)),
                ("details", models.TextField(default="{}")),
                ("previous", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64)),
            ],
            options={
                "ordering": ("number",),
                "indexes": [
                    models.Index(fields=["project", "number"], name="lines_of_project"),
                    models.Index(fields=["project", "action"], name="actions_of_project"),
                ],
            },
        ),
        # Last: on SQLite a table that is changed later loses its triggers.
        migrations.RunPython(add_head),
        migrations.RunPython(add_triggers),
    ]

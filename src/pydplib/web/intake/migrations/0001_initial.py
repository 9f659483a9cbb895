"""Patients and their identifiers, imports, snapshots."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import pydplib.web.people.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("projects", "0001_initial"),
        ("reporting", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ImportBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("department", models.CharField(blank=True, max_length=80)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("uploaded", "Columns to be matched"),
                            ("checking", "Being checked"),
                            ("checked", "Checked"),
                            ("accepting", "Being imported"),
                            ("accepted", "Imported"),
                            ("discarding", "Being removed"),
                            ("discarded", "Discarded"),
                        ],
                        default="uploaded",
                        max_length=10,
                    ),
                ),
                (
                    "format",
                    models.CharField(choices=[("csv", "CSV"), ("excel", "Excel"), ("fhir", "FHIR")], max_length=10),
                ),
                ("columns", models.JSONField(default=list)),
                ("comma", models.BooleanField(default=False)),
                ("mapping", models.JSONField(default=list)),
                ("rows", models.PositiveIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("good", models.PositiveIntegerField(default=0)),
                ("bad", models.PositiveIntegerField(default=0)),
                ("problem", models.CharField(blank=True, max_length=400)),
                ("worker", models.CharField(blank=True, max_length=16)),
                ("heartbeat", models.DateTimeField(null=True)),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("ended", models.DateTimeField(null=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="imports", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="imports", to="projects.project"
                    ),
                ),
                (
                    "template",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="reporting.templateversion"
                    ),
                ),
            ],
            options={
                "ordering": ("-made", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Patient",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("pseudonym", models.CharField(max_length=64)),
                (
                    "consent",
                    models.CharField(
                        choices=[
                            ("given", "Given"),
                            ("not_needed", "Not needed on this legal basis"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="not_needed",
                        max_length=12,
                    ),
                ),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="patients", to="projects.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Identifier",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("field", models.CharField(max_length=80)),
                ("value", models.CharField(max_length=400)),
                (
                    "patient",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="identifiers", to="intake.patient"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Snapshot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("data_version", models.PositiveBigIntegerField()),
                ("schema", models.TextField()),
                ("file", models.CharField(max_length=200)),
                ("sha256", models.CharField(max_length=64)),
                ("published", models.DateTimeField(null=True)),
                ("size_nano_epsilon", models.PositiveBigIntegerField(null=True)),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="snapshots", to="projects.project"
                    ),
                ),
                (
                    "template",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="reporting.templateversion"
                    ),
                ),
            ],
            options={
                "ordering": ("-number",),
            },
        ),
        migrations.CreateModel(
            name="SnapshotSchedule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "every",
                    models.CharField(
                        choices=[
                            ("never", "Only when an owner publishes"),
                            ("month", "On the first day of every month"),
                            ("quarter", "On the first day of every quarter"),
                        ],
                        default="never",
                        max_length=10,
                    ),
                ),
                ("next_day", models.DateField(null=True)),
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="snapshot_schedule",
                        to="projects.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ImportRow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("fields", models.JSONField(default=dict)),
                ("problems", models.JSONField(default=list)),
                (
                    "decision",
                    models.CharField(
                        choices=[
                            ("leave_out", "Leave out"),
                            ("fixed", "Corrected"),
                            ("keep", "Import it anyway"),
                        ],
                        default="leave_out",
                        max_length=10,
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="problem_rows",
                        to="intake.importbatch",
                    ),
                ),
            ],
            options={
                "ordering": ("number",),
                "constraints": [models.UniqueConstraint(fields=("batch", "number"), name="one_problem_row_per_number")],
            },
        ),
        migrations.AddConstraint(
            model_name="patient",
            constraint=models.UniqueConstraint(fields=("project", "pseudonym"), name="one_patient_per_pseudonym"),
        ),
        migrations.AddConstraint(
            model_name="identifier",
            constraint=models.UniqueConstraint(fields=("patient", "field"), name="one_identifier_per_field"),
        ),
        migrations.AddConstraint(
            model_name="snapshot",
            constraint=models.UniqueConstraint(fields=("project", "number"), name="one_snapshot_per_number"),
        ),
    ]

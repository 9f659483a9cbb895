"""Reports, their versions, free texts and readings; signed versions become final by a trigger."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import pydplib.web.people.models
from pydplib.web.reporting.triggers import add_triggers


class Migration(migrations.Migration):
    dependencies = [
        ("intake", "0001_initial"),
        ("projects", "0001_initial"),
        ("reporting", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Report",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("draft", "Draft"), ("signed", "Signed"), ("staged", "Being imported")],
                        default="draft",
                        max_length=10,
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("form", "Written here"),
                            ("import", "Imported"),
                            ("label", "Labelled from free text"),
                        ],
                        default="form",
                        max_length=10,
                    ),
                ),
                ("department", models.CharField(blank=True, max_length=80)),
                ("answers", models.JSONField(default=dict)),
                ("values", models.JSONField(default=dict)),
                ("number_hash", models.CharField(blank=True, db_index=True, max_length=64)),
                ("version", models.PositiveIntegerField(default=0)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("changed", models.DateTimeField(default=django.utils.timezone.now)),
                ("revision", models.PositiveIntegerField(default=0)),
                ("signed", models.DateTimeField(null=True)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reports", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="reports",
                        to="intake.importbatch",
                    ),
                ),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "patient",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reports", to="intake.patient"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reports", to="projects.project"
                    ),
                ),
                (
                    "template",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reports",
                        to="reporting.templateversion",
                    ),
                ),
            ],
            options={
                "ordering": ("-changed", "-id"),
            },
        ),
        migrations.CreateModel(
            name="FreeText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("department", models.CharField(blank=True, max_length=80)),
                ("text", models.TextField()),
                ("readers", models.PositiveSmallIntegerField(default=1)),
                ("added", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("added_by", models.CharField(max_length=80)),
                (
                    "patient",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="texts", to="intake.patient"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="texts", to="projects.project"
                    ),
                ),
                (
                    "report",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="free_text",
                        to="reporting.report",
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="Correction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("base_version", models.PositiveIntegerField()),
                ("answers", models.JSONField(default=dict)),
                ("reason", models.CharField(blank=True, max_length=400)),
                ("changed", models.DateTimeField(default=django.utils.timezone.now)),
                ("revision", models.PositiveIntegerField(default=0)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "report",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="corrections", to="reporting.report"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ReportVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("answers", models.JSONField()),
                ("text", models.TextField()),
                ("time", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("reason", models.CharField(blank=True, max_length=400)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "report",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="versions", to="reporting.report"
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
            name="Reading",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("answers", models.JSONField(default=dict)),
                ("changed", models.DateTimeField(default=django.utils.timezone.now)),
                ("revision", models.PositiveIntegerField(default=0)),
                ("claimed", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished", models.DateTimeField(null=True)),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "reader",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="readings",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "template",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="reporting.templateversion"
                    ),
                ),
                (
                    "text",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="readings", to="reporting.freetext"
                    ),
                ),
            ],
            options={
                "ordering": ("text_id", "number"),
                "constraints": [models.UniqueConstraint(fields=("text", "number"), name="one_reading_per_place")],
            },
        ),
        migrations.AddIndex(
            model_name="report",
            index=models.Index(fields=["project", "state", "-changed"], name="reports_of_project"),
        ),
        migrations.AddIndex(
            model_name="report",
            index=models.Index(fields=["project", "department"], name="reports_of_department"),
        ),
        migrations.AddIndex(
            model_name="freetext",
            index=models.Index(fields=["project", "report", "id"], name="texts_that_wait"),
        ),
        migrations.AddConstraint(
            model_name="correction",
            constraint=models.UniqueConstraint(fields=("report", "author"), name="one_correction_per_person"),
        ),
        migrations.AddConstraint(
            model_name="reportversion",
            constraint=models.UniqueConstraint(fields=("report", "number"), name="one_version_per_number"),
        ),
        # Last: on SQLite a table that is changed later loses its triggers.
        migrations.RunPython(add_triggers),
    ]

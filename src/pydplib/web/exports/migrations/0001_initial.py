"""Anonymized tables and who has a copy."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import pydplib.web.people.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("intake", "0001_initial"),
        ("projects", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Export",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("worker", models.CharField(blank=True, max_length=16)),
                ("heartbeat", models.DateTimeField(null=True)),
                ("progress", models.PositiveSmallIntegerField(null=True)),
                ("progress_words", models.CharField(blank=True, max_length=200)),
                ("problem", models.CharField(blank=True, max_length=600)),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("title", models.CharField(max_length=120)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Being planned"),
                            ("running", "Being made"),
                            ("ready", "Made, not released"),
                            ("released", "Released"),
                            ("withdrawn", "Withdrawn"),
                            ("discarded", "Discarded"),
                        ],
                        default="draft",
                        max_length=10,
                    ),
                ),
                ("plan", models.JSONField(default=dict)),
                ("result", models.JSONField(default=dict)),
                ("columns", models.JSONField(default=list)),
                ("file", models.CharField(blank=True, max_length=60)),
                ("sha256", models.JSONField(default=dict)),
                ("traced", models.BooleanField(default=False)),
                ("audiences", models.JSONField(blank=True, default=list)),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("released", models.DateTimeField(null=True)),
                ("withdrawn", models.DateTimeField(null=True)),
                ("reason", models.CharField(blank=True, max_length=400)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="exports", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="exports", to="projects.project"
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="intake.snapshot"
                    ),
                ),
            ],
            options={
                "ordering": ("-made", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Download",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("recipient", models.CharField(max_length=64)),
                ("role", models.CharField(max_length=40)),
                ("kind", models.CharField(max_length=12)),
                ("time", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("deleted", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="export_downloads",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "export",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="downloads", to="exports.export"
                    ),
                ),
            ],
            options={
                "ordering": ("-time", "-id"),
                "indexes": [models.Index(fields=["user", "deleted"], name="copies_of_user")],
            },
        ),
    ]

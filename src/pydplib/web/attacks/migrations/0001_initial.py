"""Attacks that were run against the own ledger."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import pydplib.web.people.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("projects", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AttackRun",
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
                ("subject", models.CharField(max_length=100)),
                ("name", models.CharField(max_length=160)),
                (
                    "data",
                    models.CharField(
                        choices=[("twin", "Made-up people with the same fields"), ("real", "The published snapshot")],
                        default="twin",
                        max_length=6,
                    ),
                ),
                ("minutes", models.PositiveSmallIntegerField(default=5)),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Not begun"), ("running", "Running"), ("done", "Done")],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("result", models.JSONField(default=dict)),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("ended", models.DateTimeField(null=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attack_runs", to="projects.project"
                    ),
                ),
            ],
            options={
                "ordering": ("-made", "-id"),
            },
        ),
    ]

"""Snapshots on their way: a row each, with progress."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import pydplib.web.people.models


class Migration(migrations.Migration):
    dependencies = [
        ("intake", "0001_initial"),
        ("projects", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SnapshotJob",
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
                ("publishes", models.BooleanField(default=False)),
                ("size", models.PositiveIntegerField(null=True)),
                ("size_nano_epsilon", models.PositiveBigIntegerField(null=True)),
                ("refused", models.PositiveIntegerField(default=0)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "About to begin"),
                            ("making", "Making the snapshot"),
                            ("publishing", "Publishing the snapshot"),
                            ("done", "Done"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="snapshot_jobs", to="projects.project"
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="intake.snapshot"
                    ),
                ),
            ],
            options={
                "ordering": ("-made", "-id"),
            },
        ),
    ]

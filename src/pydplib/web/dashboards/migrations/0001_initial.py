"""Dashboards, their figures, and the editions that were published."""

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
            name="Dashboard",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("title", models.CharField(max_length=120)),
                ("intro", models.CharField(blank=True, max_length=400)),
                (
                    "audience",
                    models.CharField(
                        choices=[
                            ("owner", "Data owner"),
                            ("collaborator", "Collaborator"),
                            ("third_party", "Third party"),
                        ],
                        max_length=40,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("draft", "Draft"), ("published", "Published"), ("withdrawn", "Withdrawn")],
                        default="draft",
                        max_length=10,
                    ),
                ),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="dashboards", to="projects.project"
                    ),
                ),
            ],
            options={
                "ordering": ("title", "id"),
            },
        ),
        migrations.CreateModel(
            name="Edition",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("title", models.CharField(max_length=120)),
                ("intro", models.CharField(blank=True, max_length=400)),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "dashboard",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="editions", to="dashboards.dashboard"
                    ),
                ),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT, related_name="+", to="intake.snapshot"
                    ),
                ),
            ],
            options={
                "ordering": ("-number",),
            },
        ),
        migrations.CreateModel(
            name="Figure",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("ready", "Ready-made"), ("question", "Question"), ("paper", "Paper mode")],
                        max_length=10,
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=40)),
                ("title", models.CharField(blank=True, max_length=120)),
                ("question", models.JSONField(null=True)),
                ("nano_epsilon", models.BigIntegerField(null=True)),
                (
                    "dashboard",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="figures", to="dashboards.dashboard"
                    ),
                ),
            ],
            options={
                "ordering": ("position", "id"),
            },
        ),
        migrations.CreateModel(
            name="Shown",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("ready", "Ready-made"), ("question", "Question"), ("paper", "Paper mode")],
                        max_length=10,
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=40)),
                ("title", models.CharField(blank=True, max_length=120)),
                ("answers", models.JSONField(default=list)),
                ("paper", models.JSONField(null=True)),
                (
                    "edition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="shown", to="dashboards.edition"
                    ),
                ),
            ],
            options={
                "ordering": ("position", "id"),
            },
        ),
        migrations.AddConstraint(
            model_name="edition",
            constraint=models.UniqueConstraint(fields=("dashboard", "number"), name="one_edition_per_number"),
        ),
    ]

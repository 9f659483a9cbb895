"""Questions that were asked, and their answers."""

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
            name="Analysis",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("recipient", models.CharField(max_length=64)),
                ("role", models.CharField(max_length=40)),
                ("label", models.CharField(max_length=20)),
                ("snapshot", models.CharField(max_length=16)),
                ("digest", models.CharField(max_length=64)),
                ("question", models.TextField()),
                ("words", models.TextField()),
                ("title", models.CharField(blank=True, max_length=120)),
                ("receipt", models.TextField(blank=True)),
                ("shared_with", models.JSONField(blank=True, default=list)),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "asked_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="analyses",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="analyses", to="projects.project"
                    ),
                ),
            ],
            options={
                "ordering": ("-made", "-id"),
                "constraints": [
                    models.UniqueConstraint(fields=("project", "recipient", "digest"), name="one_analysis_per_answer")
                ],
            },
        ),
    ]

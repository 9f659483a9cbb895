"""Versions of a project's template: imports and reports speak of them."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import pydplib.web.people.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="TemplateVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("definition", models.TextField()),
                ("is_current", models.BooleanField(default=True)),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("made_by", models.CharField(max_length=80)),
                ("note", models.CharField(blank=True, max_length=200)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="templates", to="projects.project"
                    ),
                ),
            ],
            options={
                "ordering": ("-number",),
            },
        ),
        migrations.AddConstraint(
            model_name="templateversion",
            constraint=models.UniqueConstraint(fields=("project", "number"), name="one_template_per_number"),
        ),
    ]

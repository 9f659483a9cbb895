"""Synthetic tables that organisations buy, and who has a copy of them."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import pydplib.web.people.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("projects", "0004_synthetic_tables"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SyntheticPurchase",
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
                ("recipient", models.CharField(max_length=64)),
                ("role", models.CharField(max_length=40)),
                ("label", models.CharField(max_length=20)),
                ("snapshot", models.CharField(max_length=16)),
                ("digest", models.CharField(max_length=64)),
                ("asked", models.JSONField(default=dict)),
                ("nano_epsilon", models.BigIntegerField(default=0)),
                ("title", models.CharField(blank=True, max_length=120)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("paying", "Not paid yet"),
                            ("running", "Being made"),
                            ("ready", "Ready"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="paying",
                        max_length=10,
                    ),
                ),
                ("receipt", models.TextField(blank=True)),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("withdrawn", models.DateTimeField(null=True)),
                ("reason", models.CharField(blank=True, max_length=400)),
                (
                    "asked_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="synthetic_tables",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="synthetic_tables",
                        to="projects.project",
                    ),
                ),
            ],
            options={
                "ordering": ("-made", "-id"),
            },
        ),
        migrations.CreateModel(
            name="SyntheticCopy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("recipient", models.CharField(max_length=64)),
                ("kind", models.CharField(max_length=12)),
                ("time", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("deleted", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="synthetic_copies",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "table",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="copies",
                        to="synthetic.syntheticpurchase",
                    ),
                ),
            ],
            options={
                "ordering": ("-time", "-id"),
            },
        ),
        migrations.AddConstraint(
            model_name="syntheticpurchase",
            constraint=models.UniqueConstraint(
                fields=("project", "recipient", "digest"), name="one_synthetic_table_each"
            ),
        ),
    ]

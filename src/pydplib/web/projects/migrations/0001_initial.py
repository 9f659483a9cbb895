"""Projects, members, policy rows, requests and approvals."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import pydplib.web.people.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("people", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Project",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(editable=False, max_length=40, unique=True)),
                ("name", models.CharField(max_length=120)),
                ("purpose", models.TextField()),
                ("legal_basis", models.TextField()),
                ("retention_until", models.DateField()),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("is_synthetic", models.BooleanField(default=False)),
                ("data_version", models.PositiveBigIntegerField(default=0)),
                ("data_set_budget", models.FloatField(default=10.0)),
                ("delta", models.FloatField(default=1e-06)),
                ("dashboard_budgets", models.JSONField(blank=True, default=dict)),
                (
                    "hospital",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="projects", to="people.hospital"
                    ),
                ),
            ],
            options={
                "ordering": ("name", "id"),
            },
        ),
        migrations.CreateModel(
            name="AccessRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("beneficiary", models.CharField(max_length=80)),
                (
                    "kind",
                    models.CharField(
                        choices=[("budget", "More budget"), ("fields", "More fields"), ("role", "Another role")],
                        max_length=10,
                    ),
                ),
                ("asked", models.JSONField(default=dict)),
                ("reason", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("approved", "Approved"),
                            ("refused", "Refused"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("decided", models.DateTimeField(null=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="requests",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="requests", to="projects.project"
                    ),
                ),
            ],
            options={
                "ordering": ("-made", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Rule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("audience", models.CharField(max_length=80)),
                (
                    "label",
                    models.CharField(
                        choices=[
                            ("raw", "raw"),
                            ("k_anonymous", "k_anonymous"),
                            ("dp_low", "dp_low"),
                            ("dp_medium", "dp_medium"),
                            ("dp_high", "dp_high"),
                            ("public", "public"),
                        ],
                        max_length=20,
                    ),
                ),
                ("fields", models.JSONField(blank=True, default=list)),
                ("filters", models.JSONField(blank=True, default=list)),
                ("epsilon_per_question", models.FloatField(blank=True, null=True)),
                ("budget", models.FloatField(blank=True, null=True)),
                ("expires", models.DateField(blank=True, null=True)),
                ("purpose", models.CharField(default="*", max_length=120)),
                ("paper_mode", models.BooleanField(default=False)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rules", to="projects.project"
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="Approval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("agrees", models.BooleanField()),
                ("reason", models.TextField(blank=True)),
                ("time", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="approvals",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="approvals",
                        to="projects.accessrequest",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("request", "by"), name="one_word_per_owner")],
            },
        ),
        migrations.CreateModel(
            name="Member",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Data owner"),
                            ("collaborator", "Collaborator"),
                            ("third_party", "Third party"),
                            ("radiologist", "Radiologist"),
                            ("data_protection_officer", "Data protection officer"),
                        ],
                        default="third_party",
                        max_length=40,
                    ),
                ),
                ("department", models.CharField(blank=True, max_length=80)),
                ("groups", models.JSONField(blank=True, default=list)),
                ("since", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("role_since", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="members", to="projects.project"
                    ),
                ),
            ],
            options={
                "ordering": ("role", "user__username"),
                "constraints": [models.UniqueConstraint(fields=("project", "user"), name="one_place_per_project")],
            },
        ),
        migrations.AddConstraint(
            model_name="accessrequest",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "open")),
                fields=("project", "by", "kind", "beneficiary"),
                name="one_open_request_of_a_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="rule",
            constraint=models.UniqueConstraint(fields=("project", "audience"), name="one_rule_per_audience"),
        ),
    ]

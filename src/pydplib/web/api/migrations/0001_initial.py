"""Tokens of the JSON API."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import pydplib.web.people.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=pydplib.web.people.models.new_key, editable=False, max_length=16, unique=True
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                ("scopes", models.JSONField(default=list)),
                ("password_mark", models.CharField(max_length=64)),
                ("second_factor", models.BooleanField(default=False)),
                ("made", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires", models.DateTimeField()),
                ("revoked", models.DateTimeField(null=True)),
                ("last_used", models.DateTimeField(null=True)),
                ("minute", models.DateTimeField(default=django.utils.timezone.now)),
                ("uses", models.PositiveIntegerField(default=0)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-made", "-id"),
            },
        ),
    ]

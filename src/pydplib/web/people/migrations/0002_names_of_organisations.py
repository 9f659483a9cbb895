"""Reserve the names that organisations have; of names that look alike the oldest keeps it, others get a mark."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from pydplib.web.people.names import folded, skeleton, tidy


def reserve(apps: Any, schema_editor: Any) -> None:
    hospitals = apps.get_model("people", "Hospital")
    names = apps.get_model("people", "HospitalName")
    seen: set[str] = set()
    for hospital in hospitals.objects.order_by("pk"):
        name = tidy(hospital.name)[:120]
        if not skeleton(name) or seen & {folded(name), skeleton(name)}:
            name = f"{name[:100]} ({hospital.key})"
        if name != hospital.name:
            hospitals.objects.filter(pk=hospital.pk).update(name=name)
        names.objects.create(hospital=hospital, name=name, folded=folded(name), skeleton=skeleton(name))
        seen |= {folded(name), skeleton(name)}


class Migration(migrations.Migration):
    dependencies = [("people", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="HospitalName",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=120)),
                ("folded", models.CharField(max_length=400, unique=True)),
                ("skeleton", models.CharField(max_length=800, unique=True)),
                ("since", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "hospital",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="names", to="people.hospital"
                    ),
                ),
            ],
        ),
        migrations.RunPython(reserve, migrations.RunPython.noop),
    ]

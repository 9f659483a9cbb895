"""Figures 2 to 5 of version 0.1 were not those of the paper: they keep their pictures under names of their own."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations

NAMES = {"2": "score-by-age", "3": "prostatitis-by-age", "4": "age-by-score", "5": "findings"}


def _rename(apps: Any, names: dict[str, str]) -> None:
    for model in ("Figure", "Shown"):
        rows = apps.get_model("dashboards", model).objects
        for before, after in names.items():
            rows.filter(kind__in=("ready", "paper"), name=before).update(name=after)


def forwards(apps: Any, schema_editor: Any) -> None:
    """Give the figures of stored plans and editions the names under which the same pictures are drawn now."""
    _rename(apps, NAMES)


def backwards(apps: Any, schema_editor: Any) -> None:
    """Give them the numbers of version 0.1 again."""
    _rename(apps, {after: before for before, after in NAMES.items()})


class Migration(migrations.Migration):
    """Names of stored figures."""

    dependencies: ClassVar = [("dashboards", "0001_initial")]
    operations: ClassVar = [migrations.RunPython(forwards, backwards)]

"""What the policy asks about an analysis, as columns: lists are filtered and paged by the database."""

from typing import Any

from django.db import migrations, models

from pydplib.errors import PydplibError
from pydplib.web.analyses.models import UNKNOWN, facts_of


def fill(apps: Any, schema_editor: Any) -> None:
    """Note it for analyses that were made before."""
    rows = apps.get_model("analyses", "Analysis").objects
    for pk, question, receipt in rows.values_list("pk", "question", "receipt").iterator(chunk_size=1000):
        try:
            scope, nano = facts_of(question, receipt)
        except (PydplibError, ValueError, KeyError, TypeError):
            scope, nano = f"unreadable {pk}", UNKNOWN
        rows.filter(pk=pk).update(scope=scope, nano_epsilon=nano)


class Migration(migrations.Migration):
    dependencies = [
        ("analyses", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="analysis",
            name="scope",
            field=models.CharField(blank=True, editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name="analysis",
            name="nano_epsilon",
            field=models.BigIntegerField(default=0, editable=False),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="analysis",
            index=models.Index(fields=["project", "-made", "-id"], name="analyses_newest_first"),
        ),
    ]

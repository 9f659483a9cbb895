"""Several questions can be parts of one release: tables that were bought together."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analyses", "0002_paged_lists"),
    ]

    operations = [
        migrations.AddField(
            model_name="analysis",
            name="part",
            field=models.CharField(blank=True, default="", editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name="analysis",
            name="answer",
            field=models.TextField(blank=True, default="", editable=False),
        ),
        migrations.RemoveConstraint(model_name="analysis", name="one_analysis_per_answer"),
        migrations.AddConstraint(
            model_name="analysis",
            constraint=models.UniqueConstraint(
                fields=("project", "recipient", "digest", "part"), name="one_analysis_per_part"
            ),
        ),
    ]

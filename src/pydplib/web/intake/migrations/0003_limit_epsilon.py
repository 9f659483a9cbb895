"""What the noisy histogram of rows per person costs, beside that of the number of records."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("intake", "0002_snapshot_jobs")]

    operations = [
        migrations.AddField("snapshot", "limit_nano_epsilon", models.PositiveBigIntegerField(null=True)),
        migrations.AddField("snapshotjob", "limit_nano_epsilon", models.PositiveBigIntegerField(null=True)),
    ]

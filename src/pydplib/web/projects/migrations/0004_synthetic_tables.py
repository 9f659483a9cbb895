"""Rows of the policy say whether synthetic tables may be bought."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0003_invitations")]

    operations = [migrations.AddField("rule", "synthetic", models.BooleanField(default=True))]

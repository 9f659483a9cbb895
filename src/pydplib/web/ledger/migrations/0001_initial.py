"""The ledger: entries, accounts, answers, payments, and the triggers that guard them."""

import django.db.models.deletion
from django.db import migrations, models

import pydplib.web.ledger.models
from pydplib.web.ledger.triggers import add_head, add_triggers


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Head",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("name", models.CharField(default=pydplib.web.ledger.models.new_name, max_length=32)),
                ("number", models.PositiveBigIntegerField(default=0)),
                (
                    "hash",
                    models.CharField(
                        default="0000000000000000000000000000000000000000000000000000000000000000", max_length=64
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Account",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("lineage", models.CharField(max_length=200)),
                ("recipient", models.CharField(blank=True, max_length=200)),
                ("relation", models.CharField(max_length=20)),
                ("limit_nano_epsilon", models.BigIntegerField()),
                ("limit_atto_delta", models.BigIntegerField()),
                ("limit_atto_conversion", models.BigIntegerField()),
                ("nano_epsilon", models.BigIntegerField(null=True)),
                ("nano_rho", models.BigIntegerField()),
                ("atto_delta", models.BigIntegerField()),
                ("version", models.BigIntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("lineage", "recipient", "relation"), name="one_budget_each")
                ],
            },
        ),
        migrations.CreateModel(
            name="Entry",
            fields=[
                ("number", models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ("body", models.TextField()),
                ("hash", models.CharField(max_length=64)),
                ("lineage", models.CharField(max_length=200)),
                ("recipient", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [models.Index(fields=["lineage", "recipient", "number"], name="entries_by_who")],
            },
        ),
        migrations.CreateModel(
            name="Release",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("lineage", models.CharField(max_length=200)),
                ("snapshot", models.CharField(max_length=200)),
                ("question", models.TextField()),
                ("payload", models.BinaryField(null=True)),
                ("answer", models.BigIntegerField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("answer__isnull", True), ("payload__isnull", True)),
                            models.Q(("answer__isnull", False), ("payload__isnull", False)),
                            _connector="OR",
                        ),
                        name="answered_or_reserved",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Payment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("recipient", models.CharField(max_length=200)),
                (
                    "entry",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="ledger.entry"),
                ),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="payments", to="ledger.release"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("release", "recipient"), name="one_payment_each")],
            },
        ),
        # Last: on SQLite a table that is changed later loses its triggers.
        migrations.RunPython(add_head),
        migrations.RunPython(add_triggers),
    ]

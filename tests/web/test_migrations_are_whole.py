"""Tables and models agree, and a table that is guarded by triggers is not changed after they are made."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import connection, migrations
from django.db.migrations.loader import MigrationLoader


def test_models_have_no_change_that_no_migration_makes(db: None) -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0, skip_checks=True)


@pytest.mark.parametrize("app", ["auditlog", "ledger", "reporting"])
def test_triggers_are_made_after_everything_else_of_their_app(db: None, app: str) -> None:
    loader = MigrationLoader(connection)
    names = [name for label, name in loader.graph.forwards_plan(loader.graph.leaf_nodes(app)[0]) if label == app]
    operations = [step for name in names for step in loader.get_migration(app, name).operations]
    made = [isinstance(step, migrations.RunPython) for step in operations if not is_in_place(step)]
    assert True in made and made == sorted(made), "SQLite drops a table's triggers with every later change of it"


def is_in_place(step: object) -> bool:
    """Return whether SQLite leaves other tables: a new table, a new empty column, or a plain one that goes."""
    if isinstance(step, migrations.CreateModel):
        return True
    if isinstance(step, migrations.RemoveField):
        return (step.model_name, step.name.split("_")[0]) == ("account", "limit")  # no index, no constraint
    return isinstance(step, migrations.AddField) and step.field.null and not step.field.has_default()


def test_guarded_tables_have_their_triggers_after_all_migrations(db: None) -> None:
    source = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger",
    }
    with connection.cursor() as cursor:
        cursor.execute(source[connection.vendor])
        found = {row[0] for row in cursor.fetchall()}
    tables = ("ledger_entry", "ledger_payment", "ledger_account", "ledger_release")
    assert {f"{table}_{what}" for table in tables for what in ("stays", "remains")} | {"ledger_account_grows"} <= found

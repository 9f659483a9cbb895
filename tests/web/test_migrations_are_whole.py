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
    made = [isinstance(step, migrations.RunPython) for step in operations]
    assert True in made and made == sorted(made), "SQLite drops a table's triggers with every later change of it"

"""The database's own refusal to change or delete a line of the log.

SQLite alters a table by making a new one, without triggers: a migration that alters ``auditlog_line`` must call
``add_triggers`` again at its end. A test looks whether the triggers are there after all migrations.
"""

from __future__ import annotations

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

TABLE = "auditlog_line"

_SQLITE = (
    f"CREATE TRIGGER {TABLE}_no_update BEFORE UPDATE ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END",
    f"CREATE TRIGGER {TABLE}_no_delete BEFORE DELETE ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END",
)
_POSTGRES = (
    f"CREATE FUNCTION {TABLE}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$",
    f"CREATE TRIGGER {TABLE}_no_change BEFORE UPDATE OR DELETE ON {TABLE} "
    f"FOR EACH ROW EXECUTE FUNCTION {TABLE}_refuse()",
    f"CREATE TRIGGER {TABLE}_no_truncate BEFORE TRUNCATE ON {TABLE} "
    f"FOR EACH STATEMENT EXECUTE FUNCTION {TABLE}_refuse()",
)


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Make the table append-only, in the words of the database at hand."""
    statements = {"sqlite": _SQLITE, "postgresql": _POSTGRES}[schema_editor.connection.vendor]
    for statement in statements:
        schema_editor.execute(statement)


def add_head(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Insert the one row that writers take turns at."""
    apps.get_model("auditlog", "Head").objects.create(id=1)

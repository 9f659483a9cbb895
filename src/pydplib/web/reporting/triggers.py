"""The database's own refusal to change a signed version; deleting stays possible, because a patient may be erased.

SQLite alters a table by making a new one, without triggers: a migration that alters ``reporting_reportversion`` must
call ``add_triggers`` again at its end. A test looks whether the refusal works after all migrations.
"""

from __future__ import annotations

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

TABLE = "reporting_reportversion"

_SQLITE = (
    f"CREATE TRIGGER {TABLE}_no_update BEFORE UPDATE ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'a signed version is never changed'); END",
)
_POSTGRES = (
    f"CREATE FUNCTION {TABLE}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'a signed version is never changed'; END $$",
    f"CREATE TRIGGER {TABLE}_no_update BEFORE UPDATE ON {TABLE} FOR EACH ROW EXECUTE FUNCTION {TABLE}_refuse()",
)


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Make signed versions final, in the words of the database at hand."""
    for statement in {"sqlite": _SQLITE, "postgresql": _POSTGRES}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)

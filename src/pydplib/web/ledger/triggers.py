"""The database's own refusal to refund, rewrite or forget: honest programs stay honest, others break the chain."""

from __future__ import annotations

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import Min

# Table -> what may never be done to it -> the condition under which an update is wrong ("" for always).
_RULES: dict[str, tuple[str, str]] = {
    "ledger_entry": ("entries never change", ""),
    "ledger_payment": ("payments never change", ""),
    "ledger_account": (
        "nothing is ever refunded",
        "NEW.nano_rho < OLD.nano_rho OR NEW.atto_delta < OLD.atto_delta OR NEW.version <> OLD.version + 1"
        " OR (OLD.nano_epsilon IS NULL AND NEW.nano_epsilon IS NOT NULL)"
        " OR NEW.nano_epsilon < OLD.nano_epsilon OR NEW.limit_atto_delta <> OLD.limit_atto_delta"
        " OR NEW.limit_atto_conversion <> OLD.limit_atto_conversion OR NEW.lineage <> OLD.lineage"
        " OR NEW.recipient <> OLD.recipient OR NEW.relation <> OLD.relation",
    ),
    "ledger_release": (
        "an answer is written once",
        "OLD.payload IS NOT NULL OR NEW.payload IS NULL OR NEW.digest <> OLD.digest OR NEW.lineage <> OLD.lineage"
        " OR NEW.snapshot <> OLD.snapshot OR NEW.question <> OLD.question",
    ),
}


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Guard the tables, in the words of the database at hand."""
    make = {"sqlite": _sqlite, "postgresql": _postgres}[schema_editor.connection.vendor]
    for table, (words, wrong) in _RULES.items():
        for statement in make(table, words, wrong):
            schema_editor.execute(statement)


def _sqlite(table: str, words: str, wrong: str) -> list[str]:
    when = f"WHEN {wrong} " if wrong else ""
    return [
        f"CREATE TRIGGER {table}_stays BEFORE UPDATE ON {table} {when}BEGIN SELECT raise(ABORT, '{words}'); END",
        f"CREATE TRIGGER {table}_remains BEFORE DELETE ON {table} "
        "BEGIN SELECT raise(ABORT, 'the ledger is append-only'); END",
    ]


def _postgres(table: str, words: str, wrong: str) -> list[str]:
    when = f"WHEN ({wrong}) " if wrong else ""
    return [
        f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{words}'; END $$",
        f"CREATE TRIGGER {table}_stays BEFORE UPDATE ON {table} FOR EACH ROW {when}EXECUTE FUNCTION {table}_refuse()",
        f"CREATE TRIGGER {table}_remains BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_refuse()",
        f"CREATE TRIGGER {table}_whole BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse()",
    ]


def drop_guard_of_sums(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Let go of the trigger that names the limits, so that their columns can go."""
    where = " ON ledger_account" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP TRIGGER ledger_account_stays{where}")


def guard_sums(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Guard the sums as before; what may be spent is not in the ledger any more."""
    words, wrong = _RULES["ledger_account"]
    kept = " OR ".join(part for part in wrong.split(" OR ") if "limit_" not in part)
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(_sqlite("ledger_account", words, kept)[0])
        return
    schema_editor.execute(
        f"CREATE TRIGGER ledger_account_stays BEFORE UPDATE ON ledger_account FOR EACH ROW WHEN ({kept}) "
        "EXECUTE FUNCTION ledger_account_refuse()"
    )


def keep_deltas(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Take the smallest delta that a project's budgets were opened with over into its policy: it is never raised."""
    for project in apps.get_model("projects", "Project").objects.all():
        limits = apps.get_model("ledger", "Account").objects.filter(
            lineage=project.key, relation="add_remove", limit_atto_delta__gt=0
        )
        smallest = limits.aggregate(found=Min("limit_atto_delta"))["found"]
        if smallest is not None and smallest / 10**18 < project.delta:
            project.delta = smallest / 10**18
            project.save(update_fields=["delta"])


def guard_gaussian(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Guard the sum of rho without a pure epsilon like the others: by a trigger of its own."""
    wrong = "NEW.nano_epsilon IS NOT NULL AND COALESCE(NEW.nano_gaussian, 0) < COALESCE(OLD.nano_gaussian, 0)"
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(
            f"CREATE TRIGGER ledger_account_grows BEFORE UPDATE ON ledger_account WHEN {wrong} "
            "BEGIN SELECT raise(ABORT, 'nothing is ever refunded'); END"
        )
        return
    schema_editor.execute(
        f"CREATE TRIGGER ledger_account_grows BEFORE UPDATE ON ledger_account FOR EACH ROW WHEN ({wrong}) "
        "EXECUTE FUNCTION ledger_account_refuse()"
    )


def add_head(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Insert the one row that payers take turns at."""
    apps.get_model("ledger", "Head").objects.create(id=1)

"""The rules of every ledger hold for the one in the database: the very same tests, on another store."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_PATH = Path(__file__).parents[2] / "unit" / "budget" / "test_budget_ledger_workflow.py"
_SPEC = importlib.util.spec_from_file_location("workflow_of_every_ledger", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
_WORKFLOW = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_WORKFLOW)

# Threads of one program have connections of their own, which do not see a test's open transaction:
# `test_database_ledger_under_fire.py` runs that on committed data.
_OWN_CONNECTIONS = {"test_many_threads_of_one_program_never_overspend"}

globals().update(
    {
        name: value
        for name, value in vars(_WORKFLOW).items()
        if (name.startswith("test_") or name == "book") and name not in _OWN_CONNECTIONS
    }
)


def test_the_shared_tests_were_found() -> None:
    assert sum(name.startswith("test_") for name in vars(_WORKFLOW)) > 25

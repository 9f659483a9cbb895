"""No text becomes code: nothing in the platform evaluates, unpickles or builds SQL from what came in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pydplib.web

SOURCE = Path(pydplib.web.__file__).parent
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "raw", "extra", "mark_safe", "RawSQL"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "yaml", "xml.etree.ElementTree", "subprocess"}
SQL = "SQL that is not a constant"
ALLOWED = {
    ("backups/databases.py", "subprocess"): "pg_dump and pg_restore, run by the operator's command alone",
    ("design/templatetags/design.py", "mark_safe"): "icons of our own files",
    ("design/templatetags/figures.py", "mark_safe"): "figure_json escapes every < > & itself",
    ("intake/pinned.py", SQL): "names and values of the stored schema, quoted, by exports, attacks and dashboards",
    ("intake/snapshots.py", SQL): "names of the stored schema and pseudonyms, quoted",
    ("patients/inserts.py", SQL): "names of the models' own tables and columns; every value is a parameter",
    ("patients/pseudonyms.py", SQL): "the name of the model's own table; every value is a parameter",
    ("backups/backup.py", SQL): "names of the models' own tables",
    ("auditlog/triggers.py", SQL): "constants, at migration",
    ("ledger/triggers.py", SQL): "constants, at migration",
    ("reporting/triggers.py", SQL): "constants, at migration",
}
"""Module and name -> why it is not reached by what a browser sends."""


def faults_in(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of whatever turns text into code or SQL."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            names += [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            yield from ((node.lineno, name) for name in names if name in FORBIDDEN_MODULES | {"mark_safe", "RawSQL"})
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            is_regex = name == "compile" and isinstance(node.func, ast.Attribute)
            if (
                name in FORBIDDEN_CALLS
                and not is_regex
                and not (name == "exec" and isinstance(node.func, ast.Attribute))
            ):
                yield node.lineno, name
            if name in ("execute", "executemany", "sql") and node.args and not isinstance(node.args[0], ast.Constant):
                yield node.lineno, SQL


MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if "migrations" not in path.parts)


@pytest.mark.parametrize("module", MODULES)
def test_module_turns_no_text_into_code(module: str) -> None:
    found = [fault for fault in faults_in((SOURCE / module).read_text("utf-8")) if (module, fault[1]) not in ALLOWED]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "eval(request.POST['x'])", "import pickle", "from pickle import loads", "Model.objects.raw(text)",
        "cursor.execute(f'SELECT {x}')", "exec(code)", "from django.utils.safestring import mark_safe",
    ],
)  # fmt: skip
def test_planted_code_from_text_is_found(source: str) -> None:
    assert list(faults_in(source))


def test_no_exception_is_listed_that_is_not_needed() -> None:
    for module, name in ALLOWED:
        found = {fault for _, fault in faults_in((SOURCE / module).read_text("utf-8"))}
        assert name in found, (module, name)


def test_figures_in_a_page_cannot_end_their_script() -> None:
    import plotly.graph_objects as go

    from pydplib import plot

    text = plot.figure_json(go.Figure(layout={"title": {"text": "</script><script>alert(1)</script>&"}}))
    assert not set("<>&") & set(text)


def test_templates_turn_escaping_off_nowhere() -> None:
    for path in SOURCE.rglob("*.html"):
        text = path.read_text("utf-8")
        assert "|safe" not in text and "autoescape off" not in text, path.name

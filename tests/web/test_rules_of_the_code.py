"""Rules of the platform's code that no linter knows: views hold no queries, and only the policy compares roles."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pydplib.policy import ROLES

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src" / "pydplib" / "web"
VIEWS = sorted(path for path in WEB.rglob("views*.py"))
QUERIES = {"objects", "_default_manager", "filter", "exclude", "select_related", "prefetch_related", "values_list"} | {
    "order_by", "aggregate", "annotate", "in_bulk", "bulk_create", "get_or_create", "update_or_create"
}  # fmt: skip


def queries(source: str) -> list[str]:
    """Return where a module asks the database by itself."""
    return [
        f"line {node.lineno}: {node.attr}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr in QUERIES
    ]


def compared_roles(source: str) -> Iterator[str]:
    """Yield where a module compares something with the name of a role."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            parts += [
                inner for part in parts if isinstance(part, ast.Tuple | ast.List | ast.Set) for inner in part.elts
            ]
            about_role = any(isinstance(part, ast.Attribute | ast.Name) and _name(part) == "role" for part in parts)
            if about_role and any(isinstance(part, ast.Constant) and part.value in ROLES for part in parts):
                yield f"line {node.lineno}"
        elif isinstance(node, ast.keyword) and node.arg == "role" and getattr(node.value, "value", None) in ROLES:
            yield f"line {node.value.lineno}"


def _name(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


@pytest.mark.parametrize("path", VIEWS, ids=lambda path: str(path.relative_to(WEB)))
def test_a_view_asks_the_app_and_not_the_database(path: Path) -> None:
    assert queries(path.read_text(encoding="utf-8")) == []


def test_queries_in_a_view_are_found() -> None:
    assert queries("found = Report.objects.filter(project=project)") == ["line 1: filter", "line 1: objects"]
    assert len(VIEWS) > 20, "the views are found"


def test_only_the_policy_compares_roles() -> None:
    found = {
        f"{path.relative_to(WEB)}, {where}"
        for path in WEB.rglob("*.py")
        if "migrations" not in path.parts
        for where in compared_roles(path.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_no_template_compares_roles() -> None:
    written = re.compile(r"role\s*(==|!=|in)\s*[\"'(]")
    assert [path.name for path in WEB.rglob("*.html") if written.search(path.read_text(encoding="utf-8"))] == []


def test_compared_roles_are_found() -> None:
    faults = ['if place.role == "owner": ...', 'x = member.role in ("owner", "nobody")', 'rows.filter(role="owner")']
    assert [len(list(compared_roles(fault))) for fault in faults] == [1, 1, 1]
    assert not list(compared_roles('place.role == dashboard.audience or state == "owner"'))


def test_every_hook_is_answered_and_every_app_has_its_own_configuration() -> None:
    from django.apps import apps

    from pydplib.web import hooks

    ours = [each for each in apps.get_app_configs() if each.name.startswith("pydplib.")]
    assert [each.name for each in ours if type(each).__module__ != f"{each.name}.apps"] == []
    assert [name for name, hook in vars(hooks).items() if isinstance(hook, hooks.Hook) and not hook._answers] == []


def test_decision_12_lists_the_layers_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each.get("containers") == ["pydplib.web"]]
    rows = re.findall(r"^  \| (`.*?) \|", (ROOT / "docs/adr/0012-platform-of-small-apps.md").read_text(), flags=re.M)
    assert [set(re.findall(r"`(\w+)`", row)) for row in rows] == [set(layer.split(" | ")) for layer in layers]

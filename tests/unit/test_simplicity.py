"""Ratchets: the numbers of ``scripts/house.py`` that may only fall. Lower a limit when its number has fallen."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import house  # noqa: E402

LIMITS = {
    "cycles between modules": 0,
    "cycles between packages": 0,
    "packages in cycles": 0,
    "class names defined twice": 12,
    "late imports outside the CLI": 7,
    "Any in web": 174,
    "isinstance over column kinds": 0,
}
"""What the source may have at most. A number above its bar is on its way down."""


@cache
def numbers() -> dict[str, int]:
    return house.measure(ROOT / "src")


@pytest.mark.parametrize("name", LIMITS)
def test_number_does_not_rise(name: str) -> None:
    assert numbers()[name] <= LIMITS[name], f"see: python scripts/house.py --list {_LISTS.get(name, 'cycles')}"


_LISTS = {
    "class names defined twice": "twice",
    "late imports outside the CLI": "late",
    "isinstance over column kinds": "kinds",
}


def test_every_named_exception_is_still_needed() -> None:
    found = house.House.of(ROOT / "src")
    late = {(name, target) for name, all_ in found.imports.items() for target, _, when in all_ if when == "late"}
    assert late >= house.EXCEPTIONS


def test_a_cycle_is_noticed() -> None:
    assert house.cycles({"a": ["b"], "b": ["a"], "c": ["a"]}) == [["a", "b"]]


def private_imports(text: str) -> list[str]:
    """Return the private names that a module imports from ours."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in found if (node.module or "").split(".")[0] == "pydplib"]
    return [alias.name for node in ours for alias in node.names if alias.name.startswith("_") and alias.name[1] != "_"]


WITH_OLD_SOURCE = "fixtures/make_version_0_1.py"
"""Runs with the source of version 0.1, which had no other names."""


def test_tests_import_no_private_names() -> None:
    tests = ROOT / "tests"
    paths = [path for path in sorted(tests.rglob("*.py")) if path.relative_to(tests).as_posix() != WITH_OLD_SOURCE]
    found = {path.name: names for path in paths if (names := private_imports(path.read_text(encoding="utf-8")))}
    modules = {"_public", "_typed", "_version", "_shown", "_toml", "_names", "_duckdb_files", "_http", "_spreadsheet"}
    assert not {name: names for name, names in found.items() if not modules.issuperset(names)}


def test_a_private_import_is_noticed() -> None:
    assert private_imports("from pydplib.noise.coins import _settle, toss\nfrom os import _exit") == ["_settle"]

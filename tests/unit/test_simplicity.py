"""Ratchets: the numbers of ``scripts/house.py`` that may only fall. Lower a limit when its number has fallen."""

from __future__ import annotations

import ast
import importlib
import inspect
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
    "constructors with more than 4 positional arguments": 2,
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
    "constructors with more than 4 positional arguments": "positional",
}


def test_every_named_exception_is_still_needed() -> None:
    found = house.House.of(ROOT / "src")
    late = {(name, target) for name, all_ in found.imports.items() for target, _, when in all_ if when == "late"}
    assert late >= house.EXCEPTIONS


def test_long_constructors_are_those_that_python_sees() -> None:
    # The two that are left are five numbers in the order of a number line.
    names = [place.partition(":")[0] for place in house.House.of(ROOT / "src").long_constructors()]
    assert names == ["pydplib.clinic.intervals.Estimate", "pydplib.plot._series.Box"]
    for name in names:
        module, _, of_class = name.rpartition(".")
        arguments = inspect.signature(getattr(importlib.import_module(module), of_class)).parameters.values()
        assert sum(argument.kind is argument.POSITIONAL_OR_KEYWORD for argument in arguments) == 5


LONG = """
@dataclass
class Long:
    a: int
    b: int
    c: ClassVar[int] = 1
    d: int = field(init=False)
    e: int = 0

@dataclass(frozen=True)
class Longer(Long):
    f: int = 0
    g: int = 0

@dataclass(kw_only=True)
class Named(Long):
    f: int = 0

class Written:
    def __init__(self, a, b, /, c, d, e, *, f): ...

class Follows(Written): ...
"""


def test_arguments_by_position_are_counted() -> None:
    classes = {node.name: node for node in ast.parse(LONG).body if isinstance(node, ast.ClassDef)}
    counted = {name: house.positional(node, classes) for name, node in classes.items()}
    assert counted == {"Long": 3, "Longer": 5, "Named": 3, "Written": 5, "Follows": 5}


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

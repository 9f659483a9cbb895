"""Plant one mutant: a function of ``pydplib`` is compiled from an edited source, wherever it is imported.

As a pytest plugin (``-p loader``, with this folder on ``PYTHONPATH``) it plants the mutant that ``PYDPLIB_MUTANT``
names before any test imports the package. The source on disk stays as it is.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from types import CodeType
from typing import Any

from table import MUTANTS, Mutant

SOURCE = Path(__file__).parents[2] / "src"


class MutantError(Exception):
    """A mutant that no longer applies: its target is gone, or the text that it edits."""


def module_of(target: str) -> tuple[str, Path, list[str]]:
    """Return module, file and the names inside the module of a dotted target."""
    parts = target.split(".")
    for size in range(len(parts) - 1, 0, -1):
        path = SOURCE.joinpath(*parts[:size])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return ".".join(parts[:size]), file, parts[size:]
    raise MutantError(f"there is no module for '{target}'")


def find_function(tree: ast.Module, names: list[str]) -> ast.FunctionDef:
    """Return the function or method of these names."""
    body: list[ast.stmt] = tree.body
    found: Any = None
    for name in names:
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        named = [node for node in body if isinstance(node, kinds) and node.name == name]
        if not named:
            raise MutantError(f"there is no '{name}'")
        found = named[-1]
        body = found.body
    if not isinstance(found, ast.FunctionDef):
        raise MutantError("the target is not a function")
    return found


def mutate(mutant: Mutant) -> tuple[str, str]:
    """Return the module of a mutant and its edited source.

    Raises:
        MutantError: The target or the text is gone, or the text stands there more than once.
    """
    module, file, names = module_of(mutant.target)
    source = file.read_text(encoding="utf-8")
    node = find_function(ast.parse(source), names)
    lines = source.splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    body = "".join(lines[first:last])
    if body.count(mutant.old) != 1:
        raise MutantError(f"its function holds {mutant.old!r} {body.count(mutant.old)} times, not once")
    edited = "".join(lines[:first]) + body.replace(mutant.old, mutant.new) + "".join(lines[last:])
    try:
        changed = ast.dump(ast.parse(edited)) != ast.dump(ast.parse(source))
    except SyntaxError:
        raise MutantError("the edit is no Python where it stands now") from None
    if not changed:
        raise MutantError("the edit changes nothing")
    return module, edited


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the edited source, and never reads or writes a cached one."""

    edited = ""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.edited, self.path, "exec", dont_inherit=True)


class Planted:
    """Finds the one module that is edited; all others are found as ever."""

    def __init__(self, mutant: Mutant) -> None:
        self.module, self.edited = mutate(mutant)
        self.loaded = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the module's spec with the edited source."""
        if name != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None and spec.origin is not None
        loader = _Loader(name, spec.origin)
        loader.edited = self.edited
        self.loaded = True
        return importlib.util.spec_from_file_location(
            name, spec.origin, loader=loader, submodule_search_locations=spec.submodule_search_locations
        )


_planted: Planted | None = None
if name := os.environ.get("PYDPLIB_MUTANT"):
    if any(loaded == "pydplib" or loaded.startswith("pydplib.") for loaded in sys.modules):
        raise MutantError("pydplib was imported before the mutant was planted")
    _planted = Planted(next(mutant for mutant in MUTANTS if mutant.name == name))
    sys.meta_path.insert(0, _planted)  # type: ignore[arg-type]


def pytest_sessionstart(session: Any) -> None:
    """Do not look for the smallest failing example: that one fails is enough."""
    from hypothesis import Phase, settings

    settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate])  # else as loaded before
    settings.load_profile("mutants")


def pytest_sessionfinish(session: Any, exitstatus: int) -> None:
    """End with code 9 if no test imported the module: then nothing was tried."""
    if _planted is not None and not _planted.loaded:
        session.exitstatus = 9

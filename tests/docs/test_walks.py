"""Every function that a walk names exists, where the walk says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEPS = re.findall(r"`(pydplib[\w.]*):([\w.]+)`", (ROOT / "docs" / "walks.md").read_text(encoding="utf-8"))


def defines(module: str, name: str) -> bool:
    """Return whether the source of a module defines a function, a class or a method of one."""
    path = ROOT / "src" / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.exists():
        return False
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for part in name.split("."):
        found = [
            node
            for node in body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == part
        ]
        if not found:
            return False
        body = found[0].body
    return True


def test_there_are_five_walks() -> None:
    text = (ROOT / "docs" / "walks.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^## ", text, flags=re.M)) == 6  # the map, and five walks
    assert len(STEPS) > 50


@pytest.mark.parametrize(("module", "name"), STEPS, ids=[":".join(step) for step in STEPS])
def test_step_exists(module: str, name: str) -> None:
    assert defines(module, name)


def test_step_that_is_gone_is_noticed() -> None:
    assert not defines("pydplib.release.session", "Session.gone") and not defines("pydplib.gone", "main")

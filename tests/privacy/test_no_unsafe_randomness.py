"""The release path holds no ``random`` and no ``numpy.random``, and cannot reach seeded bits: read from the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
PACKAGE = SRC / "pydplib"
# Attacks, experiments and made-up cohorts need repeatable randomness, and release nothing about real people.
MAY_SEED = (
    "pydplib.attack",
    "pydplib.experiments",
    "pydplib.datasets",
    "pydplib.noise.testing",
    "pydplib.report.demo",
    "pydplib.web.attacks",
)
UNSAFE_NAMES = {"random", "numpy.random", "scipy.stats"}
UNSAFE_CALLS = {"default_rng", "RandomState", "rvs"}


def _module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def _under(module: str, rooms: tuple[str, ...]) -> bool:
    return any(module == room or module.startswith(room + ".") for room in rooms)


def unsafe_uses(source: str) -> list[str]:
    """Every import or use of unsafe randomness in a module's source, as "line: what"."""
    tree = ast.parse(source)
    numpy_names, found = set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "numpy":
                    numpy_names.add(alias.asname or "numpy")
                if alias.name in UNSAFE_NAMES or alias.name.startswith(("numpy.random", "random.")):
                    found.append(f"{node.lineno}: import {alias.name}")
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            module = node.module or ""
            if module in UNSAFE_NAMES or module.startswith("numpy.random"):
                found.append(f"{node.lineno}: from {module} import ...")
            found.extend(
                f"{node.lineno}: from {module} import {alias.name}"
                for alias in node.names
                if f"{module}.{alias.name}" in UNSAFE_NAMES
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if node.attr == "random" and isinstance(node.value, ast.Name) and node.value.id in numpy_names:
                found.append(f"{node.lineno}: {node.value.id}.random")
            if node.attr in UNSAFE_CALLS:
                found.append(f"{node.lineno}: .{node.attr}")
        elif isinstance(node, ast.Name) and node.id in UNSAFE_CALLS:
            found.append(f"{node.lineno}: {node.id}")
        elif isinstance(node, ast.Call) and node.args:
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            last = node.args[-1]
            if (
                called in ("import_module", "__import__", "getattr", "import_extra")
                and isinstance(last, ast.Constant)
                and last.value in UNSAFE_NAMES
            ):
                found.append(f"{node.lineno}: {called}({last.value!r})")
    return found


@cache
def imported_modules(module: str) -> frozenset[str]:
    """Every module of this package that a module imports, also inside functions."""
    source = MODULES[module].read_text(encoding="utf-8")
    out: set[str] = set()
    is_package = MODULES[module].name == "__init__.py"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            out.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                keep = len(parents) - node.level + (1 if is_package else 0)
                base = ".".join([*parents[:keep], *([node.module] if node.module else [])])
            out.add(base)
            out.update(f"{base}.{alias.name}" for alias in node.names)
    return frozenset(name for name in out if name in MODULES)


@pytest.mark.parametrize("module", [m for m in MODULES if not _under(m, MAY_SEED)])
def test_module_of_the_release_path_uses_no_unsafe_randomness(module):
    assert unsafe_uses(MODULES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "planted",
    [
        "import random",
        "from random import gauss",
        "import numpy.random as r",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nx = np.random.laplace()",
        "import numpy\ndef f():\n    return numpy.random.default_rng(0)",
        "def f():\n    import random as quiet\n    return quiet.random()",
        "from importlib import import_module\nr = import_module('random')",
        "import numpy as np\nr = getattr(np, 'random')",
        "from scipy.stats import laplace",
        "rng = default_rng(3)",
    ],
)
def test_unsafe_uses_planted_use_is_found(planted):
    assert unsafe_uses(planted)


def test_unsafe_uses_innocent_code_is_let_through():
    innocent = "from pydplib.noise import random_bytes\nimport numpy as np\nrandom = np.empty(3)\nrandom.sum()\n"
    assert unsafe_uses(innocent) == []


def test_seeded_bits_are_imported_by_attacks_and_experiments_only():
    importers = {module for module in MODULES if "pydplib.noise.testing" in imported_modules(module)}
    assert all(_under(module, MAY_SEED) for module in importers), importers


def _reachable(start: str, stop: tuple[str, ...]) -> set[str]:
    seen, todo = set(), [start]
    while todo:
        module = todo.pop()
        if module in seen or _under(module, stop):
            continue
        seen.add(module)
        todo.extend(imported_modules(module))
        parts = module.split(".")
        todo.extend(".".join(parts[:n]) for n in range(1, len(parts)))  # packages are imported on the way
    return seen


RELEASE_ROOMS = tuple(
    f"pydplib.{room}"
    for room in (
        *("errors", "guarantee", "schema", "mechanisms", "budget", "policy"),
        *("engine", "release", "paper", "anonymity", "capture"),
    )
)


@pytest.mark.parametrize("room", RELEASE_ROOMS)
def test_seeded_bits_are_out_of_reach_of_every_release_room(room):
    # A release may draw itself (pydplib.plot, imported when asked); figures release nothing.
    modules = [module for module in MODULES if _under(module, (room,))]
    for module in modules:
        assert "pydplib.noise.testing" not in _reachable(module, stop=("pydplib.plot",)), module


def test_reachable_planted_path_is_found():
    assert "pydplib.noise.testing" in _reachable("pydplib.noise.testing", stop=())
    assert "pydplib.noise.tap" in _reachable("pydplib.mechanisms.laplace", stop=())
    assert "pydplib.noise.randomness" in _reachable("pydplib.mechanisms", stop=())


def test_noise_package_does_not_export_seeded_bits():
    code = "import sys, pydplib.noise, pydplib.mechanisms; print('pydplib.noise.testing' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"

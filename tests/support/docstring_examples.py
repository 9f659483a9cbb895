"""Run the examples in the docstrings of a module."""

from __future__ import annotations

import doctest
import io
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

import pydplib

PACKAGE = Path(pydplib.__file__).parent
NOT_IMPORTED = {"pydplib.__main__", "pydplib.web.wsgi"}  # importing them runs something


def module_names(*, web: bool) -> list[str]:
    """Return the names of all modules, of the platform (which needs Django set up) or of the rest."""
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if ("web" in parts[1:2]) == web and "migrations" not in parts:
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return [name for name in names if name not in NOT_IMPORTED]


def run_examples(module: ModuleType) -> tuple[int, str]:
    """Run a module's examples; return how many failed, and the report."""
    report = io.StringIO()
    with redirect_stdout(report):
        failed, _ = doctest.testmod(module, verbose=False, report=False)
    return failed, report.getvalue()

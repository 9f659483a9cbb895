"""Every example in every docstring of the package runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import io
import types
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import pydplib
from pydplib.errors import MissingExtraError

PACKAGE = Path(pydplib.__file__).parent
NOT_IMPORTED = {"pydplib.__main__"}  # importing it runs the command line


def _module_names() -> list[str]:
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return [name for name in names if name not in NOT_IMPORTED]


def _import(name: str):
    """Import a module, or skip where an optional part that it needs is not installed."""
    try:
        return importlib.import_module(name)
    except MissingExtraError as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "pydplib":
            raise
        pytest.skip(f"{error.name} is not installed")
    except Exception as error:
        if type(error).__name__ == "ImproperlyConfigured":  # Django's: needs a configured platform
            pytest.skip("needs a configured platform; its examples run with the tests of the platform")
        raise


def run_examples(module) -> tuple[int, str]:
    """Run a module's examples; return how many failed, and the report."""
    report = io.StringIO()
    with redirect_stdout(report):
        failed, _ = doctest.testmod(module, verbose=False, report=False)
    return failed, report.getvalue()


@pytest.mark.parametrize("name", _module_names())
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    module = _import(name)
    monkeypatch.chdir(tmp_path)  # an example may write a file
    failed, report = run_examples(module)
    assert not failed, report


def test_run_examples_planted_wrong_example_fails():
    planted = types.ModuleType("planted", "A module.\n\n>>> 1 + 1\n3\n")
    failed, report = run_examples(planted)
    assert failed == 1
    assert "Expected" in report

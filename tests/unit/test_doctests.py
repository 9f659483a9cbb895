"""Every example in every docstring of the package runs and prints what it says."""

from __future__ import annotations

import importlib
import types

import pytest
from docstring_examples import module_names, run_examples

from pydplib.errors import MissingExtraError


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


@pytest.mark.parametrize("name", module_names(web=False))
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

"""Every example in the docstrings of the platform runs and prints what it says."""

from __future__ import annotations

import importlib

import pytest
from docstring_examples import module_names, run_examples


@pytest.mark.parametrize("name", module_names(web=True))
def test_examples_in_docstrings_run(name: str, db: None) -> None:
    failed, report = run_examples(importlib.import_module(name))
    assert not failed, report

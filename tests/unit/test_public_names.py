"""What the world sees: every public name is there, explained and shown; importing the package costs little."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import pytest

import pydplib
from pydplib._public import MOVED_NAMES, OTHER_MODULES, PUBLIC_MODULES, PUBLIC_NAMES
from pydplib.errors import PydplibError

PACKAGE = Path(pydplib.__file__).parent
HEAVY = {
    *("pandas", "polars", "pyarrow", "plotly", "kaleido", "django", "scipy"),
    *("duckdb", "narwhals", "cryptography", "click", "rich"),
}


def test_all_lists_the_table_and_nothing_twice():
    assert pydplib.__all__ == ["__version__", *PUBLIC_MODULES, *PUBLIC_NAMES]
    assert len(set(pydplib.__all__)) == len(pydplib.__all__)
    assert set(dir(pydplib)) == set(pydplib.__all__)


def test_the_flat_list_stays_short_and_free_of_look_alikes():
    assert len(pydplib.__all__) <= 55
    alike = defaultdict(set)
    for name in pydplib.__all__:
        alike[name.lower()].add(name)
    statistics = {"Count", "Histogram", "Mean", "Median", "Quantiles", "Sum", "Variance"}
    assert [names for names in alike.values() if len(names) > 1] == [
        {name, name.lower()} for name in sorted(statistics)
    ]


@pytest.mark.parametrize("name", MOVED_NAMES)
def test_moved_name_still_resolves_and_the_warning_names_its_place(name):
    place = MOVED_NAMES[name].removeprefix("pydplib.")
    with pytest.warns(DeprecationWarning, match=rf"dp\.{name} moves to dp\.{place}\.{name};"):
        value = getattr(pydplib, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(getattr(pydplib, place), name) is value


def test_moved_names_are_not_offered():
    assert not set(MOVED_NAMES) & set(pydplib.__all__)


@pytest.mark.parametrize("name", [*PUBLIC_MODULES, *OTHER_MODULES])
def test_public_module_is_there_and_says_what_it_is(name):
    module = getattr(pydplib, name)
    assert module.__name__ == f"pydplib.{name}"
    assert module.__doc__ and module.__doc__.strip().splitlines()[0].endswith(".")


@pytest.mark.parametrize("name", [*PUBLIC_NAMES, *MOVED_NAMES])
def test_public_name_is_there_with_a_docstring_and_an_example(name):
    value = getattr(importlib.import_module({**PUBLIC_NAMES, **MOVED_NAMES}[name]), name)
    assert name in MOVED_NAMES or value is getattr(pydplib, name)
    documentation = inspect.getdoc(value) or ""
    assert documentation.splitlines()[0].endswith((".", "?", "!", ":")), "the first line is a sentence"
    if not (inspect.isclass(value) and issubclass(value, PydplibError)):  # errors are caught, not called
        assert ">>>" in documentation, f"{name} has no runnable example"


def test_public_names_is_there_check_planted_missing_name_fails():
    with pytest.raises(AttributeError, match="Did you mean 'dp_calculate'"):
        pydplib.dp_calculat


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(AttributeError, match=r"no name 'Shema'\. Did you mean 'Schema'\?"):
        pydplib.Shema


def test_version_is_a_version():
    assert pydplib.__version__.count(".") == 2


def test_typed_names_cover_every_module():
    # The star imports for type checkers name the same modules as the table.
    text = (PACKAGE / "_typed.py").read_text(encoding="utf-8")
    for module in set(PUBLIC_NAMES.values()):
        assert f"from {module} import" in text, module


def _fresh(code: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return done.stdout


def test_import_pydplib_loads_nothing_heavy():
    loaded = json.loads(_fresh("import json, sys, pydplib; print(json.dumps(sorted(sys.modules)))"))
    assert not {name.split(".")[0] for name in loaded} & HEAVY


def test_import_of_the_privacy_core_loads_nothing_heavy():
    code = (
        "import json, sys, pydplib.noise, pydplib.mechanisms, pydplib.schema, pydplib.guarantee;"
        "print(json.dumps(sorted(sys.modules)))"
    )
    assert not {name.split(".")[0] for name in json.loads(_fresh(code))} & HEAVY


def _import_seconds(module: str) -> float:
    """Seconds of the processor, not of the clock: what else the machine does is not counted."""
    return float(_fresh(f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"))


def test_import_pydplib_takes_at_most_one_and_a_half_times_numpy():
    # In turns, and the least of several: a cold cache only ever adds time.
    times = {"numpy": [], "pydplib": []}
    for _ in range(6):
        for module, taken in times.items():
            taken.append(_import_seconds(module))
    assert min(times["pydplib"]) <= 1.5 * min(times["numpy"])


def test_import_time_check_planted_slow_import_fails(tmp_path, monkeypatch):
    # As slow as NumPy on this machine at this moment, thrice over: no clock of its own.
    code = (
        "import time; t = time.process_time(); import numpy; end = t + 3 * (time.process_time() - t)\n"
        "while time.process_time() < end: pass"
    )
    (tmp_path / "slow_package.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert _import_seconds("slow_package") > 1.5 * min(_import_seconds("numpy") for _ in range(3))

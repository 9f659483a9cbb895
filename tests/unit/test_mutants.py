"""The table of planted bugs applies to the source as it is; `make test-mutants` shows that each is noticed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


TABLE = _load("table", ROOT / "tests" / "mutants" / "table.py")
LOADER = _load("loader", ROOT / "tests" / "mutants" / "loader.py")
SCRIPT = _load("mutants_script", ROOT / "scripts" / "mutants.py")
MUTANTS = TABLE.MUTANTS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_applies_to_the_source_and_names_tests_of_its_package(mutant):
    module, edited = LOADER.mutate(mutant)
    compile(edited, module, "exec")
    (package,) = [name for name in TABLE.PACKAGES if f"{mutant.target}.".startswith(f"{name}.")]
    for test in mutant.tests.split():
        assert test.startswith(TABLE.PACKAGES[package]) and (ROOT / test.partition("::")[0]).exists()


def test_table_has_forty_mutants_of_different_names_and_every_kind():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40
    packages = {name for name in TABLE.PACKAGES for mutant in MUTANTS if mutant.target.startswith(name)}
    assert packages >= {f"pydplib.{name}" for name in ("release", "budget", "noise", "engine", "policy", "anonymity")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "pydplib.nowhere.at_all"}, "there is no"),
        ({"target": "pydplib.release.statistics.count.CountNoise.gone"}, "there is no 'gone'"),
        ({"old": "text that is not there"}, "0 times"),
        ({"old": "self"}, "times, not once"),
        ({"new": "self.rows * self.per_row"}, "changes nothing"),
    ],
)
def test_mutant_that_no_longer_applies_is_an_error(change, message):
    mutant = next(mutant for mutant in MUTANTS if mutant.target.endswith("CountNoise.sensitivity"))
    with pytest.raises(LOADER.MutantError, match=message):
        LOADER.mutate(replace(mutant, **change))


def test_runner_tells_killed_survived_and_errors_apart():
    def word(code: int, printed: str = "") -> str:
        return SCRIPT.judge(MUTANTS[0], code, printed, 1.0).word

    assert word(1, "FAILED tests/a.py::test_b - assert 0") == "killed"
    assert word(0, "3 passed") == "survived"
    assert [word(code) for code in (1, 2, 3, 4, 5, 9, 124)] == ["error"] * 7
    (gone,) = SCRIPT.try_all([replace(MUTANTS[0], old="gone")], 1)
    assert gone.word == "does not apply"


def test_planted_mutant_is_what_tests_import_and_the_source_stays_as_it_was(tmp_path):
    test = tmp_path / "test_planted.py"
    test.write_text(
        "from fractions import Fraction\nfrom pydplib.release.statistics import count\n"
        "def test_sensitivity():\n    assert count.CountNoise(5, 1, 1, Fraction(1)).sensitivity == 5\n"
    )
    mutant = next(mutant for mutant in MUTANTS if mutant.target.endswith("CountNoise.sensitivity"))
    before = (ROOT / "src" / "pydplib" / "release" / "statistics" / "count.py").read_bytes()

    def code(name: str) -> int:
        paths = os.pathsep.join([str(ROOT / "tests" / "mutants"), str(ROOT / "src")])  # of this very tree
        environment = {**os.environ, "PYDPLIB_MUTANT": name, "PYTHONPATH": paths}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "loader", "-p", "no:cacheprovider", str(test)]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False).returncode

    assert [code(""), code(mutant.name)] == [0, 1]
    assert (ROOT / "src" / "pydplib" / "release" / "statistics" / "count.py").read_bytes() == before

"""The long tests run in parts: none is left out, each gets its turn, and what was not run is said."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import long_tests  # noqa: E402
from long_tests import PARTS, Part  # noqa: E402


def _covered(path: str, parts: list[Part]) -> list[str]:
    return [
        part.name for part in parts if any(path == folder or path.startswith(f"{folder}/") for folder in part.folders)
    ]


def _files(folder: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("test_*.py"))


def test_every_test_file_is_in_one_part_of_the_slow_tests():
    slow = [part for part in PARTS if part.marker == "slow" and part.folders]
    wrong = {path: names for path in _files("tests") if len(names := _covered(path, slow)) != 1}
    assert wrong == {}


def test_every_test_of_the_platform_is_in_one_part_on_postgresql():
    whole = [part for part in PARTS if part.database == "postgres"]
    paths = _files("tests/web") + _files("tests/acceptance")
    assert {path: names for path in paths if len(names := _covered(path, whole)) != 1} == {}
    assert all(part.marker == "" for part in whole)


def test_every_part_comes_first_for_some_commit():
    first = {long_tests.ordered(PARTS, f"{number:040x}")[0].name for number in range(len(PARTS))}
    assert first == {part.name for part in PARTS}
    assert sorted(part.name for part in long_tests.ordered(PARTS, "ab" * 20)) == sorted(part.name for part in PARTS)


def _fake(monkeypatch: pytest.MonkeyPatch, *parts: Part) -> None:
    monkeypatch.setattr(long_tests, "PARTS", parts)
    monkeypatch.setattr(long_tests, "_commit", lambda: "0" * 40)


def test_summary_names_what_passed_failed_was_cut_and_was_not_run(monkeypatch, capfd):
    good, bad = Part("good", command=("true",)), Part("bad", command=("false",))
    endless, late = Part("endless", command=("sleep", "60")), Part("late", command=("true",))
    _fake(monkeypatch, good, bad, endless, late)
    monkeypatch.setattr(long_tests, "LEAST_SECONDS", 0.05)
    assert long_tests.main(["--minutes", str(0.6 / 60)]) == 1
    words = dict(reversed(line.split(" min  ")) for line in capfd.readouterr().out.splitlines() if " min  " in line)
    outcome = {name.split(":")[0].split(",")[0]: word.split("  ")[1].strip() for name, word in words.items()}
    assert outcome == {"good": "passed", "bad": "failed", "endless": "cut", "late": "not run"}


def test_what_was_cut_has_not_failed(monkeypatch, capfd):
    _fake(monkeypatch, Part("endless", command=("sleep", "60")))
    monkeypatch.setattr(long_tests, "LEAST_SECONDS", 0)
    assert long_tests.main(["--minutes", "0.005"]) == 0


VERBOSE = """\
scheduling tests via ByServerOrFile

tests/unit/test_a.py::test_one[x y]
tests/unit/test_b.py::test_two
[gw0] [ 25%] PASSED tests/unit/test_a.py::test_one[x y]
tests/unit/test_a.py::test_three
[gw1] [ 50%] FAILED tests/unit/test_b.py::test_two
tests/unit/test_b.py::test_four
tests/unit/test_b.py:12: AssertionError
"""


def test_what_failed_before_a_cut_and_what_was_cut_are_named(monkeypatch, capfd):
    part = Part("long", ("tests/unit",))
    script = f"import time; print({VERBOSE!r}, flush=True); time.sleep(60)"
    monkeypatch.setattr(Part, "words", lambda self: [sys.executable, "-c", script])
    _fake(monkeypatch, part)
    monkeypatch.setattr(long_tests, "LEAST_SECONDS", 0)
    assert long_tests.main(["--minutes", "0.05"]) == 1
    shown, summary = capfd.readouterr().out.split("Long tests, in the order of this commit:")
    assert "test_b.py:12: AssertionError" in shown and "FAILED tests/unit/test_b.py::test_two" in shown
    assert "test_one" not in shown
    assert "1 tests passed" in summary and summary.split()[0] == "cut"
    assert "FAILED tests/unit/test_b.py::test_two" in summary
    cut = [line.split("cut during ")[1] for line in summary.splitlines() if "cut during" in line]
    assert cut == ["tests/unit/test_a.py::test_three", "tests/unit/test_b.py::test_four"]


def test_an_unknown_part_is_refused_with_the_names(capsys):
    with pytest.raises(SystemExit):
        long_tests.main(["nothing like it"])
    assert "statistics" in capsys.readouterr().err

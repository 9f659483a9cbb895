"""The long tests run in parts: none is left out, each gets its turn, and what was not run is said."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

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
    # The start; then, for each part, before it, at its beginning and at its end. Ten minutes are over during the third.
    looks = iter([0.0, *[0.0] * 6, 599.8, 599.8, 600.0, 600.0])
    monkeypatch.setattr(long_tests, "time", SimpleNamespace(monotonic=lambda: next(looks)))
    monkeypatch.setattr(long_tests, "LEAST_SECONDS", 0.1)
    assert long_tests.main(["--minutes", "10"]) == 1
    words = dict(reversed(line.split(" min  ")) for line in capfd.readouterr().out.splitlines() if " min  " in line)
    outcome = {name.split(":")[0]: word.split("  ")[1].strip() for name, word in words.items()}
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


def test_what_failed_before_a_cut_and_what_was_cut_are_named():
    outcome = long_tests.Outcome(Part("long", ("tests/unit",)), "cut", 60.0)
    shown = [line for line in VERBOSE.splitlines() if outcome.read(line)]
    assert shown == [
        "scheduling tests via ByServerOrFile",
        "",
        "[gw1] [ 50%] FAILED tests/unit/test_b.py::test_two",
        "tests/unit/test_b.py:12: AssertionError",
    ]
    assert outcome.is_bad
    assert [line.strip() for line in outcome.lines()] == [
        "cut         1.0 min  long, 1 tests passed: tests/unit",
        "FAILED tests/unit/test_b.py::test_two",
        "cut during tests/unit/test_a.py::test_three",
        "cut during tests/unit/test_b.py::test_four",
    ]


def test_what_a_test_says_is_shown_and_its_failure_is_the_parts(monkeypatch, capfd):
    monkeypatch.setattr(Part, "words", lambda self: [sys.executable, "-c", f"print({VERBOSE!r}); raise SystemExit(1)"])
    _fake(monkeypatch, Part("long", ("tests/unit",)))
    assert long_tests.main([]) == 1
    shown, summary = capfd.readouterr().out.split("Long tests, in the order of this commit:")
    assert "test_b.py:12: AssertionError" in shown and "test_one" not in shown
    assert summary.split()[0] == "failed" and "FAILED tests/unit/test_b.py::test_two" in summary


def test_an_unknown_part_is_refused_with_the_names(capsys):
    with pytest.raises(SystemExit):
        long_tests.main(["nothing like it"])
    assert "statistics" in capsys.readouterr().err

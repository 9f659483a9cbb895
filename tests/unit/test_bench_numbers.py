"""The numbers in the documents are the measured ones: result files, marks, and the script that fills them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


@pytest.fixture(scope="module")
def numbers():
    spec = importlib.util.spec_from_file_location("bench_numbers", ROOT / "scripts" / "bench_numbers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path):
    """A small repository with one measured benchmark, one that was not run, and a document."""
    from _lines import Line, write

    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    for name in ("speed", "later", "_helper"):
        (tmp_path / "benchmarks" / f"{name}.py").write_text("")
    lines = [
        Line("time of a mean", 2.0, 1.0, "ms", 2.0, "<=", 3, "warm"),
        Line("time of a sum", 9.0, 1.0, "ms", 9.0, "<=", 3),
        Line("time of a peer", note="no network"),
    ]
    result = tmp_path / "benchmarks" / "results" / "speed.json"
    write(result, "speed", lines, quick=False, arguments=["--json", "x.json", "--data", "/home/somebody/data"])
    return tmp_path


def readme(tree: Path, *marks: str) -> Path:
    path = tree / "README.md"
    path.write_text("Before.\n" + "".join(f"<!-- numbers: {mark} -->\n<!-- end -->\n" for mark in marks) + "After.\n")
    return path


def test_numbers_when_written_twice_stay_the_same(numbers, tree, capsys) -> None:
    path = readme(tree, "speed", "summary", "later")
    assert numbers.main(["--check"], tree) == 1
    assert numbers.main([], tree) == 0
    first = path.read_text()
    assert "| time of a mean (warm) | 2 ms | 1 ms | 2 × | ≤ 3 | yes |" in first
    assert "| time of a sum | 9 ms | 1 ms | 9 × | ≤ 3 | **no** |" in first
    assert "| time of a peer (no network) |  |  |  |  | not run |" in first
    assert "| `python benchmarks/speed.py --data FOLDER` | 1 of 2 |" in first and "somebody" not in first
    assert "Not measured yet: `scripts/bench.sh later` does." in first
    assert first.startswith("Before.\n") and first.endswith("After.\n")
    assert numbers.main([], tree) == 0 and path.read_text() == first
    assert numbers.main(["--check"], tree) == 0


def test_numbers_choose_lines_by_their_words(numbers, tree) -> None:
    path = readme(tree, "speed | of a mean")
    numbers.main([], tree)
    assert "time of a mean" in path.read_text() and "time of a sum" not in path.read_text()


@pytest.mark.parametrize(
    ("mark", "words"),
    [("sped", "no benchmark 'sped'"), ("_helper", "no benchmark"), ("speed | of a mode", "No line of speed")],
)
def test_numbers_of_unknown_names_are_refused_and_nothing_is_written(numbers, tree, capsys, mark, words) -> None:
    path = readme(tree, mark)
    before = path.read_text()
    assert numbers.main([], tree) == 2
    assert words in capsys.readouterr().err and path.read_text() == before


def test_numbers_of_a_damaged_file_are_refused(numbers, tree, capsys) -> None:
    path = tree / "benchmarks" / "results" / "speed.json"
    path.write_text(path.read_text()[:200])
    readme(tree, "speed")
    assert numbers.main([], tree) == 2 and "speed.json is damaged" in capsys.readouterr().err


def test_result_in_which_a_peer_is_missing_does_not_replace_a_whole_one(tmp_path, capsys) -> None:
    from argparse import Namespace

    from _lines import Line, finish

    options = Namespace(json=tmp_path / "speed.json", quick=False)
    assert finish("speed", [Line("a mean", 1.0, bar=2)], options, []) == 0
    whole = options.json.read_text()
    lines = [Line("a mean", 1.0, bar=2), Line("faster than a peer", note="no network")]
    assert finish("speed", lines, options, []) == 1
    assert options.json.read_text() == whole and "1 of 2 not run" in capsys.readouterr().out
    assert "no network" in (tmp_path / "speed.partial").read_text()
    assert finish("speed", [Line("a mean", 3.0, bar=2)], options, []) == 1  # missed: measured whole all the same
    assert options.json.read_text() != whole and not (tmp_path / "speed.partial").exists()


def test_numbers_without_an_end_are_refused(numbers, tree) -> None:
    (tree / "README.md").write_text("<!-- numbers: speed -->\nno end\n")
    assert numbers.main([], tree) == 2


def test_numbers_of_a_quick_run_are_refused(numbers, tree) -> None:
    from _lines import Line, write

    write(tree / "benchmarks" / "results" / "later.json", "later", [Line("a", 1.0)], quick=True)
    readme(tree, "later")
    assert numbers.main([], tree) == 2


def test_documents_hold_the_numbers_that_were_measured(numbers) -> None:
    assert numbers.main(["--check"]) == 0, "run scripts/bench_numbers.py"


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_kept_result_says_how_it_was_measured_and_names_no_machine(path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["benchmark"] == path.stem and found["command"].startswith(f"python benchmarks/{path.stem}.py")
    assert found["quick"] is False and found["commit"] and found["date"] and found["lines"]
    assert set(found["machine"]) == {"cpu", "cores", "memory_gb", "system", "python", "numpy"}
    for line in found["lines"]:
        assert set(line) == {"what", "ours", "peer", "unit", "ratio", "bar", "note", "met"}
        assert "/tmp" not in line["note"] and "/home" not in line["note"]

"""The benchmark runs at a tiny size, so that it never rots; its bars can be met and missed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

PATH = Path(__file__).parents[3] / "benchmarks" / "anonymize.py"


@pytest.fixture(scope="module")
def benchmark():
    import sys

    spec = importlib.util.spec_from_file_location("benchmark_anonymize", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_quick_run_measures_every_claim(benchmark, tmp_path, capsys):
    path = tmp_path / "numbers.json"
    assert benchmark.main(["--quick", "--json", str(path)]) == 0
    found = json.loads(path.read_text())
    claims = [line["what"] for line in found["lines"]]
    assert found["benchmark"] == "anonymize" and found["quick"]
    for words in ("optimal, k=5, 2 %", "local, k=5", "mondrian, k=5", "rows, k=5, 2 %", "hierarchical", "verify"):
        assert any(words in claim for claim in claims), words
    assert "3-diversity over 5-anonymity" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "bar", "rule", "met"),
    [(0.35748, 0.35748, "==", True), (0.35750, 0.35748, "==", False), (13, 12, "<=", False), (999, 1000, ">=", False)],
)
def test_bars_are_judged(benchmark, value, bar, rule, met):
    assert benchmark.Line("claim", value, rule=rule, bar=bar).met is met


def test_scale_runs_through_duckdb_and_reports_time_and_memory(benchmark, tmp_path):
    path = tmp_path / "numbers.json"
    assert benchmark.main(["--quick", "--scale", "3e3", "--json", str(path)]) == 0
    seconds, memory = json.loads(path.read_text())["lines"]
    assert "3,000 rows through DuckDB" in seconds["what"] and seconds["ours"] > 0
    assert memory["what"].endswith("memory at most") and 0 < memory["ours"] < 8 and memory["met"]

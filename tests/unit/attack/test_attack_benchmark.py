"""The benchmark of the attacks runs, and prints one ratio per claim."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

FILE = Path(__file__).parents[3] / "benchmarks" / "attack.py"


def test_attack_benchmark_at_tiny_sizes_prints_a_ratio_per_claim(capsys, tmp_path):
    spec = importlib.util.spec_from_file_location("attack_benchmark", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(["--quick", "--json", str(tmp_path / "out.json")])
    printed = capsys.readouterr().out
    rows = json.loads((tmp_path / "out.json").read_text())["lines"]
    assert [row["what"].split()[0] for row in rows] == ["reconstruction", "audit", "experiment,"]
    assert all(row["ratio"] > 0 for row in rows)
    assert "100% of the bits found, by the loop 100%" in printed

"""The benchmarks of releases run at tiny sizes, so that they never rot."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize(("name", "rows"), [("release", 10), ("accuracy", 2)])
def test_benchmark_at_tiny_size_runs_and_writes_its_rows(name: str, rows: int, tmp_path: Path) -> None:
    out = tmp_path / "numbers.json"
    script = BENCHMARKS / f"{name}.py"
    subprocess.run([sys.executable, str(script), "--quick", "--json", str(out)], check=True, capture_output=True)
    found = json.loads(out.read_text())
    assert found["benchmark"] == name and found["quick"]
    assert len(found["rows"]) == rows

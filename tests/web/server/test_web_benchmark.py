"""The benchmark of the platform runs at tiny sizes, on the embedded database, without an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from served import clean_environment

FILE = Path(__file__).parents[3] / "benchmarks" / "web.py"


@pytest.mark.slow
def test_web_benchmark_at_tiny_sizes_measures_every_claim_without_an_error(tmp_path: Path) -> None:
    out = tmp_path / "web.json"
    command = [sys.executable, str(FILE), "--quick", "--database", "SQLite", "--json", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=clean_environment())
    assert done.returncode == 0, done.stderr[-2000:]
    lines = json.loads(out.read_text())["lines"]
    rows = {line["what"].removeprefix("SQLite: "): line["ours"] for line in lines}
    assert {name: value for name, value in rows.items() if "errors" in name and value} == {}
    assert sum("errors" in name for name in rows) == 5
    assert rows["import of 3,200 reports"] > 0 and rows["private question: times the raw DuckDB query"] > 0
    assert "not judged" in done.stdout

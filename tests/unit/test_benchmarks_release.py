"""The benchmarks of releases run at tiny sizes, so that they never rot."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize(("name", "rows"), [("release", 12), ("accuracy", 2), ("quantiles", 6), ("persons", 3)])
def test_benchmark_at_tiny_size_runs_and_writes_its_rows(name: str, rows: int, tmp_path: Path) -> None:
    out = tmp_path / "numbers.json"
    script = BENCHMARKS / f"{name}.py"
    subprocess.run([sys.executable, str(script), "--quick", "--json", str(out)], check=True, capture_output=True)
    found = json.loads(out.read_text())
    assert found["benchmark"] == name and found["quick"]
    assert len(found["lines"]) == rows


def test_release_benchmark_names_what_was_not_run_and_why(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("release_benchmark", BENCHMARKS / "release.py")
    benchmark = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "release_benchmark", benchmark)
    spec.loader.exec_module(benchmark)

    def fail(group: str) -> Path:
        raise RuntimeError(f"The peers '{group}' cannot be installed:\nno network")

    import _release_envs

    monkeypatch.setattr(_release_envs, "ensure", fail)
    rows = list(benchmark.table_peers(tmp_path / "none.parquet", 1_000_000, 0.3))
    assert len(rows) == 4
    assert all("NOT RUN  no network" in row.text(judged=True) for row in rows)
    assert "Tumult" in rows[-1].text(judged=True)
    assert benchmark.summary(rows, quick=False, left_out=[]) == "0 bars met, 0 missed, 4 not judged"

"""The benchmark of the closed form against Algorithm 1 runs, at tiny sizes."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "calibrate.py"


@pytest.fixture(scope="module")
def calibrate():
    spec = importlib.util.spec_from_file_location("calibrate_benchmark", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_benchmark_when_quick_prints_one_ratio_per_size_and_writes_json(calibrate, tmp_path, capsys) -> None:
    calibrate.main(["--quick", "--json", str(tmp_path / "out.json")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(calibrate.QUICK_SIZES)
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [row["n"] for row in rows] == list(calibrate.QUICK_SIZES)
    for row in rows:
        assert row["ratio"] == pytest.approx(row["algorithm_1_seconds"] / row["closed_form_seconds"])
        assert row["closed_form_percent"] == pytest.approx(15.0)
    assert rows[-1]["both_in_band"]
    assert rows[-1]["ratio"] > 1

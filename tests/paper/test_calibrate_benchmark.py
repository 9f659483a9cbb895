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
    assert len(lines) == len(calibrate.QUICK_SIZES)
    rows = json.loads((tmp_path / "out.json").read_text())["lines"]
    assert [row["what"].split("n = ")[1] for row in rows] == [f"{n:,}" for n in calibrate.QUICK_SIZES]
    for row in rows:
        assert row["ratio"] == pytest.approx(row["peer"] / row["ours"], rel=1e-4)
        assert row["note"].startswith("noise 15.00 % and")
    assert rows[-1]["note"].endswith(", both in the band")
    assert rows[-1]["ratio"] > 1

"""The benchmark of reading CSV runs at a tiny size, so that it never rots."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[3] / "benchmarks" / "_csv_cost.py"


def test_csv_benchmark_at_a_tiny_size_times_every_kind_of_file(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("csv_cost", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(["--rows", "200", "--repeat", "1"])
    printed = capsys.readouterr().out.splitlines()
    assert [line[:14].strip() for line in printed] == list(module.KINDS)
    assert all("load and ask" in line for line in printed)

"""The noise benchmark runs at tiny sizes, and its helper for peers does what it says."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def _load(name: str):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def peers():
    return _load("_peers")


@pytest.fixture(scope="module")
def noise():
    return _load("noise")


def test_noise_benchmark_quick_prints_a_table_and_writes_json(tmp_path):
    out = tmp_path / "noise.json"
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "noise.py", "--quick", "--json", out], capture_output=True, text=True, check=True
    )
    found = json.loads(out.read_text())
    assert found["benchmark"] == "noise" and found["quick"] is True
    claims = [line["what"] for line in found["lines"]]
    assert len(claims) == 3 and all(line["ratio"] > 0 for line in found["lines"])
    assert all(claim in done.stdout for claim in claims)
    assert "MISSED" not in done.stdout  # nothing is judged at tiny sizes


def test_line_bar_is_judged_in_its_direction(noise):
    assert noise.Line("a", ratio=3.9, bar=4).met and not noise.Line("a", ratio=4.1, bar=4).met
    assert noise.Line("a", ratio=101, rule=">=", bar=100).met and not noise.Line("a", ratio=99, rule=">=", bar=100).met
    assert "MISSED" in noise.Line("a", ratio=99, rule=">=", bar=100).text(judged=True)
    assert "MISSED" not in noise.Line("a", ratio=99, rule=">=", bar=100).text(judged=False)


def test_noise_benchmark_missed_bar_ends_with_code_one(noise, monkeypatch):
    slow = noise.Line("too slow", ratio=9.0, bar=4)
    monkeypatch.setattr(noise, "against_numpy", lambda n, repeats: (slow, 1.0))
    monkeypatch.setattr(noise, "against_peers", lambda ours: [])
    monkeypatch.setattr(noise, "memory", lambda n: noise.Line("memory", ratio=2.0, bar=4))
    assert noise.main([]) == 1
    assert noise.main(["--quick"]) == 0


def test_noise_benchmark_peers_are_asked_in_their_own_environment(noise, monkeypatch):
    asked = []
    fake = type(sys)("_peers")
    fake.ensure = lambda names: asked.append(list(names)) or Path("python-of-the-peers")
    fake.run = lambda python, script, args: asked.append((str(python), script)) or {"Peer 1.0": 5000.0}
    monkeypatch.setitem(sys.modules, "_peers", fake)
    (row,) = noise.against_peers(10.0)
    assert row.ratio == 500 and row.met and "Peer 1.0" in row.what
    assert asked == [["opendp", "diffprivlib"], ("python-of-the-peers", "_noise_peers.py")]
    assert (BENCHMARKS / "_noise_peers.py").is_file()


def test_memory_row_counts_the_input(noise):
    row = noise.memory(1_000_000)
    assert 2.0 <= row.value <= 4.0


def test_peers_run_reads_what_is_printed_as_json(peers):
    code = "import sys, json; print('chatter'); print(json.dumps({'got': sys.argv[1:]}))"
    assert peers.run(Path(sys.executable), code, ["1", "2"]) == {"got": ["1", "2"]}


def test_peers_run_failure_raises_with_its_last_words(peers):
    with pytest.raises(RuntimeError, match="no such luck"):
        peers.run(Path(sys.executable), "raise SystemExit('no such luck')")


def test_peers_ensure_ready_environment_is_used_as_it_is(peers, tmp_path, monkeypatch):
    monkeypatch.setenv("PYDPLIB_BENCH_ENV", str(tmp_path))
    (tmp_path / "bin").mkdir()
    os.symlink(sys.executable, tmp_path / "bin" / "python")
    (tmp_path / ".lock-installed").write_text(hashlib.sha256(peers.LOCK.read_bytes()).hexdigest())
    assert peers.ensure(["json"]) == tmp_path / "bin" / "python"
    with pytest.raises(subprocess.CalledProcessError):
        peers.ensure(["no_such_peer_anywhere"])


def test_peers_lock_pins_the_peers_of_the_noise_benchmark(peers):
    lock = peers.LOCK.read_text()
    assert "opendp==" in lock and "diffprivlib==" in lock

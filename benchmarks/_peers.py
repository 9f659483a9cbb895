"""Peers to compare with, in an environment of their own: our dependencies stay light, and theirs do not touch ours.

    python = ensure(["opendp", "diffprivlib"])          # makes .venv-bench from locks/bench.lock if need be
    numbers = run(python, "noise_peers.py", ["20000"])  # a script next to this file, or Python code; prints JSON

A peer is added in ``benchmarks/peers.in``, whose head says how to renew the lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LOCK = HERE.parent / "locks" / "bench.lock"
ENVIRONMENT = HERE.parent / ".venv-bench"


def ensure(names: Sequence[str]) -> Path:
    """Return the Python of the peers' environment, in which all of ``names`` can be imported.

    The environment is made, or made again after a change of the lock, on first use: a download of some minutes.
    ``PYDPLIB_BENCH_ENV`` names another place for it.

    Raises:
        RuntimeError: If it cannot be made (no network, say), with the last lines of what pip said.
    """
    place = Path(os.environ.get("PYDPLIB_BENCH_ENV", ENVIRONMENT))
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    ready = place / ".lock-installed"
    wanted = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not (python.exists() and ready.exists() and ready.read_text() == wanted):
        print(f"Setting up the peers in {place.name} (some minutes the first time) ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        done = subprocess.run([*command, "-r", LOCK], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError("The peers cannot be installed:\n" + "\n".join(done.stderr.splitlines()[-5:]))
        ready.write_text(wanted)
    subprocess.run([python, "-c", "import " + ", ".join(names)], check=True, capture_output=True)
    return python


def run(python: Path, code_or_script: str, args: Sequence[str] = ()) -> Any:
    """Return what a script (a file name ending in ``.py``, next to this one) or Python code prints, read as JSON.

    The child does not see this package: it runs isolated, with the peers alone.
    """
    what = [str(HERE / code_or_script)] if code_or_script.endswith(".py") else ["-c", code_or_script]
    done = subprocess.run([python, "-I", *what, *args], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("A peer failed:\n" + "\n".join(done.stderr.splitlines()[-5:]))
    return json.loads(done.stdout.splitlines()[-1])

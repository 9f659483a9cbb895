"""Building the package: a wheel and a source archive from a folder, without an index."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Built:
    wheel: Path
    sdist: Path


def build(source: Path, target: Path) -> Built:
    """Build the source archive, and the wheel from nothing but it; the builder is in the development environment."""
    (sdist,) = _run(source, target, "sdist").glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as unpacked:
        with tarfile.open(sdist) as archive:
            # Debian's Python 3.11.2 knows no filters yet.
            archive.extractall(unpacked, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        (folder,) = Path(unpacked).iterdir()
        (wheel,) = _run(folder, target, "wheel").glob("*.whl")
    return Built(wheel, sdist)


def _run(source: Path, target: Path, kind: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return target

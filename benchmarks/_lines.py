"""What every benchmark prints and keeps: one line per claim, with its bar and verdict, and where it was measured.

    line = Line("time of x + Generator.laplace", ours=11.2, peer=5.6, unit="ns", ratio=2.0, bar=4)
    print(line.text(judged=True))
    return finish("noise", [line], options, arguments)   # writes --json, returns the exit code

A result file holds the command, the commit, the date, the machine (no names, no paths) and the lines.
``scripts/bench_numbers.py`` puts them into the documents.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Line:
    """One claim: our number, the peer's, their ratio, and the bar. Judged is the ratio, or our number without one.

    Args:
        what: The claim, in words.
        ours: What we measured; None if it could not be, and then ``note`` says why.
        peer: The same of what it is compared with.
        unit: Of both, e.g. ``"ms"``.
        ratio: The number that is judged, where it is a ratio.
        rule: ``"<="``, ``">="`` or ``"=="`` (to five decimals).
        bar: What is promised; None if nothing is.
        note: What else there is to say.
    """

    what: str
    ours: float | None = None
    peer: float | None = None
    unit: str = ""
    ratio: float | None = None
    rule: str = "<="
    bar: float | None = None
    note: str = ""

    @property
    def value(self) -> float | None:
        """The number that is judged."""
        return self.ours if self.ratio is None else self.ratio

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None without a bar, or without a number."""
        if self.bar is None or self.value is None:
            return None
        if self.rule == "==":
            return abs(self.value - self.bar) < 0.5e-5 + 1e-12
        return self.value <= self.bar if self.rule == "<=" else self.value >= self.bar

    def text(self, *, judged: bool) -> str:
        """Return the line as it is printed; at tiny sizes no bar is judged."""
        if self.value is None:
            return f"{self.what:<62} {'':>10}  {'':>10}  NOT RUN  {self.note}"
        bar = "" if self.bar is None else f"{self.rule} {self.bar:.5g}"
        verdict = "" if self.met is None else ("met" if self.met else "MISSED") if judged else "-"
        plain = f"{self.value:,.4g} {self.unit}" if self.unit else f"{self.value:.5f}".rstrip("0").rstrip(".")
        value = f"{self.value:.2f}x" if self.ratio is not None else plain
        return f"{self.what:<62} {value:>10}  {bar:>10}  {verdict:<6}  {self.detail}".rstrip()

    @property
    def detail(self) -> str:
        """Our number against the peer's, and the note."""
        if self.ours is None or self.peer is None:
            return self.note
        numbers = f"{self.ours:,.4g} against {self.peer:,.4g} {self.unit}".rstrip()
        return f"{numbers}, {self.note}" if self.note else numbers


def summary(lines: Sequence[Line], *, quick: bool, left_out: Sequence[str] = ()) -> str:
    """Return the last words: how many bars were met, missed and not judged."""
    judged = [line.met for line in lines if line.met is not None and not quick]
    bars = sum(line.bar is not None or line.value is None for line in lines)
    words = f"{sum(judged)} bars met, {len(judged) - sum(judged)} missed, {bars - len(judged)} not judged"
    return words + (f"; left out: {', '.join(left_out)}" if left_out else "")


def finish(name: str, lines: Sequence[Line], options: argparse.Namespace, arguments: Sequence[str] | None) -> int:
    """Write the result file if ``--json`` asks for it; return the exit code: 1 if a full run missed a bar or a line.

    Where a line could not be run (no network for a peer, say), the numbers go into ``NAME.partial`` next to the file:
    what was measured whole before stays, and so do the documents.
    """
    unrun = [] if options.quick else [line for line in lines if line.value is None]
    if options.json is not None:
        given = sys.argv[1:] if arguments is None else arguments
        partial = options.json.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        write(partial if unrun else options.json, name, lines, quick=options.quick, arguments=given)
        if unrun:
            print(f"{len(unrun)} of {len(lines)} not run: kept apart, in {partial.name}.")
    return 0 if options.quick or not (unrun or any(line.met is False for line in lines)) else 1


def write(path: Path, name: str, lines: Sequence[Line], *, quick: bool, arguments: Sequence[str] = ()) -> None:
    """Write a result file, whole or not at all."""
    content = {
        "benchmark": name,
        "command": command(name, arguments),
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "quick": quick,
        "lines": [_plain(line) for line in lines],
    }
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _plain(line: Line) -> dict[str, Any]:
    """Return a line as it is kept: numbers to six digits (more is not known), the bar with its rule."""
    kept = {
        key: (None if not math.isfinite(value) else float(f"{value:.6g}")) if isinstance(value, float) else value
        for key, value in asdict(line).items()
    }
    kept["bar"] = None if line.bar is None else f"{line.rule} {line.bar:.5g}"
    del kept["rule"]
    return {**kept, "met": line.met}


def command(name: str, arguments: Sequence[str]) -> str:
    """Return the command without what belongs to this machine: where the result goes, and names of folders."""
    words, rest = [], iter(str(argument) for argument in arguments)
    for word in rest:
        if word == "--json":
            next(rest, None)
        elif not word.startswith("--json="):
            words.append("FOLDER" if os.sep in word else word)
    return " ".join(["python", f"benchmarks/{name}.py", *words])


def commit() -> str:
    """Return the commit that was measured, with a plus if the code was changed since."""
    git = ["git", "-C", str(HERE)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        return "unknown"
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "../src", "."], capture_output=True).returncode
    return head.stdout.strip() + ("+" if changed else "")


def machine() -> dict[str, Any]:
    """Return what the times depend on, and nothing that names the machine."""
    import numpy as np

    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": _memory_gb(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_gb() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)
    except (AttributeError, OSError, ValueError):
        return None

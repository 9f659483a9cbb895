"""Put the numbers of benchmarks/results/*.json into the documents, between their marks.

    python scripts/bench_numbers.py            # writes README.md and docs/**/*.md again
    python scripts/bench_numbers.py --check    # changes nothing; ends with 1 if a number is not the measured one

A document marks the place, and may choose lines by words that they contain:

    <!-- numbers: noise --> ... <!-- end -->
    <!-- numbers: release | naive unsafe mean | Tumult --> ... <!-- end -->
    <!-- numbers: summary --> ... <!-- end -->        one line per benchmark: command, bars met, when and where

A name without a benchmark, and words that no line has, are refused.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"(?P<open><!-- numbers: (?P<what>[^\n]*?) -->\n)(?P<old>.*?)(?P<end><!-- end -->)", re.S)
SUMMARY = "summary"


class NumbersError(Exception):
    """A mark that cannot be filled, and why."""


def names(root: Path) -> list[str]:
    """Return the benchmarks that there are."""
    return sorted(path.stem for path in (root / "benchmarks").glob("[a-z]*.py"))


def result(root: Path, name: str) -> dict[str, Any] | None:
    """Return the kept result of a benchmark; None if it was not measured yet."""
    if name not in names(root):
        raise NumbersError(f"There is no benchmark {name!r}; there are {', '.join([*names(root), SUMMARY])}.")
    path = root / "benchmarks" / "results" / f"{name}.json"
    if not path.exists():
        return None
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise NumbersError(f"{path.name} is damaged: measure again, or take it from the history.") from None
    if found["quick"]:
        raise NumbersError(f"{path.name} is of a quick run: nothing in it is a measurement.")
    return found


def render(root: Path, what: str) -> str:
    """Return what stands between the marks."""
    name, *words = (part.strip() for part in what.split("|"))
    if name == SUMMARY:
        return _summary(root)
    found = result(root, name)
    if found is None:
        return f"Not measured yet: `scripts/bench.sh {name}` does.\n"
    lines = found["lines"]
    for word in words:
        if not any(word in line["what"] for line in lines):
            raise NumbersError(f"No line of {name} has the words {word!r}.")
    if words:
        lines = [line for line in lines if any(word in line["what"] for word in words)]
    shown = [*_table(lines), "", _origin(found)]
    if not words:  # a whole benchmark is long: folded, with its verdict on the fold
        fold = f'<details markdown="1"><summary>{name}: {len(lines)} lines, bars met: {_bars(found)}</summary>'
        shown = [fold, "", *shown, "", "</details>"]
    return "\n" + "\n".join(shown) + "\n"


def _table(lines: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "| what was measured | ours | compared with | ratio | promised | kept |"
    yield "|---|---:|---:|---:|---:|---|"
    for line in lines:
        unit, ratio = line["unit"], line["ratio"]
        cells = [
            line["what"] + (f" ({line['note']})" if line["note"] else ""),
            _number(line["ours"], unit),
            _number(line["peer"], unit),
            "" if ratio is None else _number(ratio, "×"),
            (line["bar"] or "").replace("<=", "≤").replace(">=", "≥").replace("==", "="),
            _verdict(line),
        ]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _verdict(line: dict[str, Any]) -> str:
    if line["ours"] is None and line["ratio"] is None:
        return "not run"
    return {True: "yes", False: "**no**", None: ""}[line["met"]]


def _number(value: float | None, unit: str = "") -> str:
    """Return a number to three digits, or as it is where it is a count; losses keep their five decimals."""
    if value is None:
        return ""
    if (float(value).is_integer() and abs(value) < 1e6) or abs(value) >= 100:
        text = f"{value:,.0f}"
    elif not unit and abs(value) < 1:
        text = f"{value:.5f}".rstrip("0")
    else:
        text = f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def _origin(found: dict[str, Any]) -> str:
    machine = found["machine"]
    where = f"{machine['cores']} cores of {machine['cpu']}, {machine['memory_gb']} GB, Python {machine['python']}"
    return f"`{found['command']}`, {found['date']}, commit {found['commit']}, {where}."


def _summary(root: Path) -> str:
    rows = ["| command | bars met | measured |", "|---|---|---|"]
    for name in names(root):
        found = result(root, name)
        if found is None:
            rows.append(f"| `python benchmarks/{name}.py` | | not yet |")
            continue
        rows.append(f"| `{found['command']}` | {_bars(found)} | {found['date']} |")
    return "\n" + "\n".join(rows) + "\n\n"


def _bars(found: dict[str, Any]) -> str:
    verdicts = [line["met"] for line in found["lines"] if line["met"] is not None]
    return f"{sum(verdicts)} of {len(verdicts)}" if verdicts else "none promised"


def filled(root: Path, text: str, where: str = "") -> str:
    """Return a document with its numbers."""

    def replace(match: re.Match[str]) -> str:
        try:
            return match["open"] + render(root, match["what"]) + match["end"]
        except NumbersError as error:
            raise NumbersError(f"{where}: {error}") from None

    if text.count("<!-- numbers: ") != len(MARK.findall(text)):
        raise NumbersError(f"{where}: a mark of numbers has no <!-- end -->, or is not alone on its line.")
    return MARK.sub(replace, text)


def documents(root: Path) -> list[Path]:
    """Return the documents that may hold marks."""
    return [path for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))] if path.exists()]


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    check = "--check" in arguments
    stale: dict[Path, str] = {}
    try:
        for path in documents(root):
            old = path.read_text(encoding="utf-8")
            new = filled(root, old, path.name)
            if new != old:
                stale[path] = new
    except NumbersError as error:
        print(error, file=sys.stderr)
        return 2
    if not check:  # all of them, or none
        for path, new in stale.items():
            path.write_text(new, encoding="utf-8")
    if stale:
        print(
            ("Not as measured: " if check else "Written: ")
            + ", ".join(path.relative_to(root).as_posix() for path in stale)
        )
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

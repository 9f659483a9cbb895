"""Table 1 as journals print it: read off a release, and written as HTML for word processors, as CSV and as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from html import escape
from typing import Any

from pydplib._csv_text import csv_pieces
from pydplib._shown import Shown
from pydplib.clinic.intervals import holm, laplace_variance
from pydplib.release.results.axes import Axis, show_key
from pydplib.release.results.findings import Finding, p_text
from pydplib.release.results.release import Release

KNOWN = ": persons with a value"
SPREADS = (": SD", ": lower quartile", ": median", ": upper quartile")
TEST = ": chi-squared test"
"""What the findings of a Table 1 are called, after the title of their variable."""

_SPACE = "\N{NO-BREAK SPACE}"
_SURE = 2.0  # standard deviations of the noise: fewer missing values than that are not shown


@dataclass(frozen=True)
class PrintedLine:
    """One line of Table 1: its words, one entry per arm, and the p-value of its variable on the first line."""

    words: str
    cells: tuple[str, ...]
    _: KW_ONLY
    p: float | None = None
    adjusted: float | None = None
    indent: int = 0


@dataclass(frozen=True, repr=False)
class PrintedTable(Shown):
    """Table 1: what each arm looks like, from noisy counts.

    Attributes:
        arms: The arms, with "n ≈ 320".
        lines: The lines.
        release: What it is made of: guarantee, cost, intervals and every noisy count.
    """

    arms: tuple[str, ...]
    lines: tuple[PrintedLine, ...]
    release: Release

    @classmethod
    def of(cls, release: Release, names: Mapping[str, Mapping[Any, str]] | None = None) -> PrintedTable:
        """Return the table of a release of ``TableOne``.

        Args:
            release: What was released.
            names: Column -> key -> its words for readers, where a key is a code.
        """
        return cls(*_read(release, names or {}), release)

    @property
    def tests(self) -> int:
        """How many tests there are."""
        return sum(line.p is not None for line in self.lines)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know, in sentences."""
        return (*self.release.notes, f"Counted: {self.release.counted}")

    @property
    def head(self) -> list[str]:
        """The words over the columns."""
        return ["", *self.arms, *(["p", "p (Holm)"] if self.tests else [])]

    @property
    def rows(self) -> list[list[str]]:
        """The table as words, line by line."""
        found = []
        for line in self.lines:
            tests = [] if not self.tests else [_p(line.p), _p(line.adjusted)]
            found.append([_SPACE * 4 * line.indent + line.words, *line.cells, *tests])
        return found

    @property
    def caption(self) -> str:
        """What is guaranteed, and what it cost."""
        return f"{self.release.guarantee.sentence} Cost: {self.release.cost.words}."

    def to_csv(self) -> str:
        """Return the table as CSV; no spreadsheet runs a cell of it as a formula."""
        rows = [[cell.replace(_SPACE, " ") for cell in row] for row in self.rows]
        return "".join(csv_pieces(self.head, rows, end="\n"))

    def to_html(self) -> str:
        """Return the table as HTML with its styles written in, as word processors keep them when it is pasted."""
        edge, thin = "1.5pt solid black", "0.75pt solid black"
        cell = "padding:2pt 8pt;text-align:{};font-family:serif;font-size:11pt;{}"
        head = "".join(
            f'<th scope="col" style="'
            f'{cell.format("left" if place == 0 else "center", f"border-top:{edge};border-bottom:{thin}")}">'
            f"{escape(word) or '&nbsp;'}</th>"
            for place, word in enumerate(self.head)
        )
        body = []
        for number, row in enumerate(self.rows):
            last = f"border-bottom:{edge}" if number == len(self.lines) - 1 else ""
            cells = "".join(
                f'<td style="{cell.format("left" if place == 0 else "center", last)}">{escape(word)}</td>'
                for place, word in enumerate(row)
            )
            body.append(f"<tr>{cells}</tr>")
        small = "".join(
            f'<p style="font-family:serif;font-size:9pt;margin:2pt 0">{escape(note)}</p>'
            for note in (*self.notes, self.caption)
        )
        table = f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody>'
        return f"{table}</table>{small}"

    def to_page(self, title: str = "Table 1") -> str:
        """Return the table as a whole HTML document: browsers and word processors open it."""
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>'
            f"<body>{self.to_html()}</body></html>\n"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    @property
    def text_lines(self) -> list[str]:
        """The table as lines of text."""
        rows = [self.head, *self.rows]
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        return ["  ".join(word.ljust(wide) for word, wide in zip(row, widths, strict=True)).rstrip() for row in rows]

    def __str__(self) -> str:
        return "\n".join([*self.text_lines, *(f"  {note}" for note in (*self.notes, self.caption))])


def _read(
    release: Release, names: Mapping[str, Mapping[Any, str]]
) -> tuple[tuple[str, ...], tuple[PrintedLine, ...]]:  # fmt: skip
    """Return arms and lines of a release; its lines and findings stand in the order of the question's variables."""
    lines_axis, *others = release.axes
    arms = others[0] if others else Axis("", ("All",))
    width = len(arms.keys)
    values = [release.values[start : start + width] for start in range(0, len(release.values), width)]
    findings, place = iter(release.findings), 1
    persons = values[0]
    missing_noise = _SURE * math.sqrt(laplace_variance(release.scale) * len(lines_axis.keys))
    lines: list[PrintedLine] = []
    tested: list[int] = []
    for entry in release.question["variables"]:
        known = [next(findings) for _ in range(width)]
        title = known[0].name.removesuffix(KNOWN)
        keys = entry.get("keys") or []
        own: list[PrintedLine]
        if "edges" in entry:
            spreads = [[next(findings) for _ in range(width)] for _ in SPREADS]
            unit = f" ({spreads[0][0].unit})" if spreads[0][0].unit else ""
            title += unit
            own = _number_lines(values[place], spreads)
            place += 1
        else:
            words = names.get(entry["column"], {})
            labels = [words.get(key, show_key(key)) for key in keys]
            own = _category_lines(values[place : place + len(keys)], known, labels)
            place += len(keys)
        p = None
        if width > 1 and ("edges" in entry or len(keys) > 1):
            p = next(findings).p
            tested.append(len(lines))
        lines += [PrintedLine(title, ("",) * width, p=p), *own]
        gone = [max(0.0, all_ - (one.value or 0.0)) for all_, one in zip(persons, known, strict=True)]
        if any(number > missing_noise for number in gone):
            lines.append(PrintedLine("missing or other", tuple(str(round(number)) for number in gone), indent=1))
    adjusted = holm([lines[at].p or 0.0 for at in tested])
    for at, corrected in zip(tested, adjusted, strict=True):
        line = lines[at]
        lines[at] = PrintedLine(line.words, line.cells, p=line.p, adjusted=corrected, indent=line.indent)
    title = f"{arms.title or arms.name}: " if others else ""
    heads = [f"{title}{label} (n ≈ {round(number)})" for label, number in zip(arms.labels, persons, strict=True)]
    return tuple(heads), tuple(lines)


def _number_lines(means: Sequence[float], spreads: Sequence[Sequence[Finding]]) -> list[PrintedLine]:
    numbers = [[float(found.value or 0.0) for found in row] for row in spreads]
    cells = tuple(f"{mean:.1f} ({deviation:.1f})" for mean, deviation in zip(means, numbers[0], strict=True))
    boxes = tuple(f"{two:.1f} [{one:.1f} to {three:.1f}]" for one, two, three in zip(*numbers[1:], strict=True))
    return [PrintedLine("mean (SD)", cells, indent=1), PrintedLine("median [quartiles]", boxes, indent=1)]


def _category_lines(
    shares: Sequence[Sequence[float]], known: Sequence[Finding], labels: Sequence[str]
) -> list[PrintedLine]:  # fmt: skip
    found = []
    for row, label in zip(shares, labels, strict=True):
        numbers = [round(share / 100 * (one.value or 0.0)) for share, one in zip(row, known, strict=True)]
        cells = tuple(f"{number} ({share:.1f} %)" for number, share in zip(numbers, row, strict=True))
        found.append(PrintedLine(label, cells, indent=1))
    return found


def _p(p: float | None) -> str:
    return "" if p is None else p_text(p).removeprefix("p ").removeprefix("= ")

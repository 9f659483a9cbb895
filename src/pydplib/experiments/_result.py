"""What an experiment gives back: rows, tables next to the paper's values, figures, remarks; and how it is written."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydplib._version import __version__
from pydplib.report import Chart, Points, Report, Section, Table

if TYPE_CHECKING:
    from pydplib.plot import Figure
    from pydplib.report import Report

Row = dict[str, Any]


@dataclass(frozen=True)
class Sheet:
    """A table of an experiment: its title, its columns (key -> heading) and its rows.

    Examples:
        >>> Sheet("Sizes", {"n": "people"}, [{"n": 3}]).cells()
        [[3]]
    """

    title: str
    columns: Mapping[str, str]
    rows: Sequence[Row]
    note: str = ""

    def cells(self) -> list[list[Any]]:
        """Return the rows as lists, in the order of the columns."""
        return [[row.get(key) for key in self.columns] for row in self.rows]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The outcome of an experiment.

    Attributes:
        name: The name on the command line.
        title: A heading.
        lead: What was done, in two sentences.
        settings: What it was done with; with a seed, the run can be repeated.
        rows: The main table, as plain values: what ``--json`` and ``--csv`` give.
        sheets: All tables, for reading.
        remarks: What to know before believing the numbers.
        further: Further numbers for JSON.
        draw: Makes the figures, name -> (figure, the same numbers as a table); called when they are wanted.
    """

    name: str
    title: str
    lead: str
    settings: Mapping[str, Any]
    rows: Sequence[Row]
    sheets: Sequence[Sheet]
    remarks: Sequence[str]
    further: Mapping[str, Any] = field(default_factory=dict)
    draw: Callable[[], Mapping[str, tuple[Figure, Sheet]]] = field(default=dict, repr=False, compare=False)

    def figures(self) -> dict[str, Figure]:
        """Return the figures by name."""
        return {name: figure for name, (figure, _) in self.draw().items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the figures as plain values."""
        plain = {
            "experiment": self.name,
            "settings": dict(self.settings),
            "rows": list(self.rows),
            **self.further,
            "remarks": list(self.remarks),
        }
        cleaned: dict[str, Any] = _without_nan(plain)
        return cleaned

    def to_json(self) -> str:
        """Return JSON; what is not a finite number is null."""
        return json.dumps(self.to_dict(), indent=2)

    def to_csv(self) -> str:
        """Return the main table as CSV."""
        out = io.StringIO()
        writer = csv.DictWriter(out, fieldnames=list(self.rows[0]) if self.rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(_without_nan(list(self.rows)))
        return out.getvalue()

    def to_report(self) -> Report:
        """Return a page with tables, figures and remarks that loads nothing from anywhere."""
        tables = [
            Section(
                sheet.title, [Table(list(sheet.columns.values()), sheet.cells(), caption=sheet.note or sheet.title)]
            )
            for sheet in self.sheets
        ]
        charts = [
            Chart(figure, Table(list(sheet.columns.values()), sheet.cells(), caption=sheet.title))
            for figure, sheet in self.draw().values()
        ]
        seed = self.settings.get("seed")
        repeat = f"seed {seed}; the noise of this run can be repeated" if seed is not None else "fresh noise"
        return Report(
            title=self.title,
            kicker=f"pydplib experiment {self.name} · synthetic data",
            lead=self.lead,
            sections=[
                *tables[:1],
                Section("Figures", charts),
                *tables[1:],
                Section("What to know", [Points(list(self.remarks))]),
            ],
            footer=f"Made with pydplib {__version__} from synthetic data ({repeat}).",
        )


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

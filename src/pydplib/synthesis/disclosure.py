"""For the owner's own screen: the original next to its synthetic table, and what the rows give away about people.

Everything here is a function of the real data and is not private: never in a release, a receipt, an API or a partner's
page. A purchase that is made after looking at it depends on the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pydplib._shown import Shown
from pydplib.engine import Bins
from pydplib.errors import DataError, ParameterError
from pydplib.release.array_values import to_array
from pydplib.release.results.frames import build_frame
from pydplib.synthesis.counters import CodeCounter
from pydplib.synthesis.domain import Variable
from pydplib.synthesis.model import Integers
from pydplib.synthesis.table import SyntheticTable

OWNER_ONLY = "For the owner only: these numbers are exact functions of the data, and no guarantee covers them."
"""What every report here says."""

MOST_PEOPLE = 5_000
"""Most persons whose nearest rows are looked for."""


@dataclass(frozen=True, repr=False, kw_only=True)
class DisclosureReport(Shown):
    """What a synthetic table gives away about the people that it was made from, next to a fair baseline.

    Attributes:
        distances: Mean total variation between original and synthetic table, of columns, pairs and triples.
        membership: How often "who has a near row in the synthetic table was in the data" is right, half being chance;
            None without people who were not in the data.
        attribute: Column -> how often its value is guessed from the nearest synthetic row, the other columns known.
        baseline: Column -> how often the most frequent value of the column is right.
        copies: The share of synthetic rows that some person has in all columns.
    """

    distances: tuple[float, float, float]
    membership: float | None
    attribute: dict[str, float]
    baseline: dict[str, float]
    copies: float

    def columns(self) -> dict[str, list[Any]]:
        """Return the guesses of every column as columns."""
        return {
            "column": list(self.attribute),
            "guessed": list(self.attribute.values()),
            "baseline": [self.baseline[name] for name in self.attribute],
        }

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return the guesses of every column as a data frame."""
        return build_frame(self.columns(), backend)

    def __str__(self) -> str:
        one, two, three = (f"{100 * value:.1f} %" for value in self.distances)
        lines = [OWNER_ONLY, f"  distance     columns {one}, pairs {two}, triples {three}"]
        if self.membership is not None:
            lines.append(f"  membership   guessed right {100 * self.membership:.1f} % (chance is 50 %)")
        lines.append(f"  copies       {100 * self.copies:.1f} % of the rows are some person's in all columns")
        for name, guessed in self.attribute.items():
            lines.append(
                f"  {name:<12} guessed {100 * guessed:.1f} %, without the table {100 * self.baseline[name]:.1f} %"
            )
        return "\n".join(lines)


def disclosure_report(table: SyntheticTable, original: Any, *, others: Any = None) -> DisclosureReport:
    """Return what a synthetic table gives away, for the owner's own screen.

    Args:
        table: The synthetic table.
        original: The data frame that it was made from, one row per person.
        others: People of the same kind who were not in it, for the membership guess.

    Examples:
        >>> import pydplib as dp
        >>> people = dp.datasets.pirads().drop_duplicates("patient_id")
        >>> table = dp.synthesize(people, dp.datasets.pirads_schema(), columns=["pirads", "bph", "turp"], epsilon=2.0)
        >>> sorted(disclosure_report(table, people).attribute)
        ['bph', 'pirads', 'turp']
    """
    real = codes_of(table.variables, original)
    made = table.codes
    if real.shape[1] == 0:
        raise ParameterError("The original has no rows.")
    exact, drawn = (CodeCounter(list(codes), [v.size for v in table.variables]) for codes in (real, made))
    width = len(table.variables)
    distances = []
    for order in (1, 2, 3):
        each = [
            0.5 * np.abs(exact.counts(c) / real.shape[1] - drawn.counts(c) / made.shape[1]).sum()
            for c in combinations(range(width), order)
        ]
        distances.append(float(np.mean(each)) if each else 0.0)
    few = real[:, :MOST_PEOPLE]
    attribute, baseline = {}, {}
    for place, variable in enumerate(table.variables):
        known = [c for c in range(width) if c != place]
        nearest, _ = _nearest(few[known], made[known]) if known else (np.zeros(few.shape[1], dtype=np.int64), None)
        attribute[variable.name] = float((made[place][nearest] == few[place]).mean())
        top = np.bincount(made[place], minlength=variable.size).argmax()
        baseline[variable.name] = float((few[place] == top).mean())
    membership = None
    if others is not None:
        outside = codes_of(table.variables, others)[:, :MOST_PEOPLE]
        size = min(few.shape[1], outside.shape[1])
        inside_gap, outside_gap = (_nearest(group[:, :size], made)[1] for group in (few, outside))
        membership = _best_split(inside_gap, outside_gap)
    rows = {tuple(row) for row in real.T.tolist()}
    copies = float(np.mean([tuple(row) in rows for row in made.T.tolist()]))
    return DisclosureReport(
        distances=(distances[0], distances[1], distances[2]),
        membership=membership,
        attribute=attribute,
        baseline=baseline,
        copies=copies,
    )


def next_to_original(table: SyntheticTable, original: Any, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Return the counts of a figure from the original and from the synthetic table, cell by cell; for the owner only.

    Args:
        table: The synthetic table.
        original: The data frame that it was made from, one row per person.
        columns: One or two columns.

    Examples:
        >>> import pydplib as dp
        >>> people = dp.datasets.pirads().drop_duplicates("patient_id")
        >>> table = dp.synthesize(people, dp.datasets.pirads_schema(), columns=["pirads", "bph"], epsilon=2.0)
        >>> list(next_to_original(table, people, ["bph"]))
        ['bph', 'original', 'synthetic']
    """
    names = list(table.columns)
    for name in columns:
        if name not in names:
            raise ParameterError(f"The synthetic table has no column '{name}'.")
    places = tuple(names.index(name) for name in columns)
    sizes = [variable.size for variable in table.variables]
    exact = CodeCounter(list(codes_of(table.variables, original)), sizes)
    drawn = CodeCounter(list(table.codes), sizes)
    ordered = tuple(sorted(set(places)))
    found: dict[str, list[Any]] = {names[place]: [] for place in ordered}
    found |= {"original": exact.counts(ordered).ravel().tolist(), "synthetic": drawn.counts(ordered).ravel().tolist()}
    for index in np.ndindex(*(sizes[place] for place in ordered)):
        for place, cell in zip(ordered, index, strict=True):
            found[names[place]].append(table.variables[place].labels[cell])
    return found


def codes_of(variables: Sequence[Variable], frame: Any) -> Integers:
    """Return the cells of a frame's rows, one line per column: as the engine places them, for the owner's reports."""
    found = []
    for variable in variables:
        try:
            values = to_array(frame[variable.name])
        except (KeyError, TypeError):
            raise DataError(f"The original has no column '{variable.name}'.") from None
        last = variable.size - 1
        if isinstance(variable.keys, Bins):
            numbers = np.array([_number(value) for value in values.tolist()])
            edges = np.array(variable.keys.numbers)
            inside = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, last - 1)
            found.append(np.where(np.isnan(numbers), last, inside))
        else:
            places = {_word(key): place for place, key in enumerate(variable.cells)}
            found.append(np.array([places.get(_word(value), last) for value in values.tolist()], dtype=np.int64))
    return np.array(found)


def _number(value: Any) -> float:
    if hasattr(value, "toordinal"):
        return float(value.toordinal() - 719163)  # days since 1970-01-01
    if isinstance(value, str):
        try:
            return float(np.datetime64(value, "D").astype(np.int64))
        except ValueError:
            return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _word(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _nearest(people: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Return for each person the row that agrees in most columns, and in how many it does not."""
    best, gaps = [], []
    for begin in range(0, people.shape[1], 256):
        some = people[:, begin : begin + 256]
        differ = np.zeros((some.shape[1], rows.shape[1]), dtype=np.int16)
        for own, drawn in zip(some, rows, strict=True):
            differ += own[:, None] != drawn[None, :]
        best.append(differ.argmin(axis=1))
        gaps.append(differ.min(axis=1))
    return np.concatenate(best), np.concatenate(gaps)


def _best_split(inside: Integers, outside: Integers) -> float:
    """Return how often the best threshold on the gap tells insiders from outsiders."""
    return max(
        0.5 * float((inside <= limit).mean()) + 0.5 * float((outside > limit).mean())
        for limit in range(-1, int(max(inside.max(), outside.max())) + 1)
    )

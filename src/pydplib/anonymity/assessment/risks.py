"""Re-identification risk: prosecutor, journalist, marketer, uniqueness, and which columns cause it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from pydplib._shown import Shown
from pydplib.anonymity.assessment.population import population_uniqueness
from pydplib.anonymity.assessment.unnamed_columns import ColumnFinding
from pydplib.anonymity.assessment.verification import look_at_others, names_of, person_codes
from pydplib.anonymity.tables.columns import Floats, Ints
from pydplib.anonymity.tables.frames import ColumnCodes, Frame, SeenFrame, with_labels
from pydplib.anonymity.tables.values import show
from pydplib.anonymity.tables.view import View, number_rows, one_of_each, view_of
from pydplib.errors import DataError, ParameterError

THRESHOLDS = (0.2, 0.09, 0.05)
"""Above which chance of being found a record counts as at risk."""


@dataclass(frozen=True)
class Attack:
    """One kind of attacker.

    Attributes:
        maximum: The highest chance of re-identification of any record.
        expected: The mean chance, which is the expected share of records that are found.
        at_risk: Threshold -> share of records whose chance exceeds it.
    """

    maximum: float
    expected: float
    at_risk: Mapping[float, float]


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """What one column adds to the risk.

    Attributes:
        column: The column.
        alone: Share of records that this column alone makes unique.
        without: Share of unique records if this column were left out.
        gained: How much the share of unique records falls without it.
        rare: Number of values that fewer than five records share.
    """

    column: str
    alone: float
    without: float
    gained: float
    rare: int


@dataclass(frozen=True, repr=False, kw_only=True)
class Risk(Shown):
    """How easily records of a table can be matched to people.

    Attributes:
        rows: Number of records (people, where a person column was named).
        classes: Number of classes.
        prosecutor: The attacker knows that the target is in the table.
        journalist: The attacker does not know; chances are relative to the population.
        marketer: Expected share of records matched by somebody who matches all.
        unique: Share of records that are alone in their class.
        class_sizes: Size of a class -> number of such classes; for plots.
        estimated: Whether the population's sizes are estimates from the sampling fraction.
        population_unique: Estimator -> share of the population that is unique; empty without a fraction.
        contributions: What every column adds, largest first; empty unless asked for.
        has_population: Whether the population is known or estimated. If not, the table counts as the population, and
            journalist and marketer equal the prosecutor.
        columns: What columns give away that nobody gave a role.

    Examples:
        >>> import pandas as pd
        >>> found = risk(pd.DataFrame({"age": [30, 30, 41], "sex": ["f", "f", "m"]}), quasi_identifiers=["age", "sex"])
        >>> round(found.unique, 2), found.prosecutor.maximum
        (0.33, 1.0)
    """

    rows: int
    classes: int
    prosecutor: Attack
    journalist: Attack
    marketer: float
    unique: float
    class_sizes: Mapping[int, int] = field(repr=False)
    estimated: bool = False
    population_unique: Mapping[str, float] = field(default_factory=dict)
    contributions: tuple[Contribution, ...] = ()
    has_population: bool = False
    columns: tuple[ColumnFinding, ...] = ()
    _rare: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "class_sizes", MappingProxyType(dict(self.class_sizes)))
        object.__setattr__(self, "population_unique", MappingProxyType(dict(self.population_unique)))

    def __str__(self) -> str:
        p = self.prosecutor
        lines = [
            f"Highest chance of re-identification {100 * p.maximum:.3g} %, on average {100 * p.expected:.3g} %.",
            f"{100 * self.unique:.3g} % of the records are unique.",
        ]
        lines += [f"{100 * share:.3g} % have a chance above {100 * tau:g} %." for tau, share in p.at_risk.items()]
        if self.has_population:
            j = self.journalist
            lines.append(
                f"For somebody who does not know who is in the table (journalist): at most {100 * j.maximum:.3g} %, on "
                f"average {100 * j.expected:.3g} %. Records matched by somebody who matches all (marketer): "
                f"{100 * self.marketer:.3g} %."
            )
        return "\n".join(lines)

    def explain(self, *, values: bool = False) -> str:
        """Say in words which columns make records unique.

        Args:
            values: Also name rare values. They are cells of the table: for its owner's eyes only.
        """
        lines = [str(self)]
        for item in self.contributions:
            line = (
                f"'{item.column}': without it {100 * item.without:.3g} % would be unique "
                f"({100 * item.gained:.3g} points fewer); alone it makes {100 * item.alone:.3g} % unique"
            )
            if item.rare:
                line += f"; {item.rare} of its values are shared by fewer than 5 records"
                if values:
                    line += " (" + ", ".join(str(value) for value in self._rare.get(item.column, ())[:20]) + ")"
            lines.append(line + ".")
        return "\n".join(lines)


def attack_of(size: Ints, against: Floats, expected: float, thresholds: Sequence[float]) -> Attack:
    """Summarize chances 1/against of classes with ``size`` records each."""
    n = max(int(size.sum()), 1)
    if not len(size):
        return Attack(0.0, 0.0, dict.fromkeys(thresholds, 0.0))
    chance = 1.0 / against
    risky = {tau: float(size[chance > tau + 1e-12].sum() / n) for tau in thresholds}
    return Attack(float(chance.max()), expected, MappingProxyType(risky))


def risk_of_sizes(
    size: Ints,
    *,
    population: Floats | None = None,
    fraction: float | None = None,
    estimated: bool = False,
    thresholds: Sequence[float] = THRESHOLDS,
    **more: Any,
) -> Risk:
    """Return the risk of classes of given sizes, in the table and in the population."""
    size = size[size > 0] if population is None else size
    n, classes = int(size.sum()), len(size)
    behind = size.astype(np.float64) if population is None else population
    expected = classes / n if n else 0.0
    marketer = float((size / behind).sum() / n) if n else 0.0
    whole = float(behind.sum())
    journalist = max(classes / whole if whole else 0.0, marketer)
    found: dict[str, float] = {}
    if fraction is not None and n:
        found = population_uniqueness(Counter(size.tolist()), n, fraction)
    return Risk(
        rows=n,
        classes=classes,
        prosecutor=attack_of(size, size.astype(np.float64), expected, thresholds),
        journalist=attack_of(size, behind, journalist, thresholds),
        marketer=marketer,
        unique=float((size == 1).sum() / n) if n else 0.0,
        class_sizes=dict(sorted(Counter(size.tolist()).items())),
        estimated=estimated,
        population_unique=found,
        has_population=population is not None,
        **more,
    )


def risk(
    table: Any,
    quasi_identifiers: Sequence[str] | Mapping[str, Any],
    population: Any = None,
    *,
    person: str | None = None,
    fraction: float | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
    contributions: bool = True,
    insensitive: str | Sequence[str] = (),
    identifiers: str | Sequence[str] = (),
    original: Any = None,
) -> Risk:
    """Return how easily the records of a table can be matched to people.

    Args:
        table: A data frame, DuckDB relation or path.
        quasi_identifiers: The columns that an attacker may know.
        population: A table of the population with the same columns, for journalist and marketer risk.
        person: The column that says whose row it is; then persons are counted.
        fraction: Without such a table: the share of the population in the table; sizes are then estimated.
        thresholds: Chances above which a record counts as at risk.
        contributions: Whether to work out what every column adds.
        insensitive: Columns that are harmless. Those without a role are looked at: names, hashes and row numbers are
            in ``Risk.columns``.
        identifiers: Columns that name people.
        original: The table that this one was made from, if it is a release: its columns are joined with it.

    Examples:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [30, 30, 41], "sex": ["f", "f", "m"]})
        >>> print(risk(table, ["age", "sex"]).contributions[0].column)
        age
    """
    frame = SeenFrame(with_labels(table))
    names = names_of(quasi_identifiers, "quasi-identifiers")
    if not names:
        raise DataError("Name at least one quasi-identifier.")
    frame.check_columns(names, "quasi-identifier")
    if fraction is not None and not 0 < fraction <= 1:
        raise ParameterError(
            f"fraction is the share of the population in the table, above 0 and at most 1. Got {fraction!r}."
        )
    owner = None
    if person is not None:
        frame.check_columns([person], "person")
        owner = person_codes(frame.coded(person))
    columns = [frame.seen(name) for name in names]
    view = view_of(columns, len(frame), person=owner)
    behind, estimated = None, False
    if population is not None:
        behind = _population_sizes(columns, view, Frame(population), names)
    elif fraction is not None:
        behind, estimated = np.maximum(view.size / fraction, view.size), True
    added, rare = (_contributions(columns, view), _rare_values(columns)) if contributions else ((), {})
    return risk_of_sizes(
        view.size,
        population=behind,
        fraction=fraction,
        estimated=estimated,
        thresholds=tuple(thresholds),
        contributions=tuple(added),
        columns=look_at_others(
            frame, None if original is None else Frame(with_labels(original)), quasi=names, insensitive=insensitive,
            identifiers=identifiers, person=person,
        ),
        _rare=rare,
    )  # fmt: skip


def _population_sizes(columns: Sequence[ColumnCodes], view: View, population: Frame, names: Sequence[str]) -> Floats:
    population.check_columns(names, "quasi-identifier, in the population")
    n, joined = view.rows, []
    for column in columns:
        # The population is matched by what cells mean: 7, 7.0 and "7" are one value in two files.
        other = population.coded(column.name)
        place: dict[str | None, int] = {}
        mine, theirs = (
            np.array([place.setdefault(_meaning(value), len(place)) for value in values] or [0], dtype=np.int64)
            for values in (column.values, other.values)
        )
        joined.append(ColumnCodes(column.name, np.concatenate((mine[column.codes], theirs[other.codes])), tuple(place)))
    numbers = number_rows(joined, n + len(population))
    meant = numbers[:n][one_of_each(view.of_row)]
    counts = np.bincount(numbers[n:], minlength=int(numbers.max(initial=-1)) + 1)
    held = np.bincount(meant, weights=view.size, minlength=len(counts))
    if (counts < held).any():
        raise DataError(
            "Some classes have fewer people in the population than in the table. The population must contain "
            "the table's people, with the same columns and labels."
        )
    return counts[meant].astype(np.float64)


def _meaning(value: Any) -> str | None:
    return None if value is None else show(value)


def _contributions(columns: Sequence[ColumnCodes], view: View) -> list[Contribution]:
    def unique(parts: Sequence[ColumnCodes]) -> float:
        # Somebody with several rows counts once in every class that she is in, here as in ``Risk.unique``.
        size = view_of(parts, view.rows, person=view.person).size
        return float((size == 1).sum() / max(int(size.sum()), 1))

    everything = float((view.size == 1).sum() / max(int(view.size.sum()), 1))
    out = []
    for i, column in enumerate(columns):
        rest = [*columns[:i], *columns[i + 1 :]]
        without = unique(rest) if rest else (1.0 if view.people == 1 else 0.0)
        counts = np.bincount(column.codes, minlength=len(column.values))
        rare = int(((counts > 0) & (counts < 5)).sum())
        out.append(
            Contribution(
                column=column.name,
                alone=unique([column]),
                without=without,
                gained=max(everything - without, 0.0),
                rare=rare,
            )
        )
    return sorted(out, key=lambda item: (-item.gained, -item.alone))


def _rare_values(columns: Sequence[ColumnCodes]) -> dict[str, tuple[Any, ...]]:
    out = {}
    for column in columns:
        counts = np.bincount(column.codes, minlength=len(column.values))
        by = np.argsort(counts, kind="stable")
        out[column.name] = tuple(column.values[i] for i in by if 0 < counts[i] < 5)
    return out

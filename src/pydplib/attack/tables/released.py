"""A release as an attacker reads it: classes of equal cells, their sizes, and the sensitive values in each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from pydplib.anonymity.assessment.verification import names_of, person_codes
from pydplib.anonymity.hierarchies.base import Hierarchy
from pydplib.anonymity.result import AnonymizationResult
from pydplib.anonymity.tables.columns import ROOT, Floats, Ints
from pydplib.anonymity.tables.frames import ColumnCodes, Frame
from pydplib.anonymity.tables.view import number_rows, one_of_each
from pydplib.attack.tables.cells import text_of
from pydplib.errors import DataError, ParameterError, did_you_mean
from pydplib.guarantee import ApproxDP, PureDP
from pydplib.release.results.release import Release


@dataclass(frozen=True, eq=False)
class Entries:
    """Sensitive values per group: ``count[i]`` people of group ``owner[i]`` have value ``value[i]``; by owner.

    Attributes:
        domain: The values, as texts; ``value`` counts into it.
    """

    owner: Ints
    value: Ints
    count: Floats
    domain: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Entries({len(self.owner)})"


@dataclass(frozen=True, eq=False)
class ReleasedClasses:
    """Classes of a released table, or of a noisy table of counts.

    Attributes:
        names: The quasi-identifiers.
        cells: Per quasi-identifier, the cells of the classes.
        size: People per class; as the noise left them, where there is noise.
        noisy: Whether counts carry noise, so that nothing in them is certain.
        margin: Half the width of a count's interval that holds for all counts at once; 0 without noise.
        epsilon: What a noisy table guarantees.
        entries: Per sensitive column, its values in every class.
        of_row: Class of every released row, in the order of the release; None for a table of counts.
        values_of_row: Per sensitive column, the value of every released row, counted into its domain.
        person_of_row: Whose row each is, where the release says so (a pseudonym); people are counted then.
        alike: Where every class is one person: how many people have the same rows as the one with the fewest such.
    """

    names: tuple[str, ...]
    cells: tuple[ColumnCodes, ...]
    size: Floats
    entries: Mapping[str, Entries]
    _: KW_ONLY
    noisy: bool = False
    margin: float = 0.0
    epsilon: float | None = None
    of_row: Ints | None = None
    values_of_row: Mapping[str, Ints] = field(default_factory=dict)
    person_of_row: Ints | None = None
    alike: int | None = None

    @property
    def smallest(self) -> int:
        """The fewest people who look alike; all people where there is no class."""
        return math.floor(self.size.min(initial=round(self.people)) + 1e-6) if self.alike is None else self.alike

    @property
    def number(self) -> int:
        """Number of classes."""
        return len(self.size)

    @property
    def people(self) -> float:
        """Number of people."""
        return float(self.size.sum())

    def __repr__(self) -> str:
        return f"Classes({self.number} of {', '.join(self.names)})"


def columns_of(
    released: Any, quasi_identifiers: Any, sensitive: Any, hierarchies: Mapping[str, Any] | None
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, Hierarchy]]:
    """Return quasi-identifiers, sensitive columns and hierarchies; an anonymization knows its own."""
    trees: dict[str, Hierarchy] = {}
    if isinstance(released, AnonymizationResult):
        quasi_identifiers = released.quasi_identifiers if quasi_identifiers is None else quasi_identifiers
        sensitive = released.sensitive if sensitive is None else sensitive
        trees.update(released.recipe.hierarchies)
    if isinstance(quasi_identifiers, Mapping):
        trees.update({name: tree for name, tree in quasi_identifiers.items() if isinstance(tree, Hierarchy)})
    trees.update(hierarchies or {})
    names = names_of(quasi_identifiers, "quasi-identifiers")
    watched = names_of(sensitive, "sensitive columns")
    if not names:
        raise ParameterError("Name what the attacker knows: quasi_identifiers=[...], at least one column.")
    twice = next((name for name in names if name in watched), None)
    if twice is not None:
        raise ParameterError(f"'{twice}' cannot be known to the attacker and sensitive at once.")
    return names, watched, trees


def read_release(
    released: Any, names: Sequence[str], watched: Sequence[str], person: str | None = None, known: Sequence[str] = ()
) -> ReleasedClasses:
    """Return the classes of a released table, an ``AnonymizationResult`` or a noisy table of counts (``Release``).

    Where the release has the column ``person``, somebody counts once in every class and for every value there. A
    quasi-identifier that the release left out, while the ``known`` table has it, is "*" in every row.
    """
    if isinstance(released, ReleasedClasses):
        return released
    if isinstance(released, Release):
        return _of_counts(released, names, watched)
    data = released.data if isinstance(released, AnonymizationResult) else released
    frame = Frame(data)
    here = [name for name in names if name in frame.columns or name not in known]
    frame.check_columns(here, "quasi-identifier, in the release")
    frame.check_columns(watched, "sensitive, in the release")
    nothing = np.zeros(len(frame), dtype=np.int64)
    columns = [frame.coded(name) if name in here else ColumnCodes(name, nothing, (ROOT,)) for name in names]
    of_row = number_rows(columns, len(frame))
    first = one_of_each(of_row)
    cells = tuple(ColumnCodes(c.name, c.codes[first], c.values) for c in columns)
    whose = None
    if person is not None and person in frame.columns:
        whose = np.unique(person_codes(frame.coded(person)), return_inverse=True)[1].reshape(-1).astype(np.int64)
    entries, values = {}, {}
    for name in watched:
        column = plain_column(frame.coded(name))
        values[name] = column.codes
        entries[name] = count_people(of_row, column.codes, whose, column.values)
    size = np.bincount(of_row if whose is None else distinct_pairs(of_row, whose)[0], minlength=len(first))
    return ReleasedClasses(
        tuple(names), cells, size.astype(np.float64), entries, of_row=of_row, values_of_row=values, person_of_row=whose
    )


def distinct_pairs(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Return the different pairs of two columns of numbers, sorted.

    Examples:
        >>> [part.tolist() for part in distinct_pairs(np.array([1, 0, 1]), np.array([2, 0, 2]))]
        [[0, 1], [0, 2]]
    """
    width = int(second.max(initial=0)) + 1
    keys = np.unique(first * width + second)
    return keys // width, keys % width


def count_people(owner: Ints, value: Ints, person: Ints | None, domain: Sequence[str]) -> Entries:
    """Count rows per owner and value; or people, each once for every value that she has there."""
    if person is None:
        return count_entries(owner, value, None, domain)
    width = max(len(domain), 1)
    keys, _ = distinct_pairs(owner * width + value, person)
    return count_entries(keys // width, keys % width, None, domain)


def plain_column(column: ColumnCodes) -> ColumnCodes:
    """Return a column whose values are texts, equal ones joined (5, 5.0 and "5" are one)."""
    place: dict[str, int] = {}
    codes = np.array([place.setdefault(text_of(value), len(place)) for value in column.values], dtype=np.int64)
    return ColumnCodes(column.name, codes[column.codes] if len(codes) else column.codes, tuple(place))


def join_domains(mine: Sequence[str], theirs: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Return a domain that begins with the first and holds both, and the places of the second's values in it.

    Examples:
        >>> domain, number = join_domains(["flu", "hiv"], ["burn", "flu"])
        >>> domain, number.tolist()
        (('flu', 'hiv', 'burn'), [2, 0])
    """
    place = {text: i for i, text in enumerate(mine)}
    number = np.array([place.setdefault(text, len(place)) for text in theirs], dtype=np.int64)
    return tuple(place), number


def count_entries(owner: Ints, value: Ints, weight: Floats | None, domain: Sequence[str]) -> Entries:
    """Add up weights (or rows) per owner and value.

    Examples:
        >>> count_entries(np.array([0, 0, 1]), np.array([1, 1, 0]), None, ("a", "b")).count.tolist()
        [2.0, 1.0]
    """
    width = max(len(domain), 1)
    keys, into = np.unique(owner * width + value, return_inverse=True)
    count = np.bincount(into.reshape(-1), weights=weight, minlength=len(keys)).astype(np.float64)
    return Entries(keys // width, keys % width, count, tuple(domain))


def _of_counts(release: Any, names: Sequence[str], watched: Sequence[str]) -> ReleasedClasses:
    """Read a noisy table of counts: its axes are the quasi-identifiers and one sensitive column."""
    axes = {axis.name: axis for axis in release.axes}
    for name in (*names, *watched):
        if name not in axes:
            raise ParameterError(f"The release has no column '{name}'.{did_you_mean(name, axes)}")
    if len(watched) > 1 or set(axes) != {*names, *watched}:
        raise ParameterError("A noisy table is attacked over all of its columns: one sensitive, the others known.")
    if not release.is_count:
        raise DataError("This attack needs a table of counts: Crosstab, Histogram or Count by columns.")
    counts = np.asarray(release.noisy if release.noisy is not None else release.values, dtype=np.float64)
    counts = counts.reshape(release.shape)
    order = [*names, *watched]
    counts = counts.transpose([list(axes).index(name) for name in order])
    table = counts.reshape(-1, len(axes[watched[0]].keys)) if watched else counts.reshape(-1, 1)
    grid = np.indices(tuple(len(axes[name].keys) for name in names)).reshape(len(names), -1)
    cells = tuple(ColumnCodes(name, grid[i].astype(np.int64), tuple(axes[name].keys)) for i, name in enumerate(names))
    entries = {}
    if watched:
        domain = tuple(text_of(key) for key in axes[watched[0]].keys)
        owner, value = (part.reshape(-1) for part in np.indices(table.shape))
        seen = table.reshape(-1) > 0
        entries[watched[0]] = Entries(owner[seen], value[seen], table.reshape(-1)[seen], domain)
    known = isinstance(release.guarantee, PureDP | ApproxDP)
    return ReleasedClasses(
        tuple(names), cells, np.maximum(table, 0).sum(axis=1), entries, noisy=True,
        margin=float(release.simultaneous95 or 0.0), epsilon=release.epsilon if known else None,
    )  # fmt: skip

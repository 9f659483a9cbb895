"""Tables of counts: how many rows have each combination of two or more columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydplib.engine import Bins, OneRow, RowCondition
from pydplib.errors import QuestionError, did_you_mean
from pydplib.release.statistics.count import Counting
from pydplib.release.statistics.question import By, Conditions, Question, Words, statistic, to_bins, to_groups


@statistic(
    "crosstab",
    title="Two fields against each other",
    hint="A table of how many have both.",
    example="crosstab age, pirads",
    picture="bars",
    about="all",
    is_count=True,
    is_binned=True,
    api_groups=(2, 4),
    field_label="First field",
    group_labels=("Second field", "And by which third field?"),
    needs_group=True,
)
@dataclass(frozen=True, repr=False)
class Crosstab(Counting):
    """How many rows have each combination of two (or more) columns: the table behind an x-versus-y figure.

    Proof: ``CountNoise`` over all cells.

    Args:
        columns: The columns, at least two; numbers and dates by bins.
        bins: Column -> public edges; by default about ten round ones within the declared bounds.
        where: Conditions, all of which must hold.
        per_person: Which one row of each person counts.
        after: Conditions on that row.

    Examples:
        >>> Crosstab("age", "pirads", bins={"age": [40, 60, 80]})
        Crosstab('age', 'pirads', bins={'age': [40, 60, 80]})
    """

    columns: tuple[str, ...] = ()

    def __init__(
        self,
        *columns: str,
        bins: Mapping[str, Iterable[Any]] | None = None,
        by: By = None,
        where: Conditions = (),
        per_person: OneRow | None = None,
        after: Conditions = (),
    ) -> None:
        given = dict(bins or {})
        named = to_groups(by)
        names = columns or tuple(name for name, _ in named)
        known = dict(named)
        if len(names) < 2 or len(set(names)) != len(names):
            raise QuestionError("Crosstab needs at least two different columns, e.g. Crosstab('age', 'pirads').")
        for name in given:
            if name not in names:
                raise QuestionError(f"bins= names '{name}', no column of this table.{did_you_mean(name, names)}")
        groups = {name: to_bins(given[name]) if name in given else known.get(name, ...) for name in names}
        object.__setattr__(self, "columns", tuple(names))
        object.__setattr__(self, "by", tuple(groups.items()))
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "per_person", per_person)
        object.__setattr__(self, "after", after)
        self.__post_init__()

    @property
    def measured(self) -> tuple[str, ...]:
        """None besides the groups."""
        return ()

    def __repr__(self) -> str:
        named = dict(self.pairs)
        bins = {name: list(keys.edges) for name, keys in named.items() if isinstance(keys, Bins)}
        where = self._shared_reprs()[1:]  # the groups are its columns
        if any(keys is not ... and name not in bins for name, keys in named.items()):  # keys of a column, listed
            return f"Crosstab({', '.join([f'by={named!r}', *where])})"
        parts = [*(repr(name) for name in self.columns), *([f"bins={bins!r}"] if bins else []), *where]
        return f"Crosstab({', '.join(parts)})"

    @classmethod
    def read(cls, words: Words) -> Question:
        """Read columns with commas or "by" between, and conditions."""
        columns = words.columns("crosstab")
        if words.take("by"):
            columns += words.columns("by")
        if len(columns) < 2:
            words.fail(f"A crosstab needs two columns, with a comma: crosstab {words.pair(columns[0])}.")
        return cls(*columns, where=words.where())

    @classmethod
    def headline(cls, plain: Mapping[str, Any], titles: Mapping[str, str], groups: list[str]) -> str:
        """Return "Age against Score"."""
        return " against ".join(groups)

    @classmethod
    def from_form(
        cls,
        *,
        column: str | None,
        groups: Mapping[str, Any],
        edges: Mapping[str, Bins],
        where: Iterable[RowCondition],
        own: Mapping[str, Any],
    ) -> Question:
        """Build the table of the first field and the others."""
        if not groups:
            raise QuestionError("Choose the second field of the table.")
        name = column or ""
        return cls(by={name: edges.get(name, ...), **groups}, where=where)

    def to_form(self) -> tuple[list[tuple[str, Any]], list[str]]:
        """Return the first column as the field, the others as groups."""
        first, *others = (name for name, _ in self.pairs)
        return [("field", first)], others

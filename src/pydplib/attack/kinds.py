"""Kinds of attack: what each does and what helps, who may try it, and how a leak report plans and runs it.

Every attack on a table describes itself by an ``AttackKind`` in its own module; ``attack.leaks.tasks`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from pydplib.anonymity.tables.columns import Floats, Ints
from pydplib.anonymity.tables.frames import ColumnCodes
from pydplib.attack.result import AttackResult
from pydplib.attack.tables.candidates import Candidates, Cases, match_columns
from pydplib.attack.tables.released import ReleasedClasses, plain_column

Reach: TypeAlias = Literal["near", "far", "anybody"]
"""Who may try an attack: already those bound by an agreement, only those without one, or only the public."""


@dataclass(frozen=True)
class LeakTask:
    """One attack of a leak report, to run.

    Attributes:
        name: Its kind, as audiences list them.
        about: The column or release it is about, for readers.
        run: The key of the function that runs it.
        options: What that function needs besides the shared data.
    """

    name: str
    about: str
    run: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Shared:
    """What tasks share. Private: it stays in memory.

    Attributes:
        trees: Quasi-identifier -> its hierarchy.
        people: Rows of the original.
        known: Its quasi-identifiers and sensitive columns.
        found: Those rows met with the release.
        classes: The release.
        in_order: The release with sensitive columns among the cells, for attacks on the order of its rows.
        population: Number of rows and quasi-identifiers of a table of everybody.
        previous: Earlier releases, oldest first.
        changed: ``"inserted"`` or ``"deleted"`` -> number of rows and columns of those who came or left.
        columns: Noisy column -> its exact and its noisy values.
        person: Whose row of the original each is.
        changed_person: As ``changed``, whose row each is.
    """

    trees: Mapping[str, Any] = field(default_factory=dict)
    people: int = 0
    _: KW_ONLY
    known: Mapping[str, ColumnCodes] = field(default_factory=dict)
    found: Candidates | None = None
    classes: ReleasedClasses | None = None
    in_order: ReleasedClasses | None = None
    population: tuple[int, Mapping[str, ColumnCodes]] | None = None
    previous: Sequence[ReleasedClasses] = ()
    changed: Mapping[str, tuple[int, Mapping[str, ColumnCodes]]] = field(default_factory=dict)
    columns: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)
    person: Ints | None = None
    changed_person: Mapping[str, Ints] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "Shared(private)"

    @cached_property
    def _cases(self) -> dict[str, Cases]:
        return {}

    @property
    def candidates(self) -> Candidates:
        """The known people met with the release."""
        assert self.found is not None
        return self.found

    def cases(self, column: str) -> Cases:
        """Return the people in the same situation, worked out once per sensitive column."""
        if column not in self._cases:
            self._cases[column] = self.candidates.cases(column)
        return self._cases[column]

    def match(
        self,
        classes: ReleasedClasses,
        people: tuple[int, Mapping[str, ColumnCodes]] | None = None,
        column: str = "",
        person: Ints | None = None,
    ) -> Candidates:
        """Match known people with another release."""
        number, known = people or (self.people, self.known)
        truth = {column: plain_column(known[column])} if column and column in known else {}
        return match_columns(classes, [known[name] for name in classes.names], number, truth, self.trees, person)


@dataclass(frozen=True)
class Beside:
    """What attackers may hold next to a release; see ``leak_report``.

    Attributes:
        population: A table of everybody.
        previous: Earlier releases of the same people, oldest first.
        inserted: People who came since the last of them.
        deleted: People who left since.
    """

    population: Any = None
    previous: Sequence[Any] = ()
    inserted: Any = None
    deleted: Any = None


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """What the plan of an attack may look at: the release, its sensitive columns, and what is laid ready for it.

    Attributes:
        released: The release, as it was given.
        watched: Sensitive columns.
        beside: What attackers hold next to it.
        shared: What the tasks share.
        alike: Sensitive column -> how its values are alike, as ``similarity`` takes it.
        margin: The rise of belief that counts as exposed.
        pieces: How many pieces of background knowledge are tried.
        person: The column that says whose row it is.
    """

    released: Any = None
    watched: Sequence[str] = ()
    beside: Beside = field(default_factory=Beside)
    shared: Shared = field(default_factory=Shared)
    alike: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    margin: float = 0.0
    pieces: Sequence[int] = (1, 2)
    person: str | None = None


@dataclass(frozen=True, kw_only=True)
class AttackKind:
    """Everything that a leak report and its page know about one attack.

    Attributes:
        name: As results are called; variants follow after a comma.
        does: What it does, in a sentence.
        helps: What helps against it.
        tried: Name or variant -> who may try it.
        runs: Key of a task -> the function that runs it, called with ``Shared`` and the options of the task.
        of_table: Plans its tasks for a table.
        of_column: Plans its tasks for one sensitive column.
        compares: Whether it compares a release with others; those are run last.
    """

    name: str
    does: str
    helps: str
    tried: Mapping[str, Reach] = field(default_factory=dict)
    runs: Mapping[str, Callable[..., AttackResult]] = field(default_factory=dict)
    of_table: Callable[[TableFacts], list[LeakTask]] | None = None
    of_column: Callable[[TableFacts, str], list[LeakTask]] | None = None
    compares: bool = False


def plan_table(kinds: Sequence[AttackKind], facts: TableFacts) -> list[LeakTask]:
    """Plan the attacks on a table: those on all of it, those on each sensitive column, those that compare."""
    whole = [kind for kind in kinds if kind.of_table is not None]
    first = [task for kind in whole if not kind.compares and kind.of_table for task in kind.of_table(facts)]
    last = [task for kind in whole if kind.compares and kind.of_table for task in kind.of_table(facts)]
    return [*first, *(task for column in facts.watched for task in plan_column(kinds, facts, column)), *last]


def plan_column(kinds: Sequence[AttackKind], facts: TableFacts, column: str) -> list[LeakTask]:
    """Plan the attacks on what those who look alike have in common, in one sensitive column."""
    return [task for kind in kinds if kind.of_column is not None for task in kind.of_column(facts, column)]

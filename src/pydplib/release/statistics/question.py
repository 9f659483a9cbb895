"""Questions: frozen values that touch no data, so that policy and budget can judge them first; and their registry.

A statistic is one subclass of ``Question`` in one file: what is asked, what the engine counts for it, the noise with
its proof, what to expect of it, and how it is written, drawn and asked for. ``@statistic`` enters it; grammar, command
line, forms, API, client, figures and documents read the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from pydplib.engine import Bins, Bound, ExactTable, Measure, OneRow, Plan, RowCondition, public_keys
from pydplib.engine.conditions import canonical_conditions
from pydplib.errors import QuestionError, did_you_mean
from pydplib.release.grids import column_unit, nice_edges, number_column
from pydplib.release.results.axes import Axis
from pydplib.release.statistics.noise import COVERAGE, Expected, Noise, Noisy
from pydplib.schema import Column, Schema, rows_words

if TYPE_CHECKING:
    from pydplib.release.facts import Facts
    from pydplib.release.results.release import Release

By: TypeAlias = str | Iterable[str] | Mapping[str, Any] | None
"""Groups: a column, several, or column -> its public keys (a list, ``Bins``, None for unknown keys)."""

Conditions: TypeAlias = RowCondition | Iterable[RowCondition]
"""One condition or several, all of which must hold."""

ROW_IS_PERSON = "each row counts as one person"
"""What a release counts where the schema names no person column."""

Picture: TypeAlias = Literal["bars", "points", "boxes", "choices", "curves", "forest", "roc", "table"]
"""How a statistic is drawn: bars (colours for tables), points with intervals, boxes, the values that were chosen;
survival curves, a forest plot, a ROC curve or a printed table.
"""

PartKind: TypeAlias = Literal["choice", "number", "whole", "shares", "edges", "columns", "key"]
"""What a part holds: one of several words, a number, a whole number, quantiles, edges of bins, columns with their keys,
one key of the first group.
"""

MOST_BINS = 10_000
"""The most bins of one histogram."""

SHIFT = "the margin does not include the shift this causes"
"""What every release with a limit or bounds says about its margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What only one statistic asks for, besides its column, groups and conditions.

    Grammar, forms and the API ask for it by these words; it is a field of the question and an entry of its JSON.

    Args:
        name: Its name in Python and JSON.
        kind: What it holds.
        label: What a form asks.
        help: What a form explains.
        form: Its name in forms and addresses; empty where no form asks for it.
        word: The word before it in a question of words, e.g. ``above`` in "share psa above 4"; empty for none.
        choices: Of a choice: value -> its words for readers.
        default: What it is where nobody says; ``...`` where it must be said.
    """

    name: str
    kind: PartKind
    label: str = ""
    help: str = ""
    form: str = ""
    word: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    default: Any = ...

    @property
    def required(self) -> bool:
        """Whether it must be said."""
        return self.default is ...


Found = TypeVar("Found")


def kept(method: Callable[[Any, Schema], Found]) -> Callable[[Any, Schema], Found]:
    """Let a question keep what a method found for the last schema: both are frozen, so it stays true."""
    name = method.__qualname__

    @wraps(method)
    def find(self: Question, schema: Schema) -> Found:
        known = self._kept.get(name)
        if known is None or known[0] is not schema:
            known = self._kept[name] = (schema, method(self, schema))
        found: Found = known[1]
        return found

    return find


class Words(Protocol):
    """A question in words, read from left to right: what ``Question.read`` may take from it (``release.grammar``)."""

    @property
    def first(self) -> str:
        """The word of the statistic, as it was written."""

    def take(self, *words: str) -> bool:
        """Take the next word if it is one of these."""

    def pair(self, first: str) -> str:
        """Return how this column and another one of the table are written, with a comma."""

    def column(self, wanted: str, *, hint: str = "") -> str:
        """Take a column; ``hint`` answers whoever writes a number here."""

    def columns(self, after: str) -> list[str]:
        """Take columns with commas between."""

    def number(self, wanted: str) -> float:
        """Take a number."""

    def value(self, column: str) -> Any:
        """Take a value of a column."""

    def by(self) -> dict[str, Any]:
        """Take the groups, if there are any."""

    def where(self) -> list[RowCondition]:
        """Take the conditions, if there are any."""

    def fail(self, message: str) -> Any:
        """Raise ``QuestionError``, pointing at the next word."""


class Printed(Protocol):
    """A release as journals print it: a table of words."""

    @property
    def head(self) -> list[str]:
        """The words over the columns."""

    @property
    def rows(self) -> list[list[str]]:
        """The table, line by line."""

    @property
    def caption(self) -> str:
        """What is guaranteed, and what it cost."""

    @property
    def text_lines(self) -> list[str]:
        """The table as lines of text."""

    def to_csv(self) -> str:
        """Return the table as CSV."""

    def to_html(self) -> str:
        """Return the table as HTML that can be pasted into a word processor."""

    def to_page(self, title: str = ...) -> str:
        """Return the table as a whole HTML document."""


@dataclass(frozen=True)
class Question:
    """What all questions share: groups, conditions, which row of each person counts. Use ``Count`` and others.

    Args:
        by: Groups: a column, several, or column -> public keys, ``Bins([...])``, or None for unknown keys.
        where: Conditions on rows, all of which must hold; they come before ``per_person``.
        per_person: Which one row of each person counts, e.g. ``Person("patient_id").first_row(order="day")``; None for
            all rows, weighed as the schema says.
        after: Conditions on that one row, all of which must hold.
    """

    # -- what it is called, and where it can be asked --------------------------------------------
    ask: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    noun: ClassVar[str] = ""
    title: ClassVar[str] = ""
    hint: ClassVar[str] = ""
    example: ClassVar[str] = ""
    picture: ClassVar[Picture] = "points"
    about: ClassVar[Literal["numbers", "all"] | None] = None
    parts: ClassVar[tuple[Part, ...]] = ()
    offered: ClassVar[bool] = True
    is_count: ClassVar[bool] = False
    is_binned: ClassVar[bool] = False
    takes_unknown_keys: ClassVar[bool] = False
    needs_size: ClassVar[bool] = False
    most_groups: ClassVar[int] = 2
    api_groups: ClassVar[tuple[int, int]] = (0, 3)
    field_label: ClassVar[str] = "Of which field?"
    group_labels: ClassVar[tuple[str, str]] = ("By which group?", "And by?")
    needs_group: ClassVar[bool] = False
    number_hint: ClassVar[str] = ""
    joint: ClassVar[tuple[str, ...]] = ()

    by: By = field(default=(), kw_only=True)
    where: Conditions = field(default=(), kw_only=True)
    per_person: OneRow | None = field(default=None, kw_only=True)
    after: Conditions = field(default=(), kw_only=True)
    _kept: dict[str, tuple[Schema, Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_kept", {})  # a copy with other parts starts without
        object.__setattr__(self, "by", to_groups(self.by))
        for name in ("where", "after"):
            given = getattr(self, name)
            conditions = tuple(given if isinstance(given, Iterable) else (given,))
            if not all(isinstance(condition, RowCondition) for condition in conditions):
                raise QuestionError(f"{name}= takes conditions such as [dp.Where('age').between(60, 70)].")
            object.__setattr__(self, name, conditions)
        if self.per_person is not None and not isinstance(self.per_person, OneRow):
            raise QuestionError("per_person= says which row counts: dp.Person('patient_id').first_row(order='day').")

    @property
    def pairs(self) -> tuple[tuple[str, Any], ...]:
        """The groups as (column, keys); ``...`` stands for what the schema declares, None for unknown keys."""
        return cast(tuple[tuple[str, Any], ...], self.by)

    @property
    def conditions(self) -> tuple[RowCondition, ...]:
        """The conditions on rows, all of which must hold."""
        return cast(tuple[RowCondition, ...], self.where)

    @property
    def conditions_after(self) -> tuple[RowCondition, ...]:
        """The conditions on the one row of each person, all of which must hold."""
        return cast(tuple[RowCondition, ...], self.after)

    @kept
    def split_conditions(self, schema: Schema) -> tuple[tuple[RowCondition, ...], tuple[RowCondition, ...]]:
        """Return the conditions on rows and those on each person's one row, each in its one spelling.

        A condition on what is told of each person is one on persons, wherever it is written.
        """
        steps = {*schema.steps}
        rows: list[RowCondition] = []
        persons = list(self.conditions_after)
        for condition in self.conditions:
            told = steps.intersection(condition.columns)
            if told and not steps.issuperset(condition.columns):
                raise QuestionError(
                    f"'{min(told)}' is computed for each person, the other one of this 'or' for each row. Use after=."
                )
            (persons if told else rows).append(condition)
        return canonical_conditions(rows, schema), canonical_conditions(persons, schema)

    @kept
    def row_bound(self, schema: Schema) -> Bound | None:
        """Return the bound of one row of each person, where one is asked for; none where all rows count."""
        if self.per_person is not None:
            return self.per_person.bound(schema)
        _, persons = self.split_conditions(schema)
        looked_at = self.fields | {name for condition in persons for name in condition.columns}
        if not looked_at.isdisjoint(schema.steps):
            return Bound(schema.person, 1, mode="row", rule="any")
        return None

    @property
    def is_narrowed(self) -> bool:
        """Whether conditions leave out rows or persons: then nobody knows how many count."""
        return bool(self.where or self.after)

    def of_persons(self, per_person: OneRow | None, after: Conditions = ()) -> Question:
        """Return the same question about one row of each person.

        Examples:
            >>> from pydplib.release import Mean
            >>> Mean("age").of_persons(OneRow("first", ("day",)))
            Mean('age', per_person=Person().first_row(order='day'))
        """
        found = copy(self)
        object.__setattr__(found, "per_person", per_person)
        object.__setattr__(found, "after", after)
        found.__post_init__()
        return found

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns whose values the answer is about, besides the groups."""
        column = getattr(self, "column", None)
        return () if column is None else (column,)

    @property
    def fields(self) -> frozenset[str]:
        """All columns that the answer is about."""
        return frozenset(self.measured) | {name for name, _ in self.pairs}

    @property
    def filters(self) -> frozenset[str]:
        """All columns that decide which rows count: those of the conditions, and those that order a person's rows."""
        ordering = () if self.per_person is None else self.per_person.order
        conditions = (*self.conditions, *self.conditions_after)
        return frozenset(name for condition in conditions for name in condition.columns) | {*ordering}

    # -- as plain values -------------------------------------------------------------------------

    def _own(self) -> dict[str, Any]:
        """Return what only this kind of question has, as plain values."""
        own: dict[str, Any] = {} if not self.measured else {"of": self.measured[0]}
        return own | {part.name: _plain_part(getattr(self, part.name)) for part in self.parts}

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain values."""
        plain: dict[str, Any] = {"ask": self.ask, **self._own()}
        if self.by:
            plain["by"] = [group_dict(name, keys) for name, keys in self.pairs]
        if self.where:
            plain["where"] = [condition.to_dict() for condition in self.conditions]
        if self.per_person is not None:
            plain["per_person"] = self.per_person.to_dict()
        if self.after:
            plain["after"] = [condition.to_dict() for condition in self.conditions_after]
        return plain

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Question:
        """Build any question from plain values, as ``to_dict`` gives them.

        Examples:
            >>> Question.from_dict({"ask": "mean", "of": "age"})
            Mean('age')
        """
        plain = dict(values) if isinstance(values, Mapping) else {}
        kind = plain.pop("ask", None)
        known = offered_statistics()
        if not isinstance(kind, str) or kind not in known:
            raise QuestionError(f"Unknown question '{kind}'.{did_you_mean(str(kind), known)}")
        for part in ("by", "where", "after"):
            entries = plain.get(part, ())
            if not isinstance(entries, list | tuple) or not all(isinstance(entry, Mapping) for entry in entries):
                raise QuestionError(f"The part '{part}' of a question is a list of entries.")
        if not all("column" in entry for entry in plain.get("by", ())):
            raise QuestionError("A group of a question has the entry column.")
        by = {entry["column"]: group_from(entry) for entry in plain.pop("by", ())}
        where, after = ([RowCondition.from_dict(entry) for entry in plain.pop(part, ())] for part in ("where", "after"))
        rule = plain.pop("per_person", None)
        try:
            question = known[kind]._from_plain(plain, by, where)
            return question.of_persons(None if rule is None else OneRow.from_dict(rule), after)
        except TypeError:
            raise QuestionError(f"The question '{kind}' has an unknown or a missing part.") from None

    @classmethod
    def _from_plain(cls, plain: dict[str, Any], by: dict[str, Any], where: list[RowCondition]) -> Question:
        """Build this kind of question from the plain values of its own parts."""
        if plain.get("of") is not None:
            plain["column"] = plain["of"]
        plain.pop("of", None)
        return cls(**plain, by=by, where=where)

    def canonical(self, schema: Schema) -> dict[str, Any]:
        """Return the question against a schema, in the one spelling that all of its spellings share."""
        plain: dict[str, Any] = {"ask": self.ask, **self._own()}
        groups = self.groups(schema)
        if groups:
            plain["by"] = [group_dict(name, keys) for name, keys in groups.items()]
        where, after = self.split_conditions(schema)
        if where:
            plain["where"] = [condition.to_dict() for condition in where]
        # What was asked before there was a choice has none of these entries: stored keys stay what they are.
        if self.per_person is not None:
            plain["per_person"] = self.per_person.canonical(schema).to_dict()
        if after:
            plain["after"] = [condition.to_dict() for condition in after]
        return plain

    def groups(self, schema: Schema) -> dict[str, Any]:
        """Return column -> public keys, ``Bins``, or None, with the schema's values filled in."""
        return dict(self._filled(schema))

    @kept
    def _filled(self, schema: Schema) -> Mapping[str, Any]:
        return {name: fill_keys(schema, name, keys) for name, keys in self.pairs}

    def __repr__(self) -> str:
        own = {key: value for key, value in self._own().items() if key != "of"}
        parts = [*(repr(name) for name in self.measured), *(f"{key}={value!r}" for key, value in own.items())]
        return f"{type(self).__name__}({', '.join([*parts, *self._shared_reprs()])})"

    def _shared_reprs(self) -> list[str]:
        """Return groups and conditions as Python writes them."""
        parts = []
        if self.by:
            named = dict(self.pairs)
            plain = all(keys is ... for keys in named.values())
            parts.append(f"by={list(named) if plain else named!r}")
        if self.where:
            parts.append(f"where={list(self.conditions)!r}")
        if self.per_person is not None:
            parts.append(f"per_person={self.per_person!r}")
        if self.after:
            parts.append(f"after={list(self.conditions_after)!r}")
        return parts

    # -- in words and in forms -------------------------------------------------------------------

    @classmethod
    def fits(cls, column: Column, place: int = 0) -> bool:
        """Return whether a form offers a column: as what the question is about (place 0), or as its first group, ...

        Examples:
            >>> from pydplib.schema import Flag, Text
            >>> STATISTICS["mean"].fits(Flag()), STATISTICS["mean"].fits(Text())
            (True, False)
        """
        if place:
            return True
        return column.can_be_asked and (cls.about == "all" or (cls.about == "numbers" and column.has_average))

    @classmethod
    def read(cls, words: Words) -> Question:
        """Read the rest of a question in words, after the statistic."""
        raise NotImplementedError

    @classmethod
    def sentence(cls, plain: Mapping[str, Any]) -> str:
        """Return plain values of this kind of question as words, without groups and conditions: "mean of age"."""
        of = plain.get("of")
        return cls.noun if of in (None, "array") else f"{cls.noun} of {of}"

    @classmethod
    def headline(cls, plain: Mapping[str, Any], titles: Mapping[str, str], groups: list[str]) -> str:
        """Return plain values as a reader's words: "Average of Age by Score".

        Args:
            plain: The question's plain values.
            titles: Column -> its title.
            groups: The titles of the groups.
        """
        of = plain.get("of", "")
        words = f"{cls.title} of {titles.get(of, of)}"
        return words + (" by " + " and ".join(groups) if groups else "")

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
        """Build the question from the fields of a form.

        Args:
            column: What it is about.
            groups: Column -> ``...`` or public bins.
            edges: Column -> public bins that were typed in, for the column itself too.
            where: Conditions.
            own: What the form asked for ``parts``, by name.
        """
        build: Callable[..., Question] = cls
        return build(column, by=groups, where=where, **own)

    @property
    def cut_columns(self) -> tuple[tuple[str, Any], ...]:
        """The columns that a form asks bins for, with their keys."""
        return self.pairs

    @classmethod
    def print_release(cls, release: Release, names: Mapping[str, Mapping[Any, str]] | None = None) -> Printed | None:
        """Return a release as journals print it, where its statistic has such a form.

        Args:
            release: What was released.
            names: Column -> key -> its words for readers, where a key is a code.
        """
        return None

    def to_form(self) -> tuple[list[tuple[str, Any]], list[str]]:
        """Return the question's own fields of a form as (field, value), and its groups in order."""
        own = [(part.form, getattr(self, part.name)) for part in self.parts if part.form]
        return [("field", name) for name in self.measured] + own, [name for name, _ in self.pairs]

    # -- against a schema: public facts alone ----------------------------------------------------

    def table(self, facts: Facts) -> Question | None:
        """Return the table of counts that the answer can be read off as accurately as from a release of its own.

        Such questions can be bought together. None where there is no such table, or public facts speak against it.
        """
        return None

    def bound(self, schema: Schema, groups: Mapping[str, Any]) -> Bound:
        """Return how one person's contribution is bounded, where all rows of a person count."""
        if any(keys is None for keys in groups.values()):
            return sampled_groups(schema, schema.max_rows_per_person)
        return Bound.from_schema(schema)

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the axes of the answer; none where keys are unknown."""
        return group_axes(schema, groups)

    def check(self, facts: Facts) -> None:
        """Raise ``QuestionError`` where the statistic cannot be had of this table; by public facts alone."""

    def unit(self, facts: Facts) -> str:
        """Return the unit of the values."""
        return column_unit(facts.column)

    def values_per_group(self) -> int:
        """How many values each group has."""
        return 1

    def counted(self, facts: Facts) -> str:
        """Return what a release counts, and that its margin leaves out what limits and bounds shift.

        Examples:
            >>> from pydplib.release import Mean
            >>> from pydplib.release.facts import Facts
            >>> from pydplib.schema import Number
            >>> schema = Schema({"age": Number(0, 100)}, person="id", max_rows_per_person=2)
            >>> for part in Mean("age").counted(Facts.of(Mean("age"), schema)).split("; "):
            ...     print(part)
            at most 2 rows per person count in full
            age is clamped to 0-100
            the margin does not include the shift this causes.
        """
        who, shifts = self._who_counts(facts)
        clamped = [_clamped(name, facts) for name in sorted(self.fields | self.filters)]
        parts = [who, *(words for words in clamped if words)]
        if shifts or any(clamped):
            parts.append(SHIFT)
        return "; ".join(parts) + "."

    def _who_counts(self, facts: Facts) -> tuple[str, bool]:
        """Return which rows of a person count, in words, and whether that shifts a value."""
        bound = facts.bound
        if bound.person is None:
            return ROW_IS_PERSON, False
        if bound.rule == "any":
            return "each person counts once, with one value computed from that person's rows", False
        if facts.question.per_person is not None:
            return f"one row of each person counts: the {facts.question.per_person.canonical(facts.schema)}", False
        if bound.mode == "sample":
            groups = "1 group" if bound.max_groups == 1 else f"{bound.max_groups} groups"
            words = f"{rows_words(bound.max_rows)} per person in each of at most {groups} count; others are left out"
            return words, True
        verb = "counts" if bound.max_rows == 1 else "count"
        return f"{rows_words(bound.max_rows)} per person {verb} in full", True

    # -- noise -----------------------------------------------------------------------------------

    def plans(self, facts: Facts, plan: Plan) -> tuple[Plan, ...]:
        """Return what the engine is asked: the plan itself, or the tables of counts that the answer is made of."""
        return (plan,)

    def measures(self, facts: Facts, epsilon: Fraction) -> tuple[Measure, ...]:
        """Return what the engine counts: whole numbers per group, on a grid that epsilon has room for."""
        raise NotImplementedError

    def noise(self, facts: Facts, epsilon: Fraction) -> Noise:
        """Return the noise of the whole answer at this privacy loss; its class holds the proof."""
        raise NotImplementedError

    def answer(self, facts: Facts, noise: Any, table: ExactTable, *, confidence: float = COVERAGE) -> Noisy:
        """Return noisy values with their intervals, in the value's unit. Only ever called after the debit."""
        raise NotImplementedError

    def expect(self, facts: Facts, noise: Any, each: float | None, *, confidence: float = COVERAGE) -> Expected:
        """Return the margin that a release will have, as far as public facts tell.

        Args:
            facts: The question against the schema.
            noise: Its noise.
            each: The rows of an even group; none where nobody knows.
            confidence: How often the margin covers.
        """
        raise NotImplementedError

    def span(self, facts: Facts, noise: Any, rows: float) -> float | None:
        """Return all that is possible for one group of this many rows, in the unit of its margin; none: nobody can say.

        A margin of more than a quarter of it leaves hardly anything to learn.
        """
        return None

    def warnings(self, facts: Facts, noise: Any, size: float | None) -> tuple[str, ...]:
        """Return what to know before paying, where the noise may hide the answer; by public facts alone.

        Args:
            facts: The question against the schema.
            noise: Its noise.
            size: The declared or bought number of rows; none where nobody knows.
        """
        return ()

    def band_epsilon(self, facts: Facts, target: float, each: float) -> float:
        """Return the epsilon at which the expected noise is ``target`` times the reference magnitude.

        Args:
            facts: The question against the schema.
            target: The middle of the noise band, e.g. 0.15.
            each: The rows of an even group.
        """
        raise NotImplementedError

    def notes(self, facts: Facts, noise: Any, noisy: Noisy) -> tuple[str, ...]:
        """Return what a reader must know about these values, by public facts and noisy numbers alone."""
        return ()

    def answer_axes(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """Return the axes of the values, given those of the groups."""
        return axes

    def choices(self, facts: Facts) -> Axis | None:
        """Return the public keys that values are places of; none where values are numbers."""
        return None

    def exact(self, facts: Facts, noise: Any, table: ExactTable) -> NDArray[np.float64]:
        """Return the statistic without noise: for the owner's own eyes, never part of a release; NaN for no row."""
        raise NotImplementedError


class Registry(dict[str, type[Question]]):
    """The word of a statistic -> its class, in the order of forms.

    Statistics of packages above this one (``_public.STATISTIC_MODULES``) are loaded at the first look-up, so that
    nothing below imports them and ``import pydplib`` stays quick. Until ``open`` is called, nothing is loaded.
    """

    _waiting: tuple[str, ...] = ()

    def open(self, *modules: str) -> None:
        """Let the first look-up load these modules, each of which enters its own statistics."""
        self._waiting = modules

    def _load(self) -> None:
        for module in self._waiting:  # loaded once; another thread that is loading one is waited for
            import_module(module)

    def __contains__(self, ask: object) -> bool:
        if not super().__contains__(ask):
            self._load()
        return super().__contains__(ask)

    def __missing__(self, ask: str) -> type[Question]:
        if ask not in self:
            raise KeyError(ask)
        return self[ask]

    def get(self, ask: Any, default: Any = None) -> Any:
        """Return a statistic by its word."""
        found = ask in self  # loads what waits
        return super().get(ask, default) if found else default

    def items(self) -> Any:
        """Return all statistics with their words."""
        self._load()
        return super().items()

    def values(self) -> Any:
        """Return all statistics."""
        self._load()
        return super().values()

    def __iter__(self) -> Iterator[str]:
        self._load()
        return super().__iter__()

    def __len__(self) -> int:
        self._load()
        return super().__len__()


STATISTICS: Registry = Registry()
"""The word of a statistic -> its class, in the order of forms."""

Kind = TypeVar("Kind", bound=type[Question])


def statistic(ask: str, **said: Any) -> Callable[[Kind], Kind]:
    """Enter a statistic into the registry under its word.

    Args:
        ask: Its word in JSON, in questions of words and on the command line.
        said: ``aliases`` (further words), ``noun`` (in sentences), ``title`` and ``hint`` (in forms), ``example`` (a
            question in words), ``picture``, ``about`` (``"numbers"``, ``"all"``, or none where rows are counted),
            ``parts``, and the other class attributes of ``Question``.

    Examples:
        >>> STATISTICS["mean"].title, "average" in STATISTICS["mean"].aliases
        ('Average', True)
    """

    def enter(kind: Kind) -> Kind:
        taken = {word for word, other in statistic_words().items() if other.ask != ask}
        for word in (ask, *said.get("aliases", ())):
            if word in taken:
                raise QuestionError(f"'{word}' is the word of another statistic already.")
        unknown = [name for name in said if not hasattr(Question, name)]
        if unknown:
            raise QuestionError(f"A statistic has no '{unknown[0]}'.")
        for name, value in {"ask": ask, "noun": ask, "title": ask.capitalize(), **said}.items():
            setattr(kind, name, value)
        STATISTICS[ask] = kind
        return kind

    return enter


def offered_statistics() -> dict[str, type[Question]]:
    """Return the statistics that recipients can ask for, by word."""
    return {ask: kind for ask, kind in STATISTICS.items() if kind.offered}


def statistic_words() -> dict[str, type[Question]]:
    """Return every word that begins a question -> its statistic."""
    return {word: kind for kind in offered_statistics().values() for word in (kind.ask, *kind.aliases)}


def is_count_of(ask: Any) -> bool:
    """Tell whether the values of a statistic are numbers of rows or people.

    Examples:
        >>> is_count_of("crosstab"), is_count_of("mean")
        (True, False)
    """
    return ask in STATISTICS and STATISTICS[ask].is_count


@dataclass(frozen=True, repr=False)
class OfColumn(Question):
    """A question about the values of one column."""

    column: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.column, str) or not self.column:
            raise QuestionError(f"{type(self).__name__} needs its column, e.g. {type(self).__name__}('age').")

    @classmethod
    def read(cls, words: Words) -> Question:
        """Read a column, the parts that words ask for, groups and conditions."""
        column = words.column(f"the column of '{words.first}'", hint=cls.number_hint)
        own: dict[str, Any] = {}
        for part in cls.parts:
            if not part.word:
                continue
            if words.take(part.word):
                own[part.name] = words.number(f"a number after '{part.word}'")
            elif part.required:
                words.fail(f"'{cls.ask}' reads: {cls.example}.")
        return cls(column, by=words.by(), where=words.where(), **own)


def group_axes(schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
    """Return one axis per group; none where keys are unknown."""
    axes = []
    for name, keys in groups.items():
        if keys is None:
            return ()
        column = schema.columns[name]
        title = column.title or name
        if isinstance(keys, Bins):
            axes.append(Axis(name, keys.keys, kind="bins", title=title, unit=column.bin_unit))
        else:
            axes.append(Axis(name, tuple(keys), title=title))
    return tuple(axes)


def public_salt(schema: Schema) -> str:
    """Return what a sample is drawn by: public is enough, since which rows are taken depends on nobody else's."""
    return f"pydplib {schema.lineage}"


def sampled_groups(schema: Schema, rows: int) -> Bound:
    """Return the bound of unknown keys: whole rows of a few groups of each person."""
    if schema.person is None:
        raise QuestionError(
            "Unknown keys need the person column: Schema(person='patient_id', ...), so that one person cannot "
            "make many of them appear."
        )
    salt = public_salt(schema)
    return Bound(schema.person, rows, mode="sample", max_groups=schema.max_groups_per_person, salt=salt)


def _clamped(name: str, facts: Facts) -> str:
    column = facts.schema.columns[name]
    if not column.is_ranged or column.ends is None:
        return ""
    low, high = column.ends
    if name in facts.question.measured and column.holds_numbers and facts.question.about == "numbers":
        low, high = (int(end) if float(end).is_integer() else end for end in facts.bounds)
    dash = "-" if column.holds_numbers and low >= 0 else " to "
    return f"{name} is clamped to {column.write(low)}{dash}{column.write(high)}"


def _plain_part(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else one_spelling(plain_scalar(value))


def to_groups(by: Any) -> tuple[tuple[str, Any], ...]:
    """Return groups as (column, keys) pairs; ``...`` stands for what the schema declares."""
    if by is None or (isinstance(by, tuple) and not by):
        return ()
    if isinstance(by, str):
        return ((by, ...),)
    if isinstance(by, Mapping):
        pairs = list(by.items())
    elif not isinstance(by, Iterable):
        raise QuestionError("by= takes column names, each once, e.g. by='pirads' or by=['pirads', 'bph'].")
    else:
        pairs = [entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, ...) for entry in by]
    names = [name for name, _ in pairs]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
        raise QuestionError("by= takes column names, each once, e.g. by='pirads' or by=['pirads', 'bph'].")
    return tuple((name, _plain_keys(name, keys)) for name, keys in pairs)


def _plain_keys(name: str, keys: Any) -> Any:
    if keys is ... or keys is None:
        return keys
    if isinstance(keys, Bins):
        return to_bins(keys)
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise QuestionError(f"The public keys of '{name}' are a list, Bins([...]), or None where they are unknown.")
    return tuple(plain_scalar(key) for key in keys)


def plain_scalar(value: Any) -> Any:
    """Return NumPy's scalars as Python's.

    Examples:
        >>> import numpy as np
        >>> plain_scalar(np.float64(20.0)), plain_scalar("a")
        (20.0, 'a')
    """
    return value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value


def one_spelling(value: Any) -> Any:
    """Return a whole number as int, however it is written: 20 and 20.0 are one key, and one question.

    Examples:
        >>> one_spelling(20.0), one_spelling(True), one_spelling(0.5)
        (20, True, 0.5)
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


def to_bins(edges: Any) -> Bins:
    """Return bins of edges in a list, an array, or bins already."""
    found = edges.edges if isinstance(edges, Bins) else edges
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise QuestionError("Edges are a list of numbers or days in ascending order, e.g. edges=[20, 40, 60].")
    return Bins(one_spelling(plain_scalar(edge)) for edge in found)


def even_bins(column: Column, count: int) -> Bins:
    """Return bins of even width over a column's declared bounds; days are cut at midnight.

    Examples:
        >>> from pydplib.schema import Number
        >>> even_bins(Number(0, 100), 4).edges
        (0, 25, 50, 75, 100)
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= MOST_BINS:
        raise QuestionError(f"Bins are a whole number from 1 to {MOST_BINS}, or edges such as [20, 40, 60].")
    return Bins(column.even_bins(int(count)))


def fill_keys(schema: Schema, name: str, keys: Any) -> Any:
    """Return a group's keys with the schema's declaration filled in."""
    column = schema.column(name)
    if keys is not ...:
        return keys
    if not column.can_be_asked:
        raise QuestionError(
            f"Column '{name}' is free text: its values are not public. Declare it as a Category, or ask for "
            f"unknown keys (by={{'{name}': None}}, in the shell by {name} --delta 1e-7); they need a budget with delta."
        )
    if column.is_binned:
        return Bins(nice_edges(number_column(schema, name, "by")))
    return column.public_keys if column.listed else public_keys(schema, name)


def group_dict(name: str, keys: Any) -> dict[str, Any]:
    """Return a column with its keys as plain values."""
    entry: dict[str, Any] = {"column": name}
    if isinstance(keys, Bins):
        entry["edges"] = [one_spelling(edge) for edge in keys.edges]
    elif keys is None:
        entry["unknown"] = True
    elif keys is not ...:
        entry["keys"] = [one_spelling(key) for key in keys]
    return entry


def group_from(entry: Mapping[str, Any]) -> Any:
    """Return the keys of a column from plain values."""
    if entry.get("unknown"):
        return None
    if "edges" in entry:
        return Bins(entry["edges"])
    return tuple(entry["keys"]) if "keys" in entry else ...

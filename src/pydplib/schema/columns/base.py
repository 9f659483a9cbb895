"""What a column kind is: a frozen declaration that knows everything the product needs to know about its cells.

A kind *describes*: its public values and bounds, its cells as a neutral expression, the operators of its conditions,
how a value is read and written, the name of its form widget, its grid, its default bins, how it generalizes. Engines,
forms, figures and hierarchies translate that description, so that a new kind is one file (or one class in a notebook).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

from pydplib.errors import QuestionError, SchemaError, did_you_mean, shown
from pydplib.schema.cells import Cell, Scalar, Storage
from pydplib.schema.formulas import Formula, parse_formula

Label: TypeAlias = Literal["identifier", "sensitive", "quasi", "public"]
"""How much a column gives away: identifier > sensitive > quasi-identifier > public."""

Operator: TypeAlias = Literal[
    "is_in", "not_in", "between", "at_least", "at_most", "more_than", "less_than", "is_missing", "is_present"
]
"""Everything a condition can ask."""

ORDER_OPERATORS: Mapping[str, int] = MappingProxyType(
    {"between": 2, "at_least": 1, "at_most": 1, "more_than": 1, "less_than": 1}
)
"""Operators that need an order -> how many values they take."""

Widget: TypeAlias = Literal["choices", "number", "date", "time", "text", "none"]
"""What a form shows to ask for a value, by name; the web part knows what that is in HTML."""

Spelling: TypeAlias = Literal["number", "day", "truth", "text"]
"""How cells of a text file are written: numbers with a point or comma, days, words for yes and no, anything."""

OTHER = "other"
"""Where values outside the declared categories go."""


def plain_value(value: Any) -> Any:
    """Return a NumPy scalar as the Python value it is, which files can hold; anything else unchanged."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 else value


def is_finite(value: object) -> bool:
    """Return whether a value is a number that arithmetic can use: no truth value, no NaN, no infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def same_scalar(one: Scalar | None, other: Scalar | None) -> bool:
    """Return whether two public values mean the same: 5 and 5.0 do, 5 and "5" do not, nor do 1 and True."""
    kinds = [(isinstance(v, str), isinstance(v, bool)) for v in (one, other)]
    return kinds[0] == kinds[1] and one == other


class Column:
    """The declaration of one column. A kind is a frozen dataclass that extends it and is registered.

    The defaults are those of a kind whose values are neither listed nor ordered. A kind overrides what differs;
    ``cell`` and ``canonical`` it must say.

    Attributes:
        kind: Its word in files.
        example: How it is written in Python, for messages.
        needed: The entries that a schema file must fill in.
        operators: The conditions that forms offer.
        widget: How forms ask for one value.
        hint: How a value is typed, in one sentence.
        cell_words: What a cell must be read as, for the owner's check; empty where every cell has its place.
        guess_pattern: What all texts of a column look like where this kind is proposed for it; empty for never.
        can_be_asked: Whether questions can look at it at all; free text is never released.
        holds_numbers: Whether a value is a plain number that people write.
        has_average: Whether sums and averages of its numbers mean something to a reader.
        is_ranged: Whether values lie between two public ends, in an order: they are clamped, compared and binned.
        is_whole: Whether its numbers are whole.
        has_other: Whether values outside its list count as "other", and not as missing.
        takes_unknown_keys: Whether groups may be asked for whose keys nobody listed.
        label: How much the column gives away.
        title: The column's name for readers.
    """

    __slots__ = ()

    kind: ClassVar[str]
    example: ClassVar[str] = ""
    needed: ClassVar[tuple[str, ...]] = ()
    operators: ClassVar[tuple[Operator, ...]] = ("is_present", "is_missing")
    widget: ClassVar[Widget] = "text"
    hint: ClassVar[str] = ""
    cell_words: ClassVar[str] = ""
    guess_pattern: ClassVar[str] = ""
    can_be_asked: ClassVar[bool] = True
    holds_numbers: ClassVar[bool] = False
    has_average: ClassVar[bool] = False
    is_ranged: ClassVar[bool] = False
    is_whole: ClassVar[bool] = False
    has_other: ClassVar[bool] = False
    takes_unknown_keys: ClassVar[bool] = False

    label: Label
    title: str

    # -- cells -------------------------------------------------------------------------------------

    @property
    def cell(self) -> Cell:
        """The cells as a neutral expression, from which engines make their own."""
        raise NotImplementedError

    @property
    def fits_anything(self) -> bool:
        """Whether every cell has its place, so that none can be a misfit: in free text, and where "other" is listed."""
        return self.cell.is_text or (self.has_other and OTHER in self.choices)

    @property
    def storage(self) -> Storage:
        """How the platform's own files store it."""
        return "text"

    @property
    def spelling(self) -> Spelling:
        """How a cell of a text file is written: the rules are in ``pydplib.tables.cells``."""
        return "text"

    def code(self, value: Scalar) -> float:
        """Return the number that stands for a public value in engines: a code, a number, a day."""
        raise NotImplementedError

    @property
    def formula(self) -> Formula | None:
        """How it is computed from other columns, where the entry ``derived`` says so; None where a table holds it."""
        text = getattr(self, "derived", "")
        return parse_formula(text) if text else None

    @property
    def is_step(self) -> bool:
        """Whether it tells one value of each person, and not of each row."""
        return self.formula is not None and self.formula.is_step

    # -- its public domain -------------------------------------------------------------------------

    @property
    def choices(self) -> tuple[Scalar, ...]:
        """The declared values, where there is a short list to choose from."""
        return ()

    @property
    def listed(self) -> Sequence[Scalar]:
        """Every value that the declaration makes public, one by one; empty where there is no such list."""
        return self.choices

    @property
    def public_keys(self) -> tuple[Scalar, ...]:
        """The keys of groups: every listed value, and "other" where values may lie outside the list."""
        return (*self.listed, OTHER) if self.has_other and OTHER not in self.listed else tuple(self.listed)

    @property
    def ends(self) -> tuple[Any, Any] | None:
        """The public ends between which values lie, as people write them; none where there is no order."""
        return None

    @property
    def number_bounds(self) -> tuple[float, float] | None:
        """The public bounds as numbers; none for what has no numbers."""
        return self.cell.limits

    # -- statistics --------------------------------------------------------------------------------

    @property
    def grid(self) -> float | None:
        """The public grid of quantiles, where the declaration says one."""
        return 1 if self.is_whole else None

    @property
    def is_binned(self) -> bool:
        """Whether groups are bins, and not one value each."""
        return self.is_ranged

    def default_bins(self) -> tuple[Scalar, ...] | None:
        """Return edges of about ten bins from the declaration alone; none where bins have no meaning."""
        return None

    def even_bins(self, count: int) -> tuple[Scalar, ...]:
        """Return the edges of ``count`` bins of even width over the declared bounds."""
        raise QuestionError(f"bins= is for numbers and days; this column is a {self.kind}.")

    @property
    def bin_unit(self) -> str:
        """The unit of the ends of bins."""
        return getattr(self, "unit", "")

    @property
    def number_unit(self) -> str:
        """The unit of its numbers: of a mean, a median, a sum."""
        return self.bin_unit

    @property
    def width_unit(self) -> str:
        """The unit of the distance between two values."""
        return self.bin_unit

    # -- conditions and words ----------------------------------------------------------------------

    def canonical(self, name: str, op: Operator, values: tuple[Scalar, ...]) -> tuple[Operator, tuple[Scalar, ...]]:
        """Return a condition in its one spelling; no values where a listed condition is met by none.

        Args:
            name: The column's name, for messages.
            op: What is asked.
            values: What is compared with.

        Raises:
            QuestionError: If the column takes no such condition.
        """
        if op in ("is_missing", "is_present"):
            return op, values
        return self._compared(name, op, values)

    def _compared(self, name: str, op: Operator, values: tuple[Scalar, ...]) -> tuple[Operator, tuple[Scalar, ...]]:
        raise QuestionError(f"Column '{name}' can only be asked whether it has a value.")

    @property
    def spelled_values(self) -> tuple[Scalar, ...]:
        """The values that a question names by their own words, which may be several; none if values are ``read``."""
        return ()

    def read(self, text: str) -> Scalar:
        """Return the public value that somebody typed.

        Raises:
            ValueError: It is no such value.
        """
        raise ValueError

    def unreadable(self, text: str) -> str:
        """Return what is wrong with a text that cannot be read, to follow "Column 'x'"."""
        return f"holds values of kind {self.kind}; '{text}' is none."

    def write(self, value: Scalar | dt.date) -> str:
        """Return a public value as people read it."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:.12g}" if isinstance(value, float) else str(value)

    @property
    def facts(self) -> str:
        """The public facts in a few words."""
        return ""

    @classmethod
    def number_of_text(cls, text: str) -> float | None:
        """Return the number that a text of this kind stands for, in order; none if it is no such text.

        Bins are written without their column: a text among their edges must say by itself where it lies.
        """
        return None

    # -- generalizing ------------------------------------------------------------------------------

    @property
    def hierarchy(self) -> Mapping[str, Any] | None:
        """How values grow coarser, as plain values; none where only the owner can say.

        ``{"kind": "intervals", "low", "high", "whole"}``, ``{"kind": "dates", "low", "high"}``,
        ``{"kind": "values", "values", "ordered"}``, or any dictionary that ``Hierarchy.from_dict`` reads.
        """
        return None

    @property
    def samples(self) -> tuple[Any, ...]:
        """Some possible values, to show what a hierarchy does with them."""
        return tuple(self.listed)

    # -- files -------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain values, without what is not said."""
        entry: dict[str, Any] = {"kind": self.kind}
        for spec in fields(self):  # type: ignore[arg-type]
            value = getattr(self, spec.name)
            if value is None or value is False or value == "":
                continue
            entry[spec.name] = list(value) if isinstance(value, tuple) else value
            if isinstance(value, dt.date):
                entry[spec.name] = value.isoformat()
        return entry

    @classmethod
    def propose(cls, storage: Storage, *, few: bool) -> tuple[str, ...] | None:
        """Return the lines of a schema file for a column of which only the storage is known; none if it is not mine.

        Args:
            storage: How the file stores it.
            few: Whether it has few different values.
        """
        return None

    @classmethod
    def entry_lines(cls, *, few: bool = False) -> tuple[str, ...]:
        """Return the lines of a schema file that declare this kind, with bounds and values left empty."""
        return (f'kind = "{cls.kind}"', *(f'{name} = ""' for name in cls.needed))

    # -- checks that kinds share -------------------------------------------------------------------

    def _set_plain(self, *names: str) -> None:
        for name in names:
            object.__setattr__(self, name, plain_value(getattr(self, name)))

    def _check_words(self, *names: str) -> None:
        for name in names:
            if not isinstance(getattr(self, name), str):
                raise SchemaError(f"{name} must be a text.")
        if getattr(self, "derived", ""):
            object.__setattr__(self, "derived", str(parse_formula(str(self.derived))))  # type: ignore[attr-defined]
        if self.label not in get_args(Label):
            raise SchemaError(f"Unknown label {shown(self.label)}.{did_you_mean(shown(self.label), get_args(Label))}")


_kinds: dict[str, type[Column]] = {}

COLUMN_KINDS: Mapping[str, type[Column]] = MappingProxyType(_kinds)
"""The word of a kind in files -> its class: every kind there is, in the order in which they were registered."""

Kind = TypeVar("Kind", bound=type[Column])


def register_kind(kind: Kind) -> Kind:
    r"""Make a column kind known to schema files, questions, forms and engines; use it as a decorator.

    Raises:
        SchemaError: If its word is taken by another kind.

    Examples:
        A whole number from 0 to 10 that forms with a slider wrote as "7 of 10":

        >>> from dataclasses import dataclass
        >>> from pydplib.schema import Schema
        >>> from pydplib.schema.cells import PartsCell
        >>> from pydplib.schema.columns.ranged import Numeric
        >>> @register_kind
        ... @dataclass(frozen=True, slots=True)
        ... class Slider(Numeric):
        ...     kind, example, needed, is_whole = "slider", "Slider()", (), True
        ...     low: int = 0
        ...     high: int = 10
        ...     label: Label = "quasi"
        ...     title: str = ""
        ...     @property
        ...     def cell(self):
        ...         return PartsCell("^([0-9]|10) of 10$", ((1, 2, 1),), self.low, self.high)
        >>> print(Schema.from_toml('[columns.pain]\nkind = "slider"'))
        Schema 'table', one row per person
          pain  slider    0 to 10
        >>> forget_kind(Slider)
    """
    if _kinds.setdefault(kind.kind, kind).__qualname__ != kind.__qualname__:
        raise SchemaError(f"There is a column kind '{kind.kind}' already: {_kinds[kind.kind].__name__}.")
    _kinds[kind.kind] = kind
    return kind


def forget_kind(kind: type[Column]) -> None:
    """Remove a column kind that was registered, so that a test leaves nothing behind."""
    if _kinds.get(kind.kind) is kind:
        del _kinds[kind.kind]


def column_from_dict(name: str, entry: object) -> Column:
    """Build a column from plain values; errors name the column and the entry that is wrong."""
    if not isinstance(entry, Mapping):
        raise SchemaError(f"Column '{name}' must be a table with a kind, e.g. kind = \"number\".")
    values = dict(entry)
    kind = values.pop("kind", None)
    if kind is None:
        raise SchemaError(f"Column '{name}' needs a kind.{did_you_mean('', COLUMN_KINDS)}")
    if not isinstance(kind, str) or kind not in COLUMN_KINDS:
        raise SchemaError(
            f"Column '{name}' has the unknown kind {shown(kind)}.{did_you_mean(shown(kind), COLUMN_KINDS)}"
        )
    cls: Any = COLUMN_KINDS[kind]
    known = [spec.name for spec in fields(cls)]
    for key in values:
        if key not in known:
            raise SchemaError(f"Column '{name}' has the unknown entry '{key}'.{did_you_mean(key, known)}")
    for key in cls.needed:
        if values.get(key) in (None, "", []):
            raise SchemaError(
                f"Column '{name}' still needs '{key}'. Fill in what is possible in the real world; "
                "data never choose bounds or categories."
            )
    try:
        column: Column = cls(**values)
    except SchemaError as error:
        raise SchemaError(f"Column '{name}': {error}") from None
    return column


def number_of_text(text: str) -> float:
    """Return the number that a text among the edges of bins stands for: a day, or what another kind reads.

    Examples:
        >>> number_of_text("1970-01-31")
        30.0
    """
    for kind in COLUMN_KINDS.values():
        number = kind.number_of_text(text)
        if number is not None:
            return number
    raise QuestionError("A day is written like '2017-01-31'.")

"""How a stored cell becomes the value that its declaration promises: a clamped double, or a code, in SQL.

A column kind describes its cells as a neutral expression (``pydplib.schema.cells``); here each expression is written
once, for every way of storing it. ``polars_columns`` says the same in Polars' words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydplib.engine.sql.dialects import Dialect
from pydplib.errors import SchemaError
from pydplib.schema import Column, Schema
from pydplib.schema.cells import Cell, CodeCell, DayCell, NumberCell, PartsCell, Storage, TextCell


def check_storages(schema: Schema, storages: Mapping[str, Storage], *, text_as_day: bool = True) -> None:
    """Refuse columns whose stored type cannot hold what is declared. Types are public, cells are not."""
    for name, column in schema.stored.items():
        cell, storage = schema.cells[name], storages[name]
        if storage not in cell.storages or (storage == "text" and cell.needs_calendar and not text_as_day):
            raise SchemaError(
                f"Column '{name}' is declared as {column.kind}, but the table stores it {_stored(storage)}. Correct "
                "the schema, or load a view that casts the column."
            )


def _stored(storage: Storage) -> str:
    return "in a type that is not supported" if storage == "unsupported" else f"as {storage}"


def check_keys(name: str, storage: Storage) -> None:
    """Refuse free text whose stored type has no texts to be keys. Types are public: no cell decides."""
    if storage not in ("integer", "text", "dynamic"):
        raise SchemaError(f"Column '{name}' is stored {_stored(storage)}; unknown keys are texts or integers.")


def column_sql(dialect: Dialect, name: str, cell: Cell, storage: Storage) -> str:
    """Return the expression of a column's value: double for numbers and days, code for categories and flags."""
    return cell.written_by(_Clamped(dialect, name, storage))


def beyond_sql(dialect: Dialect, cell: str, column: Column, storage: Storage) -> tuple[str, str] | None:
    """Return the tests that a cell lies below its bounds, and above them; missing cells do neither.

    None for a column whose values are not clamped.
    """
    return column.cell.written_by(_Beyond(dialect, cell, storage))


_NEVER_NAN: tuple[Storage, ...] = ("integer", "flag", "dynamic")


@dataclass(frozen=True, slots=True)
class _Raw:
    """A stored cell, and what it says before any bound."""

    dialect: Dialect
    cell: str
    storage: Storage

    def number(self) -> str:
        """Return the cell as a double."""
        dialect, cell, storage = self.dialect, self.cell, self.storage
        if storage == "text":
            return f"({dialect.text_number(dialect.as_text(cell))})"
        if storage == "decimal":
            return dialect.decimal(cell)
        if storage == "flag":
            return f"(CASE WHEN {cell} THEN {dialect.double(1.0)} WHEN NOT {cell} THEN {dialect.double(0.0)} END)"
        if storage == "dynamic":
            text = dialect.text_number(dialect.as_text(cell))
            return (
                f"(CASE TYPEOF({cell}) WHEN 'integer' THEN {dialect.as_double(cell)} "
                f"WHEN 'real' THEN {dialect.as_double(cell)} WHEN 'text' THEN {text} END)"
            )
        return dialect.as_double(cell)

    def day(self) -> str:
        """Return the cell as a day."""
        dialect, cell, storage = self.dialect, self.cell, self.storage
        if storage in ("text", "dynamic"):
            day = f"({dialect.text_day(dialect.as_text(cell))})"
            return day if storage == "text" else self._unless_blob(day)
        return dialect.as_day(cell) if storage == "timestamp" else cell

    def parts(self, form: PartsCell) -> str:
        """Return the weighted sum of the numbers in a text, as a double."""
        dialect, text = self.dialect, self.dialect.as_text(self.cell)
        terms = [
            f"({dialect.text_number(f'SUBSTR({text}, {first}, {letters})')}) * {dialect.double(float(factor))}"
            for first, letters, factor in form.parts
        ]
        number = f"(CASE WHEN {dialect.matches(text, form.pattern)} THEN {' + '.join(terms)} END)"
        return number if self.storage == "text" else self._unless_blob(number)

    def _unless_blob(self, value: str) -> str:
        return f"(CASE WHEN TYPEOF({self.cell}) <> 'blob' THEN {value} END)"


class _Clamped(_Raw):
    """Values as questions use them."""

    __slots__ = ()

    def write_number(self, cell: NumberCell) -> str:
        """Return the clamped number."""
        dialect = self.dialect
        clamped = clamped_sql(dialect, self.number(), cell.low, cell.high, self.storage)
        if not cell.whole:
            return clamped
        if dialect.name == "sqlite":  # which has no FLOOR in every build
            return dialect.as_double(dialect.as_whole(f"({clamped} + {dialect.double(0.5)})"))
        return f"FLOOR({clamped} + {dialect.double(0.5)})"

    def write_day(self, cell: DayCell) -> str:
        """Return the clamped day as a number."""
        dialect, day = self.dialect, self.day()
        low, high = (dialect.day(bound.isoformat()) for bound in (cell.low, cell.high))
        # Clamped as days, before the subtraction: PostgreSQL's infinite days cannot be subtracted.
        clamped = f"(CASE WHEN {day} < {low} THEN {low} WHEN {day} > {high} THEN {high} ELSE {day} END)"
        return dialect.as_double(dialect.days(clamped))

    def write_parts(self, cell: PartsCell) -> str:
        """Return the clamped sum; whole numbers in a text are never NaN."""
        return clamped_sql(self.dialect, self.parts(cell), cell.low, cell.high, "integer")

    def write_code(self, cell: CodeCell) -> str:
        """Return the code."""
        return _coded(self.dialect, self.cell, self.storage, cell)

    def write_text(self, cell: TextCell) -> str:
        """Return the text."""
        return self.dialect.as_text(self.cell)


class _Beyond(_Raw):
    """Tests that a cell lies beyond its bounds."""

    __slots__ = ()

    def write_number(self, cell: NumberCell) -> tuple[str, str]:
        """Compare the number; NaN lies nowhere."""
        value = self.number()
        is_number = "" if self.storage in _NEVER_NAN else f"NOT ({self.dialect.is_nan(value)}) AND "
        low, high = (self.dialect.double(bound) for bound in cell.limits)
        return f"{value} < {low}", f"{is_number}{value} > {high}"

    def write_day(self, cell: DayCell) -> tuple[str, str]:
        """Compare the day."""
        low, high = (self.dialect.day(bound.isoformat()) for bound in (cell.low, cell.high))
        return f"{self.day()} < {low}", f"{self.day()} > {high}"

    def write_parts(self, cell: PartsCell) -> tuple[str, str]:
        """Compare the sum."""
        low, high = (self.dialect.double(bound) for bound in cell.limits)
        return f"{self.parts(cell)} < {low}", f"{self.parts(cell)} > {high}"

    def write_code(self, cell: CodeCell) -> None:
        """Return nothing: a list has no bounds."""

    def write_text(self, cell: TextCell) -> None:
        """Return nothing: a text has no bounds."""


def clamped_sql(dialect: Dialect, number: str, low: float, high: float, storage: Storage) -> str:
    """Return a number clamped to its bounds; missing, and NaN where the storage may hold any, are missing."""
    # NaN first: it compares as larger than everything. CASE, because LEAST and GREATEST skip NULL.
    first = "" if storage in _NEVER_NAN else f"WHEN {dialect.is_nan(number)} THEN NULL "
    return (
        f"CASE {first}WHEN {number} < {dialect.double(low)} THEN {dialect.double(low)} "
        f"WHEN {number} > {dialect.double(high)} THEN {dialect.double(high)} ELSE {number} END"
    )


def _coded(dialect: Dialect, cell: str, storage: Storage, coded: CodeCell) -> str:
    text, number, choices = dialect.as_text(cell), dialect.as_double(cell), coded.choices
    fallback = "NULL" if coded.other is None else str(coded.other)
    as_text = [(dialect.text(form), choice.code) for choice in choices for form in choice.texts]
    if storage == "flag":
        flags = {choice.flag: choice.code for choice in choices if choice.flag is not None}
        yes, no = flags.get(True, fallback), flags.get(False, fallback)
        return f"CASE WHEN {cell} THEN {yes} WHEN NOT {cell} THEN {no} END"
    if storage == "text":
        return f"CASE WHEN {text} = '' THEN NULL {_whens(text, as_text)} WHEN {cell} IS NOT NULL THEN {fallback} END"
    as_number = [(dialect.double(choice.number), choice.code) for choice in choices if choice.number is not None]
    if storage == "dynamic":
        texts, numbers = _whens(text, as_text), _whens(number, as_number)
        return (
            f"CASE TYPEOF({cell}) WHEN 'text' THEN CASE WHEN {text} = '' THEN NULL {texts} ELSE {fallback} END "
            f"WHEN 'null' THEN NULL WHEN 'blob' THEN {fallback} "
            f"ELSE CASE {numbers or 'WHEN FALSE THEN NULL'} ELSE {fallback} END END"
        )
    if storage == "integer":
        whole = [int(choice.number) for choice in choices if choice.number is not None and choice.number.is_integer()]
        codes = [choice.code for choice in choices]
        if len(whole) == len(choices) and all(v - whole[0] == c for v, c in zip(whole, codes, strict=True)):
            # Neighbouring whole numbers, such as PI-RADS 1 to 5: one subtraction instead of a chain.
            within = f"{cell} >= {whole[0]} AND {cell} <= {whole[-1]}"
            return (
                f"CASE WHEN {within} THEN {dialect.as_bigint(cell)} - ({whole[0]}) "
                f"WHEN {cell} IS NOT NULL THEN {fallback} END"
            )
        return f"CASE {_whens(number, as_number)} WHEN {cell} IS NOT NULL THEN {fallback} END"
    if storage == "decimal":
        number = dialect.decimal(cell)
    nan = dialect.is_nan(number)
    return f"CASE WHEN {nan} THEN NULL {_whens(number, as_number)} WHEN {cell} IS NOT NULL THEN {fallback} END"


def _whens(subject: str, choices: Sequence[tuple[str, int]]) -> str:
    by_code: dict[int, list[str]] = {}
    for literal, code in choices:
        by_code.setdefault(code, []).append(literal)
    return " ".join(
        f"WHEN {subject} = {literals[0]} THEN {code}"
        if len(literals) == 1
        else f"WHEN {subject} IN ({', '.join(literals)}) THEN {code}"
        for code, literals in by_code.items()
    )

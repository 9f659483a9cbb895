"""How a stored cell becomes the value that its declaration promises: a clamped double, or a code.

One rule for all engines: null, NaN and empty text are missing; numbers outside the bounds count as
the bound; a value outside a category's list is "other".
"""

from __future__ import annotations

from collections.abc import Sequence

from pydplib.engine.dialects import Dialect, Storage
from pydplib.engine.measures import number_bounds
from pydplib.errors import SchemaError
from pydplib.schema import OTHER, Category, Column, Date, Flag, Integer, Number, Scalar, Text

TRUE_WORDS = ("true", "t", "yes", "y", "ja", "j", "wahr", "1")
FALSE_WORDS = ("false", "f", "no", "n", "nein", "falsch", "0")

_HOLD_VALUES: tuple[Storage, ...] = ("integer", "float", "decimal", "text", "flag", "dynamic")
_HOLD_DAYS: tuple[Storage, ...] = ("date", "timestamp", "text", "dynamic")


def check_storage(name: str, column: Column, storage: Storage, *, text_as_day: bool = True) -> None:
    """Refuse a column whose stored type cannot hold what is declared. Types are public, cells are not.

    Free text may be stored as anything: hardly any question looks at it.
    """
    if isinstance(column, Text):
        return
    if isinstance(column, Date):
        fits = storage in _HOLD_DAYS and (text_as_day or storage != "text")
    else:
        fits = storage in _HOLD_VALUES
    if not fits:
        raise SchemaError(
            f"Column '{name}' is declared a {column.kind}, but the table stores it as {storage}. Correct the "
            "schema, or load a view that casts the column."
        )


def check_keys(name: str, storage: Storage) -> None:
    """Refuse free text whose stored type has no texts to be keys. Types are public: no cell decides."""
    if storage not in ("integer", "text", "dynamic"):
        raise SchemaError(f"Column '{name}' is stored as {storage}; unknown keys are texts or integers.")


def category_code(column: Category) -> dict[Scalar, int]:
    """Return value -> code: the position in the public list; "other" follows, unless it is listed."""
    codes = {value: position for position, value in enumerate(column.values)}
    codes.setdefault(OTHER, len(column.values))
    return codes


def spellings(value: Scalar) -> tuple[str, ...]:
    """Return the texts that mean a public value, in a column stored as text."""
    if isinstance(value, bool):
        words = TRUE_WORDS if value else FALSE_WORDS
        return tuple(dict.fromkeys(form for word in words for form in (word, word.capitalize(), word.upper())))
    if isinstance(value, str):
        return (value,)
    if float(value).is_integer():
        return (str(int(value)), f"{int(value)}.0")
    return (repr(float(value)),)


def number_of(value: Scalar) -> float | None:
    """Return the number that means a public value in a column stored as numbers, if any."""
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def flag_of(value: Scalar) -> bool | None:
    """Return the truth value that means a public value in a column stored as flags, if any."""
    if isinstance(value, str):
        word = value.lower()
        return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None
    return {0.0: False, 1.0: True}.get(float(value))


def column_sql(dialect: Dialect, cell: str, column: Column, storage: Storage) -> str:
    """Return the expression of a column's value: double for numbers and days, code for categories and flags."""
    if isinstance(column, Number | Integer):
        low, high = number_bounds(column)
        number = _number_sql(dialect, cell, storage)
        if isinstance(column, Integer):
            clamped = _clamped(dialect, number, low, high, storage)
            if dialect.name == "sqlite":  # which has no FLOOR in every build
                return dialect.as_double(dialect.as_whole(f"({clamped} + {dialect.double(0.5)})"))
            return f"FLOOR({clamped} + {dialect.double(0.5)})"
        return _clamped(dialect, number, low, high, storage)
    if isinstance(column, Date):
        return _day_sql(dialect, cell, column, storage)
    if isinstance(column, Flag):
        return _coded(dialect, cell, storage, ((True, 1), (False, 0)), None)
    if isinstance(column, Category):
        codes = category_code(column)
        listed = [(value, code) for value, code in codes.items() if value in column.values]
        return _coded(dialect, cell, storage, listed, codes[OTHER])
    return dialect.as_text(cell)


_NEVER_NAN: tuple[Storage, ...] = ("integer", "flag", "dynamic")


def _clamped(dialect: Dialect, number: str, low: float, high: float, storage: Storage) -> str:
    # NaN first: it compares as larger than everything. CASE, because LEAST and GREATEST skip NULL.
    first = "" if storage in _NEVER_NAN else f"WHEN {dialect.is_nan(number)} THEN NULL "
    return (
        f"CASE {first}WHEN {number} < {dialect.double(low)} THEN {dialect.double(low)} "
        f"WHEN {number} > {dialect.double(high)} THEN {dialect.double(high)} ELSE {number} END"
    )


def _number_sql(dialect: Dialect, cell: str, storage: Storage) -> str:
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


def beyond_sql(dialect: Dialect, cell: str, column: Number | Integer | Date, storage: Storage) -> tuple[str, str]:
    """Return the tests that a cell lies below its bounds, and above them; missing cells do neither."""
    if isinstance(column, Date):
        value = _raw_day_sql(dialect, cell, storage)
        low, high = (dialect.day(bound.isoformat()) for bound in (column.low, column.high))
    else:
        value = _number_sql(dialect, cell, storage)
        low, high = (dialect.double(bound) for bound in number_bounds(column))
    is_number = "" if isinstance(column, Date) or storage in _NEVER_NAN else f"NOT ({dialect.is_nan(value)}) AND "
    return f"{value} < {low}", f"{is_number}{value} > {high}"


def _raw_day_sql(dialect: Dialect, cell: str, storage: Storage) -> str:
    if storage in ("text", "dynamic"):
        day = f"({dialect.text_day(dialect.as_text(cell))})"
        return day if storage == "text" else f"(CASE WHEN TYPEOF({cell}) <> 'blob' THEN {day} END)"
    return dialect.as_day(cell) if storage == "timestamp" else cell


def _day_sql(dialect: Dialect, cell: str, column: Date, storage: Storage) -> str:
    day = _raw_day_sql(dialect, cell, storage)
    low, high = (dialect.day(bound.isoformat()) for bound in (column.low, column.high))
    # Clamped as days, before the subtraction: PostgreSQL's infinite days cannot be subtracted.
    clamped = f"(CASE WHEN {day} < {low} THEN {low} WHEN {day} > {high} THEN {high} ELSE {day} END)"
    return dialect.as_double(dialect.days(clamped))


def _coded(
    dialect: Dialect, cell: str, storage: Storage, listed: Sequence[tuple[Scalar, int]], other: int | None
) -> str:
    text, number = dialect.as_text(cell), dialect.as_double(cell)
    fallback = "NULL" if other is None else str(other)
    as_number = [(dialect.double(n), code) for v, code in listed if (n := number_of(v)) is not None]
    as_text = [(dialect.text(form), code) for v, code in listed for form in spellings(v)]
    if storage == "flag":
        flags = {flag: code for v, code in listed if (flag := flag_of(v)) is not None}
        yes, no = flags.get(True, fallback), flags.get(False, fallback)
        return f"CASE WHEN {cell} THEN {yes} WHEN NOT {cell} THEN {no} END"
    if storage == "text":
        return f"CASE WHEN {text} = '' THEN NULL {_whens(text, as_text)} WHEN {cell} IS NOT NULL THEN {fallback} END"
    if storage == "dynamic":
        texts, numbers = _whens(text, as_text), _whens(number, as_number)
        return (
            f"CASE TYPEOF({cell}) WHEN 'text' THEN CASE WHEN {text} = '' THEN NULL {texts} ELSE {fallback} END "
            f"WHEN 'null' THEN NULL WHEN 'blob' THEN {fallback} "
            f"ELSE CASE {numbers or 'WHEN FALSE THEN NULL'} ELSE {fallback} END END"
        )
    if storage == "integer":
        values, codes = [number_of(v) for v, _ in listed], [code for _, code in listed]
        whole = [int(v) for v in values if v is not None and v.is_integer()]
        if len(whole) == len(listed) and all(v - whole[0] == c for v, c in zip(whole, codes, strict=True)):
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

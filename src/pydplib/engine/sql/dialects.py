"""The few words in which the databases differ; everything else of a plan's SQL is the same text."""

from __future__ import annotations

from pydplib.engine.bounds import PRIME
from pydplib.schema.cells import DAY_PATTERN, DOTTED_DAY_PATTERN, NUMBER_PATTERN, Storage


def iso_of_dotted(cell: str) -> str:
    """Return the SQL that turns DD.MM.YYYY into YYYY-MM-DD."""
    return f"(SUBSTR({cell}, 7, 4) || '-' || SUBSTR({cell}, 4, 2) || '-' || SUBSTR({cell}, 1, 2))"


class Dialect:
    """DuckDB's spelling, from which the others differ in a few methods each."""

    name = "duckdb"
    inline = "NOT MATERIALIZED"  # let the optimiser push columns and conditions into both readings
    step = ""  # what stands before a step whose columns the next one mentions several times
    finds_first = True  # whether a person's first value is found faster by grouping than by sorting all rows
    apart_end = ""  # what stands behind it
    apart = ""  # what stands before a step of a formula, which the next one mentions several times
    grouping_sets = True  # whether one pass adds up by several sets of columns
    text_as_day = True
    nulls_first = " NULLS FIRST"  # what an order says about missing cells

    def quote(self, name: str) -> str:
        """Return a name that cannot be read as anything else."""
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """Return a text literal."""
        return "'" + value.replace("'", "''") + "'"

    def double(self, value: float) -> str:
        """Return a literal that is exactly this double; a plain 0.1 would be a decimal."""
        return f"{value:.17e}"

    def day(self, iso: str) -> str:
        """Return a date literal."""
        return f"DATE '{iso}'"

    def as_double(self, cell: str) -> str:
        """Convert a number to a double."""
        return f"CAST({cell} AS DOUBLE)"

    def as_whole(self, number: str) -> str:
        """Convert a double to the integer at or below it. Values are clamped before, so it fits."""
        # TRY_: should a NaN ever get here, it becomes missing instead of an error that tells of it.
        return f"TRY_CAST(FLOOR({number}) AS BIGINT)"

    def as_bigint(self, cell: str) -> str:
        """Convert an integer of any width to 64 bits."""
        return f"CAST({cell} AS BIGINT)"

    def as_text(self, cell: str) -> str:
        """Convert to text that compares byte by byte."""
        return f"CAST({cell} AS VARCHAR)"

    def is_nan(self, number: str) -> str:
        """Ask whether a double is NaN."""
        return f"ISNAN({number})"

    def matches(self, cell: str, pattern: str) -> str:
        """Ask whether a text matches a pattern."""
        return f"REGEXP_MATCHES({cell}, {self.text(pattern)})"

    def decimal(self, cell: str) -> str:
        """Convert a decimal to a double."""
        return self.as_double(cell)

    def text_number(self, cell: str) -> str:
        """Read a text as a double; what is no number is missing."""
        return f"CASE WHEN {self.matches(cell, NUMBER_PATTERN)} THEN TRY_CAST(TRIM({cell}) AS DOUBLE) END"

    def text_day(self, cell: str) -> str:
        """Read a text as a day; what is no day is missing."""
        return (
            f"CASE WHEN {self.matches(cell, DAY_PATTERN)} THEN TRY_CAST(SUBSTR({cell}, 1, 10) AS DATE) "
            f"WHEN {self.matches(cell, DOTTED_DAY_PATTERN)} THEN TRY_CAST({iso_of_dotted(cell)} AS DATE) END"
        )

    def as_day(self, cell: str) -> str:
        """Cut a point in time to its day."""
        return f"TRY_CAST({cell} AS DATE)"

    def days(self, day: str) -> str:
        """Return the days since 1970-01-01 of a date."""
        return f"({day} - DATE '1970-01-01')"

    def ordered(self, value: str, *, descending: bool = False) -> str:
        """Return what sorts rows by a value, with missing ones last in both directions."""
        return f"{value} {'DESC' if descending else 'ASC'} NULLS LAST"

    def divide(self, one: str, other: str) -> str:
        """Divide positive integers, rounding down."""
        return f"({one} // {other})"

    def hash_text(self, cell: str) -> str:
        """Fold a text into an integer below 2^28."""
        return f"CAST('0x' || SUBSTR(MD5({cell}), 1, 7) AS BIGINT)"

    def hash_number(self, cell: str, storage: Storage) -> str:
        """Fold a number into an integer of the hash's field; what collides is told apart by the tie-break."""
        if storage == "integer":
            whole = self.as_bigint(cell)
        else:
            number = self.decimal(cell) if storage == "decimal" else self.as_double(cell)
            whole = f"CASE WHEN ABS({number}) < {self.double(1e15)} THEN {self.as_whole(number)} ELSE 0 END"
        return f"((({whole}) % {PRIME}) + {PRIME}) % {PRIME}"

    def fold(self, cell: str, storage: Storage) -> str:
        """Fold a cell into an integer of the hash's field."""
        return self.hash_text(cell) if storage == "text" else self.hash_number(cell, storage)

    def person(self, column: str) -> str:
        """Return who a row is about, where each cell has its own type."""
        return f"NULLIF({self.quote(column)}, '')"

    def id_text(self, cell: str) -> str:
        """Return a text that names somebody or something; what is no text is missing."""
        return f"NULLIF({self.as_text(cell)}, '')"

    def id_decimal(self, cell: str) -> str:
        """Return a decimal that names somebody."""
        return cell

    def factor(self, number: str, *, least: float = 1e-150) -> str:
        """Return a number that may be multiplied; a database that fails on tiny products takes it as 0."""
        return number

    def total(self, value: str) -> str:
        """Add up integers; nothing is 0."""
        return f"COALESCE(SUM({value}), 0)"

    def wide_total(self, value: str) -> str:
        """Add up integers without ever overflowing, whatever the number of rows; DuckDB's sums have 128 bits."""
        return self.total(value)

    def storage(self, type_name: str) -> Storage:
        """Say how a type of this database is stored."""
        name = type_name.upper().split("(")[0].strip()
        if name in _INTEGERS:
            return "integer"
        if name in ("FLOAT", "DOUBLE", "REAL", "DOUBLE PRECISION", "FLOAT4", "FLOAT8"):
            return "float"
        if name in ("DECIMAL", "NUMERIC", "HUGEINT", "UHUGEINT", "UBIGINT"):
            return "decimal"
        if name in _TEXTS:
            return "text"
        if name in ("BOOLEAN", "BOOL"):
            return "flag"
        if name == "DATE":
            return "date"
        if name.startswith("TIMESTAMP") or name == "DATETIME":
            return "timestamp"
        return "unsupported"

    def type_name(self, storage: Storage) -> str:
        """Return the type of a new column that is stored so."""
        return _TYPES[storage]


_TYPES: dict[Storage, str] = {
    "integer": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "flag": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "INT2", "INT4", "INT8", "LONG", "SHORT", "BYTE",
}  # fmt: skip
_TEXTS = {
    "VARCHAR",
    "TEXT",
    "STRING",
    "CHAR",
    "BPCHAR",
    "CHARACTER",
    "CHARACTER VARYING",
    "ENUM",
    "UUID",
    "NAME",
    "NULL",
    '"NULL"',
    "VOID",
}


class ForeignDuckDBDialect(Dialect):
    """DuckDB over a view or relation of the caller, who may read Parquet without ``can_have_nan``."""

    def is_nan(self, number: str) -> str:
        """Ask whether a double is NaN, in a way that the optimiser does not answer from Parquet statistics."""
        # Whichever of the two is answered from statistics, the other one is not: a NaN is null, or is NaN.
        return f"COALESCE(ISNAN(NULLIF({number}, 'nan'::DOUBLE)), {number} IS NOT NULL)"

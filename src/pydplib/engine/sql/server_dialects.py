"""What PostgreSQL, MariaDB, SQLite and Spark say differently from DuckDB."""

from __future__ import annotations

from collections.abc import Iterable

from pydplib.engine.sql.dialects import Dialect, iso_of_dotted
from pydplib.schema.cells import DAY_PATTERN, DOTTED_DAY_PATTERN, NUMBER_PATTERN, Storage


class PostgresDialect(Dialect):
    """PostgreSQL: strict casts, numerics wider than a double, collations."""

    name = "postgres"
    finds_first = False
    apart = "MATERIALIZED "  # inlined, a formula doubles with every sign
    text_as_day = False  # a text such as '2017-02-31' would be an error, and errors must not tell of cells

    def double(self, value: float) -> str:
        """Return a literal that is exactly this double."""
        return f"float8 '{value:.17e}'"

    def as_double(self, cell: str) -> str:
        """Convert a number to a double."""
        return f"CAST({cell} AS float8)"

    def as_whole(self, number: str) -> str:
        """Convert a double to the integer at or below it."""
        return f"CAST(FLOOR({number}) AS bigint)"

    def as_text(self, cell: str) -> str:
        """Convert to text that compares byte by byte, whatever the database's language."""
        return f'(CAST({cell} AS text) COLLATE "C")'

    def is_nan(self, number: str) -> str:
        """Ask whether a double is NaN; here NaN equals itself."""
        return f"{number} = float8 'NaN'"

    def matches(self, cell: str, pattern: str) -> str:
        """Ask whether a text matches a pattern."""
        return f"{cell} ~ {self.text(pattern)}"

    def decimal(self, cell: str) -> str:
        """Convert a numeric to a double: beyond a double's range, PostgreSQL would raise an error."""
        return (
            f"CAST(CASE WHEN {cell} = numeric 'NaN' THEN NULL WHEN {cell} > numeric '1e300' THEN numeric '1e300' "
            f"WHEN {cell} < numeric '-1e300' THEN numeric '-1e300' "
            f"WHEN ABS({cell}) < numeric '1e-300' THEN numeric '0' ELSE {cell} END AS float8)"
        )

    def id_decimal(self, cell: str) -> str:
        """Return a numeric that names somebody: NaN is nobody."""
        return f"NULLIF({cell}, numeric 'NaN')"

    def as_day(self, cell: str) -> str:
        """Cut a point in time to its day: every timestamp of PostgreSQL has one."""
        return f"CAST({cell} AS DATE)"

    def factor(self, number: str, *, least: float = 1e-150) -> str:
        """Return a number that may be multiplied: a product below a double's range is an error in PostgreSQL."""
        return f"(CASE WHEN ABS({number}) < {self.double(least)} THEN {self.double(0.0)} ELSE {number} END)"

    def text_number(self, cell: str) -> str:
        """Read a text as a double; what is no number is missing."""
        return f"CASE WHEN {self.matches(cell, NUMBER_PATTERN)} THEN {self.decimal(f'CAST({cell} AS numeric)')} END"

    def divide(self, one: str, other: str) -> str:
        """Divide positive integers, rounding down."""
        return f"({one} / {other})"

    def hash_text(self, cell: str) -> str:
        """Fold a text into an integer below 2^28."""
        return f"CAST(CAST('x0' || SUBSTR(MD5({cell}), 1, 7) AS bit(32)) AS bigint)"


class MariaDBDialect(Dialect):
    """MariaDB: no materialized steps, collations that ignore case and blanks, sorts by the first bytes alone.

    The engine sets the session to ANSI quotes, ``||`` for texts, plain backslashes and no zero days.
    """

    name = "mariadb"
    finds_first = False
    inline = ""
    apart_end = f" LIMIT {2**64 - 1}"  # without it, a step is merged into the next one, and doubles with every sign
    nulls_first = ""  # they are, and MariaDB knows no words for it
    grouping_sets = False
    _MOST_LETTERS = 250  # of a text that is compared whole in every sort: three bytes each, below max_sort_length

    def ordered(self, value: str, *, descending: bool = False) -> str:
        """Return what sorts rows by a value, with missing ones last in both directions."""
        return f"{value} IS NULL, {value} {'DESC' if descending else 'ASC'}"

    def as_whole(self, number: str) -> str:
        """Convert a double to the integer at or below it."""
        return f"CAST(FLOOR({number}) AS SIGNED)"

    def as_bigint(self, cell: str) -> str:
        """Convert an integer of any width to 64 bits."""
        return f"CAST({cell} AS SIGNED)"

    def as_text(self, cell: str) -> str:
        """Convert to text that compares byte by byte: capitals, accents and trailing blanks count."""
        return f"(CONVERT({cell} USING utf8mb4) COLLATE utf8mb4_nopad_bin)"

    def id_text(self, cell: str) -> str:
        """Return a text that names somebody or something.

        MariaDB sorts by the first 1024 bytes: two people whose long ids begin alike would share one bound. Of a
        long text there remain the beginning and a digest of the whole.
        """
        text = self.as_text(cell)
        short = f"CASE WHEN CHAR_LENGTH({text}) <= {self._MOST_LETTERS} THEN {text} "
        long = f"ELSE CONCAT(LEFT({text}, {self._MOST_LETTERS - 64}), SHA2({text}, 256)) END"
        whole = f"CAST({short}{long} AS CHAR({self._MOST_LETTERS}) CHARACTER SET utf8mb4)"
        return f"NULLIF({whole} COLLATE utf8mb4_nopad_bin, '')"

    def is_nan(self, number: str) -> str:
        """MariaDB stores no NaN."""
        return "FALSE"

    def matches(self, cell: str, pattern: str) -> str:
        """Ask whether a text matches a pattern."""
        # $ also matches before a final line feed.
        return f"{cell} REGEXP {self.text(pattern.replace('$', chr(92) + 'z'))}"

    def text_number(self, cell: str) -> str:
        """Read a text as a double; what is no number is missing."""
        return f"CASE WHEN {self.matches(cell, NUMBER_PATTERN)} THEN CAST(TRIM({cell}) AS DOUBLE) END"

    def text_day(self, cell: str) -> str:
        """Read a text as a day; what is no day is missing."""
        iso, dotted = f"SUBSTR({cell}, 1, 10)", iso_of_dotted(cell)
        return (
            f"CASE WHEN {self.matches(cell, DAY_PATTERN)} THEN {self._day_of(iso)} "
            f"WHEN {self.matches(cell, DOTTED_DAY_PATTERN)} THEN {self._day_of(dotted)} END"
        )

    @staticmethod
    def _day_of(iso: str) -> str:
        """Convert YYYY-MM-DD: where it compares days, MariaDB takes 31 February for one."""
        last = f"DAYOFMONTH(LAST_DAY(CAST(CONCAT(SUBSTR({iso}, 1, 8), '01') AS DATE)))"
        return f"CASE WHEN CAST(SUBSTR({iso}, 9, 2) AS SIGNED) <= {last} THEN CAST({iso} AS DATE) END"

    def as_day(self, cell: str) -> str:
        """Cut a point in time to its day; days that no calendar has, such as 31 February, are missing."""
        return f"CASE WHEN DAYOFMONTH({cell}) <= DAYOFMONTH(LAST_DAY({cell})) THEN CAST({cell} AS DATE) END"

    def days(self, day: str) -> str:
        """Return the days since 1970-01-01 of a date."""
        return f"DATEDIFF({day}, DATE '1970-01-01')"

    def divide(self, one: str, other: str) -> str:
        """Divide positive integers, rounding down."""
        return f"({one} DIV {other})"

    def hash_text(self, cell: str) -> str:
        """Fold a text into an integer below 2^28."""
        return f"CAST(CONV(SUBSTR(MD5({cell}), 1, 7), 16, 10) AS SIGNED)"

    def storage(self, type_name: str) -> Storage:
        """Say how a type of MariaDB is stored."""
        name = type_name.lower()
        if name.startswith("bigint") and "unsigned" in name:
            return "decimal"
        base = name.split("(")[0].split()[0]
        if base in ("tinyint", "smallint", "mediumint", "int", "bigint", "year"):
            return "integer"
        if base in ("date", "datetime", "timestamp"):
            return "timestamp"  # days too: MariaDB keeps some that no calendar has
        if base in ("tinytext", "text", "mediumtext", "longtext", "char", "varchar", "enum", "uuid"):
            return "text"
        return {"float": "float", "double": "float", "decimal": "decimal"}.get(base, "unsupported")  # type: ignore[return-value]


class SqliteDialect(Dialect):
    """SQLite: each cell has its own type, no NaN, no FLOOR in every build.

    Args:
        mixed: Columns declared without a type, where SQLite keeps 1 and '1' apart; typed ones it converts itself.
    """

    name = "sqlite"
    finds_first = False
    inline = "MATERIALIZED"  # inlined, SQLite joins persons without an index: quadratic in their number
    grouping_sets = False
    step = "MATERIALIZED "  # inlined, SQLite computes a cell once per mention: a thousand times after five steps
    apart = step

    def __init__(self, mixed: Iterable[str] = ()) -> None:
        self._mixed = frozenset(mixed)

    def person(self, column: str) -> str:
        """Return who a row is about: 1, 1.0 and '1' are one person."""
        cell = self.quote(column)
        # Texts of plain letters need no look at their bytes.
        is_odd = f"TYPEOF({cell}) = 'blob' OR TYPEOF({cell}) = 'text' AND {cell} GLOB '*[^ -~]*'"
        if column not in self._mixed:
            return f"NULLIF(CASE WHEN {is_odd} THEN {self.id_text(cell)} ELSE {cell} END, '')"
        is_whole = f"TYPEOF({cell}) = 'real' AND {cell} = CAST({cell} AS INTEGER)"
        number = f"CASE WHEN {is_whole} THEN CAST({cell} AS INTEGER) ELSE {cell} END"
        return f"CASE WHEN {is_odd} THEN {self.id_text(cell)} ELSE NULLIF({self.as_text(number)}, '') END"

    def id_text(self, cell: str) -> str:
        """Return a text that names somebody or something; bytes that are no text are missing."""
        return f"CASE WHEN TYPEOF({cell}) <> 'blob' THEN pydplib_text(CAST({cell} AS BLOB)) END"

    def double(self, value: float) -> str:
        """Return this double as an exact ratio: SQLite's own reading of long decimals may be off by a bit."""
        numerator, denominator = value.as_integer_ratio()
        text = f"CAST({numerator} AS REAL)" if abs(numerator) < 2**62 else f"{value!r}"
        while denominator > 1:
            part = min(denominator, 2**62)
            text, denominator = f"({text} / CAST({part} AS REAL))", denominator // part
        return text

    def as_double(self, cell: str) -> str:
        """Convert a number to a double."""
        return f"CAST({cell} AS REAL)"

    def as_whole(self, number: str) -> str:
        """Convert a double to the integer at or below it."""
        return f"(CAST({number} AS INTEGER) - ({number} < CAST({number} AS INTEGER)))"

    def as_bigint(self, cell: str) -> str:
        """Integers are 64 bits wide already."""
        return f"CAST({cell} AS INTEGER)"

    def as_text(self, cell: str) -> str:
        """Convert to text that compares byte by byte."""
        return f"(CAST({cell} AS TEXT) COLLATE BINARY)"

    def is_nan(self, number: str) -> str:
        """SQLite stores NaN as NULL."""
        return "FALSE"

    def matches(self, cell: str, pattern: str) -> str:
        """Ask whether a text matches a pattern; the function is registered by the engine."""
        return f"pydplib_matches(CAST({cell} AS BLOB), {self.text(pattern)})"

    def text_number(self, cell: str) -> str:
        """Read a text as a double; the function is registered by the engine."""
        return f"pydplib_number(CAST({cell} AS BLOB))"

    def text_day(self, cell: str) -> str:
        """Read a text as a day; the calendar's own answer must be the text itself."""
        iso, dotted = f"SUBSTR({cell}, 1, 10)", iso_of_dotted(cell)
        # In bytes: SQLite's texts end with their first zero.
        is_short = f"LENGTH(CAST({cell} AS BLOB)) = LENGTH(CAST({iso} AS BLOB))"
        # Only after a step does SQLite say that 31 February is in March.
        return (
            f"CASE WHEN DATE({iso}, '+0 days') = {iso} AND ({is_short} OR SUBSTR({cell}, 11, 1) IN (' ', 'T')) "
            f"THEN {iso} WHEN {is_short} AND LENGTH({cell}) = 10 AND {cell} LIKE '__.__.____' "
            f"AND DATE({dotted}, '+0 days') = {dotted} THEN {dotted} END"
        )

    def day(self, iso: str) -> str:
        """Return a day as SQLite keeps days: as text."""
        return f"'{iso}'"

    def days(self, day: str) -> str:
        """Return the days since 1970-01-01 of a date."""
        return f"(JULIANDAY({day}) - JULIANDAY('1970-01-01'))"

    def divide(self, one: str, other: str) -> str:
        """Divide positive integers, rounding down."""
        return f"({one} / {other})"

    def hash_text(self, cell: str) -> str:
        """Fold a text into an integer below 2^28; the function is registered by the engine."""
        return f"pydplib_fold(CAST({cell} AS BLOB))"

    def fold(self, cell: str, storage: Storage) -> str:
        """Fold a cell by its own type, so that numbers fold as they do where columns have types."""
        if storage != "dynamic":
            return super().fold(cell, storage)
        return (
            f"CASE TYPEOF({cell}) WHEN 'integer' THEN {self.hash_number(cell, 'integer')} "
            f"WHEN 'real' THEN {self.hash_number(cell, 'float')} ELSE {self.hash_text(cell)} END"
        )

    def wide_total(self, value: str) -> str:
        """Add up the upper and the lower half of the bits apart, as ``upper:lower``: SUM would be an error at 2^63."""
        return f"({self.total(f'(({value}) >> 32)')} || ':' || {self.total(f'(({value}) & 4294967295)')})"

    def storage(self, type_name: str) -> Storage:
        """Say nothing by the declared type: SQLite does not enforce it."""
        return "dynamic"


class SparkDialect(Dialect):
    """Spark SQL: backticks, double literals with a D, DIV."""

    name = "spark"
    finds_first = False
    inline = ""

    def quote(self, name: str) -> str:
        """Return a name that cannot be read as anything else."""
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        """Return a text literal; Spark reads backslashes."""
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def double(self, value: float) -> str:
        """Return a literal that is exactly this double."""
        return f"{value:.17e}D"

    def as_whole(self, number: str) -> str:
        """Convert a double to the integer at or below it."""
        return f"TRY_CAST(FLOOR({number}) AS BIGINT)"

    def as_text(self, cell: str) -> str:
        """Convert to text that compares byte by byte."""
        return f"CAST({cell} AS STRING)"

    def id_text(self, cell: str) -> str:
        """Return a text that names somebody; bytes that are no text, which Spark stores too, are missing."""
        return f"NULLIF(TRY_VALIDATE_UTF8({self.as_text(cell)}), '')"

    def matches(self, cell: str, pattern: str) -> str:
        """Ask whether a text matches a pattern."""
        # Java's $ also matches before a final line feed.
        return f"{cell} RLIKE {self.text(pattern.replace('$', chr(92) + 'z'))}"

    def days(self, day: str) -> str:
        """Return the days since 1970-01-01 of a date."""
        return f"DATEDIFF({day}, DATE '1970-01-01')"

    def divide(self, one: str, other: str) -> str:
        """Divide positive integers, rounding down."""
        return f"({one} DIV {other})"

    def hash_text(self, cell: str) -> str:
        """Fold a text into an integer below 2^28."""
        return f"CAST(CONV(SUBSTR(MD5({cell}), 1, 7), 16, 10) AS BIGINT)"

    def wide_total(self, value: str) -> str:
        """Add up integers in 30 digits: sums of 64 bits would wrap, or be an error, by what the data are."""
        return self.total(f"CAST({value} AS DECIMAL(20, 0))")

"""How a cell of a text file is read, wherever the file is opened: numbers, days, yes and no.

One rule for each cell, from the cell, the owner's words and the file's first line alone: no other row has a say.

================  ======================================================================================
``12``, ``1.5``   Numbers. A point stands before decimals.
``1,5``           A number where the comma does not separate cells, or where ``decimal=","`` is declared.
``1.234,5``       A number of the same files: points before a comma group thousands, and so do several points.
``1.234``         1.234; with ``decimal=","`` 1234. Commands that write a table do not guess: in a column with
                  decimal commas they keep such a cell, and the column, as text.
``2020-02-01``    A day, with or without a time behind it.
``01.02.2020``    The same day; ``1.2.2020`` too.
``yes``, ``ja``   True: see ``TRUE_WORDS``, in large or small letters; ``no`` and ``nein`` are false.
blank             Missing.
================  ======================================================================================
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydplib._duckdb_files import sql_text

TRUE_WORDS = ("true", "t", "yes", "y", "ja", "j", "wahr", "1")
FALSE_WORDS = ("false", "f", "no", "n", "nein", "falsch", "0")

NUMBER_PATTERN = r"^[ ]*[+-]?([0-9]{1,100}([.][0-9]{0,100})?|[.][0-9]{1,100})([eE][+-]?[0-9]{1,2})?[ ]*$"
"""Texts that count as numbers, on every engine alike; short enough never to overflow a double."""

Decimals: TypeAlias = Literal[".", ",", "either"]
"""What may stand before decimals: the point, the comma (points group thousands), or either."""

Kind: TypeAlias = Literal["whole", "number", "comma", "date", "german date", "time", "flag", "text"]
"""What all cells of a column that nobody declared have in common."""

_GROUPED = r"[+-]?[1-9][0-9]{0,2}([.][0-9]{3})+(,[0-9]+)?"
_DOTTED_DAY = r"[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}"
# Codes such as 01067 are texts: as a number they would lose their zeros.
# No number is longer than those of NUMBER_PATTERN.
_PATTERNS: dict[Kind, str] = {
    "whole": r"-?(0|[1-9][0-9]{0,17})",
    "number": r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,2})?",
    "comma": r"-?((0|[1-9][0-9]{0,99})(,[0-9]{1,100})?|[1-9][0-9]{0,2}(\.[0-9]{3})+,[0-9]+"
    r"|[1-9][0-9]{0,2}(\.[0-9]{3}){2,})",
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "german date": _DOTTED_DAY,
    "time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?",
    "flag": f"(?i)({'|'.join(TRUE_WORDS + FALSE_WORDS)})",
}
_COMMA_ALONE = r"-?((0|[1-9][0-9]{0,99})(,[0-9]{1,100})?|[1-9][0-9]{0,2}(\.[0-9]{3})+(,[0-9]+)?)"
_AMBIGUOUS = re.compile(r"[+-]?[1-9][0-9]{0,2}[.][0-9]{3}")
_WITH_COMMA = re.compile(r"[+-]?([0-9]+|[1-9][0-9]{0,2}([.][0-9]{3})+),[0-9]+")


def decimals_of(separator: str, declared: str | None) -> Decimals:
    """Return what may stand before decimals in a file: what its owner declares, or what its separator leaves free.

    Examples:
        >>> decimals_of(",", None), decimals_of(";", None), decimals_of(";", ",")
        ('.', 'either', ',')
    """
    if declared is not None:
        return "," if declared == "," else "."
    return "." if separator == "," else "either"


# -- In Python ----------------------------------------------------------------------------------------


def number_text(cell: str, decimals: Decimals) -> str:
    """Return a number with a decimal point; what is no number stays as it is.

    Examples:
        >>> number_text("1.234,5", "either"), number_text("1,5", "either"), number_text("1,5", ".")
        ('1234.5', '1.5', '1,5')
        >>> number_text("1.234", "either"), number_text("1.234", ","), number_text("1.234.567", "either")
        ('1.234', '1234', '1234567')
    """
    word = cell.strip()
    if decimals == ".":
        return word
    points = word.count(".")
    if points and (decimals == "," or points > 1 or "," in word):
        return word.replace(".", "").replace(",", ".") if re.fullmatch(_GROUPED, word) else f"{word}?"
    return word.replace(",", ".")


def has_decimal_comma(cell: str) -> bool:
    """Tell whether a cell is a number with a decimal comma.

    Examples:
        >>> has_decimal_comma("1.234,5"), has_decimal_comma("1.234")
        (True, False)
    """
    return _WITH_COMMA.fullmatch(cell.strip()) is not None


def is_ambiguous(cell: str) -> bool:
    """Tell whether a cell may be a number with three decimals or one of thousands.

    Examples:
        >>> is_ambiguous("1.234"), is_ambiguous("0.234"), is_ambiguous("1.5")
        (True, False, False)
    """
    return _AMBIGUOUS.fullmatch(cell.strip()) is not None


def day_text(cell: str) -> str:
    """Return a day as ISO writes it, without its time; what is no day stays as it is.

    Examples:
        >>> day_text("1.2.2020"), day_text("2020-02-01T10:30"), day_text("31.02.2020")
        ('2020-02-01', '2020-02-01', '31.02.2020')
    """
    word = cell.strip()
    if re.fullmatch(_DOTTED_DAY, word):
        day, month, year = map(int, word.split("."))
        try:
            return dt.date(year, month, day).isoformat()
        except ValueError:
            return word
    return word[:10] if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ].*", word) else word


def truth_of(cell: str) -> bool | None:
    """Return what a word for yes or no means; None for any other text.

    Examples:
        >>> truth_of(" Ja"), truth_of("falsch"), truth_of("maybe")
        (True, False, None)
    """
    word = cell.strip().lower()
    return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None


# -- In DuckDB's SQL ----------------------------------------------------------------------------------


def number_sql(cell: str, decimals: Decimals) -> str:
    """Return the SQL of ``number_text``; what is no number may become missing."""
    if decimals == ".":
        return cell
    grouped = (
        f"CASE WHEN regexp_full_match(trim({cell}), {sql_text(_GROUPED)}) "
        f"THEN replace(replace({cell}, '.', ''), ',', '.') END"
    )
    has_points = f"contains({cell}, '.')"
    if decimals == "either":
        has_points = f"({cell} LIKE '%.%.%' OR ({has_points} AND contains({cell}, ',')))"
    return f"CASE WHEN {has_points} THEN {grouped} ELSE replace({cell}, ',', '.') END"


def day_sql(cell: str) -> str:
    """Return the SQL of ``day_text`` for dotted days; all else stays as it is."""
    word = f"trim({cell})"
    dotted = f"regexp_full_match({word}, {sql_text(_DOTTED_DAY)})"
    iso = f"strftime(try_strptime({word}, '%d.%m.%Y'), '%Y-%m-%d')"
    return f"CASE WHEN contains({cell}, '.') AND {dotted} THEN {iso} ELSE {word} END"


def truth_sql(cell: str) -> str:
    """Return the SQL of ``truth_of``."""
    yes, no = (", ".join(map(sql_text, words)) for words in (TRUE_WORDS, FALSE_WORDS))
    return f"CASE WHEN lower(trim({cell})) IN ({yes}) THEN true WHEN lower(trim({cell})) IN ({no}) THEN false END"


def value_sql(cell: str, kind: Kind, decimals: Decimals) -> str:
    """Return the SQL of a cell's value in a column of a kind; blank cells are missing.

    Texts keep their blanks. Words for yes and no stay words.
    """
    word = f"nullif(trim({cell}), '')"
    if kind in ("text", "flag"):
        return f"CASE WHEN {word} IS NULL THEN NULL ELSE {cell} END"
    return {
        "whole": f"TRY_CAST({word} AS BIGINT)",
        "number": f"TRY_CAST({word} AS DOUBLE)",
        "comma": f"TRY_CAST({number_sql(word, decimals)} AS DOUBLE)",
        "date": f"TRY_CAST({word} AS DATE)",
        "german date": f"CAST(try_strptime({word}, '%d.%m.%Y') AS DATE)",
        "time": f"TRY_CAST({word} AS TIMESTAMP)",
    }[kind]


def kinds_sql(cells: Sequence[str], decimals: Decimals) -> str:
    """Return the SELECT list that ``kinds_found`` reads: for every column, how many cells fit which kind."""
    counts = []
    for cell in cells:
        word = f"nullif(trim({cell}), '')"
        counts.append(f"count({word})")
        counts.append(f"count(*) FILTER (contains({word}, ','))")
        for kind, pattern in _PATTERNS.items():
            if kind == "comma" and decimals == ",":
                pattern = _COMMA_ALONE
            is_read = "" if kind == "flag" else f" AND {value_sql(cell, kind, decimals)} IS NOT NULL"
            counts.append(f"count(*) FILTER (regexp_full_match({word}, {sql_text(pattern)}){is_read})")
    return ", ".join(counts)


def kinds_found(counts: Sequence[int], decimals: Decimals) -> list[Kind]:
    """Return what every column holds: the first kind that fits all of its cells."""
    width = 2 + len(_PATTERNS)
    out: list[Kind] = []
    for start in range(0, len(counts), width):
        present, with_comma, *fitting = counts[start : start + width]
        found: list[Kind] = [kind for kind, n in zip(_PATTERNS, fitting, strict=True) if n == present]
        if decimals == ".":
            found = [kind for kind in found if kind != "comma"]
        elif decimals == ",":
            found = [kind for kind in found if kind != "number"]
        elif not with_comma and "number" in found:
            found = [kind for kind in found if kind != "comma"]
        out.append(found[0] if present and found else "text")
    return out

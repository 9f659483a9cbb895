"""Guesses what the columns of a table are, from their names and from how their values look. Guesses, no more."""

# Names enter SQL through identifier() only.
# ruff: noqa: S608
from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pydplib._names import meaning_of, person_column, words_of
from pydplib.cli._sql import identifier
from pydplib.cli._tables import Kind, TableFile, engine_errors
from pydplib.errors import DataError, looks_like_names

Role: TypeAlias = Literal["identifier", "quasi", "sensitive"]

_MANY = 1_000_000  # rows above which distinct values are estimated
_FREE_TEXT = 40  # letters on average
_BOUNDS = "low and high are {what} from the data: put in what is possible in the real world, then remove from_data"

# Words in the names of columns, in English and German. Whole words, or their beginnings where a ~ stands.
_WORDS: dict[Role, str] = {
    # Besides what pydplib._names knows: free text, which may name people.
    "identifier": ("pseudonym~ comment~ kommentar~ remark~ bemerkung~ note notes notiz~ freetext freitext"),
    "sensitive": (
        "diagnos~ icd~ disease~ krankheit~ illness~ ill symptom~ therap~ treatment~ behandlung~ medic~ drug~ result~ "
        "befund~ score~ pirads gleason psa stage stadium tumor~ tumour~ cancer~ krebs~ hiv lab labor~ salary~ income~ "
        "einkommen~ gehalt~ lohn death~ died mortality outcome~ prostatitis bph turp lesion~ allerg~ smok~ rauch~"
    ),
    "quasi": (
        "age alter birth~ born geburt~ geb dob sex gender geschlecht zip~ plz post~ city town ort wohnort region~ "
        "state bundesland county country land nation~ race ethnic~ religion~ konfession~ marital~ familienstand "
        "educat~ bildung~ schul~ occupation~ beruf~ profession~ job employer~ arbeitgeber~ workclass department~ "
        "abteilung~ physician~ arzt~ doctor~ year jahr date datum day tag admission~ aufnahme~ discharge~ entlass~ "
        "visit~ besuch~ height groesse weight gewicht language~ sprache~ children kinder modified"
    ),
}
_CODE = re.compile(r"(^|_)(zip|plz|post|code|icd)")
_AGE = re.compile(r"(^|_)(age|alter)($|_)")


@dataclass(frozen=True)
class Guess:
    """What a column may be, and why. Holds no values of the table but rounded bounds.

    Attributes:
        name: The column.
        role: Identifier, quasi-identifier or sensitive.
        why: The reason, in words.
        hierarchy: For quasi-identifiers: entries of its hierarchy.
        hint: For quasi-identifiers: a remark on the hierarchy.
        repeated: Whether values occur more than once.
    """

    name: str
    role: Role
    why: str
    hierarchy: dict[str, Any] = field(default_factory=dict)
    hint: str = ""
    repeated: bool = False


def guess_columns(table: TableFile) -> list[Guess]:
    """Return a guess for every column; a file without a line of names is refused, since its names are cells."""
    if not looks_like_names(table.columns):
        raise DataError(
            "The first line does not look like names of columns. Put a line with the name of every column first."
        )
    rows = table.rows()
    looks = _look(table, rows)
    return [_guess(name, kind, looks[name], rows) for name, kind in table.columns.items()]


def person_of(guesses: list[Guess]) -> str | None:
    """Return the column that seems to say whose row it is, if somebody can have several rows."""
    return person_column(guess.name for guess in guesses if guess.role == "identifier" and guess.repeated)


@dataclass(frozen=True)
class _Look:
    """How a column's values look."""

    present: int
    distinct: int
    low: Any
    high: Any
    shortest: int
    longest: int
    length: float
    mails: int
    digits: int

    def __repr__(self) -> str:
        return "_Look(private)"


def _look(table: TableFile, rows: int) -> dict[str, _Look]:
    parts = []
    for name, kind in table.columns.items():
        cell, text = identifier(name), f"CAST({identifier(name)} AS VARCHAR)"
        ordered = kind != "text"
        parts += [
            f"count({cell})",
            f"{'approx_count_distinct(' if rows > _MANY else 'count(DISTINCT '}{cell})",
            f"min({cell})" if ordered else "NULL",
            f"max({cell})" if ordered else "NULL",
            f"coalesce(min(length({text})), 0)",
            f"coalesce(max(length({text})), 0)",
            f"coalesce(avg(length({text})), 0)",
            f"count(*) FILTER (regexp_matches({text}, '^[^@ ]+@[^@ ]+[.][a-zA-Z]+$'))",
            f"count(*) FILTER (regexp_matches({text}, '^[0-9]+$'))",
        ]
    with engine_errors(table.format):
        (found,) = table.relation.query("looked_at", f"SELECT {', '.join(parts)} FROM looked_at").fetchall()
    width = len(parts) // len(table.columns)
    return {name: _Look(*found[i * width : (i + 1) * width]) for i, name in enumerate(table.columns)}


def _words(name: str) -> str:
    return "_".join(words_of(name))


def _role_of_name(name: str) -> Role | None:
    if meaning_of(name) not in (None, "birth"):  # a birth date can be made coarser: a quasi-identifier
        return "identifier"
    words = words_of(name)
    for role, known in _WORDS.items():
        for pattern in known.split():
            start = pattern.removesuffix("~")
            if any(word == start or (pattern.endswith("~") and word.startswith(start)) for word in words):
                return role
    return None


def _guess(name: str, kind: Kind, look: _Look, rows: int) -> Guess:
    repeated = look.distinct < look.present
    role, why = _role(name, kind, look, rows)
    if role != "quasi":
        return Guess(name, role, why, repeated=repeated)
    hierarchy, hint = _hierarchy(name, kind, look)
    return Guess(name, role, why, hierarchy, hint, repeated)


def _role(name: str, kind: Kind, look: _Look, rows: int) -> tuple[Role, str]:
    if look.mails and look.mails > look.present / 2:
        return "identifier", "looks like mail addresses"
    named = _role_of_name(name)
    if named == "identifier":
        return named, "the name says so"
    if kind == "text" and look.length > _FREE_TEXT:
        return "identifier", "free text, which may name people"
    if named is not None:
        return named, "the name says so"
    if rows >= 20 and kind in ("text", "whole") and look.distinct > 0.95 * look.present:
        return "identifier", "nearly every row has another value"
    return "quasi", "nothing is known about it: counted as a quasi-identifier to be on the safe side"


def _hierarchy(name: str, kind: Kind, look: _Look) -> tuple[dict[str, Any], str]:
    from pydplib.anonymity.automatic import nested_widths

    digits = look.present > 0 and look.digits == look.present and 3 <= look.shortest == look.longest <= 12
    if digits and (kind == "text" or _CODE.search(_words(name))):
        return {"kind": "masking", "length": look.longest}, "digits are masked from the right"
    if kind in ("whole", "number", "comma") and look.present:
        low, high = float(look.low), float(look.high)
        if _AGE.search(_words(name)) and low >= 0 and high <= 120:
            return {"kind": "intervals", "low": 0, "high": 120, "widths": [5, 10, 20, 40]}, ""
        whole = kind == "whole"
        low, high = _round_bounds(low, high, whole=whole)
        widths = [width for width in nested_widths(low, high, whole=whole) if not whole or width > 1]
        show = int if whole else float
        spec: dict[str, Any] = {"kind": "intervals", "low": show(low), "high": show(high), "widths": widths}
        return {**spec, "from_data": True}, _BOUNDS.format(what="rounded")
    if kind in ("date", "german date", "time") and look.present:
        low_day, high_day = dt.date(look.low.year, 1, 1), dt.date(look.high.year, 12, 31)
        spec = {"kind": "dates", "low": low_day, "high": high_day, "units": ["month", "quarter", "year"]}
        return {**spec, "from_data": True}, _BOUNDS.format(what="whole years")
    return {"kind": "automatic"}, "each value, or '*'; give groups or a file for steps between"


def _round_bounds(low: float, high: float, *, whole: bool) -> tuple[float, float]:
    """Return bounds moved outwards to round numbers, so that they are not the extremes themselves."""
    span = (high - low) or abs(high) or 1.0
    unit = 10.0 ** math.floor(math.log10(span / 2))
    unit = max(unit, 1.0) if whole else unit
    down, up = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    places = max(0, -math.floor(math.log10(unit)))
    return round(down, places), round(max(up, down + unit), places)

"""Guesses what the columns of a table are, from their names and from how their values look. Guesses, no more."""

# Names enter SQL through identifier() only.
# ruff: noqa: S608
from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Literal, TypeAlias

from pydplib._duckdb_files import sql_name as identifier
from pydplib._duckdb_files import sql_text as literal
from pydplib._names import meaning_of, person_column, words_of
from pydplib.errors import DataError, looks_like_names
from pydplib.tables import TableFile
from pydplib.tables.cells import Kind
from pydplib.tables.files import engine_errors

Role: TypeAlias = Literal["identifier", "quasi", "sensitive", "keep", "empty"]

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
        "einkommen~ gehalt~ lohn death~ died mortality outcome~ prostatitis bph turp lesion~ allerg~ smok~ rauch~ "
        # Values of a laboratory: few outsiders know them, and nobody else's are as telling.
        "hemoglobin~ haemoglobin~ haematocrit hematocrit hb hba creatin~ kreatinin~ sodium natrium potassium kalium "
        "glucose glukose crp wbc rbc leuko~ leuco~ thrombo~ platelet~ lymphocyt~ neutrophil~ alt ast ggt ldh "
        "bilirubin~ albumin~ urea harnstoff bun cholest~ ldl hdl triglycer~ tsh inr ferritin~ troponin~ lactat~ "
        "laktat~ gfr egfr calcium magnesium phosphat~ viral~"
    ),
    "quasi": (
        "age alter birth~ born geburt~ geb dob sex gender geschlecht zip~ plz post~ city town ort wohnort region~ "
        "state bundesland county country land nation~ race ethnic~ religion~ konfession~ marital~ familienstand "
        "educat~ bildung~ schul~ occupation~ beruf~ profession~ job employer~ arbeitgeber~ workclass department~ "
        "abteilung~ physician~ arzt~ doctor~ year jahr date datum day tag admission~ aufnahme~ discharge~ entlass~ "
        "visit~ besuch~ height groesse weight gewicht language~ sprache~ children kinder modified"
    ),
}
_PLACE_WORDS = (
    "clinic klinik hospital krankenhaus department abteilung station ward unit practice praxis site centre center "
    "zentrum facility einrichtung trust lab laboratory labor school schule employer arbeitgeber company firma"
)
_PLACES = frozenset(_PLACE_WORDS.split())
_PAIRS = (
    ("0", "1"), ("1", "2"), ("f", "m"), ("female", "male"), ("m", "w"), ("no", "yes"), ("n", "y"), ("ja", "nein"),
    ("j", "n"), ("false", "true"), ("f", "t"), ("negative", "positive"), ("non", "oui"), ("no", "si"),
)  # fmt: skip
_QUANTILES = "quantiles of the data: fine for anonymizing, but each says where some share of the rows lies"
_CODE = re.compile(r"(^|_)(zip|plz|post|code|icd)")
_ICD = r"[A-TV-Z][0-9][0-9A-Z](\.[0-9A-Z]{1,4})?[*+!]?"
_UK = r"[A-Za-z]{1,2}[0-9][A-Za-z0-9]? ?[0-9][A-Za-z]{2}"
_SLASHED = r"([0-9]{1,2})[/.]([0-9]{1,2})[/.][0-9]{4}(?:[ ,T]+[0-9]{1,2}:[0-9]{2}.*)?"
_EIGHTHS = [part / 8 for part in range(9)]
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
    _: KW_ONLY
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


@dataclass(frozen=True, kw_only=True)
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
    icd: int
    uk: int
    slashed: int
    first: int
    second: int
    least: str
    most: str
    eighths: list[float] | None
    numbers: int
    folded: int | None

    def __repr__(self) -> str:
        return "_Look(private)"


_LOOKS = tuple(each.name for each in fields(_Look))


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
            f"count(*) FILTER (regexp_full_match(trim({text}), {literal(_ICD)}))",
            f"count(*) FILTER (regexp_full_match(trim({text}), {literal(_UK)}))",
            f"count(*) FILTER (regexp_full_match(trim({text}), {literal(_SLASHED)}))",
            f"coalesce(max(TRY_CAST(regexp_extract({text}, {literal(_SLASHED)}, 1) AS INTEGER)), 0)",
            f"coalesce(max(TRY_CAST(regexp_extract({text}, {literal(_SLASHED)}, 2) AS INTEGER)), 0)",
            f"coalesce(min(lower(trim({text}))), '')",
            f"coalesce(max(lower(trim({text}))), '')",
            f"quantile_disc({cell}, {_EIGHTHS})" if kind in ("whole", "number", "comma") else "NULL",
            f"count(TRY_CAST(replace(trim({text}), ',', '.') AS DOUBLE))" if not ordered else "0",
            "NULL" if ordered or rows > _MANY else f"count(DISTINCT lower(trim({text})))",
        ]
    with engine_errors(table.format):
        (found,) = table.relation.query("looked_at", f"SELECT {', '.join(parts)} FROM looked_at").fetchall()
    width = len(parts) // len(table.columns)
    return {
        name: _Look(**dict(zip(_LOOKS, found[i * width : (i + 1) * width], strict=True)))
        for i, name in enumerate(table.columns)
    }


def _words(name: str) -> str:
    return "_".join(words_of(name))


def _role_of_name(name: str) -> Role | None:
    if meaning_of(name) == "identifier" and _PLACES & set(words_of(name)) and not _is_of_person(name):
        return "quasi"  # the name of a clinic, not of somebody
    if meaning_of(name) not in (None, "birth"):  # a birth date can be made coarser: a quasi-identifier
        return "identifier"
    words = words_of(name)
    for role, known in _WORDS.items():
        for pattern in known.split():
            start = pattern.removesuffix("~")
            if any(word == start or (pattern.endswith("~") and word.startswith(start)) for word in words):
                return role
    return None


def _is_of_person(name: str) -> bool:
    """Whether a name with a place in it still is somebody's: the phone of a clinic, its doctor's name."""
    return not set(words_of(name)) <= _PLACES | {"name", "names", "code", "of", "the", "der", "des", "full", "short"}


def _guess(name: str, kind: Kind, look: _Look, rows: int) -> Guess:
    repeated = look.distinct < look.present
    role, why = _role(name, kind, look, rows)
    if role != "quasi":
        return Guess(name, role=role, why=why, repeated=repeated)
    hierarchy, hint = _hierarchy(name, kind, look)
    return Guess(name, role=role, why=why, hierarchy=hierarchy, hint=hint, repeated=repeated)


def _role(name: str, kind: Kind, look: _Look, rows: int) -> tuple[Role, str]:
    if not look.present:
        return "empty", "no row has a value"
    if look.mails and look.mails > look.present / 2:
        return "identifier", "looks like mail addresses"
    named = _role_of_name(name)
    if named == "identifier":
        return named, "the name says so"
    if kind == "text" and look.length > _FREE_TEXT:
        return "identifier", "free text, which may name people"
    if look.distinct == 1 and look.present == rows and rows > 1:
        return "keep", "every row has the same value"
    if named is not None:
        return named, "the name says so"
    if _mostly(look.icd, look) and look.distinct > 2:
        return "sensitive", "looks like ICD-10 codes"
    if _mostly(look.uk, look):
        return "quasi", "looks like UK postcodes"
    if _mostly(look.slashed, look):
        return "quasi", "looks like dates"
    if rows >= 20 and kind in ("text", "whole") and look.distinct > 0.95 * look.present:
        return "identifier", "nearly every row has another value"
    return "quasi", "nothing is known about it: counted as a quasi-identifier to be on the safe side"


def _mostly(count: int, look: _Look) -> bool:
    return look.present > 0 and count == look.present


def _hierarchy(name: str, kind: Kind, look: _Look) -> tuple[dict[str, Any], str]:
    from pydplib.anonymity.hierarchies.base import nested_widths

    if look.distinct <= 2 and (look.least, look.most) in _PAIRS:
        values: list[Any] = [look.least, look.most]
        if kind == "whole":
            return {"kind": "flat", "values": [int(value) for value in values]}, "one of two values, or '*'"
        return {"kind": "automatic"}, "one of two values, or '*'"
    if kind == "text" and _mostly(look.icd, look) and look.distinct > 2:
        return {"kind": "codes", "system": "icd-10"}, "code, category, block, chapter"
    if kind == "text" and _mostly(look.uk, look):
        return {"kind": "codes", "system": "uk-postcode"}, "postcode, sector, district, area"
    if kind == "text" and _mostly(look.slashed, look) and min(look.first, look.second) <= 12:
        return _slashed_dates(name, look)
    digits = look.present > 0 and look.digits == look.present and 3 <= look.shortest == look.longest <= 12
    if digits and (kind == "text" or _CODE.search(_words(name))):
        return {"kind": "masking", "length": look.longest}, "digits are masked from the right"
    if kind in ("whole", "number", "comma") and look.present:
        low, high = float(look.low), float(look.high)
        if _AGE.search(_words(name)) and low >= 0 and high <= 120:
            return {"kind": "intervals", "low": 0, "high": 120, "widths": [5, 10, 20, 40]}, ""
        whole = kind == "whole"
        edges = _long_tail(look, whole=whole)
        if edges is not None:
            return {"kind": "cuts", "edges": edges, "from_data": True}, _QUANTILES
        low, high = _round_bounds(low, high, whole=whole)
        widths = [width for width in nested_widths(low, high, whole=whole) if not whole or width > 1]
        show = int if whole else float
        spec: dict[str, Any] = {"kind": "intervals", "low": show(low), "high": show(high), "widths": widths}
        return {**spec, "from_data": True}, _BOUNDS.format(what="rounded")
    if kind in ("date", "german date", "time") and look.present:
        first, last = look.low.year, look.high.year
        if _is_birth(name):
            spec = _birth_dates(first, last)
            return spec, "" if not spec.get("from_data") else _BOUNDS.format(what="whole decades")
        units = ["month", "quarter", "year", *(["decade"] if last - first >= 15 else [])]
        spec = {"kind": "dates", "low": dt.date(first, 1, 1), "high": dt.date(last, 12, 31), "units": units}
        return {**spec, "from_data": True}, _BOUNDS.format(what="whole years")
    return {"kind": "automatic"}, _untidy(look) or "each value, or '*'; give groups or a file for steps between"


def _untidy(look: _Look) -> str:
    """Say what would better be cleaned before anonymizing; empty if nothing stands out."""
    if look.present > 2 * (look.present - look.numbers) > 0:
        return "CHECK: numbers but for a few words; put empty cells for those, run --init again, and it gets intervals"
    if look.folded is not None and look.folded < look.distinct:
        return "CHECK: some values differ only in capitals or spaces, and are kept apart; clean the column first"
    return ""


def _is_birth(name: str) -> bool:
    return meaning_of(name) == "birth" or any(word.startswith(("birth", "geburt")) for word in words_of(name))


def _birth_dates(first: int, last: int) -> dict[str, Any]:
    """Birth dates by month, year and decade, between bounds that hold for everybody alive."""
    this = dt.date.today().year
    low, high = (this // 10 - 12) * 10, this // 10 * 10 + 9
    spec: dict[str, Any] = {"kind": "dates", "low": dt.date(low, 1, 1), "high": dt.date(high, 12, 31)}
    if first < low or last > high:
        spec |= {"low": dt.date(first // 10 * 10, 1, 1), "high": dt.date(last // 10 * 10 + 9, 12, 31)}
        spec["from_data"] = True
    return {**spec, "units": ["month", "year", "decade"]}


def _slashed_dates(name: str, look: _Look) -> tuple[dict[str, Any], str]:
    """Dates with slashes: the month comes first in the US, the day elsewhere and before a dot; one is at most 12."""
    order = "dmy" if look.first > 12 or (look.second <= 12 and "." in look.least) else "mdy"
    units = ["month", "year", "decade"] if _is_birth(name) else ["month", "quarter", "year", "decade"]
    sure = max(look.first, look.second) > 12
    hint = f"{'month' if order == 'mdy' else 'day'} first" if sure else "CHECK: month first (mdy) or day first (dmy)?"
    return {"kind": "dates", "order": order, "units": units}, f"{hint}; give low and high, what is possible"


def _long_tail(look: _Look, *, whole: bool) -> list[list[float]] | None:
    """Return edges near the eighths of a column whose values crowd at one end; None where equal widths serve."""
    if not look.eighths or look.distinct < 9:
        return None
    parts = [float(part) for part in look.eighths]
    span = parts[8] - parts[0]
    if span <= 0 or (parts[7] - parts[1]) > 0.25 * span:
        return None
    low, high = _round_bounds(parts[0], parts[8], whole=whole)
    edges = [low, *(_two_digits(part, whole=whole) for part in parts[1:8]), high]
    levels: list[list[float]] = []
    for step in (1, 2, 4):
        level: list[float] = []
        for edge in [*edges[::step], high]:
            if not level or edge > level[-1]:
                level.append(edge)
        if (
            len(level) > 2
            and (not levels or len(level) < len(levels[-1]))
            and (not levels or set(level) <= set(levels[-1]))
        ):
            levels.append([int(edge) if whole else edge for edge in level])
    return levels or None


def _two_digits(value: float, *, whole: bool) -> float:
    """Round to two digits, so that an edge is not somebody's own value."""
    if value == 0:
        return 0.0
    places = 1 - math.floor(math.log10(abs(value)))
    out = round(value, places)
    return float(round(out)) if whole else out


def _round_bounds(low: float, high: float, *, whole: bool) -> tuple[float, float]:
    """Return bounds moved outwards to round numbers, so that they are not the extremes themselves."""
    span = (high - low) or abs(high) or 1.0
    unit = 10.0 ** math.floor(math.log10(span / 2))
    unit = max(unit, 1.0) if whole else unit
    down, up = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    places = max(0, -math.floor(math.log10(unit)))
    return round(down, places), round(max(up, down + unit), places)

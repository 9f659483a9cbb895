"""HIPAA Safe Harbor: which of the 18 kinds of identifiers a table still has, by content and by the names of columns.

The kinds are those of 45 CFR 164.514(b)(2)(i), letters A to R. Finding none is no proof: the rule also asks that nobody
involved knows how to identify somebody with what is left.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from pydplib._names import words_of
from pydplib.anonymity.tables.frames import ColumnCodes, Frame
from pydplib.anonymity.tables.values import show

Evidence: TypeAlias = Literal["content", "name"]

KINDS: dict[str, str] = {
    "A": "names",
    "B": "geographic subdivisions smaller than a state",
    "C": "dates related to a person, but for the year; ages over 89",
    "D": "telephone numbers",
    "E": "fax numbers",
    "F": "email addresses",
    "G": "social security numbers",
    "H": "medical record numbers",
    "I": "health plan beneficiary numbers",
    "J": "account numbers",
    "K": "certificate and license numbers",
    "L": "vehicle identifiers and license plates",
    "M": "device identifiers and serial numbers",
    "N": "web addresses (URLs)",
    "O": "IP addresses",
    "P": "biometric identifiers",
    "Q": "full-face photographs and comparable images",
    "R": "any other unique number, characteristic or code",
}
"""Letter of the rule -> the kind of identifier."""

# Three-digit ZIP codes with 20,000 people or fewer by the Census of 2000, 17 of them, as copies of the guidance of HHS
# list them. The guidance says not to rely on this list where newer data have been published.
_SMALL = "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893"
SMALL_ZIPS = frozenset(_SMALL.split())

# Words of column names; a + joins words that must stand together.
_NAMES: dict[str, str] = {
    "A": "name names surname forename firstname lastname vorname nachname initials initialen maiden",
    "B": "street strasse address adresse city town village county zip zipcode plz postcode postal precinct district "
    "ort wohnort latitude longitude lat lon geocode",
    "C": "birth born dob birthday birthdate geburtsdatum death deceased died admission admitted discharge discharged "
    "visit date datum",
    "D": "phone telephone telefon tel mobile handy cell",
    "E": "fax telefax",
    "F": "email mail emailaddress",
    "G": "ssn social+security sozialversicherungsnummer svnr",
    "H": "mrn medical+record patient+id patient+number patientid patientennummer record+number chart+number",
    "I": "insurance+number insurance+id policy+number beneficiary member+id subscriber medicare medicaid kvnr",
    "J": "account iban bank+account konto kontonummer billing",
    "K": "license licence certificate passport driver dea npi fuehrerschein ausweis",
    "L": "vin vehicle license+plate plate kennzeichen autokennzeichen",
    "M": "device serial implant udi seriennummer geraetenummer imei",
    "N": "url website homepage link",
    "O": "ip ipaddress",
    "P": "fingerprint retina iris voiceprint biometric gait dna genome",
    "Q": "photo photograph picture face portrait foto",
    "R": "id uuid guid identifier key token pseudonym hash barcode accession",
}
_MAIL = re.compile(r"[^@\s,;<>]+@[^@\s,;<>]+\.[A-Za-z]{2,}")
_URL = re.compile(r"(?:https?|ftp)://\S+|www\.\S+\.\S+", re.I)
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_IP = re.compile(rf"(?:{_BYTE}\.){{3}}{_BYTE}|(?:[0-9a-f]{{1,4}}:){{7}}[0-9a-f]{{1,4}}", re.I)
_SSN = re.compile(r"(?!000|666|9\d\d)\d{3}-(?!00)\d\d-(?!0000)\d{4}")
_PHONE = re.compile(r"\+\d[\d ()/.-]{7,16}\d|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?:\s*(?:x|ext\.?)\s*\d+)?")
_VIN = re.compile(r"(?=.*\d)(?=.*[A-Z])[A-HJ-NPR-Z0-9]{17}")
_DEVICE = re.compile(r"(?:[0-9A-F]{2}[:-]){5}[0-9A-F]{2}|\(01\)\d{14}.*", re.I)
_PICTURE = re.compile(r".*\.(?:jpe?g|png|tiff?|bmp|heic|dcm)", re.I)
_ZIP = re.compile(r"(\d{5})(?:-\d{4})?")
_DAY = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d{2})|"
    r"(?:\d{1,2}\.?[ -])?(?:jan|feb|m[aä]r|mrz|apr|ma[yi]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-z]*\.?(?: \d{1,2},?)?"
    r"(?: \d{4}|-(?:\d{4}|\d{2})))(?:[ ,T]+\d{1,2}[:.h].*)?|\d{4}-\d{2}|\d{4}-Q[1-4]", re.I
)  # fmt: skip
_RECORD = re.compile(
    r"(?:MRN|(?:medical )?record (?:no\.?|number)|patient (?:id|no\.?|number))\W{0,3}[A-Z]{0,3}\d{4,}", re.I
)
_UK = re.compile(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}")
_STATES = (
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR "
    "PA RI SC SD TN TX UT VT VA WA WV WI WY PR"
)
_STREET = re.compile(
    r"\b\d{1,5}[A-Za-z]?,? (?:[NSEW]\.? )?(?:[A-Z][A-Za-z'.-]+ ){1,3}"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Boulevard|Blvd|Court|Place|Square|Terrace|Parkway|Pkwy|Highway|Hwy|"
    r"Close|Crescent|Gardens|Mews|Grove|Way)\b|"
    r"\b(?!Atem|Harn|Gallen|Luft|Leitungs|Rettungs|Infektions)[A-ZÄÖÜ][a-zäöüß]+(?:stra(?:ß|ss)e|str\.?|weg|platz|allee|"
    r"gasse|chaussee) ?\d{1,4} ?[a-z]?\b|"
    r"\b[A-ZÄÖÜ][a-zäöüß]+(?:er|-) (?:Stra(?:ß|ss)e|Str\.|Weg|Platz|Allee|Gasse|Chaussee) \d{1,4}\b|"
    r"\bP\. ?O\. Box \d+|\bPO Box \d+|\bPostfach \d+|"
    rf", (?:{_STATES.replace(' ', '|')}) \d{{5}}(?:-\d{{4}})?\b"
)
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Herrn?|Frau)\.? (?:Dr\.? |Prof\.? )*[A-ZÄÖÜ][a-zäöüß'-]+")
_IBAN = re.compile(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?")


def _is_iban(text: str) -> bool:
    """Whether a text is the number of a bank account, by its check digits."""
    if not _IBAN.fullmatch(text):
        return False
    joined = text.replace(" ", "")
    return int("".join(str(int(letter, 36)) for letter in joined[4:] + joined[:4])) % 97 == 1


_CONTENT: dict[str, Callable[[str], Any]] = {
    "F": _MAIL.fullmatch, "N": _URL.fullmatch, "O": _IP.fullmatch, "G": _SSN.fullmatch, "D": _PHONE.fullmatch,
    "L": _VIN.fullmatch, "M": _DEVICE.fullmatch, "Q": _PICTURE.fullmatch, "C": _DAY.fullmatch, "H": _RECORD.fullmatch,
    "B": _UK.fullmatch, "J": _is_iban, "A": _TITLED.fullmatch,
}  # fmt: skip
_TOP = re.compile(r">=? ?90|> ?89|90 ?\+|90 (?:or|and) (?:more|over|older|above)|90-1[0-9][0-9]|\[90, 1[0-9][0-9]\]")
_SOME = 0.2  # share of a column's values that must look so
_INSIDE: dict[str, re.Pattern[str]] = {
    "F": _MAIL, "N": _URL, "G": _SSN, "A": _TITLED, "B": _STREET, "H": re.compile(rf"\b{_RECORD.pattern}", re.I),
    "C": re.compile(r"(?<![\d.])(?:\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{4}|\d{1,2}\.\d{1,2}\.\d{4})(?!\d)"),
    "D": re.compile(r"(?<!\d)\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?!\d)"),
    "M": re.compile(r"\b(?:[0-9A-F]{2}[:-]){5}[0-9A-F]{2}\b", re.I),
    "O": re.compile(rf"(?<![\d.])(?<!v)(?<!ersion )(?:{_BYTE}\.){{3}}{_BYTE}(?![\d.]*\d)", re.I),
}  # fmt: skip
"""What counts in a single row already, also where it stands inside a longer text."""


@dataclass(frozen=True, kw_only=True)
class SafeHarborFinding:
    """A column that has one of the 18 kinds. No value is in it.

    Attributes:
        letter: The letter of the rule, A to R.
        kind: What it is.
        column: Where it was found.
        evidence: ``"content"`` (values look so) or ``"name"`` (the column is called so).
        share: The share of rows whose value looks so; 0 where the name alone speaks.
        sentence: All of this in words.

    Examples:
        >>> import pandas as pd
        >>> found = safe_harbor(pd.DataFrame({"contact": ["a@x.org", "b@y.org"], "age": [64, 93]}))
        >>> [(one.letter, one.column, one.evidence) for one in found]
        [('C', 'age', 'content'), ('F', 'contact', 'content')]
    """

    letter: str
    kind: str
    column: str
    evidence: Evidence
    share: float
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""
        return dict(vars(self))


def safe_harbor(table: Any, *, ignore: Sequence[str] = ()) -> tuple[SafeHarborFinding, ...]:
    """Look for the 18 kinds of identifiers of HIPAA's Safe Harbor in a table, usually a release.

    Content counts more than names: a column "contact" with mail addresses is found, and a column "admission" that holds
    years only is not reported, since years may stay.

    Args:
        table: A data frame, DuckDB relation or path.
        ignore: Columns that somebody has looked at.
    """
    frame = Frame(table)
    out = []
    for name in frame.columns:
        if name not in ignore:
            out += _look(frame.coded(name), len(frame))
    return tuple(sorted(out, key=lambda found: (found.letter, found.column)))


def _look(column: ColumnCodes, rows: int) -> list[SafeHarborFinding]:
    counts = np.bincount(column.codes, minlength=len(column.values))
    present = [(value, int(count)) for value, count in zip(column.values, counts, strict=True) if value is not None]
    people = sum(count for _, count in present)
    if not people:
        return []
    texts = [(show(value).strip(), count) for value, count in present]
    out: dict[str, SafeHarborFinding] = {}

    def add(letter: str, evidence: Evidence, share: float, words: str) -> None:
        sentence = f"'{column.name}': {words} ({letter}, {KINDS[letter]})."
        out.setdefault(
            letter,
            SafeHarborFinding(
                letter=letter, kind=KINDS[letter], column=column.name, evidence=evidence, share=share, sentence=sentence
            ),
        )

    def share_of(fits: Callable[[str], Any]) -> float:
        return sum(count for text, count in texts if fits(text)) / people

    named = _kinds_of_name(column.name)
    for letter, fits in _CONTENT.items():
        # One mail address or day in a thousand notes is one too many; what is less clear needs a habit.
        inside = share_of(_INSIDE[letter].search) if letter in _INSIDE else 0.0
        share = max(inside, share_of(fits))
        if share >= _SOME or inside:
            add(letter, "content", share, f"{_percent(share)} of the values look like it")
    if "C" not in out and any(isinstance(value, dt.date) for value, _ in present):
        add("C", "content", 1.0, "holds days")
    old = _over_89(column.name, present, people)
    if old:
        add("C", "content", old, f"{_percent(old)} of the rows have an age over 89")
    _add_places(named, texts, people, add)
    for letter in named:
        if letter in out or letter == "B" or (letter == "C" and not _could_be_days(texts)):
            continue
        if letter == "R" and set(out) | (set(named) - {"R"}):
            continue  # it is already something more precise
        if letter == "A" and _names_a_place(column.name):
            continue
        add(letter, "name", 0.0, "the name of the column says so")
    alone = sum(count == 1 for _, count in present) / rows
    if not out and rows >= 20 and alone >= 0.9 and not _is_measure(present):
        add("R", "content", alone, f"{_percent(alone)} of the rows have a value of their own")
    return list(out.values())


def _add_places(
    named: Sequence[str],
    texts: Sequence[tuple[str, int]],
    people: int,
    add: Callable[[str, Evidence, float, str], None],
) -> None:
    """Add what is known of places: five digits of a ZIP code, or three of a small area."""
    if "B" not in named:
        return
    five = sum(count for text, count in texts if _ZIP.fullmatch(text)) / people
    three = [(text[:3], count) for text, count in texts if re.fullmatch(r"\d{3}(?:\*\*|XX|xx)?", text)]
    if five >= _SOME:
        add("B", "content", five, "more than the first three digits of ZIP codes")
    elif three:
        small = sum(count for text, count in three if text in SMALL_ZIPS) / people
        if small:
            add("B", "content", small, "three digits of ZIP codes of areas with 20,000 people or fewer: write 000")
    elif not all(re.fullmatch(r"\d{0,3}[*Xx]+|000", text) for text, _ in texts):
        add("B", "name", 0.0, "the name of the column says so")


def _kinds_of_name(name: str) -> list[str]:
    words = words_of(name)
    joined = " ".join(words)
    out = []
    for letter, known in _NAMES.items():
        for term in known.split():
            parts = term.split("+")
            if (len(parts) == 1 and term in words) or (len(parts) > 1 and " ".join(parts) in joined):
                out.append(letter)
                break
    return out


def _names_a_place(name: str) -> bool:
    return bool(set(words_of(name)) & {"clinic", "hospital", "klinik", "drug", "test", "file", "product", "study"})


def _over_89(name: str, present: Sequence[tuple[Any, int]], people: int) -> float:
    if not {"age", "alter"} & set(words_of(name)):
        return 0.0
    # One group "90 or older" may stay, however it is written; an interval that begins below 90 hides the age.
    return (
        sum(count for value, count in present if _lower_end(value) >= 90 and not _TOP.fullmatch(show(value))) / people
    )


def _lower_end(value: Any) -> float:
    found = re.match(r"\s*[\[(]?\s*(\d+(?:\.\d+)?)", show(value))
    return float(found.group(1)) if found else 0.0


def _could_be_days(texts: Sequence[tuple[str, int]]) -> bool:
    """Whether values could say more than a year: years, decades and '*' may stay."""
    year = re.compile(r"\*|(?:1[89]|20)\d\d(?:-(?:1[89]|20)\d\d)?|[\[(].*")
    return not all(year.fullmatch(text) or re.fullmatch(r"-?\d+(?:\.\d+)?", text) for text, _ in texts)


def _is_measure(present: Sequence[tuple[Any, int]]) -> bool:
    """Whether values are measured with decimals, if not every one of them: unique as a rule, and no code."""
    some = [value for value, _ in present[:50]]
    if not all(isinstance(value, float) for value in some):
        return False
    return sum(not value.is_integer() for value in some) > len(some) / 2


def _percent(share: float) -> str:
    return "less than 0.1 %" if 0 < share < 1e-3 else f"{100 * share:.3g} %"

"""Reading one answer: from a form, a file or FHIR to a plain value, or to a message that does not quote it."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from types import MappingProxyType

from pydplib.capture.model import Option, Question, Value

BIGGEST_INTEGER = 2**31 - 1
"""FHIR's integers have 32 bits."""

BIGGEST_DECIMAL = 1e15
"""Beyond this a double no longer holds one digit after the point."""

MOST_CHARACTERS = 20_000
"""The longest text, where the question sets no shorter limit."""

_MOST_LEVELS = 50  # no answer is nested deeper; a hostile one may be
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_WHOLE = re.compile(r"[+-]?\d{1,12}(\.0+)?")
_DECIMAL = re.compile(r"[+-]?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,3})?")
_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_WORDS = MappingProxyType(
    {"true": True, "yes": True, "y": True, "1": True, "on": True}
    | {"false": False, "no": False, "n": False, "0": False, "off": False}
)


class Unreadable(Exception):
    """An answer that does not fit its question; the text says the rule, never the answer."""


def is_empty(raw: object, level: int = 0) -> bool:
    """Whether nothing was answered: None, blank text, NaN, or a list or table of only such.

    Examples:
        >>> is_empty("  "), is_empty(float("nan")), is_empty([{}, {"size": ""}]), is_empty(0)
        (True, True, True, False)
    """
    if raw is None:
        return True
    if isinstance(raw, str):
        return not raw.strip()
    if isinstance(raw, bool | int):
        return False
    if isinstance(raw, Mapping | list | tuple):
        inside = raw.values() if isinstance(raw, Mapping) else raw
        return level < _MOST_LEVELS and all(is_empty(value, level + 1) for value in inside)
    try:
        return bool(raw != raw)  # NaN, and the missing values of data frames
    except Exception:
        return True  # pandas.NA refuses to be compared: missing as well


def read_value(question: Question, raw: object) -> Value | None:
    """Return the answer as a plain value, None if there is none, or raise ``Unreadable``.

    Examples:
        >>> size = Question(id="size", kind="integer", title="Size", unit="mm", low=1, high=150)
        >>> read_value(size, "12"), read_value(size, "")
        (12, None)
    """
    if is_empty(raw):
        return None
    if type(raw).__module__ == "numpy" and hasattr(raw, "item"):
        raw = raw.item()
    return _READERS[question.kind](question, raw)


def _read_integer(question: Question, raw: object) -> int:
    if isinstance(raw, str) and _WHOLE.fullmatch(raw.strip()):
        number = int(raw.strip().split(".")[0])
    elif isinstance(raw, float) and raw.is_integer():  # NaN and infinity are none
        number = int(raw)
    elif isinstance(raw, bool | float) or not isinstance(raw, Integral):
        raise Unreadable("must be a whole number")
    else:
        number = int(raw)
    if abs(number) > BIGGEST_INTEGER:
        raise Unreadable("is too large for a whole number")
    _check_bounds(question, number)
    return number


def _read_decimal(question: Question, raw: object) -> float:
    if isinstance(raw, str) and _DECIMAL.fullmatch(raw.strip()):
        number = float(raw.strip())
    elif isinstance(raw, bool) or not isinstance(raw, Real | Decimal):
        raise Unreadable("must be a number, with a point before the decimals")
    else:
        try:
            number = float(raw)
        except (OverflowError, ValueError):  # a whole number beyond all doubles, a signalling NaN
            number = math.inf
    if not math.isfinite(number) or abs(number) > BIGGEST_DECIMAL:
        raise Unreadable("must be a finite number")
    number += 0.0  # no negative zero
    if question.decimals is not None and round(number, question.decimals) != number:
        raise Unreadable(f"has at most {question.decimals} digits after the point")
    _check_bounds(question, number)
    return number


def _check_bounds(question: Question, value: float | str) -> None:
    low, high = question.low, question.high
    too_low = low is not None and value < low  # type: ignore[operator]
    too_high = high is not None and value > high  # type: ignore[operator]
    if too_low or too_high:
        raise Unreadable(bounds_in_words(question))


def bounds_in_words(question: Question) -> str:
    """Say the public bounds of a question.

    Examples:
        >>> bounds_in_words(Question(id="age", kind="integer", unit="years", low=18, high=100))
        'must lie between 18 and 100 years'
    """
    low, high = question.low, question.high
    unit = f" {question.unit}" if question.unit else ""
    if low is not None and high is not None:
        return f"must lie between {_show(low)} and {_show(high)}{unit}"
    return f"must be at least {_show(low)}{unit}" if low is not None else f"must be at most {_show(high)}{unit}"


def _show(bound: float | str | None) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)


def _read_boolean(question: Question, raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, int | float) and raw in (0, 1):
        return bool(raw)
    word = raw.strip().lower() if isinstance(raw, str) else ""
    if word not in _WORDS:
        raise Unreadable("must be yes or no")
    return _WORDS[word]


def _read_choice(question: Question, raw: object) -> str | int:
    found = find_option(question, raw)
    if found is None:
        words = [option_words(option) for option in question.options]
        shown = ", ".join(words[:8]) + (", …" if len(words) > 8 else "")
        raise Unreadable(f"must be one of the options: {shown}")
    return found.value


def option_words(option: Option) -> str:
    """Return an option as people read it, and its code where that is something else.

    Examples:
        >>> option_words(Option("chr", "chronic")), option_words(Option(2)), option_words(Option(3, "3 (equivocal)"))
        ('chronic (chr)', '2', '3')
    """
    text, code = str(option.text), str(option.value)
    if text == code or text.startswith(f"{code} "):
        return code
    return f"{text} ({code})"


def find_option(question: Question, raw: object) -> Option | None:
    """Return the option with this value; numbers and their texts are the same.

    Examples:
        >>> score = Question(id="pirads", kind="choice", options=(Option(1), Option(2)))
        >>> find_option(score, "2")
        Option(value=2, title='', help='', sentence='', system='', code='')
    """
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    if isinstance(raw, float):
        if not (math.isfinite(raw) and raw == int(raw)):
            return None
        raw = int(raw)
    if isinstance(raw, int) and abs(raw) > BIGGEST_INTEGER:
        return None
    return question.option_by_word.get(str(raw).strip())


def _read_date(question: Question, raw: object) -> str:
    if isinstance(raw, dt.datetime):
        raw = raw.date()
    if isinstance(raw, dt.date):
        raw = raw.isoformat()
    word = raw.strip() if isinstance(raw, str) else ""
    try:
        if not _DAY.fullmatch(word):
            raise ValueError
        dt.date.fromisoformat(word)
    except ValueError:
        raise Unreadable("must be a day such as 2018-03-31") from None
    _check_bounds(question, word)
    return word


def _read_text(question: Question, raw: object) -> str:
    if type(raw) is str:
        text = raw.strip()
        if text.isprintable() and len(text) <= (question.max_length or 0):  # most texts: one line, and short
            return text
    if isinstance(raw, float) and math.isfinite(raw) and raw == int(raw):
        raw = int(raw)  # data frames turn whole numbers with gaps into decimals
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise Unreadable("must be a text")
    if isinstance(raw, int) and abs(raw) > 10**18:
        raise Unreadable("is too long")
    text = str(raw).replace("\r\n", "\n").replace("\r", "\n").strip()
    if not is_clean_text(text):
        raise Unreadable("contains characters that are not text")
    if "\n" in text and not question.multiline:
        raise Unreadable("must be on one line")
    most = MOST_CHARACTERS if question.max_length is None else question.max_length
    if len(text) > most:
        raise Unreadable(f"has at most {most} characters")
    return text


def is_clean_text(text: str) -> bool:
    """Whether a text has no control characters (but tab and newline) and no broken Unicode."""
    return _UNCLEAN.search(text) is None


_READERS: Mapping[str, Callable[[Question, object], Value]] = MappingProxyType(
    {
        "integer": _read_integer,
        "decimal": _read_decimal,
        "boolean": _read_boolean,
        "choice": _read_choice,
        "date": _read_date,
        "text": _read_text,
    }
)


def show_value(question: Question, value: Value) -> str:
    """Return an answer as people read it: an option's title, yes or no, a number without needless digits.

    Examples:
        >>> show_value(Question(id="psa", kind="decimal"), 7.0), show_value(Question(id="bph", kind="boolean"), True)
        ('7', 'yes')
    """
    if question.kind == "choice":
        option = find_option(question, value)
        return option.text if option else str(value)
    if question.kind == "boolean":
        return "yes" if value else "no"
    if question.kind == "decimal" and isinstance(value, int | float):
        return str(int(value)) if value == int(value) else repr(float(value))
    return str(value)

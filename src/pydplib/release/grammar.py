"""The small, closed language of questions: STATISTIC [COLUMN] [by COLUMN[, COLUMN]] [where COLUMN OP VALUE [and ...]].

Behind it may stand which row of each person counts, and conditions on that row: ``per person first by COLUMN``, ``per
person last by COLUMN`` or ``per person highest COLUMN``, then ``after COLUMN OP VALUE [and ...]``. Conditions may be
joined by ``or``, in brackets where ``and`` stands next to them.

Examples of questions: ``count persons by pirads``, ``mean age by pirads where age between 60 and 70``,
``crosstab age, pirads``, ``median age where bph = yes and pirads in 4, 5``, ``count by pirads per person highest
pirads``, ``mean age where bph = yes per person first by last_modified after pirads >= 4``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, cast, get_args

from pydplib.engine import OneRow, RowCondition, Where
from pydplib.engine.conditions import AnyOf
from pydplib.engine.persons import Rule
from pydplib.errors import QuestionError, did_you_mean
from pydplib.release.statistics.question import Question, statistic_words
from pydplib.schema import Schema

_TOKEN = re.compile(r"\s*(?:(\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*')|(<=|>=|!=|<|>|=|,|\(|\))|([^\s,()<>=!\"']+))")
_SIGNS = {"<": "less_than", "<=": "at_most", ">": "more_than", ">=": "at_least", "=": "eq", "!=": "ne"}


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int
    quoted: bool = False

    @property
    def word(self) -> str:
        return "" if self.quoted else self.text.lower()


def parse_question(text: str, schema: Schema, *, unknown_keys: bool = False) -> Question:
    """Read a question in words. An error points at the word that is wrong.

    Names and values of several words may stand in quotes; a quote within is doubled.

    Args:
        text: The question.
        schema: The table's public facts: column names and values are checked against it.
        unknown_keys: Whether free text after ``by`` asks for keys that nobody declared (needs a delta).

    Examples:
        >>> from pydplib.schema import Flag, Number
        >>> schema = Schema({"age": Number(18, 100), "bph": Flag()})
        >>> parse_question("mean age by bph where age between 60 and 70", schema)
        Mean('age', by=['bph'], where=[Where('age').between(60, 70)])
        >>> parse_question("maen age", schema)
        Traceback (most recent call last):
        ...
        pydplib.errors.QuestionError: 'maen' is no statistic. Did you mean 'mean'?
          maen age
          ^^^^
    """
    return _QuestionParser(text, schema, unknown_keys).question()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9.]+", text) is not None


class _QuestionParser:
    def __init__(self, text: str, schema: Schema, unknown_keys: bool) -> None:
        # What is echoed in an error must not move a terminal's cursor or hide words.
        self.text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))
        self.schema = schema
        self.unknown_keys = unknown_keys
        self.tokens = self._tokens()
        self.place = 0
        self.first = ""

    def _tokens(self) -> list[_Token]:
        found, position = [], 0
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                at = position + len(self.text[position:]) - len(self.text[position:].lstrip())
                self._fail_at(at, at + 1, "This sign has no meaning in a question.")
            quoted = match.group(1)
            start = match.start(match.lastindex or 0)
            plain = quoted[1:-1].replace(quoted[0] * 2, quoted[0]) if quoted else match.group().strip()
            found.append(_Token(plain, start, match.end(), bool(quoted)))
            position = match.end()
            if not self.text[position:].strip():
                break
        return found

    # -- errors that point -----------------------------------------------------------------------

    def _fail_at(self, start: int, end: int, message: str) -> NoReturn:
        raise QuestionError(f"{message}\n  {self.text}\n  {' ' * start}{'^' * max(1, end - start)}")

    def _fail(self, token: _Token | None, message: str) -> NoReturn:
        if token is None:
            self._fail_at(len(self.text), len(self.text) + 1, message)
        self._fail_at(token.start, token.end, message)

    def _peek(self) -> _Token | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def _next(self, wanted: str) -> _Token:
        token = self._peek()
        if token is None:
            self._fail(None, f"The question ends where {wanted} is needed.")
        self.place += 1
        return token

    def take(self, *words: str) -> bool:
        token = self._peek()
        if token is not None and token.word in words:
            self.place += 1
            return True
        return False

    # -- the grammar -----------------------------------------------------------------------------

    def question(self) -> Question:
        kind = self._statistic()
        self.take("of")
        question = kind.read(self)
        rule = self._rule()
        after = self._conditions("after") if rule is not None else []
        self._end(kind)
        return question if rule is None else question.of_persons(rule, after)

    def _rule(self) -> OneRow | None:
        """Take which row of each person counts, if it is said."""
        if not self.take("per"):
            return None
        if not self.take("person", "patient"):
            self._fail(self._peek(), "'per' reads: per person first by COLUMN.")
        token = self._next("first, last or highest")
        if token.word not in get_args(Rule):
            self._fail(
                token, f"'{token.text}' is no rule for a person's row.{did_you_mean(token.word, get_args(Rule))}"
            )
        by = self.take("by")
        if not by and token.word != "highest":
            self._fail(
                self._peek(), f"'{token.word}' needs the order of a person's rows: per person {token.word} by COLUMN."
            )
        return OneRow(cast(Rule, token.word), tuple(self.columns("per person")))

    def _statistic(self) -> type[Question]:
        """Take the statistic: the longest of its words that the question begins with."""
        token = self._next("a statistic")
        known = statistic_words()
        for word in sorted(known, key=lambda word: -len(word.split())):
            parts = word.split()
            if [each.word for each in self.tokens[: len(parts)]] == parts:
                self.place, self.first = len(parts), word
                return known[word]
        self._fail(token, f"'{token.text}' is no statistic.{did_you_mean(token.word, known)}")

    def _end(self, kind: type[Question]) -> None:
        token = self._peek()
        if token is not None and _is_number(token.text) and kind.number_hint:
            self._fail(token, kind.number_hint)
        if token is not None and token.word == "after":
            self._fail(token, "'after' follows which row of each person counts: per person first by COLUMN after ...")
        if token is not None:
            self._fail(
                token,
                f"'{token.text}' is not expected here. A question reads: statistic column by ... where ... per "
                "person ... after ...",
            )

    def number(self, wanted: str) -> float:
        token = self._next(wanted)
        try:
            found = float(token.text)
        except ValueError:
            found = math.nan
        if not math.isfinite(found):
            self._fail(token, f"'{token.text}' is no number.")
        return int(found) if found.is_integer() else found

    def fail(self, message: str) -> NoReturn:
        self._fail(self._peek(), message)

    def by(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if not self.take("by"):
            return found
        for name in self.columns("by"):
            if name in found:
                self._fail(self.tokens[self.place - 1], f"'{name}' stands twice after 'by'.")
            found[name] = ...
            if not self.schema.column(name).can_be_asked:
                if not self.unknown_keys:
                    self._fail(
                        self.tokens[self.place - 1],
                        f"Column '{name}' is free text: its values are not public. Declare it as a category, or give a "
                        "delta (--delta 1e-7): then values that many people have are shown.",
                    )
                found[name] = None
        return found

    def columns(self, after: str) -> list[str]:
        found = [self.column(f"a column after '{after}'")]
        while self.take(","):
            found.append(self.column("a column after the comma"))
        return found

    def pair(self, first: str) -> str:
        """Return how this column and another one of the table are written, with a comma."""
        following = self._peek()
        others = [name for name in self.schema.columns if name != first]
        second = following.text if following is not None and following.text in others else (*others, "pirads")[0]
        return f"{first}, {second}"

    def column(self, wanted: str, *, hint: str = "") -> str:
        token = self._next(wanted)
        if hint and _is_number(token.text) and token.text not in self.schema.columns:
            self._fail(token, hint)
        if token.text in self.schema.columns:
            return token.text
        alike = [name for name in self.schema.columns if name.casefold() == token.text.casefold()]
        if len(alike) > 1:
            self._fail(token, f"'{token.text}' could be column {' or '.join(alike)}: write it to the letter.")
        if alike:
            return alike[0]
        rest = self.text[token.start :].casefold()
        begun = [
            name for name in self.schema.columns if len(name) > len(token.text) and rest.startswith(name.casefold())
        ]
        if begun and not token.quoted:
            quoted = max(begun, key=len).replace('"', '""')
            self._fail(token, f'The name of this column needs quotes: "{quoted}".')
        self._fail(token, f"The table has no column '{token.text}'.{did_you_mean(token.text, self.schema.columns)}")

    def where(self) -> list[RowCondition]:
        return self._conditions("where")

    def _conditions(self, word: str) -> list[RowCondition]:
        if not self.take(word):
            return []
        found = [self._either()]
        if isinstance(found[0], AnyOf) and not self._closed and self.take("and"):
            self._mixed()
        while self.take("and"):
            found.append(self._either())
            if isinstance(found[-1], AnyOf) and not self._closed:
                self._mixed()
        return found

    _closed = False  # whether the last "or" stood in brackets

    def _mixed(self) -> NoReturn:
        self.place -= 1
        self._fail(self._peek(), "'and' with 'or' needs brackets: where (a = 1 or b = 2) and c = 3.")

    def _either(self) -> RowCondition:
        """Take one condition, or several with "or" between; in brackets where "and" follows."""
        self._closed = self.take("(")
        found = [self._condition()]
        while self.take("or"):
            found.append(self._condition())
        if self._closed and not self.take(")"):
            self._fail(self._peek(), "A bracket is not closed.")
        return found[0] if len(found) == 1 else AnyOf(*found)

    def _condition(self) -> RowCondition:
        name = self.column(f"a column after '{self.tokens[self.place - 1].text}'")
        where = Where(name)
        sign = self._next("a comparison (=, <, between, in, is)")
        if sign.word == "between":
            low = self.value(name)
            if not self.take("and"):
                self._fail(self._peek(), "'between' reads: between LOW and HIGH.")
            return where.between(low, self.value(name))
        if sign.word in ("in", "not"):
            if sign.word == "not" and not self.take("in"):
                self._fail(self._peek(), "'not' reads: not in VALUE, VALUE.")
            values = self._values(name)
            return where.is_in(values) if sign.word == "in" else where.not_in(values)
        if sign.word == "is":
            if self.take("missing"):
                return where.is_missing()
            if self.take("present"):
                return where.is_present()
            return where.eq(self.value(name))
        if sign.word in _SIGNS:
            value = self.value(name)
            compared: RowCondition = getattr(where, _SIGNS[sign.word])(value)
            return compared
        known = [*_SIGNS, "between", "in", "not in", "is missing", "is present"]
        self._fail(sign, f"'{sign.text}' is no comparison.{did_you_mean(sign.word, known)}")

    def _values(self, column: str) -> list[Any]:
        bracket = self.take("(")
        found = [self.value(column)]
        while self.take(","):
            found.append(self.value(column))
        if bracket and not self.take(")"):
            self._fail(self._peek(), "A bracket is not closed.")
        return found

    def value(self, column: str) -> Any:
        token = self._next(f"a value of '{column}'")
        kind = self.schema.column(column)
        if kind.spelled_values:
            return self._known(token, column, kind.spelled_values)
        try:
            return kind.read(token.text)
        except ValueError:
            self._fail(token, f"Column '{column}' {kind.unreadable(token.text)}")

    def _known(self, token: _Token, column: str, values: Iterable[Any]) -> Any:
        listed = [(str(value), value) for value in values]
        # Values of several words need no quotes; the longest one that is declared counts.
        words, place, found = token.text, self.place, None
        if self._matches(words, listed):
            found = (words, place)
        while (
            not token.quoted and place < len(self.tokens) and self.tokens[place].word not in ("", "and", "or", ",", ")")
        ):
            words = f"{words} {self.tokens[place].text}"
            place += 1
            if self._matches(words, listed):
                found = (words, place)
        if found is None:
            names = [name for name, _ in listed]
            self._fail(token, f"'{token.text}' is no declared value of '{column}'.{did_you_mean(token.text, names)}")
        self.place = found[1]
        matches = self._matches(found[0], listed)
        if len(matches) > 1:
            names = [str(value) for value in matches]
            self._fail(token, f"'{found[0]}' could be any of {', '.join(names)}: write one to the letter.")
        return matches[0]

    @staticmethod
    def _matches(words: str, listed: list[tuple[str, Any]]) -> list[Any]:
        """Return the values that are spelled so to the letter; if there are none, whatever the case."""
        exact = [value for name, value in listed if name == words]
        return exact[:1] or list({name: value for name, value in listed if name.lower() == words.lower()}.values())

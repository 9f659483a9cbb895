"""Columns of a release that nobody gave a role: names, hashed ids, row numbers and copies that were left in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from pydplib.anonymity.tables.columns import Bools, Ints
from pydplib.anonymity.tables.frames import ColumnCodes, Frame
from pydplib.anonymity.tables.values import show
from pydplib.anonymity.tables.view import number_rows
from pydplib.errors import ParameterError, column_hint

NEARLY = 0.9
"""Share of rows with a value of their own from which a column counts as (nearly) unique."""
HALF = 0.5
"""Share of rows that a copied column must single out to count as a name."""
SOME = 0.05
"""Share of rows that a column may single out before ``verify`` refuses: what collaborators are trusted with."""
_FEW = 5  # fewer rows than this with one value: a person with some visits, not a group
_MANY = 20  # values that two columns of different names share by accident are fewer
_NAMES = 3  # texts of a column that names people which others share by accident are fewer
_WORDS = 5  # names of more words are not looked for inside a text
_LETTERS = 4  # a text of fewer signs may well be somebody's name by accident
_ALIKE = 0.25  # how far the distributions of two columns may lie apart to be a copy with some rows left out
_PROFILE = 0.02  # how far the frequencies of two columns may lie apart to be one column in two spellings

Kind: TypeAlias = Literal[
    "identifier", "copied", "row numbers", "unique", "one-to-one", "quasi-identifier", "singles out", "no role"
]
_OPEN = ("unique", "one-to-one", "quasi-identifier")  # kinds that leave every verdict open


@dataclass(frozen=True)
class ColumnFinding:
    """What a released column without a role gives away. It names columns and shares, never a value.

    Attributes:
        column: The released column; several, joined by commas, where only all of them together single people out.
        kind: ``"identifier"`` (it was named as one), ``"copied"`` (values of the original), ``"row numbers"`` (places
            in the original), ``"unique"``, ``"one-to-one"`` (another column in other words), ``"quasi-identifier"``
            (the original values of one, under another name), ``"singles out"`` (together with the quasi-identifiers)
            or ``"no role"`` (nothing of this).
        share: The share of released rows that it singles out, beyond what the quasi-identifiers do without it.
        source: The column of the original that it comes from, if one was found.
        sentence: All of this in words.
        many: Whether it has many values; what few values single out, the other columns do.
        naming: Whether its source tells nearly everybody apart, so that each value names somebody.

    Examples:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"name": list("abcdefghij"), "age": [30] * 10})
        >>> [found.kind for found in find_unnamed(Frame(table), quasi=["age"], original=Frame(table))]
        ['copied']
    """

    column: str
    kind: Kind
    _: KW_ONLY
    share: float
    sentence: str
    source: str | None = None
    many: bool = True
    naming: bool = False

    @property
    def names_people(self) -> bool:
        """Whether it links rows to people by itself, so that nobody else may get the release."""
        return self.kind in ("identifier", "row numbers") or (
            self.kind == "copied" and (self.naming or self.share >= HALF)
        )

    @property
    def blocks(self) -> bool:
        """Whether the table counts as unchecked until the column has a role."""
        return self.kind in _OPEN or (self.kind in ("copied", "singles out") and self.many and self.share > SOME)

    def blocks_at(self, exposed: float) -> bool:
        """Return whether it blocks the way to people to whom ``exposed`` of the rows may be known."""
        return self.kind in _OPEN or (self.kind != "no role" and self.share > exposed + 1e-12)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""
        return {
            "column": self.column, "kind": self.kind, "share": self.share, "source": self.source,
            "sentence": self.sentence,
        }  # fmt: skip


def find_unnamed(
    released: Frame,
    *,
    quasi: Sequence[str],
    named: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    identifiers: Sequence[str] = (),
    original: Frame | None = None,
    person: str | None = None,
) -> tuple[ColumnFinding, ...]:
    """Look at every released column that has no role, and join it with the original if there is one.

    Columns with a role are looked at too, for values that are not theirs: those of an identifier, and in sensitive
    columns those of any other column that names people.

    Args:
        released: The table as it leaves.
        quasi: The columns that outsiders know.
        named: Further columns that have a role, as those that somebody vouched for.
        sensitive: The columns that nobody may learn.
        identifiers: Columns that name people: none of them may be in the release, under any name.
        original: The table that it was made from.
        person: The column that says whose row it is; in the release it may be a pseudonym, not the original's values.
    """
    known = [name for name in quasi if name in released.columns]
    open_ = [name for name in released.columns if name not in {*known, *named, *sensitive, *identifiers, person}]
    kept = [name for name in identifiers if name in released.columns]
    findings = [ColumnFinding(name, "identifier", share=1.0,
    sentence=f"'{name}' was named as an identifier and is in the release.")
                for name in kept]  # fmt: skip
    rows = len(released)
    if not rows:
        return tuple(findings)
    classes = [released.coded(name) for name in known]
    sources = {} if original is None else _Sources(original, person)
    if person is not None and person in released.columns and person in sources and person not in identifiers:
        whose = released.coded(person)
        counts = np.bincount(whose.codes, minlength=len(whose.values))
        if _copied_from(whose, counts, {person: sources[person]}, ()).column is not None:
            words = f"'{person}' names people as the original does. Drop it, or replace it by a pseudonym."
            findings.append(ColumnFinding(person, "identifier", share=1.0, sentence=words, source=person))
    for name in dict.fromkeys([*sensitive, *named]):
        if sources and name in released.columns and name not in identifiers:
            findings += _values_of_others(released.coded(name), sources, identifiers, sensitive=name in sensitive)
    columns = {name: released.coded(name) for name in open_}
    quiet: list[str] = []
    before = _unique_share(classes, rows)
    for name, column in columns.items():
        if _is_counter(column):
            continue  # the place in the release itself: it says nothing that the order does not say
        found = _look(column, rows, classes, before, sources, identifiers, quasi)
        if found.kind == "no role":
            quiet.append(name)
        findings.append(found)
    if len(quiet) > 1:
        together = _unique_share([*classes, *(columns[name] for name in quiet)], rows)
        if together > before + SOME:
            words = (
                f"Together with the quasi-identifiers, {_listed(quiet)} single out {_percent(together)} of the rows; "
                f"without them {_percent(before)}."
            )
            findings.append(
                ColumnFinding(", ".join(quiet), "singles out", share=together - before, sentence=words, many=False)
            )
    return tuple(findings)


def check_roles(columns: Sequence[str], roles: Mapping[str, Sequence[str]]) -> None:
    """Raise if a column has two roles, or is in none of the tables."""
    taken: dict[str, str] = {}
    for role, names in roles.items():
        for name in names:
            if name in taken:
                raise ParameterError(f"'{name}' has two roles: {taken[name]} and {role}. Name one.")
            taken[name] = role
            if name not in columns:
                raise ParameterError(f"The table has no column '{name}' ({role}).{column_hint(name, columns)}")


class _People(dict[str, int]):
    """Value of a column -> number of people who have it."""

    @cached_property
    def everybody(self) -> int:
        """How many people have a value; at least one, to divide by."""
        return max(sum(self.values()), 1)

    @cached_property
    def are_told_apart(self) -> bool:
        """Whether nearly everybody has a value of their own."""
        return sum(count == 1 for count in self.values()) >= NEARLY * self.everybody

    @cached_property
    def names(self) -> frozenset[str]:
        """The texts that one person has alone, and that are no name by accident."""
        return frozenset(
            text for text, count in self.items()
            if count == 1 and len(text) >= _LETTERS and any(map(str.isalpha, text))
        )  # fmt: skip

    @cached_property
    def words(self) -> tuple[int, ...]:
        """How many words the names have that are looked for inside a text; a single one has a digit in it."""
        found = {text.count(" ") + 1 for text in self.names if " " in text or not text.isalpha()}
        return tuple(sorted(count for count in found if count <= _WORDS))


class _Sources(Mapping[str, _People]):
    """The original's columns as value -> number of people who have it; each is worked out once."""

    def __init__(self, original: Frame, person: str | None) -> None:
        self._frame = original
        self._made: dict[str, _People] = {}
        self._person = None
        if person is not None and person in original.columns:
            self._person = original.coded(person).codes
        self.people = len(original) if self._person is None else int(self._person.max(initial=-1)) + 1

    def __getitem__(self, name: str) -> _People:
        if name not in self._made:
            column = self._frame.coded(name)
            codes = column.codes
            if self._person is not None:
                width = max(len(column.values), 1)
                codes = np.unique(self._person * width + codes) % width
            counts = np.bincount(codes, minlength=len(column.values)).tolist()
            people = _People()
            for value, count in zip(column.values, counts, strict=True):
                if value is not None:
                    text = _spelled(value)
                    people[text] = people.get(text, 0) + count
            self._made[name] = people
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frame.columns)

    def __len__(self) -> int:
        return len(self._frame.columns)


def _look(
    column: ColumnCodes, rows: int, classes: Sequence[ColumnCodes], before: float, sources: Mapping[str, _People],
    identifiers: Sequence[str], quasi: Sequence[str],
) -> ColumnFinding:  # fmt: skip
    """Return what one column gives away, the worst of it."""
    name = column.name
    counts = np.bincount(column.codes, minlength=len(column.values))
    real = _present(column)
    alone = float((counts[real] == 1).sum() / rows)
    few = float(counts[real & (counts < _FEW)].sum() / rows)
    copy = _copied_from(column, counts, sources, identifiers)
    source, picks = copy.column, copy.picks
    joint = _unique_share([*classes, column], rows)
    share = max(joint - before, picks)
    many = int(real.sum()) >= _MANY
    if source is not None and source in identifiers:
        words = f"'{name}' has the values of '{source}', which was named as an identifier."
        return ColumnFinding(name, "identifier", share=share, sentence=words, source=source)
    role = "Drop it, or say what it is."
    if source is not None and (picks >= HALF or copy.naming):
        words = f"'{name}' has the values of {_of(name, source)}: {_percent(picks)} of the rows name one person. {role}"
        return ColumnFinding(name, "copied", share=picks, sentence=words, source=source, naming=copy.naming)
    if alone >= NEARLY or (few >= NEARLY and many):
        what = (
            f"has a value of its own in {_percent(alone)} of the rows"
            if alone >= NEARLY
            else f"has values that fewer than {_FEW} rows share, in {_percent(few)} of the rows"
        )
        words = f"'{name}' {what}: a name, a number or a hash of one may link it to people. {role}"
        return ColumnFinding(name, "unique", share=max(alone, few), sentence=words, source=source)
    if source is None and many:
        twin = _same_profile(counts[real], rows, sources)
        if twin is not None:
            words = (
                f"The values of '{name}' are as frequent, one by one, as those of '{twin}' in the original: whoever "
                f"knows one knows the other. {role}"
            )
            return ColumnFinding(name, "one-to-one", share=share, sentence=words, source=twin)
    if source in quasi and copy.alike and _classes([*classes, column], rows) > _classes(classes, rows):
        words = (
            f"'{name}' has the values of '{source}' in the original, which outsiders know: they tell more than the "
            "released ones. Drop it, or name it as a quasi-identifier."
        )
        return ColumnFinding(name, "quasi-identifier", share=share, sentence=words, source=source)
    if share > 0:
        start = f"'{name}' has the values of {_of(name, source)}; with" if source is not None else "With"
        what = f"'{name}'" if source is None else "it"
        words = (
            f"{start} the quasi-identifiers {what} singles out {_percent(joint)} of the rows (without it "
            f"{_percent(before)}). {role}"
        )
        return ColumnFinding(
            name, "singles out" if source is None else "copied", share=share, sentence=words, source=source, many=many
        )
    return ColumnFinding(
        name, "no role", share=0.0, sentence=f"'{name}' has no role, so it was not attacked.", source=source
    )


@dataclass(frozen=True, kw_only=True)
class _Copy:
    """The column of the original that another one has its values from, if any."""

    column: str | None = None
    picks: float = 0.0  # the share of rows that it links to one person
    matched: float = 0.0  # the share of rows whose value it has
    naming: bool = False  # whether it tells nearly everybody apart
    alike: bool = False  # whether its values are about as frequent there as here


def _copied_from(
    column: ColumnCodes, counts: Ints, sources: Mapping[str, _People], identifiers: Sequence[str]
) -> _Copy:
    """Return the column of the original that has the same values."""
    texts = [None if value is None else _spelled(value) for value in column.values]
    rows, real = max(int(counts.sum()), 1), sum(text is not None for text in texts)
    best, none = _Copy(), np.zeros(len(texts), dtype=bool)
    for name in sorted(sources, key=lambda one: (one != column.name, one not in identifiers)):
        people = sources[name]
        there = np.array([0 if text is None else people.get(text, 0) for text in texts], dtype=np.int64)
        naming = people.are_told_apart
        told = _mentions(texts, counts, people) if naming else none
        there = np.where(told, 1, there)
        matched, met = float(counts[there > 0].sum() / rows), int((there > 0).sum())
        # Names of a few people among cells that say nothing are names all the same.
        listed = naming and met >= max(_NAMES, HALF * real) and not all(map(_is_number, filter(None, texts)))
        listed = listed or bool(told.any())
        if name != column.name and not (real >= _MANY or name in identifiers or listed):
            continue
        if matched < (HALF if name == column.name else NEARLY) and not listed:
            continue
        picks = float(counts[there == 1].sum() / rows)
        better = best.column != column.name and (picks, matched) > (best.picks, best.matched)
        if best.column is None or better or (told.any() and not best.naming):
            gap = float(np.abs(counts / rows - there / people.everybody).sum() / 2)
            best = _Copy(column=name, picks=picks, matched=matched, naming=listed and picks > 0, alike=gap <= _ALIKE)
    return best


def _mentions(texts: Sequence[str | None], counts: Ints, people: _People) -> Bools:
    """Return which texts are somebody's name, or mention it; not those of many rows, which are common words."""
    found = np.zeros(len(texts), dtype=bool)
    for place in np.flatnonzero(counts < _FEW).tolist():
        text = texts[place]
        if text is not None:
            found[place] = text in people.names or (
                " " in text and any(part in people.names for part in _parts(text, people.words))
            )
    return found


def _parts(text: str, lengths: Sequence[int]) -> Iterator[str]:
    """Yield the runs of words of a text, without the signs around them; of single words those with a digit."""
    words = re.findall(r"\w[\w.'@+-]*\w|\w", text)
    for length in lengths:
        for start in range(len(words) - length + 1):
            part = " ".join(words[start : start + length])
            if length > 1 or not part.isalpha():
                yield part


def _values_of_others(
    column: ColumnCodes, sources: Mapping[str, _People], identifiers: Sequence[str], *, sensitive: bool
) -> list[ColumnFinding]:
    """Return whether a column that has a role holds the values of one that names people."""
    others = {name: sources[name] for name in (sources if sensitive else identifiers) if name in sources}
    copy = _copied_from(column, np.bincount(column.codes, minlength=len(column.values)), others, identifiers)
    name, source = column.name, copy.column
    if source in (None, name):
        return []
    if source in identifiers:
        words = f"'{name}' has the values of '{source}', which was named as an identifier."
        return [ColumnFinding(name, "identifier", share=copy.picks, sentence=words, source=source)]
    if not copy.naming:
        return []
    words = (
        f"'{name}' has the values of '{source}' in the original: {_percent(copy.picks)} of the rows name one person."
    )
    return [ColumnFinding(name, "copied", share=copy.picks, sentence=f"{words} Drop it.", source=source, naming=True)]


def _same_profile(counts: Ints, rows: int, sources: Mapping[str, _People]) -> str | None:
    """Return the column of the original whose values are as frequent, from the most common to the rarest."""
    mine = np.sort(counts)[::-1] / rows
    for name in sources:
        theirs = np.sort(np.fromiter(sources[name].values(), dtype=np.int64))[::-1]
        # Even frequencies are alike in any two columns: only uneven ones tell.
        if len(theirs) < _MANY or len(theirs) > 2 * len(mine) or theirs[0] < 2 * max(int(np.median(theirs)), 1):
            continue
        shares = theirs / max(int(theirs.sum()), 1)
        width = max(len(mine), len(shares))
        gap = np.abs(np.pad(mine, (0, width - len(mine))) - np.pad(shares, (0, width - len(shares)))).sum() / 2
        if gap <= _PROFILE:
            return name
    return None


def _unique_share(columns: Sequence[ColumnCodes], rows: int) -> float:
    """Return the share of rows that no other row equals in these columns."""
    if not columns:
        return 1.0 if rows == 1 else 0.0
    return float((np.bincount(number_rows(columns, rows)) == 1).sum() / rows)


def _classes(columns: Sequence[ColumnCodes], rows: int) -> int:
    return len(np.unique(number_rows(columns, rows))) if columns else 1


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _present(column: ColumnCodes) -> Bools:
    return np.array([value is not None for value in column.values], dtype=bool)


def row_numbers(column: ColumnCodes) -> Ints | None:
    """Return a column as whole numbers, one per row and each once; None if it is no such column.

    Examples:
        >>> row_numbers(ColumnCodes("i", np.array([1, 0]), (0, 5))).tolist()
        [5, 0]
    """
    if len(column.values) != len(column.codes) or None in column.values:
        return None
    try:
        numbers = np.array([float(value) for value in column.values])
    except (TypeError, ValueError):
        return None
    if not len(numbers) or not (np.isfinite(numbers) & (numbers == np.floor(numbers)) & (numbers >= 0)).all():
        return None
    return numbers.astype(np.int64)[column.codes] if numbers.max() < 1 << 53 else None


def _is_counter(column: ColumnCodes) -> bool:
    """Whether a column only counts the released rows from the first to the last."""
    numbers = row_numbers(column)
    if numbers is None:
        return False
    return bool((np.diff(numbers) == 1).all()) and int(numbers[0]) in (0, 1)


def _spelled(value: Any) -> str:
    """Return a value as it is compared: without the case of its letters and extra blanks."""
    return " ".join(show(value).casefold().split())


def _of(name: str, source: str) -> str:
    return "the original" if name == source else f"'{source}' in the original"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _percent(share: float) -> str:
    return "less than 0.1 %" if 0 < share < 1e-3 else f"{100 * share:.3g} %"

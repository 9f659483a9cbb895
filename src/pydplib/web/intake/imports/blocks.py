"""Rows of a file, some thousands at a time and by column: what recurs is read, checked and written once.

A template is made of parts whose outcome depends on their own answers alone. The texts of a part in one row are a key:
what they read as, their JSON and their sentences are worked out for the first row that has them. A row with anything
to remark on is read by itself, as ``Reader.evaluated`` reads it; so are all rows of a template without such parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydplib.capture import Question
from pydplib.capture.evaluation import TemplatePart
from pydplib.capture.plan import MOST_COMBINATIONS
from pydplib.capture.values import Unreadable, read_value
from pydplib.tables.cells import is_ambiguous
from pydplib.web import uploads
from pydplib.web.intake.imports.columns import DEPARTMENT, IDENTIFIER, NUMBER
from pydplib.web.intake.imports.duplicates import Duplicates, Keys, with_days
from pydplib.web.intake.imports.records import Prepared
from pydplib.web.intake.imports.row_store import KeptKeys
from pydplib.web.intake.imports.rows import (
    DEPARTMENT_FIELDS,
    FileRow,
    Reader,
    department_of,
    erased_row,
    identifiers_of,
    split_fields,
)
from pydplib.web.patients.inserts import CHUNK, chunks

_LONGEST = 60


class PartReading(NamedTuple):
    """What some texts of a part come to: pairs of two JSON objects, sentences, answers."""

    answered: str
    valued: str
    text: str
    answers: Mapping[str, Any]


class _Readings(dict[Any, PartReading | None]):
    """Texts -> what they come to; those that were not seen yet are read. None where something needs a remark."""

    def __init__(self, read: Callable[[Any], PartReading | None]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, texts: Any) -> PartReading | None:
        found = self._read(texts)
        if len(self) >= MOST_COMBINATIONS:
            self.clear()
        if (len(texts) if type(texts) is str else max(map(len, texts), default=0)) <= _LONGEST:
            self[texts] = found
        return found


@dataclass(slots=True, kw_only=True)
class RowBlock:
    """Some rows of a file; its repr shows nothing of them.

    Args:
        numbers: As people count in their file.
        keys: What tells the report and the patient of each.
        single: Place -> a row that was read by itself.
        readings: Per place, what its parts come to; none for a row that was read by itself.
        people: Per place, the answer that names the patient.
        departments: Per place, whose report it is.
        identifiers: Per place, what else names the patient; empty if no column does.
        read: Reads the row of a place by itself.
    """

    numbers: Sequence[int]
    keys: list[Keys] = field(repr=False)
    single: dict[int, FileRow] = field(repr=False)
    readings: Sequence[tuple[PartReading, ...] | None] = field(repr=False)
    people: Sequence[str | None] = field(repr=False)
    departments: Sequence[str] = field(repr=False)
    identifiers: Sequence[Mapping[str, str]] = field(repr=False)
    read: Callable[[int], FileRow] = field(repr=False)

    def row(self, place: int) -> FileRow:
        """Return one row with the texts of its cells, and what is wrong with it."""
        return self.single.get(place) or self.read(place)


class BlockReader:
    """Reads the rows of an import in blocks.

    Args:
        reader: Reads single rows.
        duplicates: Knows what makes two rows one report.
        kept: What the dry run kept of the rows, if that is to be used.
    """

    def __init__(self, reader: Reader, duplicates: Duplicates, kept: KeptKeys | None = None) -> None:
        self.reader, self.duplicates, self.batch = reader, duplicates, reader.batch
        self._kept = kept if kept is not None and kept.fits else None
        self.replaced: Counter[tuple[str, str]] = Counter()  # field and text -> rows that read as something else
        recorder, template = reader.recorder, reader.template
        self.parts: Sequence[TemplatePart] | None = None
        self._person = template.person
        if reader.is_flat and recorder.writer is not None:
            parts = reader.evaluate.parts()
            alone = {part.names[0] for part in parts or () if not part.is_whole}
            if parts is not None and (not self._person or self._person in alone):
                self.parts = parts
                self._join = recorder.writer.join_parts(parts)
        self._places = {name: place for place, name in enumerate(self.batch.mapping) if name}
        self._readings = [self._readings_of(part) for part in self.parts or ()]
        self._of = {name: number for number, part in enumerate(self.parts or ()) for name in part.names}

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows."""
        if self.batch.format == "fhir":
            for part in chunks(self.reader.rows(), CHUNK):
                yield self._single(part)
            return
        first = 2
        for cells in chunks(uploads.table_rows(self.batch.key), CHUNK):
            numbers = range(first, first + len(cells))
            first += len(cells)
            columns = list(zip(*cells, strict=True))
            filled = list(map(any, cells))
            self._count_replaced(columns, filled)
            if self.parts is None:
                yield self._single([self._row(number, each) for number, each in zip(numbers, cells, strict=True)])
            else:
                yield self._block(numbers, cells, columns, filled)

    def prepared(self, block: RowBlock, place: int) -> Prepared:
        """Return a row that can be taken in, ready to be written."""
        number, _, name = block.keys[place]
        more = block.identifiers[place] if block.identifiers else None
        found = block.readings[place]
        if found is None:
            return self.reader.recorder.prepare(
                block.single[place].answers,
                more_identifiers=more,
                department=block.departments[place],
                number_hash=number,
                pseudonym=name,
            )
        person = block.people[place]
        identifiers = {} if person is None else {self._person: person}
        return Prepared(
            identifiers={**identifiers, **more} if more else identifiers,
            answers="{" + ", ".join([each[0] for each in found if each[0]]) + "}",
            values="{" + ", ".join([each[1] for each in found if each[1]]) + "}",
            text=self._join([each[2] for each in found]),
            department=block.departments[place],
            number_hash=number,
            pseudonym=name,
        )

    def prepared_by_itself(self, number: int, fields: Mapping[str, str]) -> list[Prepared]:
        """Return a row that somebody corrected, ready to be written; empty if it cannot be taken in."""
        row = self.reader.evaluated(number, *split_fields(fields))
        return [self.prepared(self._single([row]), 0)] if row.ok else []

    def _row(self, number: int, cells: list[str]) -> FileRow:
        return self.reader.evaluated(number, *self.reader.fields_of(cells)) if any(cells) else erased_row(number)

    def _single(self, rows: Sequence[FileRow]) -> RowBlock:
        """Return rows that were each read by themselves."""
        return RowBlock(
            numbers=[row.number for row in rows],
            keys=self.duplicates.keys_of(rows),
            single=dict(enumerate(rows)),
            readings=[None] * len(rows),
            people=[],
            departments=[department_of(row, self.batch.department) for row in rows],
            identifiers=[identifiers_of(row.special) for row in rows],
            read=lambda place: rows[place],
        )

    def _block(
        self, numbers: range, cells: list[list[str]], columns: list[tuple[str, ...]], filled: list[bool]
    ) -> RowBlock:
        assert self.parts is not None
        size = len(cells)
        by_part = [
            self._column(part, known, columns, size) for part, known in zip(self.parts, self._readings, strict=True)
        ]
        people = self._people(columns, size)
        readings: list[tuple[PartReading, ...] | None] = [
            found if has_cells and who is not _UNREAD and None not in found else None
            for found, who, has_cells in zip(zip(*by_part, strict=True), people, filled, strict=True)
        ]
        single = {
            place: self._row(numbers[place], cells[place]) for place, found in enumerate(readings) if found is None
        }
        said = self._elsewhere(NUMBER, columns, size)
        days = self._answers(self.duplicates.day, readings, size)
        departments = self._departments(columns, readings, size)
        for place, row in single.items():
            people[place] = row.answers.get(self._person) if self._person else None
            days[place] = row.answers.get(self.duplicates.day) if self.duplicates.day else None
            departments[place] = department_of(row, self.batch.department)
            said[place] = row.special.get(NUMBER, "")
        keys = with_days(self._kept.read(size), days) if self._kept else self.duplicates.keys_for(said, people, days)
        reader, identifiers = self.reader, list[Mapping[str, str]]()
        if IDENTIFIER in self.batch.mapping:
            identifiers = [
                identifiers_of(dict(zip(reader.elsewhere, reader.special(each), strict=True))) for each in cells
            ]
        return RowBlock(
            numbers=numbers, keys=keys, single=single, readings=readings, people=people, departments=departments,
            identifiers=identifiers,
            read=lambda place: self._row(numbers[place], cells[place]),
        )  # fmt: skip

    # -- columns ---------------------------------------------------------------------------------

    def _readings_of(self, part: TemplatePart) -> _Readings:
        names = [name for name in part.names if name in self._places]

        def read(texts: Any) -> PartReading | None:
            cells = dict(zip(names, (texts,) if len(names) == 1 else texts, strict=True))
            return self._read(part, cells)

        return _Readings(read)

    def _read(self, part: TemplatePart, cells: Mapping[str, str]) -> PartReading | None:
        reader = self.reader
        said = reader.replaced(cells) if reader.replacements else cells
        if reader.commas and any(name in reader.commas and is_ambiguous(text) for name, text in said.items()):
            return None
        answers = reader.evaluate.read_part(part, said)
        if answers is None:
            return None
        assert reader.recorder.writer is not None
        text = reader.recorder.writer.part(part, answers)
        if text is None or (not part.is_whole and "\n" in text):
            return None
        return PartReading(*reader.recorder.pairs_of(part.names, answers), text, answers)

    def _column(
        self, part: TemplatePart, known: _Readings, columns: list[tuple[str, ...]], size: int
    ) -> list[PartReading | None]:
        """Return what a part comes to in each row."""
        if part.names == (self._person,):
            return [_NOTHING] * size
        places = [self._places[name] for name in part.names if name in self._places]
        if not places:
            return [known[()]] * size
        texts = columns[places[0]] if len(places) == 1 else zip(*(columns[place] for place in places), strict=True)
        return list(map(known.__getitem__, texts))

    def _people(self, columns: list[tuple[str, ...]], size: int) -> list[Any]:
        """Return the answer that names the patient in each row; these are hardly ever the same twice."""
        if not self._person:
            return [None] * size
        question: Question | None = self.reader.questions[self._person]
        place = self._places.get(self._person)
        if place is None or question is None:
            return [_UNREAD if question is not None and question.required else None] * size
        spelled, swapped = self.reader.readers[self._person], self.reader.replacements.get(self._person, {})
        found: list[Any] = []
        for text in columns[place]:
            try:
                value = read_value(question, spelled(swapped.get(text.strip(), text) if swapped else text))
            except Unreadable:
                value = _UNREAD
            found.append(_UNREAD if value is None and question.required else value)
        return found

    def _answers(self, name: str, readings: Sequence[tuple[PartReading, ...] | None], size: int) -> list[Any]:
        """Return the answer to one question in each row that was read by parts."""
        number = self._of.get(name)
        if number is None:
            return [None] * size
        return [None if found is None else found[number][3].get(name) for found in readings]

    def _elsewhere(self, name: str, columns: list[tuple[str, ...]], size: int) -> list[str]:
        place = self._places.get(name)
        return [""] * size if place is None else list(columns[place])

    def _departments(
        self, columns: list[tuple[str, ...]], readings: Sequence[tuple[PartReading, ...] | None], size: int
    ) -> list[str]:
        """Return whose report each row is, as ``department_of`` says it."""
        own = self.batch.department
        said = [text.strip() or own for text in self._elsewhere(DEPARTMENT, columns, size)]
        if not all(said):
            for name in DEPARTMENT_FIELDS:
                if name in self._of:
                    answers = self._answers(name, readings, size)
                    said = [
                        text or ("" if answer is None else str(answer))
                        for text, answer in zip(said, answers, strict=True)
                    ]
        return [text[:80] for text in said]

    def _count_replaced(self, columns: list[tuple[str, ...]], filled: list[bool]) -> None:
        for name, values in self.reader.replacements.items():
            place = self._places.get(name)
            if place is None:
                continue
            for text, rows in Counter(text for text, has in zip(columns[place], filled, strict=True) if has).items():
                if text.strip() in values:
                    self.replaced[name, text.strip()] += rows


_NOTHING = PartReading("", "", "", {})
_UNREAD: Any = object()

"""What is wrong with the rows of a file, by column and value, and what each value can be replaced by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydplib.capture import Question, Template, field_name
from pydplib.web.intake.imports.columns import targets_of
from pydplib.web.intake.imports.rows import FileRow
from pydplib.web.intake.models import ImportBatch

MOST_GROUPS = 200
"""Groups that are kept and shown, the largest first."""
MOST_COUNTED = 5000
"""Different values that are counted apart; what comes after these counts as "other values" of its column."""
LONGEST = 120
"""Letters of a value that is shown and can be replaced; a longer one is free text, and no spelling of an option."""
OTHER = None

_GERMAN = {
    "no": ("nein", "keine", "kein", "keiner", "keines", "negativ", "ohne", "nicht", "0"),
    "yes": ("ja", "positiv", "vorhanden", "1"),
    "unknown": ("unbekannt", "unklar", "nicht bekannt", "k.a.", "k. a.", "keine angabe", "?"),
    "acute": ("akut",),
    "chronic": ("chronisch",),
    "acute on chronic": ("akut auf chronisch", "akut-auf-chronisch"),
    "primary tumour": ("primärtumor", "primaertumor"),
    "local recurrence": ("lokalrezidiv", "rezidiv"),
    "progress": ("progredienz", "progression", "progress"),
    "no therapy": ("keine therapie", "keine"),
    "active surveillance": ("aktive überwachung", "aktive ueberwachung", "active surveillance"),
    "prostatectomy": ("prostatektomie",),
    "radiotherapy": ("bestrahlung", "radiotherapie", "strahlentherapie"),
    "hormone therapy": ("hormontherapie", "adt"),
}
"""An option's words -> how German files write it. Proposed only: people decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellGroup:
    """Rows with the same problem in the same column, and the same text there; its repr shows no cell.

    Args:
        field: The field; empty for problems of a whole row.
        column: The column of the file, or the field's title.
        text: The cell; none for values that are not counted apart.
        message: The rule that is broken.
        severity: ``error``, ``warning`` or ``duplicate``.
        rows: How many.
    """

    field: str
    column: str
    text: str | None
    message: str
    severity: str
    rows: int

    def __repr__(self) -> str:
        return f"Group({self.column!r}, {self.severity!r}, rows={self.rows})"

    def to_dict(self) -> dict[str, object]:
        """Return it as plain values."""
        return {name: getattr(self, name) for name in self.__slots__}


class CellGroups:
    """Counts problems while rows pass; memory stays small however many values a wrong column has.

    Args:
        names: Field -> the column that it came from.

    Examples:
        >>> from pydplib.capture import Problem
        >>> groups = CellGroups({"prostatitis": "Prostatitis"})
        >>> wrong = Problem("choice", "prostatitis", "must be chronic, yes or no", ("prostatitis",))
        >>> for number in (2, 3):
        ...     groups.add(FileRow(number=number, fields={"prostatitis": "keine "}, answers={}, problems=(wrong,),
        ...         special={}))
        >>> [(each.column, each.text, each.rows) for each in groups.largest()]
        [('Prostatitis', 'keine', 2)]
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._counts: dict[tuple[str, str, str | None, str, str], int] = {}

    def add(self, row: FileRow, repeated: str = "") -> None:
        """Count the problems of a row."""
        seen = set[tuple[str, str, str | None, str, str]]()
        for problem in row.problems:
            name = field_name(problem.path)
            known = name if name in self._names else ""
            column = self._names.get(name, problem.place or problem.item)
            text = row.fields.get(name, "").strip() if known else ""
            seen.add((known, column, text if len(text) <= LONGEST else OTHER, problem.message, problem.severity))
        if repeated:
            seen.add(("", "", "", "The same report is in the file twice, or in the project already.", "duplicate"))
        for key in seen:
            if key not in self._counts and len(self._counts) >= MOST_COUNTED:
                key = (*key[:2], OTHER, *key[3:])
            self._counts[key] = self._counts.get(key, 0) + 1

    def largest(self) -> list[CellGroup]:
        """Return the groups, the largest first; beyond the most that are kept, values of one column count together."""
        order = sorted(self._counts.items(), key=lambda item: -item[1])
        kept = dict(order[:MOST_GROUPS])
        for (field, column, _, message, severity), rows in order[MOST_GROUPS:]:
            key = (field, column, OTHER, message, severity)
            kept[key] = kept.get(key, 0) + rows
        found = [
            CellGroup(field=field, column=column, text=text, message=message, severity=severity, rows=rows)
            for (field, column, text, message, severity), rows in kept.items()
        ]
        return sorted(found, key=lambda group: -group.rows)


def options_of(question: Question) -> list[tuple[str, str]]:
    """Return value and words of what a closed question can be answered with; nothing for an open one."""
    if question.kind == "boolean":
        return [("true", "yes"), ("false", "no")]
    return [(str(option.value), str(option.text)) for option in question.options]


def suggestion(question: Question, text: str) -> str:
    """Return the option that a German word most likely means; empty if none is likely.

    Examples:
        >>> from pydplib.capture import builtin
        >>> suggestion(builtin("pirads-paper").question("prostatitis"), "Keine")
        'n'
    """
    word = " ".join(text.casefold().split())
    for value, words in options_of(question):
        if word in _GERMAN.get(words.casefold(), ()) or word == words.casefold():
            return value
    return ""


def entries_of(batch: ImportBatch, template: Template) -> list[dict[str, object]]:
    """Return what the page shows: values that are replaced now, then groups of problems, each with its choices."""
    questions = {target.name: target.question for target in targets_of(template)}
    columns = dict(zip(batch.mapping, batch.columns, strict=False))
    found = []
    for name, values in batch.replacements.items():
        question = questions.get(name)
        for old, said in values.items() if question is not None and name in columns else ():
            if said["rows"]:
                group = CellGroup(
                    field=name, column=columns[name], text=old, message="", severity="replaced", rows=said["rows"]
                )
                found.append(_entry(group, question, "=" + said["new"]))
    replaced = {(each["field"], each["text"]) for each in found}
    for each in batch.groups:
        group = CellGroup(**each)
        question = questions.get(group.field) if batch.format != "fhir" else None
        if (group.field, group.text) not in replaced:
            found.append(_entry(group, question, ""))
    return found


def _entry(group: CellGroup, question: Question | None, chosen: str) -> dict[str, object]:
    can = question is not None and not question.computed and group.text is not None and group.severity != "warning"
    if group.text is not None and ("\n" in group.text or "\r" in group.text):
        can = False  # a form would change the line break
    choices: list[tuple[str, str]] = []
    if can and question is not None:
        choices = [("=" + value, words) for value, words in options_of(question)]
        if group.text and not chosen and (guessed := suggestion(question, group.text)):
            chosen = "=" + guessed
    return {
        **group.to_dict(),
        "can_replace": can,
        "choices": choices,
        "can_be_empty": bool(can and question is not None and not question.required and group.text),
        "chosen": chosen,
    }


def read_replacements(template: Template, said: Iterable[tuple[str, str, str]]) -> dict[str, dict[str, object]]:
    """Return what a form says as the import keeps it; unknown fields and values of no option are left out.

    Args:
        template: The template.
        said: Field, text of the cell, and ``=`` with the text to read instead; nothing to replace nothing.
    """
    questions = {target.name: target.question for target in targets_of(template)}
    found: dict[str, dict[str, object]] = {}
    for name, old, new in said:
        question = questions.get(name)
        if question is None or question.computed or not new.startswith("=") or len(old) > LONGEST:
            continue
        text = new[1:].strip()[:LONGEST]
        options = [value for value, _ in options_of(question)]
        if text != old and (not text or not options or text in options):
            found.setdefault(name, {})[old] = {"new": text, "rows": 0}
    return found

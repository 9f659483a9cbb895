"""What earlier imports of a project taught: which column goes to which field, which spelling means which option."""

from __future__ import annotations

from collections.abc import Sequence

from pydplib.capture import Template
from pydplib.web.intake.imports.columns import IDENTIFIER, bare, guess, targets_of
from pydplib.web.intake.imports.problem_groups import options_of
from pydplib.web.intake.models import ImportBatch, ImportMemory
from pydplib.web.projects.models import Project

LEAST_ROWS = 3
"""A value is remembered if this many rows had it: what stands in one row alone may name somebody."""
MOST_COLUMNS = 1000
MOST_VALUES = 1000


def remembered_columns(project: Project, template: Template, columns: Sequence[str]) -> list[str]:
    """Return for every column the field it went to last time, or else the field that its name suggests."""
    memory, guessed = _memory(project), guess(template, columns)
    known = {target.name for target in targets_of(template)} | {""}
    said = {} if memory is None else {name: field for name, field in memory.columns.items() if field in known}
    found, taken = [""] * len(columns), set[str]()
    for remembered in (True, False):  # what people said comes before what a name suggests
        for place, column in enumerate(columns):
            if (bare(column) in said) == remembered:
                name = said[bare(column)] if remembered else guessed[place]
                if name == IDENTIFIER or name not in taken:
                    found[place] = name
                    taken.add(name)
    return found


def remembered_values(project: Project, template: Template) -> dict[str, dict[str, object]]:
    """Return the replacements of earlier imports whose options the template still has."""
    memory = _memory(project)
    options = {
        target.name: {value for value, _ in options_of(target.question)}
        for target in targets_of(template)
        if target.question is not None
    }
    found: dict[str, dict[str, object]] = {}
    for name, values in (memory.values if memory else {}).items():
        for old, new in values.items():
            if new in options.get(name, ()):
                found.setdefault(name, {})[old] = {"new": new, "rows": 0}
    return found


def remember(batch: ImportBatch, template: Template) -> None:
    """Keep how the columns and values of an import were matched; within the transaction that takes it in.

    Only spellings of options are kept, of questions that have some, and only where several rows had them.
    """
    if batch.format == "fhir":
        return
    memory, _ = ImportMemory.objects.get_or_create(project=batch.project)
    memory.columns |= {bare(c): name for c, name in zip(batch.columns, batch.mapping, strict=True) if bare(c)}
    memory.columns = dict(list(memory.columns.items())[-MOST_COLUMNS:])
    closed = {
        target.name for target in targets_of(template) if target.question is not None and options_of(target.question)
    }
    kept = 0
    for name, values in batch.replacements.items():
        for old, said in values.items() if name in closed else ():
            if said["rows"] >= LEAST_ROWS and said["new"] and kept < MOST_VALUES:
                memory.values.setdefault(name, {})[old] = said["new"]
                kept += 1
    memory.save()


def _memory(project: Project) -> ImportMemory | None:
    return ImportMemory.objects.filter(project=project).first()

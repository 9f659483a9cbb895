"""Writing many signed reports at once: patients, reports, first versions, the data version and the log line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from django.utils import timezone

from pydplib.capture import Evaluator, Template, Writer, report_text
from pydplib.capture.plan import MOST_COMBINATIONS, sections_of
from pydplib.errors import DataError
from pydplib.web.auditlog.log import recorded
from pydplib.web.patients.inserts import CHUNK, chunks, insert_many, stored
from pydplib.web.patients.pseudonyms import nameless_patient, patient_ids_for, set_apart
from pydplib.web.people.models import User, new_keys
from pydplib.web.projects.changes import new_data_version
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report, ReportVersion, TemplateVersion
from pydplib.web.reporting.report_templates.versions import value_columns

_MOST_PAIRS = 20_000
_LONGEST_PAIR = 200
_Section: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], dict[tuple[Any, ...], tuple[str, str]] | None]
"""The ids of a section, its columns of the flat row, and answers -> both as JSON, where that is worth keeping."""
_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)  # not frozen, which would take longer than all the rest of making one
class Prepared:
    """A report ready to be written; its repr shows nothing of it.

    Args:
        identifiers: What names the patient; empty for somebody whom nothing names.
        answers: Clean answers without them, as JSON.
        values: The flat row, as JSON.
        text: The report in words.
        department: Whose report it is.
        number_hash: The keyed report number, if the file had one.
        pseudonym: Of the patient, where it is known already.
    """

    identifiers: Mapping[str, str] = field(repr=False)
    answers: str = field(repr=False)
    values: str = field(repr=False)
    text: str = field(repr=False)
    department: str = ""
    number_hash: str = ""
    pseudonym: str = ""


class Recorder:
    """Makes clean answers ready to be written, for many reports of one template.

    Args:
        template: The template that they answer.
    """

    def __init__(self, template: Template) -> None:
        self.template, self.columns = template, value_columns(template)
        # A text that depends on the person is written as for a report without one.
        self.writer = None if template.person and template.person in template.plan.referred else Writer(template)
        self._pairs: dict[str, dict[object, str]] = {}  # question -> answer -> both as a pair of a JSON object
        self._nulls = {name: f"{json.dumps(name)}: null" for name in self.columns}
        self._kept = 0
        self._sections: list[_Section] = [
            (
                section.names,
                tuple(name for name in section.names if name in self._nulls),
                {} if section.is_closed else None,
            )
            for section in sections_of(template.plan)
        ]

    def prepare(
        self, answers: Mapping[str, object], *, more_identifiers: Mapping[str, str] | None = None, **facts: str
    ) -> Prepared:
        """Make clean answers (of ``evaluate``) ready to be written.

        Args:
            answers: What ``evaluate`` returned, the person's identifier among them.
            more_identifiers: Field -> value of what else names the patient.
            facts: ``department``, ``number_hash`` and ``pseudonym``.
        """
        identifiers, kept = set_apart(self.template, answers)
        said, told = [], []
        for names, columns, known in self._sections:
            if known is None:
                answered, valued = self._pairs_of(names, columns, kept)
            else:
                key = tuple(map(kept.get, names))
                found = known.get(key)
                if found is None:
                    found = self._pairs_of(names, columns, kept)
                    if len(known) < MOST_COMBINATIONS:
                        known[key] = found
                answered, valued = found
            if answered:
                said.append(answered)
            if valued:
                told.append(valued)
        return Prepared(
            identifiers={**identifiers, **more_identifiers} if more_identifiers else identifiers,
            answers="{" + ", ".join(said) + "}",
            values="{" + ", ".join(told) + "}",
            text=report_text(self.template, kept) if self.writer is None else self.writer.write(kept),
            **facts,
        )

    def pairs_of(self, names: Sequence[str], answers: Mapping[str, object]) -> tuple[str, str]:
        """Return the answers of some questions as the inside of two JSON objects: as they are, and of the flat row."""
        return self._pairs_of(names, [name for name in names if name in self._nulls], answers)

    def _pairs_of(self, names: Sequence[str], columns: Sequence[str], kept: Mapping[str, object]) -> tuple[str, str]:
        """Return the inside of two JSON objects: a section's answers, and its part of the flat row."""
        pairs, known, nulls = {}, self._pairs, self._nulls
        for name in names:
            value = kept.get(name)
            if value is None:
                continue
            try:
                pairs[name] = known[name][value]
            except (KeyError, TypeError):
                pairs[name] = self._pair(name, value)
        return ", ".join(pairs.values()), ", ".join([pairs.get(name) or nulls[name] for name in columns])

    def _pair(self, name: str, value: object) -> str:
        """Return a question and its answer as JSON; the same few answers come again and again, and are kept."""
        found = f"{json.dumps(name)}: {json.dumps(value)}"
        if type(value) is not list and self._kept < _MOST_PAIRS and len(found) <= _LONGEST_PAIR:
            self._pairs.setdefault(name, {})[value] = found
            self._kept += 1
        return found


def write_reports(
    project: Project,
    version: TemplateVersion,
    prepared: Sequence[Prepared],
    *,
    author: User,
    staged_in: Any = None,
) -> int:
    """Write reports with their first versions; must run in a transaction whose end says what was done.

    Returns how many.

    Args:
        project: The project.
        version: The template version that they answer.
        prepared: The reports.
        author: The user in whose name they come.
        staged_in: The import that they belong to; they stay unseen until it is accepted.
    """
    if not prepared:
        return 0
    named = [each for each in prepared if each.identifiers]
    names = [each.pseudonym for each in named]
    ids = patient_ids_for(project, [each.identifiers for each in named], names if all(names) else None) if named else []
    patients = iter(ids)
    state = str(Report.State.SIGNED if staged_in is None else Report.State.STAGED)
    project_id, version_id, author_id = project.pk, version.pk, author.pk
    now = stored(Report, "created", timezone.now())
    batch = None if staged_in is None else staged_in.pk
    origin, rows, versions = str(Report.Origin.IMPORT), [], {}
    for each, key in zip(prepared, new_keys(len(prepared)), strict=True):
        patient = next(patients) if each.identifiers else nameless_patient(project).pk
        rows.append(
            (key, project_id, patient, version_id, state, origin, each.department, author_id, each.answers, each.values,
             batch, each.number_hash, 1, now, now, 0, now)
        )  # fmt: skip
        versions[key] = (1, version_id, each.answers, each.text, author_id, now, "")
    made = insert_many(Report, _REPORT, rows, returns=("key", "id"))
    insert_many(ReportVersion, _VERSION, [(made[key], *told) for key, told in versions.items()])
    return len(rows)


_REPORT = (
    "key", "project", "patient", "template", "state", "origin", "department", "author", "answers",
    "values", "batch", "number_hash", "version", "created", "changed", "revision", "signed",
)  # fmt: skip
_VERSION = ("report", "number", "template", "answers", "text", "author", "time", "reason")


def accept_rows(
    project: Project,
    version: TemplateVersion,
    rows: Iterable[Mapping[str, object]],
    *,
    actor: User,
    department: str = "",
    department_field: str = "",
) -> int:
    """Write rows as signed, imported reports in one transaction: all of them, or none. Returns how many.

    Args:
        project: The project; its data version goes up by one.
        version: The template version that the rows answer.
        rows: Answers as for ``capture.evaluate``, with the person's identifier.
        actor: The user in whose name they come.
        department: Whose reports they are.
        department_field: The question whose answer is the department instead.

    Raises:
        DataError: A row has errors; the message says which and what rule, never the answer.
    """
    template = version.template
    written, evaluator, recorder = 0, Evaluator(template, purpose="import"), Recorder(template)

    def ready() -> Iterator[Prepared]:
        for number, row in enumerate(rows, start=1):
            evaluation = evaluator(row)
            if not evaluation.ok:
                first = evaluation.errors[0]
                raise DataError(f"Row {number} cannot be imported: {first.message} Nothing was kept.")
            where = str(evaluation.answers.get(department_field) or department)
            yield recorder.prepare(evaluation.answers, department=where)

    with recorded(actor, project=project) as log:
        for chunk in chunks(ready(), CHUNK):
            written += write_reports(project, version, chunk, author=actor)
        if written:
            new_data_version(project)
        log.add("reports.import", version.key, reports=written, data_version=project.data_version)
    return written

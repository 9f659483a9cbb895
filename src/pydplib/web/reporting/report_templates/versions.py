"""Template versions of a project: reading an upload, adding a version, choosing the one in use."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pydplib.capture import (
    Change,
    Group,
    Note,
    Problem,
    Template,
    builtin,
    columns_of,
    compare,
    lint,
    questionnaire_from_fhir,
)
from pydplib.capture.model import Item
from pydplib.capture.template import read_json
from pydplib.errors import TemplateError
from pydplib.web import hooks
from pydplib.web.auditlog.log import Log, recorded
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import TemplateVersion

MOST_BYTES = 1_000_000
"""The largest template file; the built-in ones have 15 000."""
MOST_ITEMS, MOST_OPTIONS, MOST_PARTS = 2_000, 10_000, 200
_UNSTORABLE = re.compile(r"[\ud800-\udfff]|\\u0000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A template file as it was understood, before anybody accepted it.

    Args:
        template: What it says.
        source: ``"TOML"``, ``"JSON"`` or ``"FHIR"``.
        notes: Item by item what of a FHIR Questionnaire did not come over as it was.
        problems: What the linter says.
        changes: What is new against the version in use.
    """

    template: Template
    source: str
    notes: tuple[Note, ...]
    problems: tuple[Problem, ...]
    changes: tuple[Change, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it can be accepted."""
        return all(problem.severity != "error" for problem in self.problems)


def capturing_template(version: TemplateVersion) -> Template:
    """Return the template as forms use it: whose report it is, is asked before and stored elsewhere."""
    return _capturing(version.definition)


@lru_cache(maxsize=64)
def _capturing(definition: str) -> Template:
    return without_person(Template.from_json(definition))


def without_person(template: Template) -> Template:
    """Return the template without the question that says whose report it is, and without groups left empty.

    Examples:
        >>> from pydplib.capture import builtin
        >>> "patient_id" in without_person(builtin("pirads-2.1")).index.by_id
        False
    """
    if not template.person:
        return template

    def kept(items: tuple[Item, ...]) -> Iterator[Item]:
        for item in items:
            if isinstance(item, Group):
                inside = tuple(kept(item.items))
                if inside or not item.items:
                    yield dataclasses.replace(item, items=inside)
            elif item.id != template.person:
                yield item

    return dataclasses.replace(template, items=tuple(kept(template.items)), person="", max_reports_per_person=1)


def row_values(template: Template, answers: Mapping[str, object]) -> dict[str, object]:
    """Return the flat row of clean answers for data and snapshots: no identifier, every other column, days as texts.

    Examples:
        >>> from pydplib.capture import builtin
        >>> row_values(builtin("pirads-paper"), {"patient_id": "A 17", "age": 64})["age"]
        64
        >>> "patient_id" in row_values(builtin("pirads-paper"), {"patient_id": "A 17"})
        False
    """
    return {name: answers.get(name) for name in value_columns(template)}


def value_columns(template: Template) -> tuple[str, ...]:
    """Return the columns of ``row_values``, in the order of the form."""
    return tuple(
        question.id
        for question in columns_of(template)
        if question.label != "identifier" and question.id != template.person
    )


def versions_of(project: Project, *, but: TemplateVersion | None = None) -> list[TemplateVersion]:
    """Return the versions of a project's template, all or all but one."""
    found = TemplateVersion.objects.filter(project=project)
    return list(found if but is None else found.exclude(pk=but.pk))


def version_before(version: TemplateVersion, *, since: str = "") -> TemplateVersion | None:
    """Return the version to compare with: the one that was asked for by its key, else one before."""
    others = TemplateVersion.objects.filter(project=version.project)
    return others.filter(key=since).first() or others.filter(number__lt=version.number).first()


def read_upload(data: bytes, *, version: str = "", current: Template | None = None) -> Upload:
    """Read a template file: ours (TOML, JSON) or a FHIR R4/R5 Questionnaire.

    Args:
        data: The file.
        version: Another name for the version than the file says; empty to keep that.
        current: The version in use, to compare with.

    Raises:
        TemplateError: It is none of these; the message says where.
    """
    if len(data) > MOST_BYTES:
        raise TemplateError(f"A template has at most {MOST_BYTES // 1000} kB. Is this the right file?")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TemplateError("The file is not a text in UTF-8. Save it as UTF-8 and try again.") from None
    template, source, notes = _parse(text)
    _check_size_and_texts(template)
    if version.strip():
        template = dataclasses.replace(template, version=version.strip()[:40])
    changes = compare(current, template) if current is not None else ()
    return Upload(template=template, source=source, notes=notes, problems=lint(template), changes=changes)


def _parse(text: str) -> tuple[Template, str, tuple[Note, ...]]:
    if not text.lstrip().startswith("{"):
        _check_keys(text)
        return Template.from_toml(text), "TOML", ()
    values = read_json(text, "The file")
    if isinstance(values, dict) and "resourceType" in values:
        imported = questionnaire_from_fhir(values)
        return imported.template, "FHIR", imported.notes
    return Template.from_json(text), "JSON", ()


def _check_size_and_texts(template: Template) -> None:
    """Refuse what would keep the server busy for minutes, and characters that no page and no database can hold."""
    questions = [question for _, question in template.index.questions()]
    options = sum(len(question.options) for question in questions)
    if len(template.index.places) > MOST_ITEMS or options > MOST_OPTIONS:
        raise TemplateError(
            f"A template has at most {MOST_ITEMS} groups and questions, and {MOST_OPTIONS} options. Split this one."
        )
    if _UNSTORABLE.search(template.to_json()):
        raise TemplateError("The file has characters that are not text (zero bytes or broken Unicode). Remove them.")


def _check_keys(text: str) -> None:
    """Refuse keys of very many parts: reading them takes time by the square of their number."""
    bare = re.sub(r"[ \t]+", " ", re.sub(r""" "[^"\n]*" | '[^'\n]*' """, "text", text, flags=re.VERBOSE))
    words = bare.replace(" .", ".").replace(". ", ".").split()
    if any(word.count(".") > MOST_PARTS for word in words):
        raise TemplateError(f"A name in the file has more than {MOST_PARTS} parts between dots. Shorten it.")


def add_template(project: Project, template: Template, *, actor: User, note: str = "") -> TemplateVersion:
    """Add a version to a project and use it for new reports from now on.

    Args:
        project: The project.
        template: A template without linter errors.
        actor: Who adds it: a user, or ``"system"``.
        note: Why, in a few words.

    Raises:
        TemplateError: The linter finds errors, or the name of the version is taken.
    """
    check_usable(template)
    definition = template.to_json()
    with recorded(actor, project=project) as log:
        Project.objects.select_for_update().get(pk=project.pk)  # numbers are given one after the other
        known = list(TemplateVersion.objects.filter(project=project))
        for other in known:
            if (other.template.id, other.template.version) == (template.id, template.version):
                raise TemplateError(
                    f"This project already has version '{template.version}' of '{template.id}'. "
                    "Give the new one another version."
                )
        TemplateVersion.objects.filter(project=project, is_current=True).update(is_current=False)
        made = TemplateVersion.objects.create(
            project=project,
            number=max((other.number for other in known), default=0) + 1,
            definition=definition,
            made_by=getattr(actor, "username", None) or str(actor),
            note=note[:200],
        )
        log.add("template.add", made.key, number=made.number, template=template.id, version=template.version)
    return made


@hooks.project_created.register
def begin_with(project: Project, user: User, template: str, log: Log) -> None:
    """Give a new project its first version, of a built-in template."""
    version = TemplateVersion.objects.create(
        project=project, number=1, definition=builtin(template).to_json(), made_by=user.username
    )
    log.add("template.create", version.key, project=project.key, number=1, template=template)


def check_usable(template: Template) -> None:
    """Raise ``TemplateError`` unless reports can be written with a template on this platform."""
    if not template.plan.nodes:  # building the plan runs the linter and raises its errors
        raise TemplateError("The template asks nothing. Add a question.")
    try:
        silent = without_person(template)
        usable = bool(silent.plan.nodes)
    except TemplateError:
        usable = False
    if not usable:
        raise TemplateError(
            f"The answer to '{template.person}' is stored apart from the report. Let no condition, check, computed "
            "field or sentence use it, and ask at least one other question."
        )


def use_template(version: TemplateVersion, *, actor: User) -> None:
    """Write new reports with this version from now on."""
    with recorded(actor, project=version.project) as log:
        Project.objects.select_for_update().get(pk=version.project_id)
        TemplateVersion.objects.filter(project=version.project, is_current=True).update(is_current=False)
        TemplateVersion.objects.filter(pk=version.pk).update(is_current=True)
        log.add("template.use", version.key, number=version.number)

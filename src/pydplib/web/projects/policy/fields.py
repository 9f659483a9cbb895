"""The fields of a project, as the policy opens them: questions, columns of further tables, computed columns."""

from __future__ import annotations

from dataclasses import dataclass

from pydplib.capture import Template
from pydplib.web import hooks
from pydplib.web.projects.models import Project

FIELD_LABEL_WORDS = {
    "identifier": "Identifier",
    "sensitive": "Sensitive",
    "quasi": "Quasi-identifier",
    "public": "Public",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One question of the template, or one column of another table, as a policy row may open it.

    Args:
        name: Its id, the name in policy rows and questions.
        title: Its words for readers.
        label: identifier, sensitive, quasi or public.
        inputs: Of a computed column: the fields that it is computed from.
    """

    name: str
    title: str
    label: str
    inputs: tuple[str, ...] = ()

    @property
    def is_identifier(self) -> bool:
        """Whether it names a person: part of raw rows alone."""
        return self.label == "identifier"

    @property
    def badge(self) -> str:
        """The design's word for the label."""
        return "quasi_identifier" if self.label == "quasi" else self.label

    @property
    def label_words(self) -> str:
        """The label for readers."""
        return FIELD_LABEL_WORDS.get(self.label, self.label)


def current_template(project: Project) -> Template | None:
    """Return the current template of a project, or none while it has none."""
    version = project.template_version
    return None if version is None else version.template


def fields_of(template: Template | None) -> tuple[Field, ...]:
    """Return every field that a template declares, in the order of the form; the person's own is an identifier.

    Examples:
        >>> from pydplib.capture import builtin
        >>> [field.name for field in fields_of(builtin("pirads-paper")) if field.is_identifier]
        ['patient_id', 'physician_name']
    """
    if template is None:
        return ()
    return tuple(
        Field(question.id, question.text, "identifier" if question.id == template.person else question.label)
        for _, question in template.index.questions()
    )


def project_fields(project: Project) -> tuple[Field, ...]:
    """Return every field of a project: the template's, those of further tables, and computed columns."""
    own = fields_of(current_template(project))
    return (*own, *(field for fields in hooks.more_fields(project) for field in fields))


def openable_fields(project: Project) -> tuple[Field, ...]:
    """Return the fields that a policy row may name: all but identifiers."""
    return tuple(field for field in project_fields(project) if not field.is_identifier)


def titles_in(project: Project) -> dict[str, str]:
    """Return name -> title of the fields of a project."""
    return {field.name: field.title for field in project_fields(project)}

"""What a project's tables are as schemas: the owner's further tables, computed columns, tables that are asked together.

Everything here is declared. Nothing of it looks at data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydplib.capture import Template
from pydplib.engine.joins import Joined
from pydplib.errors import SchemaError, did_you_mean
from pydplib.schema import Column, Schema, Text
from pydplib.schema.columns.base import column_from_dict
from pydplib.web import hooks
from pydplib.web.auditlog.log import recorded
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project
from pydplib.web.projects.policy.fields import Field
from pydplib.web.tables.models import Declarations, PersonTable

REPORTS = "reports"
"""What the table of reports is called where tables are asked together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedColumn:
    """A computed column as it was declared.

    Args:
        table: The table that it belongs to; empty for reports.
        name: Its name in questions.
        column: Its public facts and its formula.
    """

    table: str
    name: str
    column: Column

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that its formula looks at."""
        return () if self.column.formula is None else self.column.formula.columns

    def to_dict(self) -> dict[str, object]:
        """Return it as plain values."""
        return {"table": self.table, "name": self.name, "column": self.column.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> ComputedColumn:
        """Read it from plain values."""
        name = str(values["name"])
        return cls(table=str(values["table"]), name=name, column=column_from_dict(name, values["column"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonJoin:
    """Reports and a further table as one: every report with every row about the same patient.

    Args:
        table: The further table.
        keep: ``both`` for patients that both tables have, ``all`` for everybody with a report.
    """

    table: str
    keep: Literal["both", "all"] = "both"

    @property
    def name(self) -> str:
        """The joined table's name in questions."""
        return joined_name(self.table)


def joined_name(table: str) -> str:
    """Return the name of reports and a further table as one.

    Examples:
        >>> joined_name("follow_up")
        'reports_follow_up'
    """
    return f"{REPORTS}_{table}"


@hooks.more_fields.register
def more_fields(project: Project) -> list[Field]:
    """Return the fields of further tables and computed columns, as the policy opens them."""
    found: list[Field] = []
    for table in PersonTable.objects.filter(project=project):
        schema = table.schema
        found += [
            Field(name, column.title or name, column.label)
            for name, column in schema.columns.items()
            if name != schema.person
        ]
    for each in computed_columns(project):
        found.append(Field(each.name, each.column.title or each.name, each.column.label, each.inputs))
    return found


def tables_of(project: Project) -> list[PersonTable]:
    """Return the further tables of a project, the oldest first."""
    return list(PersonTable.objects.filter(project=project))


def versions_of(project: Project, most: int = 20) -> list[Declarations]:
    """Return the newest versions of what a project declares beyond its tables."""
    return list(Declarations.objects.filter(project=project)[:most])


def titles_of_tables(project: Project) -> dict[str, str]:
    """Return name -> title of a project's further tables."""
    return {table.name: table.title for table in tables_of(project)}


def newest(project: Project) -> Declarations | None:
    """Return the newest version of what a project declares beyond its tables."""
    found: Declarations | None = Declarations.objects.filter(project=project).first()
    return found


def computed_columns(project: Project) -> tuple[ComputedColumn, ...]:
    """Return the computed columns of a project, in the order in which they were declared."""
    version = newest(project)
    return () if version is None else tuple(ComputedColumn.from_dict(entry) for entry in version.columns)


def joins_of(project: Project) -> tuple[PersonJoin, ...]:
    """Return which further tables are asked together with the reports."""
    version = newest(project)
    return () if version is None else tuple(PersonJoin(**entry) for entry in version.joins)


def declare(
    project: Project, *, columns: Sequence[ComputedColumn], joins: Sequence[PersonJoin], actor: User, by: str
) -> Declarations:
    """Keep a new version of what a project declares beyond its tables. The next snapshot pins it.

    Args:
        project: The project.
        columns: All computed columns, those of before among them.
        joins: All tables that are asked together with the reports.
        actor: Who declares it.
        by: Their name, as the list of versions shows it.
    """
    with recorded(actor, project=project) as log:
        Project.objects.select_for_update().get(pk=project.pk)
        before = newest(project)
        made = Declarations.objects.create(
            project=project,
            number=1 if before is None else before.number + 1,
            columns=[each.to_dict() for each in columns],
            joins=[{"table": each.table, "keep": each.keep} for each in joins],
            by=by,
        )
        names = [each.name for each in columns]
        log.add(
            "columns.declare", project.key, version=made.number, columns=names, joins=[each.table for each in joins]
        )
    return made


def table_schema(table: PersonTable, template: Template) -> Schema:
    """Return the public schema of a further table in a snapshot: its columns, and the project's person and lineage."""
    person, declared = template.person, table.schema
    columns: dict[str, Column] = {person: Text(label="identifier", title="Person")}
    columns |= {name: column for name, column in declared.columns.items() if name != declared.person}
    return Schema(
        columns,
        person=person,
        max_rows_per_person=declared.max_rows_per_person,
        name=table.title,
        lineage=table.project.key,
    )


def with_computed(schema: Schema, computed: Sequence[ComputedColumn]) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema with computed columns, and the names of those that do not fit it any more.

    Examples:
        >>> from pydplib.schema import Number
        >>> schema = Schema({"psa": Number(0, 100), "volume": Number(5, 300)})
        >>> density = ComputedColumn(table="", name="density", column=Number(0, 5, derived="psa / volume"))
        >>> stale = ComputedColumn(table="", name="old", column=Number(0, 5, derived="gone * 2"))
        >>> made, unfit = with_computed(schema, [density, stale])
        >>> list(made.columns), unfit
        (['psa', 'volume', 'density'], ('old',))
    """
    unfit: list[str] = []
    for each in computed:
        try:
            if each.name in schema.columns:
                raise SchemaError(f"The table has a column '{each.name}' already.")
            schema = replace_columns(schema, {**schema.columns, each.name: each.column})
        except SchemaError:
            unfit.append(each.name)
    return schema, tuple(unfit)


def replace_columns(schema: Schema, columns: Mapping[str, Column]) -> Schema:
    """Return a schema with other columns and all else as it is."""
    return replace(schema, columns=columns)


def joined_schema(left: Schema, right: Schema, together: PersonJoin, title: str) -> Joined:
    """Return what reports and a further table are as one.

    Numbers of a person's rows stay with the table that they count in: joined rows are others.
    """
    one, other = (
        replace_columns(schema, {name: column for name, column in schema.columns.items() if not _counts_rows(column)})
        for schema in (left, right)
    )
    made = Joined.of(replace(one, size=None), other, keep=together.keep, name=title)
    return made


def _counts_rows(column: Column) -> bool:
    return column.is_step and column.formula is not None and column.formula.step.kind == "count_of"


def check_table_names(
    names: Sequence[str],
    template: Template,
    others: Sequence[PersonTable],
    computed: Sequence[ComputedColumn] = (),
) -> None:
    """Raise ``SchemaError`` where a column has the name of a question, or of a column of another table or formula.

    The policy opens fields by name: one name is one field in the whole project.
    """
    taken = {question.id for _, question in template.index.questions()} | {each.name for each in computed}
    for other in others:
        taken |= {name for name in other.schema.columns if name != other.schema.person}
    for name in names:
        if name == template.person:
            continue
        if name in taken:
            raise SchemaError(
                f"There is a field '{name}' in this project already, and the policy opens fields by name. Give the "
                f"column another name, such as '{name}_2'."
            )


def find_table(project: Project, name: str) -> PersonTable:
    """Return a further table of a project by its name.

    Raises:
        SchemaError: There is none.
    """
    found: PersonTable | None = PersonTable.objects.filter(project=project, name=name).first()
    if found is None:
        known = list(PersonTable.objects.filter(project=project).values_list("name", flat=True))
        raise SchemaError(f"The project has no table '{name[:40]}'.{did_you_mean(name[:40], known)}")
    return found

"""From a template to tables: the public schema, and reports as rows, one per exam or one per repetition."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydplib.capture.evaluation import Answers, Purpose, evaluate
from pydplib.capture.model import Group, Problem, Question, errors_of
from pydplib.capture.structure import ItemPlace
from pydplib.capture.template import Template
from pydplib.errors import DataError, SchemaError, TemplateError, did_you_mean
from pydplib.schema import Category, Column, Date, Flag, Integer, Number, Schema, Text


def to_schema(template: Template, *, group: str | None = None, skip_unbounded: bool = False) -> Schema:
    """Return what a template declares public: bounds, categories, labels, and who is a person.

    Nothing comes from data. Without ``group`` a row is a report: every question outside of repeating
    groups is a column. With the id of a repeating group a row is one repetition: its questions, and
    those of the report around it.

    Args:
        template: A template without linter errors.
        group: The repeating group whose repetitions are the rows.
        skip_unbounded: Leave out numbers and days without bounds, instead of refusing.

    Raises:
        SchemaError: A number or day has no bounds; the message names all of them.
        TemplateError: The template is not well formed, or has no such repeating group.

    Examples:
        >>> from pydplib.capture import builtin
        >>> schema = to_schema(builtin("pirads-paper"))
        >>> schema.person, schema.column("pirads").values, schema.column("age").high
        ('patient_id', (1, 2, 3, 4, 5), 100)
    """
    columns: dict[str, Column] = {}
    unbounded: list[str] = []
    for question in columns_of(template, group=group):
        column = _column(question)
        if column is None:
            unbounded.append(question.id)
        else:
            columns[question.id] = column
    if unbounded and not skip_unbounded:
        names = ", ".join(f"'{name}'" for name in unbounded)
        raise SchemaError(
            f"These items have no public bounds: {names}. Add low and high to each in the template, "
            "or leave them out with skip_unbounded=True."
        )
    rows = template.max_reports_per_person
    for loop in _loops(template, group):
        found = template.item(loop)
        rows *= (found.max_repeats or 1) if isinstance(found, Group) else 1
    name = template.id if group is None else f"{template.id}/{group}"
    if not template.person:
        if group is not None:
            raise SchemaError(
                "Rows of a repeating group belong to a person: name the question that says whose report it is, "
                'person = "..." in the template.'
            )
        return Schema(columns, name=name, lineage=template.id)
    # One lineage for reports and their repetitions: they are about the same people.
    return Schema(columns, person=template.person, max_rows_per_person=rows, name=name, lineage=template.id)


def _loops(template: Template, group: str | None) -> tuple[str, ...]:
    """Return the repeating groups around a row, outermost first."""
    plan = template.plan  # refuses a template with errors
    if group is None:
        return ()
    repeating = [found.id for _, found in plan.index.groups() if found.repeats]
    if group not in repeating:
        raise TemplateError(f"The template has no repeating group '{group}'.{did_you_mean(group, repeating)}")
    return plan.index.by_id[group].inner_loops


def columns_of(template: Template, *, group: str | None = None) -> tuple[Question, ...]:
    """Return the questions that are the columns of a row, in the order of the form.

    Examples:
        >>> from pydplib.capture import builtin
        >>> [question.id for question in columns_of(builtin("pirads-paper"))][:3]
        ['patient_id', 'department_code', 'physician_name']
    """
    loops = _loops(template, group)

    def belongs(place: ItemPlace) -> bool:
        return loops[: len(place.loops)] == place.loops

    return tuple(question for place, question in template.index.questions() if belongs(place))


def _column(question: Question) -> Column | None:
    label, title = question.label, question.text
    low: Any = question.low
    high: Any = question.high
    if question.kind == "choice":
        values = tuple(option.value for option in question.options)
        return Category(values, ordered=question.ordered, label=label, title=title)
    if question.kind == "boolean":
        return Flag(label=label, title=title)
    if question.kind == "text":
        return Text(label=label, title=title)
    if low is None or high is None:
        return None
    if question.kind == "date":
        return Date(low, high, label=label, title=title)
    if question.kind == "integer":
        return Integer(low, high, unit=question.unit, label=label, title=title)
    step = question.step
    if step is None and question.decimals is not None:
        step = min(10.0**-question.decimals, high - low)
    return Number(low, high, unit=question.unit, step=step, label=label, title=title)


def to_row(template: Template, answers: object) -> dict[str, Any]:
    """Return a report as one row: column -> value, None where nothing was answered or asked.

    Days become ``datetime.date``; answers inside repeating groups are not in it (see ``to_rows``).

    Args:
        template: A template without linter errors.
        answers: As for ``evaluate``; they are evaluated again here.

    Raises:
        DataError: The answers have errors; the message says how many, never what was answered.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> age = Question(id="age", kind="integer", title="Age", low=18, high=100)
        >>> to_row(Template(id="visit", version="1", title="Visit", items=(age,)), {"age": "64"})
        {'age': 64}
    """
    return to_rows(template, answers)[0]


def to_rows(template: Template, answers: object, *, group: str | None = None) -> list[dict[str, Any]]:
    """Return a report as rows: one per repetition of ``group``, or a single one for the report.

    Each row of a repetition also has the columns of the report around it.

    Examples:
        >>> from pydplib.capture import Group, Question, Template
        >>> lesion = Group(id="lesion", title="Lesion", repeats=True, max_repeats=4, items=(
        ...     Question(id="size", kind="integer", title="Size", low=1, high=150),))
        >>> age = Question(id="age", kind="integer", title="Age", low=18, high=100)
        >>> template = Template(id="scan", version="1", title="Scan", items=(age, lesion))
        >>> to_rows(template, {"age": 64, "lesion": [{"size": 9}, {"size": 12}]}, group="lesion")
        [{'age': 64, 'size': 9}, {'age': 64, 'size': 12}]
    """
    evaluation = evaluate(template, answers)
    if not evaluation.ok:
        first = evaluation.errors[0]
        raise DataError(
            f"The report has {len(evaluation.errors)} errors and makes no row; the first is at "
            f"'{first.place or first.item or 'the top'}': {first.message} See evaluate(template, answers).problems."
        )
    tables: list[dict[str, Any]] = [evaluation.answers]
    for loop in _loops(template, group):
        tables = [table | repetition for table in tables for repetition in table.get(loop, [])]
    columns = columns_of(template, group=group)
    return [{question.id: _cell(question, table.get(question.id)) for question in columns} for table in tables]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file after evaluation: its number, the clean answers, and what is wrong with it.

    Examples:
        >>> Row(3, {"age": 64}, ())
        Row(3, 0 problems)
    """

    number: int
    answers: Answers
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether the row can be imported."""
        return not errors_of(self.problems)

    def __repr__(self) -> str:
        """Say which and how many, never what: answers are private."""
        return f"Row({self.number}, {len(self.problems)} problems)"


def evaluate_rows(
    template: Template, rows: Iterable[object], *, purpose: Purpose = "import", first: int = 1
) -> Iterator[Row]:
    """Evaluate the rows of a file one by one, so that a dry run needs no memory; nothing is raised for a bad row.

    Args:
        template: A template without linter errors.
        rows: Answers as for ``evaluate``, one table per report; texts as a CSV file has them will do.
        purpose: As for ``evaluate``.
        first: The number of the first row, as people see it in their file.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> age = Question(id="age", kind="integer", title="Age", low=18, high=100)
        >>> template = Template(id="visit", version="1", title="Visit", items=(age,))
        >>> for row in evaluate_rows(template, [{"age": "64"}, {"age": "640"}], first=2):
        ...     print(row.number, row.ok, [problem.message for problem in row.problems])
        2 True []
        3 False ['Age must lie between 18 and 100.']
    """
    for number, answers in enumerate(rows, start=first):
        evaluation = evaluate(template, answers, purpose=purpose)
        yield Row(number, evaluation.answers, evaluation.problems)


def _cell(question: Question, value: Any) -> Any:
    return dt.date.fromisoformat(value) if question.kind == "date" and value is not None else value

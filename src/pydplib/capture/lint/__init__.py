"""The template linter: every rule of a well-formed template; each finding names the item and the fix."""

from __future__ import annotations

from pydplib.capture.lint._conditions import lint_conditions
from pydplib.capture.lint._functions import lint_functions
from pydplib.capture.lint._items import lint_items
from pydplib.capture.lint._reach import lint_reach
from pydplib.capture.lint._texts import lint_texts
from pydplib.capture.model import Template
from pydplib.capture.problems import Problem, errors_of
from pydplib.errors import TemplateError

__all__ = ["check_template", "lint"]


def lint(template: Template) -> tuple[Problem, ...]:
    """Return everything that is wrong with a template, errors and warnings, in the order of the form.

    Examples:
        >>> from pydplib.capture import Condition, Question, Template
        >>> packs = Question(id="packs", kind="integer", title="Packs", low=0, high=10,
        ...                  enable_when=(Condition("smokr", "=", True),))
        >>> smoker = Question(id="smoker", kind="boolean", title="Smoker")
        >>> for problem in lint(Template(id="visit", version="1", title="Visit", items=(smoker, packs))):
        ...     print(problem.message)
        Item 'packs' is shown depending on 'smokr', which does not exist. Did you mean 'smoker'?
    """
    findings = [*lint_items(template), *lint_conditions(template), *lint_functions(template), *lint_texts(template)]
    if not errors_of(findings):  # reachability can only be judged where the conditions make sense
        findings.extend(lint_reach(template))
    order = {place.item.id: place.order for place in reversed(template.index.places)}
    findings.sort(key=lambda problem: order.get(problem.item, -1))
    return tuple(findings)


def check_template(template: Template) -> None:
    """Raise ``TemplateError`` with every error that the linter finds; warnings pass.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> check_template(Template(id="visit", version="1", title="Visit", items=(
        ...     Question(id="zone", kind="choice", title="Zone"),)))
        Traceback (most recent call last):
        ...
        pydplib.errors.TemplateError: The template 'visit' has one error:
          - Item 'zone' is a choice without options. Add the permitted answers.
    """
    errors = errors_of(lint(template))
    if errors:
        lines = "\n".join(f"  - {problem.message}" for problem in errors)
        count = "one error" if len(errors) == 1 else f"{len(errors)} errors"
        raise TemplateError(f"The template '{template.id}' has {count}:\n{lines}")

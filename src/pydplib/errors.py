"""Every exception that pydplib raises on purpose.

Each one is also the builtin that a Python programmer would expect, so
``except ValueError`` keeps working::

    PydplibError
    ├── DataError            (ValueError)       the values handed in cannot be used
    ├── ParameterError       (ValueError)       an argument is missing, unknown or out of range
    ├── SchemaError          (ValueError)       a declaration is incomplete or contradicts itself
    ├── QuestionError        (ValueError)       a question does not fit the schema
    ├── CalibrationError     (ValueError)       no noise reaches the accuracy or band asked for
    ├── AnonymityError       (ValueError)       no transformation satisfies the models
    ├── HierarchyError       (ValueError)       a generalization hierarchy has a gap or a contradiction
    ├── TemplateError        (ValueError)       a report template is not well formed
    ├── ReceiptError         (ValueError)       a receipt is forged, damaged or signed by an unknown key
    ├── BudgetError          (PermissionError)  the privacy budget cannot pay; shows asked and left
    ├── PolicyError          (PermissionError)  the data flow policy says no
    ├── LedgerError          (RuntimeError)     the ledger is damaged, replaced or rolled back
    ├── EngineError          (RuntimeError)     a database or cluster did not do its part
    └── MissingExtraError    (ImportError)      an optional part is not installed; names the pip command

Rules for messages: what was asked, the rule, what was got, the next step.
Never a cell, a row or an exact statistic of private data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import ClassVar


class PydplibError(Exception):
    """Base of all errors raised on purpose; ``exit_code`` and ``http_status`` say how they surface.

    Examples:
        >>> from pydplib.errors import ParameterError, PydplibError
        >>> issubclass(ParameterError, PydplibError) and issubclass(ParameterError, ValueError)
        True
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500


class DataError(PydplibError, ValueError):
    """The values handed in cannot be used (missing, infinite, of mixed kinds, empty)."""

    exit_code = 10
    http_status = 422


class ParameterError(PydplibError, ValueError):
    """An argument is missing, unknown or out of range."""

    exit_code = 11
    http_status = 422


class SchemaError(PydplibError, ValueError):
    """A declaration of public facts is incomplete or contradicts itself."""

    exit_code = 12
    http_status = 422


class QuestionError(PydplibError, ValueError):
    """A question does not fit the schema it is asked of."""

    exit_code = 13
    http_status = 422


class CalibrationError(PydplibError, ValueError):
    """No amount of noise reaches the accuracy or the noise band that was asked for."""

    exit_code = 14
    http_status = 422


class AnonymityError(PydplibError, ValueError):
    """No allowed transformation of the table satisfies the privacy models."""

    exit_code = 15
    http_status = 422


class HierarchyError(PydplibError, ValueError):
    """A generalization hierarchy has a gap or contradicts itself."""

    exit_code = 16
    http_status = 422


class TemplateError(PydplibError, ValueError):
    """A report template is not well formed."""

    exit_code = 17
    http_status = 422


class ReceiptError(PydplibError, ValueError):
    """A receipt is forged, damaged or signed by an unknown key."""

    exit_code = 18
    http_status = 422


class BudgetError(PydplibError, PermissionError):
    """The privacy budget cannot pay for the question.

    Attributes:
        asked: What the question would have cost, in words.
        left: What is left of the budget, in words.
    """

    exit_code = 20
    http_status = 403

    def __init__(self, message: str, *, asked: str | None = None, left: str | None = None) -> None:
        super().__init__(message)
        self.asked = asked
        self.left = left


class PolicyError(PydplibError, PermissionError):
    """The data flow policy does not allow this."""

    exit_code = 21
    http_status = 403


class LedgerError(PydplibError, RuntimeError):
    """The ledger is damaged, was replaced or rolled back, or cannot be written."""

    exit_code = 30
    http_status = 500


class EngineError(PydplibError, RuntimeError):
    """A database or cluster did not do its part. Never carries the engine's own text, which may quote rows."""

    exit_code = 31
    http_status = 503


class MissingExtraError(PydplibError, ImportError):
    """An optional part is not installed; the message names the pip command."""

    exit_code = 40
    http_status = 501

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part. Install it with: pip install 'pydplib[{extra}]'")
        self.extra = extra
        self._arguments = (what, extra)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), self._arguments  # so that it survives the way between processes


ERROR_TYPES: tuple[type[PydplibError], ...] = (
    DataError,
    ParameterError,
    SchemaError,
    QuestionError,
    CalibrationError,
    AnonymityError,
    HierarchyError,
    TemplateError,
    ReceiptError,
    BudgetError,
    PolicyError,
    LedgerError,
    EngineError,
    MissingExtraError,
)
"""All of them, in the order of the tree: the table of exit codes and HTTP statuses is made from this."""


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return a hint such as ``" Did you mean 'mean'?"``, or the list of what is known.

    For names of arguments, columns and options only: never call it with values of private data.

    Examples:
        >>> did_you_mean("hihg", ["low", "medium", "high"])
        " Did you mean 'high'?"
    """
    names = [str(name) for name in known]
    close = get_close_matches(str(word), names, n=1, cutoff=0.6)
    if close:
        return f" Did you mean '{close[0]}'?"
    return f" Choose one of: {', '.join(names)}." if names else ""


_NOT_A_NAME = re.compile(r"[\s\d.,:;/+%()-]*")  # numbers, dates, times, nothing: cells rather than names
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")
_LONGEST_NAME = 60


def looks_like_names(columns: Iterable[object]) -> bool:
    """Tell whether a table's first line can be the names of its columns, and not its first row.

    Examples:
        >>> looks_like_names(["age", "psa in ng/ml"]), looks_like_names(["61", "Doe", "1950-01-01"])
        (True, False)
    """
    names = [str(name) for name in columns]
    return all(
        len(name) <= _LONGEST_NAME and not _NOT_A_NAME.fullmatch(name) and not _BINARY.search(name) for name in names
    )


def column_hint(word: object, columns: Iterable[object]) -> str:
    """Return a hint for a column that a table does not have: the nearest name, or how many columns there are.

    Where a file has no line of names, its first row stands in their place: so no list of them is ever shown, and
    nothing at all where one of them looks like a cell.

    Examples:
        >>> column_hint("agee", ["age", "psa"]), column_hint("age", ["61", "Doe"])
        (" Did you mean 'age'?", ' It has 2 columns; their names must stand in its first line.')
    """
    names = [str(name) for name in columns]
    by_case = {name.casefold(): name for name in names}
    close = get_close_matches(str(word).casefold(), by_case, n=1, cutoff=0.6) if looks_like_names(names) else []
    if close:
        return f" Did you mean '{by_case[close[0]]}'?"
    count = "1 column; its name" if len(names) == 1 else f"{len(names)} columns; their names"
    return f" It has {count} must stand in its first line."


def shown(value: object) -> str:
    """Return an argument as a message may show it: plain numbers and short words, of all else only the type.

    An argument is sometimes a whole column by mistake, and a message must not print it.

    Examples:
        >>> shown(-1.5), shown([71, 64]), shown(None)
        ('-1.5', 'a list', 'None')
    """
    plain = value is None or type(value) in (bool, int, float, str)
    try:
        text = repr(value) if plain else ""
    except ValueError:  # a whole number of more digits than Python writes
        text = ""
    if text and len(text) <= 40:
        return text
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}{' too long to show' if plain else ''}"


def import_extra(module: str, *, what: str, extra: str) -> ModuleType:
    """Import ``module``, or raise ``MissingExtraError`` that names the pip command.

    Args:
        module: The module to import, e.g. ``"plotly.graph_objects"``.
        what: What the user was about to do, as the start of a sentence, e.g. ``"Drawing a figure"``.
        extra: The extra of pydplib that brings it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, extra) from error

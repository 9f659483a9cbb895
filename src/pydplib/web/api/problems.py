"""Errors as JSON: the words of ``pydplib.errors`` with their own status; never a trace, never what was sent."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, cast

from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja.errors import HttpError, ValidationError

from pydplib.errors import BudgetError, PydplibError
from pydplib.web import room
from pydplib.web.api.tokens import NoToken, TooOften
from pydplib.web.ledger.pauses import FOR_OTHERS, PausedLedgerError

_log = logging.getLogger("pydplib.web.api")

UNKNOWN_CALLER = (
    "A token is needed that works: send 'Authorization: Bearer TOKEN'. Make one on your account page "
    "(/account/tokens). Tokens end when they expire or are revoked, and with the password."
)


def problem(
    status: int, error: str, *, kind: str = "", headers: dict[str, str] | None = None, **more: object
) -> HttpResponse:
    """Return an error as JSON; ``kind`` is the class in ``pydplib.errors``, for clients."""
    body = {"error": error, "kind": kind, "asked": None, "left": None} | more
    return JsonResponse(body, status=status, headers=headers)


def answer(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return what a caller is told about an exception."""
    if isinstance(exception, PydplibError) and exception.http_status < 500:
        more: dict[str, Any] = (
            {"asked": exception.asked, "left": exception.left} if isinstance(exception, BudgetError) else {}
        )
        return problem(exception.http_status, str(exception), kind=_kind(exception), **more)
    if isinstance(exception, PausedLedgerError):
        return problem(exception.http_status, FOR_OTHERS, kind="LedgerError")
    if isinstance(exception, NoToken):
        return problem(401, UNKNOWN_CALLER, kind="PolicyError", headers={"WWW-Authenticate": 'Bearer realm="pydplib"'})
    if isinstance(exception, TooOften):
        words = f"Too many requests with this token. Wait {exception.wait} s, then go on."
        return problem(429, words, kind="EngineError", headers={"Retry-After": str(exception.wait)})
    if isinstance(exception, Http404):
        return problem(404, "There is nothing here, or nothing for you.", kind="ParameterError")
    if isinstance(exception, ValidationError):
        return problem(422, _validation_words(exception.errors), kind="QuestionError")
    if isinstance(exception, RequestDataTooBig):
        return problem(413, "The body is too large for a question.", kind="ParameterError")
    if isinstance(exception, HttpError | BadRequest | SuspiciousOperation):
        return problem(400, "The body cannot be read: send one JSON object in UTF-8.", kind="ParameterError")
    reason = room.reason_of(exception)
    if reason is not None:
        _log.error("%s at %s", type(exception).__name__, request.resolver_match.route if request.resolver_match else "")
        return problem(reason[0], reason[1], kind="EngineError", headers={"Retry-After": "60"})
    status = exception.http_status if isinstance(exception, PydplibError) else 500
    route = request.resolver_match.route if request.resolver_match else ""
    _log.error("%s at %s", type(exception).__name__, route)
    return problem(status, room.FAULT, kind=type(exception).__name__ if isinstance(exception, PydplibError) else "")


def _kind(error: PydplibError) -> str:
    """Return the class of ``pydplib.errors`` that an error is one of: clients know no other."""
    return next(each.__name__ for each in type(error).__mro__ if each.__module__ == PydplibError.__module__)


def _validation_words(errors: list[dict[str, object]]) -> str:
    """Return the first faults by place and rule. The values are left out, and so are names that may be values."""
    found = [f"{_place(cast('tuple[object, ...]', error.get('loc', ())))}: {_rule(error)}" for error in errors[:3]]
    more = f" ({len(errors) - 3} more)" if len(errors) > 3 else ""
    return "The request does not fit: " + "; ".join(found) + more + ". See /api/v1/openapi.json."


def _place(loc: Iterable[object]) -> str:
    parts = [str(part) for part in loc if part not in ("body", "query", "path")]
    shown = [part if (part.isidentifier() and len(part) <= 40) or part.isdigit() else "?" for part in parts]
    return ".".join(shown) or "the body"


def _rule(error: dict[str, Any]) -> str:
    """Return pydantic's rule by its kind; its own words may quote what was sent."""
    kind, context = str(error.get("type", "")), error.get("ctx") or {}
    limits = [f"{name.replace('_', ' ')} {value}" for name, value in context.items() if isinstance(value, int | float)]
    words = {
        "extra_forbidden": "unknown part",
        "missing": "missing",
        "union_tag_invalid": "unknown question",
        "union_tag_not_found": "says not what it asks",
        "literal_error": "unknown word",
    }.get(kind, kind.replace("_", " "))
    return f"{words} ({', '.join(limits)})" if limits else words

"""Permissions of the API: each operation names power, scope and object; the guard asks them before the operation runs.

Write an operation like this::

    @router.get("/projects/{key}/budget", response=answers(BudgetOut), operation_id="read_budget")
    @entry("read_project", scope="read", of=Project)
    def read_budget(request, key: str): ...

and find ``request.user``, ``request.project``, ``request.member`` and ``request.target`` as in views of pages.
An operation without ``entry`` leaves its address without a permission, and the server does not start.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import Power, check_use
from pydplib.web.api import tokens
from pydplib.web.api.models import ApiToken
from pydplib.web.api.parser import check_length
from pydplib.web.api.problems import answer, problem
from pydplib.web.auditlog.log import through_token
from pydplib.web.people.models import User
from pydplib.web.people.permissions import Permission, note_refusal
from pydplib.web.people.sign_in.second_factor import is_guarded
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import M, TargetRequest, find, note_stranger, project_of

Operation = TypeVar("Operation", bound=Callable[..., HttpResponseBase])


class TokenRequest(TargetRequest[M]):
    """What an operation gets: as a view of a page, and the token that it was called with."""

    token: ApiToken


@dataclass(frozen=True, slots=True)
class OperationRule:
    """Who may call an operation.

    Args:
        power: The power that the role in the project must have; none where no project is asked.
        scope: What the token must be for; none for any.
        of: The model that the address names by ``{key}``; it is a project or has one.
        public: Whether anybody may, without a token.
        basic: Whether the token may be a password of HTTP's basic scheme; for reading alone.
    """

    power: Power | None = None
    scope: tokens.Scope | None = None
    of: type[Model] | None = None
    _: KW_ONLY
    public: bool = False
    basic: bool = False


def entry(
    power: Power | None = None,
    *,
    scope: tokens.Scope | None = None,
    of: type[Model] | None = None,
    basic: bool = False,
) -> Callable[[Operation], Operation]:
    """Let those in whose token has ``scope`` and whose role in the object's project has ``power``."""
    if (power is None) != (of is None):
        raise ImproperlyConfigured("A power is asked of the project of an object: give both or none.")
    if basic and scope != "read":
        raise ImproperlyConfigured("A password of the basic scheme opens what only reads.")
    return lambda operation: _hang(operation, OperationRule(power, scope, of, basic=basic))


def open_to_all(operation: Operation) -> Operation:
    """Let anybody in, without a token."""
    return _hang(operation, OperationRule(public=True))


def guarded_urls(api: Any) -> Iterator[URLPattern]:
    """Yield one address per path of the API, each behind its guard."""
    for router in api._get_bound_routers():
        for where, path_view in router.path_operations.items():
            route = f"{router.prefix}/{where}".replace("//", "/").strip("/")
            yield path(route.replace("{", "<str:").replace("}", ">"), guard(path_view))


def guard(path_view: Any) -> Callable[..., HttpResponse]:
    """Return the view of one path: token, object, place, power and scope first, then the operation."""
    entries: dict[str, OperationRule | None] = {
        method: getattr(operation.view_func, "entry", None)
        for operation in path_view.operations
        for method in operation.methods
    }
    known = {(each.power, each.of, each.public) for each in entries.values() if each is not None}
    queries = {
        method: {
            name
            for model in operation.models
            if model.__ninja_param_source__ == "query"
            for name in model.__ninja_flatten_map__
        }
        for operation in path_view.operations
        for method in operation.methods
    }
    inner = path_view.get_view()

    def opened(request: HttpRequest, kwargs: dict[str, object], name_token: Callable[[str], None]) -> HttpResponse:
        if None in entries.values():
            raise Http404
        rule = entries.get(request.method or "")
        first = rule or next(iter(entries.values()))
        assert first is not None
        if not first.public:
            enter(request, first, kwargs, scope=None if rule is None else rule.scope, name_token=name_token)
        if rule is None:
            return _not_allowed(entries)
        check_length(request)
        query = queries[request.method or ""]
        if set(request.GET) - query:
            takes = f"takes only these: {', '.join(sorted(query))}" if query else "takes none"
            raise ParameterError(f"Unknown query parameter in the address: this operation {takes}.")
        response: HttpResponse = inner(request, **kwargs)
        return response

    @functools.wraps(inner)
    def guarded(request: HttpRequest, **kwargs: object) -> HttpResponse:
        with through_token() as name_token:
            try:
                return opened(request, kwargs, name_token)
            except Exception as exception:
                told = answer(request, exception)
                if told.status_code == 401 and any(each is not None and each.basic for each in entries.values()):
                    told["WWW-Authenticate"] = 'Basic realm="pydplib", charset="UTF-8"'  # such software waits for it
                return told

    guarded.csrf_exempt = True  # type: ignore[attr-defined]  # no cookie opens it: only a header that no form can send
    if len(known) == 1 and None not in entries.values():
        power, _, public = known.pop()
        guarded.permission = Permission("public" if public else "token", power)  # type: ignore[attr-defined]
    return guarded


def enter(
    sent: HttpRequest,
    rule: OperationRule,
    kwargs: dict[str, object],
    *,
    scope: tokens.Scope | None,
    name_token: Callable[[str], None],
) -> None:
    """Check the token and, where an object is named, the place in its project; cookies count for nothing here."""
    token = tokens.use(sent.headers.get("Authorization", ""), basic=rule.basic and sent.method in ("GET", "HEAD"))
    name_token(token.key)
    request = cast("TokenRequest[Model]", sent)
    request.user, request.token = token.user, token
    member = None
    if rule.of is not None:
        request.target = find(rule.of, str(kwargs["key"]))
        request.project = project_of(request.target)
        member = member_of(token.user, request.project)
        if member is None:
            note_stranger(request, request.project)
            raise Http404
        request.member = member
    try:
        _check_scope(token, scope)
        if rule.power is not None:
            assert member is not None  # ``entry`` takes a power only together with an object
            check_use(member.role, rule.power)
            if is_guarded(member.role):
                _check_second_factor(token)
    except PolicyError as refusal:
        note_refusal(request, refusal)
        raise


def member_of(user: User, project: Project) -> Member | None:
    """Return a user's place in a project as it is in the database now; there is no preview by token."""
    return Member.objects.filter(project=project, user=user).first()


def _check_scope(token: ApiToken, scope: tokens.Scope | None) -> None:
    if scope is not None and scope not in token.scopes:
        raise PolicyError(f"This token is not for that: it lacks the scope '{scope}'. Make one that has it.")


def _check_second_factor(token: ApiToken) -> None:
    why = tokens.factor_problem(token, demo=settings.CONFIGURATION.demo)
    if why:
        raise PolicyError(why)


def _not_allowed(entries: Iterable[str]) -> HttpResponse:
    allowed = ", ".join(sorted(entries))
    return problem(405, f"This address takes {allowed}.", kind="ParameterError", headers={"Allow": allowed})


def _hang(operation: Operation, rule: OperationRule) -> Operation:
    operation.entry = rule  # type: ignore[attr-defined]
    return operation

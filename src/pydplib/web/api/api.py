"""The API object: title, strict parser, errors as JSON, and the second lock behind the guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.security import HttpBearer

from pydplib._version import __version__
from pydplib.web.api import problems
from pydplib.web.api.parser import StrictParser
from pydplib.web.api.routers import ROUTERS

PREFIX = "/api/v1/"


class GuardedBearer(HttpBearer):
    """Names the scheme in the OpenAPI document, and refuses any request that did not come through the guard."""

    def __call__(self, request: HttpRequest) -> object:
        """Return the token that the guard found; the header is not read again."""
        return getattr(request, "token", None)

    def authenticate(self, request: HttpRequest, token: str) -> object:
        """Never reached: ``__call__`` asks the guard."""
        return None


api = NinjaAPI(
    title="pydplib",
    version=__version__,
    description=(
        "Private statistics of medical data. Questions are paid from a privacy budget; answers carry noise and a "
        "guarantee. Every call passes the same permission checks as the pages of the platform."
    ),
    openapi_url=None,
    docs_url=None,
    urls_namespace="api-v1",
    auth=GuardedBearer(),
    parser=StrictParser(),
)
for _router in ROUTERS:
    api.add_router("", _router)
for _kind in (Exception, *api._exception_handlers):
    api.add_exception_handler(_kind, cast("Callable[..., HttpResponse]", problems.answer))


def openapi_document() -> dict[str, object]:
    """Return the OpenAPI document of all operations."""
    return dict(api.get_openapi_schema(path_prefix=PREFIX))

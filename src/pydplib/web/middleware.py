"""What every response passes: security headers, and domain errors as plain pages."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from pydplib.errors import PydplibError
from pydplib.web import room
from pydplib.web.ledger.pauses import HEADING, PausedLedgerError, words_for
from pydplib.web.pages import healthz

Handler = Callable[[HttpRequest], HttpResponseBase]
_log = logging.getLogger("pydplib.web")

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


def content_security_policy() -> str:
    """Return the policy as a header, for responses that django-csp does not reach."""
    directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    return "; ".join(f"{name} {' '.join(values)}" for name, values in directives.items())


class SecurityHeaders:
    """Puts the headers on every response: pages, errors, and static files, which answer before all else."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, then add what is missing."""
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("Content-Security-Policy", content_security_policy())
        if response.status_code >= 400 or not request.path.startswith(settings.STATIC_URL):
            # Pages hold personal data: no proxy and no shared computer may keep them.
            response.headers.setdefault("Cache-Control", "no-store")
        return response


class HealthCheck:
    """Answers ``/healthz`` under whatever name the one who asks knows this machine by, and without a session."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the health check, pass on everything else."""
        if request.path == "/healthz":
            return healthz(request)
        return self.get_response(request)


class ReadableAddresses:
    """Refuses an address with a zero byte: no key has one, and PostgreSQL stops at it with a fault."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Look at the path and at every value behind it, then pass on."""
        if "\0" in request.path or any("\0" in value for _, values in request.GET.lists() for value in values):
            raise BadRequest("zero byte in the address")
        return self.get_response(request)


class DomainErrors:
    """Turns an error that pydplib raises on purpose into a page with its message and its own status."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Pass on."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Show errors whose messages are written for users; all others become the generic page."""
        if not isinstance(exception, PydplibError):
            return None
        if isinstance(exception, room.FullDiskError):
            return None  # the page of faults says it, without the database
        status, heading = exception.http_status, ""
        if isinstance(exception, PausedLedgerError):
            message, heading = words_for(request, exception), HEADING
        elif status >= 500:
            _log.error("%s at %s", type(exception).__name__, request.resolver_match and request.resolver_match.route)
            message = room.FAULT
        else:
            message = str(exception)
        if request.headers.get("Accept", "").startswith("application/json"):
            return JsonResponse({"error": message}, status=status)
        return render(
            request, "problem.html", {"message": message, "status": status, "heading": heading}, status=status
        )

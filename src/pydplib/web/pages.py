"""Pages that belong to no app: health check, errors."""

from __future__ import annotations

import sys

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from pydplib.web import room
from pydplib.web.people.permissions import public


@public
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Say whether the server and its database answer, and whether there is room on the disk; nothing else."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except DatabaseError:
        return JsonResponse({"status": "database does not answer"}, status=503)
    if not room.has_room():
        return JsonResponse({"status": "disk is full"}, status=503)
    return JsonResponse({"status": "ok"})


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that cannot be read."""
    return render(request, "400.html", status=400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that is not allowed."""
    return render(request, "403.html", status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an address that is not there, or not for this user: both look the same."""
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a fault, without a word about it, and without the database: it may be what failed.

    A full disk and a database that is down are said: the reader can do something about them, or wait.
    """
    error = sys.exception()
    reason = None if error is None else room.reason_of(error)
    if reason is None:
        return HttpResponse(render_to_string("500.html"), status=500)
    status, words = reason
    if request.path.startswith("/api/"):
        return JsonResponse({"error": words, "kind": "EngineError", "asked": None, "left": None}, status=status)
    return HttpResponse(render_to_string("503.html", {"words": words}), status=status)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form that did not come from one of our pages, or came too late."""
    message = "This form is too old, or cookies are turned off. Go back, load the page again and repeat what you did."
    return render(
        request, "problem.html", {"message": message, "status": 403, "heading": "That did not work"}, status=403
    )

"""Pages that belong to no app: health check, errors."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from pydplib.web.doors import public


@public
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Say whether the server and its database answer; nothing else."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except DatabaseError:
        return JsonResponse({"status": "database does not answer"}, status=503)
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
    """Answer a fault, without a word about it, and without the database: it may be what failed."""
    return HttpResponse(render_to_string("500.html"), status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form that did not come from one of our pages, or came too late."""
    message = "This form is too old, or cookies are turned off. Go back, load the page again and repeat what you did."
    return render(
        request, "problem.html", {"message": message, "status": 403, "heading": "That did not work"}, status=403
    )

"""Pages that belong to no app: home, health check, errors."""

from __future__ import annotations

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from pydplib.web.doors import public, signed_in


@signed_in
def home(request: HttpRequest) -> HttpResponse:
    """Show the user's projects and what is open in them."""
    from pydplib.web.projects.models import Member

    places = Member.objects.filter(user=request.user).select_related("project", "project__hospital")
    return render(request, "home.html", {"places": places})


@public
def healthz(request: HttpRequest) -> HttpResponse:
    """Say whether the server and its database answer; nothing else."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()
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
    """Answer a fault, without a word about it."""
    return render(request, "500.html", status=500)

"""All addresses: each app has its own, this is where they meet."""

from __future__ import annotations

from django.urls import include, path

from pydplib.web import pages

urlpatterns = [
    path("healthz", pages.healthz, name="healthz"),
    path("", include("pydplib.web.design.urls")),
    path("", include("pydplib.web.people.urls")),
    path("", include("pydplib.web.projects.urls")),
    path("", include("pydplib.web.reporting.urls")),
    path("", include("pydplib.web.intake.urls")),
    path("", include("pydplib.web.tables.urls")),
    path("", include("pydplib.web.analyses.urls")),
    path("", include("pydplib.web.dashboards.urls")),
    path("", include("pydplib.web.exports.urls")),
    path("", include("pydplib.web.attacks.urls")),
    path("", include("pydplib.web.auditlog.urls")),
    path("", include("pydplib.web.api.urls")),
]

handler400 = "pydplib.web.pages.bad_request"
handler403 = "pydplib.web.pages.forbidden"
handler404 = "pydplib.web.pages.not_found"
handler500 = "pydplib.web.pages.server_error"

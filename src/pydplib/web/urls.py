"""All addresses: each app has its own, this is where they meet."""

from __future__ import annotations

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

from pydplib.web import audit_pages, gallery, home, pages, search

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", pages.healthz, name="healthz"),
    path("", home.home, name="home"),
    path("search", search.search, name="search"),
    path("audit", audit_pages.audit, name="audit"),
    path("audit/export/<str:kind>", audit_pages.export, name="audit_export"),
    path("audit/verify", audit_pages.verify_chain, name="audit_verify"),
    path("audit/head", audit_pages.head, name="audit_head"),
    path("", include("pydplib.web.people.urls")),
    path("", include("pydplib.web.projects.urls")),
    path("", include("pydplib.web.reporting.urls")),
    path("", include("pydplib.web.intake.urls")),
    path("", include("pydplib.web.analyses.urls")),
    path("", include("pydplib.web.dashboards.urls")),
    path("", include("pydplib.web.exports.urls")),
    path("", include("pydplib.web.synthetic.urls")),
    path("", include("pydplib.web.attacks.urls")),
    path("", include("pydplib.web.api.urls")),
    path("", include("pydplib.web.notices.urls")),
]
if settings.CONFIGURATION.gallery:  # only where the operator switched it on: PYDPLIB_GALLERY=1
    urlpatterns += [
        path("design", gallery.gallery, name="design"),
        path("design/narrow", gallery.narrow, name="design_narrow"),
        path("design/error/<int:status>", gallery.error, name="design_error"),
    ]

handler400 = "pydplib.web.pages.bad_request"
handler403 = "pydplib.web.pages.forbidden"
handler404 = "pydplib.web.pages.not_found"
handler500 = "pydplib.web.pages.server_error"

"""The address of the gallery, there only where the operator switched it on (``PYDPLIB_GALLERY=1``)."""

from __future__ import annotations

from django.conf import settings
from django.urls import URLPattern, path

from pydplib.web.design import gallery

urlpatterns: list[URLPattern] = []

if settings.CONFIGURATION.gallery:
    urlpatterns += [
        path("design", gallery.gallery, name="design"),
        path("design/narrow", gallery.narrow, name="design_narrow"),
        path("design/error/<int:status>", gallery.error, name="design_error"),
    ]

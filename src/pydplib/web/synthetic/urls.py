"""Addresses of synthetic tables."""

from __future__ import annotations

from django.urls import path

from pydplib.web.synthetic import views

urlpatterns = [
    path("synthetic", views.synthetic_tables, name="synthetic"),
    path("synthetic/new", views.synthetic_new, name="synthetic_new"),
    path("synthetic/<str:key>", views.synthetic_table, name="synthetic_table"),
    path("synthetic/<str:key>/run", views.synthetic_run, name="synthetic_run"),
    path("synthetic/<str:key>/progress", views.synthetic_progress, name="synthetic_progress"),
    path("synthetic/<str:key>/discard", views.synthetic_discard, name="synthetic_discard"),
    path("synthetic/<str:key>/download/<str:kind>", views.synthetic_download, name="synthetic_download"),
    path("synthetic/<str:key>/receipt", views.synthetic_receipt, name="synthetic_receipt"),
    path("synthetic/<str:key>/original", views.synthetic_original, name="synthetic_original"),
    path("synthetic/<str:key>/withdraw", views.synthetic_withdraw, name="synthetic_withdraw"),
    path("synthetic/<str:key>/deleted", views.synthetic_deleted, name="synthetic_deleted"),
]

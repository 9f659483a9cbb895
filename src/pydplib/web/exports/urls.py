"""Addresses of anonymized exports."""

from __future__ import annotations

from django.urls import path

from pydplib.web.exports import views_exports, views_plan

urlpatterns = [
    path("anonymize", views_exports.exports, name="anonymize"),
    path("anonymize/new", views_plan.export_new, name="export_new"),
    path("anonymize/<str:key>", views_exports.export, name="export"),
    path("anonymize/<str:key>/fields", views_plan.export_fields, name="export_fields"),
    path("anonymize/<str:key>/models", views_plan.export_models, name="export_models"),
    path("anonymize/<str:key>/coarsening", views_plan.export_trees, name="export_trees"),
    path("anonymize/<str:key>/run", views_plan.export_run, name="export_run"),
    path("anonymize/<str:key>/progress", views_plan.export_progress, name="export_progress"),
    path("anonymize/<str:key>/discard", views_plan.export_discard, name="export_discard"),
    path("anonymize/<str:key>/release", views_exports.export_release, name="export_release"),
    path("anonymize/<str:key>/withdraw", views_exports.export_withdraw, name="export_withdraw"),
    path("anonymize/<str:key>/download/<str:kind>", views_exports.export_download, name="export_download"),
    path("anonymize/<str:key>/certificate", views_exports.export_certificate, name="export_certificate"),
    path("anonymize/<str:key>/deleted", views_exports.export_deleted, name="export_deleted"),
]

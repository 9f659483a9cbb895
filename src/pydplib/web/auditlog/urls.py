"""Addresses of the audit log."""

from __future__ import annotations

from django.urls import path

from pydplib.web.auditlog import views

urlpatterns = [
    path("audit", views.audit, name="audit"),
    path("audit/export/<str:kind>", views.export, name="audit_export"),
    path("audit/verify", views.verify_chain, name="audit_verify"),
    path("audit/head", views.head, name="audit_head"),
]

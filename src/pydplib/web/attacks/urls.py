"""Addresses of attacks."""

from __future__ import annotations

from django.urls import path

from pydplib.web.attacks import views

urlpatterns = [
    path("attacks", views.attacks, name="attacks"),
    path("attacks/start", views.attack_start, name="attack_start"),
    path("attacks/assessment", views.assessment, name="assessment"),
    path("attacks/assessment.pdf", views.assessment_pdf, name="assessment_pdf"),
    path("attacks/<str:key>", views.attack, name="attack"),
    path("attacks/<str:key>/progress", views.attack_progress, name="attack_progress"),
    path("attacks/<str:key>/run", views.attack_run, name="attack_run"),
    path("attacks/<str:key>/discard", views.attack_discard, name="attack_discard"),
    path("attacks/<str:key>/report", views.attack_report, name="attack_report"),
]

"""Addresses of notices."""

from __future__ import annotations

from django.urls import path

from pydplib.web.notices import views

urlpatterns = [path("account/notices", views.notices, name="notices")]

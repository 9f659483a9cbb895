"""Dashboards as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class DashboardsConfig(AppConfig):
    """Registers the app under the short label ``dashboards``."""

    name = "pydplib.web.dashboards"
    label = "dashboards"

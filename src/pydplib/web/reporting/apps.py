"""Reporting as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class ReportingConfig(AppConfig):
    """Registers the app under the short label ``reporting``."""

    name = "pydplib.web.reporting"
    label = "reporting"

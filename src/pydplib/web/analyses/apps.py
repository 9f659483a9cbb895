"""Analyses as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class AnalysesConfig(AppConfig):
    """Registers the app under the short label ``analyses``."""

    name = "pydplib.web.analyses"
    label = "analyses"

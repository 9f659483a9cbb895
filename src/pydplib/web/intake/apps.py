"""Intake as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class IntakeConfig(AppConfig):
    """Registers the app under the short label ``intake``."""

    name = "pydplib.web.intake"
    label = "intake"

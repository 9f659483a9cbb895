"""Anonymized exports as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class ExportsConfig(AppConfig):
    """Registers the app under the short label ``exports``."""

    name = "pydplib.web.exports"
    label = "exports"

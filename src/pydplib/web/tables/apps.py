"""Further tables as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class TablesConfig(AppConfig):
    """Registers the app under the short label ``tables``."""

    name = "pydplib.web.tables"
    label = "tables"

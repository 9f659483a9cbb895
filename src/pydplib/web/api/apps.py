"""The API as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Registers the app under the short label ``api``."""

    name = "pydplib.web.api"
    label = "api"

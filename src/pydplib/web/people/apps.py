"""People as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """Registers the app under the short label ``people``."""

    name = "pydplib.web.people"
    label = "people"

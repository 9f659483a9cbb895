"""People as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """Registers the app under the short label ``people``."""

    name = "pydplib.web.people"
    label = "people"

    def ready(self) -> None:
        """Listen to who signs in and out."""
        from pydplib.web.people import sessions  # noqa: F401 - connects its receivers

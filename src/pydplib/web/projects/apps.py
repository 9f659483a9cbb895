"""Projects as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """Registers the app under the short label ``projects``, and the check that every view has a door."""

    name = "pydplib.web.projects"
    label = "projects"

    def ready(self) -> None:
        """Register the system checks."""
        from pydplib.web import doors  # noqa: F401

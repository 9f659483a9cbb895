"""The design system as a Django app: it brings templates, static files and tags, and no models."""

from __future__ import annotations

from django.apps import AppConfig


class DesignConfig(AppConfig):
    """Registers the app."""

    name = "pydplib.web.design"
    label = "design"
    verbose_name = "Design"

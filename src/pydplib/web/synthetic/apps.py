"""Synthetic tables as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class SyntheticConfig(AppConfig):
    """Registers the app under the short label ``synthetic``."""

    name = "pydplib.web.synthetic"
    label = "synthetic"

"""Attacks as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class AttacksConfig(AppConfig):
    """Registers the app under the short label ``attacks``."""

    name = "pydplib.web.attacks"
    label = "attacks"

"""The ledger as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """Registers the app under the short label ``ledger``."""

    name = "pydplib.web.ledger"
    label = "ledger"

"""Analyses as a Django app."""

from __future__ import annotations

from typing import ClassVar

from pydplib.web import hooks


class AnalysesConfig(hooks.PlatformApp):
    """Registers the app under the short label ``analyses``."""

    name = "pydplib.web.analyses"
    label = "analyses"
    registers: ClassVar = ("receipts.keys", "payments.sizes")

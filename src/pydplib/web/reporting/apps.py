"""Reporting as a Django app."""

from __future__ import annotations

from typing import ClassVar

from pydplib.web import hooks


class ReportingConfig(hooks.PlatformApp):
    """Registers the app under the short label ``reporting``."""

    name = "pydplib.web.reporting"
    label = "reporting"
    registers: ClassVar = ("report_templates.versions",)

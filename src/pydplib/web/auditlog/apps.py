"""The audit log as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class AuditLogConfig(AppConfig):
    """Registers the app under the short label ``auditlog``."""

    name = "pydplib.web.auditlog"
    label = "auditlog"

"""Notices as a Django app."""

from __future__ import annotations

from pydplib.web import hooks


class NoticesConfig(hooks.PlatformApp):
    """Registers the app under the short label ``notices``."""

    name = "pydplib.web.notices"
    label = "notices"

"""The API as a Django app."""

from __future__ import annotations

from typing import ClassVar

from pydplib.web import hooks


class ApiConfig(hooks.PlatformApp):
    """Registers the app under the short label ``api``."""

    name = "pydplib.web.api"
    label = "api"
    registers: ClassVar = ("tokens",)

"""Further tables as a Django app."""

from __future__ import annotations

from typing import ClassVar

from pydplib.web import hooks


class TablesConfig(hooks.PlatformApp):
    """Registers the app under the short label ``tables``."""

    name = "pydplib.web.tables"
    label = "tables"
    registers: ClassVar = ("declared",)

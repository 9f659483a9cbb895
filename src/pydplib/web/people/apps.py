"""People as a Django app."""

from __future__ import annotations

from typing import ClassVar

from pydplib.web import hooks


class PeopleConfig(hooks.PlatformApp):
    """Registers the app under the short label ``people``."""

    name = "pydplib.web.people"
    label = "people"
    registers: ClassVar = ("sign_in.sessions", "permissions")

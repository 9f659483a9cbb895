"""Projects as a Django app."""

from __future__ import annotations

from typing import ClassVar

from pydplib.web import hooks


class ProjectsConfig(hooks.PlatformApp):
    """Registers the app under the short label ``projects``."""

    name = "pydplib.web.projects"
    label = "projects"
    registers: ClassVar = ("members.invitations",)

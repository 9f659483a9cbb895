"""Synthetic tables as a Django app."""

from __future__ import annotations

from typing import ClassVar

from pydplib.web import hooks


class SyntheticConfig(hooks.PlatformApp):
    """Registers the app under the short label ``synthetic``."""

    name = "pydplib.web.synthetic"
    label = "synthetic"
    registers: ClassVar = ("purchases", "tables")

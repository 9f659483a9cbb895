"""Synthetic tables as a Django app."""

from __future__ import annotations

from typing import ClassVar

from pydplib.web.hooks import PlatformApp


class SyntheticConfig(PlatformApp):
    """Registers the app under the short label ``synthetic``."""

    name = "pydplib.web.synthetic"
    label = "synthetic"
    registers: ClassVar = ("purchases",)

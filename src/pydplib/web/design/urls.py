"""Addresses of the design gallery."""

from __future__ import annotations

from typing import Any

urlpatterns: list[Any] = []

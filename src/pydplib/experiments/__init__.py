"""The papers' tables and figures, made again from synthetic data."""

from __future__ import annotations

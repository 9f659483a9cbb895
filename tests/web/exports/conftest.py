"""The published study and its partners; see tests/support/export_study.py."""

from __future__ import annotations

from export_study import db, partner, study, study_made

__all__ = ["db", "partner", "study", "study_made"]

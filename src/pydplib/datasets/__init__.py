"""Synthetic cohorts: data that look like a hospital's and belong to nobody.

Examples:
    >>> from pydplib import datasets
    >>> reports = datasets.pirads(n=5, backend="numpy")
    >>> sorted(reports)[:3]
    ['age', 'bph', 'department_code']
"""

from __future__ import annotations

from pydplib.datasets._follow_up import follow_up, follow_up_schema
from pydplib.datasets._pirads import pirads
from pydplib.datasets._schema import PAPER_NAMES, PIRADS_PHRASES, SYNTHETIC_NOTE, pirads_schema

__all__ = [
    "PAPER_NAMES",
    "PIRADS_PHRASES",
    "SYNTHETIC_NOTE",
    "follow_up",
    "follow_up_schema",
    "pirads",
    "pirads_schema",
]

"""Generalization hierarchies: which labels stand for a value, from the value itself up to "*".

Importing the package enters every kind of hierarchy into ``Hierarchy.from_dict``.
"""

from __future__ import annotations

from pydplib.anonymity.hierarchies.base import Hierarchy, HierarchyGap, TableHierarchy
from pydplib.anonymity.hierarchies.code_systems import Codes
from pydplib.anonymity.hierarchies.rules import Cuts, Dates, Intervals, Masking, TopBottom

__all__ = ["Codes", "Cuts", "Dates", "Hierarchy", "HierarchyGap", "Intervals", "Masking", "TableHierarchy", "TopBottom"]

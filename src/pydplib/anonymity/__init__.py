"""Tables to hand over: k-anonymity, l-diversity, t-closeness and relatives, with risk, loss and certificate."""

from __future__ import annotations

from pydplib.anonymity.api import anonymize
from pydplib.anonymity.builders import Dates, Intervals, Masking
from pydplib.anonymity.certificate import Certificate, Statement
from pydplib.anonymity.coding import TopBottom
from pydplib.anonymity.frontier import FrontierPoint, frontier
from pydplib.anonymity.hierarchies import Hierarchy, HierarchyGap, TableHierarchy
from pydplib.anonymity.lattice import Lattice, LatticeNode, lattice_of
from pydplib.anonymity.losses import Loss
from pydplib.anonymity.measures import SensitiveMeasures
from pydplib.anonymity.models import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KMap,
    LDiversity,
    Model,
    TCloseness,
)
from pydplib.anonymity.pseudonyms import Pseudonym
from pydplib.anonymity.recipe import Recipe
from pydplib.anonymity.result import AnonymizationResult, RiskChange, Suppression
from pydplib.anonymity.risks import Attack, Contribution, Risk, risk
from pydplib.anonymity.search import SearchInfo
from pydplib.anonymity.traces import Trace
from pydplib.anonymity.verification import Across, Verification, verify

__all__ = [
    "Across",
    "AlphaK",
    "AnonymizationResult",
    "Attack",
    "BetaLikeness",
    "Certificate",
    "Contribution",
    "Dates",
    "DeltaDisclosure",
    "DeltaPresence",
    "FrontierPoint",
    "Hierarchy",
    "HierarchyGap",
    "Intervals",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "Lattice",
    "LatticeNode",
    "Loss",
    "Masking",
    "Model",
    "Pseudonym",
    "Recipe",
    "Risk",
    "RiskChange",
    "SearchInfo",
    "SensitiveMeasures",
    "Statement",
    "Suppression",
    "TCloseness",
    "TableHierarchy",
    "TopBottom",
    "Trace",
    "Verification",
    "anonymize",
    "frontier",
    "lattice_of",
    "risk",
    "verify",
]

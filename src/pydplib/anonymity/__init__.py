"""Tables to hand over: k-anonymity, l-diversity, t-closeness and relatives, with risk, loss and certificate."""

from __future__ import annotations

from pydplib.anonymity.advice import Advice, Alternative, advise
from pydplib.anonymity.api import anonymize
from pydplib.anonymity.builders import Cuts, Dates, Intervals, Masking
from pydplib.anonymity.certificate import Certificate, Statement
from pydplib.anonymity.code_systems import Codes
from pydplib.anonymity.coding import TopBottom
from pydplib.anonymity.frontier import FrontierPoint, frontier
from pydplib.anonymity.hierarchies import Hierarchy, HierarchyGap, TableHierarchy
from pydplib.anonymity.lattice import Lattice, LatticeNode, lattice_of
from pydplib.anonymity.losses import Loss
from pydplib.anonymity.measures import SensitiveMeasures
from pydplib.anonymity.models import (
    AlphaK,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KMap,
    LDiversity,
    Model,
    PopulationUniqueness,
    TCloseness,
)
from pydplib.anonymity.pseudonyms import Pseudonym
from pydplib.anonymity.recipe import Recipe
from pydplib.anonymity.result import AnonymizationResult, RiskChange, Suppression
from pydplib.anonymity.risks import Attack, Contribution, Risk, risk
from pydplib.anonymity.safe_harbor import SafeHarborFinding, safe_harbor
from pydplib.anonymity.search import SearchInfo
from pydplib.anonymity.traces import Trace
from pydplib.anonymity.unnamed import ColumnFinding
from pydplib.anonymity.utility import Classification, ColumnChange, compare_classifier, compare_columns
from pydplib.anonymity.verification import Across, Verification, verify

__all__ = [
    "Across",
    "Advice",
    "AlphaK",
    "Alternative",
    "AnonymizationResult",
    "Attack",
    "AverageRisk",
    "BetaLikeness",
    "Certificate",
    "Classification",
    "Codes",
    "ColumnChange",
    "ColumnFinding",
    "Contribution",
    "Cuts",
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
    "PopulationUniqueness",
    "Pseudonym",
    "Recipe",
    "Risk",
    "RiskChange",
    "SafeHarborFinding",
    "SearchInfo",
    "SensitiveMeasures",
    "Statement",
    "Suppression",
    "TCloseness",
    "TableHierarchy",
    "TopBottom",
    "Trace",
    "Verification",
    "advise",
    "anonymize",
    "compare_classifier",
    "compare_columns",
    "frontier",
    "lattice_of",
    "risk",
    "safe_harbor",
    "verify",
]

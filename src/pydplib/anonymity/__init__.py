"""Tables to hand over: k-anonymity, l-diversity, t-closeness and relatives, with risk, loss and certificate."""

from __future__ import annotations

from pydplib.anonymity.anonymization import anonymize
from pydplib.anonymity.assessment.advice import Advice, Alternative, advise
from pydplib.anonymity.assessment.frontier import FrontierPoint, frontier
from pydplib.anonymity.assessment.measures import SensitiveMeasures
from pydplib.anonymity.assessment.risks import Attack, Contribution, Risk, risk
from pydplib.anonymity.assessment.safe_harbor import SafeHarborFinding, safe_harbor
from pydplib.anonymity.assessment.unnamed_columns import ColumnFinding
from pydplib.anonymity.assessment.utility import Classification, ColumnChange, compare_classifier, compare_columns
from pydplib.anonymity.assessment.verification import Across, Verification, verify
from pydplib.anonymity.certificate import Certificate, Statement
from pydplib.anonymity.hierarchies.base import Hierarchy, HierarchyGap, TableHierarchy
from pydplib.anonymity.hierarchies.code_systems import Codes
from pydplib.anonymity.hierarchies.rules import Cuts, Dates, Intervals, Masking, TopBottom
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
from pydplib.anonymity.search.lattice import Lattice, LatticeNode, SearchInfo, lattice_of
from pydplib.anonymity.search.losses import Loss
from pydplib.anonymity.traces import Trace

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

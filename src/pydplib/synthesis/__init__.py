"""Synthetic tables: select relations, measure them with exact noise, generate rows; and what may be concluded.

Examples:
    >>> import pydplib as dp
    >>> cohort, schema = dp.datasets.pirads(), dp.datasets.pirads_schema()
    >>> table = dp.synthesize(cohort, schema, columns=["pirads", "bph"], relations=[("pirads", "bph")], epsilon=1.0)
    >>> table.margin(["pirads", "bph"]).is_measured
    True
"""

from pydplib.synthesis.disclosure import DisclosureReport, disclosure_report, next_to_original
from pydplib.synthesis.posterior import PopulationEstimate, combine_copies
from pydplib.synthesis.purchase import synthesize
from pydplib.synthesis.rules import Impossible
from pydplib.synthesis.table import Margin, PopulationIntervals, Relation, SyntheticTable

__all__ = [
    "DisclosureReport",
    "Impossible",
    "Margin",
    "PopulationEstimate",
    "PopulationIntervals",
    "Relation",
    "SyntheticTable",
    "combine_copies",
    "disclosure_report",
    "next_to_original",
    "synthesize",
]

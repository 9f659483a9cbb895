"""Attacks on what was released, so that the owner sees what leaks before anyone else does; and the audit.

Examples:
    >>> from pydplib import attack
    >>> secrets = [True, False, True, True] * 10
    >>> attack.reconstruction(attack.ExactAnswers(), secrets, seed=1).success
    1.0
    >>> attack.reconstruction(attack.SoundMode(0.1, budget=0.2), secrets, seed=1).beats_baseline
    False
"""

# Imported at once, not when first used: several modules are named like the function in them, and the
# function must win. Each of them imports what is heavy only where it works.
from pydplib.attack.answers.averaging import averaging
from pydplib.attack.answers.differencing import differencing
from pydplib.attack.answers.floating_point import floating_point
from pydplib.attack.answers.live_session import LiveSession
from pydplib.attack.answers.membership import membership, outlier_membership
from pydplib.attack.answers.reconstruction import reconstruction
from pydplib.attack.answers.targets import (
    CoinFlips,
    ExactAnswers,
    NaiveGaussian,
    NaiveUniform,
    PaperMode,
    SmallCountsHidden,
    SoundMode,
    Target,
    standard_targets,
)
from pydplib.attack.audits.audit import EventTester, Replayed, Verdict, audit, replay_neighbours
from pydplib.attack.audits.faults import Subject, faults
from pydplib.attack.audits.neighbours import ArrayNeighbours, column_strategy, table_strategy
from pydplib.attack.audits.protocols import AtTap, Evidence, Mechanism, Neighbours, Pair, PropertyTester
from pydplib.attack.audits.subjects import subjects
from pydplib.attack.bounds import (
    epsilon_at_least,
    js_divergence,
    laplace_success,
    most_advantage,
    most_success,
    surer,
)
from pydplib.attack.leaks.audiences import AUDIENCES, Audience, AudienceVerdict
from pydplib.attack.leaks.report import LeakReport, leak_report
from pydplib.attack.result import AttackResult
from pydplib.attack.tables.background import background_knowledge
from pydplib.attack.tables.complementary import complementary_release
from pydplib.attack.tables.homogeneity import homogeneity
from pydplib.attack.tables.linkage import linkage
from pydplib.attack.tables.matching import unsorted_matching
from pydplib.attack.tables.minimality import minimality
from pydplib.attack.tables.similarity import similarity
from pydplib.attack.tables.skewness import skewness
from pydplib.attack.tables.temporal import temporal

__all__ = [
    "AUDIENCES",
    "ArrayNeighbours",
    "AtTap",
    "AttackResult",
    "Audience",
    "AudienceVerdict",
    "CoinFlips",
    "EventTester",
    "Evidence",
    "ExactAnswers",
    "LeakReport",
    "LiveSession",
    "Mechanism",
    "NaiveGaussian",
    "NaiveUniform",
    "Neighbours",
    "Pair",
    "PaperMode",
    "PropertyTester",
    "Replayed",
    "SmallCountsHidden",
    "SoundMode",
    "Subject",
    "Target",
    "Verdict",
    "audit",
    "averaging",
    "background_knowledge",
    "column_strategy",
    "complementary_release",
    "differencing",
    "epsilon_at_least",
    "faults",
    "floating_point",
    "homogeneity",
    "js_divergence",
    "laplace_success",
    "leak_report",
    "linkage",
    "membership",
    "minimality",
    "most_advantage",
    "most_success",
    "outlier_membership",
    "reconstruction",
    "replay_neighbours",
    "similarity",
    "skewness",
    "standard_targets",
    "subjects",
    "surer",
    "table_strategy",
    "temporal",
    "unsorted_matching",
]

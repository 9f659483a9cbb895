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
from pydplib.attack.audiences import AUDIENCES, Audience, AudienceVerdict
from pydplib.attack.auditing import Verdict, audit
from pydplib.attack.averaging import averaging
from pydplib.attack.background import background_knowledge
from pydplib.attack.bounds import (
    epsilon_at_least,
    js_divergence,
    laplace_success,
    most_advantage,
    most_success,
    surer,
)
from pydplib.attack.complementary import complementary_release
from pydplib.attack.differencing import differencing
from pydplib.attack.faults import Subject, faults
from pydplib.attack.floating_point import floating_point
from pydplib.attack.homogeneity import homogeneity
from pydplib.attack.leak_report import LeakReport, leak_report
from pydplib.attack.linkage import linkage
from pydplib.attack.matching import unsorted_matching
from pydplib.attack.membership import membership, outlier_membership
from pydplib.attack.minimality import minimality
from pydplib.attack.neighbours import ArrayNeighbours, column_strategy, table_strategy
from pydplib.attack.protocols import AtTap, Evidence, Mechanism, Neighbours, Pair, PropertyTester
from pydplib.attack.reconstruction import reconstruction
from pydplib.attack.record_targets import CoinFlips, NaiveGaussian, NaiveUniform, PaperMode
from pydplib.attack.replaying import Replayed, replay_neighbours
from pydplib.attack.result import AttackResult
from pydplib.attack.session_target import LiveSession
from pydplib.attack.similarity import similarity
from pydplib.attack.skewness import skewness
from pydplib.attack.subjects import subjects
from pydplib.attack.targets import ExactAnswers, SmallCountsHidden, SoundMode, Target, standard_targets
from pydplib.attack.temporal import temporal
from pydplib.attack.testers import EventTester

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

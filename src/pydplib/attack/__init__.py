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
from pydplib.attack.averaging import averaging
from pydplib.attack.bounds import epsilon_at_least, js_divergence, laplace_success, most_advantage, most_success
from pydplib.attack.differencing import differencing
from pydplib.attack.floating_point import floating_point
from pydplib.attack.membership import membership, outlier_membership
from pydplib.attack.reconstruction import reconstruction
from pydplib.attack.record_targets import CoinFlips, NaiveGaussian, NaiveUniform, PaperMode
from pydplib.attack.result import AttackResult
from pydplib.attack.targets import ExactAnswers, SmallCountsHidden, SoundMode, Target, standard_targets

__all__ = [
    "AttackResult",
    "CoinFlips",
    "ExactAnswers",
    "NaiveGaussian",
    "NaiveUniform",
    "PaperMode",
    "SmallCountsHidden",
    "SoundMode",
    "Target",
    "averaging",
    "differencing",
    "epsilon_at_least",
    "floating_point",
    "js_divergence",
    "laplace_success",
    "membership",
    "most_advantage",
    "most_success",
    "outlier_membership",
    "reconstruction",
    "standard_targets",
]

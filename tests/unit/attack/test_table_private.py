"""And in the end differential privacy: a noisy table tells as much about strangers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from attacked_tables import dp_table, noisy_again

from pydplib import attack
from pydplib.noise.testing import seeded


def test_noisy_table_tells_as_much_about_a_person_who_is_not_in_it():
    # Everybody in her thirties is ill with the same, which k-anonymity gives away; she is one of them.
    ills = ["hiv", "hiv", "hiv", "flu", "burn", "flu", "hiv"]
    others = pd.DataFrame({"age": [31, 33, 35, 52, 55, 58, 51], "ill": ills})
    her = pd.DataFrame({"age": [37], "ill": ["hiv"]})
    everybody = pd.concat([others, her])
    coarse = everybody.assign(age=everybody["age"].map(lambda a: f"{a // 10 * 10}-{a // 10 * 10 + 9}"))
    about = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    assert attack.homogeneity(coarse, her, **about).exposed == 1
    epsilon, runs, guessed = 0.5, 120, {}
    for name, table in (("with", everybody), ("without", others)):
        with seeded(7):
            release = dp_table(table, epsilon)
            releases = [noisy_again(release, table, epsilon) for _ in range(runs)]
        beliefs = [attack.skewness(one, her, **about).details["largest_rise"] for one in releases]
        claims = [attack.homogeneity(one, her, **about).exposed for one in releases]
        guessed[name] = (np.mean(np.array(beliefs) > 0), np.mean(claims))
    error = 5 * 0.5 / math.sqrt(runs)
    for place in range(2):
        assert guessed["with"][place] <= math.exp(epsilon) * guessed["without"][place] + error
    assert guessed["with"][1] < 0.25, "hardly ever certain, where the coarse table always was"


def test_noisy_table_planted_without_noise_is_broken_by_homogeneity():
    everybody = pd.DataFrame({"age": [31, 33, 35, 37] * 30, "ill": ["hiv"] * 120})
    with seeded(1):
        release = dp_table(everybody, 8.0)  # so large an epsilon is no privacy
    found = attack.homogeneity(release, everybody, quasi_identifiers=["age"], sensitive="ill")
    assert found.exposed == 1


def test_values_below_the_noise_are_not_taken_for_absent():
    # Two of three have the flu in every decade: by far the most common value, and never the only one.
    people = pd.DataFrame({"age": np.repeat(np.arange(20, 90), 9), "ill": (["flu"] * 6 + ["burn"] * 3) * 70})
    with seeded(2):
        release = dp_table(people, 0.3)
    about = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    counts = np.asarray(release.noisy, dtype=float).reshape(release.shape)
    above = counts > release.simultaneous95
    assert (above.sum(axis=1) == 1).any(), "somebody who forgets the noise would be certain here"
    found = attack.homogeneity(release, people, **about)
    assert found.exposed == 0
    assert found.details["certain_but_wrong"] <= 0.05


def test_beliefs_moved_by_noise_alone_expose_nobody():
    # In their thirties half have hiv, which is rare elsewhere.
    people = pd.DataFrame({"age": [35] * 40 + [65] * 200, "ill": ["hiv", "flu"] * 20 + ["flu", "burn"] * 100})
    moved = []
    for epsilon in (0.02, 8.0):
        with seeded(3):
            release = dp_table(people, epsilon)
        moved.append(attack.skewness(release, people, quasi_identifiers=["age"], sensitive="ill"))
    noise, almost_exact = moved
    assert noise.details["largest_rise"] > 0.2
    assert noise.exposed == 0
    assert almost_exact.exposed > 0.05

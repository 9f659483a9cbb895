"""Minimality: beliefs from the reason for coarse cells, against all arrangements counted."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from pydplib import attack
from pydplib.anonymity import (
    Hierarchy,
)


def brute_belief(sizes, ill, most):
    """The share of ill people per group over all arrangements that break the rule somewhere."""
    broken = [counts for breaks, counts in arrangements(sizes, ill, most) if breaks]
    return np.mean(broken, axis=0) / np.array(sizes) if broken else np.full(len(sizes), ill / sum(sizes))


@pytest.mark.parametrize(
    ("sizes", "ill", "most"), [((2, 6), 2, 0.5), ((3, 4, 5), 4, 0.5), ((4, 4), 3, 0.34), ((5, 5), 1, 0.5)]
)
def test_minimality_belief_equals_all_arrangements_counted(sizes, ill, most):
    people = pd.DataFrame({"street": np.repeat([f"s{i}" for i in range(len(sizes))], sizes)})
    people["hiv"] = np.arange(len(people)) < ill
    released = people.assign(street="{" + ", ".join(f"s{i}" for i in range(len(sizes))) + "}")
    found = attack.minimality(released, people, quasi_identifiers=["street"], sensitive="hiv", value=True, most=most)
    wanted = brute_belief(sizes, ill, most)
    assert found.details["largest_belief"] == pytest.approx(wanted.max())
    seen = np.repeat(wanted, sizes)
    assert found.success == pytest.approx(np.where(people["hiv"], seen, 1 - seen).mean(), abs=1 / len(people))


def test_minimality_says_nothing_where_k_alone_explains_the_coarse_cells():
    people = pd.DataFrame({"street": ["a"] * 2 + ["b"] * 6, "hiv": [1, 1, 0, 0, 0, 0, 0, 0]})
    released = people.assign(street="{a, b}")
    about = {"quasi_identifiers": ["street"], "sensitive": "hiv", "value": 1, "most": 0.5}
    assert attack.minimality(released, people, **about).exposed == 0.25
    held = attack.minimality(released, people, **about, k=3)
    assert (held.exposed, held.details["applies_to"]) == (0, 0)
    assert held.details["largest_belief"] == pytest.approx(0.25)


def arrangements(sizes, ill, most):
    """Per arrangement of the ill over the people: whether it breaks the rule, and the ill per group."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for chosen in itertools.combinations(range(len(groups)), ill):
        counts = np.bincount(groups[list(chosen)], minlength=len(sizes))
        yield bool((counts > most * np.array(sizes) + 1e-9).any()), counts


def test_minimality_of_global_recoding_equals_all_arrangements_of_all_classes_and_is_weaker_than_local():
    north, south, ill, most = (2, 6, 6), (3, 6, 6), 2, 0.5
    people = pd.DataFrame({"street": np.repeat(list("abcdef"), [*north, *south]), "hiv": 0})
    people.loc[[0, 1, 14, 20], "hiv"] = 1
    steps = {"street": Hierarchy.grouping({"north": list("abc"), "south": list("def")})}
    released = people.assign(street=np.repeat(["north", "south"], [14, 15]))
    about = {"quasi_identifiers": steps, "sensitive": "hiv", "value": 1, "most": most, "k": 2}
    local = attack.minimality(released, people, **about, recoding="local")
    wide = attack.minimality(released, people, **about, recoding="global")
    hits, total = np.zeros(6), 0
    for (one, left), (two, right) in itertools.product(arrangements(north, ill, most), arrangements(south, ill, most)):
        if one or two:
            total += 1
            hits += np.concatenate([left, right])
    wanted = hits / total / np.array([*north, *south])
    assert wide.details["largest_belief"] == pytest.approx(wanted.max())
    assert local.details["largest_belief"] == 1.0
    assert 2 / 14 < wide.details["largest_belief"] < local.details["largest_belief"]

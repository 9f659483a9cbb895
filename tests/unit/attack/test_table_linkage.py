"""Linkage: as many are found as candidates counted one by one say, and nobody where no cell fits."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from attacked_tables import NAMES, QUASI, candidates, cohort, dp_table

from pydplib import attack
from pydplib.anonymity import (
    KAnonymity,
    anonymize,
    risk,
)
from pydplib.errors import DataError


@pytest.mark.parametrize("method", ["optimal", "mondrian", "local"])
def test_linkage_of_a_generalized_table_equals_candidates_counted_one_by_one(method):
    people = cohort(120)
    released = anonymize(people, QUASI, sensitive="ill", models=[KAnonymity(3)], suppression=0.1, method=method).data
    found = attack.linkage(released, people, quasi_identifiers=NAMES)
    fit = candidates(released, people, NAMES)
    of_row = [[p for p, rows in enumerate(fit) if r in rows] for r in range(len(released))]
    wanted = np.mean([np.mean([1 / len(fit[p]) for p in who]) for who in of_row])
    assert found.details["expected"] == pytest.approx(wanted)
    assert found.success == pytest.approx(wanted, abs=1 / len(released))
    assert found.exposed == 0 or method == "local" or found.details["maximum"] > 0.2


def test_linkage_of_global_recoding_equals_classes_over_rows():
    people = cohort()
    result = anonymize(people, QUASI, models=[KAnonymity(5)], suppression=0.05)
    found = attack.linkage(result, people)
    p = risk(result.data, NAMES).prosecutor
    assert found.details["expected"] == pytest.approx(p.expected)
    assert found.details["maximum"] == pytest.approx(p.maximum)
    assert found.details["at_risk"] == pytest.approx(dict(p.at_risk))
    assert found.exposed == 0, "k = 5: nobody is found with more than one in five"
    assert found.details == attack.linkage(result.data, quasi_identifiers=NAMES).details


def test_linkage_of_the_raw_table_finds_all_who_are_unique():
    people = cohort()
    found = attack.linkage(people, people, quasi_identifiers=NAMES)
    assert found.details["unique"] == pytest.approx(risk(people, NAMES).unique)
    assert found.beats_baseline
    assert found.exposed > 0.9


def test_linkage_journalist_and_marketer_with_a_population_equal_their_formulas():
    population = cohort(900, seed=8)
    sample = population.iloc[:150]
    coarse = anonymize(sample, QUASI, models=[KAnonymity(2)], suppression=0.2)
    released = coarse.data
    fit = candidates(released, population, NAMES)
    behind = Counter(r for rows in fit for r in rows)
    f = released.groupby(NAMES).size()
    first = released.reset_index().groupby(NAMES)["index"].first()
    big = np.array([behind[first[key]] for key in f.index])
    marketer = attack.linkage(coarse, population, attacker="marketer")
    assert marketer.details["expected"] == pytest.approx((f.to_numpy() / big).sum() / len(released))
    journalist = attack.linkage(coarse, population, attacker="journalist")
    assert journalist.details["maximum"] == pytest.approx(1 / big.min())
    wanted = max(len(f) / big.sum(), (f.to_numpy() / big).sum() / len(released))
    assert journalist.details["expected"] == pytest.approx(wanted)
    assert journalist.details["at_risk"][0.05] == pytest.approx(f.to_numpy()[1 / big > 0.05].sum() / len(released))
    assert journalist.success < attack.linkage(coarse, sample).success, "a population hides whom the table shows"
    assert marketer.baseline == pytest.approx(1 / 900)


def test_linkage_by_texts_alone_would_miss_generalized_cells():
    people = pd.DataFrame({"age": [31, 34, 52, 57]})
    released = pd.DataFrame({"age": ["30-39", "[50, 60)", "30-39", "{52, 57}"]})
    assert attack.linkage(released, people, quasi_identifiers=["age"]).success > 0.4
    assert not set(released["age"]) & set(people["age"].astype(str)), "equal texts would find nobody"


def test_linkage_of_strangers_finds_nobody():
    people = pd.DataFrame({"age": [31, 34]})
    found = attack.linkage(pd.DataFrame({"age": ["70-79"] * 3}), people, quasi_identifiers=["age"])
    assert (found.success, found.exposed) == (0, 0)
    assert "Nobody is found" in found.sentence


def test_linkage_of_noisy_counts_is_refused():
    release = dp_table(cohort(), 1.0)
    with pytest.raises(DataError, match="no rows"):
        attack.linkage(release, cohort(), quasi_identifiers=["age", "ill"])

"""What look-alikes have in common: each attack succeeds where its model fails, and fails where the next one holds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from attacked_tables import AGES, NAMES, QUASI, candidates, cohort

from pydplib import attack
from pydplib.anonymity import (
    Hierarchy,
    KAnonymity,
    LDiversity,
    Masking,
    TCloseness,
    anonymize,
    verify,
)


@pytest.mark.parametrize("method", ["optimal", "mondrian", "local"])
@pytest.mark.parametrize("pieces", [0, 1, 2])
def test_background_knowledge_equals_candidates_looked_at_one_by_one(method, pieces):
    people = cohort(150, ills=("flu", "burn", "hiv", "asthma", "gout"))
    released = anonymize(people, QUASI, sensitive="ill", models=[KAnonymity(3)], suppression=0.1, method=method).data
    found = attack.background_knowledge(released, people, quasi_identifiers=NAMES, sensitive="ill", pieces=pieces)
    ills, share = released["ill"].tolist(), people["ill"].value_counts(normalize=True)
    usual = sorted(share.items(), key=lambda item: (-item[1], (list(dict.fromkeys(ills))).index(item[0])))
    certain, right, blind = [], [], []
    for rows, truth in zip(candidates(released, people, NAMES), people["ill"], strict=True):
        counts = Counter(ills[r] for r in rows)
        order = list(dict.fromkeys(ills))
        top = sorted(counts, key=lambda v: (-counts[v], order.index(v)))
        excluded = [v for v in top if v != truth][:pieces]
        guess = next(v for v, _ in usual if v not in excluded)
        blind.append(guess == truth)
        left = [v for v in counts if v not in excluded]
        sure = len(left) == 1 and (truth in counts or pieces == 0)
        certain.append(sure and left[0] == truth)
        right.append(left[0] == truth if sure else guess == truth)
    assert found.exposed == pytest.approx(np.mean(certain), abs=2 / 150)
    assert found.success == pytest.approx(np.mean(right), abs=1e-9)
    assert found.baseline == pytest.approx(np.mean(blind))


def test_homogeneity_breaks_k_anonymity_and_fails_against_l_diversity():
    people = cohort(400, ills=("flu", "hiv"))
    only_k = anonymize(people, QUASI, sensitive="ill", models=[KAnonymity(2)], suppression=0.05)
    found = attack.homogeneity(only_k, people)
    lonely = only_k.data.groupby(NAMES)["ill"].transform("nunique") == 1
    assert found.exposed == pytest.approx(lonely.sum() / 400, abs=1e-3), "analytic: people in classes of one value"
    assert found.exposed > 0.05
    assert found.beats_baseline or found.success >= found.baseline
    diverse = anonymize(people, QUASI, sensitive="ill", models=[KAnonymity(2), LDiversity(2)], suppression=0.05)
    held = attack.homogeneity(diverse, people)
    assert held.exposed == 0
    assert held.success == pytest.approx(held.baseline), "where nothing is certain only the blind guess is left"


def test_background_knowledge_breaks_l_diversity_with_l_minus_1_pieces_and_not_with_fewer():
    people = cohort(500, ills=("flu", "burn", "hiv"))
    diverse = anonymize(people, QUASI, sensitive="ill", models=[KAnonymity(3), LDiversity(3)], suppression=0.1)
    released = diverse.data
    assert verify(released, NAMES, "ill").sensitive["ill"].l_distinct == 3
    assert attack.background_knowledge(diverse, pieces=1).exposed == 0
    broken = attack.background_knowledge(diverse, pieces=2)
    assert (broken.exposed, broken.success) == (1.0, 1.0)
    assert (
        attack.background_knowledge(diverse, pieces=1).success
        == attack.background_knowledge(diverse, pieces=1).baseline
    )


def test_background_knowledge_of_no_pieces_is_homogeneity():
    people = cohort(200)
    released = anonymize(people, QUASI, sensitive="ill", models=[KAnonymity(2)], suppression=0.1)
    one, other = attack.background_knowledge(released, people, pieces=0), attack.homogeneity(released, people)
    assert one.exposed == other.exposed
    assert one.success == pytest.approx(other.success)


def test_skewness_breaks_l_diversity_and_fails_against_t_closeness():
    rng = np.random.default_rng(2)
    people = pd.DataFrame({"age": rng.integers(20, 60, 400), "zip": "100"})
    people["ill"] = np.where((people["age"] < 30) & (rng.random(400) < 0.5) | (rng.random(400) < 0.05), "hiv", "none")
    steps = {"age": AGES, "zip": Masking(3)}
    diverse = anonymize(people, steps, sensitive="ill", models=[KAnonymity(5), LDiversity(2)], suppression=0.0)
    found = attack.skewness(diverse, people, margin=0.2)
    assert found.exposed > 0.05
    assert found.success > found.baseline
    close = anonymize(people, steps, sensitive="ill", models=[KAnonymity(5), TCloseness(0.15)], suppression=0.0)
    held = attack.skewness(close, people, margin=0.15)
    assert held.exposed == 0, "analytic: with the equal distance no belief rises by more than t"
    t = verify(close.data, NAMES, "ill").sensitive["ill"].t_equal
    assert held.details["largest_distance"] == pytest.approx(t)
    assert held.details["largest_rise"] <= t + 1e-12


def test_skewness_of_one_class_is_blind_guessing():
    people = cohort(50)
    found = attack.skewness(people.assign(age="*", zip="*"), people, quasi_identifiers=NAMES, sensitive="ill")
    assert found.details["largest_rise"] == pytest.approx(0)
    assert found.success == pytest.approx(found.baseline, abs=1 / 50)


KINDS = Hierarchy.grouping({"stomach": ["gastritis", "ulcer", "cancer"], "lung": ["flu", "asthma", "cold"]})


def test_similarity_breaks_distinct_diversity_and_fails_against_hierarchical_closeness():
    # Li, Li and Venkatasubramanian 2007, Table 4: three values in every class, and all of one kind in the first.
    people = pd.DataFrame(
        {
            "age": ["20-29"] * 3 + ["30-39"] * 3 + ["40-49"] * 3,
            "ill": ["gastritis", "ulcer", "cancer", "flu", "ulcer", "asthma", "cold", "cancer", "flu"],
        }
    )
    about = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    assert attack.homogeneity(people, **about).exposed == 0
    found = attack.similarity(people, **about, hierarchy=KINDS)
    assert found.exposed == pytest.approx(1 / 3)
    # At the next level all are of one kind: that is no secret, and guessing is as good.
    top = attack.similarity(people, **about, hierarchy=KINDS, level=2)
    assert (top.success, top.baseline, top.beats_baseline) == (1.0, 1.0, False)
    steps = {"age": Hierarchy.from_rows([[a, "20-49", "*"] for a in ("20-29", "30-39", "40-49")])}
    close = anonymize(
        people, steps, sensitive="ill",
        models=[KAnonymity(3), TCloseness(0.3, distance="hierarchical", hierarchy=KINDS)],
    )  # fmt: skip
    assert attack.similarity(close, hierarchy=KINDS).exposed == 0


def test_similarity_of_numbers_within_a_width_equals_the_range_of_each_class():
    pay = [30, 31, 32, 33, 30, 50, 70, 90, 60, 60, 61, 62]
    table = pd.DataFrame({"age": np.repeat(["a", "b", "c"], 4), "pay": pay})
    found = attack.similarity(table, quasi_identifiers=["age"], sensitive="pay", within=3)
    assert found.exposed == pytest.approx(2 / 3)
    assert found.success == pytest.approx((8 + 1) / 12), "two classes are known, of the third one person by luck"
    assert found.baseline == pytest.approx(5 / 12), "the fullest window of width 3 holds 30, 30, 31, 32, 33"
    assert attack.similarity(table, quasi_identifiers=["age"], sensitive="pay", within=1).exposed == 0


def test_a_person_who_was_left_out_misleads_the_attacker_and_counts_against_him():
    released = pd.DataFrame({"age": ["30-39"] * 4, "ill": ["flu"] * 4})
    people = pd.DataFrame({"age": [31, 32, 33, 34, 35], "ill": ["flu"] * 4 + ["hiv"]})
    found = attack.homogeneity(released, people, quasi_identifiers=["age"], sensitive="ill")
    assert found.exposed == pytest.approx(3 / 5)
    assert found.details["certain_but_wrong"] == pytest.approx(1 / 5)


def test_known_people_without_truth_are_judged_by_what_the_release_says():
    released = pd.DataFrame({"age": ["30-39"] * 4, "ill": ["flu", "flu", "flu", "hiv"]})
    people = pd.DataFrame({"age": [31, 32]})
    found = attack.skewness(released, people, quasi_identifiers=["age"], sensitive="ill")
    assert found.tries == 2
    assert found.details["largest_rise"] == pytest.approx(0)

"""Attacks on released tables: each succeeds where its model fails, and fails where the next model holds."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import pydplib as dp
from pydplib import attack
from pydplib.anonymity import (
    Hierarchy,
    Intervals,
    KAnonymity,
    LDiversity,
    Masking,
    TCloseness,
    anonymize,
    risk,
    verify,
)
from pydplib.errors import DataError, ParameterError
from pydplib.noise.testing import seeded

AGES = Intervals(0, 100, [10, 20, 40])
QUASI = {"age": AGES, "zip": Masking(3)}
NAMES = ["age", "zip"]


def cohort(n=300, seed=3, ills=("flu", "burn", "hiv", "asthma")):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "zip": [f"{z}" for z in rng.integers(100, 140, n)],
            "ill": rng.choice(ills, n, p=np.arange(len(ills), 0, -1) / sum(range(len(ills) + 1))),
        }
    )


def covers(cell, value):
    """The oracle: what a released cell covers, for the cells of this file."""
    text = str(cell)
    if set(text) == {"*"} or text == str(value):
        return True
    if "*" in text:
        return len(text) == len(str(value)) and all(a in ("*", b) for a, b in zip(text, str(value), strict=True))
    if text.startswith("{"):
        return str(value) in text[1:-1].split(", ")
    low, _, high = text.partition("-")
    return bool(high) and int(low) <= int(value) <= int(high)


def candidates(released, people, names):
    cells = released[names].to_numpy().tolist()
    return [
        [r for r, row in enumerate(cells) if all(covers(c, v) for c, v in zip(row, person, strict=True))]
        for person in people[names].to_numpy().tolist()
    ]


# -- linkage ---------------------------------------------------------------------------------------


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


# -- homogeneity, background knowledge, skewness, similarity ---------------------------------------


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


# -- order, several releases, minimality -----------------------------------------------------------


def test_unsorted_matching_links_everybody_in_an_unshuffled_release_and_nobody_in_ours():
    people = cohort(500)
    mine = people.assign(age=(people["age"] // 10 * 10).map(lambda a: f"{a}-{a + 9}"), zip=people["zip"].str[:2] + "*")
    found = attack.unsorted_matching(mine, people, quasi_identifiers=NAMES, sensitive="ill")
    assert (found.success, found.exposed) == (1.0, 1.0)
    sizes = mine.groupby([*NAMES, "ill"]).size().to_numpy()
    assert found.baseline == pytest.approx((sizes**2).sum() / 500**2), "analytic: fixed points of a random order"
    shuffled = mine.sample(frac=1, random_state=1)
    held = attack.unsorted_matching(shuffled, people, quasi_identifiers=NAMES, sensitive="ill")
    assert held.exposed == 0
    ours = anonymize(people, QUASI, sensitive="ill", models=[KAnonymity(3)], suppression=0.1)
    assert attack.unsorted_matching(ours, people).exposed == 0


def test_unsorted_matching_half_shuffled_estimates_the_half_that_is_linked():
    people = cohort(2000)
    mine = people.assign(age=(people["age"] // 10 * 10).map(lambda a: f"{a}-{a + 9}"))
    order = np.arange(2000)
    order[:1000] = np.random.default_rng(3).permutation(1000)
    found = attack.unsorted_matching(mine.iloc[order], people, quasi_identifiers=NAMES)
    assert found.exposed == pytest.approx(0.5, abs=0.05)


def test_unsorted_matching_sees_order_also_where_rows_were_left_out():
    people = cohort(600)
    kept = np.sort(np.random.default_rng(5).choice(600, 540, replace=False))
    mine = people.assign(age=(people["age"] // 10 * 10).map(lambda a: f"{a}-{a + 9}")).iloc[kept]
    found = attack.unsorted_matching(mine, people, quasi_identifiers=NAMES, sensitive="ill")
    assert (found.success, found.details["rows_left_out"]) == (1.0, 60)
    assert found.exposed > 0.9
    shuffled = mine.sample(frac=1, random_state=2)
    assert attack.unsorted_matching(shuffled, people, quasi_identifiers=NAMES, sensitive="ill").exposed == 0


def test_complementary_releases_are_fine_alone_and_break_together():
    people = cohort(400, ills=("flu", "burn", "hiv"))
    fine = [KAnonymity(4), LDiversity(2)]
    by_age = anonymize(people, {"age": Intervals(0, 100, [10]), "zip": Hierarchy.flat(people["zip"].unique())},
                       sensitive="ill", models=fine, suppression=0.05)  # fmt: skip
    by_zip = anonymize(people, {"age": Hierarchy.flat(range(100)), "zip": Masking(3)},
                       sensitive="ill", models=fine, suppression=0.05)  # fmt: skip
    assert attack.homogeneity(by_age, people).exposed == attack.homogeneity(by_zip, people).exposed == 0
    found = attack.complementary_release([by_age, by_zip], people)
    pools = [candidates(r.data, people, NAMES) for r in (by_age, by_zip)]
    certain = []
    for one, two, truth in zip(*pools, people["ill"], strict=True):
        sets = [{r.data["ill"].iloc[i] for i in rows} for r, rows in ((by_age, one), (by_zip, two)) if rows]
        both = set.intersection(*sets) if sets else set()
        certain.append((both == {truth}) - (len(both) == 1 and both != {truth}))
    assert found.exposed == pytest.approx(max(np.mean(certain), 0), abs=1e-9)
    assert found.details["alone"] == [0, 0]


def test_complementary_small_example_breaks_and_anonymizing_with_the_earlier_release_in_view_holds():
    people = pd.DataFrame({"age": [31, 36, 52, 58], "sex": ["f", "m", "f", "m"], "ill": ["flu", "hiv", "burn", "flu"]})
    by_age = people.assign(age=people["age"].map(lambda a: f"{a // 10 * 10}-{a // 10 * 10 + 9}"), sex="*")
    by_sex = people.assign(age="*")
    about = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill"}
    broken = attack.complementary_release([by_age, by_sex], people, **about)
    # By hand: {flu, hiv} and {flu, burn} leave the flu; {flu, hiv} and {hiv, flu} leave both.
    assert broken.exposed == pytest.approx(2 / 4)
    for single in (by_age, by_sex):
        assert attack.homogeneity(single, people, **about).exposed == 0
    steps = {"age": Intervals(0, 100, [10, 20]), "sex": Hierarchy.flat(["f", "m"])}
    models = [KAnonymity(2), LDiversity(2)]
    first = anonymize(people, steps, sensitive="ill", models=models)
    second = anonymize(people, {**steps, "sex": Hierarchy.flat(["f", "m"])}, sensitive="ill", models=models,
                       previous=[first], suppression=1.0)  # fmt: skip
    assert attack.complementary_release([first, second], people).exposed == 0


def test_complementary_of_one_release_twice_says_no_more_than_once():
    people = cohort(200)
    released = anonymize(people, QUASI, sensitive="ill", models=[KAnonymity(2)], suppression=0.1)
    found = attack.complementary_release([released, released], people)
    alone = attack.homogeneity(released, people)
    assert found.exposed == alone.exposed
    assert found.success == alone.success


@pytest.mark.parametrize("change", ["inserted", "deleted"])
def test_temporal_tells_who_came_alone_and_not_who_came_in_a_group(change):
    base = pd.DataFrame({"age": ["30-39"] * 4 + ["50-59"] * 4, "ill": ["flu", "hiv", "burn", "burn"] * 2})
    one = pd.DataFrame({"age": [37], "ill": ["hiv"]})
    three = pd.DataFrame({"age": [37, 33, 31], "ill": ["hiv", "flu", "burn"]})

    def between(extra):
        more = pd.concat([base, extra.assign(age="30-39")])
        pair = (base, more) if change == "inserted" else (more, base)
        return attack.temporal(*pair, extra, quasi_identifiers=["age"], sensitive="ill", change=change)

    assert (between(one).success, between(one).exposed) == (1.0, 1.0)
    assert between(three).exposed == 0
    assert between(three).details["smallest_change"] == 3


def test_temporal_compares_parts_where_levels_differ():
    before = pd.DataFrame({"age": ["30-34"] * 2 + ["35-39"] * 2, "ill": ["flu", "hiv", "burn", "burn"]})
    after = pd.DataFrame({"age": ["30-39"] * 5, "ill": ["flu", "hiv", "burn", "burn", "flu"]})
    came = pd.DataFrame({"age": [37], "ill": ["flu"]})
    assert attack.temporal(before, after, came, quasi_identifiers=["age"], sensitive="ill").exposed == 1.0


def test_temporal_against_a_release_made_with_the_earlier_one_in_view_finds_nothing():
    people = cohort(200)
    steps, models = {"age": AGES, "zip": Masking(3)}, [KAnonymity(3), LDiversity(2)]
    first = anonymize(people.iloc[:190], steps, sensitive="ill", models=models, suppression=0.3)
    second = anonymize(people, steps, sensitive="ill", models=models, suppression=0.5, previous=[first])
    found = attack.temporal(first, second, people.iloc[190:])
    assert found.exposed == 0


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


# -- and in the end differential privacy -----------------------------------------------------------


def dp_table(people, epsilon):
    schema = dp.Schema(
        columns={"age": dp.Integer(0, 99), "ill": dp.Category(["flu", "burn", "hiv", "asthma"])}, max_rows_per_person=1
    )
    question = dp.Crosstab("age", "ill", bins={"age": list(range(0, 101, 10))})
    table = dp.load(people[["age", "ill"]], schema)
    session = dp.Session(table, recipient="x", role="owner", budget=dp.PureDP(epsilon), ledger=dp.MemoryLedger())
    return session.release(question, epsilon=epsilon)


def noisy_again(release, people, epsilon):
    """The release once more, with fresh noise of the same mechanism: a session would hand out the same bytes."""
    ages = pd.cut(people["age"], list(range(0, 101, 10)), right=False)
    ills = pd.Categorical(people["ill"], categories=release.axes[1].keys)
    exact = pd.crosstab(ages, ills, dropna=False).to_numpy().reshape(-1)
    noisy = dp.mechanisms.Geometric(sensitivity=1, epsilon=epsilon).release(exact)
    return dataclasses.replace(release, values=tuple(np.maximum(noisy, 0)), noisy=tuple(noisy), low95=None, high95=None)


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
        release = dp_table(everybody, 10.0)  # so large an epsilon is no privacy
    found = attack.homogeneity(release, everybody, quasi_identifiers=["age"], sensitive="ill")
    assert found.exposed == 1


# -- words and refusals ----------------------------------------------------------------------------


def test_results_never_quote_a_cell():
    people = cohort(80).replace({"ill": {"hiv": "CANARYILL"}}).assign(zip="CANARYZIP")
    released = people.assign(age="*")
    about = {"quasi_identifiers": NAMES, "sensitive": "ill"}
    results = [
        attack.linkage(released, people, quasi_identifiers=NAMES),
        attack.homogeneity(released, people, **about),
        attack.background_knowledge(released, people, **about),
        attack.skewness(released, people, **about),
        attack.similarity(released, people, **about, hierarchy=Hierarchy.flat([*people["ill"].unique()])),
        attack.unsorted_matching(released, people, **about),
        attack.complementary_release([released, people], people, **about),
        attack.temporal(released.iloc[:60], released, people.iloc[60:], **about),
        attack.minimality(released, people, **about, value="CANARYILL", most=0.5),
    ]
    for result in results:
        text = f"{result} {result!r} {result.to_dict()}"
        assert "CANARY" not in text
        assert result.sentence.endswith(".")
        assert 0 <= result.interval[0] <= result.success <= result.interval[1] <= 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: attack.linkage(t), "quasi_identifiers"),
        (lambda t: attack.linkage(t, quasi_identifiers=["agee"]), "Did you mean 'age'"),
        (lambda t: attack.linkage(t, quasi_identifiers=["age"], attacker="jurnalist"), "Did you mean 'journalist'"),
        (lambda t: attack.homogeneity(t, quasi_identifiers=["age"]), "one sensitive column"),
        (lambda t: attack.homogeneity(t, quasi_identifiers=["age", "ill"], sensitive="ill"), "at once"),
        (lambda t: attack.similarity(t, quasi_identifiers=["age"], sensitive="ill"), "either hierarchy="),
        (lambda t: attack.skewness(t, quasi_identifiers=["age"], sensitive="ill", margin=2), "margin"),
        (lambda t: attack.complementary_release([t], t, quasi_identifiers=["age"], sensitive="ill"), "at least two"),
        (lambda t: attack.background_knowledge(t, quasi_identifiers=["age"], sensitive="ill", pieces=-1), "pieces"),
    ],
)
def test_wrong_arguments_are_explained(call, words):
    with pytest.raises(ParameterError, match=words):
        call(cohort(20))


def test_empty_tables_expose_nobody():
    empty = cohort(10).iloc[:0]
    about = {"quasi_identifiers": NAMES, "sensitive": "ill"}
    for found in (
        attack.linkage(empty, empty, quasi_identifiers=NAMES),
        attack.homogeneity(empty, empty, **about),
        attack.skewness(empty, empty, **about),
        attack.background_knowledge(empty, empty, **about),
        attack.unsorted_matching(empty, empty, **about),
    ):
        assert (found.tries, found.exposed) == (0, 0)


def test_polars_pyarrow_and_paths_give_the_same_as_pandas(tmp_path):
    people = cohort(60)
    released = people.assign(age=(people["age"] // 10 * 10).map(lambda a: f"{a}-{a + 9}"))
    wanted = attack.homogeneity(released, people, quasi_identifiers=NAMES, sensitive="ill")
    import polars as pl
    import pyarrow as pa

    for kind in (pl.from_pandas, pa.Table.from_pandas):
        assert attack.homogeneity(kind(released), kind(people), quasi_identifiers=NAMES, sensitive="ill") == wanted
    released.to_parquet(tmp_path / "a.parquet")
    people.to_parquet(tmp_path / "b.parquet")
    again = attack.homogeneity(tmp_path / "a.parquet", tmp_path / "b.parquet", quasi_identifiers=NAMES, sensitive="ill")
    assert again == wanted

"""The order of rows and several releases: what they give away together, and what holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from attacked_tables import AGES, NAMES, QUASI, candidates, cohort

from pydplib import attack
from pydplib.anonymity import (
    Hierarchy,
    Intervals,
    KAnonymity,
    LDiversity,
    Masking,
    anonymize,
)


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

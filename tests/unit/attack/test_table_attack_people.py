"""People with several rows: attacks count people, and know what belongs together where the release says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pydplib as dp
from pydplib.anonymity import Hierarchy, Intervals, KAnonymity, LDiversity, Pseudonym, anonymize, verify
from pydplib.attack import (
    background_knowledge,
    complementary_release,
    homogeneity,
    leak_report,
    linkage,
    similarity,
    skewness,
    temporal,
)
from pydplib.attack.tables.candidates import find_candidates
from pydplib.errors import ParameterError

QUASI = {"age": Intervals(0, 99, [10, 50]), "site": Hierarchy.flat(["a", "b", "c"])}


def visits(people=120, seed=5):
    """Return visits of people, one to four each; age and site may differ between them."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.integers(1, 5, people))
    age = rng.integers(20, 80, people)[who] + rng.integers(0, 3, len(who))
    return pd.DataFrame(
        {
            "who": [f"p{number:03d}" for number in who],
            "age": age,
            "site": rng.choice(["a", "b", "c"], len(who)),
            "ill": rng.choice(["flu", "hiv", "burn", "gout"], len(who), p=[0.5, 0.1, 0.2, 0.2]),
        }
    ).sample(frac=1, random_state=seed)


TABLE = visits()
# One more comes often, and is alone with her age.
REGULAR = pd.concat([TABLE, pd.DataFrame({"who": "p999", "age": [95] * 6, "site": "a", "ill": ["flu", "hiv"] * 3})])
ABOUT = {"quasi_identifiers": ["age", "site"], "sensitive": "ill"}


def test_rows_of_one_person_are_no_crowd():
    visit = pd.DataFrame({"who": ["ann"] * 5 + ["bob", "cid", "dan"], "age": [31] * 5 + [52, 53, 54]})
    coarse = visit[["age"]].replace({31: "30-39", 52: "50-59", 53: "50-59", 54: "50-59"})
    by_rows = linkage(coarse, visit, quasi_identifiers=["age"])
    by_people = linkage(coarse, visit, quasi_identifiers=["age"], person="who")
    assert by_rows.details["smallest_class"] == 3
    assert by_rows.details["maximum"] == pytest.approx(1 / 3)
    assert by_people.details["smallest_class"] == 1
    assert by_people.details["maximum"] == 1.0
    assert by_people.success == pytest.approx((1 + 3 * 1 / 3) / 4)  # Ann for certain, the others one of three


def test_linkage_of_a_table_anonymized_by_people_equals_its_certificate():
    result = anonymize(TABLE, QUASI, "ill", person="who", models=[KAnonymity(5)], suppression=0.1)
    found = linkage(result, TABLE)  # the result knows its person column
    assert found.details["smallest_class"] == result.certificate.k >= 5
    assert found.details["maximum"] == pytest.approx(1 / result.certificate.k)
    assert found.to_dict() == linkage(result, TABLE, person="who").to_dict()
    by_rows = anonymize(REGULAR, QUASI, "ill", models=[KAnonymity(5)], suppression=0.1)
    assert linkage(by_rows, REGULAR).details["smallest_class"] >= 5
    assert linkage(by_rows, REGULAR, person="who").details["smallest_class"] == 1, "six rows are not six people"


def test_classes_of_linked_rows_count_people_as_verify_does():
    coarse = TABLE.assign(age=(TABLE["age"] // 20 * 20).map(lambda low: f"{low}-{low + 19}"))
    for linked in (coarse, coarse.assign(who=coarse["who"].map({w: i for i, w in enumerate(set(coarse["who"]))}))):
        shown, _ = find_candidates(linked, quasi_identifiers=["age", "site"], sensitive="ill", person="who")
        assert shown.size.min() == verify(linked, ["age", "site"], person="who", linked=True).k


def test_candidates_among_linked_rows_equal_people_compared_one_by_one():
    pseudonyms = {who: f"x{i}" for i, who in enumerate(sorted(set(TABLE["who"])))}
    coarse = TABLE.assign(
        who=TABLE["who"].map(pseudonyms), age=(TABLE["age"] // 20 * 20).map(lambda low: f"{low}-{low + 19}")
    ).sample(frac=1, random_state=3)
    found, _ = find_candidates(coarse, TABLE, **ABOUT, person="who")
    rows_of = {who: set(zip(part["age"], part["site"], strict=True)) for who, part in coarse.groupby("who")}
    sizes = {}
    for who, part in TABLE.groupby("who"):
        low = part["age"] // 20 * 20
        mine = {(f"{age}-{age + 19}", site) for age, site in zip(low, part["site"], strict=True)}
        sizes[who] = sum(mine <= rows for rows in rows_of.values())
    assert found.size[found.pool].tolist() == [sizes[who] for who in TABLE["who"]]
    best = linkage(coarse, TABLE, quasi_identifiers=["age", "site"], person="who")
    assert best.details["maximum"] == pytest.approx(1 / min(sizes.values()))
    # Somebody who reads row by row sees larger crowds.
    assert best.success > linkage(coarse.drop(columns="who"), TABLE, quasi_identifiers=["age", "site"]).success


def test_linked_rows_resist_where_people_are_alike_in_all_of_their_rows():
    result = anonymize(
        TABLE, QUASI, "ill", person="who", models=[KAnonymity(3)],
        identifiers={"who": Pseudonym(key=b"k" * 16, consistent=True)},
        suppression=0.3,
    )  # fmt: skip
    found = linkage(result, TABLE, person="who")
    assert found.details["maximum"] <= 1 / 3 + 1e-9


def test_person_counts_once_however_many_rows_she_has():
    coarse = TABLE.assign(age=(TABLE["age"] // 10 * 10).map(lambda low: f"{low}-{low + 9}")).drop(columns="who")
    people = TABLE["who"].nunique()
    sure = {}
    rows = pd.DataFrame({"who": TABLE["who"], "age": coarse["age"], "site": coarse["site"], "ill": coarse["ill"]})
    alone = rows.groupby(["age", "site"])["ill"].transform("nunique") == 1
    for who, certain in zip(rows["who"], alone, strict=True):
        sure[who] = sure.get(who, False) or bool(certain)
    for attack in (homogeneity, background_knowledge, skewness):
        result = attack(coarse, TABLE, **ABOUT, person="who")
        assert result.tries == people
    result = homogeneity(coarse, TABLE, **ABOUT, person="who")
    assert result.exposed == pytest.approx(sum(sure.values()) / people)
    kinds = Hierarchy.grouping({"infection": ["flu", "hiv"], "other": ["burn", "gout"]})
    assert similarity(coarse, TABLE, **ABOUT, person="who", hierarchy=kinds).exposed >= result.exposed


def test_one_row_each_says_the_same_with_and_without_a_person_column():
    once = TABLE.drop_duplicates("who")
    coarse = once.assign(age=(once["age"] // 20 * 20).map(lambda low: f"{low}-{low + 19}")).drop(columns="who")
    for attack, about in ((linkage, {"quasi_identifiers": ["age", "site"]}), (homogeneity, ABOUT), (skewness, ABOUT)):
        with_person = attack(coarse, once, **about, person="who").to_dict()
        without = attack(coarse, once, **about).to_dict()
        assert with_person["success"] == pytest.approx(without["success"])
        assert with_person["exposed"] == pytest.approx(without["exposed"])


def test_temporal_and_complementary_count_the_people_who_came_and_were_seen_twice():
    march = pd.DataFrame({"age": ["30-39"] * 4, "ill": ["flu", "hiv", "burn", "burn"]})
    april = pd.concat([march, pd.DataFrame({"age": ["30-39"] * 3, "ill": ["gout"] * 3})])
    came = pd.DataFrame({"who": ["eva"] * 3, "age": [37, 37, 38], "ill": ["gout"] * 3})
    found = temporal(march, april, came, quasi_identifiers=["age"], sensitive="ill", person="who")
    assert (found.tries, found.exposed) == (1, 1.0)
    people = pd.DataFrame(
        {"who": ["ann", "ann", "bob", "cid", "dan"], "age": [31, 32, 36, 52, 58], "sex": list("ffmfm"),
         "ill": ["flu", "flu", "hiv", "burn", "flu"]}
    )  # fmt: skip
    by_age = people.assign(age=["30-39"] * 3 + ["50-59"] * 2, sex="*").drop(columns="who")
    by_sex = people.assign(age="*").drop(columns="who")
    both = complementary_release(
        [by_age, by_sex], people, quasi_identifiers=["age", "sex"], sensitive="ill", person="who"
    )
    assert both.tries == 4
    assert both.exposed == pytest.approx(
        complementary_release(
            [by_age.drop(index=1), by_sex.drop(index=1)], people.drop(index=1), quasi_identifiers=["age", "sex"],
            sensitive="ill",
        ).exposed
    )  # fmt: skip


def test_leak_report_judges_people_and_says_how_they_were_counted():
    result = anonymize(TABLE, QUASI, "ill", person="who", models=[KAnonymity(5), LDiversity(2)], suppression=0.2)
    report = leak_report(TABLE, result)
    assert report.people == TABLE["who"].nunique()
    assert report.rows == len(result.data)
    assert report.result("linkage").details["smallest_class"] == result.certificate.k
    assert any("whose rows belong together" in note for note in report.notes)
    by_rows = anonymize(REGULAR, QUASI, "ill", models=[KAnonymity(5)], suppression=0.1)
    answers = [leak_report(REGULAR, by_rows, person=person).answer("collaborator") for person in (None, "who")]
    assert answers == ["yes", "no"]


def test_linked_rows_are_judged_by_people_with_the_same_rows():
    """Under a consistent pseudonym everybody is a class of her own; how many look alike, the certificate says."""
    hidden = {"who": Pseudonym(key=bytes(32), consistent=True)}
    result = anonymize(TABLE, QUASI, "ill", person="who", identifiers=hidden, models=[KAnonymity(5)], suppression=0.3)
    report = leak_report(TABLE, result.data, person="who", **ABOUT)
    assert report.result("linkage").details["smallest_class"] == result.certificate.k >= 5
    assert not any("chance of 100 %" in reason for verdict in report.verdicts for reason in verdict.reasons)
    alone = pd.concat([TABLE.assign(age="*", site="*"), pd.DataFrame({"who": ["x"] * 9, "age": "*", "site": "a"})])
    found = linkage(alone, quasi_identifiers=["age", "site"], person="who")
    assert found.details["smallest_class"] == 1, "nobody else has nine rows"


def test_person_column_that_nobody_has_or_that_is_attacked_is_explained():
    coarse = TABLE[["age", "site", "ill"]]
    with pytest.raises(ParameterError, match="no column 'whom'"):
        linkage(coarse, TABLE, quasi_identifiers=["age"], person="whom")
    with pytest.raises(ParameterError, match="whose rows belong together"):
        linkage(coarse, quasi_identifiers=["age"], person="who")
    with pytest.raises(ParameterError, match="cannot be attacked"):
        homogeneity(coarse, TABLE, quasi_identifiers=["age", "site"], sensitive="ill", person="ill")
    assert dp.attack.linkage is linkage
